#include "launch_groups.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

/* Those that ran alone first, the shortest of these first. */
KC_ORDER(by_group, struct kc_timed, KC_UP(kernel) ?: KC_UP(shape) ?: KC_UP(arguments) ?:
	 KC_DOWN(is_alone) ?: KC_UP(ns) ?: KC_UP(place))

static int is_alike(const struct kc_timed *a, const struct kc_timed *b)
{
	return a->kernel == b->kernel && a->shape == b->shape && a->arguments == b->arguments;
}

static void list_timed(const struct kc_side *side, const struct kc_measured_names *names, struct kc_launch_groups *g)
{
	const struct kc_measured_run *run = &side->runs[0];

	for (size_t i = 0; i < run->launches.count; i++) {
		const struct kc_measured_launch *launch = (const struct kc_measured_launch *)run->launches.at + i;

		if (launch->ns <= 0 || !((const struct kc_measured_moment *)run->moments.at)[i].matches)
			continue;
		g->timed[g->timed_count++] = (struct kc_timed){
		    .kernel = kc_measured_shape(names, launch->shape)->kernel,
		    .shape = launch->shape,
		    .arguments = launch->arguments,
		    .place = (uint32_t)i,
		    .ns = launch->ns,
		    .is_alone = launch->overlap == KC_OVERLAP_NONE,
		};
	}
	qsort(g->timed, g->timed_count, sizeof(*g->timed), by_group);
}

static void close_group(struct kc_launch_groups *g, struct kc_launch_group *group)
{
	double solo_ns = group->alone ? (double)g->timed[group->first + group->alone / 2].ns : 0;

	for (size_t i = 0; i < group->count; i++) {
		group->time_ns += (double)g->timed[group->first + i].ns;
		g->solo_ns[g->timed[group->first + i].place] = solo_ns;
	}
}

static void list_groups(struct kc_launch_groups *g)
{
	for (size_t i = 0; i < g->timed_count; i++) {
		if (!i || !is_alike(&g->timed[i - 1], &g->timed[i]))
			g->at[g->count++] = (struct kc_launch_group){.kernel = g->timed[i].kernel, .first = i};
		g->at[g->count - 1].count++;
		g->at[g->count - 1].alone += g->timed[i].is_alone != 0;
	}
	for (size_t i = 0; i < g->count; i++)
		close_group(g, &g->at[i]);
}

void kc_launch_groups_free(struct kc_launch_groups *g)
{
	free(g->timed);
	free(g->at);
	free(g->solo_ns);
}

int kc_launch_groups_of(const struct kc_side *side, const struct kc_measured_names *names, struct kc_launch_groups *g)
{
	size_t most = side->runs[0].launches.count + 1;

	*g = (struct kc_launch_groups){.timed = calloc(most, sizeof(*g->timed)),
				       .at = calloc(most, sizeof(*g->at)),
				       .solo_ns = calloc(most, sizeof(*g->solo_ns))};
	if (!g->timed || !g->at || !g->solo_ns)
		return -ENOMEM;
	list_timed(side, names, g);
	list_groups(g);
	return 0;
}

/* --- kernels by time */

void kc_launch_groups_take(const struct kc_side *side, const struct kc_launch_groups *g,
			   const struct kc_launch_group *group, struct kc_group_kernel *kernel)
{
	const struct kc_timed *middle = kc_launch_group_middle(g, group);

	kernel->alone = group->alone;
	kernel->solo_ns = (double)middle->ns;
	kernel->place = middle->place;
	kernel->launch = ((const struct kc_measured_moment *)side->runs[0].moments.at)[middle->place].id;
}

/* As the group of its launches that took most time: the groups of a kernel follow each other. */
static struct kc_group_kernel kernel_of(const struct kc_side *side, const struct kc_launch_groups *g, size_t first,
					size_t count)
{
	const struct kc_launch_group *most = &g->at[first];
	struct kc_group_kernel kernel = {.kernel = most->kernel};

	for (size_t i = first; i < first + count; i++) {
		kernel.launches += g->at[i].count;
		kernel.time_ns += g->at[i].time_ns;
		if (g->at[i].time_ns > most->time_ns)
			most = &g->at[i];
	}
	kc_launch_groups_take(side, g, most, &kernel);
	return kernel;
}

KC_ORDER(by_time, struct kc_group_kernel, KC_DOWN(time_ns) ?: KC_UP(kernel))

int kc_launch_groups_kernels(const struct kc_side *side, const struct kc_launch_groups *g,
			     struct kc_group_kernel **kernels, size_t *count)
{
	struct kc_group_kernel *all = calloc(g->count + 1, sizeof(*all));
	size_t n = 0, first = 0;
	double time_ns = 0;

	if (!all)
		return -ENOMEM;
	for (size_t i = 1; i <= g->count; i++) {
		if (i < g->count && g->at[i].kernel == g->at[first].kernel)
			continue;
		all[n] = kernel_of(side, g, first, i - first);
		time_ns += all[n++].time_ns;
		first = i;
	}
	for (size_t i = 0; i < n; i++)
		all[i].share = all[i].time_ns / time_ns;
	qsort(all, n, sizeof(*all), by_time);
	*kernels = all;
	*count = n;
	return 0;
}
