#include "slow_fields.h"
#include "slow_steps.h"
#include "tools/command.h"
#include "tools/diff/side.h"
#include "tools/output/colour.h"
#include "tools/output/filter_shown.h"
#include "tools/output/format.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2u
#define CELL 48u
_Static_assert(CELL > KC_FORMAT_BYTES, "cells hold formatted numbers");

double kc_slow_percent(double ns, double of_ns)
{
	return kc_shown_number(ns / of_ns * 100);
}

struct kc_slow_sum kc_slow_not_judged(const struct kc_slow *slow)
{
	return (struct kc_slow_sum){slow->measured.launches - slow->judged.launches,
				    slow->measured.ns - slow->judged.ns};
}

static char *share_of(const struct kc_slow_view *view, double ns, char out[static KC_FORMAT_BYTES])
{
	return kc_format_percent(kc_slow_percent(ns, view->slow->measured.ns), out);
}

/* "1 launch" */
static char *launches_text(uint64_t count, char out[static CELL])
{
	char number[KC_FORMAT_BYTES];

	snprintf(out, CELL, "%s launch%s", kc_format_count(count, number), count == 1 ? "" : "es");
	return out;
}

/* --- the runs */

static void print_runs(const struct kc_slow_view *view)
{
	kc_side_print_run("", view->path, view->runs->run);
	if (view->runs->earlier_count) {
		printf("compared with run%s", view->runs->earlier_count == 1 ? "" : "s");
		for (size_t i = 0; i < view->runs->earlier_count; i++)
			printf("%s %lld", i ? "," : "", (long long)view->runs->earlier[i].id);
		puts(" and with itself");
	} else {
		puts("compared with itself alone: there is no earlier run of this command line, so what is slower than "
		     "before is not known");
	}
	if (view->other_devices)
		printf("%d earlier run%s on another device %s left out\n", view->other_devices,
		       view->other_devices == 1 ? "" : "s", view->other_devices == 1 ? "is" : "are");
	if (view->filter) {
		kc_filter_print(view->filter);
		putchar('\n');
	}
}

KC_ORDER(rows_by_time, struct kc_slow_row, KC_DOWN(took_ns))

KC_ORDER(rows_by_count, struct kc_slow_row, KC_DOWN(launches))

void kc_slow_sort(struct kc_slow *slow, enum kc_sort by)
{
	if (slow->row_count && (by == KC_SORT_TIME || by == KC_SORT_COUNT))
		qsort(slow->rows, slow->row_count, sizeof(*slow->rows),
		      by == KC_SORT_TIME ? rows_by_time : rows_by_count);
}

/* --- causes */

/* Those that lost time, most first. Returns how many. */
static size_t sort_causes(const struct kc_slow *slow, enum kc_slow_cause out[static KC_SLOW_CAUSES])
{
	size_t n = 0;

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++) {
		size_t at = n;

		if (slow->causes[cause].launches == 0)
			continue;
		for (; at > 0 && slow->causes[out[at - 1]].ns < slow->causes[cause].ns; at--)
			out[at] = out[at - 1];
		out[at] = (enum kc_slow_cause)cause;
		n++;
	}
	return n;
}

static int print_causes(const struct kc_slow_view *view)
{
	struct kc_slow_cause_row rows[KC_SLOW_CAUSES];
	enum kc_slow_cause causes[KC_SLOW_CAUSES];
	char why[KC_SLOW_WHY_BYTES];
	size_t n = sort_causes(view->slow, causes);

	for (size_t i = 0; i < n; i++)
		rows[i] = kc_slow_cause_row(view->slow, causes[i]);
	putchar('\n');
	if (kc_fields_table(&kc_slow_cause_fields, 0, rows, n, INDENT) != 0)
		return KC_EXIT_FAILED;
	if (*kc_slow_gpu_text(view->gpu_states, why))
		printf("  drift: %s\n", why);
	return 0;
}

/* Whether running at the same time gains more than it costs. */
static void print_overlapped(const struct kc_slow_view *view)
{
	const struct kc_slow_overlapped *overlapped = &view->slow->overlapped;
	double saved_ns = overlapped->alone_ns - overlapped->together_ns;
	char launches[CELL], alone[KC_FORMAT_BYTES], together[KC_FORMAT_BYTES], saved[KC_FORMAT_BYTES];

	if (overlapped->launches == 0)
		return;
	printf("Kernels at the same time as others, %s: one after the other they would have taken %s%s, together they "
	       "took %s (%s %s)\n",
	       launches_text(overlapped->launches, launches),
	       view->slow->judged.launches < view->slow->measured.launches ? "up to " : "",
	       kc_format_ns(overlapped->alone_ns, alone), kc_format_ns(overlapped->together_ns, together),
	       kc_format_ns(fabs(saved_ns), saved), saved_ns < 0 ? "lost" : "saved");
}

/* The first of them, as view->top says. */
static int print_rows(const struct kc_slow_view *view, const struct kc_fields *fields, const void *rows, size_t count)
{
	size_t listed = count < view->top ? count : view->top;

	if (!rows)
		return kc_failed(-ENOMEM);
	if (kc_fields_table(fields, 0, rows, listed, INDENT))
		return KC_EXIT_FAILED;
	if (count > listed)
		printf("  and %zu more (a larger --top shows them)\n", count - listed);
	return 0;
}

/* Stragglers: which process is slower than the others, and by how much. */
static int print_stragglers(const struct kc_slow_view *view)
{
	const struct kc__list *list = &view->slow->stragglers.list;
	struct kc_slow_straggler_row *rows = calloc(list->count + 1, sizeof(*rows));
	int status;

	for (size_t i = 0; rows && i < list->count; i++)
		kc_slow_straggler_row(view, (const struct kc_slow_process *)list->at + i, rows + i);
	kc_heading("Stragglers: ranks or GPUs that are slower than others at the same");
	status = print_rows(view, &kc_slow_straggler_fields, rows, list->count);
	free(rows);
	return status;
}

static int print_kernels(const struct kc_slow_view *view)
{
	const struct kc_slow *slow = view->slow;
	struct kc_slow_kernel_row *rows = calloc(slow->row_count + 1, sizeof(*rows));
	int status;

	for (size_t i = 0; rows && i < slow->row_count && i < view->top; i++)
		kc_slow_kernel_row(view, slow->rows + i, rows + i);
	kc_heading("By kernel: the time that its slow launches lost, and that they took");
	status = print_rows(view, &kc_slow_kernel_fields, rows, slow->row_count);
	free(rows);
	return status;
}

/* --- launches */

static int print_launches(const struct kc_slow_view *view)
{
	struct kc_slow_launch_row *rows = calloc(view->worst_count + 1, sizeof(*rows));
	int status;

	for (size_t i = 0; rows && i < view->worst_count; i++)
		kc_slow_launch_row(view, view->worst + i, rows + i);
	printf(
	    "\nThe launches that lost most, up to %u of a kernel and cause (at: since the run's first launch began)\n",
	    KC_SLOW_ALIKE);
	status = rows ? kc_fields_table(&kc_slow_launch_fields, 0, rows, view->worst_count, INDENT) : KC_EXIT_FAILED;
	free(rows);
	return status;
}

/* --- ranks and GPUs */

static int print_places(const struct kc_slow_view *view)
{
	const struct kc_fields fields = kc_slow_place_fields(view->by);
	size_t count;
	struct kc_slow_place_row *rows = kc_slow_place_rows(view, view->by, view->order, &count);
	int status;

	kc_heading("By %s: what its launches lost of what could be judged", fields.name);
	status = print_rows(view, &fields, rows, count);
	free(rows);
	return status;
}

/* --- steps */

static int print_steps(const struct kc_slow_view *view)
{
	const struct kc_slow_steps *steps = view->steps;
	int status;

	kc_heading("By step: what its launches lost, and how much longer it was than half of its process's");
	status = print_rows(view, &kc_slow_step_fields, steps->list.at, steps->list.count);
	if (status == 0 && steps->are == KC_STEPS_ARE_FOUND)
		puts("  not told, but found by what repeats (report --by step)");
	if (status == 0 && steps->are == KC_STEPS_ARE_NESTED)
		puts("  not told; of nested repeats, either may be the step (report --by step)");
	return status;
}

/* --- what is not known */

static void print_unknown(const struct kc_slow_view *view)
{
	const struct kc_slow *slow = view->slow;
	char launches[CELL], share[KC_FORMAT_BYTES];

	if (slow->unknown.launches || slow->never_alone.launches)
		putchar('\n');
	if (slow->unknown.launches)
		printf("Not known: %s (%s of the time) %s too few others like %s.\n",
		       launches_text(slow->unknown.launches, launches), share_of(view, slow->unknown.ns, share),
		       slow->unknown.launches == 1 ? "has" : "have", slow->unknown.launches == 1 ? "it" : "them");
	if (slow->never_alone.launches)
		printf("Not known: what being overlapped costs %s (%s of the time): no launch like %s ran alone.\n",
		       launches_text(slow->never_alone.launches, launches), share_of(view, slow->never_alone.ns, share),
		       slow->never_alone.launches == 1 ? "it" : "them");
}

/* What was lost of what could be judged, and what could not be. */
static void print_lost(const struct kc_slow_view *view)
{
	const struct kc_slow *slow = view->slow;
	int all_judged = slow->judged.launches == slow->measured.launches;
	const struct kc_slow_sum rest = kc_slow_not_judged(slow);
	char lost[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES], judged[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES],
	    of[KC_FORMAT_BYTES], over[KC_FORMAT_BYTES], floor[KC_FORMAT_BYTES], not_judged[CELL],
	    total[KC_FORMAT_BYTES];

	kc_format_ns(slow->judged.ns, judged);
	kc_format_count(slow->judged.launches, of);
	if (slow->found_count == 0)
		printf("\nNone of %s %s launches (%s) took more than %s and more than %s longer than it should.\n", of,
		       all_judged ? "measured" : "judged", judged, kc_format_percent(view->limits.over * 100, over),
		       kc_format_ns(view->limits.floor_ns, floor));
	else
		kc_heading("Time lost: %s of %s%s (%s), in %s of %s%s launches", kc_format_ns(slow->lost.ns, lost),
			   judged, all_judged ? "" : " that could be judged",
			   kc_format_percent(kc_slow_percent(slow->lost.ns, slow->judged.ns), share),
			   kc_format_count(slow->lost.launches, launches), of, all_judged ? " measured" : "");
	if (!all_judged)
		printf("Not judged: %s, %s of the %s measured (%s); the last lines say why.\n",
		       launches_text(rest.launches, not_judged), kc_format_ns(rest.ns, lost),
		       kc_format_ns(slow->measured.ns, total), share_of(view, rest.ns, share));
}

int kc_slow_text(const struct kc_slow_view *view)
{
	const struct kc_slow *slow = view->slow;
	int status = 0;

	if (view->runs->run->simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	print_runs(view);
	print_lost(view);
	if (slow->stragglers.list.count)
		status = print_stragglers(view);
	if (status == 0 && slow->found_count)
		status = print_causes(view);
	if (status == 0)
		print_overlapped(view);
	if (status == 0 && view->by)
		status = view->steps ? print_steps(view) : print_places(view);
	else if (status == 0 && slow->found_count)
		status = print_kernels(view) || print_launches(view);
	if (status)
		return status;
	print_unknown(view);
	return kc_output_finish();
}
