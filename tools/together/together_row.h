/*
 * Two kernels on two streams as a row, and the one list of what is told of them: in text,
 * JSON and CSV. `kerncast slowdown` and `kerncast pairs` print it.
 */
#ifndef KC_TOGETHER_ROW_H
#define KC_TOGETHER_ROW_H

#include "predictor/concurrency/together.h"
#include "tools/output/fields.h"

#include <stdint.h>

struct kc_together_row {
	const char *label; /* "A + B" */
	const char *first, *second;
	double first_ns, second_ns, serial_ns, ns, low_ns, high_ns; /* NAN: not known */
	double gain, gain_low, gain_high;                           /* of serial_ns */
	const char *answer, *why, *note;
	/* Of why: the resource that each needs, and what it has in a cache; NULL and NAN where that is not why. */
	const char *first_resource, *second_resource;
	double first_share, second_share; /* of its time alone */
	double first_bytes, second_bytes, cache_bytes;
	/* With kc_together_measured_fields: */
	uint64_t measured;      /* how often they were measured to run at the same time */
	uint64_t by_themselves; /* of these, beside no others */
	double measured_gain;   /* median of these; NAN: not known */
	char label_text[16], note_text[256];
};

extern const struct kc_fields kc_together_fields, kc_together_measured_fields;

/* Less than this is not worth a second stream. */
#define KC_TOGETHER_LEAST_GAIN 0.03

/* names: of the two in sentences and in the label, such as "A"; row->first and second are the caller's. Fills in the
 * rest, which holds its own texts. first, second: as they were asked for. */
void kc_together_row(struct kc_together_row *row, const struct kc_together *t, const struct kc_neighbour *first,
		     const struct kc_neighbour *second, const char *const names[2]);

#endif
