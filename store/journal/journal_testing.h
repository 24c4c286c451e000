/* What the tests of the journal share: a folder of its own for each test, and
 * one-line writers and readers. */
#ifndef KC_JOURNAL_TESTING_H
#define KC_JOURNAL_TESTING_H

#include "journal.h"
#include "store/common/process.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define MIB 1048576ull

static char directory[64], path[96];

static inline int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/kc_journal_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/test.kcj", directory);
	return 0;
}

static inline int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory);
}

static inline struct kc_journal *create(uint64_t max_bytes)
{
	struct kc_journal_header template = {.run_token = "a run"};
	struct kc_journal *j;

	template.pid = (uint32_t)getpid();
	template.pid_start = kc_process_start(template.pid);
	kc_boot_id(template.boot_id, sizeof(template.boot_id));
	assert_int_equal(kc_journal_create(path, &template, max_bytes, &j), 0);
	return j;
}

static inline uint64_t bytes_of(unsigned segments)
{
	return KC_HEADER_BYTES + (uint64_t)segments * KC_SEGMENT_BYTES;
}

static inline void finish(struct kc_journal *j, int remove)
{
	kc_journal_close(j, remove);
	kc_journal_forget(j);
}

static inline int add(struct kc_journal *j, uint32_t value, uint32_t state)
{
	struct kc_slot *slot = kc_journal_claim(j, KC_KIND_LAUNCH);

	if (!slot)
		return 0;
	slot->launch.grid[0] = value;
	kc_journal_commit(slot, state);
	return 1;
}

static inline uint32_t state_of(struct kc_slot *slot)
{
	return atomic_load_explicit(&slot->state, memory_order_acquire);
}

/* Marks what has returned as stored; how many. */
static inline uint64_t store_all(struct kc_journal *j)
{
	uint64_t stored = 0;

	for (uint64_t i = kc_journal_first(j), end = kc_journal_claimed(j); i < end; i++) {
		struct kc_slot *slot = kc_journal_at(j, i);

		if (slot && state_of(slot) == KC_SLOT_RETURNED) {
			kc_journal_commit(slot, KC_SLOT_STORED);
			stored++;
		}
	}
	kc_journal_retire(j);
	return stored;
}

static inline uint64_t file_bytes(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (uint64_t)st.st_size;
}

/* What a test does in a process of its own; its exit status. */
static inline int in_child(int (*fn)(void))
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(fn());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

#define CHECK(condition)                                                                                               \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                \
			return 1;                                                                                      \
		}                                                                                                      \
	} while (0)

#endif
