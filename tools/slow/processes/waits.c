#include "waits.h"
#include "tools/diff/by_process.h"

#include "predictor/math/median.h"
#include "predictor/math/order.h"
#include "store/database/schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TOGETHER_NS 100000.0 /* the ends of a collective on its processes are not farther apart */
#define LEAST 4u             /* launches, to tell that they go together */
#define COMPARED_MOST 64u    /* of their ends */

struct launch {
	uint32_t collective, process, device;
	size_t place;
	double end_ns, ns; /* ns: 0: not measured */
};

/* Of a collective on a process. */
struct sequence {
	const struct launch *launches;
	size_t count;
	int is_grouped;
};

struct waiting {
	struct kc_slow_process *stragglers;
	size_t straggler_count;
	size_t *others; /* by straggler: processes that may wait for it, at most */
	struct sequence *sequences;
	size_t sequence_count;
};

KC_ORDER(by_collective, struct launch, KC_UP(collective) ?: KC_UP(process) ?: KC_UP(device) ?: KC_UP(place))

static uint8_t *find_collectives(const struct kc_measured_names *names)
{
	uint8_t *out = calloc(names->kernels.count + 1, 1);

	for (uint32_t kernel = 0; out && kernel < names->kernels.count; kernel++)
		out[kernel] = (uint8_t)kc_diff_is_collective(kc_measured_kernel(names, kernel)->name);
	return out;
}

/* Returns how many, or -ENOMEM. */
static ssize_t list_launches(const struct kc_measured_names *names, const struct kc_measured_run *run,
			     struct launch *out)
{
	uint8_t *is_collective = find_collectives(names);
	struct kc_intern ids = {0};
	ssize_t n = is_collective ? 0 : -ENOMEM;

	for (size_t i = 0; n >= 0 && i < run->launches.count; i++) {
		const struct kc_measured_launch *launch = (const struct kc_measured_launch *)run->launches.at + i;
		const struct kc_measured_moment *moment = (const struct kc_measured_moment *)run->moments.at + i;
		struct kc_measured_shape shape = *kc_measured_shape(names, launch->shape);
		uint32_t number;

		if (!is_collective[shape.kernel])
			continue;
		shape.model = 0;
		number = kc_intern(&ids, 'c', &shape, sizeof(shape));
		if (number)
			out[n++] =
			    (struct launch){number, (uint32_t)(moment->id >> KC_SEQUENCE_BITS),    moment->device,
					    i,      (double)moment->start_ns + (double)launch->ns, (double)launch->ns};
		else
			n = -ENOMEM;
	}
	kc_intern_free(&ids);
	free(is_collective);
	if (n > 0)
		qsort(out, (size_t)n, sizeof(*out), by_collective);
	return n;
}

static int go_together(const struct sequence *a, const struct sequence *b)
{
	double apart[COMPARED_MOST] = {0}, before = NAN;
	size_t n = 0, compared = a->count < COMPARED_MOST ? a->count : COMPARED_MOST;

	for (size_t i = 0; i < compared; i++) {
		size_t k = i * a->count / compared;
		double now = b->launches[k].end_ns - a->launches[k].end_ns;

		if (a->launches[k].ns <= 0 || b->launches[k].ns <= 0)
			continue;
		if (!isnan(before))
			apart[n++] = fabs(now - before);
		before = now;
	}
	return n + 1 >= LEAST && kc_median(apart, n) < TOGETHER_NS;
}

static void add_waits(struct waiting *w, const struct launch *last, double waited_ns, size_t others)
{
	for (size_t i = 0; i < w->straggler_count; i++)
		if (w->stragglers[i].process == last->process && w->stragglers[i].device == last->device) {
			w->stragglers[i].waited_ns += waited_ns;
			if (w->others[i] < others)
				w->others[i] = others;
		}
}

/* Of the collective's k-th launch on the n processes of a group. */
static void add_launch(struct waiting *w, const struct sequence *const *group, size_t n, size_t k)
{
	const struct launch *last = NULL;
	double sum = 0;
	size_t known = 0;

	for (size_t i = 0; i < n; i++) {
		const struct launch *launch = group[i]->launches + k;

		if (launch->ns <= 0)
			continue;
		sum += launch->ns;
		known++;
		if (!last || launch->ns < last->ns)
			last = launch;
	}
	if (known > 1)
		add_waits(w, last, sum - (double)known * last->ns, known - 1);
}

/* The sequences of one collective. group: room for all of them. */
static void add_collective(struct waiting *w, struct sequence *first, const struct sequence *end,
			   const struct sequence **group)
{
	for (struct sequence *a = first; a < end; a++) {
		size_t n = 0;

		if (a->is_grouped)
			continue;
		group[n++] = a;
		for (struct sequence *b = a + 1; b < end; b++)
			if (!b->is_grouped && b->count == a->count && go_together(a, b)) {
				b->is_grouped = 1;
				group[n++] = b;
			}
		for (size_t k = 0; n > 1 && k < a->count; k++)
			add_launch(w, group, n, k);
	}
}

static int is_of(const struct launch *a, const struct launch *b)
{
	return a->collective == b->collective && a->process == b->process && a->device == b->device;
}

static int add_all(struct waiting *w, const struct launch *launches, size_t n)
{
	const struct sequence **group;

	w->sequences = calloc(n + 1, sizeof(*w->sequences));
	group = calloc(n + 1, sizeof(const struct sequence *));
	for (size_t first = 0, end; w->sequences && group && first < n; first = end) {
		for (end = first; end < n && is_of(launches + end, launches + first); end++)
			;
		w->sequences[w->sequence_count++] = (struct sequence){launches + first, end - first, 0};
	}
	for (size_t first = 0, end; group && first < w->sequence_count; first = end) {
		for (end = first; end < w->sequence_count &&
				  w->sequences[end].launches->collective == w->sequences[first].launches->collective;
		     end++)
			;
		add_collective(w, w->sequences + first, w->sequences + end, group);
	}
	free(group);
	return w->sequences && group ? 0 : -ENOMEM;
}

int kc_slow_waits(const struct kc_measured_names *names, const struct kc_measured_run *run,
		  struct kc_slow_process *stragglers, size_t count)
{
	struct waiting w = {.stragglers = stragglers, .straggler_count = count};
	struct launch *launches;
	ssize_t n;
	int rc;

	if (count == 0)
		return 0;
	launches = calloc(run->launches.count + 1, sizeof(*launches));
	w.others = calloc(count, sizeof(*w.others));
	n = launches && w.others ? list_launches(names, run, launches) : -ENOMEM;
	rc = n < 0 ? (int)n : add_all(&w, launches, (size_t)n);
	for (size_t i = 0; rc == 0 && i < count; i++)
		stragglers[i].waited_ns = fmin(stragglers[i].waited_ns, (double)w.others[i] * stragglers[i].lost_ns);
	free(launches);
	free(w.others);
	free(w.sequences);
	return rc;
}
