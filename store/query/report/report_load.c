#include "store/common/growing.h"
#include "store/common/ids/ids.h"
#include "store/query/names.h"
#include "kernel_class.h"
#include "report_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct by_id { /* groups by the id of a kernel, stream, model, case, process or device */
	struct kc_ids ids;
	struct kc__group **at; /* by the number of the id */
	size_t capacity;
};

struct loading {
	struct kc_report *report;
	struct kc_store *store;
	sqlite3_stmt *device_of; /* a stream */
	sqlite3_stmt *name_of;   /* a kernel */
	struct kc__group *all, *novelty[3], *overlap[KC_OVERLAPS], *overlapped;
	struct by_id kernels, streams, models, cases, ranks, gpus, classes;
	uint64_t concurrency[KC_CASES][KC_OVERLAPS];
};

static struct kc__group *group_of(struct by_id *groups, int64_t id)
{
	uint32_t number = kc_ids_number(&groups->ids, id);

	if (!number)
		return NULL;
	if (KC_ROOM(groups->at, groups->capacity, number))
		return NULL;
	if (!groups->at[number])
		groups->at[number] = calloc(1, sizeof(struct kc__group));
	return groups->at[number];
}

static int add_to(struct kc__group **group, const struct kc__rollup *rollup, const uint64_t *counts)
{
	if (!*group)
		*group = calloc(1, sizeof(**group));
	return *group ? kc__group_add(*group, rollup, counts) : -ENOMEM;
}

static int add_to_id(struct by_id *groups, int64_t id, const struct kc__rollup *rollup, const uint64_t *counts)
{
	struct kc__group *group = group_of(groups, id);

	return group ? kc__group_add(group, rollup, counts) : -ENOMEM;
}

/* Launches without a prediction have no model, case or novelty. */
static int add_predicted(struct loading *l, const struct kc__rollup *rollup, const uint64_t *counts)
{
	const struct kc__rollup_key *key = &rollup->key;
	int rc;

	if (key->model == KC_MODEL_NONE || key->novelty > KC_REPEATED || key->concurrency_case >= KC_CASES)
		return 0;
	rc = add_to(&l->novelty[key->novelty], rollup, counts);
	if (rc == 0)
		rc = add_to_id(&l->models, key->model, rollup, counts);
	if (rc == 0)
		rc = add_to_id(&l->cases, key->concurrency_case, rollup, counts);
	l->concurrency[key->concurrency_case][key->overlap] += rollup->sums.matched;
	return rc;
}

/* The row id of a stream's device; 0: not known. */
static int64_t device_of(struct loading *l, int64_t stream)
{
	int64_t device = 0;

	if (!l->device_of)
		sqlite3_prepare_v2(l->store->db, "SELECT device FROM stream WHERE id = ?1", -1, &l->device_of, NULL);
	sqlite3_bind_int64(l->device_of, 1, stream);
	if (sqlite3_step(l->device_of) == SQLITE_ROW)
		device = sqlite3_column_int64(l->device_of, 0);
	sqlite3_reset(l->device_of);
	return device;
}

/* A kernel's class is made once, as its name may be long. */
static int add_to_class(struct loading *l, const struct kc__rollup *rollup, const uint64_t *counts)
{
	struct kc__group *kernel = group_of(&l->kernels, rollup->key.kernel);
	char *name;

	if (!kernel->has_class) {
		if (!l->name_of)
			sqlite3_prepare_v2(l->store->db, "SELECT name FROM kernel WHERE id = ?1", -1, &l->name_of,
					   NULL);
		name = kc__row_name(l->name_of, rollup->key.kernel);
		if (!name)
			return -ENOMEM;
		kernel->kernel_class = kc_kernel_class_of(name);
		kernel->has_class = 1;
		free(name);
	}
	return add_to_id(&l->classes, kernel->kernel_class, rollup, counts);
}

static int add_rollup(struct loading *l, const struct kc__rollup *rollup, const uint64_t *counts)
{
	const struct kc__rollup_key *key = &rollup->key;
	int rc;

	if (key->overlap >= KC_OVERLAPS)
		return -EBADMSG;
	rc = add_to(&l->all, rollup, counts);
	if (rc == 0)
		rc = add_to(&l->overlap[key->overlap], rollup, counts);
	if (rc == 0 && key->overlap >= KC_OVERLAP_BEHIND)
		rc = add_to(&l->overlapped, rollup, counts);
	if (rc == 0)
		rc = add_to_id(&l->kernels, key->kernel, rollup, counts);
	if (rc == 0)
		rc = add_to_class(l, rollup, counts);
	if (rc == 0)
		rc = add_to_id(&l->streams, key->stream, rollup, counts);
	if (rc == 0)
		rc = add_to_id(&l->ranks, key->process, rollup, counts);
	if (rc == 0)
		rc = add_to_id(&l->gpus, device_of(l, key->stream), rollup, counts);
	return rc ? rc : add_predicted(l, rollup, counts);
}

#define COLUMN(name) ", " #name

static int add_row(sqlite3_stmt *row, void *arg)
{
	uint64_t counts[KC_SKETCH_BUCKETS] = {0};
	struct kc__rollup rollup = {
	    .key =
		{
		    .run = sqlite3_column_int64(row, 0),
		    .process = sqlite3_column_int64(row, 8),
		    .kernel = sqlite3_column_int64(row, 1),
		    .stream = sqlite3_column_int64(row, 2),
		    .model = (uint32_t)sqlite3_column_int64(row, 3),
		    .concurrency_case = (uint32_t)sqlite3_column_int64(row, 4),
		    .novelty = (uint32_t)sqlite3_column_int64(row, 5),
		    .overlap = (uint32_t)sqlite3_column_int64(row, 6),
		},
	};
	kc__sums_read(&rollup.sums, row, 9);
	if (kc_sketch_add(counts, sqlite3_column_blob(row, 7), (size_t)sqlite3_column_bytes(row, 7)))
		return -EBADMSG;
	return add_rollup(arg, &rollup, counts);
}

static struct kc_accuracy accuracy_of(const struct kc__group *group)
{
	static const struct kc__group none;

	return kc__group_accuracy(group ? group : &none);
}

static void fill_slowdown(struct kc_slowdown_error *out, const struct kc__group *overlapped)
{
	*out = (struct kc_slowdown_error){
	    .mape = NAN, .mean_predicted = NAN, .mean_measured = NAN, .mape_waves = NAN, .mean_waves = NAN};
	if (!overlapped)
		return;
	out->n = overlapped->sums.slow_n;
	out->without = overlapped->sums.slow_without;
	if (!out->n)
		return;
	out->mape = overlapped->sums.slow_error_sum / (double)out->n;
	out->mean_predicted = overlapped->sums.slow_predicted_sum / (double)out->n;
	out->mean_measured = overlapped->sums.slow_measured_sum / (double)out->n;
	out->mape_waves = overlapped->sums.slow_waves_error_sum / (double)out->n;
	out->mean_waves = overlapped->sums.slow_waves_sum / (double)out->n;
}

/* 0 where a damaged database makes one of them infinite or NAN: qsort() needs numbers. */
static double share_of(double part, double whole)
{
	return isfinite(part) && isfinite(whole) ? part / whole : 0;
}

static void fill_group(struct kc_group *out, const struct kc__group *group, double all_measured_ns)
{
	const struct kc__sums *sums = &group->sums;

	out->launches = sums->launches;
	out->measured = sums->measured;
	out->time_share = all_measured_ns > 0 ? share_of(sums->measured_ns, all_measured_ns) : 0;
	out->mean_measured_ns = sums->measured ? sums->measured_ns / (double)sums->measured : NAN;
	out->mean_predicted_ns = sums->matched ? sums->predicted_ns / (double)sums->matched : NAN;
	out->accuracy = kc__group_accuracy(group);
}

int kc__by_time(const void *a, const void *b)
{
	const struct kc_group *x = a, *y = b;

	if (x->time_share != y->time_share)
		return x->time_share < y->time_share ? 1 : -1;
	if (x->launches != y->launches)
		return x->launches < y->launches ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

static int fill_groups(struct kc_groups *out, const struct by_id *groups, double all_measured_ns, int with_hints)
{
	struct kc__list list = {0};

	for (size_t i = 0; i < groups->ids.capacity; i++) {
		const struct kc_id *id = &groups->ids.slots[i];
		const struct kc__group *from = groups->at[id->number];
		struct kc_group *group;

		if (!id->number)
			continue;
		group = kc__list_add(&list, sizeof(*group));
		if (!group) {
			free(list.at);
			return -ENOMEM;
		}
		group->id = id->id;
		fill_group(group, from, all_measured_ns);
		group->kernel_class = from->kernel_class;
		if (with_hints)
			group->hints = kc__group_hints(from, &group->accuracy);
	}
	if (list.count)
		qsort(list.at, list.count, sizeof(struct kc_group), kc__by_time);
	out->at = list.at;
	out->count = list.count;
	return 0;
}

static int fill_report(struct loading *l)
{
	struct kc_report *r = l->report;
	int rc;

	r->work_ns = NAN;
	r->measured_ns = l->all ? l->all->sums.measured_ns : 0;
	r->all = accuracy_of(l->all);
	for (int i = 0; i < 3; i++)
		r->novelty[i] = accuracy_of(l->novelty[i]);
	r->solo = accuracy_of(l->overlap[KC_OVERLAP_NONE]);
	r->behind = accuracy_of(l->overlap[KC_OVERLAP_BEHIND]);
	r->overtaken = accuracy_of(l->overlap[KC_OVERLAP_OVERTAKEN]);
	r->overlapped = accuracy_of(l->overlapped);
	memcpy(r->concurrency, l->concurrency, sizeof(r->concurrency));
	fill_slowdown(&r->slowdown, l->overlapped);
	rc = fill_groups(&r->kernels, &l->kernels, r->measured_ns, 1);
	if (rc == 0)
		rc = fill_groups(&r->streams, &l->streams, r->measured_ns, 0);
	if (rc == 0)
		rc = fill_groups(&r->models, &l->models, r->measured_ns, 0);
	if (rc == 0)
		rc = fill_groups(&r->cases, &l->cases, r->measured_ns, 0);
	if (rc == 0)
		rc = fill_groups(&r->ranks, &l->ranks, r->measured_ns, 0);
	if (rc == 0)
		rc = fill_groups(&r->gpus, &l->gpus, r->measured_ns, 0);
	if (rc == 0)
		rc = fill_groups(&r->classes, &l->classes, r->measured_ns, 0);
	return rc;
}

static void clear_group(struct kc__group *group)
{
	if (group)
		kc__group_clear(group);
	free(group);
}

static void clear_ids(struct by_id *groups)
{
	for (size_t i = 0; i < groups->capacity; i++)
		clear_group(groups->at[i]);
	free(groups->at);
	kc_ids_free(&groups->ids);
}

static void clear_loading(struct loading *l)
{
	clear_group(l->all);
	clear_group(l->overlapped);
	for (int i = 0; i < 3; i++)
		clear_group(l->novelty[i]);
	for (unsigned i = 0; i < KC_OVERLAPS; i++)
		clear_group(l->overlap[i]);
	clear_ids(&l->kernels);
	clear_ids(&l->streams);
	clear_ids(&l->models);
	clear_ids(&l->cases);
	clear_ids(&l->ranks);
	clear_ids(&l->gpus);
	clear_ids(&l->classes);
	sqlite3_finalize(l->device_of);
	sqlite3_finalize(l->name_of);
}

static int load_exact(struct kc_store *s, struct loading *l, struct kc_filter *filter, struct kc__rollups *rollups)
{
	int rc = kc__scan(s, &l->report->selection, filter, rollups);

	for (size_t i = 0; rc == 0 && i < rollups->count; i++)
		rc = add_rollup(l, rollups->at[i], NULL);
	return rc;
}

static int load_groups(struct kc_store *s, struct kc_filter *filter, struct kc_report *report)
{
	struct loading l = {.report = report, .store = s};
	struct kc__rollups rollups = {0};
	int rc;

	if (report->exact)
		rc = load_exact(s, &l, filter, &rollups);
	else
		rc = kc__select(s, &report->selection,
				"SELECT run, kernel, stream, model, concurrency_case, novelty, overlap, sketch, "
				"process" KC__COUNT_SUMS(COLUMN)
				    KC__REAL_SUMS(COLUMN) " FROM rollup WHERE run BETWEEN ?1 AND ?2",
				add_row, &l);
	if (rc == 0)
		rc = fill_report(&l);
	clear_loading(&l);
	kc__rollups_clear(&rollups);
	return rc;
}

static int load_devices(struct kc_store *s, struct kc_report *report)
{
	int rc = kc__query_devices_of(s, &report->selection, &report->devices, &report->device_count);

	for (size_t i = 0; rc == 0 && i < report->device_count; i++)
		rc = kc_gpu_name(s, &report->selection, report->devices[i].id, report->devices[i].gpu);
	return rc;
}

static int name_groups(struct kc_store *s, struct kc_report *report);

int kc__report_of(struct kc_store *s, const struct kc__rollups *rollups, struct kc_report *report)
{
	struct loading l = {.report = report, .store = s};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < rollups->count; i++) {
		uint64_t counts[KC_SKETCH_BUCKETS];

		for (uint32_t k = 0; k < KC_SKETCH_BUCKETS; k++)
			counts[k] = kc_sketch_counted(&rollups->at[i]->sketch, k);
		rc = add_rollup(&l, rollups->at[i], counts);
	}
	if (rc == 0)
		rc = fill_report(&l);
	clear_loading(&l);
	if (rc == 0)
		rc = kc__processes_load(s, report);
	if (rc == 0)
		rc = load_devices(s, report);
	return rc ? rc : name_groups(s, report);
}

char *kc__row_name(sqlite3_stmt *row, int64_t id)
{
	char *name = NULL;

	sqlite3_bind_int64(row, 1, id);
	if (sqlite3_step(row) == SQLITE_ROW)
		name = kc__column_text(row, 0);
	sqlite3_reset(row);
	return name ? name : strdup("unknown");
}

static int name_rows(struct kc_store *s, struct kc_groups *groups, const char *sql)
{
	sqlite3_stmt *row = NULL;
	int rc = kc__errno(s->db, sqlite3_prepare_v2(s->db, sql, -1, &row, NULL));

	for (size_t i = 0; rc == 0 && i < groups->count; i++) {
		groups->at[i].name = kc__row_name(row, groups->at[i].id);
		if (!groups->at[i].name)
			rc = -ENOMEM;
	}
	sqlite3_finalize(row);
	return rc;
}

static int name_constants(struct kc_groups *groups, const char *(*name)(uint32_t))
{
	for (size_t i = 0; i < groups->count; i++) {
		groups->at[i].name = strdup(name((uint32_t)groups->at[i].id));
		if (!groups->at[i].name)
			return -ENOMEM;
	}
	return 0;
}

/* For kernels that were launched at new sizes, or perhaps with other arguments: at random, or growing ones, so that
 * what was measured always lags behind. Where the code was read, both are known and predicted. */
enum { OF_UNKNOWN_WORK = KC_HINT_NEW_SIZES | KC_HINT_VARYING | KC_HINT_LOW | KC_HINT_HIGH };
static int hint_at_code(struct kc_store *s, struct kc_groups *kernels)
{
	sqlite3_stmt *row = NULL;
	int rc =
	    kc__errno(s->db, sqlite3_prepare_v2(s->db, "SELECT 1 FROM kernel WHERE id = ?1 AND code NOT GLOB 'read*'",
						-1, &row, NULL));

	for (size_t i = 0; rc == 0 && i < kernels->count; i++) {
		sqlite3_bind_int64(row, 1, kernels->at[i].id);
		if (kernels->at[i].hints & OF_UNKNOWN_WORK && sqlite3_step(row) == SQLITE_ROW)
			kernels->at[i].hints |= KC_HINT_NO_CODE;
		sqlite3_reset(row);
	}
	sqlite3_finalize(row);
	return rc;
}

static int name_gpus(struct kc_store *s, const struct kc_selection *selection, struct kc_groups *gpus)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < gpus->count; i++) {
		char name[KC_GPU_NAME_BYTES];

		rc = kc_gpu_name(s, selection, gpus->at[i].id, name);
		gpus->at[i].name = strdup(*name ? name : "unknown");
		if (rc == 0 && !gpus->at[i].name)
			rc = -ENOMEM;
	}
	return rc;
}

static int name_groups(struct kc_store *s, struct kc_report *report)
{
	enum kc_stream_naming naming = report->process_count > 1 ? KC_STREAM_OF_RUN : KC_STREAM_OF_PROCESS;
	int rc = name_rows(s, &report->kernels, "SELECT name FROM kernel WHERE id = ?1");

	if (rc == 0)
		rc = kc__kernels_tell_apart(s, &report->kernels);
	if (rc == 0)
		rc = hint_at_code(s, &report->kernels);
	if (rc == 0)
		rc = name_rows(s, &report->streams, kc__stream_name_sql(naming));
	if (rc == 0)
		rc = name_rows(s, &report->ranks, "SELECT " KC__PROCESS_NAME " FROM process p WHERE p.id = ?1");
	if (rc == 0)
		rc = name_gpus(s, &report->selection, &report->gpus);
	if (rc == 0)
		rc = name_constants(&report->models, kc_model_name);
	if (rc == 0)
		rc = name_constants(&report->classes, kc_kernel_class_name);
	return rc ? rc : name_constants(&report->cases, kc_case_name);
}

static int load(struct kc_store *s, struct kc_filter *filter, struct kc_report *report)
{
	int rc = load_groups(s, filter, report);

	if (rc == 0)
		rc = kc__ledger_load(s, &report->selection, &report->ledger);
	if (rc == 0)
		rc = kc__processes_load(s, report);
	if (rc == 0)
		rc = kc__messages_load(s, report);
	if (rc == 0 && report->ledger.graphs_whole)
		rc = kc__graphs_load(s, report);
	if (rc == 0)
		rc = load_devices(s, report);
	return rc ? rc : name_groups(s, report);
}

static int report_of(struct kc_store *s, const struct kc_selection *selection, int exact, struct kc_filter *filter,
		     struct kc_report **out)
{
	struct kc_report *report = calloc(1, sizeof(*report));
	int rc;

	*out = NULL;
	if (!report)
		return -ENOMEM;
	report->selection = *selection;
	report->exact = exact;
	/* From one snapshot, as a process may be writing. */
	rc = kc__errno(s->db, sqlite3_exec(s->db, "BEGIN", NULL, NULL, NULL));
	if (rc == 0) {
		rc = load(s, filter, report);
		sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL);
	}
	if (rc) {
		kc_report_free(report);
		return rc;
	}
	*out = report;
	return 0;
}

int kc_query_report(struct kc_store *s, const struct kc_selection *selection, int exact, struct kc_report **out)
{
	return report_of(s, selection, exact, NULL, out);
}

int kc_query_report_matching(struct kc_store *s, const struct kc_selection *selection, struct kc_filter *filter,
			     struct kc_report **out)
{
	return report_of(s, selection, 1, filter, out);
}

void kc_process_row_clear(struct kc_process_row *row)
{
	free(row->name);
	free(row->command_line);
	free(row->host);
	free(row->container);
	free(row->visible_devices);
	free(row->job);
	free(row->gpus);
	free(row->ended);
	free(row->measure);
}

static void free_groups(struct kc_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		free(groups->at[i].name);
	free(groups->at);
}

void kc_report_free(struct kc_report *report)
{
	if (!report)
		return;
	free_groups(&report->kernels);
	free_groups(&report->models);
	free_groups(&report->streams);
	free_groups(&report->cases);
	free_groups(&report->ranks);
	free_groups(&report->gpus);
	free_groups(&report->classes);
	for (size_t i = 0; i < report->process_count; i++)
		kc_process_row_clear(report->processes + i);
	for (size_t i = 0; i < report->message_count; i++) {
		free(report->messages[i].code);
		free(report->messages[i].text);
	}
	free(report->processes);
	free(report->messages);
	free(report->graphs);
	free(report->devices);
	free(report);
}
