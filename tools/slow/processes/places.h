/* What the launches of each process of a run, on each of its GPUs, took and lost. */
#ifndef KC_SLOW_PLACES_H
#define KC_SLOW_PLACES_H

#include "stragglers.h"

#include "store/common/ids/intern.h"
#include "store/query/measured.h"
#include "store/query/rows.h"
#include "tools/slow/cause.h"

#include <stddef.h>
#include <stdint.h>

struct kc_slow_place {
	uint32_t process; /* row of the table process */
	uint32_t device;  /* kc_measured_moment */
	int64_t launch;   /* kc_measured_moment.id of one of its launches */
	struct kc_slow_sum measured, judged, lost;
	double causes_ns[KC_SLOW_CAUSES];      /* of lost */
	struct kc_slow_straggler_names *names; /* NULL: kc_slow_place_names() was not asked for them */
};

/* Starts as zeros. */
struct kc_slow_places {
	struct kc__list list; /* struct kc_slow_place */
	struct kc_intern ids;
	size_t latest; /* place of the launch before, as most are of the same */
};

/* The place of a launch, until the next is asked for. NULL: out of memory. */
struct kc_slow_place *kc_slow_place_of(struct kc_slow_places *places, const struct kc_measured_moment *moment);
/* What it is called, looked up once. s: has the run. NULL: out of memory. */
const struct kc_slow_straggler_names *kc_slow_place_names(struct kc_store *s, int64_t run, struct kc_slow_place *place);
void kc_slow_places_free(struct kc_slow_places *places);

#endif
