#include "tools/report/chrome/chrome_counters.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#define PREDICTED KC__TRACK_PREDICTED
#define MEASURED KC__TRACK_MEASURED

struct written {
	struct kc__chrome_out out;
	struct kc__counters counters;
};

static struct written *begin(void)
{
	struct written *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->counters.out = &w->out;
	kc__counters_of(&w->counters, 1, 0);
	return w;
}

static void end(struct written *w)
{
	kc__counters_free(&w->counters);
	free(w->out.text.at);
	free(w);
}

/* The process ends; what it wrote, its text ended by NUL. */
static const char *text_of(struct written *w)
{
	kc__counters_of(&w->counters, 0, 0);
	kc__chrome_put_bytes(&w->out.text, "", 1);
	assert_false(w->out.text.failed);
	return w->out.text.at;
}

#define IN_USE(at, device, sms)                                                                                        \
	"{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":" at ",\"name\":\"SMs in use, measured\",\"id\":\"device " device    \
	"\",\"args\":{\"SMs\":" sms "}}"

/* 5 blocks from 1 to 4 us and 10 from 2 to 3 us on 12 SMs: 5, 12 (not 15), 5, 0. They came in the other order. */
static void takes_an_sm_per_block_and_no_more_than_there_are(void **state)
{
	struct written *w = begin();

	(void)state;
	assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 12, 10, 2000, 3000), 0);
	assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 12, 5, 1000, 4000), 0);
	assert_string_equal(text_of(w), "\n" IN_USE("1.000", "7", "5") ",\n" IN_USE("2.000", "7", "12") ",\n" IN_USE(
					    "3.000", "7", "5") ",\n" IN_USE("4.000", "7", "0"));
	end(w);
}

/* The second begins when the first ends, so one after the other: nothing changes in between. */
static void a_change_to_the_same_is_none(void **state)
{
	struct written *w = begin();

	(void)state;
	assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 4, 3, 0, 1500), 0);
	assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 4, 3, 1500, 2007), 0);
	assert_string_equal(text_of(w), "\n" IN_USE("0.000", "7", "3") ",\n" IN_USE("2.007", "7", "0"));
	end(w);
}

static void what_is_not_known_is_not_drawn(void **state)
{
	struct written *w = begin();

	(void)state;
	assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 0, 3, 0, 1500), 0); /* how many SMs */
	assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 4, 0, 0, 1500), 0); /* how many blocks */
	assert_int_equal(kc__counters_ran(&w->counters, PREDICTED, 7, 4, 3, 10, 10), 0); /* no time at all */
	assert_string_equal(text_of(w), "");
	end(w);
}

/* Of launches that began together, the largest error. */
static void one_error_at_a_time(void **state)
{
	struct written *w = begin();

	(void)state;
	assert_int_equal(kc__counters_erred(&w->counters, 3000, 0.5), 0);
	assert_int_equal(kc__counters_erred(&w->counters, 1000, 12.3456), 0);
	assert_int_equal(kc__counters_erred(&w->counters, 3000, 150), 0);
	assert_string_equal(
	    text_of(w),
	    "\n{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":1.000,\"name\":\"error\",\"args\":{\"percent\":12.346}}"
	    ",\n{\"ph\":\"C\",\"pid\":1,\"tid\":0,\"ts\":3.000,\"name\":\"error\",\"args\":{\"percent\":150.000}}");
	end(w);
}

/*
 * Launches of 1 block each that all run until 900 ms fill the window with their starts and ends, so the first starts
 * are drawn. What comes then and began before that is drawn where the counter has come to, and memory is for a few
 * windows.
 */
static void what_comes_too_late_is_drawn_late(void **state)
{
	const int64_t end_ns = 900000000;
	struct written *w = begin();
	struct kc__counter *counter = w->counters.devices[0].in_use + MEASURED;

	(void)state;
	for (int64_t i = 1; i <= KC__COUNTER_WINDOW / 2 + 3; i++)
		assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 1000000, 1, i * 1000, end_ns), 0);
	assert_int_equal(kc__queue_count(&counter->queue), KC__COUNTER_WINDOW);
	assert_int_equal(counter->last_ns, 6000); /* 2 * (32,768 + 3) starts and ends are 6 too many */
	assert_int_equal(counter->shown, 6);
	assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 1000000, 10, 1000, 2000), 0);
	assert_int_equal(counter->last_ns, 6000); /* start and end, both late, cancel each other */
	assert_int_equal(counter->shown, 6);
	for (int64_t i = 0; i < 4 * KC__COUNTER_WINDOW; i++)
		assert_int_equal(kc__counters_ran(&w->counters, MEASURED, 7, 1000000, 1, end_ns - i, end_ns), 0);
	assert_in_range(counter->queue.line.capacity + counter->queue.heap.capacity, KC__COUNTER_WINDOW,
			4 * KC__COUNTER_WINDOW);
	text_of(w);
	assert_int_equal(counter->value, 0);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(takes_an_sm_per_block_and_no_more_than_there_are),
	    cmocka_unit_test(a_change_to_the_same_is_none),
	    cmocka_unit_test(what_is_not_known_is_not_drawn),
	    cmocka_unit_test(one_error_at_a_time),
	    cmocka_unit_test(what_comes_too_late_is_drawn_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
