/* What a formula leaves unknown, why, and what is assumed of it: in words, for a story (cost.h). */
#ifndef KC_UNSURE_H
#define KC_UNSURE_H

#include "predictor/code/cost.h"
#include "predictor/code/formula/formula.h"

#include <stdint.h>

struct kc_unsure {
	const struct kc_formula *f;
	struct kc_cost_story *story;
	uint8_t *values; /* by value: 1: on some path it depends on memory contents or the like */
	uint32_t unknown_capacity;
};

/* Fills in the values, in memory of `arena`. 0 or -ENOMEM. */
int kc__unsure_find(struct kc_unsure *u, struct kc_arena *arena);
/* Adds what is unknown in a block to the story. 0 or -ENOMEM. */
int kc__unsure_tell(struct kc_unsure *u, uint32_t block);

#endif
