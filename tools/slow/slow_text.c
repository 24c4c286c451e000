#include "slow_forms.h"
#include "tools/command.h"
#include "tools/diff/side.h"
#include "tools/output/colour.h"
#include "tools/output/filter_shown.h"
#include "tools/output/format.h"
#include "tools/output/print.h"
#include "tools/output/table.h"

#include "store/query/names.h"

#include <stdlib.h>
#include <string.h>

#define INDENT 2u
#define NAME 32u /* columns of a kernel's name in a note */
#define PAIRS 2u /* kernels that are named beside another */
#define CELL 48u
_Static_assert(CELL > KC_FORMAT_BYTES, "cells hold formatted numbers");

static const char *const words[] = {
    [KC_SLOW_SIZE] = "a new size",
    [KC_SLOW_SLOWER] = "slower than before",
    [KC_SLOW_DRIFT] = "drift",
    [KC_SLOW_FIRST] = "first launch",
    [KC_SLOW_OVERLAP] = "overlapped",
    [KC_SLOW_UNEXPLAINED] = "not explained",
    [KC_SLOW_PROCESS] = "slower on this process",
};

static const char *const meanings[] = {
    [KC_SLOW_SIZE] = "the kernel was given more work than before",
    [KC_SLOW_SLOWER] = "the kernel was faster in earlier runs",
    [KC_SLOW_DRIFT] = "the kernel was faster in another part of this run",
    [KC_SLOW_FIRST] = "the kernel's first in its process: loading, cold caches",
    [KC_SLOW_OVERLAP] = "other kernels ran at the same time",
    [KC_SLOW_UNEXPLAINED] = "no other cause was found",
    [KC_SLOW_PROCESS] = "other processes of this run had the kernel faster",
};

static const char *name_of(const struct kc_slow_view *view, uint32_t kernel)
{
	return kc_measured_kernel(view->runs->names, kernel)->name;
}

static char *share_of(const struct kc_slow_view *view, double ns, char out[static KC_FORMAT_BYTES])
{
	return kc_format_percent(ns / view->slow->measured.ns * 100, out);
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

static int rows_by_time(const void *a, const void *b)
{
	const struct kc_slow_row *x = a, *y = b;

	return x->took_ns > y->took_ns ? -1 : x->took_ns < y->took_ns;
}

static int rows_by_count(const void *a, const void *b)
{
	const struct kc_slow_row *x = a, *y = b;

	return x->launches > y->launches ? -1 : x->launches < y->launches;
}

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
	static const struct kc_column columns[] = {{"lost", KC_RIGHT, 0},
						   {"launches", KC_RIGHT, 0},
						   {"cause", KC_LEFT, 0},
						   {"what it means", KC_LEFT, 1},
						   {0}};
	const struct kc_slow *slow = view->slow;
	enum kc_slow_cause causes[KC_SLOW_CAUSES];
	size_t n = sort_causes(slow, causes);
	char lost[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES];
	struct kc_table table;

	putchar('\n');
	kc_table_init(&table, columns);
	for (size_t i = 0; i < n; i++) {
		const struct kc_slow_sum *sum = slow->causes + causes[i];

		kc_table_row(&table, (const char *const[]){kc_format_ns(sum->ns, lost),
							   kc_format_count(sum->launches, launches), words[causes[i]],
							   meanings[causes[i]]});
	}
	return kc_table_finish(&table, INDENT);
}

/* "beside vector_add 1.2 ms, saxpy 0.3 ms" */
static void pairs_note(const struct kc_slow_view *view, uint32_t kernel, struct kc_table *table)
{
	char note[PAIRS * 5 * NAME] = "", name[4 * NAME + 4], lost[KC_FORMAT_BYTES];
	size_t count;
	const struct kc_slow_pair *pairs = kc_slow_pairs_of(&view->slow->beside, kernel, &count);

	for (size_t i = 0; i < count && i < PAIRS; i++)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s %s", i ? ", " : "lost beside ",
			 kc_shorten_middle(name_of(view, pairs[i].other), NAME, name, sizeof(name)),
			 kc_format_ns(pairs[i].lost_ns, lost));
	kc_table_note(table, note);
}

/* "lost in rank 1 (pid 2001) 1.8 ms, pid 4102 0.3 ms" */
static void processes_note(const struct kc_slow_view *view, uint32_t kernel, struct kc_table *table)
{
	char note[(PAIRS + 1) * 5 * NAME] = "", name[KC_PROCESS_NAME_BYTES], shown[4 * NAME + 4], lost[KC_FORMAT_BYTES];
	size_t count;
	const struct kc_slow_pair *pairs = kc_slow_pairs_of(&view->slow->processes, kernel, &count);
	int64_t pid;

	for (size_t i = 0; i < count && i < PAIRS; i++)
		if (kc_process_name(view->store, pairs[i].other, &pid, name) == 0)
			snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s %s", i ? ", " : "lost in ",
				 kc_shorten_middle(name, NAME, shown, sizeof(shown)),
				 kc_format_ns(pairs[i].lost_ns, lost));
	if (count > PAIRS)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), " and %zu more", count - PAIRS);
	kc_table_note(table, note);
}

static int print_kernels(const struct kc_slow_view *view)
{
	static const struct kc_column columns[] = {{"lost", KC_RIGHT, 0},     {"took", KC_RIGHT, 0},
						   {"launches", KC_RIGHT, 0}, {"cause", KC_LEFT, 0},
						   {"kernel", KC_LEFT, 1},    {0}};
	const struct kc_slow *slow = view->slow;
	char lost[KC_FORMAT_BYTES], took[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES];
	struct kc_table table;

	kc_heading("By kernel: the time that its slow launches lost, and that they took");
	kc_table_init(&table, columns);
	for (size_t i = 0; i < slow->row_count && i < view->top; i++) {
		const struct kc_slow_row *row = slow->rows + i;

		kc_table_row(&table,
			     (const char *const[]){kc_format_ns(row->lost_ns, lost), kc_format_ns(row->took_ns, took),
						   kc_format_count(row->launches, launches), words[row->cause],
						   name_of(view, row->kernel)});
		if (row->cause == KC_SLOW_OVERLAP)
			pairs_note(view, row->kernel, &table);
		if (row->cause == KC_SLOW_PROCESS)
			processes_note(view, row->kernel, &table);
	}
	if (kc_table_finish(&table, INDENT) != 0)
		return KC_EXIT_FAILED;
	if (slow->row_count > view->top)
		printf("  and %zu more (a larger --top shows them)\n", slow->row_count - view->top);
	return 0;
}

/* --- launches */

/* Which other causes it has, and what ran at the same time. */
static void launch_note(const struct kc_slow_view *view, const struct kc_slow_found *found,
			const struct kc_slow_beside *beside, struct kc_table *table)
{
	char note[(PAIRS + 2) * 5 * NAME] = "", name[4 * NAME + 4], ns[KC_FORMAT_BYTES];
	int n = 0;

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		if (found->parts_ns[cause] > 0 && cause != (int)found->cause)
			snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s %s", n++ ? ", " : "also ",
				 words[cause], kc_format_ns(found->parts_ns[cause], ns));
	for (uint32_t i = 0; i < beside->count && i < PAIRS; i++)
		snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s for %s",
			 i   ? ", "
			 : n ? "; beside "
			     : "beside ",
			 kc_shorten_middle(name_of(view, beside->kernels[i]), NAME, name, sizeof(name)),
			 kc_format_ns((double)beside->ns[i], ns));
	kc_table_note(table, note);
}

static int print_launches(const struct kc_slow_view *view)
{
	static const struct kc_column columns[] = {
	    {"lost", KC_RIGHT, 0},   {"took", KC_RIGHT, 0}, {"should", KC_RIGHT, 0}, {"at", KC_RIGHT, 0},
	    {"stream", KC_RIGHT, 0}, {"cause", KC_LEFT, 0}, {"kernel", KC_LEFT, 1},  {0}};
	char text[5][CELL];
	struct kc_table table;

	printf(
	    "\nThe launches that lost most, up to %u of a kernel and cause (at: since the run's first launch began)\n",
	    KC_SLOW_ALIKE);
	kc_table_init(&table, columns);
	for (size_t i = 0; i < view->worst_count; i++) {
		const struct kc_slow_where *where = view->worst + i;
		const struct kc_slow_found *found = where->found;

		kc_format_ns(found->lost_ns, text[0]);
		kc_format_ns(found->took_ns, text[1]);
		kc_format_ns(found->should_ns, text[2]);
		kc_format_ns((double)where->after_ns, text[3]);
		snprintf(text[4], sizeof(text[4]), "%lld", (long long)where->origin.stream);
		kc_table_row(&table, (const char *const[]){
					 text[0], text[1], text[2], text[3], where->origin.stream ? text[4] : "-",
					 words[found->cause],
					 name_of(view, kc_measured_shape(view->runs->names, found->shape)->kernel)});
		launch_note(view, found, &where->beside, &table);
	}
	if (kc_table_finish(&table, INDENT) != 0)
		return KC_EXIT_FAILED;
	return 0;
}

/* --- what is not known */

/* "1 launch" */
static char *launches_text(uint64_t count, char out[static CELL])
{
	char number[KC_FORMAT_BYTES];

	snprintf(out, CELL, "%s launch%s", kc_format_count(count, number), count == 1 ? "" : "es");
	return out;
}

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

int kc_slow_text(const struct kc_slow_view *view)
{
	const struct kc_slow *slow = view->slow;
	char lost[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES], total[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES],
	    all[KC_FORMAT_BYTES], over[KC_FORMAT_BYTES], floor[KC_FORMAT_BYTES];
	int status = 0;

	if (view->runs->run->simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	print_runs(view);
	kc_format_percent(view->limits.over * 100, over);
	kc_format_ns(view->limits.floor_ns, floor);
	kc_format_ns(slow->measured.ns, total);
	kc_format_count(slow->measured.launches, all);
	if (slow->found_count == 0)
		printf(
		    "\nNone of %s measured launches (%s) took more than %s and more than %s longer than it should.\n",
		    all, total, over, floor);
	else
		kc_heading("Time lost: %s of %s (%s), in %s of %s measured launches", kc_format_ns(slow->lost.ns, lost),
			   total, share_of(view, slow->lost.ns, share), kc_format_count(slow->lost.launches, launches),
			   all);
	if (slow->found_count)
		status = print_causes(view);
	if (status == 0 && slow->found_count)
		status = print_kernels(view);
	if (status == 0 && slow->found_count)
		status = print_launches(view);
	if (status)
		return status;
	print_unknown(view);
	return kc_output_finish();
}
