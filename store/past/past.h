/*
 * What earlier runs of a program have taught: their newest launches are
 * replayed, and what was learned is looked up by name.
 *
 *   kc_past             everything learned. It does not change after loading,
 *                       except for the cells of contexts, with which the
 *                       program continues to learn
 *   kc_past_device(), kc_past_kernel(), kc_past_shape()
 *                       what is known of a device, of a kernel on it, and of a
 *                       launch shape
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
	uint64_t launches_max;  /* fewer, where memory does not suffice for these */
	struct kc_store_bound bound;
};

enum kc_past_kin { KC_PAST_NONE, KC_PAST_RELATED, KC_PAST_SAME };

struct kc_past_shape {
	enum kc_past_kin kin; /* NONE: nothing is known, and the rest is not set */
	const struct kc_work *work;
	const struct kc_lambda *lambda;          /* in units of work; count > 0 */
	const struct kc_engine_variant *variant; /* of a launch shape, for use only if kin is SAME; else NULL */
};

/* A launch shape, or without a grid a kernel and block shape. Where the arguments are not known (yet) and the past has
 * only one set of them, it is taken to be that one. */
struct kc_past_query {
	struct kc_code_identity code;
	const char *uuid; /* of the device, hexadecimal */
	const struct kc_device *device;
	const struct kc_shape *dims;
	const char *arguments;
};

/* 0; -ENODATA: nothing is recorded of that program, or there is no database; -ETIME, -ENOMEM: it would take more than
 * the bound allows; or another negative errno. In all of these cases *past is NULL, and why (may be NULL) tells what
 * was wrong, except for -ENODATA. Does not wait for locks. */
int kc_past_load(const char *path, const struct kc_past_options *options, struct kc_past **past, char *why,
		 size_t why_size);
void kc_past_free(struct kc_past *past);

/* The parts of processes that it was learned from, in that order; place counts from 0. Returns 0 if there is no such
 * part. */
int kc_past_part(const struct kc_past *past, uint32_t place, struct kc_past_entry *part);

/* past may be NULL. Return NULL if nothing was learned. */
const struct kc_engine_device *kc_past_device(const struct kc_past *past, const char *uuid);
const struct kc_engine_kernel *kc_past_kernel(const struct kc_past *past, const struct kc_code_identity *code,
					      const char *uuid);
/* How many launches of this launch shape were measured, whatever their arguments. */
uint32_t kc_past_measured(const struct kc_past *past, const struct kc_code_identity *code, const char *uuid,
			  const struct kc_shape *dims);
void kc_past_shape(const struct kc_past *past, const struct kc_past_query *query, struct kc_past_shape *out);

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

/* past_recall.c: each entry takes over what is known of it when it is created; the caller holds the engine's lock where
 * that guards the entry. The device also brings the cells of contexts. What the file says is of other machines, so no
 * launch counts as measured by it. */
void kc_past_recall_device(const struct kc_beginning *from, const char *uuid, struct kc_engine *engine,
			   struct kc_engine_device *device);
void kc_past_recall_kernel(const struct kc_beginning *from, const struct kc_code_identity *code, const char *uuid,
			   struct kc_engine_kernel *kernel);
void kc_past_recall_key(const struct kc_beginning *from, const struct kc_past_query *query, struct kc_engine_key *key);
void kc_past_recall_shape(const struct kc_beginning *from, const struct kc_past_query *query,
			  struct kc_engine_shape *shape);
void kc_past_recall_variant(const struct kc_beginning *from, const struct kc_past_query *query,
			    struct kc_engine_variant *variant);

#endif
