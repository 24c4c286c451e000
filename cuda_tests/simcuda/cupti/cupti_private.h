/*
 * A stand-in for CUPTI's activity and callback API on the simulated driver.
 *
 *   cupti            the library's one state.
 *   cupti_driver     what the simulated driver offers (simcuda.h); all null without it.
 *   cupti_clock      what turns the device's clock into the one of the records.
 *   cupti_buffer     one of the client's buffers, from its request to its return.
 *
 * Driver → cupti_callback.c → the subscriber's callback.
 * Driver → cupti_record.c → cupti_buffer.c, where records fill the client's buffers;
 * cupti_delivery.c decides when a buffer returns to the client.
 * No lock is held while the client's functions or the driver's are called.
 */
#ifndef CUPTI_PRIVATE_H
#define CUPTI_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti.h>

#include "cuda_tests/simcuda/simcuda.h"

enum {
	CUPTI_CBIDS_MAX = 1024,     /* of any domain; CUDA 13.0 has some 800 in the driver's */
	CUPTI_RECORD_ALIGNMENT = 8, /* bytes, "Activity record alignment" in CUPTI's documentation */
	CUPTI_VERSION_12_3 = 21,    /* cupti_version.h */
	CUPTI_VERSION_12_9 = 27,
};

struct cupti_driver {
	simcuda_subscribe_fn *subscribe;
	simcuda_collect_fn *collect;
	simcuda_advance_fn *advance;
	simcuda_now_ns_fn *now_ns;
	simcuda_faults_fn *faults;
	simcuda_finalized_fn *finalized;
	simcuda_count_buffer_fn *count_buffer;
	simcuda_context_id_fn *context_id;
	simcuda_stream_id_fn *stream_id;
	simcuda_node_id_fn *node_id;
	simcuda_graph_id_fn *graph_id;
	simcuda_graph_exec_id_fn *graph_exec_id;
	CUresult (*context_device)(CUdevice *device, CUcontext context); /* cuCtxGetDevice_v2 */
};

struct cupti_clock {
	_Atomic(CUpti_TimestampCallbackFunc) callback; /* null: CLOCK_REALTIME */
	_Atomic int64_t offset_ns;                     /* record time minus device time */
};

struct cupti_buffer {
	struct cupti_buffer *next; /* requested earlier */
	uint64_t thread;           /* whose records it holds, see cupti__thread() */
	uint8_t *bytes;
	size_t size, used;
	size_t records, records_max; /* records_max 0: as many as fit */
	size_t incomplete;           /* records of work that has not ended */
	bool full;                   /* takes no further record */
	bool returned;               /* stays allocated until no record is incomplete */
	CUpti_BuffersCallbackCompleteFunc complete;
};

/* Which buffers return to the client. */
enum cupti_due {
	CUPTI_DUE_FULL,     /* full, and all of their records complete */
	CUPTI_DUE_COMPLETE, /* all of their records complete */
	CUPTI_DUE_ALL,
};

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *user;
	char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
};

struct cupti {
	struct cupti_driver driver;
	struct cupti_clock clock;
	bool place_at_end;     /* a record takes its place in a buffer when its work has ended */
	_Atomic bool attached; /* to the driver's events */

	/* callbacks */
	_Atomic(struct CUpti_Subscriber_st *) subscriber; /* null or &the_subscriber */
	struct CUpti_Subscriber_st the_subscriber;
	_Atomic uint8_t callback_enabled[CUPTI_CB_DOMAIN_SIZE][CUPTI_CBIDS_MAX];

	/* activities */
	_Atomic uint8_t kind_enabled[CUPTI_ACTIVITY_KIND_COUNT];
	_Atomic uint32_t sessions; /* how often records of kernels were enabled */
	_Atomic size_t dropped;
	_Atomic bool latency_timestamps; /* records of kernels carry queued and submitted */
	pthread_mutex_t lock;            /* guards what follows */
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	struct cupti_buffer *buffers; /* not yet returned, newest first */
	unsigned returning;           /* threads that are returning buffers */
	pthread_cond_t returned;
	uint32_t period_ms; /* 0: the worker waits to be woken */
	bool worker_started, worker_wanted;
	pthread_cond_t worker_wake;
};

extern struct cupti cupti__self;

/* cupti_attach.c. CUPTI_ERROR_NOT_INITIALIZED: the driver is not the simulated one. */
CUptiResult cupti__attach(void);
void cupti__detach(void);
uint32_t cupti__version(void); /* SIMCUDA_CUPTI_VERSION, as cupti_version.h counts */
const struct simcuda_faults *cupti__faults(void);
/* Keeps result for cuptiGetLastError() unless it is success, and returns it. */
CUptiResult cupti__result(CUptiResult result);

/* cupti_callback.c */
void cupti__on_resource(void *user, const struct simcuda_resource *resource);
void cupti__call_back(struct simcuda_call *call, bool leaving);
/* cuptiFinalize() is called. In a callback it ends with that: nobody else may call CUPTI until then. */
void cupti__ends_with_callback(void);
void cupti__check_ended(void);

/* cupti_api_record.c: records of API calls, with the external ids of their thread. */
void cupti__on_api(void *user, struct simcuda_call *call, int leaving);
void cupti__record_calls(enum simcuda_domain domain, bool enable);

/* cupti_activity.c */
bool cupti__per_thread(void);       /* CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER */
bool cupti__come_zeroed(void);      /* CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER */
size_t cupti__device_buffers(void); /* CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT */

/* cupti_record.c */
void cupti__on_launched(void *user, struct simcuda_activity *activity);
void cupti__on_ended(void *user, const struct simcuda_activity *activity);
size_t cupti__record_bytes(CUpti_ActivityKind kind); /* 0: not a kind this library writes */
bool cupti__enabled(CUpti_ActivityKind kind);

/*
 * cupti_buffer.c. put: a record into the buffer of this thread; without room anywhere it
 * is dropped, counted, and put returns false. With a place the record stays incomplete
 * until complete() replaces it.
 */
uint64_t cupti__thread(void); /* the calling one's number; the same for all where one buffer serves them */
bool cupti__put(uint64_t thread, const void *record, size_t bytes, struct simcuda_place *place);
void cupti__complete(const struct simcuda_place *place, const void *record, size_t bytes);
void cupti__return_buffers(enum cupti_due due);
void cupti__wait_for_returns(void); /* those of other threads */

/* cupti_delivery.c */
void cupti__wake_worker(void);   /* lock held */
void cupti__forget_parent(void); /* in a forked child, lock held */

/* cupti_clock.c */
uint64_t cupti__timestamp(uint64_t device_ns); /* 0 stays 0 */
uint64_t cupti__now(void);
void cupti__adjust_clock(bool fresh); /* fresh: the callback has changed */

#endif
