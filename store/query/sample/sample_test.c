/* Two processes of a run: 100 launches, one each 10 us from 10 us on, and 5 us later 50 likewise. Of each process,
 * every tenth launch, from the fourth on, is of kernel "saxpy", all others of "reduce". Times are ns from the run's
 * start. */
#include "sample.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>

#define FIRST 200u /* sequence number of a process's first launch */
#define STEP_NS 10000
#define LATER_NS 5000

struct fixture {
	char *directory;
	struct kc_store *store;
	struct kc_selection selection;
	struct kc_sample sample;
};

static void begin(struct fixture *f, uint32_t pid, int64_t started_ns)
{
	struct kc_journal_header header = make_header(pid, "run-a");
	uint64_t index = 0;
	int64_t process;

	header.monotonic_ns += started_ns;
	assert_int_equal(kc_store_process(f->store, &header, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
	put_device_and_streams(f->store, &index, 1);
	put_kernel(f->store, &index, 1, "reduce", "app");
	put_kernel(f->store, &index, 2, "saxpy", "app");
}

static void put(struct fixture *f, const struct kc_slot *slot)
{
	assert_int_equal(kc_store_slot(f->store, slot), 0);
}

static void put_launches(struct fixture *f, uint32_t pid, int64_t started_ns, unsigned count)
{
	begin(f, pid, started_ns);
	for (unsigned i = 0; i < count; i++) {
		struct kc_slot slot =
		    make_launch(FIRST + i, i % 10 == 3 ? 2 : 1, started_ns + (i + 1) * STEP_NS, 100, 120);

		put(f, &slot);
	}
	assert_int_equal(kc_store_commit(f->store), 0);
}

static int set_up_empty(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	f->store = open_scratch(f->directory);
	f->selection = (struct kc_selection){1, 1};
	*state = f;
	return 0;
}

static int set_up(void **state)
{
	set_up_empty(state);
	put_launches(*state, 42, 0, 100);
	put_launches(*state, 43, LATER_NS, 50);
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	free(f->sample.launches.at);
	kc_store_close(f->store);
	remove_scratch(f->directory);
	free(f);
	return 0;
}

static const struct kc_sample_launch *at(const struct fixture *f, size_t i)
{
	assert_true(i < f->sample.launches.count);
	return (const struct kc_sample_launch *)f->sample.launches.at + i;
}

static void draw(struct fixture *f, size_t most, struct kc_filter *filter)
{
	assert_int_equal(kc_sample_draw(f->store, &f->selection, filter, most, &f->sample), 0);
}

static void all_where_there_are_no_more(void **state)
{
	struct fixture *f = *state;

	draw(f, 150, NULL);
	assert_int_equal(f->sample.launches.count, 150);
	for (size_t i = 0; i < 150; i++) {
		const size_t in_process = i < 100 ? i : i - 100;

		assert_int_equal(at(f, i)->process, i < 100 ? 1 : 2);
		assert_int_equal(at(f, i)->sequence, FIRST + in_process);
		assert_int_equal(at(f, i)->launched_ns, (int64_t)(in_process + 1) * STEP_NS + (i < 100 ? 0 : LATER_NS));
	}
}

/* 30 ranges of 5: the first launch of each. */
static void evenly_drawn(void **state)
{
	struct fixture *f = *state;

	draw(f, 30, NULL);
	assert_int_equal(f->sample.launches.count, 30);
	for (size_t i = 0; i < 30; i++) {
		assert_int_equal(at(f, i)->process, i < 20 ? 1 : 2);
		assert_int_equal(at(f, i)->sequence, FIRST + (i < 20 ? i : i - 20) * 5);
	}
}

/* 15 launches of saxpy, of which no range of 5 has two. */
static void those_that_match(void **state)
{
	struct fixture *f = *state;
	struct kc_filter_choice choice = {0};
	struct kc_filter *filter;
	char why[128];

	assert_int_equal(kc_filter_regex(&choice.kernel, "saxpy", why, sizeof(why)), 0);
	assert_int_equal(kc_filter_new(&choice, f->store, &filter), 0);
	draw(f, 30, filter);
	assert_int_equal(f->sample.launches.count, 15);
	for (size_t i = 0; i < 15; i++)
		assert_int_equal(at(f, i)->sequence, FIRST + 3 + (i < 10 ? i : i - 10) * 10);
	kc_filter_free(filter);
	kc_filter_choice_free(&choice);
}

/* A launch far away, as a damaged database may have it, is a range of its own, and nothing is read in between. */
static void a_number_far_away(void **state)
{
	struct fixture *f = *state;

	do_sql(f->store, "UPDATE launch_row SET id = (1 << 40) + (1 << 39) WHERE id = (1 << 40) + 299");
	draw(f, 1000, NULL);
	assert_true(f->sample.launches.count >= 2 && f->sample.launches.count <= 150);
	draw(f, 0, NULL);
}

static void no_launches(void **state)
{
	struct fixture *f = *state;

	f->selection = (struct kc_selection){7, 9};
	draw(f, 30, NULL);
	assert_int_equal(f->sample.launches.count, 0);
}

/* The interval of the duration is that of the time alone, 95 to 107 ns, times the slowdown. */
static void what_is_known_of_a_launch(void **state)
{
	struct fixture *f = *state;
	struct kc_slot rows[3];

	begin(f, 42, 0);
	for (unsigned i = 0; i < 3; i++)
		rows[i] = make_launch(FIRST + i, 1, STEP_NS, 100, i == 1 ? 0 : 120);
	rows[0].launch.slowdown = 2;
	rows[0].launch.end_ns = rows[0].launch.start_ns + 200;
	rows[0].launch.novelty = KC_NEW_SIZE;
	rows[0].launch.overlap = KC_OVERLAP_BEHIND;
	rows[1].launch.unmeasured = KC_RECORD_DROPPED;
	rows[2].launch.unpredictable = KC_NO_ATTRIBUTES;
	for (unsigned i = 0; i < 3; i++)
		put(f, rows + i);
	assert_int_equal(kc_store_commit(f->store), 0);
	draw(f, 10, NULL);

	assert_int_equal(at(f, 0)->start_ns[KC_SAMPLE_PREDICTED], STEP_NS + 1000);
	assert_int_equal(at(f, 0)->end_ns[KC_SAMPLE_PREDICTED], STEP_NS + 1200);
	assert_int_equal(at(f, 0)->start_ns[KC_SAMPLE_MEASURED], STEP_NS + 1200);
	assert_int_equal(at(f, 0)->end_ns[KC_SAMPLE_MEASURED], STEP_NS + 1320);
	assert_int_equal(at(f, 0)->low_ns, 190);
	assert_int_equal(at(f, 0)->high_ns, 214);
	assert_int_equal(at(f, 0)->novelty, KC_NEW_SIZE);
	assert_int_equal(at(f, 0)->overlap, KC_OVERLAP_BEHIND);
	assert_true(at(f, 1)->has[KC_SAMPLE_PREDICTED] && !at(f, 1)->has[KC_SAMPLE_MEASURED]);
	assert_true(!at(f, 2)->has[KC_SAMPLE_PREDICTED] && at(f, 2)->has[KC_SAMPLE_MEASURED]);
}

static void put_copy(struct fixture *f, uint64_t index, int64_t launched_ns)
{
	struct kc_slot slot = {.kind = KC_KIND_TRANSFER, .index = index};

	slot.transfer = (struct kc_transfer){.launched_ns = BASE_NS + launched_ns,
					     .measured_start_ns = BASE_NS + launched_ns + 10,
					     .measured_end_ns = BASE_NS + launched_ns + 30,
					     .bytes = 4096,
					     .stream = 2,
					     .kind = KC_COPY_HTOD};
	put(f, &slot);
}

/* Launches 200, 202, 204, … with a copy after each: three launches, and the two copies between them. */
static void a_window(void **state)
{
	struct fixture *f = *state;
	int64_t ns;

	begin(f, 42, 0);
	for (unsigned i = 0; i < 10; i++) {
		struct kc_slot slot = make_launch(FIRST + 2 * i, 1, (i + 1) * STEP_NS, 100, 120);

		put(f, &slot);
		put_copy(f, FIRST + 2 * i + 1, (i + 1) * STEP_NS + 500);
	}
	assert_int_equal(kc_store_commit(f->store), 0);
	assert_int_equal(kc_sample_window(f->store, 1, FIRST + 3, 3, &f->sample), 0);
	assert_int_equal(f->sample.launches.count, 6);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(at(f, i)->sequence, FIRST + 4 + 2 * i);
	for (size_t i = 0; i < 3; i++) {
		assert_true(at(f, 3 + i)->is_copy);
		assert_int_equal(at(f, 3 + i)->sequence, FIRST + 3 + 2 * i);
		assert_int_equal(at(f, 3 + i)->copy_bytes, 4096);
	}
	ns = (int64_t)(1 + 1) * STEP_NS + 500; /* of the copy with i = 1 */
	assert_int_equal(at(f, 3)->launched_ns, ns);
	assert_int_equal(at(f, 3)->start_ns[KC_SAMPLE_MEASURED], ns + 10);
	assert_int_equal(at(f, 3)->end_ns[KC_SAMPLE_MEASURED], ns + 30);
	assert_false(at(f, 3)->has[KC_SAMPLE_PREDICTED]);
	assert_int_equal(kc_sample_window(f->store, 0, 0, 3, &f->sample), -EINVAL);
	assert_int_equal(kc_sample_window(f->store, 1, -1, 3, &f->sample), -EINVAL);
}

static void values_of_lambda(void **state)
{
	struct fixture *f = *state;
	struct kc__list values = {0};
	const struct kc_sample_lambda *v;
	uint64_t index = 1000;

	begin(f, 42, 0);
	for (uint32_t i = 1; i <= 4; i++) {
		const struct kc_lambda_entry entry = {.state = i,
						      .level = i == 1 ? KC_MODEL_BSP_CODE : KC_MODEL_BSP_SHAPE,
						      .kernel = i == 1 ? 0 : 2,
						      .block = {256, 1, 1},
						      .grid = {i == 1 ? 0 : 64, 1, 1},
						      .count = i,
						      .log_value = log(0.5 * i),
						      .time_ns = BASE_NS + i * STEP_NS};

		put_entry(f->store, &index, KC_KIND_LAMBDA, &entry, sizeof(entry));
	}
	assert_int_equal(kc_store_commit(f->store), 0);
	assert_int_equal(kc_sample_lambdas(f->store, &f->selection, 3, &values), 0);
	assert_int_equal(values.count, 3);
	v = values.at;
	assert_int_equal(v[0].kernel, 0);
	assert_int_equal(v[0].level, KC_MODEL_BSP_CODE);
	assert_true(v[2].kernel > 0 && v[2].shape > 0);
	assert_int_equal(v[2].time_ns, 3 * STEP_NS);
	assert_int_equal(v[2].count, 3);
	assert_true(fabs(v[2].value - 1.5) < 1e-8);
	free(values.at);
}

/* Alone 100 ns, then twice beside another: 150 and 170 ns, predicted 1.4 and 1.8 times as long. */
static void slowdowns(void **state)
{
	struct fixture *f = *state;
	struct kc__list groups = {0};
	const struct kc_sample_slowdown *g;

	begin(f, 42, 0);
	for (unsigned i = 0; i < 3; i++) {
		struct kc_slot slot = make_launch(FIRST + i, 1, (i + 1) * STEP_NS, 100,
						  i == 0   ? 100
						  : i == 1 ? 150
							   : 170);

		slot.launch.overlap = i ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE;
		slot.launch.concurrency_case = i ? KC_CASE_A : KC_CASE_ALONE;
		slot.launch.slowdown = i == 0 ? 1 : i == 1 ? 1.4f : 1.8f;
		put(f, &slot);
	}
	assert_int_equal(kc_store_commit(f->store), 0);
	assert_int_equal(kc_sample_slowdowns(f->store, &f->selection, 10, &groups), 0);
	assert_int_equal(groups.count, 1);
	g = groups.at;
	assert_int_equal(g->launches, 2);
	assert_int_equal(g->concurrency_case, KC_CASE_A);
	assert_int_equal(g->overlap, KC_OVERLAP_BEHIND);
	assert_true(fabs(g->predicted - 1.6) < 1e-5);
	assert_true(fabs(g->measured - 1.6) < 0.02); /* the median of solo times is kept to 1 % */
	free(groups.at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(all_where_there_are_no_more, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(evenly_drawn, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(those_that_match, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_number_far_away, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(no_launches, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_is_known_of_a_launch, set_up_empty, tear_down),
	    cmocka_unit_test_setup_teardown(a_window, set_up_empty, tear_down),
	    cmocka_unit_test_setup_teardown(values_of_lambda, set_up_empty, tear_down),
	    cmocka_unit_test_setup_teardown(slowdowns, set_up_empty, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
