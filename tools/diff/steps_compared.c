#include "steps_compared.h"
#include "tools/command.h"
#include "tools/system/database.h"

#include "store/query/query.h"
#include "store/query/steps/step_use.h"
#include "store/query/steps/steps.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AS_OFTEN 0.1      /* launches per step of both sides differ by less, as a share */
#define ALIKE 0.5         /* share of OLD's time in kernels that are launched as often */
#define WITHOUT 0.05      /* share of a side's time in processes that have no steps */
#define OUTSIDE 0.5       /* share of a side's time in no step */
#define ALL_MEASURED 0.99 /* share of the launches */

static struct kc_measured_launch *launches_of(const struct kc_measured_run *run)
{
	return run->launches.at;
}

static void count_steps(const struct kc_side *side, struct kc_diff_step_side *out)
{
	*out = (struct kc_diff_step_side){.time_ns = NAN, .busy_ns = NAN, .idle_ns = NAN, .exposed_ns = NAN};
	for (size_t r = 0; r < side->read; r++) {
		out->steps += (double)side->runs[r].steps;
		if (side->runs[r].steps_are > out->are)
			out->are = side->runs[r].steps_are;
	}
	for (size_t r = 0; r < side->read; r++)
		if (!side->runs[r].steps)
			out->steps = 0;
}

/* --- whether they are most of the runs, and found ones alike */

static int are_few(const struct kc_side *side)
{
	double all = 0, outside = 0, without = 0;

	for (size_t r = 0; r < side->read; r++) {
		without += side->runs[r].without_steps_ns;
		for (size_t i = 0; i < side->runs[r].launches.count; i++) {
			const struct kc_measured_launch *launch = launches_of(side->runs + r) + i;

			all += (double)launch->ns;
			outside += launch->in_step ? 0 : (double)launch->ns;
		}
	}
	return without > WITHOUT * all || outside > OUTSIDE * all;
}

struct launched { /* a kernel, in steps */
	double launches[KC_SIDES], old_ns;
};

static int are_alike(const struct kc_measured_names *names, struct kc_side *const sides[KC_SIDES],
		     const struct kc_diff_step_side *of)
{
	struct launched *kernels = calloc(names->kernels.count + 1, sizeof(*kernels));
	double alike = 0, shared = 0;

	if (!kernels)
		return -ENOMEM;
	for (int side = 0; side < KC_SIDES; side++)
		for (size_t r = 0; r < sides[side]->read; r++)
			for (size_t i = 0; i < sides[side]->runs[r].launches.count; i++) {
				const struct kc_measured_launch *launch = launches_of(sides[side]->runs + r) + i;
				struct launched *kernel = kernels + kc_measured_shape(names, launch->shape)->kernel;

				kernel->launches[side] += launch->in_step / of[side].steps;
				kernel->old_ns += side == KC_OLD && launch->in_step ? (double)launch->ns : 0;
			}
	for (size_t i = 0; i < names->kernels.count; i++) {
		const double *launches = kernels[i].launches;

		if (!(launches[KC_OLD] > 0) || !(launches[KC_NEW] > 0))
			continue;
		shared += kernels[i].old_ns;
		if (fabs(launches[KC_NEW] - launches[KC_OLD]) < AS_OFTEN * launches[KC_OLD])
			alike += kernels[i].old_ns;
	}
	free(kernels);
	return shared > 0 && alike >= ALIKE * shared;
}

static int are_found(const struct kc_diff_step_side *of)
{
	return of->are != KC_STEPS_ARE_TOLD;
}

/* 0 or -ENOMEM */
static int decide(const struct kc_measured_names *names, struct kc_side *const sides[KC_SIDES], enum kc_diff_per per,
		  struct kc_diff_steps *out)
{
	const struct kc_diff_step_side *of = out->of;
	int alike;

	out->verdict = KC_STEPS_COMPARED;
	if (!(of[KC_OLD].steps > 0) || !(of[KC_NEW].steps > 0)) {
		out->verdict = KC_STEPS_LACKING;
	} else if (per == KC_PER_ANY && (are_few(sides[KC_OLD]) || are_few(sides[KC_NEW]))) {
		out->verdict = KC_STEPS_FEW;
	} else if (per == KC_PER_ANY && (are_found(of + KC_OLD) || are_found(of + KC_NEW))) {
		alike = are_alike(names, sides, of);
		if (alike < 0)
			return alike;
		if (!alike)
			out->verdict = KC_STEPS_UNLIKE;
	}
	return 0;
}

static void leave_out(const struct kc_side *side, struct kc_diff_step_side *out)
{
	for (size_t r = 0; r < side->read; r++)
		for (size_t i = 0; i < side->runs[r].launches.count; i++) {
			struct kc_measured_launch *launch = launches_of(side->runs + r) + i;

			if (launch->in_step || launch->ns <= 0)
				continue;
			out->outside_launches++;
			out->outside_ns += (double)launch->ns;
			launch->ns = 0;
		}
}

/* --- what they took */

struct sums {
	double timed, time_ns, busy_ns, exposed_ns;
	double launches, measured;
};

static int is_asked(const struct kc_side *side, const struct kc_step_use *use)
{
	/* A damaged one may begin at any time, also at one for which int64_t has no room. */
	const struct kc_step step = {.process = use->process,
				     .number = use->number,
				     .start_ns = (int64_t)fmin(fmax(use->at_ns, -0x1p62), 0x1p62)};

	return use->number >= 0 && use->is_inner == (side->steps.level == KC_STEP_INNER) &&
	       kc_filter_step(side->filter, &step, side->steps.level);
}

static void add_times(const struct kc_side *side, const struct kc_steps_report *report, struct sums *sums)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct kc_step_use *use = report->at + i;

		if (!is_asked(side, use) || isnan(use->time_ns))
			continue;
		sums->timed++;
		sums->time_ns += use->time_ns;
	}
}

static void add_launches(const struct kc_side *side, const struct kc_steps_report *report, struct sums *sums)
{
	for (size_t i = 0; i < report->count; i++) {
		const struct kc_step_use *use = report->at + i;

		if (!is_asked(side, use))
			continue;
		sums->busy_ns += use->busy_ns;
		sums->exposed_ns += use->exposed_ns;
		sums->launches += (double)use->launches;
		sums->measured += (double)use->measured;
	}
}

/* Steps in which no launch matches the filter have a time, too. */
static int add_run(const struct kc_side *side, int64_t run, struct sums *sums)
{
	const struct kc_report report = {.selection = {run, run}, .exact = 1, .process_count = 1};
	struct kc_steps_report *steps = NULL;
	int rc = kc_query_steps(side->store, &report, NULL, 1, &steps);

	if (rc == 0)
		add_times(side, steps, sums);
	if (rc == 0 && side->filter) {
		kc_steps_report_free(steps);
		steps = NULL;
		rc = kc_query_steps(side->store, &report, side->filter, 1, &steps);
	}
	if (rc == 0)
		add_launches(side, steps, sums);
	kc_steps_report_free(steps);
	return rc;
}

/* Whether launches of a step are left out, so that the GPU may be busy with others. */
static int filters_launches(const struct kc_filter *filter)
{
	struct kc_filter_choice choice;

	if (!filter)
		return 0;
	choice = *kc_filter_choice_of(filter);
	choice.steps.count = choice.processes.count = choice.process_names.count = choice.ranks.count = 0;
	return kc_filter_is_given(&choice);
}

static int measure(const struct kc_side *side, struct kc_diff_step_side *out)
{
	struct sums sums = {.timed = 0};
	uint32_t gpus = 0;
	int rc = 0;

	for (size_t r = 0; rc == 0 && r < side->read; r++) {
		rc = add_run(side, side->runs[r].id, &sums);
		gpus = side->runs[r].gpus > gpus ? side->runs[r].gpus : gpus;
	}
	if (rc)
		return rc;
	if (sums.timed > 0)
		out->time_ns = sums.time_ns / sums.timed;
	if (sums.measured < ALL_MEASURED * sums.launches)
		return 0;
	out->busy_ns = sums.busy_ns / out->steps;
	out->exposed_ns = sums.exposed_ns / out->steps;
	if (gpus == 1 && out->time_ns >= out->busy_ns && !filters_launches(side->filter))
		out->idle_ns = out->time_ns - out->busy_ns;
	return 0;
}

int kc_diff_steps(const struct kc_measured_names *names, struct kc_side *const sides[KC_SIDES], enum kc_diff_per per,
		  struct kc_diff_steps *out)
{
	int rc;

	*out = (struct kc_diff_steps){.verdict = KC_STEPS_NOT_WANTED};
	if (per == KC_PER_RUN)
		return KC_EXIT_OK;
	for (int side = 0; side < KC_SIDES; side++)
		count_steps(sides[side], out->of + side);
	rc = decide(names, sides, per, out);
	if (rc < 0)
		return kc_failed(rc);
	for (int side = 0; out->verdict == KC_STEPS_COMPARED && side < KC_SIDES; side++) {
		leave_out(sides[side], out->of + side);
		rc = measure(sides[side], out->of + side);
		if (rc < 0) {
			kc_database_unreadable(sides[side]->path, rc);
			return KC_EXIT_FAILED;
		}
	}
	return KC_EXIT_OK;
}
