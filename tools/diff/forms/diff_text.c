#include "changes.h"
#include "contributors.h"
#include "step_rows.h"
#include "tools/diff/side.h"
#include "tools/command.h"
#include "tools/output/colour.h"
#include "tools/output/filter_shown.h"
#include "tools/output/format.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2u
#define CONTRIBUTORS 10u
#define SHAPES_SHOWN 3u /* of a kernel */

static int failed(int rc)
{
	return kc_failed(rc);
}

/* --- what is compared */

static void print_sources(const struct kc_diff_view *view)
{
	static const char *const names[] = {"OLD  ", "NEW  "};

	for (int side = 0; side < KC_SIDES; side++) {
		const struct kc_diff_source *source = view->sources + side;

		for (size_t i = 0; i < source->count; i++)
			kc_side_print_run(i == 0 ? names[side] : "     ", source->path, source->runs + i);
		if (source->baseline)
			printf("%s%s, a baseline of %s\n", names[side], source->path, source->baseline);
	}
}

/* What may be the reason for all else. */
static void print_devices(const struct kc_diff_view *view)
{
	const char *old = view->sources[KC_OLD].devices, *new = view->sources[KC_NEW].devices;

	if (strcmp(old, new) == 0)
		return;
	if (*old && *new)
		kc_colour_print(stdout, KC_YELLOW, "DIFFERENT DEVICES: OLD ran on %s, NEW on %s", old, new);
	else
		kc_colour_print(stdout, KC_YELLOW, "DEVICE NOT KNOWN: %s ran on %s, and %s does not tell on what",
				*old ? "OLD" : "NEW", *old ? old : new, *old ? "NEW" : "OLD");
	putchar('\n');
}

static void print_filtered_side(const struct kc_diff_source *source, const char *name)
{
	struct kc_filter_counts counted = kc_filter_counted(source->filter);
	char matching[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES];

	printf("%s %s of %s launches%s", name, kc_format_count(counted.matching, matching),
	       kc_format_count(counted.launches, launches), kc_filter_steps_text(source->filter));
}

static void print_filter(const struct kc_diff_view *view)
{
	char text[KC_FILTER_TEXT_BYTES];

	if (!kc_filter_is_given(view->filter))
		return;
	printf("Filter: %s: ", kc_filter_text(view->filter, text, sizeof(text)));
	if (view->sources[KC_OLD].filter) {
		print_filtered_side(view->sources + KC_OLD, "OLD");
		fputs(", ", stdout);
	}
	print_filtered_side(view->sources + KC_NEW, "NEW");
	putchar('\n');
}

static size_t count_of(const struct kc_diff *diff, enum kc_diff_what what)
{
	size_t n = 0;

	for (size_t i = 0; i < diff->count; i++)
		n += diff->kernels[i].what == what;
	return n;
}

/* --- the difference, kernel by kernel */

double kc_diff_percent(const struct kc_diff *diff)
{
	return kc_shown_number(diff->sums.difference / diff->total_ns[KC_OLD] * 100);
}

static void print_sums(const struct kc_diff_view *view)
{
	const struct kc_diff *diff = view->diff;
	char old[KC_FORMAT_BYTES], new[KC_FORMAT_BYTES], difference[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES];
	double ns = diff->sums.difference;

	kc_heading("Measured time of %s%s: OLD %s, NEW %s, %s (%s) %s",
		   kc_filter_is_given(view->filter) ? "these launches" : "all kernels",
		   kc_diff_is_per_step(view) ? " per step" : "", kc_format_ns(diff->total_ns[KC_OLD], old),
		   kc_format_ns(diff->total_ns[KC_NEW], new), kc_format_ns(fabs(ns), difference),
		   kc_format_percent(fabs(kc_diff_percent(diff)), share), ns < 0 ? "less" : "more");
}

static int print_contributors(const struct kc_diff_view *view)
{
	struct kc_diff_contributors made;
	int rc = kc_diff_contributors(view->names, view->diff, &view->limits, &made), status = 0;

	if (rc == 0) {
		kc_diff_contributors_cut(&made, view->sorting.top ? view->sorting.top : CONTRIBUTORS);
		if (view->markdown)
			kc_fields_markdown(&kc_diff_contributor_fields, 0, made.at, made.count);
		else
			status = kc_fields_table(&kc_diff_contributor_fields, 0, made.at, made.count, INDENT);
	}
	kc_diff_contributors_free(&made);
	return rc == 0 ? status : failed(rc);
}

/* --- what a step took */

static const char *how_known(enum kc_steps_are are)
{
	return are == KC_STEPS_ARE_FOUND    ? " (not told, but found by what repeats)"
	       : are == KC_STEPS_ARE_NESTED ? " (not told: outer or inner ones of nested repeats)"
					    : "";
}

/* "OLD 10, NEW 30 (not told, but found by what repeats)" */
static void print_numbers(const struct kc_diff_steps *steps)
{
	const struct kc_diff_step_side *old = steps->of + KC_OLD, *new = steps->of + KC_NEW;
	char numbers[KC_SIDES][KC_FORMAT_BYTES];

	printf("OLD %s%s, NEW %s%s", kc_format_count((uint64_t)old->steps, numbers[KC_OLD]),
	       old->are == new->are ? "" : how_known(old->are), kc_format_count((uint64_t) new->steps, numbers[KC_NEW]),
	       how_known(new->are));
}

static void print_outside(const char *name, const struct kc_diff_step_side *side)
{
	char launches[KC_FORMAT_BYTES], ns[KC_FORMAT_BYTES];

	printf("%s %s (%s)", name, kc_format_count((uint64_t)side->outside_launches, launches),
	       kc_format_ns(side->outside_ns, ns));
}

static void print_whole_runs(const struct kc_diff_view *view)
{
	enum kc_diff_steps_verdict verdict = view->steps ? view->steps->verdict : KC_STEPS_NOT_WANTED;
	const char *why = verdict == KC_STEPS_UNLIKE
			      ? "Steps were found, but most kernels are launched more or less often in one of "
				"NEW than in one of OLD"
			  : verdict == KC_STEPS_FEW ? "Not all processes have steps, or most time is in none"
						    : NULL;

	if (!why)
		return;
	fputs(view->markdown ? "\n" : "  ", stdout); /* a line below a table's rows would be one of them */
	printf("%s: whole runs are compared (--per step: steps)\n", why);
}

static int print_steps(const struct kc_diff_view *view)
{
	struct kc_diff_step_row rows[KC_DIFF_STEP_ROWS];
	const struct kc_diff_steps *steps = view->steps;
	int status = 0;

	print_whole_runs(view);
	if (!kc_diff_is_per_step(view))
		return 0;
	fputs("\nSteps: ", stdout);
	print_numbers(steps);
	fputs(". Per step, on average:\n", stdout);
	if (view->markdown)
		kc_fields_markdown(&kc_diff_step_fields, 0, rows, kc_diff_step_rows(view, rows));
	else
		status = kc_fields_table(&kc_diff_step_fields, 0, rows, kc_diff_step_rows(view, rows), INDENT);
	if (status == 0 && steps->of[KC_OLD].outside_launches + steps->of[KC_NEW].outside_launches > 0) {
		fputs(view->markdown ? "\nLaunches in no step, which are not compared: "
				     : "  In no step, and not compared (--per run): ",
		      stdout);
		print_outside("OLD", steps->of + KC_OLD);
		print_outside(", NEW", steps->of + KC_NEW);
		putchar('\n');
	}
	return status;
}

/* --- changes */

static void shape_text(const struct kc_measured_shape *shape, char *out, size_t size)
{
	snprintf(out, size, "grid %u,%u,%u block %u,%u,%u", shape->grid[0], shape->grid[1], shape->grid[2],
		 shape->block[0], shape->block[1], shape->block[2]);
	if (shape->dynamic_shared_bytes)
		kc_add_text(out, size, " shared %u B", shape->dynamic_shared_bytes);
}

static int more_lost(const void *a, const void *b)
{
	const struct kc_diff_estimate *x = &(*(const struct kc_diff_shape *const *)a)->estimate;
	const struct kc_diff_estimate *y = &(*(const struct kc_diff_shape *const *)b)->estimate;
	double of_x = fabs(x->ns[KC_NEW] - x->ns[KC_OLD]) * x->launches[KC_NEW];
	double of_y = fabs(y->ns[KC_NEW] - y->ns[KC_OLD]) * y->launches[KC_NEW];

	return of_x > of_y ? -1 : of_x < of_y;
}

/* Which launch shapes of several changed, and whether it was beside others alone, as a line below the kernel's. */
static void shapes_note(const struct kc_diff_view *view, const struct kc_diff_kernel *kernel, char *note, size_t size)
{
	const struct kc_diff_shape **changed = calloc((size_t)kernel->shapes + 1, sizeof(struct kc_diff_shape *));
	char text[128], change[KC_FORMAT_BYTES];
	size_t n = 0;

	for (uint32_t i = 0; changed && kernel->shapes > 1 && i < kernel->shapes; i++) {
		const struct kc_diff_shape *shape = view->diff->shapes + kernel->first_shape + i;

		if (shape->what != KC_DIFF_SAME)
			changed[n++] = shape;
	}
	if (changed)
		qsort(changed, n, sizeof(*changed), more_lost);
	for (size_t i = 0; i < n && i < SHAPES_SHOWN; i++) {
		const struct kc_diff_estimate *e = &changed[i]->estimate;

		shape_text(kc_measured_shape(view->names, changed[i]->shape), text, sizeof(text));
		kc_add_text(note, size, "%s%s %s", i ? "; " : "", text,
			    kc_format_signed_percent(100 * (e->ns[KC_NEW] / e->ns[KC_OLD] - 1), change));
	}
	if (n > SHAPES_SHOWN)
		kc_add_text(note, size, "; and %zu more", n - SHAPES_SHOWN);
	free(changed);
	if (kc_diff_only_overlapped(kernel, &view->limits))
		kc_add_text(note, size, "%sonly when overlapped: alone %s", n ? "; " : "",
			    kc_format_signed_percent(100 * expm1(kernel->company[KC_COMPANY_NONE].log_change), change));
}

#define NOTE_BYTES 512u

/* Those that changed come first in struct kc_diff. */
static int print_rows(const struct kc_diff_view *view, size_t n)
{
	struct kc_diff_change_row *rows = calloc(n + 1, sizeof(*rows));
	char(*notes)[NOTE_BYTES] = calloc(n + 1, sizeof(*notes));
	int status = 0;

	for (size_t i = 0; rows && notes && i < n; i++) {
		rows[i] = kc_diff_change_row(view, view->diff->kernels + i);
		rows[i].note = notes[i];
		shapes_note(view, view->diff->kernels + i, notes[i], sizeof(notes[i]));
	}
	if (!rows || !notes)
		status = failed(-ENOMEM);
	else if (view->markdown)
		kc_fields_markdown(&kc_diff_change_fields, KC_DIFF_CHANGES_TEXT, rows, n);
	else
		status = kc_fields_table(&kc_diff_change_fields, KC_DIFF_CHANGES_TEXT, rows, n, INDENT);
	free(rows);
	free(notes);
	return status;
}

static int print_changes(const struct kc_diff_view *view)
{
	static const char *const orders[] = {[KC_SORT_NONE] = "most time lost first",
					     [KC_SORT_TIME] = "most time first",
					     [KC_SORT_COUNT] = "most launches first",
					     [KC_SORT_LOST] = "most time lost first"};
	char over[KC_FORMAT_BYTES], floor[KC_FORMAT_BYTES];
	size_t slower = count_of(view->diff, KC_DIFF_SLOWER), faster = count_of(view->diff, KC_DIFF_FASTER);
	size_t changed = slower + faster, top = view->sorting.top, listed = top && top < changed ? top : changed;
	int status = 0;

	kc_format_percent(view->limits.over * 100, over);
	kc_format_ns(view->limits.floor_ns, floor);
	if (view->markdown)
		printf("\n%zu slower and %zu faster of %zu kernels that could be compared, by more than %s and by more "
		       "than %s per launch.\n",
		       slower, faster, view->diff->compared, over, floor);
	else if (changed == 0)
		kc_heading("No kernel changed by more than %s and by more than %s per launch.", over, floor);
	else
		kc_heading(
		    "%zu kernel%s slower, %zu kernel%s faster: by more than %s and by more than %s per launch, %s "
		    "(false discovery rate: 5 %%)",
		    slower, slower == 1 ? "" : "s", faster, faster == 1 ? "" : "s", over, floor,
		    orders[view->sorting.by]);
	if (changed)
		status = print_rows(view, listed);
	if (status == 0 && changed > listed && !view->markdown)
		printf("  and %zu more (a larger --top shows them)\n", changed - listed);
	return status;
}

/* --- what could have been found */

struct kc_diff_tells kc_diff_tells(const struct kc_diff *diff)
{
	struct kc_diff_tells out = {0};

	for (size_t i = 0; i < diff->count; i++)
		if (diff->kernels[i].detectable <= KC_DIFF_TELLS) {
			out.kernels++;
			out.share += diff->kernels[i].total_ns[KC_NEW] / diff->total_ns[KC_NEW];
		}
	return out;
}

static void print_power(const struct kc_diff_view *view)
{
	const struct kc_diff *diff = view->diff;
	const struct kc_diff_tells tells = kc_diff_tells(diff);
	char share[KC_FORMAT_BYTES], spread[KC_FORMAT_BYTES];
	size_t few = count_of(diff, KC_DIFF_FEW);

	printf("\n%zu kernel%s compared. A slowdown of %.0f %% would be found in %zu of them, which take %s of NEW's "
	       "time.\n",
	       diff->compared, diff->compared == 1 ? " was" : "s were", KC_DIFF_TELLS * 100, tells.kernels,
	       kc_format_percent(kc_shown_number(tells.share * 100), share));
	if (tells.kernels < diff->compared)
		puts("The others vary too much, or are too short for it.");
	if (diff->on_processes)
		printf(
		    "Kernels that several processes launched were compared on each of them, too: %zu comparison%s.\n",
		    diff->on_processes, diff->on_processes == 1 ? "" : "s");
	if (few)
		printf(
		    "%zu kernel%s too few measured launches that come after the same ones in both (at least %.0f).\n",
		    few, few == 1 ? " has" : "s have", KC_DIFF_LAUNCHES);
	if (view->left_out && kc_filter_is_given(view->filter))
		printf("%zu kernel%s did not fit into the baseline and %s not compared.\n", view->left_out,
		       view->left_out == 1 ? "" : "s", view->left_out == 1 ? "is" : "are");
	else if (view->left_out)
		printf("%zu kernel%s (%s of the baseline's time) did not fit into the baseline and %s not compared.\n",
		       view->left_out, view->left_out == 1 ? "" : "s",
		       kc_format_percent(view->left_out_ns / (view->left_out_ns + diff->total_ns[KC_OLD]) * 100, share),
		       view->left_out == 1 ? "is" : "are");
	if (diff->old_runs > 1)
		printf("The %u OLD runs differ by %s (standard deviation of a kernel's time, median).\n",
		       diff->old_runs, kc_format_percent(diff->between * 100, spread));
	else
		puts("One run against one: how much runs of the same program differ is not known. Several OLD runs "
		     "tell (--old 1,2,3).");
}

static void print_top(const struct kc_diff_view *view)
{
	if (view->simulated)
		kc_say_simulated(KC_SIMULATED_SOME);
	print_sources(view);
	print_devices(view);
	print_filter(view);
}

static int print_tables(const struct kc_diff_view *view)
{
	int status = print_contributors(view);

	if (status == 0)
		status = print_steps(view);
	return status == 0 ? print_changes(view) : status;
}

static int print_text(const struct kc_diff_view *view)
{
	int status;

	print_top(view);
	print_sums(view);
	status = print_tables(view);
	if (status)
		return status;
	print_power(view);
	return kc_output_finish();
}

static int print_markdown(const struct kc_diff_view *view)
{
	const struct kc_diff *diff = view->diff;
	char old[KC_FORMAT_BYTES], new[KC_FORMAT_BYTES], difference[KC_FORMAT_BYTES];
	int status;

	if (view->simulated)
		puts("**SIMULATED**: some of these times come from a stand-in device, not from a GPU.\n");
	for (int side = 0; side < KC_SIDES; side++) {
		const struct kc_diff_source *source = view->sources + side;

		printf("%s: ", side == KC_OLD ? "OLD" : "NEW");
		kc_markdown_code(source->path);
		if (source->baseline)
			printf(", a baseline");
		for (size_t i = 0; i < source->count; i++)
			printf("%s %lld",
			       i                   ? ","
			       : source->count > 1 ? ", runs"
						   : ", run",
			       (long long)source->runs[i].id);
		puts(side == KC_OLD ? "  " : "\n");
	}
	print_filter(view);
	if (kc_filter_is_given(view->filter))
		putchar('\n');
	printf("**Kernels%s: OLD %s, NEW %s (%s)**\n", kc_diff_is_per_step(view) ? " per step" : "",
	       kc_format_ns(diff->total_ns[KC_OLD], old), kc_format_ns(diff->total_ns[KC_NEW], new),
	       kc_format_signed_percent(kc_diff_percent(diff), difference));
	status = print_tables(view);
	return status ? status : kc_output_finish();
}

int kc_diff_text(const struct kc_diff_view *view)
{
	return view->markdown ? print_markdown(view) : print_text(view);
}
