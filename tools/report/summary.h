/* What `kerncast run` prints when the program has ended. */
#ifndef KC_SUMMARY_H
#define KC_SUMMARY_H

#include "tools/system/child.h"

struct kc_summary {
	const char *database; /* absolute */
	int database_given;   /* by an option, so the hint at `kerncast report` must name it */
	const char *token;    /* of the run */
	int quiet;
	int is_brief; /* others of its run are at work, and the last of them will print */
};

/* Imports what the run left in journals; then, unless quiet, at most ten
 * lines on stderr. Where the run used no CUDA, one line, and that on a terminal only. */
void kc_summary_print(const struct kc_summary *about, const struct kc_child_end *end);

#endif
