#include "tools/output/colour.h"
#include "tools/output/format.h"
#include "activity_fields.h"
#include "report_fields.h"
#include "report_text.h"
#include "scope_fields.h"
#include "step_fields.h"
#include "tools/output/filter_shown.h"
#include "tools/output/table.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define INDENT KC_REPORT_INDENT
#define LEDGER_REASONS 33  /* column of what follows the "=" */
#define WORST_SHOWN 5u     /* kernels shown unless --by kernel is given */
#define PROCESSES_SHOWN 4u /* further ones are only counted */
#define NOTHING_BYTES (PATH_MAX + 512u)
#define CELL 32u /* KC_FORMAT_BYTES */
_Static_assert(CELL == KC_FORMAT_BYTES, "cells hold formatted numbers");

static int is_like(const struct kc_device_row *a, const struct kc_device_row *b)
{
	return a->driver_version == b->driver_version && !memcmp(&a->device, &b->device, sizeof(a->device));
}

/* Equal ones are listed once: how many there are, 0 where the i-th is like one before it. */
static size_t count_alike(const struct kc_report *data, size_t i)
{
	size_t count = 1;

	for (size_t k = 0; k < i; k++) {
		if (is_like(data->devices + k, data->devices + i))
			return 0;
	}
	for (size_t k = i + 1; k < data->device_count; k++)
		count += is_like(data->devices + k, data->devices + i) != 0;
	return count;
}

/* A trace may give no more than the name of a device, or not even that. */
static void print_device(const struct kc_device_row *row, size_t count)
{
	const struct kc_device *d = &row->device;
	char memory[CELL];

	if (!*d->name && !d->sm_count) {
		puts("  device: not named in the trace (kerncast import --device says which)");
		return;
	}
	if (count > 1)
		printf("  on %zu GPUs, each %s", count, *d->name ? d->name : "unnamed");
	else
		printf("  on %s", *d->name ? d->name : "an unnamed device");
	if (d->cc_major)
		printf(", compute capability %u.%u", d->cc_major, d->cc_minor);
	if (d->sm_count)
		printf(", %u SMs", d->sm_count);
	if (d->memory_bytes)
		printf(", %s", kc_format_bytes(d->memory_bytes, memory));
	if (kc_device_is_foreign(d->name))
		fputs(", which is not an NVIDIA GPU", stdout);
	if (row->driver_version)
		printf(", driver %u.%u", row->driver_version / 1000, row->driver_version % 1000 / 10);
	putchar('\n');
}

/* before: the one above; NULL: there is none. A command line that is the same is not said again. */
static void print_process(const struct kc_process_row *row, const struct kc_process_row *before, unsigned width,
			  int several_gpus)
{
	char command[512], name[256], duration[CELL], launches[CELL];
	const char *ended = !*row->ended                 ? "still running, or its end is not known"
			    : strcmp(row->ended, "exit") ? row->ended
							 : "exited";

	if (!before || strcmp(row->command_line, before->command_line) != 0)
		printf("  %s\n", kc_shorten_middle(row->command_line, width - INDENT, command, sizeof(command)));
	if (strcmp(row->ended, "imported") == 0) /* its name is above */
		snprintf(name, sizeof(name), "pid %u", row->pid);
	else
		kc_shorten_middle(row->name, width - INDENT, name, sizeof(name));
	printf("    %s%s%s, %s, %s launch%s%s%s\n", name, several_gpus && *row->gpus ? ", GPU " : "",
	       several_gpus ? row->gpus : "", ended, kc_format_count(row->launches, launches),
	       row->launches == 1 ? "" : "es", row->duration_ns ? ", " : "",
	       row->duration_ns ? kc_format_ns((double)row->duration_ns, duration) : "");
}

static void print_origin(const struct kc_report_view *view)
{
	const struct kc_report *data = view->data;
	char when[32] = "";
	size_t alike;

	if (data->process_count > 0) {
		int64_t first_ns = data->processes[0].started_unix_ns;
		struct tm tm;
		time_t seconds;

		for (size_t i = 1; i < data->process_count; i++)
			if (data->processes[i].started_unix_ns < first_ns)
				first_ns = data->processes[i].started_unix_ns;
		seconds = first_ns / 1000000000;

		strftime(when, sizeof(when), ", %Y-%m-%d %H:%M:%S", localtime_r(&seconds, &tm));
	}
	if (data->selection.first_run == data->selection.last_run)
		printf("%s: run %lld%s\n", view->database, (long long)data->selection.first_run, when);
	else
		printf("%s: runs %lld to %lld\n", view->database, (long long)data->selection.first_run,
		       (long long)data->selection.last_run);
	for (size_t i = 0; i < data->process_count && i < PROCESSES_SHOWN; i++)
		print_process(data->processes + i, i ? data->processes + i - 1 : NULL, view->width,
			      data->device_count > 1);
	if (data->process_count > PROCESSES_SHOWN)
		printf("  and %zu more processes (--json lists them)\n", data->process_count - PROCESSES_SHOWN);
	for (size_t i = 0; i < data->device_count; i++)
		if ((alike = count_alike(data, i)))
			print_device(data->devices + i, alike);
}

/* "  launches  1,000 = 990 predicted + 10 unpredictable": zeros are printed, so
 * that the sum can be checked by eye; awaited is rare and printed only where it is not 0. */
static void print_sum(const char *name, uint64_t total, const char *first, uint64_t first_count, const char *second,
		      uint64_t second_count, uint64_t awaited, const char *reasons)
{
	char text[CELL];

	printf("  %-16s %11s", name, kc_format_count(total, text));
	printf(" = %s %s", kc_format_count(first_count, text), first);
	printf(" + %s %s", kc_format_count(second_count, text), second);
	if (awaited)
		printf(" + %s awaited", kc_format_count(awaited, text));
	putchar('\n');
	if (*reasons)
		printf("%*s(%s)\n", LEDGER_REASONS, "", reasons);
}

static void print_count(const char *name, uint64_t count, int always, const char *meaning)
{
	char text[CELL];

	if (count || always)
		printf("  %-16s %11s%s%s\n", name, kc_format_count(count, text), *meaning ? "   " : "", meaning);
}

static void print_sums(const struct kc_ledger *l)
{
	char reasons[256], count[CELL];

	kc_report_reasons(l->unpredictable, KC_UNPREDICTABLE_COUNT, kc_unpredictable_name, reasons, sizeof(reasons));
	print_sum("launches", l->launches, "predicted", l->predicted, "unpredictable", l->unpredictable_total, 0,
		  reasons);
	kc_report_reasons(l->unmeasured, KC_UNMEASURED_COUNT, kc_unmeasured_name, reasons, sizeof(reasons));
	print_sum("predicted", l->predicted, "matched", l->matched, "unmeasured", l->unmeasured_total, l->awaited,
		  reasons);
	reasons[0] = '\0';
	if (l->invalid)
		snprintf(reasons, sizeof(reasons), "%s of them invalid", kc_format_count(l->invalid, count));
	if (l->records_lost)
		kc_add_text(reasons, sizeof(reasons), "%s%s of dropped launches", l->invalid ? ", " : "",
			    kc_format_count(l->records_lost, count));
	print_sum("CUPTI records", l->cupti_records, "measured", l->measured, "unmatched", l->unmatched,
		  l->records_awaited, reasons);
	if (l->graphs_whole)
		print_sum("graphs as one", l->graphs_whole, "measured", l->graphs_measured, "unmeasured",
			  l->graphs_whole - l->graphs_measured, 0, "");
	print_count("graph records", l->graphs_unmatched, 0, "of graphs as one, without a launch");
	reasons[0] = '\0';
	if (l->transfers_dropped)
		snprintf(reasons, sizeof(reasons),
			 "%s more were dropped: the journal had reached its limit (--journal-max)",
			 kc_format_count(l->transfers_dropped, count));
	if (l->transfers || l->transfers_dropped)
		print_sum("transfers", l->transfers, "measured", l->transfers_measured, "unmeasured",
			  l->transfers - l->transfers_measured, 0, reasons);
}

/* Invalid records and those of dropped launches are unmatched as well, but belong to a launch. */
static void print_past(const struct kc_ledger *l)
{
	uint64_t known = l->invalid + l->records_lost, past = l->unmatched > known ? l->unmatched - known : 0;
	char count[CELL];

	if (past)
		printf("  %s CUPTI record%s no recorded launch: does a library bypass LD_PRELOAD (RTLD_DEEPBIND)%s?\n"
		       "  Try kerncast run --audit.\n",
		       kc_format_count(past, count), past == 1 ? " has" : "s have",
		       l->graphs_unknown ? ", or were they of graphs with unknown nodes" : "");
}

static const char *not_asked_text(uint32_t reason)
{
	static const char *const texts[KC_NOT_ASKED_COUNT] = {
	    [KC_ASKED] = "",
	    [KC_NOT_ASKED_KERNEL] = "of other kernels",
	    [KC_NOT_ASKED_EVERY] = "between chosen ones",
	    [KC_NOT_ASKED_BEFORE] = "before --after",
	    [KC_NOT_ASKED_AFTER] = "after --for",
	    [KC_NOT_ASKED_STOPPED] = "while stopped",
	};

	return texts[reason];
}

/* They have no rows, so they are part of no sum. */
static void print_not_asked(const struct kc_ledger *l)
{
	char reasons[256], count[CELL];
	size_t used;

	kc_report_reasons(l->not_asked, KC_NOT_ASKED_COUNT, not_asked_text, reasons, sizeof(reasons));
	used = strlen(reasons);
	if (l->transfers_not_asked)
		snprintf(reasons + used, sizeof(reasons) - used, "%sand %s transfers", used ? "; " : "",
			 kc_format_count(l->transfers_not_asked, count));
	print_count("not asked for", l->not_asked_total, l->transfers_not_asked != 0, reasons);
}

static const char *stream_call_text(uint32_t kind)
{
	static const char *const texts[KC_STREAM_CALL_COUNT] = {
	    [KC_CALL_NONE] = "",
	    [KC_CALL_STREAM_IDLE] = "waits for a stream",
	    [KC_CALL_DEVICE_IDLE] = "waits for the device",
	    [KC_CALL_OCCUPY] = "host functions and memory calls",
	    [KC_CALL_WAIT] = "waits for an event",
	    [KC_CALL_DESTROY] = "destructions",
	    [KC_CALL_CREATE] = "creations",
	    [KC_CALL_CANCEL] = "failures",
	    [KC_CALL_GRAPH] = "predictions of graphs",
	    [KC_CALL_GRAPH_LAUNCH] = "launches of graphs",
	};

	return texts[kind];
}

/* A replay lacks them. */
static void print_dropped_calls(const struct kc_ledger *l)
{
	char reasons[256];

	kc_report_reasons(l->stream_calls_dropped, KC_STREAM_CALL_COUNT, stream_call_text, reasons, sizeof(reasons));
	print_count("dropped calls", l->stream_calls_dropped_total, 0, reasons);
	print_count("dropped events", l->events_dropped, 0, "formulas of kernels that had been read, and the like");
}

static void print_ledger(const struct kc_ledger *l)
{
	kc_heading("Ledger");
	print_sums(l);
	print_count("failed calls", l->failed, 1, "");
	print_count("dropped launches", l->dropped, 1,
		    l->dropped ? "the journal was full, or they could not be stored at exit" : "");
	print_dropped_calls(l);
	print_not_asked(l);
	print_count("after the end", l->after_end, 0, "launched while the program ended; not recorded");
	print_count("stored elsewhere", l->elsewhere, 0, "in a database that was moved or deleted during the run");
	print_count("dropped records", l->records_dropped, 1, l->records_dropped ? "by CUPTI" : "");
	print_count("not returned", l->unreturned, 0, "the process ended during the call");
	print_count("captured", l->captured, 0, "recorded into a graph instead of executed");
	print_count("graph launches", l->graph_launches, 0, "");
	print_count("unknown graphs", l->graphs_unknown, 0, "launches of graphs with conditional or unknown nodes");
	print_count("routed by name", l->routed_by_name, 0,
		    "driver functions hooked by name, at addresses that the driver does not export");
	print_count("left unhooked", l->left_unhooked, 0, "driver functions with an ABI that no hook supports");
	print_count("loads unseen", l->loads_unseen, 0, "functions launched whose code was loaded by calls not seen");
	print_past(l);
	if (!kc_ledger_adds_up(l)) {
		kc_colour_print(stdout, KC_RED,
				"  THE LEDGER DOES NOT ADD UP: the database was damaged or changed by hand");
		putchar('\n');
	}
}

static int is_awaited(const struct kc_report *data)
{
	int awaited = 0;

	for (size_t i = 0; i < data->process_count; i++)
		awaited |= !*data->processes[i].ended;
	return awaited;
}

static void print_nothing(const struct kc_report *data, const char *database)
{
	const struct kc_ledger *l = &data->ledger;
	char why[NOTHING_BYTES];

	if (l->launches == 0 && is_awaited(data))
		puts("\nNO LAUNCHES HERE YET: what was launched is in the journal of a process that still runs, or "
		     "whose journal is not imported.");
	else if (l->launches == 0 && (l->dropped || l->elsewhere || l->after_end || l->records_awaited))
		puts("\nNO LAUNCHES HERE: the ledger says what became of those that were made.");
	else if (l->launches == 0 && l->not_asked_total)
		puts("\nNO LAUNCHES: of those that were made, none was asked for.");
	else if (l->launches == 0)
		puts("\nNO LAUNCHES: the driver was used, but no kernel was launched.");
	else if (*kc_report_nothing(l, kc_report_replayable(data, database), why, sizeof(why)))
		printf("\n%s\n", why);
}

static int print_accuracy(const struct kc_report_view *view)
{
	const struct kc_report *data = view->data;
	const struct kc_fields fields = kc_report_fields("launches");
	const struct kc_report_row rows[] = {
	    kc_report_row_of("all", &data->all),
	    kc_report_row_of("first seen", &data->novelty[KC_FIRST_SEEN]),
	    kc_report_row_of("new size", &data->novelty[KC_NEW_SIZE]),
	    kc_report_row_of("repeated", &data->novelty[KC_REPEATED]),
	    kc_report_row_of("solo", &data->solo),
	    kc_report_row_of("overlapped", &data->overlapped),
	    kc_report_row_of("  by earlier", &data->behind),
	    kc_report_row_of("  by later", &data->overtaken),
	};

	kc_heading("Errors: |predicted - measured| / measured, of launches that were predicted and measured");
	return kc_fields_table(&fields, KC_REPORT_CLASSES, rows, data->overlapped.n ? 8 : 6, INDENT);
}

static void print_more(const struct kc_report_view *view, size_t count, size_t shown)
{
	if (count > shown)
		printf("  and %zu more (%s)\n", count - shown,
		       view->sorting.top ? "a larger --top shows them" : "--by kernel shows all");
}

static int print_groups(const struct kc_report_view *view, enum kc_report_by by, unsigned table, size_t shown)
{
	const struct kc_fields fields = kc_report_fields(kc_report_by_text(by));
	struct kc_report_row *rows = kc_report_rows(view->data, by, view->sorting.by, 0, &shown);
	int status;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; by == KC_BY_CASE && i < shown; i++)
		if (rows[i].id < KC_CASES)
			rows[i].name = kc_format_case((uint32_t)rows[i].id);
	status = kc_fields_table(&fields, table, rows, shown, INDENT);
	print_more(view, kc_report_groups(view->data, by)->count, shown);
	free(rows);
	return status;
}

static const char *const orders[] = {
    [KC_SORT_NONE] = ", most mispredicted time first",
    [KC_SORT_TIME] = ", most measured time first",
    [KC_SORT_ERROR] = ", largest mean error first",
    [KC_SORT_COUNT] = ", most launches first",
};

static int print_by(const struct kc_report_view *view)
{
	static const char *const by[] = {"By kernel",
					 "By model",
					 "By stream",
					 "By case",
					 "By rank or process",
					 "By GPU",
					 "By class",
					 "GPU time",
					 "Idle gaps of GPUs, longest first (at: since the start of the run)",
					 "Copies",
					 "By step",
					 "By range",
					 "By operator"};
	enum kc_sort sort = view->sorting.by;
	size_t most = view->sorting.top ? view->sorting.top : SIZE_MAX;

	if (kc_report_is_activity(view->by)) {
		kc_heading("%s", by[view->by]);
		return kc_activity_by(view, most, 0);
	}
	if (view->by == KC_BY_STEP) {
		kc_heading("%s: its time on the host, and what was launched in it", by[view->by]);
		return kc_steps_by(view, most, 0);
	}
	if (view->by == KC_BY_RANGE || view->by == KC_BY_OPERATOR) {
		kc_heading("%s: kernels launched in it, and without those in %ss within it (self)", by[view->by],
			   kc_report_by_text(view->by));
		return kc_scopes_by(view, most, 0);
	}

	kc_heading("%s%s", by[view->by], sort || view->data->ledger.matched > 0 ? orders[sort] : "");
	return print_groups(view, view->by, KC_REPORT_BY, most);
}

static int print_worst(const struct kc_report_view *view)
{
	kc_heading("Kernels%s", orders[view->sorting.by]);
	return print_groups(view, KC_BY_KERNEL, KC_REPORT_WORST, view->sorting.top ? view->sorting.top : WORST_SHOWN);
}

static void print_slowdown(const struct kc_slowdown_error *s)
{
	char n[CELL], without[CELL], error[CELL], waves_error[CELL], predicted[CELL], waves[CELL], measured[CELL];

	if (s->n) {
		printf("  slowdown of %s overlapped launch%s: %s measured on average\n", kc_format_count(s->n, n),
		       s->n == 1 ? "" : "es", kc_format_ratio(s->mean_measured, measured));
		printf("    timeline    %s predicted, mean error %s\n", kc_format_ratio(s->mean_predicted, predicted),
		       kc_format_percent(s->mape * 100, error));
		printf("    wave model  %s predicted, mean error %s (Quintanilla 2017, eq. 5.1)\n",
		       kc_format_ratio(s->mean_waves, waves), kc_format_percent(s->mape_waves * 100, waves_error));
	}
	if (s->without)
		printf("  slowdown of %s more overlapped launch%s unknown: not measured alone before\n",
		       kc_format_count(s->without, without), s->without == 1 ? "" : "es");
}

static int print_concurrency(const struct kc_report_view *view)
{
	static const struct kc_column columns[] = {
	    {"predicted", KC_LEFT, 0}, {"solo", KC_RIGHT, 0},    {"by earlier", KC_RIGHT, 0},
	    {"by later", KC_RIGHT, 0}, {"unknown", KC_RIGHT, 0}, {0},
	};
	struct kc_table table;
	int rc;

	kc_heading("Concurrency of matched launches: predicted, and measured as solo or overlapped by other launches");
	kc_table_init(&table, columns);
	for (unsigned i = 0; i < KC_CASES; i++) {
		const uint64_t *n = view->data->concurrency[i];
		char text[KC_OVERLAPS][CELL];

		if (n[0] + n[1] + n[2] + n[3] == 0)
			continue;
		for (unsigned k = 0; k < KC_OVERLAPS; k++)
			kc_format_count(n[k], text[k]);
		kc_table_row(&table,
			     (const char *const[]){kc_format_case(i), text[KC_OVERLAP_NONE], text[KC_OVERLAP_BEHIND],
						   text[KC_OVERLAP_OVERTAKEN], text[KC_OVERLAP_UNKNOWN]});
	}
	rc = kc_table_print(&table, stdout, INDENT, view->width);
	kc_table_free(&table);
	print_slowdown(&view->data->slowdown);
	return rc;
}

static void print_messages(const struct kc_report *data)
{
	static const char *const severities[] = {"info", "warning", "error"};
	static const enum kc_colour colours[] = {KC_PLAIN, KC_YELLOW, KC_RED};

	if (data->message_count == 0)
		return;
	kc_heading("Messages");
	for (size_t i = 0; i < data->message_count; i++) {
		const struct kc_message_row *m = data->messages + i;
		uint32_t severity = m->severity < 2 ? m->severity : 2;
		char count[CELL];

		fputs("  ", stdout);
		kc_colour_print(stdout, colours[severity], "%s", severities[severity]);
		printf(": %s", m->text);
		if (m->count > 1)
			printf(" (%s times)", kc_format_count(m->count, count));
		putchar('\n');
	}
}

/* Launches of graphs that were measured as one. */
static int print_graphs(const struct kc_report_view *view)
{
	static const struct kc_column columns[] = {
	    {"kernels of the graph", KC_LEFT, 0},
	    {"launches", KC_RIGHT, 0},
	    {"measured", KC_RIGHT, 0},
	    {"predicted", KC_RIGHT, 0},
	    {"took", KC_RIGHT, 0},
	    {"error", KC_RIGHT, 0},
	    {0},
	};
	const struct kc_report *data = view->data;
	size_t shown = view->sorting.top ? view->sorting.top : WORST_SHOWN;
	struct kc_table table;
	int rc;

	if (!data->graph_count)
		return 0;
	kc_heading("Graphs measured as one: from the start of the first node to the end of the last, means");
	kc_table_init(&table, columns);
	for (size_t i = 0; i < data->graph_count && i < shown; i++) {
		const struct kc_graph_row *g = data->graphs + i;
		char kernels[CELL], launches[CELL], measured[CELL], predicted[CELL], took[CELL], error[CELL];

		kc_table_row(&table,
			     (const char *const[]){
				 g->kernels ? kc_format_count(g->kernels, kernels) : "not known",
				 kc_format_count(g->launches, launches), kc_format_count(g->measured, measured),
				 kc_format_ns(g->mean_predicted_ns, predicted), kc_format_ns(g->mean_measured_ns, took),
				 kc_format_percent(g->error * 100, error)});
	}
	rc = kc_table_print(&table, stdout, INDENT, view->width);
	if (data->graph_count > shown)
		printf("  and %zu more (a larger --top shows them)\n", data->graph_count - shown);
	kc_table_free(&table);
	return rc;
}

int kc_report_text_figures(const struct kc_report_view *view)
{
	int rc = view->by_given ? print_by(view) : 0;

	if (rc == 0)
		rc = print_accuracy(view);
	if (rc == 0 && !view->by_given) {
		kc_heading("Models");
		rc = print_groups(view, KC_BY_MODEL, KC_REPORT_BY, SIZE_MAX);
	}
	if (rc == 0 && !view->by_given)
		rc = print_worst(view);
	return rc ? rc : print_concurrency(view);
}

/* What ran. Without measured times, what is known of it: launches and predictions. */
static int print_what_ran(const struct kc_report_view *view)
{
	if (view->by_given)
		return print_by(view);
	if (view->data->ledger.measured > 0)
		return kc__report_print_time(view);
	kc_heading("Kernels");
	return print_groups(view, KC_BY_KERNEL, KC_REPORT_BY, view->sorting.top ? view->sorting.top : WORST_SHOWN);
}

static int print_predictions(const struct kc_report_view *view)
{
	int rc = print_accuracy(view);

	if (rc == 0 && !view->by_given)
		rc = print_worst(view);
	return rc ? rc : print_concurrency(view);
}

static void print_filter(const struct kc_report_view *view)
{
	if (!view->filter)
		return;
	putchar('\n');
	kc_filter_print(view->filter);
	puts("; GPU time and the ledger are of all launches, all else is of these");
}

/* Before anything is printed: whether the lines of --by are there. */
static int check_by(const struct kc_report_view *view)
{
	if (!view->by_given || !view->data->ledger.launches)
		return 0;
	if (view->by == KC_BY_STEP)
		return kc_steps_check(view);
	return view->by == KC_BY_RANGE || view->by == KC_BY_OPERATOR ? kc_scopes_check(view) : 0;
}

int kc_report_text(const struct kc_report_view *view)
{
	const struct kc_report *data = view->data;
	int rc = check_by(view);

	if (rc)
		return rc;
	if (data->simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	print_origin(view);
	print_filter(view);
	if (data->ledger.launches > 0)
		rc = print_what_ran(view);
	if (rc == 0)
		rc = print_graphs(view);
	if (rc == 0)
		rc = kc_report_text_activity(view);
	if (rc == 0 && data->ledger.matched > 0)
		rc = print_predictions(view);
	print_nothing(data, view->database);
	print_ledger(&data->ledger);
	print_messages(data);
	return rc;
}
