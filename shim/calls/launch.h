/*
 * Inside the launch hooks: what is known of a launch before it is predicted,
 * and the record made of it. Shared by plain launches and by the kernel nodes
 * of graphs.
 */
#ifndef KC_LAUNCH_H
#define KC_LAUNCH_H

#include "shim/worker/selection.h"
#include "calls.h"
#include "shim/worker/cupti/measuring.h"

struct kc__known {
	struct kc__device *device;
	struct kc__stream *stream;
	struct kc__kernel *kernel;
	struct kc__variant *variant; /* NULL: cannot be predicted, for this reason: */
	enum kc_unpredictable unpredictable;
	CUfunction function;
	const struct kc__given *given;
	bool any_stream; /* without a stream: it will be launched in one of the device's */
};

/* Begins: looks up the stream and its device. */
void kc__know_stream(struct kc__known *known, CUstream handle, bool per_thread);
/* Then, with function and given set: looks up kernel and launch shape. What is new goes into the journal. */
void kc__know_kernel(struct kc__known *known, const struct kc_shape *dims);

/* Notes which kernel a record is of, NULL: not known, and whether this launch of it is asked for. */
static inline void kc__record_kernel(struct kc_launch *launch, struct kc__kernel *kernel)
{
	if (!kernel)
		return;
	launch->kernel = kernel->id;
	if (__builtin_expect(kernel->every, 0) && kc__selection_skips(kernel)) {
		launch->not_asked = 1;
		kc_journal_not_asked(kc__shim.journal,
				     (const void *)((const char *)launch - offsetof(struct kc_slot, launch)));
	}
}

/* Predicts and places the launch and fills its record, host time apart. */
void kc__record(struct kc_launch *launch, const struct kc__known *known, enum kc_api api, const struct kc_shape *dims);

/* What has been predicted goes into the record; its time is there, and what was known of it before it had a place. */
static inline void kc__keep_prediction(struct kc_launch *launch, const struct kc__variant *variant,
				       const struct kc_prediction *p, const struct kc_engine_launch *kept)
{
	launch->solo_ns = p->solo_ns;
	launch->solo_low_ns = p->solo_low_ns;
	launch->solo_high_ns = p->solo_high_ns;
	launch->model = (uint8_t)p->model;
	launch->context = kept->context;
	launch->contended = kept->contended;
	launch->meeting = kept->meeting;
	launch->start_ns = p->placement.start_ns;
	launch->end_ns = p->placement.end_ns;
	launch->slowdown = p->placement.slowdown;
	launch->slowdown_waves = p->placement.slowdown_waves;
	launch->concurrency_case = (uint8_t)p->placement.concurrency_case;
	launch->ticket = p->placement.ticket;
	launch->blocks_per_sm = variant->blocks_per_sm;
	launch->variant = (uint16_t)variant->id;
	launch->arguments = variant->arguments;
}

/* The call has returned: commits the record. correlation: of the driver's call, as CUPTI tells; 0: it did not. */
void kc__returned(struct kc_slot *slot, struct kc__stream *stream, CUresult result, uint32_t correlation);

/* Around the real call of one launch. true: it is recorded, and
 * kc__launch_end() must follow. */
bool kc__launch_begin(struct kc__call *call, enum kc_api api, CUfunction f, const struct kc_shape *dims,
		      const struct kc__given *given, CUstream stream, bool per_thread);
/* Between them: what the attributes of cuLaunchKernelEx say of the launch's place in its stream. */
void kc__launch_attributes(const struct kc__call *call, const CUlaunchConfig *config);
void kc__launch_end(struct kc__call *call, CUresult result);

/* graph.c: around and after the calls that make, change and launch executable
 * graphs. From a begin that says true to its end, other calls of the thread are not recorded. */
struct kc__clone {
	CUgraphNode original;
	uint64_t id;
};
struct kc__clones { /* collected while a graph is instantiated */
	struct kc__clone *at;
	size_t count, capacity;
};
bool kc__graph_instantiate_begin(struct kc__clones *clones);
void kc__graph_instantiate_end(CUresult result, const CUgraphExec *handle, CUgraph graph, struct kc__clones *clones);
bool kc__graph_launch_begin(CUgraphExec handle, CUstream stream, bool per_thread, struct kc__graph_exec **launched);
void kc__graph_launch_end(struct kc__graph_exec *launched, CUstream stream, bool per_thread, CUresult result);
void kc__graph_set_kernel(CUgraphExec exec, CUgraphNode original, const CUDA_KERNEL_NODE_PARAMS_v2 *params);
void kc__graph_set_kernel_v1(CUgraphExec exec, CUgraphNode original, const CUDA_KERNEL_NODE_PARAMS_v1 *params);
void kc__graph_set_node(CUgraphExec exec, CUgraphNode original, const CUgraphNodeParams *params);
void kc__graph_set_enabled(CUgraphExec exec, CUgraphNode original, unsigned enabled);
void kc__graph_set_child(CUgraphExec exec, CUgraphNode original, CUgraph child);
void kc__graph_updated(CUgraphExec exec, CUgraph graph);
void kc__graph_gone(CUgraphExec exec); /* before it is destroyed */

/* true: recording is on (started if need be) and this call is not inside another. */
bool kc__launch_enter(void);

static inline void kc__count(enum kc_counter counter)
{
	atomic_fetch_add_explicit(&kc__shim.header->counters[counter], 1, memory_order_relaxed);
}

/* The journal has no slot for a launch: it is full, or sealed. */
void kc__launch_without_slot(void);

/* A launch of so many kernels was not entered: counted if recording has ended. */
void kc__launch_passed(CUstream stream, bool per_thread, uint64_t kernels, uint64_t records);

#endif
