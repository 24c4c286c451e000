#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "buffers.h"

#define MS 1000000ll
enum { KERNEL_BYTES = 216 }; /* sizeof(CUpti_ActivityKernel10), CUDA 13.0 */

static int begin(void **state)
{
	(void)state;
	kc__buffers_forget();
	kc__buffers_begin(true);
	return 0;
}

/* 50,000 launches per second are 400 in 8 ms, 1,000 are 8, 10 are none. */
static void test_follows_an_even_rate(void **state)
{
	static const struct {
		int64_t interval_ns;
		uint32_t records;
	} rates[] = {{20000, 400}, {1000000, 8}, {100 * MS, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(rates) / sizeof(*rates); i++) {
		struct kc__launch_rate rate = {0};
		uint64_t made = 0;

		for (int64_t now = MS; now < 500 * MS; now += rates[i].interval_ns)
			kc__launch_rate(&rate, ++made, now);
		assert_in_range(rate.records, rates[i].records - rates[i].records / 100, rates[i].records);
	}
}

/* After a pause a thread begins to launch every 20 µs. CUPTI asks whenever a buffer is full. */
static void test_is_asked_seldom_at_a_high_rate(void **state)
{
	struct kc__launch_rate rate = {0};
	int64_t now_ns = 1000 * MS;
	int room = 0, requests = 0;
	size_t bytes;

	(void)state;
	for (uint64_t made = 1; made <= 6400; made++, now_ns += 20000) {
		if (!room--) {
			uint8_t *at = kc__buffer_take(kc__launch_rate(&rate, made, now_ns), &bytes);

			assert_non_null(at);
			kc__buffer_delivered(at, bytes, NULL, 0, false, 0);
			kc__buffer_give_back(kc__buffer_next_delivered());
			room = (int)(bytes / KERNEL_BYTES) - 1;
			requests++;
		}
	}
	assert_in_range(requests, 1, 6400 / 64);
}

static void test_is_small_at_a_low_rate(void **state)
{
	size_t bytes;

	(void)state;
	assert_non_null(kc__buffer_take(8, &bytes));
	assert_in_range(bytes / KERNEL_BYTES, 8, 16);
	assert_non_null(kc__buffer_take(0, &bytes));
	assert_in_range(bytes / KERNEL_BYTES, 1, 8);
}

static bool is_clear(const uint8_t *at, size_t bytes)
{
	while (bytes && !at[bytes - 1])
		bytes--;
	return bytes == 0;
}

static void test_comes_clear_and_aligned(void **state)
{
	(void)state;
	for (int i = 0; i < 300; i++) {
		struct kc__buffer *buffer;
		size_t bytes;
		uint8_t *at = kc__buffer_take((uint32_t)(i * 5), &bytes);

		assert_non_null(at);
		assert_int_equal((uintptr_t)at % 64, 0);
		assert_true(is_clear(at, bytes));
		memset(at, 0xff, bytes);
		kc__buffer_delivered(at, bytes / 2, NULL, 0, false, 0);
		buffer = kc__buffer_next_delivered();
		assert_ptr_equal(kc__buffer_at(buffer), at);
		assert_int_equal(buffer->valid_bytes, bytes / 2);
		kc__buffer_give_back(buffer);
	}
}

static void test_are_delivered_in_order(void **state)
{
	struct kc__buffer *buffer;
	uint8_t *at[3];
	size_t bytes;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_non_null(at[i] = kc__buffer_take(1, &bytes));
	for (int i = 0; i < 3; i++)
		kc__buffer_delivered(at[i], bytes, NULL, 0, i == 1, 0);
	for (int i = 0; i < 3; i++) {
		assert_true(kc__buffers_wait());
		buffer = kc__buffer_next_delivered();
		assert_ptr_equal(kc__buffer_at(buffer), at[i]);
		assert_int_equal(buffer->forced, i == 1);
		kc__buffer_give_back(buffer);
	}
	assert_false(kc__buffers_wait());
	assert_null(kc__buffer_next_delivered());
}

/* However much is taken for high rates, 8 MiB of the 12 are left to 2,000 threads that launch little. */
static void test_leaves_room_for_threads_that_launch_little(void **state)
{
	size_t bytes;

	(void)state;
	for (int i = 0; i < 20; i++)
		assert_non_null(kc__buffer_take(1000, &bytes));
	assert_in_range(bytes, 500 * KERNEL_BYTES, SIZE_MAX);
	for (int i = 0; i < 2000; i++)
		assert_non_null(kc__buffer_take(1, &bytes));
	assert_false(kc__buffers_exhausted());
}

static void deliver_all_that_can_be_taken(size_t most)
{
	size_t bytes;
	uint8_t *at;

	while (most-- && (at = kc__buffer_take(1000, &bytes)))
		kc__buffer_delivered(at, bytes, NULL, 0, false, 0);
}

static void wait_for(int64_t ms, int times, int64_t *now_ns)
{
	for (int i = 0; i < times; i++, *now_ns += 50 * MS)
		kc__buffers_waited(ms * MS, *now_ns);
}

/* There is memory for what has not been read yet. */
static void test_a_burst_is_kept_however_long_it_waits(void **state)
{
	int64_t now_ns = 1000 * MS;
	size_t bytes;

	(void)state;
	deliver_all_that_can_be_taken(20);
	wait_for(2000, 100, &now_ns);
	assert_non_null(kc__buffer_take(1000, &bytes));
	assert_in_range(bytes, 500 * KERNEL_BYTES, SIZE_MAX);
}

/* Once there was no memory, and those that came back have waited for half a second: for threads that launch much one is
 * handed out, with less in it, for two that have been read. A thread that launches little gets its own. */
static void test_are_fewer_while_they_wait_to_be_read(void **state)
{
	int64_t now_ns = 1000 * MS;
	size_t bytes;

	(void)state;
	deliver_all_that_can_be_taken(SIZE_MAX);
	wait_for(201, 11, &now_ns);
	for (int i = 0; i < 10; i++)
		kc__buffer_give_back(kc__buffer_next_delivered());
	for (int i = 0; i < 5; i++) {
		assert_non_null(kc__buffer_take(1000, &bytes));
		assert_in_range(bytes, 100 * KERNEL_BYTES, 32 << 10);
	}
	assert_null(kc__buffer_take(1000, &bytes));
	assert_non_null(kc__buffer_take(1, &bytes));
	while (kc__buffers_wait())
		kc__buffer_give_back(kc__buffer_next_delivered());
	wait_for(99, 100, &now_ns);
	assert_non_null(kc__buffer_take(1000, &bytes));
	assert_in_range(bytes, 500 * KERNEL_BYTES, SIZE_MAX);
}

/* Without them the wait is short again. What is kept of a burst is read, however long it has waited. */
static void test_are_dropped_unread_when_they_have_waited_too_long(void **state)
{
	int64_t now_ns = 1000 * MS;

	(void)state;
	deliver_all_that_can_be_taken(20);
	wait_for(2000, 100, &now_ns);
	assert_false(kc__buffers_waited(2000 * MS, now_ns));
	deliver_all_that_can_be_taken(SIZE_MAX);
	assert_true(kc__buffers_waited(501 * MS, now_ns));
	assert_false(kc__buffers_waited(499 * MS, now_ns));
	assert_false(kc__buffers_waited(200 * MS, now_ns));
	assert_false(kc__buffers_waited(501 * MS, now_ns));
}

static void test_ends_at_its_bound(void **state)
{
	size_t bytes, all = 0;

	(void)state;
	while (kc__buffer_take(1000, &bytes))
		all += bytes;
	assert_in_range(all, KC__BUFFERS_BYTES - (2u << 20), KC__BUFFERS_BYTES);
	assert_true(kc__buffers_exhausted());
	kc__buffers_prepare();
	assert_null(kc__buffer_take(1, &bytes));
}

/* As large as a request at a low rate has it at least, and each apart from the others. */
static void test_beyond_its_bound_there_are_more_to_be_dropped(void **state)
{
	enum { EXCESS = 3 };
	uint8_t *at[EXCESS];
	bool readable;
	size_t bytes;

	(void)state;
	while (kc__buffer_take(1000, &bytes))
		;
	for (int i = 0; i < EXCESS; i++) {
		at[i] = kc__buffer_take_excess(true, &bytes);
		assert_in_range(bytes / KERNEL_BYTES, 4, KC__EXCESS_BYTES / KERNEL_BYTES);
		assert_int_equal((uintptr_t)at[i] % 64, 0);
		assert_true(is_clear(at[i], bytes));
		memset(at[i], i + 1, bytes);
	}
	for (int i = 0; i < EXCESS; i++) {
		assert_int_equal(at[i][0], i + 1);
		assert_true(kc__buffer_is_excess(at[i], &readable) && readable);
		kc__buffer_drop_excess(at[i]);
	}
	assert_false(kc__buffers_wait());
	assert_null(kc__buffer_take(1, &bytes));
}

/* What another client of CUPTI has left there comes back as well. */
static void test_are_told_from_others(void **state)
{
	uint8_t *page = aligned_alloc(KC__EXCESS_BYTES, KC__EXCESS_BYTES);
	size_t bytes;

	(void)state;
	assert_non_null(page);
	memset(page, 0xff, KC__EXCESS_BYTES);
	for (size_t at = 0; at < KC__EXCESS_BYTES; at += 64)
		assert_false(kc__buffer_is_ours(page + at));
	free(page);
	assert_true(kc__buffer_is_ours(kc__buffer_take(1, &bytes)));
	assert_true(kc__buffer_is_ours(kc__buffer_take(1000, &bytes)));
	for (int mapped = 0; mapped < 2; mapped++)
		assert_true(kc__buffer_is_ours(kc__buffer_take_excess(mapped, &bytes)));
}

/* Where nothing can be mapped. */
static void test_there_is_always_one_that_is_not_read(void **state)
{
	bool readable;
	size_t bytes;

	(void)state;
	for (int i = 0; i < 3; i++) {
		uint8_t *at = kc__buffer_take_excess(false, &bytes);

		memset(at, 0xff, bytes);
		assert_true(kc__buffer_is_excess(at, &readable) && !readable);
		kc__buffer_drop_excess(at);
	}
}

enum { THREADS = 8, ROUNDS = 2000 };

static void *launch(void *unused)
{
	for (int i = 0; i < ROUNDS; i++) {
		size_t bytes;
		uint8_t *at;

		while (!(at = kc__buffer_take((uint32_t)i % 600, &bytes)))
			sched_yield();
		at[0] = at[bytes - 1] = 1;
		kc__buffer_delivered(at, bytes, NULL, 0, false, 0);
	}
	return unused;
}

static void test_threads_take_while_one_gives_back(void **state)
{
	pthread_t threads[THREADS];
	int read = 0;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launch, NULL), 0);
	while (read < THREADS * ROUNDS) {
		struct kc__buffer *buffer = kc__buffer_next_delivered();

		kc__buffers_prepare();
		if (!buffer)
			continue;
		kc__buffer_give_back(buffer);
		read++;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_null(kc__buffer_next_delivered());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_follows_an_even_rate),
	    cmocka_unit_test_setup(test_is_asked_seldom_at_a_high_rate, begin),
	    cmocka_unit_test_setup(test_is_small_at_a_low_rate, begin),
	    cmocka_unit_test_setup(test_comes_clear_and_aligned, begin),
	    cmocka_unit_test_setup(test_are_delivered_in_order, begin),
	    cmocka_unit_test_setup(test_leaves_room_for_threads_that_launch_little, begin),
	    cmocka_unit_test_setup(test_a_burst_is_kept_however_long_it_waits, begin),
	    cmocka_unit_test_setup(test_are_fewer_while_they_wait_to_be_read, begin),
	    cmocka_unit_test_setup(test_are_dropped_unread_when_they_have_waited_too_long, begin),
	    cmocka_unit_test_setup(test_ends_at_its_bound, begin),
	    cmocka_unit_test_setup(test_beyond_its_bound_there_are_more_to_be_dropped, begin),
	    cmocka_unit_test_setup(test_are_told_from_others, begin),
	    cmocka_unit_test_setup(test_there_is_always_one_that_is_not_read, begin),
	    cmocka_unit_test_setup(test_threads_take_while_one_gives_back, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
