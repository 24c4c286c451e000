#include "express.h"
#include "predictor/code/evaluate/memory.h"

#include <math.h>

static const struct kc_sum *moved_by_one(struct kc_express *x, const struct kc_sum *a, uint8_t kind, int64_t number)
{
	const struct kc_sum *here = kc__atom(&x->g, (struct kc_atom){.kind = kind, .number = number});

	return kc__replace(&x->g, a, kind, number, kc__plus(&x->g, here, kc__number(&x->g, 1), 1));
}

/* *step: bytes from a thread's address to that of the next thread in x. 0: it is not the same for all threads. */
static int neighbour_step(struct kc_express *x, const struct kc_sum *address, double *step)
{
	const struct kc_sum *next = moved_by_one(x, address, KC_ATOM_SPECIAL, KC_PTX_TID_X);

	next = moved_by_one(x, next, KC_ATOM_GLOBAL_INDEX, 0);
	next = kc__plus(&x->g, next, address, -1);
	if (!next->count) {
		*step = 0;
		return 1;
	}
	return kc__is_number(next, step);
}

static int is_index_in_x(const struct kc_atom *atom)
{
	return (atom->kind == KC_ATOM_SPECIAL && atom->number == KC_PTX_TID_X) ||
	       (atom->kind == KC_ATOM_GLOBAL_INDEX && atom->number == 0);
}

/* A divisor of the term, in bytes. Blocks are assumed to be a multiple of 32 threads wide. */
static double divisor_of(const struct kc_express *x, const struct kc_term *term)
{
	double divisor = term->by;

	for (uint32_t n = 0; n < term->count; n++) {
		const struct kc_atom *atom = &x->g.atoms[term->atoms[n]];

		if (atom->kind == KC_ATOM_SPECIAL && atom->number == KC_PTX_NTID_X)
			divisor *= KC_WARP_LANES;
	}
	return divisor;
}

/* 1: apart from the position of the thread in x, the address is whole sectors from a pointer. */
static int starts_a_sector(const struct kc_express *x, const struct kc_sum *address)
{
	for (uint32_t i = 0; i < address->count; i++) {
		const struct kc_term *term = &address->terms[i];
		const struct kc_atom *only = term->count == 1 ? &x->g.atoms[term->atoms[0]] : NULL;

		if (only && (is_index_in_x(only) || (only->kind == KC_ATOM_PARAM && term->by == 1)))
			continue;
		if (fmod(divisor_of(x, term), KC_SECTOR_BYTES) != 0)
			return 0;
	}
	return 1;
}

double kc__whole_warp(struct kc_express *x, const struct kc_event *event)
{
	const struct kc_sum *address;
	struct kc_lanes lanes;
	double step;

	kc__set_uniform(&lanes, 0, 0);
	if (!x->f->values[event->address].memory) {
		address = kc__express(x, event->address, KC_EXPRESS_DEPTH);
		if (!neighbour_step(x, address, &step) || fabs(step) > INT32_MAX ||
		    (event->kind == KC_EVENT_GLOBAL && !starts_a_sector(x, address)))
			return 0;
		lanes.known = KC_ALL_LANES;
		lanes.uniform = 0;
		for (uint32_t i = 0; i < KC_WARP_LANES; i++)
			lanes.v[i] = (int64_t)step * i;
	}
	return event->kind == KC_EVENT_GLOBAL
		   ? kc__sectors(&lanes, KC_ALL_LANES, event->bytes)
		   : kc__passes(&lanes, KC_ALL_LANES, event->bytes, event->counter == KC_COUNT_OF_LD_SHARED);
}
