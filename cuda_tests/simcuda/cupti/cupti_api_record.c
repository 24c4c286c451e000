#include <sys/syscall.h>
#include <unistd.h>
#include <string.h>

#include "cupti_private.h"

enum {
	CALLS_NESTED = 8,      /* a runtime call, its driver call, and calls made by callbacks */
	EXTERNAL_IDS_MAX = 32, /* pushed at a time, per kind */
	EXTERNAL_KINDS = CUPTI_EXTERNAL_CORRELATION_KIND_SIZE,
};

/* The calls this thread is in, outermost first, and the external ids it has pushed. */
static __thread struct {
	unsigned depth; /* may exceed CALLS_NESTED; calls beyond it get no record */
	uint64_t entered[CALLS_NESTED];
	unsigned pushed[EXTERNAL_KINDS];
	uint64_t ids[EXTERNAL_KINDS][EXTERNAL_IDS_MAX];
} thread;

static CUpti_ActivityKind kind_of(const struct simcuda_call *call)
{
	return call->domain == SIMCUDA_DRIVER ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
}

static void put_external_ids(uint32_t correlation)
{
	CUpti_ActivityExternalCorrelation record;

	for (int kind = 0; kind < EXTERNAL_KINDS; kind++) {
		if (!thread.pushed[kind])
			continue;
		memset(&record, 0, sizeof(record));
		record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
		record.externalKind = (CUpti_ExternalCorrelationKind)kind;
		record.externalId = thread.ids[kind][thread.pushed[kind] - 1];
		record.correlationId = correlation;
		cupti__put(cupti__thread(), &record, sizeof(record), NULL);
	}
}

static void put_call(const struct simcuda_call *call, uint64_t entered)
{
	CUpti_ActivityAPI record;

	memset(&record, 0, sizeof(record));
	record.kind = kind_of(call);
	record.cbid = call->cbid;
	record.start = entered;
	record.end = cupti__now();
	record.processId = (uint32_t)getpid();
	record.threadId = (uint32_t)syscall(SYS_gettid);
	record.correlationId = call->correlation;
	record.returnValue = (uint32_t)call->result;
	if (cupti__enabled(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION))
		put_external_ids(call->correlation);
	cupti__put(cupti__thread(), &record, sizeof(record), NULL);
}

/* By domain: whether calls of a callback id get a record. */
static _Atomic uint8_t recorded[SIMCUDA_RUNTIME + 1][CUPTI_CBIDS_MAX];

void cupti__record_calls(enum simcuda_domain domain, bool enable)
{
	for (size_t id = 0; id < CUPTI_CBIDS_MAX; id++)
		atomic_store_explicit(&recorded[domain][id], enable, memory_order_relaxed);
}

static CUptiResult record_call(enum simcuda_domain domain, CUpti_CallbackId id, bool enable)
{
	CUptiResult result = cupti__attach();

	if (!result && (!id || id >= CUPTI_CBIDS_MAX))
		result = CUPTI_ERROR_INVALID_PARAMETER;
	if (!result)
		atomic_store_explicit(&recorded[domain][id], enable, memory_order_relaxed);
	return cupti__result(result);
}

CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable)
{
	return record_call(SIMCUDA_DRIVER, id, enable);
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable)
{
	return record_call(SIMCUDA_RUNTIME, id, enable);
}

static bool is_recorded(const struct simcuda_call *call)
{
	return call->cbid < CUPTI_CBIDS_MAX &&
	       atomic_load_explicit(&recorded[call->domain][call->cbid], memory_order_relaxed);
}

static void enter(const struct simcuda_call *call)
{
	if (thread.depth < CALLS_NESTED)
		thread.entered[thread.depth] = is_recorded(call) ? cupti__now() : 0;
	thread.depth++;
}

/* A call that began before this library listened has no entry here. */
static void leave(const struct simcuda_call *call)
{
	uint64_t entered;

	if (!thread.depth || --thread.depth >= CALLS_NESTED)
		return;
	entered = thread.entered[thread.depth];
	if (entered && is_recorded(call))
		put_call(call, entered);
}

void cupti__on_api(void *user, struct simcuda_call *call, int leaving)
{
	(void)user;
	if (!leaving)
		enter(call);
	cupti__call_back(call, leaving);
	if (leaving)
		leave(call);
}

static bool known(CUpti_ExternalCorrelationKind kind)
{
	return (int)kind > CUPTI_EXTERNAL_CORRELATION_KIND_INVALID && (int)kind < EXTERNAL_KINDS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id)
{
	if (!known(kind))
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	if (thread.pushed[kind] == EXTERNAL_IDS_MAX)
		return cupti__result(CUPTI_ERROR_MAX_LIMIT_REACHED);
	thread.ids[kind][thread.pushed[kind]++] = id;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last)
{
	if (!known(kind))
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	if (!thread.pushed[kind])
		return cupti__result(CUPTI_ERROR_QUEUE_EMPTY);
	thread.pushed[kind]--;
	if (last)
		*last = thread.ids[kind][thread.pushed[kind]];
	return CUPTI_SUCCESS;
}
