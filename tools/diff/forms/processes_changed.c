#include "processes_changed.h"

#include "tools/diff/whole_process.h"

#include <math.h>
#include <stdlib.h>

static size_t list_parts(const struct kc_diff *diff, struct kc_whole_part *parts)
{
	size_t n = 0;

	for (size_t i = 0; i < diff->part_count; i++) {
		const struct kc_diff_estimate *estimate = &diff->parts[i].estimate;

		if (estimate->enough)
			parts[n++] =
			    (struct kc_whole_part){diff->parts[i].process, estimate->log_change, estimate->error,
						   estimate->ns[KC_NEW] * estimate->launches[KC_NEW]};
	}
	return n;
}

struct kc_diff_process *kc_diff_processes(const struct kc_measured_names *names, const struct kc_diff *diff,
					  const struct kc_diff_limits *limits)
{
	size_t count = names->processes.count + 1;
	struct kc_diff_process *out = calloc(count, sizeof(*out));
	struct kc_whole_part *parts = calloc(diff->part_count + 1, sizeof(*parts));
	struct kc_whole_process *wholes = calloc(count, sizeof(*wholes));
	/* Those without a name of their own, 0, are no process. */
	int is_known = out && parts && wholes &&
		       kc_whole_processes(parts, list_parts(diff, parts), log1p(limits->over) / 2, wholes, count) == 0;

	for (size_t p = 0; is_known && p < count; p++)
		out[p] = (struct kc_diff_process){.log_change = wholes[p].log, .is_changed = p && wholes[p].differs};
	for (size_t i = 0; is_known && i < diff->part_count; i++)
		if (!diff->parts[i].is_collective)
			out[diff->parts[i].process].ns +=
			    diff->parts[i].total_ns[KC_NEW] - diff->parts[i].total_ns[KC_OLD];
	free(parts);
	free(wholes);
	if (is_known)
		return out;
	free(out);
	return NULL;
}
