#include "whatif_search.h"

#include "predictor/math/median.h"
#include "predictor/math/order.h"
#include "predictor/prior/kernel_name.h"
#include "store/database/schema.h"
#include "store/query/report/launch_demand.h"
#include "tools/command.h"
#include "tools/system/database.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- parts */

/* Of one GPU, whatever it is called. */
static int is_same_gpu(const struct kc_device *a, const struct kc_device *b)
{
	double bandwidth = (double)a->memory_bytes_per_s / (double)b->memory_bytes_per_s;

	return a->cc_major == b->cc_major && a->cc_minor == b->cc_minor && a->sm_count == b->sm_count &&
	       fabs(bandwidth - 1) < 0.1;
}

static void place(struct kc_whatif_part *part, const struct kc_launch_demand *demand, const struct kc_device *there)
{
	const struct kc_work *work = &demand->work;
	const struct kc_resources resources = {.registers = work->registers, .static_shared_bytes = work->shared_bytes};
	const struct kc_shape shape = {.grid = {(uint32_t)work->blocks, 1, 1},
				       .block = {work->threads_per_block, 1, 1}};
	struct kc_work elsewhere;

	if (work->blocks > UINT32_MAX || kc_work_init(&elsewhere, there, &resources, &shape, 0)) {
		part->why = "its blocks are too large for it";
		return;
	}
	part->launch.threads = (double)work->blocks * work->threads_per_block;
	part->launch.waves_here = work->waves;
	part->launch.waves_there = elsewhere.waves;
	part->is_filling = elsewhere.waves >= 1;
}

static void read_name(const struct kc_whatif *w, struct kc_whatif_part *part)
{
	struct kc_name_traits traits;

	kc_name_read(&traits, kc_measured_kernel(&w->names, part->kernel)->name);
	part->is_library = traits.family == KC_FAMILY_PRODUCT;
	if (traits.family == KC_FAMILY_WAITING)
		part->why = "it waits for other GPUs";
}

/* 0 or -errno. */
static int read_part(const struct kc_whatif *w, const struct kc_side *side, const struct kc_device *otherwise,
		     const struct kc_launch_groups *g, const struct kc_launch_group *group, struct kc_whatif_part *part)
{
	const struct kc_measured_moment *moments = side->runs[0].moments.at;
	const struct kc_timed *middle = kc_launch_group_middle(g, group);
	struct kc_launch_demand demand;
	int rc = kc_launch_demand(side->store, moments[middle->place].id, otherwise, &demand);

	*part = (struct kc_whatif_part){
	    .kernel = group->kernel,
	    .launches = group->count,
	    .time_ns = group->time_ns,
	    .measured_ns = NAN,
	    .beyond = NAN,
	    .launch = {.ns = (double)middle->ns},
	    .expected_ns = NAN,
	};
	if (rc < 0) {
		part->why = "the GPU that it ran on is not known";
		return rc == -ENODATA ? 0 : rc;
	}
	part->device = demand.device;
	part->is_there = is_same_gpu(&part->device, &w->there);
	place(part, &demand, &w->there);
	read_name(w, part);
	return 0;
}

/* --- what was timed there */

/* A launch shape with its arguments, on whatever GPU. */
struct like {
	struct kc_measured_shape shape; /* model 0 */
	uint32_t arguments;
};

static struct like like_of(const struct kc_whatif *w, const struct kc_timed *timed)
{
	struct like like = {*kc_measured_shape(&w->names, timed->shape), timed->arguments};

	like.shape.model = 0;
	return like;
}

struct timed_there {
	struct like like;
	double ns;
};

static int by_like(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct like));
}

/* Launches of a side that ran on the other GPU, or, where `any`, on one that is not known. 0 or -errno. */
static int list_there(const struct kc_whatif *w, const struct kc_side *side, const struct kc_launch_groups *g, int any,
		      struct timed_there *out, size_t *count)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct kc_timed *middle = kc_launch_group_middle(g, &g->at[i]);
		struct kc_whatif_part part;
		int rc = read_part(w, side, any ? &w->there : NULL, g, &g->at[i], &part);

		if (rc < 0)
			return rc;
		if (part.is_there)
			out[(*count)++] = (struct timed_there){like_of(w, middle), (double)middle->ns};
	}
	return 0;
}

static double beyond_of(const struct kc_whatif *w, const struct kc_whatif_part *part, double measured_ns)
{
	return log(measured_ns / part->launch.ns) - kc_elsewhere_log_ratio(kc_elsewhere_law(&part->device, &w->there),
									   &part->device, &w->there, &part->launch);
}

/* parts: in the order of the groups. */
static void find_there(struct kc_whatif *w, const struct kc_launch_groups *g, const struct timed_there *there,
		       size_t count)
{
	for (size_t i = 0; i < w->part_count; i++) {
		struct timed_there wanted = {.like = like_of(w, kc_launch_group_middle(g, &g->at[i]))};
		const struct timed_there *found = bsearch(&wanted, there, count, sizeof(*there), by_like);

		if (!found)
			continue;
		w->parts[i].measured_ns = found->ns;
		if (!w->parts[i].why)
			w->parts[i].beyond = beyond_of(w, &w->parts[i], found->ns);
	}
}

/* --- each part there */

/* By part, of the parts of its kernel that were timed there, that which is nearest in time and not itself. */
static double nearest_of_kernel(const struct kc_whatif *w, size_t first, size_t end, size_t one)
{
	double beyond = NAN, least = INFINITY;

	for (size_t i = first; i < end; i++) {
		double distance = fabs(log(w->parts[i].launch.ns / w->parts[one].launch.ns));

		if (i != one && !isnan(w->parts[i].beyond) && distance < least) {
			least = distance;
			beyond = w->parts[i].beyond;
		}
	}
	return beyond;
}

static size_t end_of_kernel(const struct kc_whatif *w, size_t first)
{
	size_t end = first;

	while (end < w->part_count && w->parts[end].kernel == w->parts[first].kernel)
		end++;
	return end;
}

struct of_kernel {
	uint32_t kernel;
	double beyond; /* the median of its parts */
};

/* Kernels of which something was timed there. Returns how many. values: room for all parts. */
static size_t list_kernels(const struct kc_whatif *w, struct of_kernel *out, double *values)
{
	size_t count = 0;

	for (size_t first = 0, end; first < w->part_count; first = end) {
		size_t n = 0;

		end = end_of_kernel(w, first);
		for (size_t i = first; i < end; i++)
			if (!isnan(w->parts[i].beyond))
				values[n++] = w->parts[i].beyond;
		if (n)
			out[count++] = (struct of_kernel){w->parts[first].kernel, kc_median(values, n)};
	}
	return count;
}

static double median_of_others(const struct of_kernel *all, size_t count, uint32_t kernel, double *values,
			       size_t *others)
{
	*others = 0;
	for (size_t i = 0; i < count; i++)
		if (all[i].kernel != kernel)
			values[(*others)++] = all[i].beyond;
	return kc_median(values, *others);
}

static void tell_part(const struct kc_whatif *w, struct kc_whatif_part *part,
		      const struct kc_elsewhere_anchors *anchors)
{
	part->there = (struct kc_elsewhere){NAN, NAN, NAN, KC_ELSEWHERE_UNKNOWN};
	if (!part->why) {
		kc_elsewhere(&part->device, &w->there, &part->launch, anchors, &part->there);
		part->expected_ns = part->there.ns;
	}
	if (!isnan(part->measured_ns)) {
		part->there =
		    (struct kc_elsewhere){part->measured_ns, part->measured_ns, part->measured_ns, KC_ELSEWHERE_KNOWN};
		part->why = NULL;
	}
}

static int tell_parts(struct kc_whatif *w)
{
	struct of_kernel *kernels = calloc(w->part_count + 1, sizeof(*kernels));
	double *values = calloc(w->part_count + 1, sizeof(*values));
	size_t count = kernels && values ? list_kernels(w, kernels, values) : 0, others;

	for (size_t first = 0, end; kernels && values && first < w->part_count; first = end) {
		struct kc_elsewhere_anchors anchors = {0};

		end = end_of_kernel(w, first);
		anchors.others = median_of_others(kernels, count, w->parts[first].kernel, values, &others);
		anchors.count = (uint32_t)others;
		for (size_t i = first; i < end; i++) {
			anchors.size = nearest_of_kernel(w, first, end, i);
			tell_part(w, &w->parts[i], &anchors);
		}
	}
	free(kernels);
	free(values);
	return kernels && values ? 0 : -ENOMEM;
}

/* --- sums */

/* Nothing is told by itself. */
static int is_timed_too(const struct kc_whatif_part *part)
{
	return !part->is_there && !isnan(part->measured_ns) && !isnan(part->expected_ns);
}

static void add_part(struct kc_whatif_sum *sum, const struct kc_whatif_part *part)
{
	double per_ns = part->time_ns / part->launch.ns; /* launches, were all as long as this one */

	sum->by[part->there.evidence] += part->time_ns;
	if (part->there.evidence == KC_ELSEWHERE_UNKNOWN) {
		sum->unknown_ns += part->time_ns;
		return;
	}
	sum->here_ns += part->time_ns;
	sum->there_ns += per_ns * part->there.ns;
	sum->low_ns += per_ns * part->there.low_ns;
	sum->high_ns += per_ns * part->there.high_ns;
	sum->own_ns += part->is_there ? part->time_ns : 0;
	if (is_timed_too(part)) {
		sum->measured_ns += per_ns * part->measured_ns;
		sum->expected_ns += per_ns * part->expected_ns;
		sum->timed++;
	}
}

static int find_errors(const struct kc_whatif *w, struct kc_whatif_sum *sum)
{
	double *values = calloc(w->part_count + 1, sizeof(*values));
	size_t n = 0;

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < w->part_count; i++)
		if (is_timed_too(w->parts + i))
			values[n++] = fabs(w->parts[i].expected_ns / w->parts[i].measured_ns - 1);
	sum->median_error = kc_median(values, n);
	free(values);
	return 0;
}

KC_ORDER(by_time, struct kc_whatif_kernel, KC_DOWN(time_ns) ?: KC_UP(kernel))

static void add_to_kernel(struct kc_whatif_kernel *kernel, const struct kc_whatif_part *part)
{
	kernel->launches += part->launches;
	kernel->time_ns += part->time_ns;
	kernel->filling_ns += part->is_filling ? part->time_ns : 0;
	kernel->library_ns += part->is_library ? part->time_ns : 0;
	if (part->why)
		kernel->why = part->why;
	add_part(&kernel->sum, part);
}

static int sum_up(struct kc_whatif *w)
{
	w->kernels = calloc(w->part_count + 1, sizeof(*w->kernels));
	if (!w->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < w->part_count; i++) {
		if (!i || w->parts[i].kernel != w->parts[i - 1].kernel)
			w->kernels[w->kernel_count++].kernel = w->parts[i].kernel;
		add_to_kernel(&w->kernels[w->kernel_count - 1], &w->parts[i]);
		add_part(&w->sum, &w->parts[i]);
	}
	qsort(w->kernels, w->kernel_count, sizeof(*w->kernels), by_time);
	return find_errors(w, &w->sum);
}

/* --- the time without kernels */

struct interval {
	uint32_t device;
	int64_t start_ns, end_ns;
};

KC_ORDER(by_start, struct interval, KC_UP(device) ?: KC_UP(start_ns))

static size_t list_intervals(const struct kc_measured_run *run, struct interval *out)
{
	const struct kc_measured_launch *launches = run->launches.at;
	const struct kc_measured_moment *moments = run->moments.at;
	size_t n = 0;

	for (size_t i = 0; i < run->launches.count; i++)
		if (launches[i].ns > 0 && moments[i].matches)
			out[n++] = (struct interval){moments[i].device, moments[i].start_ns,
						     kc_plus_ns(moments[i].start_ns, launches[i].ns)};
	qsort(out, n, sizeof(*out), by_start);
	return n;
}

static int find_rest(struct kc_whatif *w)
{
	struct interval *at = calloc(w->side.runs[0].launches.count + 1, sizeof(*at));
	size_t n = at ? list_intervals(&w->side.runs[0], at) : 0;
	int64_t end_ns = 0;

	for (size_t i = 0; i < n; i++) {
		int is_first = !i || at[i].device != at[i - 1].device;

		if (!is_first && at[i].start_ns > end_ns)
			w->rest_ns += (double)kc_minus_ns(at[i].start_ns, end_ns);
		if (is_first || at[i].start_ns > end_ns)
			end_ns = at[i].start_ns;
		if (at[i].end_ns > end_ns) {
			w->busy_ns += (double)kc_minus_ns(at[i].end_ns, end_ns);
			end_ns = at[i].end_ns;
		}
	}
	free(at);
	return at ? 0 : -ENOMEM;
}

/* --- all of it */

static int read_parts(struct kc_whatif *w, const struct kc_device *from, const struct kc_launch_groups *g)
{
	int rc = 0;

	w->parts = calloc(g->count + 1, sizeof(*w->parts));
	if (!w->parts)
		return -ENOMEM;
	for (; rc == 0 && w->part_count < g->count; w->part_count += rc == 0)
		rc = read_part(w, &w->side, from, g, &g->at[w->part_count], &w->parts[w->part_count]);
	return rc;
}

static int find_anchors(struct kc_whatif *w, const struct kc_launch_groups *here, const struct kc_launch_groups *anchor)
{
	struct timed_there *there = calloc(here->count + anchor->count + 1, sizeof(*there));
	size_t count = 0;
	int rc = there ? list_there(w, &w->side, here, 0, there, &count) : -ENOMEM;

	if (rc == 0 && w->has_anchor)
		rc = list_there(w, &w->anchor, anchor, 1, there, &count);
	if (rc == 0) {
		qsort(there, count, sizeof(*there), by_like);
		find_there(w, here, there, count);
	}
	free(there);
	return rc;
}

static int find(struct kc_whatif *w, const struct kc_whatif_asked *asked)
{
	struct kc_launch_groups here = {0}, anchor = {0};
	int rc = kc_measured_names_tell_apart(&w->names);

	if (rc == 0)
		rc = kc_launch_groups_of(&w->side, &w->names, &here);
	if (rc == 0 && w->has_anchor)
		rc = kc_launch_groups_of(&w->anchor, &w->names, &anchor);
	if (rc == 0)
		rc = read_parts(w, asked->from, &here);
	if (rc == 0)
		rc = find_anchors(w, &here, &anchor);
	if (rc == 0)
		rc = tell_parts(w);
	if (rc == 0)
		rc = sum_up(w);
	if (rc == 0)
		rc = find_rest(w);
	kc_launch_groups_free(&here);
	kc_launch_groups_free(&anchor);
	return rc;
}

static int read_anchor(struct kc_whatif *w, const char *anchor)
{
	int status = kc_side_open(&w->anchor, anchor);

	w->has_anchor = 1;
	if (status == KC_EXIT_OK)
		status = kc_side_select(&w->anchor, NULL);
	return status == KC_EXIT_OK ? kc_side_read(&w->anchor, NULL, 1, &w->names) : status;
}

int kc_whatif_search(struct kc_whatif *w, const struct kc_whatif_asked *asked)
{
	int status = kc_side_select(&w->side, asked->run), rc;

	if (status == KC_EXIT_OK)
		status = kc_side_read(&w->side, asked->filter, 1, &w->names);
	if (status == KC_EXIT_OK && asked->anchor)
		status = read_anchor(w, asked->anchor);
	if (status != KC_EXIT_OK)
		return status;
	rc = find(w, asked);
	if (rc == -ENOMEM)
		kc_error("%s", strerror(ENOMEM));
	else if (rc < 0)
		kc_database_unreadable(w->side.path, rc);
	return rc < 0 ? KC_EXIT_FAILED : KC_EXIT_OK;
}

enum kc_elsewhere_evidence kc_whatif_evidence(const struct kc_whatif_sum *sum)
{
	enum kc_elsewhere_evidence most = KC_ELSEWHERE_UNKNOWN;

	for (unsigned i = 0; i < KC_ELSEWHERE_COUNT; i++)
		if (sum->by[i] > sum->by[most])
			most = (enum kc_elsewhere_evidence)i;
	return most;
}

void kc_whatif_free(struct kc_whatif *w)
{
	kc_side_close(&w->side);
	kc_side_close(&w->anchor);
	kc_measured_names_free(&w->names);
	free(w->parts);
	free(w->kernels);
}
