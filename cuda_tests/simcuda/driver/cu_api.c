/* What happens around every call: the check that the driver is usable, correlation ids, the sink. */
#include "cuda_tests/simcuda/gpu/engine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	struct simcuda_sink storage[2]; /* the one in use and the next */
	struct simcuda_sink *_Atomic sink;
	atomic_uint kinds, kinds_so_far;
	atomic_uint correlations;
	atomic_uint finalizations;
} api;

static __thread __attribute__((tls_model("initial-exec"))) struct {
	uint32_t depth;
	uint32_t correlation; /* of the innermost call */
	uint32_t outermost;
	uint32_t kept; /* the id that all calls have until CUPTI is finalized; 0: each has its own */
	unsigned kept_since;
} nesting;

/* Which id the record of a launch carries, where a runtime call encloses the driver's. */
static enum ids { IDS_SHARED, IDS_DRIVER, IDS_RUNTIME } ids;
static pthread_once_t ids_read = PTHREAD_ONCE_INIT;

static void read_ids(void)
{
	static const char *const names[] = {
	    [IDS_SHARED] = "shared", [IDS_DRIVER] = "driver", [IDS_RUNTIME] = "runtime"};
	const char *value = getenv("SIMCUDA_CUPTI_IDS");

	for (int i = 0; value && i < 3; i++)
		if (!strcmp(value, names[i])) {
			ids = (enum ids)i;
			return;
		}
	if (value)
		fprintf(stderr, "simcuda: SIMCUDA_CUPTI_IDS is \"%s\", not shared, driver or runtime: shared is used\n",
			value);
}

CUresult sim_usable(void)
{
	if (!atomic_load_explicit(&sim.ready, memory_order_relaxed) ||
	    atomic_load_explicit(&sim.dead, memory_order_relaxed))
		return CUDA_ERROR_NOT_INITIALIZED;
	return CUDA_SUCCESS;
}

uint32_t sim_correlation(void)
{
	return ids == IDS_RUNTIME ? nesting.outermost : nesting.correlation;
}

struct simcuda_sink *sim_sink(void)
{
	return atomic_load_explicit(&api.sink, memory_order_acquire);
}

int sim_collects(uint32_t kind)
{
	return sim_sink() && (atomic_load_explicit(&api.kinds, memory_order_relaxed) & kind);
}

void simcuda_api_enter(struct simcuda_call *call)
{
	struct simcuda_sink *sink = sim_sink();

	if (call->domain == SIMCUDA_DRIVER && sim.log_shared)
		sim_count(&sim.log->calls);
	pthread_once(&ids_read, read_ids);
	call->enclosing = nesting.depth ? nesting.correlation : 0;
	call->told = call->left_open = 0;
	if (nesting.kept_since != sim_finalizations())
		nesting.kept = 0;
	if (nesting.kept)
		nesting.correlation = nesting.kept;
	else if (!nesting.depth || ids != IDS_SHARED)
		nesting.correlation = atomic_fetch_add_explicit(&api.correlations, 1, memory_order_relaxed) + 1;
	if (nesting.depth++ == 0)
		nesting.outermost = nesting.correlation;
	call->correlation = nesting.correlation;
	if (!sink || !sink->api || atomic_load_explicit(&sim.dead, memory_order_relaxed))
		return;
	call->context = sim_context();
	call->context_id = simcuda_context_id(call->context);
	sink->api(sink->user, call, 0);
}

void simcuda_api_leave(struct simcuda_call *call, int result)
{
	struct simcuda_sink *sink = sim_sink();

	call->result = result;
	if (sink && sink->api && !atomic_load_explicit(&sim.dead, memory_order_relaxed)) {
		if (!call->context) {
			call->context = sim_context();
			call->context_id = simcuda_context_id(call->context);
		}
		sink->api(sink->user, call, 1);
	}
	if (call->left_open && ids == IDS_SHARED) {
		nesting.kept = call->correlation;
		nesting.kept_since = sim_finalizations();
	}
	nesting.depth--;
	nesting.correlation = call->enclosing;
	if (simcuda_faults()->query_errno && (strstr(call->function, "Get") || strstr(call->function, "Is")))
		errno = (int)call->cbid;
}

/* Ids begin at 1 again, as CUPTI 13.0 was seen to do (driver 580, H100). */
void simcuda_finalized(void)
{
	atomic_fetch_add(&api.finalizations, 1);
	atomic_store(&api.correlations, 0);
}

unsigned sim_finalizations(void)
{
	return atomic_load_explicit(&api.finalizations, memory_order_relaxed);
}

void simcuda_subscribe(const struct simcuda_sink *sink)
{
	struct simcuda_sink *next = NULL;

	if (sink) {
		next = atomic_load(&api.sink) == &api.storage[0] ? &api.storage[1] : &api.storage[0];
		*next = *sink;
	}
	atomic_store_explicit(&api.sink, next, memory_order_release);
	sim_update_bare();
}

void simcuda_collect(uint32_t kinds)
{
	atomic_store(&api.kinds, kinds);
	atomic_fetch_or(&api.kinds_so_far, kinds);
}

int sim_has_collected(void)
{
	return atomic_load_explicit(&api.kinds_so_far, memory_order_relaxed) != 0;
}

void sim_notify(const struct simcuda_resource *resource)
{
	struct simcuda_sink *sink = sim_sink();

	if (sink && sink->resource)
		sink->resource(sink->user, resource);
}

uint64_t simcuda_now_ns(void)
{
	return sim_clock_ns();
}
