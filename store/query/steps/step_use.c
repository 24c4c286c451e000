#include "step_use.h"
#include "known_steps.h"
#include "steps.h"

#include "predictor/prior/kernel_name.h"
#include "store/common/ids/ids.h"
#include "store/database/internal.h"
#include "store/query/names.h"
#include "store/query/report/activity.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What kc_filter_row() takes comes first. */
#define LAUNCHES                                                                                                       \
	"SELECT r.id >> ?3, r.stream, s.kernel, r.launched, r.measured_span, s.device, r.id, r.measured_wait, r.span," \
	" r.flags FROM launch_row r LEFT JOIN shape s ON s.id = r.shape WHERE r.id BETWEEN ?1 AND ?2"
#define TRANSFERS                                                                                                      \
	"SELECT t.process, t.stream, 0, t.launched_ns - p.started_ns, t.measured_end_ns - t.measured_start_ns,"        \
	" coalesce(t.device, s.device), 0, t.measured_start_ns - t.launched_ns FROM transfer t"                        \
	" JOIN process p ON p.id = t.process LEFT JOIN stream s ON s.id = t.stream"                                    \
	" WHERE t.id BETWEEN ?1 AND ?2 AND p.id = ?1 >> ?3 AND t.measured_end_ns NOT NULL"

struct reader {
	struct kc_store *store;
	struct kc_filter *filter;
	struct kc_steps told;         /* by the runs */
	size_t taken;                 /* of these, into `steps` */
	struct kc_steps steps;        /* told or found */
	struct kc_steps inner;        /* what is nested in `steps` */
	struct kc__list searches;     /* struct kc_step_search, by process */
	struct kc__list uses;         /* struct kc_step_use: those of `steps`, then one for each process */
	struct kc_ids kernels;        /* a number less 1 is a place in `communicates` */
	struct kc__list communicates; /* char */
	struct kc_ids devices;        /* of a step: key_of() */
	struct kc__list of;           /* size_t: the place in `uses` of each of these, by its number less 1 */
	struct kc__list intervals;    /* of the process that is being read */
	sqlite3_stmt *launches, *transfers, *kernel;
	uint64_t most, left; /* rows that may be read each time, and now still */
};

static int communicates(struct reader *r, int64_t kernel, uint32_t *out)
{
	struct kc_name_traits traits = {0};
	uint32_t number = kc_ids_number(&r->kernels, kernel);
	char *known;

	if (!number)
		return -ENOMEM;
	if (number > r->communicates.count) {
		known = kc__list_add(&r->communicates, sizeof(*known));
		if (!known)
			return -ENOMEM;
		sqlite3_bind_int64(r->kernel, 1, kernel);
		if (sqlite3_step(r->kernel) == SQLITE_ROW && sqlite3_column_text(r->kernel, 0))
			kc_name_read(&traits, (const char *)sqlite3_column_text(r->kernel, 0));
		sqlite3_reset(r->kernel);
		*known = traits.family == KC_FAMILY_WAITING;
	}
	*out = (uint32_t)((const char *)r->communicates.at)[number - 1];
	return 0;
}

/* The place of a launch in `uses`. */
static size_t place_of(const struct reader *r, size_t outside, int64_t process, int64_t launched_ns)
{
	const struct kc_step *step = kc_steps_find(&r->steps, process, launched_ns);

	return step ? (size_t)(step - kc_step_at(&r->steps, 0)) : outside;
}

/* The number of a device in a step, which is that of a GPU's time there. */
static int device_in(struct reader *r, size_t place, int64_t device, uint32_t *out)
{
	size_t *of;

	*out = kc_ids_number(&r->devices, (int64_t)((uint64_t)place << 32 | (uint32_t)device));
	if (!*out)
		return -ENOMEM;
	if (*out > r->of.count) {
		of = kc__list_add(&r->of, sizeof(*of));
		if (!of)
			return -ENOMEM;
		*of = place;
	}
	return 0;
}

/* An impossible measurement counts as none. */
static int add_interval(struct reader *r, size_t place, sqlite3_stmt *row, uint32_t is_copy, uint32_t does_communicate)
{
	struct kc_interval *kept, interval = {.is_copy = is_copy != 0, .communicates = does_communicate != 0};
	int64_t ns = sqlite3_column_int64(row, 4);
	uint32_t device;
	int rc = device_in(r, place, sqlite3_column_int64(row, 5), &device);

	interval.launched_ns = sqlite3_column_int64(row, 3);
	interval.start_ns = kc_plus_ns(interval.launched_ns, sqlite3_column_int64(row, 7));
	interval.end_ns = kc_plus_ns(interval.start_ns, ns);
	if (rc || interval.start_ns < KC_INTERVAL_FIRST_NS || interval.end_ns > KC_INTERVAL_LAST_NS)
		return rc;
	kept = kc__list_add(&r->intervals, sizeof(*kept));
	if (!kept)
		return -ENOMEM;
	*kept = interval;
	kept->device = device;
	return 0;
}

/* An impossible prediction counts as none. */
static void add_predicted(struct kc_step_use *use, sqlite3_stmt *row, int64_t measured_ns)
{
	int64_t ns = sqlite3_column_int64(row, 8);

	if (KC_FLAG(sqlite3_column_int64(row, 9), UNPREDICTABLE) != KC_PREDICTED ||
	    sqlite3_column_type(row, 8) == SQLITE_NULL || ns < 0 || ns > KC_MEASURED_MAX_NS)
		return;
	use->matched++;
	use->predicted_ns += (double)ns;
	use->matched_ns += (double)measured_ns;
}

static int add_row(struct reader *r, size_t outside, sqlite3_stmt *row, int is_copy)
{
	int is_measured = sqlite3_column_type(row, 4) != SQLITE_NULL, matches = kc_filter_row(r->filter, row, 0),
	    rc = 0;
	size_t place = place_of(r, outside, sqlite3_column_int64(row, 0), sqlite3_column_int64(row, 3));
	struct kc_step_use *use = (struct kc_step_use *)r->uses.at + place;
	int64_t ns = sqlite3_column_int64(row, 4);
	uint32_t does_communicate = 0;

	if (!r->left)
		return -E2BIG;
	r->left--;
	if (matches <= 0)
		return matches;
	use->launches += !is_copy;
	if (!is_measured || ns < 0 || ns > KC_MEASURED_MAX_NS)
		return 0;
	use->measured += !is_copy;
	use->copies += is_copy != 0;
	use->measured_ns += is_copy ? 0 : (double)ns;
	if (!is_copy)
		add_predicted(use, row, ns);
	if (!is_copy)
		rc = communicates(r, sqlite3_column_int64(row, 2), &does_communicate);
	return rc ? rc : add_interval(r, place, row, is_copy != 0, does_communicate);
}

static int read_rows(struct reader *r, size_t outside, int64_t process, sqlite3_stmt *rows, int is_copy)
{
	int rc = SQLITE_DONE, failed = 0;

	sqlite3_bind_int64(rows, 1, process << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(rows, 2, process << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	sqlite3_bind_int(rows, 3, KC_SEQUENCE_BITS);
	while (!failed && (rc = sqlite3_step(rows)) == SQLITE_ROW)
		failed = add_row(r, outside, rows, is_copy);
	sqlite3_reset(rows);
	return failed ? failed : kc__errno(r->store->db, rc);
}

/* The process's intervals, which are of one clock. */
static int add_up(struct reader *r)
{
	struct kc_time_sums sums = {.gaps = {.kept = 0}};
	int rc = kc_time_sums_add(&sums, r->intervals.at, r->intervals.count);

	for (uint32_t i = 0; rc == 0 && i < r->of.count; i++) {
		struct kc_time_use time = kc_time_use_of_device(&sums, i + 1);
		struct kc_step_use *use = (struct kc_step_use *)r->uses.at + ((const size_t *)r->of.at)[i];

		use->busy_ns += (double)time.busy_ns;
		use->exposed_ns += (double)time.exposed_ns;
	}
	kc_time_sums_free(&sums);
	kc_ids_clear(&r->devices);
	r->intervals.count = r->of.count = 0;
	return rc;
}

static int read_process(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int64_t id = sqlite3_column_int64(process, 0);
	struct kc_step_use *outside;
	size_t place = r->uses.count;
	int rc;

	if (id < 1 || id > KC_PROCESS_MAX)
		return 0;
	outside = kc__list_add(&r->uses, sizeof(*outside));
	if (!outside)
		return -ENOMEM;
	*outside = (struct kc_step_use){.process = id, .number = -1, .at_ns = NAN, .time_ns = NAN};
	rc = read_rows(r, place, id, r->launches, 0);
	if (rc == 0)
		rc = read_rows(r, place, id, r->transfers, 1);
	return rc ? rc : add_up(r);
}

static int prepare(struct reader *r)
{
	sqlite3 *db = r->store->db;
	int rc = sqlite3_prepare_v2(db, LAUNCHES, -1, &r->launches, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, TRANSFERS, -1, &r->transfers, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db, "SELECT name FROM kernel WHERE id = ?1", -1, &r->kernel, NULL);
	return kc__errno(db, rc);
}

/* A row in `uses` for each step, in the same order. */
static int begin_steps(struct reader *r)
{
	for (size_t i = 0; i < r->steps.all.count; i++) {
		const struct kc_step *step = kc_step_at(&r->steps, i);
		struct kc_step_use *use = kc__list_add(&r->uses, sizeof(*use));

		if (!use)
			return -ENOMEM;
		use->process = step->process;
		use->number = step->number;
		use->at_ns = (double)step->start_ns;
		use->time_ns = kc_step_time(step);
	}
	return 0;
}

/* NULL: its run tells steps. */
static const struct kc_step_search *search_of(const struct kc_steps_report *report, int64_t process)
{
	for (size_t i = 0; i < report->search_count; i++)
		if (report->searches[i].process == process)
			return &report->searches[i];
	return NULL;
}

static int name_use(const struct kc_steps_report *report, struct kc_store *store, int with_process, int is_inner,
		    struct kc_step_use *use)
{
	const struct kc_step_search *search = search_of(report, use->process);
	int is_nested = search && search->verdict == KC_STEPS_NESTED;
	char process[KC_PROCESS_NAME_BYTES] = "", step[48] = "outside of steps";
	int64_t pid;
	int rc = with_process ? kc_process_name(store, use->process, &pid, process) : 0;

	use->is_found = search != NULL;
	use->is_inner = is_inner;
	if (!use->matched)
		use->matched_ns = use->predicted_ns = NAN;
	use->predicted_off = (use->predicted_ns - use->matched_ns) / use->matched_ns;
	if (use->number >= 0)
		snprintf(step, sizeof(step), "%s %lld",
			 kc_step_word(is_nested ? KC_STEPS_ARE_NESTED : KC_STEPS_ARE_FOUND,
				      is_inner ? KC_STEP_INNER : KC_STEP_OUTER),
			 (long long)use->number);
	if (rc == 0 && asprintf(&use->name, "%s%s%s", process, *process ? ", " : "", step) < 0)
		rc = -ENOMEM;
	return rc;
}

/* Without what nothing was launched in, of steps only where there is a filter; of inner repeats without what is in
 * none.
 */
static int take(struct reader *r, int with_processes, int is_inner, struct kc_steps_report *out)
{
	struct kc_step_use *use = r->uses.at, *all = realloc(out->at, (out->count + r->uses.count + 1) * sizeof(*all));
	int rc = 0;

	if (!all)
		return -ENOMEM;
	out->at = all;
	for (size_t i = 0; rc == 0 && i < r->uses.count; i++, use++) {
		if (!use->launches && !use->copies && (r->filter || use->number < 0))
			continue;
		if (is_inner && use->number < 0)
			continue;
		rc = name_use(out, r->store, with_processes, is_inner, use);
		if (rc == 0)
			out->at[out->count++] = *use;
	}
	return rc;
}

static void close_reader(struct reader *r)
{
	sqlite3_finalize(r->launches);
	sqlite3_finalize(r->transfers);
	sqlite3_finalize(r->kernel);
	kc_steps_free(&r->told);
	kc_steps_free(&r->steps);
	kc_steps_free(&r->inner);
	free(r->searches.at);
	kc_ids_free(&r->kernels);
	kc_ids_free(&r->devices);
	free(r->uses.at);
	free(r->communicates.at);
	free(r->of.at);
	free(r->intervals.at);
}

/* Processes come in the order of their steps. */
static int take_told(struct reader *r, int64_t process)
{
	for (; r->taken < r->told.all.count && kc_step_at(&r->told, r->taken)->process <= process; r->taken++) {
		struct kc_step *step = kc__list_add(&r->steps.all, sizeof(*step));

		if (!step)
			return -ENOMEM;
		*step = *kc_step_at(&r->told, r->taken);
	}
	return 0;
}

static int find_steps(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int64_t id = sqlite3_column_int64(process, 0);
	struct kc_step_search *search;
	int told;

	if (id < 1 || id > KC_PROCESS_MAX)
		return 0;
	told = kc_steps_are_told(r->store, id);
	if (told)
		return told < 0 ? told : take_told(r, id);
	search = kc__list_add(&r->searches, sizeof(*search));
	return search ? kc_step_search(r->store, id, &r->left, &r->steps.all, &r->inner.all, search) : -ENOMEM;
}

#define PROCESSES "SELECT id FROM process WHERE run BETWEEN ?1 AND ?2 ORDER BY id"

/* Adds a row to the report for each of r->steps. */
static int use_steps(struct reader *r, const struct kc_report *report, int is_inner, struct kc_steps_report *out)
{
	int rc;

	r->uses.count = 0;
	r->left = r->most;
	rc = begin_steps(r);
	if (rc == 0)
		rc = kc__select(r->store, &report->selection, PROCESSES, read_process, r);
	return rc ? rc : take(r, report->process_count > 1, is_inner, out);
}

static int make(struct reader *r, const struct kc_report *report, int search, struct kc_steps_report *out)
{
	struct kc_steps outer;
	int rc = kc_steps_load(r->store, &report->selection, search ? &r->told : &r->steps);

	if (rc == 0 && search)
		rc = kc__select(r->store, &report->selection, PROCESSES, find_steps, r);
	out->searches = r->searches.at;
	out->search_count = r->searches.count;
	r->searches.at = NULL;
	out->has_steps = r->steps.all.count > 0;
	if (rc == 0 && out->has_steps)
		rc = prepare(r);
	if (rc == 0 && out->has_steps)
		rc = use_steps(r, report, 0, out);
	if (rc == 0 && r->inner.all.count) {
		outer = r->steps;
		r->steps = r->inner;
		r->inner = outer;
		rc = use_steps(r, report, 1, out);
	}
	return rc;
}

int kc_query_steps(struct kc_store *s, const struct kc_report *report, struct kc_filter *filter, int search,
		   struct kc_steps_report **out)
{
	uint64_t most = report->exact ? UINT64_MAX : KC_ACTIVITY_MOST;
	struct reader r = {.store = s, .filter = filter, .most = most, .left = most};
	struct kc_steps_report *made = calloc(1, sizeof(*made));
	int rc = made ? make(&r, report, search, made) : -ENOMEM;

	close_reader(&r);
	*out = NULL;
	if (rc == -E2BIG)
		made->too_many = 1;
	else if (rc) {
		kc_steps_report_free(made);
		return rc;
	}
	*out = made;
	return 0;
}

void kc_steps_report_free(struct kc_steps_report *steps)
{
	if (!steps)
		return;
	for (size_t i = 0; i < steps->count; i++)
		free(steps->at[i].name);
	free(steps->at);
	free(steps->searches);
	free(steps);
}
