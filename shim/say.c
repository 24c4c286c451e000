/*
 * Messages. Standard error is the application's: it may be a full pipe, or one
 * without a reader, and by now its number may belong to another file.
 */
#include "shim.h"
#include "shim/tables/memory.h"
#include "shim/worker/threads.h"

#include "store/common/printable.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Each message is said once, and no process writes more lines than this. */
#define LINES_MAX 5

#define LINE_BYTES 512 /* less than PIPE_BUF: a pipe takes all of it or nothing */

static struct {
	bool open;
	dev_t device;
	ino_t inode;
} at_load; /* the file that standard error was */

/* Lines of threads that have a standard error of their own. */
static struct {
	pthread_mutex_t lock;
	unsigned count, written;
	struct waiting_line {
		size_t bytes;
		char text[sizeof("kerncast: ") + LINE_BYTES];
	} at[LINES_MAX];
	pthread_mutex_t writing; /* at the end the process waits for a line that another thread is at */
} waiting = {.lock = PTHREAD_MUTEX_INITIALIZER, .writing = PTHREAD_MUTEX_INITIALIZER};

/* Messages that the journal had no room for, cut to what one slot holds; kc__shim.unwritten[] says which there are. */
#define UNWRITTEN_BYTES (sizeof(((struct kc_slot *)NULL)->part.payload) - sizeof(struct kc_message_entry))
static char unwritten[KC_MESSAGE_COUNT][UNWRITTEN_BYTES];

static const char prefix[] = "kerncast: ";

/* A message in the making. */
struct draft {
	char line[sizeof(prefix) + LINE_BYTES];
	char bytes[sizeof(struct kc_message_entry) + LINE_BYTES];
};
_Static_assert(sizeof(struct draft) <= KC__ROOM_BYTES, "too large for a stack");

static int write_message(enum kc_message_code code, const char *line, char *bytes)
{
	struct kc_message_entry entry = {
	    .time_ns = kc__now_ns(), .severity = kc_message_severity(code), .code = (uint32_t)code, .count = 1};
	size_t n = strlen(line) + 1;

	memcpy(bytes, &entry, sizeof(entry));
	memcpy(bytes + sizeof(entry), line, n);
	return kc_journal_put(kc__shim.journal, KC_KIND_MESSAGE, bytes, sizeof(entry) + n);
}

bool kc__say_unwritten(uint32_t code, struct kc_slot *slot)
{
	struct kc_message_entry entry = {
	    .time_ns = kc__now_ns(), .severity = kc_message_severity(code), .code = code, .count = 1};

	if (!atomic_exchange(&kc__shim.unwritten[code], 0))
		return false;
	memset(slot, 0, sizeof(*slot));
	slot->kind = KC_KIND_MESSAGE;
	slot->part.count = 1;
	slot->part.bytes = (uint32_t)(sizeof(entry) + strlen(unwritten[code]) + 1);
	memcpy(slot->part.payload, &entry, sizeof(entry));
	memcpy(slot->part.payload + sizeof(entry), unwritten[code], sizeof(unwritten[code]));
	return true;
}

static bool can_be_written(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

void kc__say_remember(void)
{
	int saved_errno = errno;
	struct stat st;

	at_load.open = can_be_written(STDERR_FILENO, &st);
	if (at_load.open) {
		at_load.device = st.st_dev;
		at_load.inode = st.st_ino;
	}
	errno = saved_errno;
}

static bool is_stderr(int fd, struct stat *st)
{
	return at_load.open && can_be_written(fd, st) && st->st_dev == at_load.device && st->st_ino == at_load.inode;
}

struct reopened {
	pid_t thread; /* whose standard error it is */
	const char *line;
	size_t bytes;
};

static void write_reopened(void *arg)
{
	const struct reopened *r = arg;
	struct stat st;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/fd/2", (int)r->thread);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (is_stderr(fd, &st))
		(void)!write(fd, r->line, r->bytes);
	close(fd);
}

/* poll() would not help, as others may fill a pipe between poll() and the write; nor would O_NONBLOCK on the
 * application's descriptor, which everyone who shares it would see. So this single write is asked not to wait. Where
 * the kernel cannot do that (pipes before Linux 6.4, terminals), the file is opened again with O_NONBLOCK; where that
 * is not allowed, the line is not written. */
static void write_without_waiting(const char *line, size_t bytes)
{
	struct reopened reopened = {(pid_t)syscall(SYS_gettid), line, bytes};
	struct iovec part = {(void *)line, bytes};

	if (pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT) < 0 && errno != EAGAIN && errno != EPIPE)
		kc__files_do(write_reopened, &reopened);
}

static void write_line(const char *line, size_t bytes)
{
	struct stat st;

	if (!is_stderr(STDERR_FILENO, &st))
		return;
	if (S_ISREG(st.st_mode)) /* never waits, and shares its position with the application */
		(void)!write(STDERR_FILENO, line, bytes);
	else if (S_ISSOCK(st.st_mode))
		send(STDERR_FILENO, line, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	else if (S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode))
		write_without_waiting(line, bytes);
}

/* A write may raise SIGPIPE or SIGXFSZ in this thread; neither must reach the application. */
static void write_unnoticed(const char *line, size_t bytes)
{
	static const int numbers[] = {SIGPIPE, SIGXFSZ};
	static const struct timespec at_once;
	sigset_t caused, pending, before;

	sigpending(&pending);
	sigemptyset(&caused);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!sigismember(&pending, numbers[i]))
			sigaddset(&caused, numbers[i]);
	if (pthread_sigmask(SIG_BLOCK, &caused, &before))
		return;
	write_line(line, bytes);
	while (sigtimedwait(&caused, NULL, &at_once) > 0)
		;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void keep_line(const char *line, size_t bytes)
{
	pthread_mutex_lock(&waiting.lock);
	if (waiting.count < LINES_MAX) {
		waiting.at[waiting.count].bytes = bytes;
		memcpy(waiting.at[waiting.count++].text, line, bytes);
	}
	pthread_mutex_unlock(&waiting.lock);
	kc__application_has_lines();
}

static bool take_line(struct waiting_line *line)
{
	bool taken;

	pthread_mutex_lock(&waiting.lock);
	taken = waiting.count > waiting.written;
	if (taken)
		*line = waiting.at[waiting.written++];
	pthread_mutex_unlock(&waiting.lock);
	return taken;
}

void kc__say_waiting(void)
{
	int saved_errno = errno;
	struct waiting_line line;

	pthread_mutex_lock(&waiting.writing);
	while (take_line(&line))
		write_unnoticed(line.text, line.bytes);
	pthread_mutex_unlock(&waiting.writing);
	errno = saved_errno;
}

void kc__say_forget(void)
{
	pthread_mutex_init(&waiting.lock, NULL);
	pthread_mutex_init(&waiting.writing, NULL);
	waiting.count = waiting.written = 0;
}

void kc__say(enum kc_message_code code, const char *detail)
{
	if (!atomic_fetch_add(&kc__shim.said[code], 1))
		kc__say_again(code, detail);
}

/* Cut to size. No snprintf(): it takes more stack than all the rest. */
static void copy(char *to, const char *text, size_t size)
{
	size_t n = strnlen(text, size - 1);

	memcpy(to, text, n);
	to[n] = 0;
}

static void say(struct draft *draft, enum kc_message_code code, const char *detail)
{
	char *line = draft->line, *text = line + sizeof(prefix) - 1;
	size_t n;

	memcpy(line, prefix, sizeof(prefix));
	copy(text, kc_message_text(code), LINE_BYTES - sizeof(": "));
	n = strlen(text);
	if (detail) {
		memcpy(text + n, ": ", sizeof(": "));
		n += 2;
		kc_printable_text(detail, text + n, LINE_BYTES - n); /* no message fills the line */
	}
	if (kc__shim.ours && kc__shim.journal && write_message(code, text, draft->bytes)) {
		copy(unwritten[code], text, sizeof(unwritten[code]));
		atomic_store(&kc__shim.unwritten[code], 1);
	}
	n = strlen(line);
	line[n] = '\n';
	if (!kc__shim.options.quiet && kc_message_severity(code) > 0 &&
	    atomic_fetch_add(&kc__shim.lines, 1) < LINES_MAX)
		(kc__thread.own_files ? keep_line : write_unnoticed)(line, n + 1);
}

static __attribute__((noinline)) void say_on_stack(enum kc_message_code code, const char *detail)
{
	struct draft draft;

	say(&draft, code, detail);
}

void kc__say_again(enum kc_message_code code, const char *detail)
{
	int saved_errno = errno;
	struct draft *draft = kc__room_take();

	if (draft)
		say(draft, code, detail);
	else
		say_on_stack(code, detail);
	kc__room_give(draft);
	errno = saved_errno;
}

void kc__say_journal_memory(void)
{
	int why;

	if (!kc_journal_in_memory(kc__shim.journal))
		return;
	why = kc_journal_in_memory_why(kc__shim.journal);
	switch (why) {
	case -EFBIG:
		kc__say(KC_MESSAGE_JOURNAL_MEMORY, "the process may not write files that large (ulimit -f)");
		break;
	case -ENODEV:
		kc__say(KC_MESSAGE_JOURNAL_MEMORY, "its file system cannot map files into memory");
		break;
	case -ENOENT:
	case -ENOTDIR:
	case -ESTALE:
		kc__say(KC_MESSAGE_JOURNAL_MEMORY, "it, or its folder, was moved or deleted");
		break;
	default:
		kc__say(KC_MESSAGE_JOURNAL_MEMORY, strerror(-why));
	}
}

void kc__say_journal_full(void)
{
	kc__say(KC_MESSAGE_JOURNAL_FULL, kc_journal_in_memory(kc__shim.journal)
					     ? "it cannot be extended on disk, and memory has no more room for it"
					     : "KERNCAST_JOURNAL_MAX is its bound");
}
