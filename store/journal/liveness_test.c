#include "liveness.h"
#include "journal_testing.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Columns: the process is unseen, gone, there. */
#define UNSEEN_GONE_THERE 3
static const enum kc_process_seen seen[UNSEEN_GONE_THERE] = {KC_PROCESS_UNSEEN, KC_PROCESS_GONE, KC_PROCESS_THERE};

#define HELD 4711u
#define LEFT KC_HOLDER_ENDED
#define UNKNOWN KC_LIFE_NOT_KNOWN
#define RUNS KC_LIFE_RUNS
#define ENDING KC_LIFE_ENDING
#define ENDED KC_LIFE_ENDED

static void every_case(void **state)
{
	static const struct {
		enum kc_boot boot;
		bool shared;
		uint32_t holder;
		enum kc_life life[UNSEEN_GONE_THERE];
	} cases[] = {
	    /* Another boot: no process of it lives, unless it is another machine's. */
	    {KC_BOOT_OTHER, false, 0, {ENDED, ENDED, ENDED}},
	    {KC_BOOT_OTHER, false, HELD, {ENDED, ENDED, ENDED}},
	    {KC_BOOT_OTHER, false, LEFT, {ENDED, ENDED, ENDED}},
	    {KC_BOOT_OTHER, true, 0, {UNKNOWN, UNKNOWN, UNKNOWN}},
	    {KC_BOOT_OTHER, true, HELD, {UNKNOWN, UNKNOWN, UNKNOWN}},
	    {KC_BOOT_OTHER, true, LEFT, {UNKNOWN, UNKNOWN, UNKNOWN}},
	    /* This boot: the file system does not matter. */
	    {KC_BOOT_SAME, false, 0, {UNKNOWN, ENDED, RUNS}},
	    {KC_BOOT_SAME, false, HELD, {RUNS, ENDED, RUNS}},
	    {KC_BOOT_SAME, false, LEFT, {ENDING, ENDED, ENDING}},
	    {KC_BOOT_SAME, true, 0, {UNKNOWN, ENDED, RUNS}},
	    {KC_BOOT_SAME, true, HELD, {RUNS, ENDED, RUNS}},
	    {KC_BOOT_SAME, true, LEFT, {ENDING, ENDED, ENDING}},
	    /* No /proc, for one of the two: "held" may be from before a power cut; "gone" may be said of another
	       machine. */
	    {KC_BOOT_NOT_KNOWN, false, 0, {UNKNOWN, ENDED, RUNS}},
	    {KC_BOOT_NOT_KNOWN, false, HELD, {UNKNOWN, ENDED, RUNS}},
	    {KC_BOOT_NOT_KNOWN, false, LEFT, {ENDING, ENDED, ENDING}},
	    {KC_BOOT_NOT_KNOWN, true, 0, {UNKNOWN, UNKNOWN, RUNS}},
	    {KC_BOOT_NOT_KNOWN, true, HELD, {UNKNOWN, UNKNOWN, RUNS}},
	    {KC_BOOT_NOT_KNOWN, true, LEFT, {ENDING, ENDING, ENDING}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		for (size_t j = 0; j < UNSEEN_GONE_THERE; j++) {
			struct kc_witnesses w = {cases[i].holder, cases[i].boot, cases[i].shared, seen[j]};

			if (kc_life_of(&w) != cases[i].life[j])
				fail_msg("row %zu, column %zu: %d instead of %d", i, j, kc_life_of(&w),
					 cases[i].life[j]);
		}
}

static enum kc_life life_of(const char *at)
{
	struct kc_journal_file *file;
	enum kc_life life;

	assert_int_equal(kc_journal_open(at, &file), 0);
	life = kc_journal_file_life(file);
	kc_journal_file_close(file);
	return life;
}

static uint32_t holder_of(const char *at)
{
	struct kc_journal_file *file;
	uint32_t holder;

	assert_int_equal(kc_journal_open(at, &file), 0);
	holder = atomic_load(&((struct kc_journal_header *)kc_journal_file_header(file))->holder);
	kc_journal_file_close(file);
	return holder;
}

/* --- real processes: a recorder says "ready" through a pipe, and waits to be told what to do */

static int told[2], ready[2];

static void *hold(void *journal)
{
	char byte = 'r';

	if (kc_journal_hold(journal) || write(ready[1], &byte, 1) != 1)
		_exit(3);
	for (;;)
		pause();
}

static void record(void (*then)(struct kc_journal *j))
{
	struct kc_journal *j = create(bytes_of(4));
	pthread_t thread;
	char byte;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (pthread_create(&thread, NULL, hold, j) || read(told[0], &byte, 1) != 1)
		_exit(3);
	then(j);
	pause();
}

static pid_t start_recorder(void (*then)(struct kc_journal *j))
{
	char byte;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		record(then);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	return pid;
}

static void tell(void)
{
	assert_int_equal(write(told[1], "x", 1), 1);
}

static void end_recorder(pid_t pid)
{
	if (pid > 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	for (int i = 0; i < 2; i++) {
		close(told[i]);
		close(ready[i]);
	}
}

static void nothing(struct kc_journal *j)
{
	(void)j;
}

static void become_another_program(struct kc_journal *j)
{
	(void)j;
	dup2(ready[1], STDOUT_FILENO);
	execl("/bin/sh", "sh", "-c", "echo; exec sleep 600", NULL);
}

static void make_child_without_handlers(struct kc_journal *j)
{
	(void)j;
	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) { /* lives until the test closes the pipe */
		char byte;

		close(told[1]);
		if (write(ready[1], "c", 1) == 1)
			(void)!read(told[0], &byte, 1);
		_exit(0);
	}
}

static void restore(struct kc_journal *j)
{
	kc_journal_close(j, 1);
	if (kc_journal_restore(j) == 0 && write(ready[1], "x", 1) == 1)
		pause();
	_exit(3);
}

static void a_killed_holder_is_marked(void **state)
{
	pid_t pid = start_recorder(nothing);
	uint32_t holder = holder_of(path);

	(void)state;
	assert_true(holder > (uint32_t)pid && holder < KC_HOLDER_ENDED); /* a thread's id, not the process's */
	assert_int_equal(life_of(path), KC_LIFE_RUNS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(holder_of(path), KC_HOLDER_ENDED);
	assert_int_equal(life_of(path), KC_LIFE_ENDED);
	end_recorder(0);
}

static void exec_ends_what_was_before(void **state)
{
	pid_t pid = start_recorder(become_another_program);
	char byte;

	(void)state;
	tell();
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(holder_of(path), KC_HOLDER_ENDED);
	assert_int_equal(life_of(path), KC_LIFE_ENDING);
	end_recorder(pid);
	assert_int_equal(life_of(path), KC_LIFE_ENDED);
}

static void a_child_is_no_holder(void **state)
{
	pid_t pid = start_recorder(make_child_without_handlers);
	char byte;

	(void)state;
	tell();
	assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(holder_of(path), KC_HOLDER_ENDED);
	assert_int_equal(life_of(path), KC_LIFE_ENDED);
	end_recorder(0);
}

static void a_restored_header_is_held(void **state)
{
	pid_t pid = start_recorder(restore);
	uint32_t before = holder_of(path);
	char byte;

	(void)state;
	tell();
	assert_int_equal(read(ready[0], &byte, 1), 1);
	assert_int_equal(holder_of(path), before);
	assert_int_equal(life_of(path), KC_LIFE_RUNS);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(holder_of(path), KC_HOLDER_ENDED);
	end_recorder(0);
}

/* --- what files say */

static struct kc_journal_header *map_header(const char *at)
{
	int fd = open(at, O_RDWR);
	struct kc_journal_header *h = mmap(NULL, KC_HEADER_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	close(fd);
	assert_ptr_not_equal(h, MAP_FAILED);
	return h;
}

/* As from where there is no /proc, or another one: only the holder is left. */
static void hide_process(struct kc_journal_header *h)
{
	h->pid_namespace = 0;
	h->pid_start = 0;
}

static void without_proc_the_holder_decides(void **state)
{
	pid_t pid = start_recorder(nothing);
	struct kc_journal_header *h = map_header(path);

	(void)state;
	hide_process(h);
	assert_int_equal(life_of(path), KC_LIFE_RUNS);
	h->boot_id[0] = 0;
	assert_int_equal(life_of(path), KC_LIFE_NOT_KNOWN);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_int_equal(life_of(path), KC_LIFE_ENDING);
	munmap(h, KC_HEADER_BYTES);
	end_recorder(0);
}

static void a_copy_is_told_apart(void **state)
{
	pid_t pid = start_recorder(nothing);
	struct kc_journal_header *h;
	char copy[128], command[300];

	(void)state;
	snprintf(copy, sizeof(copy), "%s.copy", path);
	snprintf(command, sizeof(command), "cp '%s' '%s'", path, copy);
	assert_int_equal(system(command), 0);
	h = map_header(copy);
	assert_int_equal(life_of(copy), KC_LIFE_RUNS); /* the process is there */
	hide_process(h);
	assert_int_equal(life_of(copy), KC_LIFE_NOT_KNOWN);
	end_recorder(pid);
	assert_int_equal(h->holder & KC_HOLDER_ENDED, 0);
	assert_int_equal(life_of(copy), KC_LIFE_NOT_KNOWN);
	munmap(h, KC_HEADER_BYTES);
	unlink(copy);
}

static void another_boot_ends_everything(void **state)
{
	pid_t pid = start_recorder(nothing);
	struct kc_journal_header *h = map_header(path);

	(void)state;
	h->boot_id[0] = h->boot_id[0] == '0' ? '1' : '0';
	assert_int_equal(life_of(path), KC_LIFE_ENDED);
	h->boot_is_kernels = 0; /* one that a container's manager made up */
	assert_int_equal(life_of(path), KC_LIFE_RUNS);
	hide_process(h);
	assert_int_equal(life_of(path), KC_LIFE_NOT_KNOWN);
	munmap(h, KC_HEADER_BYTES);
	end_recorder(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_case),
	    cmocka_unit_test_setup_teardown(a_killed_holder_is_marked, setup, teardown),
	    cmocka_unit_test_setup_teardown(exec_ends_what_was_before, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_child_is_no_holder, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_restored_header_is_held, setup, teardown),
	    cmocka_unit_test_setup_teardown(without_proc_the_holder_decides, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_copy_is_told_apart, setup, teardown),
	    cmocka_unit_test_setup_teardown(another_boot_ends_everything, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
