/* What the tests of recovery share: journals of a process that is gone, beside a database. */
#ifndef KC_STORE_RECOVERY_TESTING_H
#define KC_STORE_RECOVERY_TESTING_H

#include "recovery.h"
#include "store/database/store.h"
#include "store/journal/journal_testing.h"

#include <sqlite3.h>

static char database[96];
static uint32_t dead_pid;

static inline int begin_test(void **state)
{
	pid_t pid;

	if (setup(state))
		return -1;
	snprintf(database, sizeof(database), "%s/k.db", directory);
	pid = fork();
	if (pid == 0)
		_exit(0);
	waitpid(pid, NULL, 0);
	dead_pid = (uint32_t)pid;
	return 0;
}

static inline int end_test(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	return system(command);
}

/* The journal of a process that is gone; start tells several apart. */
static inline struct kc_journal *dead_journal(uint64_t start)
{
	struct kc_journal_header template = {.run_token = "run", .executable = "/bin/app", .monotonic_ns = 1000000};
	struct kc_journal *j;

	template.pid = dead_pid;
	template.pid_start = start;
	kc_boot_id(template.boot_id, sizeof(template.boot_id));
	kc_journal_path(database, dead_pid, start, path, sizeof(path));
	assert_int_equal(kc_journal_create(path, &template, 512 * MIB, &j), 0);
	return j;
}

static inline struct kc_launch launch_of(uint32_t i)
{
	return (struct kc_launch){.predicted_at_ns = 2000000 + i,
				  .launched_ns = 2000100 + i,
				  .grid = {1, 1, 1},
				  .block = {32, 1, 1},
				  .thread = 7};
}

static inline void add_launch(struct kc_journal *j, const struct kc_launch *launch, uint32_t state)
{
	struct kc_slot *slot = kc_journal_claim(j, KC_KIND_LAUNCH);

	slot->launch = *launch;
	kc_journal_commit(slot, state);
}

static inline void add_launches(struct kc_journal *j, uint32_t count, uint32_t state)
{
	for (uint32_t i = 0; i < count; i++) {
		struct kc_launch launch = launch_of(i);

		add_launch(j, &launch, state);
	}
}

/* The number a query answers; -1 where the database cannot be read. */
static inline int64_t number_of(const char *sql)
{
	struct kc_store *store;
	sqlite3_stmt *statement;
	int64_t value = -1;

	if (kc_store_open(database, KC_STORE_READ, &store, NULL, 0))
		return -1;
	if (sqlite3_prepare_v2(kc_store_db(store), sql, -1, &statement, NULL) == SQLITE_OK) {
		if (sqlite3_step(statement) == SQLITE_ROW)
			value = sqlite3_column_int64(statement, 0);
		sqlite3_finalize(statement);
	}
	kc_store_close(store);
	return value;
}

static inline struct kc_recovered recover(void)
{
	struct kc_recovered out;
	char why[512];

	assert_int_equal(kc_recover(database, false, &out, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	return out;
}

#endif
