/*
 * A stand-in for CUPTI's activity and callback API on the simulated driver.
 *
 *   cupti            the library's one state.
 *   cupti_driver     what the simulated driver offers (simcuda.h); all null without it.
 *   cupti_clock      what turns the device's clock into the one of the records.
 *   cupti_buffer     a client's buffer that is being filled, and whom to return it to.
 *
 * Driver → cupti_callback.c → the subscriber's callback, and
 * driver → cupti_record.c → cupti_buffer.c → the client's buffers.
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
};

struct cupti_driver {
	simcuda_subscribe_fn *subscribe;
	simcuda_collect_fn *collect;
	simcuda_advance_fn *advance;
	simcuda_now_ns_fn *now_ns;
	simcuda_faults_fn *faults;
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
	uint8_t *bytes; /* null: none */
	size_t size, used;
	size_t records, max_records; /* max 0: as many as fit */
	CUpti_BuffersCallbackCompleteFunc complete;
};

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *user;
	char name[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN];
};

struct cupti {
	struct cupti_driver driver;
	struct cupti_clock clock;
	_Atomic bool attached; /* to the driver's events */

	/* callbacks */
	_Atomic(struct CUpti_Subscriber_st *) subscriber; /* null or &the_subscriber */
	struct CUpti_Subscriber_st the_subscriber;
	_Atomic uint8_t callback_enabled[CUPTI_CB_DOMAIN_SIZE][CUPTI_CBIDS_MAX];

	/* activities */
	_Atomic uint8_t kind_enabled[CUPTI_ACTIVITY_KIND_COUNT];
	_Atomic size_t dropped;
	_Atomic bool latency_timestamps; /* records of kernels carry queued and submitted */
	pthread_mutex_t lock;            /* guards what follows */
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
	struct cupti_buffer current;
	uint32_t period_ms; /* 0: no periodic delivery */
	bool worker_started;
	pthread_cond_t period_changed;
};

extern struct cupti cupti__self;

/* cupti_attach.c. CUPTI_ERROR_NOT_INITIALIZED: the driver is not the simulated one. */
CUptiResult cupti__attach(void);
void cupti__detach(void);
const struct simcuda_faults *cupti__faults(void);
/* Keeps result for cuptiGetLastError() unless it is success, and returns it. */
CUptiResult cupti__result(CUptiResult result);

/* cupti_callback.c */
void cupti__on_resource(void *user, const struct simcuda_resource *resource);
void cupti__call_back(struct simcuda_call *call, bool leaving);

/* cupti_api_record.c: records of API calls, with the external ids of their thread. */
void cupti__on_api(void *user, struct simcuda_call *call, int leaving);

/* cupti_record.c */
void cupti__on_activity(void *user, const struct simcuda_activity *activity);
size_t cupti__record_bytes(CUpti_ActivityKind kind); /* 0: not a kind this library writes */
bool cupti__enabled(CUpti_ActivityKind kind);

/* cupti_buffer.c. put: thread-safe; without room anywhere the record is dropped and counted. */
void cupti__put(const void *record, size_t bytes);
void cupti__deliver(bool forced); /* the buffer in use; an empty one only if forced */

/* cupti_clock.c */
uint64_t cupti__timestamp(uint64_t device_ns); /* 0 stays 0 */
uint64_t cupti__now(void);
void cupti__adjust_clock(bool fresh); /* fresh: the callback has changed */

#endif
