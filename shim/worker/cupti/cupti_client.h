/* What cupti.c and cupti_buffers.c share. */
#ifndef KC_SHIM_CUPTI_CLIENT_H
#define KC_SHIM_CUPTI_CLIENT_H

#include "shim/shim.h"

#include <cupti.h>

#define CUPTI_FUNCTIONS(X)                                                                                             \
	X(cuptiSubscribe)                                                                                              \
	X(cuptiUnsubscribe)                                                                                            \
	X(cuptiEnableCallback)                                                                                         \
	X(cuptiActivityRegisterCallbacks)                                                                              \
	X(cuptiActivityEnable)                                                                                         \
	X(cuptiActivityDisable)                                                                                        \
	X(cuptiActivityFlushAll)                                                                                       \
	X(cuptiActivityGetNextRecord)                                                                                  \
	X(cuptiActivityGetNumDroppedRecords)                                                                           \
	X(cuptiGetTimestamp)                                                                                           \
	X(cuptiGetVersion)                                                                                             \
	X(cuptiGetResultString)

enum { KC__CUPTI_12_9 = 27, KC__CUPTI_13_0 = 130000 }; /* cupti_version.h */

struct kc__cupti {
#define MEMBER(symbol) __typeof__(&symbol) symbol;
	CUPTI_FUNCTIONS(MEMBER)
#undef MEMBER
	/* 11.6 and later */
	CUptiResult(CUPTIAPI *register_timestamp)(uint64_t (*)(void));
	CUptiResult(CUPTIAPI *get_graph_node_id)(CUgraphNode, uint64_t *);
	__typeof__(&cuptiActivitySetAttribute) set_attribute;
	__typeof__(&cuptiActivityGetAttribute) get_attribute;
	void *handle;
	uint32_t version; /* 0: it does not tell */
	CUpti_SubscriberHandle subscriber;
	CUpti_SubscriberHandle inherited; /* a forked child's parent's: CUPTI was copied with it */
	pthread_mutex_t control;          /* attached or not; held across our own calls, never taken in a callback */
	bool attached;
	bool watching; /* for kc__injected_call() */
	bool gave_up_watching;
	_Atomic bool our_clock;
	_Atomic bool claimed;            /* the application has a profiler of its own */
	bool transfers;                  /* are measured */
	_Atomic bool forcing;            /* a forced flush is under way */
	_Atomic int64_t clock_offset_ns; /* CUPTI's clock minus ours, where it has its own */
	bool buffer_per_thread;
	pthread_mutex_t rate_lock;   /* never across a CUPTI call */
	struct kc__launch_rate rate; /* of the process */
	_Atomic uint64_t dropped;
	size_t most_bytes; /* worker: of buffers that are read at a time */
};
extern struct kc__cupti kc__cupti;

/* cupti_buffers.c: CUPTI's callbacks */
void CUPTIAPI kc__cupti_buffer_requested(uint8_t **bytes, size_t *size, size_t *max_records);
void CUPTIAPI kc__cupti_buffer_completed(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid);

struct kc__record;
/* device_buffers.c: CUPTI takes few of them, or as many again as before. control held. */
void kc__device_buffers_bound(void);
void kc__device_buffers_give_back(void);
/* Worker: a record of work that has ended. Says it where the buffers have run out. */
void kc__device_buffers_look(const struct kc__record *record);

#endif
