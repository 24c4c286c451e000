/*
 * `kerncast-lab basis space`, and `kerncast tune` of a space without code: configurations of a tunable kernel, from CSV
 * files whose columns before time_ms are parameters. Where time_ms is empty a configuration was not timed.
 */
#ifndef KC_TOOLS_BASIS_SPACE_H
#define KC_TOOLS_BASIS_SPACE_H

#include "tuning.h"

struct kc_basis_space_question {
	const char *path;
	const char *device;              /* a built-in one, or a file; may be NULL */
	const char *axes[KC_SPACE_AXES]; /* "BX:BX*TILE" or "BX:BX*TILE:4096": threads, what they cover, of how much */
	uint32_t axis_count;
	const char *known[KC_TUNING_DONORS]; /* the same kernel elsewhere */
	uint32_t known_count;
};

/* Prints. An exit status. */
int kc_basis_space(const struct kc_basis_space_question *question, int json);

#endif
