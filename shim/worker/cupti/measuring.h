/* CUPTI: what is measured, and when it is asked for records. */
#ifndef KC_SHIM_WORKER_CUPTI_MEASURING_H
#define KC_SHIM_WORKER_CUPTI_MEASURING_H

#include "shim/shim.h"

/* correlation.c: which correlation id this CUPTI's records carry, that of the driver's call or that of the runtime call
 * around it, and what is asked of CUPTI accordingly */
/* CUPTI's subscriber is ours. both: it is not known which id records have */
void kc__correlation_begin(bool both, bool transfers);
void kc__correlation_driver_call(uint32_t id);               /* callback */
void kc__correlation_runtime_call(uint32_t id, bool begins); /* callback */
/* Worker: a record matched a launch or transfer that has both ids. */
void kc__correlation_matched(enum kc__calls calls, bool by_enclosing);
void kc__correlation_unmatched(enum kc__calls calls); /* Worker: a record matched nothing. */

/* cupti.c */
/* Has callbacks of the runtime's domain sent. */
void kc__cupti_runtime_callbacks(const uint32_t *ids, size_t count);
enum kc_unmeasured kc__cupti_attach(const struct kc_options *options);
/* Worker: the same, after the application's profiler has ended. What is launched from then on is measured. */
void kc__cupti_attach_again(const struct kc_options *options);
/* The fields of a CUPTI activity record that we use. Its times have been converted to our clock, kc__now_ns(). */
struct kc__record {
	uint32_t correlation;
	uint32_t is_kernel, is_graph; /* else a copy or memset */
	uint64_t graph_node;          /* 0: not of a graph */
	uint32_t grid[3], block[3];
	enum kc_transfer_kind kind; /* of a copy or memset */
	uint64_t bytes;             /* likewise */
	int64_t start_ns, end_ns;
};
/* cupti_record.c: offset_ns: its clock is ahead of ours by. false: of a kind that is not asked for */
bool kc__cupti_read(const void *activity, int64_t offset_ns, struct kc__record *record);
/* Worker: asks CUPTI for finished records; forced: also of unfinished buffers. */
int64_t kc__cupti_flush(bool forced);
/* Worker: hands delivered records to fn, in whole buffers, until so many bytes have been read. */
void kc__cupti_read_at_most(size_t bytes);
bool kc__cupti_has_records(void); /* more are delivered */
void kc__cupti_drain(void (*fn)(const struct kc__record *record, void *arg), void *arg);
uint64_t kc__cupti_dropped(void);
/* What starts earlier than its launch by more than this, or has ended later than its record came, has times of another
 * clock: github.com/pytorch/pytorch/issues/192021. */
int64_t kc__cupti_clock_error_ns(void);
/* Disables our activity kinds. Callbacks stay: a thread that is in a call when they are switched off keeps the id of
 * this call (correlation.c). */
void kc__cupti_detach(void);
bool kc__cupti_resume(void); /* enables all of them again. false: CUPTI refuses, and is not asked any more */
void kc__cupti_forget(void); /* fork child */
/* Has callbacks sent to kc__injected_call(), too. false: CUPTI refuses. */
bool kc__cupti_watch(const struct kc_options *options);
/* The application wants CUPTI: gives it up, until kc__cupti_attach_again(). claims: it has chosen what CUPTI is to
 * record, so we do not take it either. true: we had it; *watched: for kc__injected_call(), too. */
bool kc__cupti_hand_over(bool claims, bool *watched);
/* Where the copy is loaded that records for us and nobody else; NULL: there is none. */
const void *kc__cupti_base(void);
void kc__cupti_unclaimed(void);             /* what it has chosen holds no more */
void *kc__cupti_symbol(const char *symbol); /* of the copy that is loaded; NULL: none is */

/* flush.c: worker. measured_ns: for how long we have measured */
void kc__flush_begin(void); /* nothing was asked for yet */
bool kc__flush_is_due(int64_t now_ns, int64_t measured_ns);
/* It is due, and the application has waited for its work, or launched a shape that was never measured. */
bool kc__flush_is_wanted(int64_t now_ns);
/* When the second of these is so, or the deadline, if that is before. */
int64_t kc__flush_wanted_at(int64_t now_ns, int64_t deadline_ns);
void kc__flush(void);
void kc__flush_not_needed(void); /* nothing is awaited */
/* Any thread of the application: it has waited for its work to end, so there are measurements to be had. The worker
 * asks CUPTI for them soon, if anything was recorded since the last time. */
void kc__work_ended(void);
/* A launching thread: a launch of a shape is made that was never measured. */
void kc__flush_new_shape(int64_t now_ns);
void kc__flush_shape_measured(void); /* worker: one that was not before */

#endif
