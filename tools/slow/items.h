/* The measured launches among which peers are looked for (peers.h), each with the numbers of what it has in common with
 * others. */
#ifndef KC_SLOW_ITEMS_H
#define KC_SLOW_ITEMS_H

#include "peers.h"

enum kc__slow_flag {
	KC__QUIET = 1,   /* ran alone, not the first of its kernel */
	KC__EARLIER = 2, /* in an earlier run */
	KC__KNOWN = 4,   /* of a known size */
	KC__LATER = 8,   /* not the first of its kernel in its process */
};

struct kc__slow_item {
	double log; /* less process_log, once that is known */
	double process_log;
	uint32_t shape, arguments, place;
	uint32_t before[2]; /* shapes of the latest and the second latest launch, plus 1; 0: there was none */
	uint32_t process;   /* within all runs, from 1 */
	uint32_t part;      /* of a process, on one of its GPUs: likewise */
	uint32_t run;       /* its place: earlier ones, then this one */
	uint32_t size;      /* number of shape and arguments, from 1 */
	uint32_t alike;     /* number of shape with its model of GPU, and arguments */
	uint32_t history;   /* of its kernel in its process: number of the two */
	uint32_t others;    /* kc_slow_excess, as is whole */
	uint8_t flags, company, first, whole, late;
};

struct kc__slow_items {
	struct kc__list list;      /* struct kc__slow_item: earlier runs, then this one */
	size_t this_first;         /* of the list */
	uint32_t sizes, histories; /* the largest size and history of an item */
};

/* *out, of zeros, is to be freed either way. 0 or -ENOMEM. */
int kc__slow_items(const struct kc_slow_runs *runs, struct kc__slow_items *out);

#endif
