/* When CUPTI is asked for records, in a process and in a child that begins its own recording. CUPTI, the worker and the
 * clock are the test's. */
#include "shim/shim.h"
#include "measuring.h"
#include "shim/worker/worker.h"

#include "store/journal/journal_testing.h"

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));

static int64_t now_ns;
static uint32_t wakes;

int64_t kc__now_ns(void)
{
	return now_ns;
}

static int64_t request_ns; /* what one takes */

int64_t kc__cupti_flush(bool forced)
{
	assert_false(forced);
	now_ns += request_ns;
	return request_ns;
}

void kc__worker_wake(void)
{
	wakes++;
}

static int begin(void **state)
{
	if (setup(state))
		return -1;
	kc__shim.journal = create(16 * MIB);
	kc__shim.header = kc_journal_header(kc__shim.journal);
	atomic_store(&kc__shim.stage, KC__ON);
	now_ns = 1000000000;
	wakes = 0;
	request_ns = 0;
	kc__flush_begin();
	return 0;
}

static int end(void **state)
{
	finish(kc__shim.journal, 1);
	return teardown(state);
}

static void launch(uint64_t times)
{
	struct kc_slot *slot;

	for (uint64_t i = 0; i < times; i++) {
		atomic_fetch_add(&kc__shim.header->counters[KC_COUNT_CALLS], 1);
		slot = kc_journal_claim(kc__shim.journal, KC_KIND_LAUNCH);
		assert_non_null(slot);
	}
}

/* A tenth of the time measured, from 5 to 20 ms; 2 ms once the application has waited for a few launches. */
static void records_are_asked_for_by_the_time_measured(void **state)
{
	(void)state;
	kc__flush();
	launch(1);
	assert_false(kc__flush_is_due(now_ns + 9999999, 100000000));
	assert_true(kc__flush_is_due(now_ns + 10000000, 100000000));
	kc__work_ended();
	assert_int_equal(wakes, 1);
	assert_false(kc__flush_is_wanted(now_ns + 1999999));
	assert_true(kc__flush_is_wanted(now_ns + 2000000));
	kc__flush();
	assert_false(kc__flush_is_wanted(now_ns + 2000000));
}

#define MS 1000000

static void seen(uint32_t shapes)
{
	for (uint32_t i = 0; i < shapes; i++)
		kc__flush_new_shape(now_ns);
}

/* After a second of measuring, 1 ms in place of 20, until they are measured or for 20 ms; the worker is told once. */
static void new_launch_shapes_hurry(void **state)
{
	(void)state;
	kc__flush();
	launch(2);
	assert_false(kc__flush_is_due(now_ns + 19 * MS, 1000 * MS));
	assert_int_equal(kc__flush_wanted_at(now_ns, now_ns + 20 * MS), now_ns + 20 * MS);
	seen(2);
	assert_int_equal(wakes, 1);
	assert_false(kc__flush_is_wanted(now_ns + MS - 1));
	assert_true(kc__flush_is_wanted(now_ns + MS));
	assert_true(kc__flush_is_due(now_ns + MS, 1000 * MS));
	assert_int_equal(kc__flush_wanted_at(now_ns, now_ns + 20 * MS), now_ns + MS);
	assert_int_equal(kc__flush_wanted_at(now_ns, now_ns + MS / 2), now_ns + MS / 2);
	kc__flush_shape_measured();
	assert_true(kc__flush_is_wanted(now_ns + 19 * MS));
	assert_false(kc__flush_is_wanted(now_ns + 20 * MS));
	kc__flush_shape_measured();
	assert_false(kc__flush_is_wanted(now_ns + MS));
	kc__flush();
	seen(1);
	assert_int_equal(wakes, 2);
}

/* Requests of 3 ms: seven of them have taken more than 20 ms and a hundredth of the 28 so far. */
static void hurry_has_a_bound(void **state)
{
	int requests = 0;

	(void)state;
	request_ns = 3 * MS;
	launch(1);
	for (seen(1); kc__flush_is_wanted(now_ns + MS); seen(1)) {
		now_ns += MS;
		kc__flush();
		requests++;
	}
	assert_int_equal(requests, 7);
	/* 21 ms are a hundredth of the time and 20 ms after 100 ms. */
	assert_false(kc__flush_is_wanted(now_ns + 4 * MS));
	now_ns = 1000 * MS + 100 * MS;
	seen(1);
	assert_true(kc__flush_is_wanted(now_ns));
}

/* The parent had launched more, and waited for it, when it forked. */
static void a_child_knows_nothing_of_its_parents_launches(void **state)
{
	uint32_t said;

	launch(100);
	kc__flush();
	kc__work_ended();
	said = wakes;
	end(state);
	kc__shim.journal = NULL;
	assert_int_equal(begin(state), 0);
	assert_false(kc__flush_is_wanted(now_ns + 1000000000));
	launch(100);
	kc__work_ended();
	assert_int_equal(wakes, 1);
	assert_int_equal(said, 1);
	kc__flush();
	launch(1);
	assert_false(kc__flush_is_due(now_ns + 19999999, 1000000000));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
	const struct CMUnitTest tests[] = {
	    TEST(records_are_asked_for_by_the_time_measured),
	    TEST(new_launch_shapes_hurry),
	    TEST(hurry_has_a_bound),
	    TEST(a_child_knows_nothing_of_its_parents_launches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
