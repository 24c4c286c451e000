#include "report_internal.h"
#include "store/query/names.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct ledger_item {
	const char *item;
	size_t offset;
};

static uint64_t *field_of(struct kc_ledger *ledger, const char *item, const char *reason)
{
#define ITEM(name, field)                                                                                              \
	{                                                                                                              \
		name, offsetof(struct kc_ledger, field)                                                                \
	}
	static const struct ledger_item items[] = {
	    ITEM("launches", launches),
	    ITEM("predicted", predicted),
	    ITEM("failed", failed),
	    ITEM("unreturned", unreturned),
	    ITEM("measured", measured),
	    ITEM("matched", matched),
	    ITEM("awaited", awaited),
	    ITEM("elsewhere", elsewhere),
	    ITEM("elsewhere_measured", elsewhere_measured),
	    ITEM("transfers", transfers),
	    ITEM("transfers_measured", transfers_measured),
	    ITEM("graphs_whole", graphs_whole),
	    ITEM("graphs_measured", graphs_measured),
	};
#undef ITEM

	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		if (!strcmp(item, items[i].item))
			return (uint64_t *)((char *)ledger + items[i].offset);
	}
	for (uint32_t i = 0; !strcmp(item, "unpredictable") && i < KC_UNPREDICTABLE_COUNT; i++) {
		if (!strcmp(reason, kc_unpredictable_name(i)))
			return &ledger->unpredictable[i];
	}
	for (uint32_t i = 0; !strcmp(item, "unmeasured") && i < KC_UNMEASURED_COUNT; i++) {
		if (!strcmp(reason, kc_unmeasured_name(i)))
			return &ledger->unmeasured[i];
	}
	return NULL;
}

struct process_sums {
	struct kc_ledger *total;
	struct kc_ledger one;
	uint64_t counters[KC_COUNTERS];
	int64_t process;
};

/* Records without those of launches that are in another database. */
static uint64_t records_here(const struct process_sums *sums, enum kc_counter counter)
{
	uint64_t elsewhere = sums->one.elsewhere_measured, records = sums->counters[counter];

	return records > elsewhere ? records - elsewhere : 0;
}

static void add_not_asked(struct kc_ledger *total, const uint64_t *counters)
{
	static const enum kc_counter of[KC_NOT_ASKED_COUNT] = {
	    [KC_NOT_ASKED_KERNEL] = KC_COUNT_NOT_ASKED_KERNEL,   [KC_NOT_ASKED_EVERY] = KC_COUNT_NOT_ASKED_EVERY,
	    [KC_NOT_ASKED_BEFORE] = KC_COUNT_NOT_ASKED_BEFORE,   [KC_NOT_ASKED_AFTER] = KC_COUNT_NOT_ASKED_AFTER,
	    [KC_NOT_ASKED_STOPPED] = KC_COUNT_NOT_ASKED_STOPPED,
	};

	for (uint32_t i = KC_ASKED + 1; i < KC_NOT_ASKED_COUNT; i++) {
		total->not_asked[i] += counters[of[i]];
		total->not_asked_total += counters[of[i]];
	}
}

static void add_dropped_calls(struct kc_ledger *total, const uint64_t *counters)
{
	for (uint32_t i = KC_CALL_NONE + 1; i < KC_STREAM_CALL_COUNT; i++) {
		total->stream_calls_dropped[i] += counters[KC_COUNT_DROPPED_CALLS(i)];
		total->stream_calls_dropped_total += counters[KC_COUNT_DROPPED_CALLS(i)];
	}
}

/* The records of one process. Its counters are not read at the moment at which its rows
 * are written, so they can lag behind; a stored measurement needs a record in any case. */
static void close_process(struct process_sums *sums)
{
	struct kc_ledger *total = sums->total, *one = &sums->one;
	const uint64_t *c = sums->counters;
	uint64_t gone = c[KC_COUNT_CUPTI_LOST], joined = records_here(sums, KC_COUNT_CUPTI_MATCHED);
	uint64_t matched = joined > one->measured ? joined : one->measured;
	uint64_t lost = c[KC_COUNT_CUPTI_UNMATCHED] > c[KC_COUNT_CUPTI_INVALID] ? c[KC_COUNT_CUPTI_UNMATCHED]
										: c[KC_COUNT_CUPTI_INVALID];
	uint64_t records = records_here(sums, KC_COUNT_CUPTI_RECORDS);

	gone = gone < matched - one->measured ? gone : matched - one->measured;
	matched -= gone;
	lost += gone;
	if (records < matched + lost)
		records = matched + lost;
	total->cupti_records += records;
	total->records_awaited += matched - one->measured;
	total->unmatched += records - matched;
	total->records_lost += gone;
	total->invalid += c[KC_COUNT_CUPTI_INVALID];
	total->records_dropped += c[KC_COUNT_CUPTI_DROPPED];
	total->dropped += c[KC_COUNT_DROPPED];
	total->after_end += c[KC_COUNT_AFTER_END];
	total->transfers_not_asked += c[KC_COUNT_TRANSFERS_NOT_ASKED];
	add_not_asked(total, c);
	total->captured += c[KC_COUNT_CAPTURED];
	total->calls += c[KC_COUNT_CALLS];
	total->graph_launches += c[KC_COUNT_GRAPH_LAUNCHES];
	total->graphs_unknown += c[KC_COUNT_GRAPHS_UNKNOWN];
	total->routed_by_name += c[KC_COUNT_ROUTED_BY_NAME];
	total->left_unhooked += c[KC_COUNT_LEFT_UNHOOKED];
	total->loads_unseen += c[KC_COUNT_LOADS_UNSEEN];
	total->transfer_records += c[KC_COUNT_TRANSFER_RECORDS];
	total->transfer_unmatched += c[KC_COUNT_TRANSFER_UNMATCHED];
	total->graphs_unmatched += c[KC_COUNT_GRAPH_UNMATCHED];
	total->transfers_dropped += c[KC_COUNT_TRANSFERS_DROPPED];
	total->events_dropped += c[KC_COUNT_EVENTS_DROPPED];
	add_dropped_calls(total, c);
	memset(one, 0, sizeof(*one));
	memset(sums->counters, 0, sizeof(sums->counters));
}

static int add_item(sqlite3_stmt *row, void *arg)
{
	struct process_sums *sums = arg;
	const char *item = (const char *)sqlite3_column_text(row, 1);
	const char *reason = (const char *)sqlite3_column_text(row, 2);
	uint64_t count = (uint64_t)sqlite3_column_int64(row, 3), *field;

	if (!item || !reason)
		return -EBADMSG;
	if (sqlite3_column_int64(row, 0) != sums->process)
		close_process(sums);
	sums->process = sqlite3_column_int64(row, 0);
	field = field_of(&sums->one, item, reason);
	if (field) {
		*field += count;
		*field_of(sums->total, item, reason) += count;
		return 0;
	}
	for (uint32_t i = 0; i < KC_COUNTERS; i++) {
		if (!strcmp(item, kc_counter_name(i)))
			sums->counters[i] = count;
	}
	return 0;
}

int kc__ledger_load(struct kc_store *s, const struct kc_selection *selection, struct kc_ledger *ledger)
{
	struct process_sums sums = {.total = ledger};
	int rc =
	    kc__select(s, selection,
		       "SELECT l.process, l.item, l.reason, l.count FROM process p JOIN ledger l ON l.process = p.id"
		       " WHERE p.run BETWEEN ?1 AND ?2 ORDER BY l.process",
		       add_item, &sums);

	if (rc)
		return rc;
	close_process(&sums);
	for (uint32_t i = 1; i < KC_UNPREDICTABLE_COUNT; i++)
		ledger->unpredictable_total += ledger->unpredictable[i];
	for (uint32_t i = 1; i < KC_UNMEASURED_COUNT; i++)
		ledger->unmeasured_total += ledger->unmeasured[i];
	return 0;
}

int kc_ledger_adds_up(const struct kc_ledger *l)
{
	return l->launches == l->predicted + l->unpredictable_total &&
	       l->predicted == l->matched + l->unmeasured_total + l->awaited && l->measured >= l->matched &&
	       l->cupti_records == l->measured + l->unmatched + l->records_awaited;
}

static int add_process(sqlite3_stmt *row, void *arg)
{
	struct kc_process_row *p = kc__list_add(arg, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->id = sqlite3_column_int64(row, 0);
	p->run = sqlite3_column_int64(row, 1);
	p->pid = (uint32_t)sqlite3_column_int64(row, 2);
	p->started_unix_ns = sqlite3_column_int64(row, 3);
	p->duration_ns = sqlite3_column_int64(row, 4);
	p->simulated = sqlite3_column_int(row, 5);
	p->launches = (uint64_t)sqlite3_column_int64(row, 6);
	p->command_line = kc__column_text(row, 7);
	p->ended = kc__column_text(row, 8);
	p->measure = kc__column_text(row, 9);
	p->name = kc__column_text(row, 10);
	p->host = kc__column_text(row, 11);
	p->container = kc__column_text(row, 12);
	p->visible_devices = kc__column_text(row, 13);
	p->job = kc__column_text(row, 14);
	p->rank = sqlite3_column_int64(row, 15);
	p->local_rank = sqlite3_column_int64(row, 16);
	p->world_size = sqlite3_column_int64(row, 17);
	p->gpus = kc__column_text(row, 18);
	return p->command_line && p->ended && p->measure && p->name && p->host && p->container && p->visible_devices &&
		       p->job && p->gpus
		   ? 0
		   : -ENOMEM;
}

int kc__processes_load(struct kc_store *s, struct kc_report *report)
{
	struct kc__list list = {0};
	int rc = kc__select(s, &report->selection,
			    "SELECT id, run, pid, started_unix_ns, coalesce(ended_ns - started_ns, 0), simulated,"
			    " coalesce((SELECT count FROM ledger WHERE process = p.id AND item = 'launches'"
			    " AND reason = ''), 0), command_line, ended, measure, " KC__PROCESS_NAME ", host,"
			    " container, visible_devices, job, coalesce(rank, -1), coalesce(local_rank, -1),"
			    " coalesce(world_size, -1), " KC__GPU_NUMBERS " FROM process p"
			    " WHERE run BETWEEN ?1 AND ?2 ORDER BY run, rank IS NULL, rank, id",
			    add_process, &list);

	report->processes = list.at;
	report->process_count = list.count;
	for (size_t i = 0; i < list.count; i++)
		report->simulated |= report->processes[i].simulated;
	return rc;
}

static double mean_at(sqlite3_stmt *row, int i)
{
	return sqlite3_column_type(row, i) == SQLITE_NULL ? NAN : sqlite3_column_double(row, i);
}

static int add_graph(sqlite3_stmt *row, void *arg)
{
	struct kc_graph_row *g = kc__list_add(arg, sizeof(*g));

	if (!g)
		return -ENOMEM;
	*g = (struct kc_graph_row){
	    .kernels = (uint64_t)sqlite3_column_int64(row, 0),
	    .launches = (uint64_t)sqlite3_column_int64(row, 1),
	    .measured = (uint64_t)sqlite3_column_int64(row, 2),
	    .mean_predicted_ns = mean_at(row, 3),
	    .mean_measured_ns = mean_at(row, 4),
	    .error = mean_at(row, 5),
	};
	return 0;
}

/* The number of kernels is in the row that the launch refers to by its sequence number. Damaged times count as none. */
int kc__graphs_load(struct kc_store *s, struct kc_report *report)
{
	struct kc__list list = {0};
	int rc = kc__select(
	    s, &report->selection,
	    "WITH g AS (SELECT (SELECT k.ns FROM stream_call k WHERE k.id = ((c.id >> 40) << 40 | c.ns) AND k.kind = 8 "
	    "AND k.ns > 0)"
	    " AS kernels, c.measured_end_ns NOT NULL AS measured, CAST(c.end_ns AS REAL) - c.start_ns AS predicted,"
	    " CASE WHEN c.measured_end_ns > c.measured_start_ns THEN CAST(c.measured_end_ns AS REAL) -"
	    " c.measured_start_ns END AS took FROM process p JOIN stream_call c ON c.id BETWEEN p.id << 40 AND"
	    " (p.id << 40 | ((1 << 40) - 1)) WHERE p.run BETWEEN ?1 AND ?2 AND c.kind = 9 AND c.graph_launch NOT NULL)"
	    " SELECT coalesce(kernels, 0), count(*), sum(measured), avg(CASE WHEN took > 0 THEN predicted END),"
	    " avg(CASE WHEN predicted NOT NULL THEN took END),"
	    " sum(abs(predicted - took)) / sum(CASE WHEN predicted NOT NULL THEN took END)"
	    " FROM g GROUP BY 1 ORDER BY total(took) DESC, 1",
	    add_graph, &list);

	report->graphs = list.at;
	report->graph_count = list.count;
	return rc;
}

static int add_message(sqlite3_stmt *row, void *arg)
{
	struct kc_message_row *m = kc__list_add(arg, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->process = sqlite3_column_int64(row, 0);
	m->severity = (uint32_t)sqlite3_column_int64(row, 1);
	m->code = kc__column_text(row, 2);
	m->text = kc__column_text(row, 3);
	m->count = (uint64_t)sqlite3_column_int64(row, 4);
	return m->code && m->text ? 0 : -ENOMEM;
}

/* Each row of a code holds the count so far, so the last row of a process and code is the one to show (beside max(), a
 * bare column has the value of that row). Torn entries and full tables have one row each. */
int kc__messages_load(struct kc_store *s, struct kc_report *report)
{
	struct kc__list list = {0};
	int rc = kc__select(s, &report->selection,
			    "SELECT m.process, m.severity, m.code, m.text,"
			    " CASE m.code WHEN 'TORN' THEN sum(m.count) ELSE m.count END, max(m.id)"
			    " FROM message m JOIN process p ON p.id = m.process WHERE p.run BETWEEN ?1 AND ?2"
			    " GROUP BY m.process, m.code, CASE m.code WHEN 'TABLE_FULL' THEN m.text END"
			    " ORDER BY m.severity DESC, m.process, m.code, max(m.id)",
			    add_message, &list);

	report->messages = list.at;
	report->message_count = list.count;
	return rc;
}

const struct kc_device_row *kc_report_device(const struct kc_report *report, int64_t id)
{
	for (size_t i = 0; i < report->device_count; i++)
		if (report->devices[i].id == id)
			return report->devices + i;
	return NULL;
}
