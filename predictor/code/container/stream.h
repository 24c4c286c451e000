/*
 * Unpacks an entry of a fatbin part by part, for what is read once in its order:
 * the memory is that of the format's window, and not that of the whole entry.
 */
#ifndef KC_STREAM_H
#define KC_STREAM_H

#include "fatbin.h"

/* Is given the next part of the text. Returns 0 to go on; a negative number ends the unpacking. */
typedef int kc_stream_take(void *arg, const char *bytes, size_t length);

/* 0; what `take` returned, if that is negative; -EBADMSG: the entry is damaged; -ENOMEM: it needs more than
 * memory_bytes. *refusal says which of the last two, where and why. */
int kc__fatbin_stream(const struct kc_fatbin_entry *entry, size_t memory_bytes, kc_stream_take *take, void *arg,
		      struct kc_refusal *refusal);

/* The memory that unpacking takes. */
size_t kc__fatbin_stream_bytes(const struct kc_fatbin_entry *entry);

/* stream_lz4.c: the same for an LZ4 block. */
int kc__lz4_stream(const struct kc_fatbin_entry *entry, size_t memory_bytes, kc_stream_take *take, void *arg,
		   struct kc_refusal *refusal);
#define KC__LZ4_BYTES ((size_t)192 << 10) /* of memory */
/* Refuses for lack of memory. -ENOMEM */
int kc__stream_too_large(const struct kc_fatbin_entry *entry, size_t needed_bytes, size_t memory_bytes,
			 struct kc_refusal *refusal);

#endif
