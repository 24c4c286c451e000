/*
 * What a launch was made in: the ranges (record_function) and operators that were
 * open on its thread, each in those that held it.
 *
 *   kc_scopes   names, each as a range or as an operator; and scopes: a name in
 *               another scope, or in none
 *
 * Memory is bounded: of names, scopes and scopes within each other so many are kept.
 * What was opened in a scope that is not kept counts as the scope around it.
 */
#ifndef KC_SCOPES_H
#define KC_SCOPES_H

#include "store/journal/entry.h"

#include <stdint.h>

#define KC_SCOPE_NAMES_MOST (1u << 16) /* all others are called KC_SCOPE_OTHERS */
#define KC_SCOPE_NAME_BYTES 256u       /* longer ones are cut */
#define KC_SCOPES_MOST (1u << 16)
#define KC_SCOPE_DEPTH_MOST 64u
#define KC_SCOPE_OTHERS "(others)"

struct kc_scopes;

struct kc_scope {
	uint32_t parent; /* 0: it is in none */
	enum kc_scope_kind kind;
	const char *name;
};

/* NULL: no memory. */
struct kc_scopes *kc_scopes_new(void);
void kc_scopes_free(struct kc_scopes *scopes);

/* The number of a name, from 1; 0: no memory. */
uint32_t kc_scopes_name(struct kc_scopes *scopes, enum kc_scope_kind kind, const char *name);
/* The scope of a name in another one (0: in none), from 1; that other one where no more are kept. 0 or -ENOMEM. */
int kc_scopes_enter(struct kc_scopes *scopes, uint32_t parent, uint32_t name, uint32_t *scope);
struct kc_scope kc_scopes_at(const struct kc_scopes *scopes, uint32_t scope);

#endif
