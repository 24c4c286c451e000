#include "internal.h"
#include "store/common/message.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 16, BYTES = 4096 };

static void message_slot(struct kc_slot *slot, uint64_t index)
{
	struct kc_message_entry entry = {.time_ns = 1, .severity = 1, .code = KC_MESSAGE_NO_CUPTI, .count = 1};

	memset(slot, 0, sizeof(*slot));
	slot->kind = KC_KIND_MESSAGE;
	slot->index = index;
	slot->part.count = 1;
	slot->part.bytes = sizeof(entry) + 2;
	memcpy(slot->part.payload, &entry, sizeof(entry));
	memcpy(slot->part.payload + sizeof(entry), "x", 2);
}

static struct kc_store *open_store(const char *path)
{
	struct kc_journal_header header = {.pid = 1, .realtime_ns = 1, .monotonic_ns = 1, .run_token = "guard"};
	struct kc_store *store;
	int64_t row;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &store, NULL, 0), 0);
	assert_int_equal(kc_store_process(store, &header, &row), 0);
	return store;
}

/* As closefrom(3) does, and then files of one's own under the same numbers. */
static void take_descriptors(int *mine, const char *folder)
{
	char path[256], text[BYTES];

	memset(text, 'x', sizeof(text));
	for (int fd = 3; fd < 64; fd++)
		close(fd);
	for (int i = 0; i < FILES; i++) {
		snprintf(path, sizeof(path), "%s/mine-%d", folder, i);
		mine[i] = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
		assert_true(mine[i] >= 3);
		assert_int_equal(write(mine[i], text, sizeof(text)), BYTES);
	}
}

static void assert_untouched(const int *mine)
{
	for (int i = 0; i < FILES; i++) {
		char text[BYTES + 1];
		struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

		assert_int_equal(pread(mine[i], text, sizeof(text), 0), BYTES);
		for (int k = 0; k < BYTES; k++)
			assert_int_equal(text[k], 'x');
		assert_int_equal(fcntl(mine[i], F_GETLK, &lock), 0);
		assert_int_equal(lock.l_type, F_UNLCK);
	}
}

static void descriptors_lost_in_a_transaction(void **state)
{
	char folder[] = "/tmp/kc-guard-XXXXXX", path[64];
	struct kc_store *store;
	struct kc_slot slot;
	int mine[FILES];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/k.db", folder);
	store = open_store(path);
	assert_int_equal(kc_store_begin(store), 0);
	message_slot(&slot, 0);
	assert_int_equal(kc_store_slot(store, &slot), 0);

	take_descriptors(mine, folder);
	assert_true(kc_store_commit(store) < 0);
	kc_store_rollback(store);
	assert_false(kc_store_intact(store));
	kc_store_abandon(store);
	assert_untouched(mine);

	/* Opened again it takes what was not committed. */
	store = open_store(path);
	assert_int_equal(kc_store_begin(store), 0);
	assert_int_equal(kc_store_slot(store, &slot), 0);
	assert_int_equal(kc_store_commit(store), 0);
	kc_store_close(store);
	assert_untouched(mine);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(descriptors_lost_in_a_transaction)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
