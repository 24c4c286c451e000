#include "summary.h"
#include "tools/command.h"
#include "tools/system/database.h"
#include "tools/output/colour.h"
#include "tools/output/names/distinct.h"
#include "tools/output/format.h"
#include "tools/output/names/plain_name.h"
#include "tools/system/journals.h"
#include "report_forms.h"

#include "store/query/kernel_names.h"
#include "store/query/query.h"
#include "store/database/upkeep/recovery.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NAME_COLUMNS 40u /* columns of the name of the worst kernel */
#define SLOWEST_SHOWN 3u
#define SLOWEST_COLUMNS 24u /* of each of their names */
#define KILLED_SHOWN 4u
#define MESSAGES_SHOWN 2u /* at most ten lines in all */

/* The row id of the run with that token; 0: it recorded nothing. */
static int64_t find_run(struct kc_store *store, const char *token)
{
	sqlite3_stmt *row;
	int64_t run = 0;

	if (sqlite3_prepare_v2(kc_store_db(store), "SELECT id FROM run WHERE token = ?1", -1, &row, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(row, 1, token, -1, SQLITE_STATIC);
	if (sqlite3_step(row) == SQLITE_ROW)
		run = sqlite3_column_int64(row, 0);
	sqlite3_finalize(row);
	return run;
}

static size_t count_ranks(const struct kc_report *data)
{
	size_t ranks = 0;

	for (size_t i = 0; i < data->process_count; i++)
		ranks += data->processes[i].rank >= 0;
	return ranks;
}

static void print_ledger(const struct kc_ledger *l, size_t ranks)
{
	char launches[KC_FORMAT_BYTES], predicted[KC_FORMAT_BYTES], matched[KC_FORMAT_BYTES], other[KC_FORMAT_BYTES];

	fprintf(stderr, "kerncast: %s launch%s, %s predicted, %s measured and matched",
		kc_format_count(l->launches, launches), l->launches == 1 ? "" : "es",
		kc_format_count(l->predicted, predicted), kc_format_count(l->matched, matched));
	if (l->failed)
		fprintf(stderr, ", %s failed", kc_format_count(l->failed, other));
	if (l->dropped)
		fprintf(stderr, ", %s DROPPED", kc_format_count(l->dropped, other));
	if (l->not_asked_total)
		fprintf(stderr, ", %s not asked for", kc_format_count(l->not_asked_total, other));
	if (l->after_end)
		fprintf(stderr, ", %s after recording had ended", kc_format_count(l->after_end, other));
	if (ranks > 1)
		fprintf(stderr, "; %zu ranks", ranks);
	fputc('\n', stderr);
}

/* The kernels that took most of the time. */
static void print_slowest(const struct kc_report *data)
{
	const char *names[SLOWEST_SHOWN];
	char *shown[SLOWEST_SHOWN], ns[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES];
	size_t count = 0;

	while (count < SLOWEST_SHOWN && count < data->kernels.count && data->kernels.at[count].measured) {
		names[count] = data->kernels.at[count].name;
		count++;
	}
	if (count == 0 || kc_shorten_distinct(names, count, SLOWEST_COLUMNS, shown) < 0)
		return;
	fprintf(stderr, "kerncast: %s in kernels", kc_format_ns(data->measured_ns, ns));
	for (size_t i = 0; i < count; i++) {
		fprintf(stderr, "%s %s %s", i ? "," : ":", shown[i],
			kc_format_percent(data->kernels.at[i].time_share * 100, share));
		free(shown[i]);
	}
	fputc('\n', stderr);
}

static void print_accuracy(const struct kc_report *data, const char *database)
{
	const struct kc_accuracy *all = &data->all, *repeated = &data->novelty[KC_REPEATED];
	char why[PATH_MAX + 512], median[KC_FORMAT_BYTES], by_time[KC_FORMAT_BYTES], within[KC_FORMAT_BYTES];

	if (all->n == 0) {
		if (*kc_report_nothing(&data->ledger, kc_report_replayable(data, database), why, sizeof(why)))
			kc_error("%s", why);
		return;
	}
	fprintf(stderr,
		"kerncast: error of the predictions: median %s, weighted by time %s; %s of launches within 20 %%",
		kc_format_percent(all->median * 100, median), kc_format_percent(all->mape_time_weighted * 100, by_time),
		kc_format_percent(all->within_20 * 100, within));
	if (repeated->n)
		fprintf(stderr, "; repeated launches: %s by time",
			kc_format_percent(repeated->mape_time_weighted * 100, by_time));
	fputc('\n', stderr);
}

static void print_worst(const struct kc_report *data)
{
	size_t *order = kc_report_worst_first(&data->kernels, data->measured_ns);
	char name[NAME_COLUMNS * 4 + 4], why[256], error[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES];
	const struct kc_group *worst;

	if (!order)
		return;
	worst = data->kernels.count ? data->kernels.at + order[0] : NULL;
	free(order);
	if (!worst || worst->accuracy.n == 0)
		return;
	kc_report_why(worst->hints, why, sizeof(why));
	kc_error("worst predicted kernel: %s, error by time %s, %s of the time%s%s%s",
		 kc_shorten_name(worst->name, NAME_COLUMNS, name, sizeof(name)),
		 kc_format_percent(worst->accuracy.mape_time_weighted * 100, error),
		 kc_format_percent(worst->time_share * 100, share), *why ? " (" : "", why, *why ? ")" : "");
}

static void print_messages(const struct kc_report *data)
{
	size_t shown = 0, held = 0;

	for (size_t i = 0; i < data->message_count; i++) {
		if (data->messages[i].severity == 0)
			continue;
		if (shown < MESSAGES_SHOWN) {
			kc_error("%s", data->messages[i].text);
			shown++;
		} else {
			held++;
		}
	}
	if (held)
		kc_error("the report has %zu more messages", held);
}

/* Of several processes, those that were killed. */
static void print_killed(const struct kc_report *data)
{
	size_t killed = 0;

	for (size_t i = 0; data->process_count > 1 && i < data->process_count; i++) {
		if (strcmp(data->processes[i].ended, "killed") != 0)
			continue;
		if (killed++ < KILLED_SHOWN)
			fprintf(stderr, "%s%s", killed == 1 ? "kerncast: killed: " : ", ", data->processes[i].name);
	}
	if (killed > KILLED_SHOWN)
		fprintf(stderr, " and %zu more", killed - KILLED_SHOWN);
	if (killed)
		fprintf(stderr, "; no launch that %s had made is lost\n", killed == 1 ? "it" : "they");
}

/* is_whole: no journal is left of the run. */
static void print_report(const struct kc_report *data, const struct kc_summary *about, const struct kc_child_end *end,
			 int is_whole)
{
	const char *shown = kc_database_shown(about->database);

	if (data->simulated) {
		fputs("kerncast: ", stderr);
		kc_colour_print(stderr, KC_YELLOW,
				"SIMULATED: these times come from a stand-in device, not from a GPU");
		fputc('\n', stderr);
	}
	print_ledger(&data->ledger, count_ranks(data));
	print_slowest(data);
	print_accuracy(data, shown);
	print_worst(data);
	print_killed(data);
	print_messages(data);
	if (end->signal)
		kc_error("signal %d (%s) ended the program; no launch that it had made is lost", end->signal,
			 strsignal(end->signal));
	if (is_whole)
		kc_error("recorded in %s; next: kerncast report%s%s", shown, about->database_given ? " " : "",
			 about->database_given ? shown : "");
}

/* Journals of this run that could not be imported. */
static size_t journals_left(const struct kc_summary *about)
{
	struct kc_journals journals;
	size_t left = 0;

	if (kc_journals_find(about->database, 0, &journals) < 0)
		return 0;
	for (size_t i = 0; i < journals.count; i++)
		left += journals.at[i].life != KC_LIFE_RUNS && strcmp(journals.at[i].run, about->token) == 0;
	kc_journals_free(&journals);
	return left;
}

/* On a terminal alone: most programs that others start use no CUDA. */
static void say_unused(const struct kc_summary *about)
{
	if (!about->quiet && !about->is_brief && isatty(STDERR_FILENO))
		kc_error("no CUDA launch was seen, so nothing was recorded; `kerncast doctor APP` checks a program");
}

static int summarise(struct kc_store *store, const struct kc_summary *about, const struct kc_child_end *end,
		     int is_whole)
{
	int64_t run = find_run(store, about->token);
	struct kc_selection selection = {run, run};
	struct kc_report *data;
	int rc;

	if (run == 0) {
		say_unused(about);
		return 0;
	}
	rc = kc_query_report(store, &selection, 0, &data);
	if (rc == 0) {
		if (is_whole || data->ledger.launches)
			print_report(data, about, end, is_whole);
		kc_report_free(data);
	}
	return rc;
}

void kc_summary_print(const struct kc_summary *about, const struct kc_child_end *end)
{
	struct kc_recovered recovered;
	struct kc_store *store = NULL;
	char why[512] = "";
	size_t left;
	int rc;

	if (access(about->database, F_OK) < 0 && journals_left(about) == 0) {
		say_unused(about);
		return;
	}
	kc_recover(about->database, false, &recovered, why, sizeof(why));
	if (!*why && recovered.not_known)
		snprintf(why, sizeof(why), "it is not known whether their processes still run");
	left = journals_left(about);
	rc = kc_store_open(about->database, KC_STORE_READ, &store, *why ? NULL : why, *why ? 0 : sizeof(why));
	if (rc == 0)
		kc_kernel_names(store, KC_NAMES_NS);
	if (rc == 0 && !about->quiet && !about->is_brief)
		rc = summarise(store, about, end, !left);
	kc_store_close(store);
	if (left && !about->quiet && !about->is_brief)
		kc_error("the recording is still in %zu journal%s beside the database (%s); once that is solved, run "
			 "kerncast recover %s",
			 left, left == 1 ? "" : "s", *why ? why : strerror(-rc), about->database);
}
