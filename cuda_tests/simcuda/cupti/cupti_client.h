/*
 * A client of the stand-in for CUPTI, for its tests: it subscribes to cuMemsetD8Async, which
 * is all it launches, and keeps the records of memsets that return to it.
 */
#ifndef CUPTI_CLIENT_H
#define CUPTI_CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>
#include <cupti.h>

enum {
	RECORD_BYTES = sizeof(CUpti_ActivityMemset4),
	SETS_MAX = 64,
};

struct client {
	pthread_mutex_t lock;             /* buffers return on other threads, too */
	size_t buffer_bytes, max_records; /* what the client answers; bytes 0: no buffer */
	uint8_t filled_with;              /* what is in a buffer when it is given */
	size_t asked, returned, largest;  /* buffers; records in the fullest */
	size_t mixed;                     /* buffers with memsets of several values */
	size_t unreadable;                /* buffers with a record at which reading ended in an error */
	pthread_t asker, returner;        /* threads of the last call */
	size_t records, timeless;
	CUpti_ActivityMemset4 sets[SETS_MAX];
	uint32_t entered[SETS_MAX]; /* correlation ids, in the order of the calls */
	size_t enters, exits;
	CUdeviceptr memory;
};
extern struct client client;

/* cmocka's assertions end a process that it has started itself only. */
#define check(holds) client_check_at(holds, __FILE__, __LINE__)
void client_check_at(bool holds, const char *file, int line);

/*
 * Each case is a process of its own: the environment is read once, and a process has one
 * subscriber. SIMCUDA_FAULT and SIMCUDA_CUPTI_PLACE are set; null: not set.
 */
void client_run_case(void (*body)(void), const char *fault);
void client_run_case_placed(void (*body)(void), const char *fault, const char *place);

CUpti_SubscriberHandle client_attach(size_t buffer_bytes, size_t max_records);
void client_on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
void client_take_buffer(CUcontext context, uint32_t stream, uint8_t *bytes, size_t size, size_t valid);
void client_launch(int times);     /* memsets to 1 on the default stream */
void client_set_memory(int times); /* launches and waits for them */
size_t client_dropped(void);

size_t client_returned(void);
void client_wait_until_returned(size_t buffers); /* no fewer in some seconds, and no more */
void client_sleep_ms(int ms);

/* What is launched on the default stream in between does not end before the release. */
void client_block_stream(void);
void client_release_stream(void);

#endif
