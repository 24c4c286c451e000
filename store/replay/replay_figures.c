#include "replay_figures.h"
#include "store/common/growing.h"
#include "store/database/rollups/rollup.h"
#include "store/query/report/report_internal.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOVES_EACH 8u

/* One measured kernel, for the makespans of its process. */
struct mark {
	int64_t device;
	int64_t measured_start_ns, measured_end_ns;
	int64_t start_ns, end_ns;
	int64_t plain_start_ns, plain_end_ns;
	int64_t solo_ns;
};

struct kc__figures {
	struct kc__rollups rollups;
	struct kc__solos *solos;
	struct mark *marks;
	size_t mark_count, mark_capacity;
	int64_t offset_ns, latest_ns; /* one clock over all processes, which follow one another */
	int64_t generation;
	struct kc_replay_slowdown slowdown;
	struct kc_replay_makespan makespan;
	struct kc__score score;
};

struct kc__figures *kc__figures_new(void)
{
	struct kc__figures *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->solos = kc__solos_new(SIZE_MAX);
	f->generation = 1;
	if (!f->solos) {
		free(f);
		return NULL;
	}
	return f;
}

void kc__figures_free(struct kc__figures *f)
{
	if (!f)
		return;
	kc__rollups_clear(&f->rollups);
	kc__solos_free(f->solos);
	free(f->marks);
	free(f);
}

void kc__figures_begin(struct kc__figures *f, int forget, int64_t first_ns)
{
	f->generation += forget;
	f->offset_ns = kc_minus_ns(kc_plus_ns(f->latest_ns, 1), first_ns);
}

static int64_t at_least_one(int64_t ns)
{
	return ns > 0 ? ns : 1;
}

static void note_slowdown(struct kc__figures *f, const struct kc_replay_launch *l)
{
	double measured;

	if (l->unpredictable || !l->measured_end_ns || l->overlap < KC_OVERLAP_BEHIND || l->excluded)
		return;
	if (!(l->reference_ns > 0)) {
		f->slowdown.without++;
		return;
	}
	measured = (double)at_least_one(l->measured_end_ns - l->measured_start_ns) / l->reference_ns;
	f->slowdown.n++;
	f->slowdown.mape += fabs(l->slowdown - measured) / measured;
	f->slowdown.mape_no_slowdown += fabs(1 - measured) / measured;
}

static int note_mark(struct kc__figures *f, const struct kc_replay_launch *l, int64_t device,
		     const struct kc_placement *plain)
{
	if (l->unpredictable || !l->measured_end_ns || l->excluded)
		return 0;
	if (KC_ROOM(f->marks, f->mark_capacity, f->mark_count))
		return -ENOMEM;
	f->marks[f->mark_count++] = (struct mark){
	    .device = device,
	    .measured_start_ns = l->measured_start_ns,
	    .measured_end_ns = l->measured_end_ns,
	    .start_ns = l->start_ns,
	    .end_ns = l->end_ns,
	    .plain_start_ns = plain->start_ns,
	    .plain_end_ns = plain->end_ns,
	    .solo_ns = l->solo_ns,
	};
	return 0;
}

int kc__figures_add(struct kc__figures *f, struct kc_replay_launch *l, int64_t device, const struct kc_placement *plain)
{
	struct kc__fact fact = {
	    .key = {.process = f->generation, .kernel = l->kernel, .overlap = l->overlap},
	    .shape = l->shape,
	    .predicted_at_ns = kc_plus_ns(l->launched_ns, f->offset_ns),
	    .slowdown = l->slowdown,
	    .slowdown_waves = l->slowdown_waves,
	};
	int rc;

	if (!l->unpredictable) {
		fact.key.model = l->model;
		fact.key.concurrency_case = l->concurrency_case;
		fact.key.novelty = l->novelty;
		fact.predicted_ns = at_least_one(l->end_ns - l->start_ns);
	}
	if (l->measured_end_ns) {
		fact.measured_ns = at_least_one(l->measured_end_ns - l->measured_start_ns);
		fact.measured_end_ns = kc_plus_ns(l->measured_end_ns, f->offset_ns);
		if (fact.measured_end_ns > f->latest_ns)
			f->latest_ns = fact.measured_end_ns;
	}
	if (fact.predicted_at_ns > f->latest_ns)
		f->latest_ns = fact.predicted_at_ns;
	if (l->overlap >= KC_OVERLAP_BEHIND)
		l->reference_ns = kc__solos_median(f->solos, f->generation, l->shape, fact.predicted_at_ns);
	note_slowdown(f, l);
	kc__score_add(&f->score, l);
	rc = note_mark(f, l, device, plain);
	if (rc)
		return rc;
	return l->excluded ? kc__solos_add(f->solos, &fact) : kc__rollups_add(&f->rollups, f->solos, &fact);
}

KC_ORDER(by_start, struct mark, KC_UP(device) ?: KC_UP(measured_start_ns))

/* Nearly in order already: kernels that run at once were launched in another order than they started in. Each is moved
 * to its place, unless that takes long. */
static void sort(struct mark *marks, size_t count)
{
	size_t moves = 0;

	for (size_t i = 1; i < count; i++) {
		struct mark mark = marks[i];
		size_t to = i;

		while (to && by_start(&marks[to - 1], &mark) > 0 && moves <= MOVES_EACH * count) {
			marks[to] = marks[to - 1];
			to--;
			moves++;
		}
		marks[to] = mark;
	}
	if (moves > MOVES_EACH * count)
		qsort(marks, count, sizeof(*marks), by_start);
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Of one mark alone: nothing. */
static void note_group(struct kc__figures *f, size_t first, size_t end)
{
	double measured, serial = 0;
	struct mark all;

	if (end - first < 2)
		return;
	all = f->marks[first];
	for (size_t i = first; i < end; i++) {
		const struct mark *m = &f->marks[i];

		all.start_ns = lesser(all.start_ns, m->start_ns);
		all.end_ns = greater(all.end_ns, m->end_ns);
		all.plain_start_ns = lesser(all.plain_start_ns, m->plain_start_ns);
		all.plain_end_ns = greater(all.plain_end_ns, m->plain_end_ns);
		all.measured_end_ns = greater(all.measured_end_ns, m->measured_end_ns);
		serial += (double)m->solo_ns;
	}
	measured = (double)at_least_one(all.measured_end_ns - all.measured_start_ns);
	f->makespan.n++;
	f->makespan.mape += fabs((double)(all.end_ns - all.start_ns) - measured) / measured;
	f->makespan.mape_serial += fabs(serial - measured) / measured;
	f->makespan.mape_no_contention += fabs((double)(all.plain_end_ns - all.plain_start_ns) - measured) / measured;
}

/* Groups: each kernel overlaps one before it in the group. */
void kc__figures_close(struct kc__figures *f)
{
	size_t first = 0;
	int64_t end_ns = INT64_MIN;

	sort(f->marks, f->mark_count);
	for (size_t i = 0; i < f->mark_count; i++) {
		const struct mark *m = &f->marks[i];

		if (i > first && m->device == f->marks[first].device && m->measured_start_ns < end_ns) {
			end_ns = greater(end_ns, m->measured_end_ns);
			continue;
		}
		note_group(f, first, i);
		first = i;
		end_ns = m->measured_end_ns;
	}
	note_group(f, first, f->mark_count);
	f->mark_count = 0;
}

static double mean(double sum, uint64_t n)
{
	return n ? sum / (double)n : NAN;
}

int kc__figures_finish(struct kc__figures *f, struct kc_store *s, struct kc_replay *out)
{
	out->slowdown = f->slowdown;
	out->slowdown.mape = mean(f->slowdown.mape, f->slowdown.n);
	out->slowdown.mape_no_slowdown = mean(f->slowdown.mape_no_slowdown, f->slowdown.n);
	out->makespan.n = f->makespan.n;
	out->makespan.mape = mean(f->makespan.mape, f->makespan.n);
	out->makespan.mape_serial = mean(f->makespan.mape_serial, f->makespan.n);
	out->makespan.mape_no_contention = mean(f->makespan.mape_no_contention, f->makespan.n);
	kc__score_finish(&f->score, out);
	return kc__report_of(s, &f->rollups, out->report);
}
