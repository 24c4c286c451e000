#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cupti_private.h"

struct cupti cupti__self = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .returned = PTHREAD_COND_INITIALIZER,
    .worker_wake = PTHREAD_COND_INITIALIZER,
};

static pthread_once_t found = PTHREAD_ONCE_INIT;
static __thread CUptiResult last_error;

static void before_fork(void)
{
	pthread_mutex_lock(&cupti__self.lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&cupti__self.lock);
}

static void in_child(void)
{
	cupti__forget_parent();
	pthread_mutex_unlock(&cupti__self.lock);
}

/*
 * The documentation does not say when a record takes its place in a buffer. At launch is the
 * default: only then can a buffer hold the incomplete records that cuptiActivityFlushAll()
 * is documented to keep back or, forced, to return.
 */
static bool place_at_end(void)
{
	const char *when = getenv("SIMCUDA_CUPTI_PLACE");

	if (when && strcmp(when, "launch") && strcmp(when, "end"))
		fprintf(stderr, "simcuda: SIMCUDA_CUPTI_PLACE is \"%s\", not launch or end: launch is used\n", when);
	return when && !strcmp(when, "end");
}

uint32_t cupti__version(void)
{
	static _Atomic uint32_t version;
	const char *asked;

	if (!version) {
		asked = getenv("SIMCUDA_CUPTI_VERSION");
		version = asked ? (uint32_t)strtoul(asked, NULL, 10) : CUPTI_API_VERSION;
	}
	return version;
}

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	struct cupti_driver *driver = &cupti__self.driver;

	cupti__self.place_at_end = place_at_end();
	pthread_atfork(before_fork, in_parent, in_child);
	if (!library)
		return;
	driver->subscribe = (simcuda_subscribe_fn *)dlsym(library, "simcuda_subscribe");
	driver->collect = (simcuda_collect_fn *)dlsym(library, "simcuda_collect");
	driver->advance = (simcuda_advance_fn *)dlsym(library, "simcuda_advance");
	driver->now_ns = (simcuda_now_ns_fn *)dlsym(library, "simcuda_now_ns");
	driver->faults = (simcuda_faults_fn *)dlsym(library, "simcuda_faults");
	driver->finalized = (simcuda_finalized_fn *)dlsym(library, "simcuda_finalized");
	driver->count_buffer = (simcuda_count_buffer_fn *)dlsym(library, "simcuda_count_buffer");
	driver->context_id = (simcuda_context_id_fn *)dlsym(library, "simcuda_context_id");
	driver->stream_id = (simcuda_stream_id_fn *)dlsym(library, "simcuda_stream_id");
	driver->node_id = (simcuda_node_id_fn *)dlsym(library, "simcuda_node_id");
	driver->graph_id = (simcuda_graph_id_fn *)dlsym(library, "simcuda_graph_id");
	driver->graph_exec_id = (simcuda_graph_exec_id_fn *)dlsym(library, "simcuda_graph_exec_id");
	driver->context_device = (CUresult(*)(CUdevice *, CUcontext))dlsym(library, "cuCtxGetDevice_v2");
}

static bool complete(const struct cupti_driver *driver)
{
	return driver->subscribe && driver->collect && driver->advance && driver->now_ns && driver->faults &&
	       driver->finalized && driver->count_buffer && driver->context_id && driver->stream_id &&
	       driver->node_id && driver->graph_id && driver->graph_exec_id && driver->context_device;
}

CUptiResult cupti__attach(void)
{
	static const struct simcuda_sink sink = {
	    .api = cupti__on_api,
	    .launched = cupti__on_launched,
	    .ended = cupti__on_ended,
	    .resource = cupti__on_resource,
	};

	cupti__check_ended();
	pthread_once(&found, find_driver);
	if (!complete(&cupti__self.driver))
		return CUPTI_ERROR_NOT_INITIALIZED;
	cupti__adjust_clock(false);
	if (!atomic_exchange(&cupti__self.attached, true))
		cupti__self.driver.subscribe(&sink);
	return CUPTI_SUCCESS;
}

void cupti__detach(void)
{
	if (atomic_exchange(&cupti__self.attached, false)) {
		cupti__self.driver.collect(0);
		cupti__self.driver.subscribe(NULL);
		cupti__self.driver.finalized();
	}
}

const struct simcuda_faults *cupti__faults(void)
{
	return cupti__self.driver.faults();
}

CUptiResult cupti__result(CUptiResult result)
{
	if (result)
		last_error = result;
	return result;
}

CUptiResult cuptiGetLastError(void)
{
	CUptiResult result = last_error;

	last_error = CUPTI_SUCCESS;
	return result;
}
