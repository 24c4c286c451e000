/* Slots and headers by hand, for the tests of databases. */
#ifndef KC_STORE_TEST_ROWS_H
#define KC_STORE_TEST_ROWS_H

#include "store/journal/journal.h"
#include "store/common/message.h"
#include "store/database/store.h"

#include <stdarg.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define BASE_NS INT64_C(1000000000)

/* A scratch directory of the test, removed by the caller with remove_scratch. */
static inline char *make_scratch(void)
{
	char *path = strdup("/tmp/kc-store-XXXXXX");

	assert_non_null(mkdtemp(path));
	return path;
}

static inline void remove_scratch(char *path)
{
	char command[256];

	snprintf(command, sizeof(command), "rm -rf '%s'", path);
	assert_int_equal(system(command), 0);
	free(path);
}

/* The database of a scratch directory. */
static inline struct kc_store *open_scratch(const char *folder)
{
	struct kc_store *s;
	char path[256];

	snprintf(path, sizeof(path), "%s/k.db", folder);
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	return s;
}

/* The fixture of tests that need no more than a database. */
struct scratch_store {
	char *directory;
	struct kc_store *store;
};

static inline struct scratch_store *make_scratch_store(void)
{
	struct scratch_store *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->directory = make_scratch();
	f->store = open_scratch(f->directory);
	return f;
}

static inline int remove_scratch_store(void **state)
{
	struct scratch_store *f = *state;

	kc_store_close(f->store);
	remove_scratch(f->directory);
	free(f);
	return 0;
}

/* The statement: in the format of sqlite3_mprintf(). */
static inline void do_sql(struct kc_store *s, const char *format, ...)
{
	char *sql, *why = NULL;
	va_list arguments;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	if (sqlite3_exec(kc_store_db(s), sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", why, sql);
	sqlite3_free(sql);
}

/* What the statement, in that format, gives first. */
static inline int64_t number_of(struct kc_store *s, const char *format, ...)
{
	sqlite3_stmt *row;
	va_list arguments;
	int64_t value;
	char *sql;

	va_start(arguments, format);
	sql = sqlite3_vmprintf(format, arguments);
	va_end(arguments);
	assert_int_equal(sqlite3_prepare_v2(kc_store_db(s), sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	value = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	sqlite3_free(sql);
	return value;
}

static inline struct kc_journal_header make_header(uint32_t pid, const char *run)
{
	struct kc_journal_header h = {
	    .pid = pid,
	    .ppid = 1,
	    .pid_start = 77,
	    .realtime_ns = INT64_C(1700000000000000000),
	    .monotonic_ns = BASE_NS,
	    .boot_id = "11111111-2222-3333-4444-555555555555",
	    .measure = "all",
	    .executable = "/usr/bin/app",
	    .directory = "/home/user",
	    .command_line = "app\0two words\0it's",
	    .command_line_bytes = sizeof("app\0two words\0it's"),
	};

	snprintf(h.run_token, sizeof(h.run_token), "%s", run);
	return h;
}

static inline void put_entry(struct kc_store *s, uint64_t *index, uint32_t kind, const void *payload, size_t bytes)
{
	size_t room = sizeof(((struct kc_slot *)0)->part.payload), count = (bytes + room - 1) / room;

	for (size_t i = 0; i < count; i++) {
		size_t part = bytes - i * room < room ? bytes - i * room : room;
		struct kc_slot slot = {.kind = kind, .index = (*index)++};

		slot.part.index = (uint16_t)i;
		slot.part.count = (uint16_t)count;
		slot.part.bytes = (uint32_t)part;
		memcpy(slot.part.payload, (const char *)payload + i * room, part);
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
}

static inline void put_kernel(struct kc_store *s, uint64_t *index, uint32_t id, const char *name, const char *module)
{
	struct {
		struct kc_kernel_entry entry;
		char names[512];
	} k = {.entry = {.id = id, .code_hash = 0xABC, .resources = {.registers = 32, .max_threads_per_block = 1024}}};
	int length = snprintf(k.names, sizeof(k.names), "%s%c%s", name, 0, module);

	put_entry(s, index, KC_KIND_KERNEL, &k, sizeof(k.entry) + (size_t)length + 1);
}

static inline void put_device_and_streams(struct kc_store *s, uint64_t *index, uint32_t simulated)
{
	struct kc_device_entry device = {.driver_version = 13000,
					 .device = {.name = "Test device", .sm_count = 15, .simulated = simulated}};
	struct kc_stream_entry legacy = {.id = 1, .kind = 2}, stream = {.id = 2, .handle = 0x55, .priority = -1};

	put_entry(s, index, KC_KIND_DEVICE, &device, sizeof(device));
	put_entry(s, index, KC_KIND_STREAM, &legacy, sizeof(legacy));
	put_entry(s, index, KC_KIND_STREAM, &stream, sizeof(stream));
}

/* Launched at at_ns after the process began, predicted 100 ns before, to start
 * 1000 ns later; measured to start 1200 ns later. measured_ns 0: not measured. */
static inline struct kc_slot make_launch(uint64_t index, uint32_t kernel, int64_t at_ns, int64_t predicted_ns,
					 int64_t measured_ns)
{
	struct kc_slot slot = {.kind = KC_KIND_LAUNCH, .index = index};
	struct kc_launch *l = &slot.launch;

	l->launched_ns = BASE_NS + at_ns;
	l->predicted_at_ns = l->launched_ns - 100;
	l->solo_ns = predicted_ns;
	l->solo_low_ns = predicted_ns - 5;
	l->solo_high_ns = predicted_ns + 7;
	l->start_ns = l->launched_ns + 1000;
	l->end_ns = l->start_ns + predicted_ns;
	if (measured_ns) {
		l->measured_start_ns = l->launched_ns + 1200;
		l->measured_end_ns = l->measured_start_ns + measured_ns;
	}
	l->grid[0] = 64;
	l->grid[1] = l->grid[2] = l->block[1] = l->block[2] = 1;
	l->block[0] = 256;
	l->api = KC_API_LAUNCH_KERNEL;
	l->kernel = kernel;
	l->stream = 1;
	l->slowdown = l->slowdown_waves = 1;
	l->model = KC_MODEL_BSP_SHAPE;
	l->novelty = KC_REPEATED;
	l->overlap = measured_ns ? KC_OVERLAP_NONE : KC_OVERLAP_UNKNOWN;
	return slot;
}

#endif
