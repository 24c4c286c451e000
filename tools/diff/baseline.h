/*
 * A baseline: what a run took, in a text file of a few KiB that can be committed
 * in place of a database.
 *
 * It is a JSON document, kerncast.baseline/1: "source", "devices", "simulated", "kernels" by
 * the time they took, most first, and "others". A kernel has an "id" (a hash of its
 * mangled name), a "name" to be read, and "shapes"; these have a "shape" (grid,
 * block, dynamic shared bytes) and "units". A unit is an array of numbers: company
 * (0: not known, 1: solo, 2: overlapped), position (kc_diff_position()), launches,
 * mean duration in ns, and then, of up to eight equal parts of the launches in
 * their order, how far the geometric mean lies above that mean, in ten-thousandths.
 * "others" has the ids of the kernels that no longer fit, so that they are not
 * called new, and what they took.
 */
#ifndef KC_DIFF_BASELINE_H
#define KC_DIFF_BASELINE_H

#include "units.h"

#include <stdio.h>

#define KC_BASELINE_BYTES 16384u /* of the text, without what it says of kernels that no longer fit */

struct kc_baseline {
	struct kc__list items;  /* struct kc_diff_item */
	uint32_t first_unknown; /* kernels from this number on are not in the run; their mangled names are not known */
	char *source, *devices; /* what it was made from; names of the devices, separated by commas */
	int simulated;
	uint64_t *others; /* hashes of the mangled names of kernels that did not fit, in order */
	size_t other_count;
	double other_ns; /* what they took */
};

/* Writes the run's baseline. source: in words. 0 or -ENOMEM; whether it could be written is known when `to` is closed.
 */
int kc_baseline_write(const struct kc_measured_names *names, const struct kc_measured_run *run, const char *source,
		      FILE *to);

/* Reads a baseline; names: of the run it is compared with, to which it adds its own kernels and shapes. 0; -EINVAL: the
 * file is no baseline, with the reason in why; -errno. *out is to be freed either way. */
int kc_baseline_read(const char *path, struct kc_measured_names *names, struct kc_baseline *out, char *why,
		     size_t why_size);
void kc_baseline_free(struct kc_baseline *baseline);

/* Leaves out what is of kernels that the choice does not ask for. 0 or -ENOMEM. */
int kc_baseline_choose(struct kc_baseline *baseline, const struct kc_measured_names *names,
		       const struct kc_filter_choice *choice);

/* Makes the launches of kernels that did not fit into the baseline unmeasured; they stay in the positions of others. 0
 * or -ENOMEM. */
int kc_baseline_leave_out(const struct kc_baseline *baseline, const struct kc_measured_names *names,
			  struct kc_measured_run *run);

#endif
