/* Which launches were made in ranges whose names match a regular expression (tables `scope` and `launched_in`): in one
 * of them, at any depth, whatever ranges and operators are in between. */
#ifndef KC_RANGE_MATCH_H
#define KC_RANGE_MATCH_H

#include "store/database/store.h"

#include <regex.h>
#include <stdint.h>

struct kc_range_match;

/* Reads all scopes of the database. 0 or -errno. Free it with kc_range_match_free(). */
int kc_range_match_new(struct kc_store *s, const regex_t *name, struct kc_range_match **out);
void kc_range_match_free(struct kc_range_match *match);

/* id: launch_row.id; 0: of no launch. 1: it was made in one that matches; 0; -errno. */
int kc_range_match(struct kc_range_match *match, int64_t id);

#endif
