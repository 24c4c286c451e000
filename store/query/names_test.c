#include "names.h"
#include "query.h"
#include "store/database/testing/test_rows.h"

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

/* The first run was given the second GPU alone (CUDA_VISIBLE_DEVICES=1), the second run both. */
static int set_up(void **state)
{
	static const char devices[] = "INSERT INTO device(id, uuid, driver_version, name, simulated) VALUES"
				      " (101, 'aaaaaaaa334455667788990011223344', 0, 'H100', 0),"
				      " (102, 'bbbbbbbb334455667788990011223344', 0, 'H100', 0);"
				      "INSERT INTO process_device VALUES(1, 0, 102), (2, 0, 101), (2, 1, 102)";
	struct scratch_store *f = make_scratch_store();

	put_process(f->store, 1, "run-a");
	put_process(f->store, 2, "run-b");
	do_sql(f->store, devices);
	*state = f;
	return 0;
}

static void check(const struct scratch_store *f, int64_t first_run, int64_t last_run, int64_t device,
		  const char *wanted)
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

static void check_process(const struct scratch_store *f, const char *sql, const char *wanted)
{
	char name[KC_PROCESS_NAME_BYTES];
	int64_t pid;

	do_sql(f->store, sql);
	assert_int_equal(kc_process_name(f->store, 1, &pid, name), 0);
	assert_string_equal(name, wanted);
}

static void a_process_is_called_by_its_rank_and_of_several_hosts_by_its_own(void **state)
{
	check_process(*state, "SELECT 1", "pid 1");
	check_process(*state, "UPDATE process SET host = 'node6', rank = 3", "rank 3 (pid 1)");
	check_process(*state, "UPDATE process SET host = 'node7', run = 1 WHERE id = 2", "rank 3, node6 (pid 1)");
	check_process(*state, "UPDATE process SET rank = NULL", "node6 (pid 1)");
	check_process(*state, "UPDATE process SET source = 't.json', command_line = 'rank 9'", "rank 9 (pid 1)");
}

/* Of the second run, whose ordinals 0 and 1 are these. */
static void a_gpu_has_the_number_of_cuda_visible_devices(void **state)
{
	static const struct {
		const char *visible, *first, *second;
	} cases[] = {
	    {"6,2", "GPU 6", "GPU 2"},
	    {"5", "GPU 5", "GPU 1"}, /* an ordinal that the list does not have */
	    {"GPU-aaaaaaaa,1", "GPU 0", "GPU 1"},
	    {"0,-1", "GPU 0", "GPU 1"},
	    {"1,,0", "GPU 0", "GPU 1"},
	    {"", "GPU 0", "GPU 1"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "UPDATE process SET visible_devices = '%s'", cases[i].visible);
		do_sql(((struct scratch_store *)*state)->store, sql);
		check(*state, 2, 2, FIRST_ID, cases[i].first);
		check(*state, 2, 2, SECOND_ID, cases[i].second);
	}
}

static void gpus_of_several_hosts_are_told_apart_by_them(void **state)
{
	do_sql(((struct scratch_store *)*state)->store,
	       "UPDATE process SET host = 'node' || id; DELETE FROM process_device WHERE process = 2 AND ordinal = 1");
	check(*state, 1, 2, FIRST_ID, "GPU 0 of node2");
	check(*state, 1, 2, SECOND_ID, "GPU 0 of node1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_gpu_has_the_number_that_it_had_in_the_run, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(gpus_with_one_number_are_told_apart, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(a_process_is_called_by_its_rank_and_of_several_hosts_by_its_own, set_up,
					    remove_scratch_store),
	    cmocka_unit_test_setup_teardown(a_gpu_has_the_number_of_cuda_visible_devices, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(gpus_of_several_hosts_are_told_apart_by_them, set_up, remove_scratch_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
