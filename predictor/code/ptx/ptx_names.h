/*
 * What a PTX name stands for, scope by scope: an inner scope's name hides an
 * outer one's until it ends. A declaration like %r<30> is one entry.
 */
#ifndef KC_PTX_NAMES_H
#define KC_PTX_NAMES_H

#include "predictor/code/container/arena.h"

#include <stdint.h>

enum kc__name_kind {
	KC__NAME_REGISTER,
	KC__NAME_REGISTERS, /* prefix of `count`, the first is `number` */
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
};

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

/* text stays the caller's and must outlive the scope. -ENOMEM. */
int kc__names_add(struct kc__names *names, const char *text, size_t length, uint32_t kind, uint32_t number,
		  uint32_t count);
/* The innermost; NULL: there is none. */
const struct kc__name *kc__names_find(const struct kc__names *names, const char *text, size_t length);
/* Of a register: its number, from a name of its own or of a range. -ENOENT. */
int kc__names_register(const struct kc__names *names, const char *text, size_t length, uint32_t *number);

#endif
