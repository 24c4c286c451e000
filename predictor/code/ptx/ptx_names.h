/*
 * What PTX names stand for. Names of an inner scope hide those of outer ones until
 * the scope ends. A declaration such as %r<30> is one entry.
 */
#ifndef KC_PTX_NAMES_H
#define KC_PTX_NAMES_H

#include "predictor/code/container/arena.h"

#include <stdint.h>

enum kc__name_kind {
	KC__NAME_REGISTER,
	KC__NAME_REGISTERS, /* `count` registers with this prefix, numbered from `number` on */
	KC__NAME_SYMBOL,
	KC__NAME_PARAM,
	KC__NAME_LABEL,   /* number: instruction */
	KC__NAME_TARGETS, /* of a brx.idx: number in the function's lists */
};

struct kc__name {
	struct kc__name *in_bucket, *in_scope;
	const char *text;
	size_t length;
	uint32_t kind, number, count, hash;
	uint32_t depth; /* of its scope */
};

#define KC__SCOPES_MAX 64u /* nested */

struct kc__names {
	struct kc_arena arena;
	struct kc__name **buckets;
	uint32_t mask, count;
	struct kc__name **scopes;
	uint32_t depth, depth_max;
};

int kc__names_init(struct kc__names *names, size_t limit_bytes);
void kc__names_free(struct kc__names *names);

/* -ENOMEM; -E2BIG: nested too deeply. */
int kc__names_enter(struct kc__names *names);
void kc__names_leave(struct kc__names *names);

/* Adds a name to the innermost scope. text is not copied and must outlive the scope. 0, -ENOMEM. */
int kc__names_add(struct kc__names *names, const char *text, size_t length, uint32_t kind, uint32_t number,
		  uint32_t count);
/* The innermost declaration of the name; NULL: there is none. */
const struct kc__name *kc__names_find(const struct kc__names *names, const char *text, size_t length);
/* Number of a register, declared by itself or in a range. 0, -ENOENT. */
int kc__names_register(const struct kc__names *names, const char *text, size_t length, uint32_t *number);

#endif
