#include "replaced.h"
#include "predictor/math/order.h"
#include "store/query/report/kernel_class.h"

#include <errno.h>
#include <stdlib.h>

#define SHARE_LEAST 0.5

/* Launches of a kernel after the same two of common shapes. */
struct place {
	uint32_t kernel, before[2];
	double launches;
};

struct places {
	struct place *at;
	size_t count;
	size_t *first; /* by kernel; its end is the next one's */
};

KC_ORDER(in_order, struct place, KC_UP(kernel) ?: KC_UP(before[0]) ?: KC_UP(before[1]))

static int is_one_sided(const struct kc_diff_kernel *kernel)
{
	return kernel->what == KC_DIFF_NEW || kernel->what == KC_DIFF_GONE;
}

static int collect(const struct kc_measured_names *names, const struct kc_diff_units *units, const struct kc_diff *diff,
		   struct places *out)
{
	size_t most = units->items[KC_OLD].count + units->items[KC_NEW].count, n = 0, kept = 0;

	out->at = calloc(most + 1, sizeof(*out->at));
	out->first = calloc(diff->count + 2, sizeof(*out->first));
	if (!out->at || !out->first)
		return -ENOMEM;
	for (int side = 0; side < KC_SIDES; side++) {
		const struct kc_diff_item *items = units->items[side].at;

		for (size_t i = 0; i < units->items[side].count; i++) {
			uint32_t kernel = kc_measured_shape(names, items[i].shape)->kernel;

			/* After nothing that both sides have, any two kernels are at the same place. */
			if (is_one_sided(diff->kernels + kernel) && items[i].before[0])
				out->at[n++] = (struct place){
				    kernel, {items[i].before[0], items[i].before[1]}, 1 / diff->of[side]};
		}
	}
	qsort(out->at, n, sizeof(*out->at), in_order);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && in_order(out->at + kept - 1, out->at + i) == 0)
			out->at[kept - 1].launches += out->at[i].launches;
		else
			out->at[kept++] = out->at[i];
	}
	out->count = kept;
	for (size_t kernel = 0, i = 0; kernel <= diff->count; kernel++) {
		while (i < kept && out->at[i].kernel < kernel)
			i++;
		out->first[kernel] = i;
	}
	return 0;
}

static int place_order(const struct place *x, const struct place *y)
{
	for (int i = 0; i < 2; i++)
		if (x->before[i] != y->before[i])
			return x->before[i] < y->before[i] ? -1 : 1;
	return 0;
}

/* Launches of both that come after the same ones. */
static double shared(const struct places *places, uint32_t x, uint32_t y)
{
	size_t i = places->first[x], j = places->first[y];
	double sum = 0;

	while (i < places->first[x + 1] && j < places->first[y + 1]) {
		const struct place *a = places->at + i, *b = places->at + j;
		int order = place_order(a, b);

		if (order == 0)
			sum += a->launches < b->launches ? a->launches : b->launches;
		i += order <= 0;
		j += order >= 0;
	}
	return sum;
}

static double most_launches(const struct kc_diff_kernel *x, const struct kc_diff_kernel *y)
{
	return x->launches[KC_OLD] > y->launches[KC_NEW] ? x->launches[KC_OLD] : y->launches[KC_NEW];
}

/* What a kernel is for. Attention may be several kernels, of any kind, and of others that is not known. */
static enum kc_kernel_class purpose_of(const struct kc_measured_names *names, const struct kc_diff_kernel *kernel)
{
	enum kc_kernel_class of = kc_kernel_class_of(kc_measured_kernel(names, kernel->kernel)->name);

	switch (of) {
	case KC_CLASS_CONVOLUTION:
		return KC_CLASS_PRODUCT;
	case KC_CLASS_PRODUCT:
	case KC_CLASS_COMMUNICATION:
		return of;
	case KC_CLASS_ATTENTION:
	case KC_CLASS_OTHER:
		return KC_CLASS_OTHER;
	default: /* these are fused with each other */
		return KC_CLASS_ELEMENTWISE;
	}
}

static int may_replace(enum kc_kernel_class one, enum kc_kernel_class other)
{
	return one == other || one == KC_CLASS_OTHER || other == KC_CLASS_OTHER;
}

static void find_new(const struct kc_measured_names *names, struct kc_diff *diff, const struct places *places,
		     struct kc_diff_kernel *gone)
{
	enum kc_kernel_class purpose = purpose_of(names, gone);
	struct kc_diff_kernel *best = NULL;
	double share, most = SHARE_LEAST;

	for (size_t i = 0; i < diff->count; i++) {
		struct kc_diff_kernel *new = diff->kernels + i;

		if (new->what != KC_DIFF_NEW || new->replaced != KC_DIFF_NOWHERE)
			continue;
		share = shared(places, gone->kernel, new->kernel) / most_launches(gone, new);
		if (share >= most && (share > most || !best) && may_replace(purpose, purpose_of(names, new))) {
			best = new;
			most = share;
		}
	}
	if (best) {
		best->replaced = gone->kernel;
		gone->replaced = best->kernel;
	}
}

KC_ORDER_OF_POINTERS(by_time, struct kc_diff_kernel, KC_DOWN(total_ns[KC_OLD]))

int kc_diff_replaced(const struct kc_measured_names *names, const struct kc_diff_units *units, struct kc_diff *diff)
{
	struct kc_diff_kernel **gone = calloc(diff->count + 1, sizeof(struct kc_diff_kernel *));
	struct places places = {0};
	size_t n = 0;
	int rc = gone ? collect(names, units, diff, &places) : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < diff->count; i++)
		if (diff->kernels[i].what == KC_DIFF_GONE && diff->kernels[i].total_ns[KC_OLD] > 0)
			gone[n++] = diff->kernels + i;
	qsort(gone, n, sizeof(*gone), by_time);
	for (size_t i = 0; i < n; i++)
		find_new(names, diff, &places, gone[i]);
	free(gone);
	free(places.at);
	free(places.first);
	return rc;
}
