/* Launches, callbacks and records of the driver API. */
#include "facts.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "../../../shim/hooks.h"

#define PAIRS 40              /* of kernels that may run together */
#define TOGETHER_NS 200000ull /* long enough for the second launch to come in time */

typedef CUresult (*get_proc)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);

static int append(char *list, size_t size, const char *name)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, " %s", name);
	return 1;
}

void facts_addresses(const struct facts_options *options)
{
	static const struct {
		const char *symbol, *name;
		int version, twin;
	} hooks[] = {
#define ROW(symbol, name, version, twin) {#symbol, #name, version, twin},
	    KC_HOOKS(ROW)
#undef ROW
	};
	int same = 0, lacking = 0, other = 0;
	char others[1024] = "", lacked[1024] = "";
	get_proc ask;

	(void)options;
	*(void **)&ask = dlsym(facts_driver.handle, "cuGetProcAddress_v2");
	if (!ask)
		facts_give_up("cuGetProcAddress answers with exported addresses", "no cuGetProcAddress_v2");
	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		void *exported = dlsym(facts_driver.handle, hooks[i].symbol), *answer = NULL;
		cuuint64_t flags =
		    hooks[i].twin ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
		CUresult result = ask(hooks[i].name, &answer, hooks[i].version, flags, NULL);

		same += exported && answer == exported;
		if (!exported || result || !answer)
			lacking += append(lacked, sizeof(lacked), hooks[i].symbol);
		else if (answer != exported)
			other += append(others, sizeof(others), hooks[i].symbol);
	}
	facts_say("cuGetProcAddress answers with exported addresses", -1, "%d the same; %d other:%s; %d not there:%s",
		  same, other, others, lacking, lacked);
	facts_value("other_addresses", "%d", other);
}

/* A launch of the driver API, before which no runtime call stands. */
static void correlation(void)
{
	const struct facts_record *r = facts_cupti.records;
	CUfunction first = facts_function("facts_first");
	const struct facts_call *driver;
	int64_t begin = facts_now_ns(), launched;

	facts_launch(first, NULL, 5, 64, 1000);
	launched = facts_now_ns();
	if (facts_collect() != 1)
		facts_give_up("one record for one launch", facts_cupti.record_count ? "several" : "none");
	facts_say("first launch", -1, "%.1f ms in the call, code loading included", (double)(launched - begin) / 1e6);
	driver = facts_call_of(false, r->correlation);
	facts_say("the driver callback's correlation id is the record's", driver != NULL, "record %u, %s",
		  r->correlation, driver ? driver->function : "no driver callback had it");
	facts_value("driver_launch_id", "%s", driver ? "driver" : "neither");
	facts_say("record fields",
		  r->grid == 5 && r->block == 64 && strstr(r->name, "facts_first") && r->device == 0 && r->registers,
		  "grid %d, block %d, %u registers, device %u, %s", r->grid, r->block, r->registers, r->device,
		  r->name);
	facts_say("record times on our clock",
		  !facts_cupti.own_clock
		      ? -1
		      : (int64_t)r->start_ns > begin && r->end_ns > r->start_ns && (int64_t)r->end_ns < facts_now_ns(),
		  "start %+lld ns after the call began, duration %lld ns", (long long)r->start_ns - (long long)begin,
		  (long long)(r->end_ns - r->start_ns));
}

static bool overlap(const struct facts_record *a, const struct facts_record *b)
{
	return a->start_ns < b->end_ns && b->start_ns < a->end_ns;
}

static void concurrency(void)
{
	CUfunction first = facts_function("facts_first"), second = facts_function("facts_second");
	CUstream streams[2] = {facts_stream(), facts_stream()};
	int together = 0, invalid = 0;
	uint64_t step = UINT64_MAX;
	size_t bytes = 0;

	facts_forget();
	for (int i = 0; i < PAIRS; i++) {
		facts_launch(first, streams[0], 1, 32, TOGETHER_NS);
		facts_launch(second, streams[1], 1, 32, TOGETHER_NS);
		FACTS_CALL(cuCtxSynchronize);
	}
	facts_collect();
	for (int i = 0; i < facts_cupti.record_count; i++) {
		const struct facts_record *a = &facts_cupti.records[i];

		invalid += !a->start_ns || a->end_ns < a->start_ns;
		bytes = a->bytes && (!bytes || a->bytes < bytes) ? a->bytes : bytes;
		for (int j = 0; j < i; j++) {
			const struct facts_record *b = &facts_cupti.records[j];
			uint64_t apart =
			    a->start_ns > b->start_ns ? a->start_ns - b->start_ns : b->start_ns - a->start_ns;

			together += overlap(a, b);
			step = apart && apart < step ? apart : step;
		}
	}
	facts_say("measured kernels still run together", together > 0, "%d of %d pairs on two streams", together,
		  PAIRS);
	facts_say("every launch has a record with valid times",
		  facts_cupti.record_count == 2 * PAIRS && !invalid && !facts_cupti.dropped,
		  "%d launches, %d records, %d without times, %zu dropped", 2 * PAIRS, facts_cupti.record_count,
		  invalid, facts_cupti.dropped);
	facts_say("size of a kernel record", -1, "%zu bytes; CUpti_ActivityKernel10 has %zu", bytes,
		  sizeof(CUpti_ActivityKernel10));
	facts_say("timestamps", -1, "the closest two starts are %lld ns apart", (long long)step);
}

static void CUPTIAPI ignore(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)unused;
	(void)domain;
	(void)id;
	(void)data;
}

static void subscribers(void)
{
	__typeof__(&cuptiSubscribe_v2) subscribe_v2;
	CUpti_SubscriberHandle other = NULL;
	CUptiResult result = facts_cupti.cuptiSubscribe(&other, ignore, NULL);
	char name[256] = "";
	CUpti_SubscriberParams params;

	facts_say("a second subscriber", -1, "error %d (%d: refused)", result,
		  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	if (result == CUPTI_SUCCESS)
		facts_cupti.cuptiUnsubscribe(other);
	*(void **)&subscribe_v2 = dlsym(facts_cupti.handle, "cuptiSubscribe_v2");
	if (!subscribe_v2)
		return;
	memset(&params, 0, sizeof(params));
	params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
	params.subscriberName = "facts";
	params.oldSubscriberName = name;
	params.oldSubscriberSize = sizeof(name);
	result = subscribe_v2(&other, ignore, NULL, &params);
	facts_say("cuptiSubscribe_v2 names the first", -1, "error %d, \"%s\"", result, name);
	if (result == CUPTI_SUCCESS)
		facts_cupti.cuptiUnsubscribe(other);
}

void facts_records(const struct facts_options *options)
{
	facts_driver_start();
	facts_attach(options);
	facts_context();
	facts_versions(options);
	correlation();
	concurrency();
	subscribers();
}
