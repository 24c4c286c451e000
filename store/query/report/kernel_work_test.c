/*
 * Work and time of launches by hand. Each of the 64 * 256 = 16,384 threads of a known launch does 2 fused
 * multiply-adds and 1 addition, 5 operations, loads 8 bytes and stores 4: 81,920 operations, 196,608 bytes. The GPU
 * has 1 GB/s, of which kernels reach 0.92 (resources.c): 213.7 µs, longer than all else.
 */
#include "kernel_work.h"
#include "predictor/code/counts.h"
#include "predictor/solo/resources/resources.h"
#include "store/database/testing/test_rows.h"

#include <math.h>

#define THREADS 16384.0
#define FLOP 81920.0
#define BYTES 196608.0
#define ALONE_NS (BYTES / 0.92)

static struct kc_counts counts_of(void)
{
	struct kc_counts counts = {
	    .threads = THREADS,
	    .active_share = 1,
	    .exact = 1,
	    .distinct_loaded_bytes = 8 * THREADS,
	    .distinct_stored_bytes = 4 * THREADS,
	};

	counts.of[KC_COUNT_OF_FMA] = 2;
	counts.of[KC_COUNT_OF_ADD] = 1;
	counts.of[KC_COUNT_OF_BYTES_LOADED] = 8;
	counts.of[KC_COUNT_OF_BYTES_STORED] = 4;
	counts.of[KC_COUNT_OF_LD_GLOBAL] = 2;
	counts.of[KC_COUNT_OF_ST_GLOBAL] = 1;
	counts.of[KC_COUNT_OF_REQUESTS] = 3.0 / 32;
	counts.of[KC_COUNT_OF_SECTORS] = 12.0 / 32;
	return counts;
}

static void put_work(struct kc_store *s, uint64_t *index, uint32_t kernel, uint32_t arguments,
		     const struct kc_counts *counts)
{
	struct kc_work_entry work = {
	    .kernel = kernel,
	    .grid = {64, 1, 1},
	    .block = {256, 1, 1},
	    .blocks_per_sm = 8,
	    .arguments = arguments,
	    .count = KC_WORK_NUMBERS,
	};

	kc_work_numbers(counts, work.numbers);
	put_entry(s, index, KC_KIND_WORK, &work, sizeof(work));
}

static void put_launch(struct kc_store *s, uint64_t *index, uint32_t kernel, uint32_t arguments, int64_t ns)
{
	struct kc_slot slot = make_launch(*index, kernel, (int64_t)*index * 1000000, 100, ns);

	(*index)++;
	slot.launch.blocks_per_sm = 8;
	slot.launch.arguments = arguments;
	assert_int_equal(kc_store_slot(s, &slot), 0);
}

static void put_dictionary(struct kc_store *s, uint64_t *index)
{
	const struct kc_device_entry device = {.device = {.name = "Test device",
							  .cc_major = 8,
							  .sm_count = 16,
							  .clock_khz = 1000000,
							  .cores_per_sm = 64,
							  .max_threads_per_sm = 2048,
							  .max_threads_per_block = 1024,
							  .max_blocks_per_sm = 32,
							  .warp_size = 32,
							  .registers_per_sm = 65536,
							  .shared_per_sm_bytes = 102400,
							  .memory_bytes_per_s = 1000000000}};
	const struct kc_stream_entry stream = {.id = 1};

	put_entry(s, index, KC_KIND_DEVICE, &device, sizeof(device));
	put_entry(s, index, KC_KIND_STREAM, &stream, sizeof(stream));
	put_kernel(s, index, 1, "known", "app");
	put_kernel(s, index, 2, "with_branches", "app");
	put_kernel(s, index, 3, "of_another_gpu", "app");
}

/* Kernel 1: twice 250 µs with arguments 1, whose work is known, and once 1,500 µs with others. Of the other two
 * something was assumed. */
static void put_rows(struct kc_store *s)
{
	struct kc_counts counts = counts_of();
	uint64_t index = 0;

	put_dictionary(s, &index);
	put_work(s, &index, 1, 1, &counts);
	counts.exact = 0;
	counts.assumed = KC_ASSUMED_BRANCH;
	put_work(s, &index, 2, 0, &counts);
	counts.assumed = 0;
	counts.exact = counts.other_architecture = 1;
	put_work(s, &index, 3, 0, &counts);
	put_launch(s, &index, 1, 1, 250000);
	put_launch(s, &index, 1, 1, 250000);
	put_launch(s, &index, 1, 2, 1500000);
	put_launch(s, &index, 1, 1, 0);
	put_launch(s, &index, 2, 0, 500000);
	put_launch(s, &index, 3, 0, 100000);
}

/* Of an imported process: an operator of 3,000,000 operations and 5,000 bytes, one of 8,000,000 whose two halves two
 * launches did, and one of which that is not known. */
static void put_operators(struct kc_store *s)
{
	static const char name[] = "ampere_sgemm_128x64_tn", other[] = "wgrad";
	static const struct kc_operator_entry operators[] = {
	    {.id = 1, .flop = 3e6, .bytes = 5e3}, {.id = 2, .flop = 8e6, .bytes = NAN}, {.id = 3, .flop = NAN}};
	static const uint32_t parts[] = {1, 1, 2, 2, 1, 0};
	static const uint32_t ids[] = {1, 1, 2, 2, 3, 1};
	struct {
		struct kc_operator_entry entry;
		char texts[32];
	} of = {.texts = "aten::mm\0[2, 3] [3, 5]\0float"};
	uint64_t index = 100;

	put_dictionary(s, &index);
	put_kernel(s, &index, 4, name, "torch");
	put_kernel(s, &index, 5, other, "torch");
	for (size_t i = 0; i < 3; i++) {
		of.entry = operators[i];
		put_entry(s, &index, KC_KIND_OPERATOR, &of, sizeof(of));
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct kc_launched_by_entry by = {.launch = index, .id = ids[i], .parts = parts[i]};

		put_launch(s, &index, ids[i] == 1 ? 4 : 5, 0, 100000);
		put_entry(s, &index, KC_KIND_LAUNCHED_BY, &by, sizeof(by));
	}
}

static int set_up_operators(void **state)
{
	struct scratch_store *f = make_scratch_store();
	struct kc_journal_header header = make_header(42, "run-a");
	int64_t process;

	assert_int_equal(kc_store_process(f->store, &header, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
	put_operators(f->store);
	assert_int_equal(kc_store_commit(f->store), 0);
	*state = f;
	return 0;
}

static int set_up(void **state)
{
	struct scratch_store *f = make_scratch_store();
	struct kc_journal_header header = make_header(42, "run-a");
	int64_t process;

	assert_int_equal(kc_store_process(f->store, &header, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
	put_rows(f->store);
	assert_int_equal(kc_store_commit(f->store), 0);
	*state = f;
	return 0;
}

static struct kc_report *report_of(struct scratch_store *f)
{
	struct kc_selection selection;
	struct kc_report *report;

	assert_int_equal(kc_query_select(f->store, "latest", &selection, NULL, 0), 0);
	assert_int_equal(kc_query_report(f->store, &selection, 0, &report), 0);
	assert_true(isnan(report->work_ns)); /* nobody has asked yet */
	return report;
}

static const struct kc_group_work *work_of(const struct kc_report *report, const char *kernel)
{
	for (size_t i = 0; i < report->kernels.count; i++)
		if (!strcmp(report->kernels.at[i].name, kernel))
			return &report->kernels.at[i].work;
	fail();
	return NULL;
}

static void near(double value, double expected)
{
	assert_true(fabs(value - expected) <= 1e-9 * expected);
}

static void launches_whose_work_is_known_count(void **state)
{
	struct scratch_store *f = *state;
	struct kc_report *report = report_of(f);
	const struct kc_group_work *work = work_of(report, "known");

	assert_int_equal(kc_query_work(f->store, NULL, report), 0);
	near(report->work_ns, 500000); /* of 2,600,000 */
	assert_int_equal(work->launches, 2);
	near(work->measured_ns, 500000);
	near(work->flop, 2 * FLOP);
	near(work->bytes, 2 * BYTES);
	assert_int_equal(work->limit, KC_RESOURCE_DRAM);
	near(work->limit_ns, 2 * ALONE_NS);
	assert_int_equal(work_of(report, "with_branches")->launches, 0);
	assert_int_equal(work_of(report, "of_another_gpu")->launches, 0);
	kc_report_free(report);
}

static void what_matches_the_filter_counts(void **state)
{
	struct scratch_store *f = *state;
	struct kc_filter_choice choice = {.min_ns = 300000};
	struct kc_report *report = report_of(f);
	struct kc_filter *filter;

	assert_int_equal(kc_filter_new(&choice, f->store, &filter), 0);
	assert_int_equal(kc_query_work(f->store, filter, report), 0);
	assert_true(report->work_ns == 0); /* the known launches are shorter */
	kc_filter_free(filter);
	kc_report_free(report);
}

/* Numbers that no count can be: the row is left out. */
static void a_damaged_row_is_not_known(void **state)
{
	struct scratch_store *f = *state;
	struct kc_report *report = report_of(f);

	do_sql(f->store, "UPDATE work SET counts = x'00' WHERE arguments = 1");
	assert_int_equal(kc_query_work(f->store, NULL, report), 0);
	assert_true(report->work_ns == 0);
	kc_report_free(report);
}

/* 16 SMs of 64 lanes at 1 GHz: 2,048 operations per ns. */
static void launches_do_their_part_of_the_operator(void **state)
{
	struct scratch_store *f = *state;
	struct kc_report *report = report_of(f);
	const struct kc_group_work *whole = work_of(report, "ampere_sgemm_128x64_tn"), *half = work_of(report, "wgrad");

	assert_int_equal(kc_query_work(f->store, NULL, report), 0);
	near(report->work_ns, 400000); /* of 600,000 */
	assert_int_equal(whole->launches, 2);
	assert_int_equal(whole->by_operator, 2);
	near(whole->measured_ns, 200000);
	near(whole->flop, 6e6);
	near(whole->bytes, 10e3);
	near(whole->limit_ns, 6e6 / 2048);
	assert_int_equal(whole->limit, KC_RESOURCE_FP32);
	assert_int_equal(half->launches, 2);
	near(half->flop, 8e6);
	assert_true(isnan(half->bytes));
	assert_true(isnan(half->limit_ns)); /* its name does not tell the units */
	kc_report_free(report);
}

static void damaged_operators_are_not_known(void **state)
{
	static const char *const damage[] = {"flop = -1",  "flop = 1e300",         "flop = 9e999",
					     "flop = 'x'", "flop = zeroblob(900)", "local = local + 7"};
	struct scratch_store *f = *state;

	for (size_t i = 0; i < sizeof(damage) / sizeof(*damage); i++) {
		struct kc_report *report = report_of(f);

		do_sql(f->store, "UPDATE operator SET %s", damage[i]);
		assert_int_equal(kc_query_work(f->store, NULL, report), 0);
		assert_true(report->work_ns == 0);
		kc_report_free(report);
	}
}

static void damaged_parts_and_bytes_are_not_known(void **state)
{
	struct scratch_store *f = *state;
	struct kc_report *report = report_of(f);

	do_sql(f->store,
	       "UPDATE launched_by SET parts = -1 WHERE parts = 2; UPDATE operator SET bytes = -5, type = x'00'");
	assert_int_equal(kc_query_work(f->store, NULL, report), 0);
	near(report->work_ns, 200000);
	assert_true(isnan(work_of(report, "ampere_sgemm_128x64_tn")->bytes));
	assert_true(isnan(work_of(report, "ampere_sgemm_128x64_tn")->limit_ns));
	kc_report_free(report);
}

/* A multiply-add on tensor cores counts two; where it is not told what is the same, all that threads ask for counts. */
static void the_work_of_a_launch(void **state)
{
	struct kc_counts counts = counts_of();

	(void)state;
	near(kc_work_flop(&counts), FLOP);
	near(kc_work_bytes(&counts), BYTES);
	counts.of[KC_COUNT_OF_TENSOR] = 8;
	near(kc_work_flop(&counts), FLOP + 16 * THREADS);
	counts.distinct_loaded_bytes = counts.distinct_stored_bytes = 0;
	counts.of[KC_COUNT_OF_BYTES_LOADED] = 80;
	near(kc_work_bytes(&counts), 84 * THREADS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(launches_whose_work_is_known_count, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(what_matches_the_filter_counts, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(a_damaged_row_is_not_known, set_up, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(launches_do_their_part_of_the_operator, set_up_operators,
					    remove_scratch_store),
	    cmocka_unit_test_setup_teardown(damaged_operators_are_not_known, set_up_operators, remove_scratch_store),
	    cmocka_unit_test_setup_teardown(damaged_parts_and_bytes_are_not_known, set_up_operators,
					    remove_scratch_store),
	    cmocka_unit_test(the_work_of_a_launch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
