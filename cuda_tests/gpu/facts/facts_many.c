/* Many launches with records as kerncast has them: memory of the GPU, and records that are not what they should be. */
#include "facts_window.h"

#include <dlfcn.h>
#include <stdlib.h>

enum {
	LAUNCHES = 300000,
	EACH_WAIT = 1000,
	JUDGED = 1000, /* with records from the hardware */
};

static double free_mb(void)
{
	size_t available = 0, total = 0;

	FACTS_CALL(cuMemGetInfo_v2, &available, &total);
	return (double)available / 1e6;
}

static CUstream start(CUfunction *function)
{
	facts_driver_start();
	facts_context();
	*function = facts_function("facts_first");
	return facts_stream();
}

static void launch_all(CUfunction function, CUstream stream, struct facts_launch *launches, int count)
{
	for (int i = 0; i < count; i++) {
		facts_launch_noted(function, stream, 1 + i % FACTS_GRIDS, &launches[i]);
		if (i % EACH_WAIT == EACH_WAIT - 1)
			FACTS_CALL(cuStreamSynchronize, stream);
		if (i % EACH_WAIT == EACH_WAIT - 1)
			facts_window_read();
	}
	FACTS_CALL(cuCtxSynchronize);
}

void facts_many(const struct facts_options *options)
{
	int count = options->launches ? options->launches : LAUNCHES;
	struct facts_launch *launches = calloc((size_t)count, sizeof(*launches));
	struct facts_judged judged = {0};
	double before, attached, after;
	int64_t begin, ns;
	CUfunction function;
	CUstream stream = start(&function);

	if (!launches)
		facts_give_up("many launches", "no memory");
	facts_launch(function, stream, 1, 32, 0); /* its code is loaded now */
	FACTS_CALL(cuCtxSynchronize);
	before = free_mb();
	facts_window_attach(options);
	attached = free_mb();
	begin = facts_now_ns();
	launch_all(function, stream, launches, count);
	ns = facts_now_ns() - begin;
	after = free_mb();
	facts_window_kinds(false);
	facts_window_read();
	facts_judge(&judged, launches, count);
	facts_say("many launches with records", -1, "%.2f s, %.0f ns each", (double)ns / 1e9, (double)ns / count);
	facts_say("memory of the GPU that CUPTI takes", -1, "%.1f MB to attach, %.1f MB for the launches",
		  before - attached, attached - after);
	facts_say_judged("many launches: records", &judged);
	facts_value("memory_mb", "%.1f", before - after);
	facts_value("many", "%d", facts_all_right(&judged));
	free(launches);
}

/* "This option is only available on Blackwell architecture": cupti_activity.h of 13.0. */
void facts_hw_trace(const struct facts_options *options)
{
	CUptiResult(CUPTIAPI * enable)(uint8_t);
	struct facts_judged judged = {0};
	static struct facts_launch launches[JUDGED];
	const char *text = "unknown error";
	CUfunction function;
	CUptiResult result;
	CUstream stream;

	stream = start(&function);
	facts_window_subscribe(options);
	*(void **)&enable = dlsym(facts_cupti.handle, "cuptiActivityEnableHWTrace");
	if (!enable) {
		facts_value("hw_trace", "this CUPTI does not have it");
		return;
	}
	result = enable(1);
	facts_cupti.cuptiGetResultString(result, &text);
	facts_value("hw_trace", "%s", text);
	if (result != CUPTI_SUCCESS)
		return;
	facts_window_callbacks(true);
	facts_window_kinds(true);
	launch_all(function, stream, launches, JUDGED);
	facts_window_kinds(false);
	facts_window_read();
	facts_judge(&judged, launches, JUDGED);
	facts_say_judged("records from the hardware", &judged);
	facts_value("hw_records", "%d", facts_all_right(&judged));
}
