/*
 * The buffers that CUPTI fills with activity records. A launching thread takes one when CUPTI asks for it, CUPTI gives
 * it back when it is delivered, and the worker reads it, clears it and makes it ready again.
 *
 * CUPTI keeps a buffer per thread (before 12.3: one for all), and unless it is forced to it returns only buffers in
 * which no record is of unfinished work. A thread that always has a kernel in flight gets its records back a buffer
 * at a time, so a record waits for those behind it in the buffer. Therefore a buffer has room for what the thread is
 * expected to launch within KC__FILL_NS: little at a low rate, so that records are not kept waiting, and much at a
 * high one, so that CUPTI seldom asks.
 *
 * Where more is launched than the worker can read, buffers would wait until all memory is in use. CUPTI would then drop
 * every record for as long, and those that are read at last would be of launches that have been given up. Once that has
 * come, threads that launch much get fewer and smaller buffers, until those that come back wait for 200 ms at most, and
 * what has waited for 500 ms is dropped unread: some of the records are dropped all the time, whatever kernels they are
 * of.
 */
#ifndef KC_SHIM_BUFFERS_H
#define KC_SHIM_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KC__FILL_NS 8000000ll
/* Of all buffers together, if entries and code leave so much (KC__SHARE_BUFFERS); past it records are dropped, and
 * CUPTI counts them. */
#define KC__BUFFERS_BYTES (11u << 20)
#define KC__EXCESS_BYTES 4096u /* one beyond that bound */

struct kc__buffer {
	struct kc__buffer *next;
	size_t memory_bytes; /* all of it, this struct included */
	size_t bytes;        /* that CUPTI was given ... */
	size_t valid_bytes;  /* ... and has filled */
	bool forced;         /* came back by force, perhaps with records of unfinished work */
	bool excess;
	uint32_t mark; /* of ours */
	/* As delivered */
	int64_t delivered_ns;
	void *context;
	uint32_t stream;
};

/* How much was launched lately. */
struct kc__launch_rate {
	int64_t since_ns;
	uint64_t since;   /* launches made until then */
	uint32_t records; /* expected in KC__FILL_NS */
};

/* Launches expected in the next KC__FILL_NS from the number made so far: as many as lately, but no fewer than twice
 * those of the last KC__FILL_NS, so that a rate that rises is followed at once. */
uint32_t kc__launch_rate(struct kc__launch_rate *rate, uint64_t made, int64_t now_ns);

/* Before the first is taken, and in a fork's child, where the parent's are forgotten. clear: they are to be zeroed
 * before CUPTI gets them (CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER). */
void kc__buffers_begin(bool clear);
void kc__buffers_forget(void);

/* Any thread. Room for records of so many launches or, at a high rate, for half as many, in *bytes of memory aligned to
 * 64 bytes; NULL: all memory is in use. */
uint8_t *kc__buffer_take(uint32_t records, size_t *bytes);
/* Any thread: the one at this address is delivered. */
void kc__buffer_delivered(uint8_t *at, size_t valid_bytes, void *context, uint32_t stream, bool forced, int64_t now_ns);
uint8_t *kc__buffer_at(struct kc__buffer *buffer);

/* Any thread, where CUPTI takes no refusal: one beyond the bound, for records that are dropped. mapped: as long as it
 * is with CUPTI; not: the same memory for all, for a process that can have no more, and of which nothing is read. */
uint8_t *kc__buffer_take_excess(bool mapped, size_t *bytes);
bool kc__buffer_is_ours(const uint8_t *at); /* any address */
bool kc__buffer_is_excess(const uint8_t *at, bool *readable);
void kc__buffer_drop_excess(uint8_t *at);

/* Worker. The one that was delivered first and has not been read; NULL: none. */
struct kc__buffer *kc__buffer_next_delivered(void);
bool kc__buffers_wait(void);                          /* there is one */
void kc__buffer_give_back(struct kc__buffer *buffer); /* it has been read */
/* So long the one that is next has waited, of all the longest. true: it is to be dropped unread. */
bool kc__buffers_waited(int64_t waited_ns, int64_t now_ns);
void kc__buffers_prepare(void);   /* keeps some ready, so that launching threads need not make any */
bool kc__buffers_exhausted(void); /* memory for one was refused */

#endif
