/*
 * What recorded launches have taught, for the next run of the same program:
 * the newest of them are replayed, and what was learned is asked for
 * by name.
 *
 *   kc_past          everything learned; only read once it is there, but for
 *                    the cells of contexts, which are the reader's to learn on
 *   kc_past_device() of a device, kc_past_kernel() of a kernel on it, and
 *   kc_past_shape()  of a launch shape
 *
 * What was learned with other code of the same name, or on another device of
 * the architecture, is not what this one does, but it is where to begin
 * (KC_PAST_RELATED): the BSP model's λ holds the ratio of cores and clocks.
 */
#ifndef KC_PAST_H
#define KC_PAST_H

#include "store/common/identity.h"

#include "predictor/engine.h"
#include "store/journal/journal.h"

#include <stdint.h>

struct kc_past;

struct kc_past_options {
	const char *executable; /* path; of its processes alone */
	uint64_t launches_max;
};

enum kc_past_kin { KC_PAST_NONE, KC_PAST_RELATED, KC_PAST_SAME };

/* Of a kernel and block shape there is no variant. */
struct kc_past_shape {
	enum kc_past_kin kin; /* NONE: nothing is known, and the rest is not set */
	const struct kc_work *work;
	const struct kc_lambda *lambda;          /* in units of work; count > 0 */
	const struct kc_engine_variant *variant; /* all that is known of it; SAME alone */
};

/* A launch shape, or with no grid a kernel and block shape. Where the arguments are not
 * known (yet), and the past has one set of them alone, it is taken to be that one. */
struct kc_past_query {
	struct kc_code_identity code;
	const char *uuid; /* of the device, hexadecimal */
	const struct kc_device *device;
	const struct kc_shape *dims;
	const char *arguments;
};

/* 0; -ENODATA: nothing is recorded of that program, or there is no database; or
 * another negative errno. Waits for nobody. */
int kc_past_load(const char *path, const struct kc_past_options *options, struct kc_past **past);
void kc_past_free(struct kc_past *past);

/* What it was learned from, in that order; place is their number, from 0. 0: there is no such part. */
int kc_past_part(const struct kc_past *past, uint32_t place, struct kc_past_entry *part);

/* past may be NULL. What was learned, NULL: nothing was. */
const struct kc_engine_device *kc_past_device(const struct kc_past *past, const char *uuid);
const struct kc_engine_kernel *kc_past_kernel(const struct kc_past *past, const struct kc_code_identity *code,
					      const char *uuid);
/* How many launches of this launch shape were measured, whatever their arguments. */
uint32_t kc_past_measured(const struct kc_past *past, const struct kc_code_identity *code, const char *uuid,
			  const struct kc_shape *dims);
void kc_past_shape(const struct kc_past *past, const struct kc_past_query *query, struct kc_past_shape *out);

/* past_recall.c: what a process begins with, taken over by each entry as it is made; the engine's lock is held where
 * it guards the entry. The device also brings the cells of contexts. past may be NULL. */
void kc_past_recall_device(const struct kc_past *past, const char *uuid, struct kc_engine *engine,
			   struct kc_engine_device *device);
void kc_past_recall_kernel(const struct kc_past *past, const struct kc_code_identity *code, const char *uuid,
			   struct kc_engine_kernel *kernel);
void kc_past_recall_key(const struct kc_past *past, const struct kc_past_query *query, struct kc_engine_key *key);
void kc_past_recall_shape(const struct kc_past *past, const struct kc_past_query *query, struct kc_engine_shape *shape);
void kc_past_recall_variant(const struct kc_past *past, const struct kc_past_query *query,
			    struct kc_engine_variant *variant);

#endif
