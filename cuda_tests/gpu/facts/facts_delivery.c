/*
 * When records are delivered. A stream gets --kernels short kernels and then a long one; while that runs,
 * cuptiActivityFlushAll(0) is called every 100 ms. It returns only buffers without incomplete records. So if a
 * record takes its place in a buffer at the launch, the short kernels' records wait for the long one's end, as far as
 * they share its buffer; if at the kernel's end, they do not.
 */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define FLUSH_EVERY_NS 100000000

struct observed {
	int64_t launched_ns, longest_flush_ns;
	int while_running; /* records delivered while the long kernel ran */
};

static int delivered(void)
{
	int count;

	facts_lock();
	count = facts_cupti.record_count;
	facts_unlock();
	return count;
}

static void flush(struct observed *o)
{
	int64_t begin = facts_now_ns(), took;

	FACTS_CUPTI_CALL(cuptiActivityFlushAll, 0);
	took = facts_now_ns() - begin;
	o->longest_flush_ns = took > o->longest_flush_ns ? took : o->longest_flush_ns;
}

/* A record counts as delivered while the long kernel ran if the kernel still ran afterwards. */
static void watch(struct observed *o, CUstream stream)
{
	struct timespec wait = {.tv_nsec = FLUSH_EVERY_NS};
	CUresult result = CUDA_ERROR_NOT_READY;
	int last = -1;

	while (result == CUDA_ERROR_NOT_READY) {
		int count;

		nanosleep(&wait, NULL);
		flush(o);
		count = delivered();
		result = facts_driver.cuStreamQuery(stream);
		if (result == CUDA_ERROR_NOT_READY)
			o->while_running = count;
		if (count != last)
			facts_say("records delivered", -1, "%d after %.0f ms, the long kernel %s", count,
				  (double)(facts_now_ns() - o->launched_ns) / 1e6,
				  result == CUDA_ERROR_NOT_READY ? "runs" : "has ended");
		last = count;
	}
	facts_check(result, "cuStreamQuery");
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void delays(void)
{
	static int64_t delay[FACTS_RECORDS_MAX];
	int count = facts_cupti.record_count;

	for (int i = 0; i < count; i++)
		delay[i] = facts_cupti.records[i].delivered_ns - (int64_t)facts_cupti.records[i].end_ns;
	qsort(delay, (size_t)count, sizeof(*delay), by_value);
	if (count && facts_cupti.own_clock)
		facts_say("from a kernel's end to its record", -1, "median %.1f ms, longest %.1f ms",
			  (double)delay[count / 2] / 1e6, (double)delay[count - 1] / 1e6);
}

void facts_delivery(const struct facts_options *options)
{
	struct observed o = {0};
	CUfunction first, second;
	CUstream stream;

	facts_driver_start();
	facts_attach(options);
	facts_context();
	first = facts_function("facts_first");
	second = facts_function("facts_second");
	stream = facts_stream();
	facts_launch(first, stream, 1, 32, 1000);
	facts_launch(second, stream, 1, 32, 1000);
	facts_collect();
	facts_forget();
	o.launched_ns = facts_now_ns();
	for (int i = 0; i < options->kernels; i++)
		facts_launch(first, stream, 1, 32, options->short_ns);
	facts_launch(second, stream, 1, 32, options->long_ns);
	watch(&o, stream);
	flush(&o); /* the long one has ended: nothing is incomplete any more */
	facts_say("a flush when all has ended returns all records", delivered() == options->kernels + 1, "%d of %d",
		  delivered(), options->kernels + 1);
	facts_lock();
	delays();
	facts_unlock();
	facts_say("the longest flush", -1, "%.2f ms", (double)o.longest_flush_ns / 1e6);
	facts_value("while_running", "%d", o.while_running);
	facts_value("short_kernels", "%d", options->kernels);
	facts_value("longest_flush_ms", "%.2f", (double)o.longest_flush_ns / 1e6);
}
