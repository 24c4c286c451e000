#include "replay_run.h"

#include "store/database/test_rows.h"

#include <math.h>

/* Replays launches of which only the first was measured, or none. */
static void replay_launches(uint32_t count, int64_t measured_ns, struct kc_replay **out)
{
	struct kc_replay_options all = {.selection = {1, 1}, .as_recorded = 1};
	struct kc_journal_header header = make_header(1, "a");
	char *folder = make_scratch(), path[300];
	uint64_t index = 0;
	struct kc_store *s;
	int64_t process;

	snprintf(path, sizeof(path), "%s/k.db", folder);
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 0);
	put_kernel(s, &index, 1, "_Z1kv", "");
	for (uint32_t i = 0; i < count; i++) {
		struct kc_slot slot = make_launch(index++, 1, 500000 * (i + 1), 20000, i ? 0 : measured_ns);

		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(kc_replay_run(s, &all, out), 0);
	kc_store_close(s);
	remove_scratch(folder);
}

static void launches_without_overlap_have_no_makespan(void **state)
{
	static const struct {
		uint32_t launches;
		int64_t measured_ns;
	} cases[] = {{0, 0}, {2, 0}, {1, 20000}, {2, 20000}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kc_replay *replay;

		replay_launches(cases[i].launches, cases[i].measured_ns, &replay);
		assert_int_equal(replay->launches, cases[i].launches);
		assert_int_equal(replay->measured, cases[i].measured_ns > 0);
		assert_int_equal(replay->makespan.n, 0);
		assert_true(isnan(replay->makespan.mape));
		kc_replay_free(replay);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launches_without_overlap_have_no_makespan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
