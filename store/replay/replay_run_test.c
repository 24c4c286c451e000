#include "replay_run.h"

#include "store/database/testing/test_rows.h"

#include <math.h>

static struct kc_store *begin(char *folder, uint64_t *index)
{
	struct kc_journal_header header = make_header(1, "a");
	struct kc_store *s = open_scratch(folder);
	int64_t process;

	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, index, 0);
	put_kernel(s, index, 1, "_Z1kv", "");
	return s;
}

static void replay(struct kc_store *s, char *folder, struct kc_replay **out)
{
	struct kc_replay_options all = {.selection = {1, 1}, .as_recorded = 1};

	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(kc_replay_run(s, &all, out), 0);
	kc_store_close(s);
	remove_scratch(folder);
}

/* Replays launches of which only the first was measured, or none. */
static void replay_launches(uint32_t count, int64_t measured_ns, struct kc_replay **out)
{
	char *folder = make_scratch();
	uint64_t index = 0;
	struct kc_store *s = begin(folder, &index);

	for (uint32_t i = 0; i < count; i++) {
		struct kc_slot slot = make_launch(index++, 1, 500000 * (i + 1), 20000, i ? 0 : measured_ns);

		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	replay(s, folder, out);
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

/* They share what is known, which is freed once. */
static void alike_gpus_of_a_trace(void **state)
{
	struct {
		struct kc_device_entry entry;
		char texts[8]; /* place and bus */
	} device = {.entry = {.device = {.name = "Tesla V100"}}, .texts = ""};
	char *folder = make_scratch();
	uint64_t index = 0;
	struct kc_store *s = begin(folder, &index);
	struct kc_replay *out;

	(void)state;
	for (uint8_t i = 1; i <= 3; i++) {
		struct kc_slot slot = make_launch(1000 + i, 1, 500000 * i, 20000, 20000);

		device.entry.ordinal = slot.launch.device = i;
		put_entry(s, &index, KC_KIND_DEVICE, &device, sizeof(device));
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	replay(s, folder, &out);
	assert_int_equal(out->launches, 3);
	assert_int_equal(out->measured, 3);
	kc_replay_free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(launches_without_overlap_have_no_makespan),
	    cmocka_unit_test(alike_gpus_of_a_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
