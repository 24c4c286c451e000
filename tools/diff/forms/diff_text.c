#include "diff_forms.h"
#include "tools/diff/side.h"
#include "tools/command.h"
#include "tools/output/colour.h"
#include "tools/output/filter_shown.h"
#include "tools/output/format.h"
#include "tools/output/print.h"
#include "tools/output/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2u
#define SHOWN 20u       /* new and gone kernels */
#define SHAPES_SHOWN 3u /* of a kernel */
#define NAME 80u        /* columns of a kernel's name in a note */
#define CELL 48u
#define TELLS 0.1 /* a change that a kernel's launches should be able to tell */
_Static_assert(CELL > KC_FORMAT_BYTES, "cells hold formatted numbers");

/* "+4.70 ms" */
static char *signed_ns(double ns, char out[static CELL])
{
	char text[KC_FORMAT_BYTES];

	snprintf(out, CELL, "%s%s", ns < 0 ? "-" : "+", kc_format_ns(fabs(ns), text));
	return out;
}

static char *signed_percent(double share, char out[static CELL])
{
	char text[KC_FORMAT_BYTES];

	snprintf(out, CELL, "%s%s", share < 0 ? "-" : "+", kc_format_percent(fabs(share) * 100, text));
	return out;
}

static const char *name_of(const struct kc_diff_view *view, uint32_t kernel)
{
	return kc_measured_kernel(view->names, kernel)->name;
}

static char *p_text(double p, char out[static CELL])
{
	if (p < 1e-6)
		snprintf(out, CELL, "< 1e-6");
	else
		snprintf(out, CELL, "%.2g", p);
	return out;
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
	char matching[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES];

	printf("%s %s of %s launches", name, kc_format_count(source->counted.matching, matching),
	       kc_format_count(source->counted.launches, launches));
}

static void print_filter(const struct kc_diff_view *view)
{
	char text[KC_FILTER_TEXT_BYTES];

	if (!kc_filter_is_given(view->filter))
		return;
	printf("Filter: %s: ", kc_filter_text(view->filter, text, sizeof(text)));
	if (!view->sources[KC_OLD].baseline) {
		print_filtered_side(view->sources + KC_OLD, "OLD");
		fputs(", ", stdout);
	}
	print_filtered_side(view->sources + KC_NEW, "NEW");
	putchar('\n');
}

static void print_part(double ns, const char *what, int always)
{
	char text[CELL];

	if (always || fabs(ns) >= 1)
		printf("  %12s  %s\n", signed_ns(ns, text), what);
}

static size_t count_of(const struct kc_diff *diff, enum kc_diff_what what)
{
	size_t n = 0;

	for (size_t i = 0; i < diff->count; i++)
		n += diff->kernels[i].what == what;
	return n;
}

/* Slower and faster kernels, which come first. */
static size_t changed_count(const struct kc_diff *diff)
{
	return count_of(diff, KC_DIFF_SLOWER) + count_of(diff, KC_DIFF_FASTER);
}

static size_t listed_changes(const struct kc_diff_view *view)
{
	size_t changed = changed_count(view->diff), top = view->sorting.top;

	return top && top < changed ? top : changed;
}

static char *kernels_text(const struct kc_diff *diff, enum kc_diff_what what, const char *after, char out[static CELL])
{
	size_t n = count_of(diff, what);

	snprintf(out, CELL, "%zu %skernel%s%s", n, what == KC_DIFF_NEW ? "new " : "", n == 1 ? "" : "s", after);
	return out;
}

static void print_sums(const struct kc_diff *diff, int is_filtered)
{
	char old[KC_FORMAT_BYTES], new[KC_FORMAT_BYTES], difference[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES];
	char text[CELL];
	double ns = diff->sums.difference;

	kc_heading("Measured time of %s: OLD %s, NEW %s, %s (%s) %s", is_filtered ? "these launches" : "all kernels",
		   kc_format_ns(diff->total_ns[KC_OLD], old), kc_format_ns(diff->total_ns[KC_NEW], new),
		   kc_format_ns(fabs(ns), difference),
		   kc_format_percent(fabs(ns) / diff->total_ns[KC_OLD] * 100, share), ns < 0 ? "less" : "more");
	print_part(diff->sums.slower, kernels_text(diff, KC_DIFF_SLOWER, " slower", text), 1);
	print_part(diff->sums.faster, kernels_text(diff, KC_DIFF_FASTER, " faster", text), 1);
	print_part(diff->sums.new, kernels_text(diff, KC_DIFF_NEW, "", text), 0);
	print_part(diff->sums.gone, kernels_text(diff, KC_DIFF_GONE, " gone", text), 0);
	print_part(diff->sums.mix, "other numbers of launches, other sizes, or other kernels before them", 0);
	print_part(diff->sums.company, "more or fewer launches overlapped by other kernels", 0);
	print_part(diff->sums.rest, "all else: changes below the limits, chance, single outliers", 1);
}

/* --- changes */

static void shape_text(const struct kc_measured_shape *shape, char *out, size_t size)
{
	snprintf(out, size, "grid %u,%u,%u block %u,%u,%u", shape->grid[0], shape->grid[1], shape->grid[2],
		 shape->block[0], shape->block[1], shape->block[2]);
	if (shape->dynamic_shared_bytes)
		snprintf(out + strlen(out), size - strlen(out), " shared %u B", shape->dynamic_shared_bytes);
}

static int more_lost(const void *a, const void *b)
{
	const struct kc_diff_estimate *x = &(*(const struct kc_diff_shape *const *)a)->estimate;
	const struct kc_diff_estimate *y = &(*(const struct kc_diff_shape *const *)b)->estimate;
	double of_x = fabs(x->ns[KC_NEW] - x->ns[KC_OLD]) * x->launches[KC_NEW];
	double of_y = fabs(y->ns[KC_NEW] - y->ns[KC_OLD]) * y->launches[KC_NEW];

	return of_x > of_y ? -1 : of_x < of_y;
}

/* Which launch shapes of several changed, as a line below the kernel's. */
static void shapes_note(const struct kc_diff_view *view, const struct kc_diff_kernel *kernel, struct kc_table *table)
{
	const struct kc_diff_shape **changed = calloc((size_t)kernel->shapes + 1, sizeof(struct kc_diff_shape *));
	char note[512] = "", text[128], change[CELL];
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
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s %s", i ? "; " : "", text,
			 signed_percent(e->ns[KC_NEW] / e->ns[KC_OLD] - 1, change));
	}
	if (n > SHAPES_SHOWN)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "; and %zu more", n - SHAPES_SHOWN);
	kc_table_note(table, note);
	free(changed);
}

static int print_changes(const struct kc_diff_view *view)
{
	static const struct kc_column columns[] = {
	    {"kernel", KC_LEFT, 1},  {"launches", KC_RIGHT, 0},  {"OLD", KC_RIGHT, 0}, {"NEW", KC_RIGHT, 0},
	    {"change", KC_RIGHT, 0}, {"time lost", KC_RIGHT, 0}, {"p", KC_RIGHT, 0},   {0},
	};
	static const char *const orders[] = {[KC_SORT_NONE] = "most time lost first",
					     [KC_SORT_TIME] = "most time first",
					     [KC_SORT_COUNT] = "most launches first",
					     [KC_SORT_LOST] = "most time lost first"};
	char text[6][CELL], over[KC_FORMAT_BYTES], floor[KC_FORMAT_BYTES];
	size_t changed = changed_count(view->diff), listed = listed_changes(view);
	struct kc_table table;
	int status;

	kc_format_percent(view->limits.over * 100, over);
	kc_format_ns(view->limits.floor_ns, floor);
	if (changed == 0) {
		kc_heading("No kernel changed by more than %s and by more than %s per launch.", over, floor);
		return 0;
	}
	kc_heading(
	    "Kernels that changed by more than %s and by more than %s per launch, %s (false discovery rate: 5 %%)",
	    over, floor, orders[view->sorting.by]);
	kc_table_init(&table, columns);
	for (size_t i = 0; i < listed; i++) {
		const struct kc_diff_kernel *kernel = view->diff->kernels + i;

		kc_format_count((uint64_t)llround(kernel->shown_launches), text[0]);
		kc_format_ns(kernel->shown_ns[KC_OLD], text[1]);
		kc_format_ns(kernel->shown_ns[KC_NEW], text[2]);
		signed_percent(kernel->shown_ns[KC_NEW] / kernel->shown_ns[KC_OLD] - 1, text[3]);
		signed_ns(kernel->lost_ns, text[4]);
		p_text(kernel->p, text[5]);
		kc_table_row(&table, (const char *const[]){name_of(view, kernel->kernel), text[0], text[1], text[2],
							   text[3], text[4], text[5]});
		shapes_note(view, kernel, &table);
	}
	status = kc_table_finish(&table, INDENT);
	if (status == 0 && changed > listed)
		printf("  and %zu more (a larger --top shows them)\n", changed - listed);
	return status;
}

/* --- kernels of one side only */

static size_t listed_most(const struct kc_diff_view *view)
{
	return view->sorting.top ? view->sorting.top : SHOWN;
}

static int print_one_sided(const struct kc_diff_view *view, enum kc_diff_what what, const char *heading)
{
	static const struct kc_column columns[] = {
	    {"kernel", KC_LEFT, 1}, {"launches", KC_RIGHT, 0}, {"time", KC_RIGHT, 0}, {0}};
	int side = what == KC_DIFF_NEW ? KC_NEW : KC_OLD;
	char launches[KC_FORMAT_BYTES], time[KC_FORMAT_BYTES], name[4 * NAME + 4], note[sizeof(name) + 16];
	struct kc_table table;
	size_t shown = 0, n = count_of(view->diff, what);
	int status;

	if (n == 0)
		return 0;
	kc_heading("%s", heading);
	kc_table_init(&table, columns);
	for (size_t i = 0; i < view->diff->count && shown < listed_most(view); i++) {
		const struct kc_diff_kernel *kernel = view->diff->kernels + i;

		if (kernel->what != what)
			continue;
		shown++;
		kc_table_row(&table,
			     (const char *const[]){name_of(view, kernel->kernel),
						   kc_format_count((uint64_t)llround(kernel->launches[side]), launches),
						   kc_format_ns(kernel->total_ns[side], time)});
		if (kernel->replaced != KC_DIFF_NOWHERE && what == KC_DIFF_NEW) {
			snprintf(note, sizeof(note), "in place of %s",
				 kc_shorten_middle(name_of(view, kernel->replaced), NAME, name, sizeof(name)));
			kc_table_note(&table, note);
		}
	}
	status = kc_table_finish(&table, INDENT);
	if (n > shown)
		printf("  and %zu more (--json lists them)\n", n - shown);
	return status;
}

/* --- what could have been found */

static void print_power(const struct kc_diff_view *view)
{
	const struct kc_diff *diff = view->diff;
	char share[KC_FORMAT_BYTES], spread[KC_FORMAT_BYTES];
	double tells_ns = 0;
	size_t tells = 0, few = count_of(diff, KC_DIFF_FEW);

	for (size_t i = 0; i < diff->count; i++)
		if (diff->kernels[i].detectable <= TELLS) {
			tells++;
			tells_ns += diff->kernels[i].total_ns[KC_NEW];
		}
	printf("\n%zu kernel%s compared. A slowdown of %.0f %% would be found in %zu of them, which take %s of NEW's "
	       "time.\n",
	       diff->compared, diff->compared == 1 ? " was" : "s were", TELLS * 100, tells,
	       kc_format_percent(tells_ns / diff->total_ns[KC_NEW] * 100, share));
	if (tells < diff->compared)
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

int kc_diff_text(const struct kc_diff_view *view)
{
	int status;

	print_top(view);
	print_sums(view->diff, kc_filter_is_given(view->filter));
	status = print_changes(view);
	if (status == 0)
		status = print_one_sided(view, KC_DIFF_NEW, "New kernels");
	if (status == 0)
		status = print_one_sided(view, KC_DIFF_GONE, "Gone kernels");
	if (status)
		return status;
	print_power(view);
	return kc_output_finish();
}

/* --- Markdown */

/* Code in a table: no line ends (printf escapes them), and neither backticks nor bars as they are. */
static void print_code(const char *text)
{
	char shown[512], out[2 * sizeof(shown)];
	size_t n = 0;

	kc_shorten_middle(text, 100, shown, sizeof(shown));
	for (const char *at = shown; *at; at++) {
		if (*at == '|')
			out[n++] = '\\';
		out[n++] = *at == '`' ? '\'' : *at;
	}
	out[n] = '\0';
	printf("`%s`", out);
}

static void markdown_changes(const struct kc_diff_view *view)
{
	size_t listed = listed_changes(view);
	char text[6][CELL];

	puts("\n| kernel | launches | OLD | NEW | change | time lost | p |\n|---|--:|--:|--:|--:|--:|--:|");
	for (size_t i = 0; i < listed; i++) {
		const struct kc_diff_kernel *kernel = view->diff->kernels + i;

		fputs("| ", stdout);
		print_code(name_of(view, kernel->kernel));
		printf(" | %s | %s | %s | %s | %s | %s |\n",
		       kc_format_count((uint64_t)llround(kernel->shown_launches), text[0]),
		       kc_format_ns(kernel->shown_ns[KC_OLD], text[1]), kc_format_ns(kernel->shown_ns[KC_NEW], text[2]),
		       signed_percent(kernel->shown_ns[KC_NEW] / kernel->shown_ns[KC_OLD] - 1, text[3]),
		       signed_ns(kernel->lost_ns, text[4]), p_text(kernel->p, text[5]));
	}
}

static void markdown_one_sided(const struct kc_diff_view *view, enum kc_diff_what what, const char *heading)
{
	int side = what == KC_DIFF_NEW ? KC_NEW : KC_OLD;
	char launches[KC_FORMAT_BYTES], time[KC_FORMAT_BYTES];
	size_t shown = 0;

	for (size_t i = 0; i < view->diff->count && shown < listed_most(view); i++) {
		const struct kc_diff_kernel *kernel = view->diff->kernels + i;

		if (kernel->what != what)
			continue;
		if (shown++ == 0)
			printf("\n| %s | launches | time |\n|---|--:|--:|\n", heading);
		fputs("| ", stdout);
		print_code(name_of(view, kernel->kernel));
		printf(" | %s | %s |\n", kc_format_count((uint64_t)llround(kernel->launches[side]), launches),
		       kc_format_ns(kernel->total_ns[side], time));
	}
}

int kc_diff_markdown(const struct kc_diff_view *view)
{
	const struct kc_diff *diff = view->diff;
	char old[KC_FORMAT_BYTES], new[KC_FORMAT_BYTES], share[CELL], over[KC_FORMAT_BYTES], floor[KC_FORMAT_BYTES];
	size_t slower = count_of(diff, KC_DIFF_SLOWER), faster = count_of(diff, KC_DIFF_FASTER);

	if (view->simulated)
		puts("**SIMULATED**: some of these times come from a stand-in device, not from a GPU.\n");
	for (int side = 0; side < KC_SIDES; side++) {
		const struct kc_diff_source *source = view->sources + side;

		printf("%s: ", side == KC_OLD ? "OLD" : "NEW");
		print_code(source->path);
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
	printf(
	    "**Kernels: OLD %s, NEW %s (%s); of %zu compared, %zu slower and %zu faster** by more than %s and by more "
	    "than %s per launch.\n",
	    kc_format_ns(diff->total_ns[KC_OLD], old), kc_format_ns(diff->total_ns[KC_NEW], new),
	    signed_percent(diff->sums.difference / diff->total_ns[KC_OLD], share), diff->compared, slower, faster,
	    kc_format_percent(view->limits.over * 100, over), kc_format_ns(view->limits.floor_ns, floor));
	if (slower + faster)
		markdown_changes(view);
	markdown_one_sided(view, KC_DIFF_NEW, "new kernel");
	markdown_one_sided(view, KC_DIFF_GONE, "gone kernel");
	return kc_output_finish();
}
