/*
 * What earlier runs of a program have taught: the snapshot of the newest of them
 * that has ended, and the PTX of kernels that they launched.
 *
 *   kc_past             both, as they were read. It does not change
 *   kc_past_recall_*()  what an entry of the engine begins with: all that is known of
 *   kc_past_make_*()    the same one
 *
 * What was learned from other code of the same name, or on another device of
 * the same architecture, is a first guess only (KC_PAST_RELATED): the BSP
 * model's λ already accounts for the numbers of cores and the clocks.
 */
#ifndef KC_PAST_H
#define KC_PAST_H

#include "store/common/identity.h"

#include "predictor/engine.h"
#include "store/database/store.h"
#include "store/journal/journal.h"

#include <stdint.h>

struct kc_past;

struct kc_past_options {
	const char *executable; /* path; only its processes count */
	struct kc_store_bound bound;
};

enum kc_past_kin { KC_PAST_NONE, KC_PAST_RELATED, KC_PAST_SAME };

/* A launch shape, or without a grid a kernel and block shape. Where the arguments are not known (yet) and the past has
 * only one set of them, it is taken to be that one. */
struct kc_past_query {
	struct kc_code_identity code;
	const char *uuid; /* of the device, hexadecimal */
	const struct kc_device *device;
	const struct kc_shape *dims;
	const char *arguments;
};

/* 0; -ENODATA: nothing is known of that program, or there is no database; -ETIME, -ENOMEM: it would take more than the
 * bound allows; -ESTALE: it was learned by a build in which what is learned is another; or another negative errno. With
 * -ESTALE and -EBADMSG *past has what is known of texts, if there are any; in all other cases it is NULL. why (may be
 * NULL) tells what was wrong, except for -ENODATA. Does not wait for locks. */
int kc_past_load(const char *path, const struct kc_past_options *options, struct kc_past **past, char *why,
		 size_t why_size);
/* What that process had learned when its snapshot had this checksum. 0, and *past NULL: it is not there any more, or
 * cannot be used; or -errno. */
int kc_past_of(struct kc_store *s, const struct kc_past_entry *began_with, struct kc_past **past);
/* The same of bytes that the caller gives away, from malloc(). 0; -ESTALE, -EBADMSG: kc_snapshot_open(); -ENOMEM. */
int kc_past_of_snapshot(void *bytes, size_t size, struct kc_past **past);
void kc_past_free(struct kc_past *past);

/* Where its snapshot is from. 0: it has none. past may be NULL. */
int kc_past_began_with(const struct kc_past *past, struct kc_past_entry *began_with);
/* NULL: there is none. past may be NULL. */
struct kc_snapshot;
const struct kc_snapshot *kc_past_snapshot(const struct kc_past *past);

/* PTX of a kernel that earlier runs of the program launched, where what was loaded has none: packed_text.h. */
struct kc_past_text {
	const char *mangled;
	uint64_t code_hash;
	uint32_t architecture; /* 90 */
	uint32_t bytes, packed_bytes;
	const void *packed;
};
#define KC_PAST_TEXTS_BYTES ((size_t)2 << 20) /* of all together, packed; those launched last come first */

/* NULL: there is none. past may be NULL. */
const struct kc_past_text *kc_past_text(const struct kc_past *past, const char *mangled, uint64_t code_hash,
					uint32_t architecture);

/* What a program begins with. Of the same code on the same device, the past is believed before the file; then what the
 * past has of related launches, then what the file has. Each may be NULL. */
struct kc_knowledge; /* knowledge.h */
struct kc_beginning {
	const struct kc_past *past;
	const struct kc_knowledge *knowledge;
};

/* past_recall.c: entries of the engine, as library and replay make them. Each takes over what is known of it; the
 * caller holds the engine's lock where that guards the entry. What the file says is of other machines, so no launch
 * counts as measured by it. */
void kc_past_recall_cells(const struct kc_beginning *from, struct kc_cells *cells);
void kc_past_recall_device(const struct kc_beginning *from, const char *uuid, const struct kc_engine *engine,
			   struct kc_engine_device *device);
void kc_past_make_kernel(const struct kc_beginning *from, const struct kc_code_identity *code, const char *uuid,
			 struct kc_engine_device *device, struct kc_engine_kernel *kernel);
void kc_past_make_key(const struct kc_beginning *from, const struct kc_past_query *query,
		      struct kc_engine_kernel *kernel, struct kc_engine_key *key);
void kc_past_recall_shape(const struct kc_beginning *from, const struct kc_past_query *query,
			  _Atomic uint32_t *measured);
/* Of a variant that is predictable, named, and counted where its code was read: the arguments that it is given, and
 * what is known of it. memory (bytes, arg): zeros, which its kernel keeps; NULL: none, and arguments are not learned
 * from. */
void kc_past_make_variant(const struct kc_beginning *from, const struct kc_past_query *query,
			  void *(*memory)(size_t bytes, void *arg), void *arg, struct kc_engine_variant *variant);

#endif
