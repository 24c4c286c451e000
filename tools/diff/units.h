/*
 * Which launches of two sides are compared with one another. OLD and NEW are
 * runs, or a baseline stands for OLD.
 *
 *   kc_diff_item   a launch that was measured, or a part of a baseline that
 *                  stands for several
 *   kc_diff_unit   items of both sides of one launch shape, one company (solo or
 *                  overlapped), one position in what repeats
 *   kc_diff_cell   the items of a unit that come at the same part of their runs:
 *                  the first ones of OLD with the first ones of NEW, and so on
 *
 * A position is given by the launches before it on its stream, of those shapes
 * that both sides have: by two of them where both sides have launched at least
 * two after the same two, else by one, and where a shape has no such launches, by
 * none. Recorded arguments belong to it, unless that, too, leaves nothing but launches whose arguments are not known.
 * So a kernel that follows upon different
 * kernels is compared in each place with itself. A baseline knows a position as a hash of two launches of any shape.
 */
#ifndef KC_DIFF_UNITS_H
#define KC_DIFF_UNITS_H

#include "store/query/measured.h"

#include <stddef.h>
#include <stdint.h>

enum kc_diff_side { KC_OLD, KC_NEW, KC_SIDES };
enum kc_diff_company { KC_COMPANY_UNKNOWN, KC_COMPANY_NONE, KC_COMPANY_SOME, KC_COMPANIES };

#define KC_DIFF_NOWHERE UINT32_MAX

struct kc_diff_item {
	double ns;          /* duration; a baseline's: mean */
	double log;         /* its natural logarithm, clipped to the scatter of its kernel */
	float at;           /* place in its run, 0 to 1 */
	uint32_t count;     /* launches that it stands for */
	uint32_t unit;      /* KC_DIFF_NOWHERE: in none, so it is not compared */
	uint32_t shape;     /* of the names */
	uint32_t arguments; /* number of their text; 0: not known, or beside a baseline */
	uint32_t before[2]; /* shapes of the latest and the second latest launch, plus 1; 0: there was none. Beside a
			     * baseline: kc_diff_position() and 0 */
	uint16_t run;       /* of its side, from 0 */
	uint8_t company;    /* enum kc_diff_company */
};

/* Either runs or a baseline's items. */
struct kc_diff_input {
	const struct kc_measured_run *runs;
	size_t count;
	const struct kc__list *baseline; /* struct kc_diff_item, all but run and unit set */
	double steps;                    /* of these runs, if what is compared is per step; 0: it is per run */
};

struct kc_diff_cell {
	double launches[KC_SIDES];
	double log[KC_SIDES]; /* means */
	double
	    ns[KC_SIDES]; /* means of exp(log of the items); beside a baseline, of which no more is known, geometric */
	double at;        /* mean place in the runs */
	uint32_t unit;
};

struct kc_diff_unit {
	uint32_t kernel, shape;
	uint32_t first[KC_SIDES], count[KC_SIDES]; /* of order */
	uint32_t first_cell, cells;
};

struct kc_diff_units {
	struct kc__list items[KC_SIDES]; /* struct kc_diff_item, run by run */
	uint8_t *sides_of;               /* by shape: bits KC_OLD and KC_NEW: it was launched there, measured or not */
	uint32_t *order[KC_SIDES];       /* items by unit, each unit's as they came */
	uint32_t *cell_of[KC_SIDES];     /* as order */
	struct kc_diff_unit *at;         /* by kernel and shape */
	struct kc_diff_cell *cells;      /* by unit */
	size_t count, cell_count;
};

/* A launch shape as a baseline knows it. */
uint64_t kc_diff_shape_hash(const struct kc_measured_names *names, uint32_t shape);
/* A position as a baseline knows it: 1 to 65,535. The hashes of the two launches before; 0: there was none. */
uint32_t kc_diff_position(uint64_t latest, uint64_t second);

enum kc_diff_company kc_diff_company_of(uint8_t overlap); /* enum kc_overlap */

/* Sorts values, and tells between which limits nothing lies far outside of their scatter: the tenth of them at each end
 * is not part of it, and as far again as it is wide is not far. n > 0. */
void kc_diff_scatter(double *values, size_t n, double *low, double *high);

/* names: of all shapes of both sides. 0 or -ENOMEM. *out is to be freed either way. */
int kc_diff_units_make(const struct kc_measured_names *names, const struct kc_diff_input inputs[KC_SIDES],
		       struct kc_diff_units *out);
/* Of its launches, all the same. */
enum kc_diff_company kc_diff_unit_company(const struct kc_diff_units *units, const struct kc_diff_unit *unit);
void kc_diff_units_free(struct kc_diff_units *units);

#endif
