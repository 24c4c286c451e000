/* What is said, once, on the standard error that there was at the load, and in the journal. */
#include "shim.h"
#include "shim/worker/threads.h"

#include "store/journal/journal_testing.h"

struct kc__state kc__shim;
__thread struct kc__thread kc__thread;

int kc__files_do(void (*work)(void *arg), void *arg)
{
	work(arg);
	return 0;
}

static int lines_told;

void kc__application_has_lines(void)
{
	lines_told++;
}

int64_t kc__now_ns(void)
{
	return 100;
}

static int own_stderr;
static char out[128]; /* a file that is standard error */

static void become_stderr(const char *name, int flags)
{
	int fd = open(name, flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
}

static int begin(void **state)
{
	if (setup(state))
		return -1;
	kc__say_forget();
	memset(&kc__shim, 0, sizeof(kc__shim));
	kc__shim.journal = create(16 * MIB);
	kc__shim.ours = 1;
	snprintf(out, sizeof(out), "%s/stderr", directory);
	own_stderr = dup(STDERR_FILENO);
	become_stderr(out, O_WRONLY | O_CREAT | O_APPEND);
	kc__say_remember();
	return own_stderr < 0 ? -1 : 0;
}

static int end(void **state)
{
	dup2(own_stderr, STDERR_FILENO);
	close(own_stderr);
	unlink(out);
	finish(kc__shim.journal, 1);
	return teardown(state);
}

static void assert_written(const char *name, const char *wanted)
{
	char text[4096];
	int fd = open(name, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	assert_string_equal(text, wanted);
}

/* How often the file has a character. */
static uint32_t times_in(const char *name, char wanted)
{
	FILE *f = fopen(name, "r");
	uint32_t n = 0;

	for (int c; (c = getc(f)) != EOF;)
		n += c == wanted;
	fclose(f);
	return n;
}

/* How many messages of a code the journal holds; 0: of any. */
static uint32_t kept(enum kc_message_code code)
{
	uint32_t n = 0;

	for (uint64_t i = 0; i < kc_journal_claimed(kc__shim.journal); i++) {
		const struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);
		struct kc_message_entry entry;

		memcpy(&entry, slot->part.payload, sizeof(entry));
		n += slot->kind == KC_KIND_MESSAGE && !slot->part.index && (!code || entry.code == code);
	}
	return n;
}

static void a_message_is_said_once(void **state)
{
	(void)state;
	kc__say(KC_MESSAGE_FLUSH_TIMEOUT, NULL);
	kc__say(KC_MESSAGE_FLUSH_TIMEOUT, NULL);
	assert_written(out, "kerncast: CUPTI did not deliver its last records in time\n");
	assert_int_equal(kept(KC_MESSAGE_FLUSH_TIMEOUT), 1);
}

static void with_another_detail_it_is_said_again(void **state)
{
	(void)state;
	kc__say_again(KC_MESSAGE_TABLE_FULL, "streams");
	kc__say_again(KC_MESSAGE_TABLE_FULL, "events");
	assert_written(out, "kerncast: a limit of kerncast is reached: streams\n"
			    "kerncast: a limit of kerncast is reached: events\n");
	assert_int_equal(kept(KC_MESSAGE_TABLE_FULL), 2);
}

static void five_lines_are_written_and_everything_is_kept(void **state)
{
	(void)state;
	for (int i = 0; i < 7; i++)
		kc__say_again(KC_MESSAGE_TABLE_FULL, "streams");
	assert_int_equal(times_in(out, '\n'), 5);
	assert_int_equal(kept(KC_MESSAGE_NONE), 7);
}

static void a_note_and_a_quiet_user_need_no_line(void **state)
{
	(void)state;
	kc__say(KC_MESSAGE_ROUTED_BY_NAME, NULL);
	kc__shim.options.quiet = 1;
	kc__say(KC_MESSAGE_DATABASE, "no space left");
	assert_written(out, "");
	assert_int_equal(kept(KC_MESSAGE_NONE), 2);
}

static void a_detail_moves_no_cursor(void **state)
{
	(void)state;
	kc__say(KC_MESSAGE_TABLE_FULL, "a\033[2Jb\nc");
	assert_int_equal(times_in(out, '\n'), 1);
	assert_int_equal(times_in(out, '\033'), 0);
}

/* The program has closed its standard error, and another file has got the number. */
static void a_file_that_has_taken_the_number_is_left_alone(void **state)
{
	char other[128];

	(void)state;
	snprintf(other, sizeof(other), "%s/other", directory);
	become_stderr(other, O_WRONLY | O_CREAT);
	kc__say(KC_MESSAGE_DATABASE, NULL);
	assert_written(other, "");
	assert_int_equal(kept(KC_MESSAGE_DATABASE), 1);
	unlink(other);
}

static void a_pipe_is_neither_waited_for_nor_a_signal(void **state)
{
	int pipes[2];

	(void)state;
	assert_int_equal(pipe(pipes), 0);
	dup2(pipes[1], STDERR_FILENO);
	kc__say_remember();
	fcntl(pipes[1], F_SETFL, O_NONBLOCK);
	while (write(pipes[1], out, sizeof(out)) > 0 || write(pipes[1], out, 1) > 0)
		;
	fcntl(pipes[1], F_SETFL, 0);
	alarm(60);
	kc__say(KC_MESSAGE_DATABASE, NULL); /* the pipe is full */
	close(pipes[0]);
	kc__say(KC_MESSAGE_TABLE_FULL, NULL); /* and has no reader any more */
	alarm(0);
	close(pipes[1]);
	assert_int_equal(kept(KC_MESSAGE_NONE), 2);
}

static void what_the_journal_has_no_room_for_is_told_once_more(void **state)
{
	struct kc_slot slot;

	(void)state;
	kc_journal_seal(kc__shim.journal);
	kc__say(KC_MESSAGE_LOST, "3 launches");
	assert_true(kc__say_unwritten(KC_MESSAGE_LOST, &slot));
	assert_int_equal(slot.kind, KC_KIND_MESSAGE);
	assert_non_null(
	    strstr((char *)slot.part.payload + sizeof(struct kc_message_entry), "is lost with the process"));
	assert_false(kc__say_unwritten(KC_MESSAGE_LOST, &slot));
	assert_false(kc__say_unwritten(KC_MESSAGE_DATABASE, &slot));
}

static void a_thread_with_other_descriptors_leaves_the_line_to_one_without(void **state)
{
	(void)state;
	kc__thread.own_files = true;
	lines_told = 0;
	kc__say(KC_MESSAGE_FLUSH_TIMEOUT, NULL);
	kc__thread.own_files = false;
	assert_written(out, "");
	assert_int_equal(lines_told, 1);
	assert_int_equal(kept(KC_MESSAGE_FLUSH_TIMEOUT), 1);
	kc__say_waiting();
	kc__say_waiting();
	assert_written(out, "kerncast: CUPTI did not deliver its last records in time\n");
}

static void errno_stays_what_it_was(void **state)
{
	(void)state;
	close(STDERR_FILENO);
	errno = EDOM;
	kc__say(KC_MESSAGE_DATABASE, NULL);
	assert_int_equal(errno, EDOM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_message_is_said_once),
	    TEST(with_another_detail_it_is_said_again),
	    TEST(five_lines_are_written_and_everything_is_kept),
	    TEST(a_note_and_a_quiet_user_need_no_line),
	    TEST(a_detail_moves_no_cursor),
	    TEST(a_file_that_has_taken_the_number_is_left_alone),
	    TEST(a_pipe_is_neither_waited_for_nor_a_signal),
	    TEST(what_the_journal_has_no_room_for_is_told_once_more),
	    TEST(a_thread_with_other_descriptors_leaves_the_line_to_one_without),
	    TEST(errno_stays_what_it_was),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
