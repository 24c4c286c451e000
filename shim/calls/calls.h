/* What the hooks of launches, transfers and captures have in common. */
#ifndef KC_SHIM_CALLS_CALLS_H
#define KC_SHIM_CALLS_CALLS_H

#include "shim/shim.h"

/* A launch or transfer being recorded, on the caller's stack. */
struct kc__call {
	struct kc_slot *slot;      /* NULL: dropped */
	struct kc__stream *stream; /* NULL: not known */
	uint32_t ticket;           /* of a transfer */
	int saved_errno;
};

/* transfer.c */
/* The call failed: it never occupied the stream. slot: of its record, NULL: it was dropped. */
void kc__cancel(struct kc__stream *stream, const struct kc_slot *slot, uint32_t ticket);
bool kc__transfer_begin(struct kc__call *call, enum kc_transfer_kind kind, uint64_t bytes, CUstream stream,
			bool per_thread);
void kc__transfer_end(struct kc__call *call, CUresult result, bool synchronous);
static inline enum kc_transfer_kind kc__copy_kind(CUmemorytype from, CUmemorytype to)
{
	bool from_host = from == CU_MEMORYTYPE_HOST, to_host = to == CU_MEMORYTYPE_HOST;

	if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED || (from_host && to_host))
		return KC_COPY_OTHER;
	return from_host ? KC_COPY_HTOD : to_host ? KC_COPY_DTOH : KC_COPY_DTOD;
}

/* runtime.c */
void kc__runtime_forget(void); /* fork child */

/* launch.c */
bool kc__capturing(CUstream stream, bool per_thread); /* may ask the driver; errno is kept */

/* order.c: around calls that begin captures, and after those that end them. Returns what _failed() takes back. */
int kc__capture_begins(void);
void kc__capture_failed(int counted);
void kc__capture_ended(CUresult result);

/* cig.c: whether the stream is being captured into a command list of a graphics API */
bool kc__cig_capturing(CUstream stream, bool per_thread);

/* A call of the driver that puts work on a device begins: which correlation ids it has is told by callbacks. */
static inline void kc__expect_ids(enum kc__calls calls)
{
	bool asked = atomic_load_explicit(&kc__shim.enclosing_of[calls], memory_order_relaxed);

	if (kc__thread.correlation)
		kc__thread.before = kc__thread.correlation;
	kc__thread.correlation = 0;
	kc__thread.enclosing = asked ? kc__thread.runtime_call : 0;
}

#endif
