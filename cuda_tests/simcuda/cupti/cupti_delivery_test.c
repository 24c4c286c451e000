/*
 * When buffers are requested and returned. What is expected is what cupti_activity.h says of
 * cuptiActivityFlushAll(), cuptiActivityFlushPeriod(), cuptiActivityGetNextRecord() and
 * CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER; it is quoted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "cupti_client.h"

enum { QUIET_MS = 100 }; /* in which nothing more is to happen */

/* A buffer takes as many whole records as fit: 25 records fill 2 buffers of 10 and half of a third. */
static void fill_buffers(void)
{
	client_attach(10 * RECORD_BYTES + RECORD_BYTES / 2, 0);
	client_set_memory(25);
	client_wait_until_returned(2);
	check(client.records == 20 && !pthread_equal(client.returner, pthread_self()));
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 3 && client.asked == 3 && client.largest == 10);
	check(client.records == 25 && client_dropped() == 0);
}

static void test_buffers_are_filled(void **state)
{
	(void)state;
	client_run_case_placed(fill_buffers, NULL, "launch");
	client_run_case_placed(fill_buffers, NULL, "end");
}

/* "It doesn't return buffers which have one or more incomplete records." */
static void keep_incomplete(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(3);
	client_block_stream();
	client_launch(1);
	check(!cuptiActivityFlushAll(0) && client.returned == 0);
	client_release_stream();
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 1 && client.asked == 1 && client.records == 4 && client.timeless == 0);
	check(pthread_equal(client.returner, pthread_self()));
}

static void return_what_has_ended(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(3);
	client_block_stream();
	client_launch(1);
	check(!cuptiActivityFlushAll(0) && client.returned == 1 && client.records == 3);
	client_release_stream();
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 2 && client.asked == 2 && client.records == 4 && client.timeless == 0);
}

static void test_a_flush_keeps_incomplete_records(void **state)
{
	(void)state;
	client_run_case_placed(keep_incomplete, NULL, NULL);
	client_run_case_placed(keep_incomplete, NULL, "launch");
	client_run_case_placed(return_what_has_ended, NULL, "end");
}

/* "Returns all the activity buffers including the ones which have one or more incomplete activity records." */
static void force_incomplete(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(3);
	client_block_stream();
	client_launch(2);
	check(!cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check(client.returned == 1 && client.records == 5 && client.timeless == 2);
	for (int i = 3; i < 5; i++)
		check(client.sets[i].correlationId == client.entered[i] && !client.sets[i].end);
	client_release_stream();
	check(!cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check(client.records == 5 && client.asked == 1 && client_dropped() == 0);
}

/* "CUPTI_ERROR_INVALID_KIND if activity record is either incomplete or invalid": nothing behind it is read. */
static void force_unreadable(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(3);
	client_block_stream();
	client_launch(2);
	check(!cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check(client.returned == 1 && client.records == 3 && client.unreadable == 1);
	client_release_stream();
	client_set_memory(1);
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 2 && client.records == 4 && client.unreadable == 1);
}

static void force_what_has_ended(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(3);
	client_block_stream();
	client_launch(2);
	check(!cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) && client.records == 3);
	client_release_stream();
	check(!cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check(client.records == 5 && client.timeless == 0);
}

static void test_a_forced_flush_returns_all(void **state)
{
	(void)state;
	client_run_case_placed(force_incomplete, NULL, "launch");
	client_run_case_placed(force_unreadable, "cupti-incomplete-kind", "launch");
	client_run_case_placed(force_what_has_ended, NULL, "end");
}

/* A full buffer, too, waits for its last record: here the second of two, while the third is in a buffer of its own. */
static void keep_full(void)
{
	client_attach(100 * RECORD_BYTES, 2);
	client_set_memory(1);
	client_block_stream();
	client_launch(2);
	check(!cuptiActivityFlushAll(0) && client.asked == 2);
	client_sleep_ms(QUIET_MS);
	check(client_returned() == 0);
	client_release_stream();
	client_wait_until_returned(1);
	check(client.records == 2 && !pthread_equal(client.returner, pthread_self()));
	check(!cuptiActivityFlushAll(0) && client.records == 3);
}

static void test_a_full_buffer_waits_for_its_records(void **state)
{
	(void)state;
	client_run_case_placed(keep_full, NULL, "launch");
}

/* "Periodic flush can return only those activity buffers which are full and have all the activity records completed."
 */
static void flush_periodically(void)
{
	client_attach(10 * RECORD_BYTES, 0);
	check(!cuptiActivityFlushPeriod(1));
	client_set_memory(15);
	client_wait_until_returned(1);
	client_sleep_ms(QUIET_MS);
	check(client_returned() == 1 && client.records == 10 && !pthread_equal(client.returner, pthread_self()));
	check(!cuptiActivityFlushAll(0) && client.records == 15);
}

static void test_a_periodic_flush_returns_full_buffers(void **state)
{
	(void)state;
	client_run_case_placed(flush_periodically, NULL, "launch");
	client_run_case_placed(flush_periodically, NULL, "end");
}

static void disable_meanwhile(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_block_stream();
	client_launch(1);
	check(!cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMSET));
	client_launch(1);
	client_release_stream();
	check(!cuptiActivityFlushAll(0));
	check(client.records == 1 && client.timeless == 0 && client.sets[0].correlationId == client.entered[0]);
}

static void test_a_kind_disabled_while_its_work_runs(void **state)
{
	(void)state;
	client_run_case_placed(disable_meanwhile, NULL, "launch");
	client_run_case_placed(disable_meanwhile, NULL, "end");
}

static void *set_memory_to_2(void *context)
{
	CUstream stream;

	check(!cuCtxSetCurrent(context));
	check(!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 5; i++)
		check(!cuMemsetD8Async(client.memory, 2, 4096, stream));
	check(client.asked == 1 || pthread_equal(client.asker, pthread_self()));
	check(!cuStreamSynchronize(stream));
	return NULL;
}

static void set_memory_on_a_thread(void)
{
	pthread_t thread;
	CUcontext context;

	check(!cuCtxGetCurrent(&context));
	check(!pthread_create(&thread, NULL, set_memory_to_2, context) && !pthread_join(thread, NULL));
}

/* One thread's incomplete record does not keep back what another thread launched. */
static void launch_on_two_threads(void)
{
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(5);
	check(pthread_equal(client.asker, pthread_self()));
	client_block_stream();
	client_launch(1);
	set_memory_on_a_thread();
	check(client.asked == 2);
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 1 && client.records == 5 && client.sets[0].value == 2);
	client_release_stream();
	check(!cuptiActivityFlushAll(0));
	check(client.returned == 2 && client.records == 11 && client.mixed == 0);
}

static void share_one_buffer(void)
{
	uint8_t per_thread = 0;
	size_t bytes = sizeof(per_thread);

	check(!cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &per_thread));
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(5);
	set_memory_on_a_thread();
	check(!cuptiActivityFlushAll(0));
	check(client.asked == 1 && client.returned == 1 && client.records == 10 && client.mixed == 1);
}

/* The attribute came with CUDA 12.3. */
static void share_before_12_3(void)
{
	uint8_t per_thread = 1;
	size_t bytes = sizeof(per_thread);
	uint32_t version;

	setenv("SIMCUDA_CUPTI_VERSION", "20", 1); /* CUDA 12.2, cupti_version.h */
	check(!cuptiGetVersion(&version) && version == 20);
	check(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &per_thread));
	check(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &per_thread));
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(5);
	set_memory_on_a_thread();
	check(!cuptiActivityFlushAll(0));
	check(client.asked == 1 && client.returned == 1 && client.records == 10 && client.mixed == 1);
}

/* "The value is a uint8_t." "The default value is 1." */
static void ask_for_default(void)
{
	uint8_t per_thread = 0;
	size_t bytes = sizeof(per_thread);

	check(!cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, &bytes, &per_thread));
	check(per_thread == 1 && bytes == sizeof(per_thread));
}

static void test_each_thread_has_its_buffer(void **state)
{
	(void)state;
	client_run_case_placed(launch_on_two_threads, NULL, "launch");
	client_run_case_placed(share_one_buffer, NULL, "launch");
	client_run_case_placed(share_before_12_3, NULL, "launch");
	client_run_case(ask_for_default, NULL);
}

static void use_dirty_buffers(void)
{
	client.filled_with = 0xff;
	client_attach(100 * RECORD_BYTES, 0);
	client_set_memory(1);
	check(!cuptiActivityFlushAll(0) && client.returned == 1);
}

/* "CUPTI will initialize the user buffer received in the CUpti_BuffersCallbackRequestFunc to zero before filling it."
 */
static void let_cupti_clear(void)
{
	use_dirty_buffers();
	check(client.records == 1 && client.sets[0].value == 1);
}

/* "If the user does not provide a zero value buffer after setting this to non-zero, the activity buffer may contain
 * some uninitialized values": the first that is read is the kind of the record. */
static void claim_to_clear(void)
{
	uint8_t cleared = 1;
	size_t bytes = sizeof(cleared);

	check(!cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &bytes, &cleared));
	use_dirty_buffers();
	check(client.records == 0 && client.unreadable == 1);
}

static void test_who_clears_a_buffer(void **state)
{
	(void)state;
	client_run_case_placed(let_cupti_clear, NULL, "launch");
	client_run_case_placed(let_cupti_clear, NULL, "end");
	client_run_case_placed(claim_to_clear, NULL, "end");
}

static void limit_records(void)
{
	client_attach(100 * RECORD_BYTES, 3);
	client_set_memory(10);
	check(!cuptiActivityFlushAll(0));
	client_wait_until_returned(4);
	check(client.largest == 3 && client.records == 10);
}

static void test_most_records_a_buffer(void **state)
{
	(void)state;
	client_run_case(limit_records, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_buffers_are_filled),
	    cmocka_unit_test(test_a_flush_keeps_incomplete_records),
	    cmocka_unit_test(test_a_forced_flush_returns_all),
	    cmocka_unit_test(test_a_full_buffer_waits_for_its_records),
	    cmocka_unit_test(test_a_periodic_flush_returns_full_buffers),
	    cmocka_unit_test(test_a_kind_disabled_while_its_work_runs),
	    cmocka_unit_test(test_each_thread_has_its_buffer),
	    cmocka_unit_test(test_who_clears_a_buffer),
	    cmocka_unit_test(test_most_records_a_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
