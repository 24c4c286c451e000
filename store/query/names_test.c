#include "names.h"
#include "query.h"
#include "store/database/test_rows.h"

#include <sqlite3.h>

#define FIRST_ID 101
#define SECOND_ID 102

static void put_process(struct kc_store *s, uint32_t pid, const char *run)
{
	struct kc_journal_header header = make_header(pid, run);
	int64_t process;

	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(process, pid);
}

struct fixture {
	char *directory;
	struct kc_store *store;
};

/* The first run was given the second GPU alone (CUDA_VISIBLE_DEVICES=1), the second run both. */
static int set_up(void **state)
{
	static const char devices[] = "INSERT INTO device(id, uuid, driver_version, name, simulated) VALUES"
				      " (101, 'aaaaaaaa334455667788990011223344', 0, 'H100', 0),"
				      " (102, 'bbbbbbbb334455667788990011223344', 0, 'H100', 0);"
				      "INSERT INTO process_device VALUES(1, 0, 102), (2, 0, 101), (2, 1, 102)";
	struct fixture *f = calloc(1, sizeof(*f));
	char path[256];

	f->directory = make_scratch();
	snprintf(path, sizeof(path), "%s/k.db", f->directory);
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &f->store, NULL, 0), 0);
	put_process(f->store, 1, "run-a");
	put_process(f->store, 2, "run-b");
	assert_int_equal(sqlite3_exec(kc_store_db(f->store), devices, NULL, NULL, NULL), SQLITE_OK);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kc_store_close(f->store);
	remove_scratch(f->directory);
	free(f);
	return 0;
}

static void check(const struct fixture *f, int64_t first_run, int64_t last_run, int64_t device, const char *wanted)
{
	const struct kc_selection runs = {first_run, last_run};
	char name[KC_GPU_NAME_BYTES];

	assert_int_equal(kc_gpu_name(f->store, &runs, device, name), 0);
	assert_string_equal(name, wanted);
}

static void a_gpu_has_the_number_that_it_had_in_the_run(void **state)
{
	check(*state, 1, 1, SECOND_ID, "GPU 0");
	check(*state, 2, 2, FIRST_ID, "GPU 0");
	check(*state, 2, 2, SECOND_ID, "GPU 1");
	check(*state, 1, 1, FIRST_ID, "");
}

static void gpus_with_one_number_are_told_apart(void **state)
{
	check(*state, 1, 2, FIRST_ID, "GPU 0 (GPU-aaaaaaaa)");
	check(*state, 1, 2, SECOND_ID, "GPU 0 (GPU-bbbbbbbb)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_gpu_has_the_number_that_it_had_in_the_run, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(gpus_with_one_number_are_told_apart, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
