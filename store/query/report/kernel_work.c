#include "kernel_work.h"
#include "activity.h"
#include "operator_limit.h"
#include "report_internal.h"

#include "predictor/code/counts.h"
#include "predictor/math/order.h"
#include "predictor/solo/resources/resources.h"
#include "store/common/ids/ids.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORK_MOST 65536 /* rows of a process; no process records more */
#define FLOP_MOST 1e23  /* of a launch: more than the fastest GPU does in a month */

/* A launch of this shape and these arguments. */
struct known {
	int64_t shape, arguments;
	double flop, bytes, limit_ns;
	uint32_t limit;
};

struct of_kernel {
	double limit_ns[KC_RESOURCE_COUNT];
	char type[24]; /* of the last operator's numbers, and what that and the kernel's name tell */
	enum kc_operator_units units;
};

struct reader {
	struct kc_store *store;
	struct kc_filter *filter;
	struct kc_report *report;
	struct kc_ids kernels; /* a number less 1 is the place of the group, and in `of` */
	struct of_kernel *of;
	sqlite3_stmt *work, *launches, *operators;
	struct kc__list known; /* of the process that is being read, by shape and arguments */
};

double kc_work_flop(const struct kc_counts *counts)
{
	const double *n = counts->of;

	return counts->threads *
	       (2 * n[KC_COUNT_OF_FMA] + n[KC_COUNT_OF_ADD] + n[KC_COUNT_OF_MUL] + 2 * n[KC_COUNT_OF_TENSOR]);
}

double kc_work_bytes(const struct kc_counts *counts)
{
	double once = counts->distinct_loaded_bytes + counts->distinct_stored_bytes;
	double asked = counts->threads * (counts->of[KC_COUNT_OF_BYTES_LOADED] + counts->of[KC_COUNT_OF_BYTES_STORED]);

	return once > 0 ? fmin(once, asked) : asked;
}

#define WORK                                                                                                           \
	"SELECT w.shape, w.arguments, w.counts, s.device, s.grid_x, s.grid_y, s.grid_z, s.block_x, s.block_y,"         \
	" s.block_z, s.dynamic_shared_bytes, s.blocks_per_sm, k.registers, k.static_shared_bytes, k.local_bytes,"      \
	" k.max_threads_per_block FROM work w JOIN shape s ON s.id = w.shape JOIN kernel k ON k.id = s.kernel"         \
	" WHERE w.process = ?1 ORDER BY w.shape, w.arguments LIMIT ?2"

/* Of what delivers so much per second: latency is no such limit. */
static uint32_t longest_of(const struct kc_resource_times *times)
{
	uint32_t longest = 0;

	for (uint32_t k = 0; k < KC_RESOURCE_COUNT; k++)
		if (k != KC_RESOURCE_LATENCY && times->ns[k] > times->ns[longest])
			longest = k;
	return longest;
}

/* 0; -ENODATA: the work, or what the GPU can do, is not known. */
static int read_known(const struct reader *r, sqlite3_stmt *row, struct known *out)
{
	const struct kc_device_row *on = kc_report_device(r->report, sqlite3_column_int64(row, 3));
	const struct kc_shape shape = {
	    .grid = {kc__column_u32(row, 4), kc__column_u32(row, 5), kc__column_u32(row, 6)},
	    .block = {kc__column_u32(row, 7), kc__column_u32(row, 8), kc__column_u32(row, 9)},
	    .dynamic_shared_bytes = kc__column_u32(row, 10),
	};
	const struct kc_resources resources = {kc__column_u32(row, 12), kc__column_u32(row, 13),
					       kc__column_u32(row, 14), kc__column_u32(row, 15)};
	struct kc_resource_times times;
	struct kc_counts counts;
	struct kc_work work;

	if (!on || kc__column_counts(row, 2, &counts) || !kc_counts_are_known(&counts) ||
	    kc_work_init(&work, &on->device, &resources, &shape, kc__column_u32(row, 11)) ||
	    kc_resource_times(&on->device, &work, &counts, &times))
		return -ENODATA;
	*out = (struct known){
	    .shape = sqlite3_column_int64(row, 0),
	    .arguments = sqlite3_column_int64(row, 1),
	    .flop = kc_work_flop(&counts),
	    .bytes = kc_work_bytes(&counts),
	    .limit = longest_of(&times),
	};
	out->limit_ns = times.ns[out->limit];
	return isfinite(out->flop) && isfinite(out->bytes) ? 0 : -ENODATA;
}

static int read_work(struct reader *r, int64_t process)
{
	int rc;

	r->known.count = 0;
	sqlite3_bind_int64(r->work, 1, process);
	sqlite3_bind_int(r->work, 2, WORK_MOST);
	while ((rc = sqlite3_step(r->work)) == SQLITE_ROW) {
		struct known one, *kept;

		if (read_known(r, r->work, &one))
			continue;
		kept = kc__list_add(&r->known, sizeof(*kept));
		if (!kept)
			break;
		*kept = one;
	}
	sqlite3_reset(r->work);
	return rc == SQLITE_ROW ? -ENOMEM : kc__errno(r->store->db, rc);
}

KC_ORDER(compare, struct known, KC_UP(shape) ?: KC_UP(arguments))

/* What is not known of one launch is known of no sum. */
static void add_up(struct reader *r, uint32_t kernel, const struct known *one, double ns)
{
	struct kc_group_work *work = &r->report->kernels.at[kernel].work;

	work->launches++;
	work->measured_ns += ns;
	work->flop += one->flop;
	work->bytes += one->bytes;
	work->limit_ns += one->limit_ns;
	if (!isnan(one->limit_ns))
		r->of[kernel].limit_ns[one->limit] += one->limit_ns;
	r->report->work_ns += ns;
}

/* Of a launch: shape, arguments, and from the third column on what kc_filter_row() takes. */
#define LAUNCHES                                                                                                       \
	"SELECT r.shape, coalesce(r.arguments, 0), r.id >> ?3, r.stream, s.kernel, r.launched, r.measured_span,"       \
	" s.device, r.id FROM launch_row r JOIN shape s ON s.id = r.shape"                                             \
	" WHERE r.id BETWEEN ?1 AND ?2 AND r.measured_span NOT NULL"

static int add_launch(struct reader *r, sqlite3_stmt *row)
{
	const struct known wanted = {.shape = sqlite3_column_int64(row, 0), .arguments = sqlite3_column_int64(row, 1)};
	const struct known *found = bsearch(&wanted, r->known.at, r->known.count, sizeof(wanted), compare);
	int64_t ns = sqlite3_column_int64(row, 6);
	uint32_t kernel;
	int rc;

	if (!found || ns > KC_MEASURED_MAX_NS)
		return 0;
	rc = kc_filter_row(r->filter, row, 2);
	if (rc != 1)
		return rc;
	kernel = kc_ids_find(&r->kernels, sqlite3_column_int64(row, 4));
	if (kernel)
		add_up(r, kernel - 1, found, ns > 0 ? (double)ns : 1);
	return 0;
}

/* Of a launch: operations, bytes, from the third column on what kc_filter_row() takes, type, whether the operations are
 * nominal. */
#define OPERATORS                                                                                                      \
	"SELECT o.flop / l.parts, CASE l.parts WHEN 1 THEN o.bytes END, r.id >> ?3, r.stream, s.kernel, r.launched,"   \
	" r.measured_span, s.device, r.id, o.type, o.nominal FROM launched_by l JOIN launch_row r ON r.id = l.id"      \
	" JOIN shape s ON s.id = r.shape JOIN operator o ON o.process = r.id >> ?3 AND o.local = l.operator"           \
	" WHERE l.id BETWEEN ?1 AND ?2 AND l.parts > 0 AND o.flop > 0 AND r.measured_span NOT NULL"

static enum kc_operator_units units_of(struct reader *r, uint32_t kernel, const char *type)
{
	struct of_kernel *of = &r->of[kernel];

	if (strncmp(of->type, type, sizeof(of->type) - 1) != 0) {
		snprintf(of->type, sizeof(of->type), "%s", type);
		of->units = kc_operator_units(of->type, r->report->kernels.at[kernel].name);
	}
	return of->units;
}

static void set_limit(struct reader *r, sqlite3_stmt *row, uint32_t kernel, struct known *one)
{
	const struct kc_device_row *on = kc_report_device(r->report, sqlite3_column_int64(row, 7));
	const char *type = (const char *)sqlite3_column_text(row, 9);

	one->limit_ns = NAN;
	if (on && type && *type && sqlite3_column_int(row, 10) == 0)
		one->limit_ns =
		    kc_operator_limit_ns(&on->device, units_of(r, kernel, type), one->flop, one->bytes, &one->limit);
}

static int add_by_operator(struct reader *r, sqlite3_stmt *row)
{
	struct known one = {.flop = sqlite3_column_double(row, 0), .bytes = sqlite3_column_double(row, 1)};
	int64_t ns = sqlite3_column_int64(row, 6);
	uint32_t kernel;
	int rc;

	if (!(one.flop > 0) || !(one.flop < FLOP_MOST) || ns > KC_MEASURED_MAX_NS)
		return 0;
	rc = kc_filter_row(r->filter, row, 2);
	kernel = rc == 1 ? kc_ids_find(&r->kernels, sqlite3_column_int64(row, 4)) : 0;
	if (rc < 0 || !kernel)
		return rc < 0 ? rc : 0;
	if (!(one.bytes > 0) || !(one.bytes < FLOP_MOST))
		one.bytes = NAN;
	set_limit(r, row, kernel - 1, &one);
	r->report->kernels.at[kernel - 1].work.by_operator++;
	add_up(r, kernel - 1, &one, ns > 0 ? (double)ns : 1);
	return 0;
}

static int read_launches(struct reader *r, int64_t process, sqlite3_stmt *launches,
			 int (*add)(struct reader *r, sqlite3_stmt *row))
{
	int rc = SQLITE_DONE, failed = 0;

	sqlite3_bind_int64(launches, 1, process << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(launches, 2, process << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	sqlite3_bind_int(launches, 3, KC_SEQUENCE_BITS);
	while (!failed && (rc = sqlite3_step(launches)) == SQLITE_ROW)
		failed = add(r, launches);
	sqlite3_reset(launches);
	return failed ? failed : kc__errno(r->store->db, rc);
}

/* A process was recorded or imported: no launch counts twice. */
static int read_process(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int64_t id = sqlite3_column_int64(process, 0);
	int failed = read_work(r, id);

	if (failed || id < 1 || id > KC_PROCESS_MAX)
		return failed;
	return r->known.count ? read_launches(r, id, r->launches, add_launch)
			      : read_launches(r, id, r->operators, add_by_operator);
}

static void choose_limits(struct reader *r)
{
	for (size_t i = 0; i < r->report->kernels.count; i++) {
		struct kc_group_work *work = &r->report->kernels.at[i].work;

		for (uint32_t k = 0; k < KC_RESOURCE_COUNT; k++)
			if (r->of[i].limit_ns[k] > r->of[i].limit_ns[work->limit])
				work->limit = k;
	}
}

static int prepare(struct reader *r)
{
	struct kc_groups *kernels = &r->report->kernels;
	int rc = sqlite3_prepare_v2(r->store->db, WORK, -1, &r->work, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(r->store->db, LAUNCHES, -1, &r->launches, NULL);
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(r->store->db, OPERATORS, -1, &r->operators, NULL);
	if (rc != SQLITE_OK)
		return kc__errno(r->store->db, rc);
	r->of = calloc(kernels->count + 1, sizeof(*r->of));
	for (size_t i = 0; r->of && i < kernels->count; i++)
		if (kc_ids_number(&r->kernels, kernels->at[i].id) != i + 1)
			return -ENOMEM;
	return r->of ? 0 : -ENOMEM;
}

int kc_query_work(struct kc_store *s, struct kc_filter *filter, struct kc_report *report)
{
	struct reader r = {.store = s, .filter = filter, .report = report};
	int rc;

	report->work_ns = NAN;
	if (!report->exact && report->ledger.launches > KC_ACTIVITY_MOST)
		return 0;
	report->work_ns = 0;
	rc = prepare(&r);
	if (rc == 0)
		rc = kc__select(s, &report->selection, "SELECT id FROM process WHERE run BETWEEN ?1 AND ?2 ORDER BY id",
				read_process, &r);
	if (rc == 0)
		choose_limits(&r);
	sqlite3_finalize(r.work);
	sqlite3_finalize(r.launches);
	sqlite3_finalize(r.operators);
	kc_ids_free(&r.kernels);
	free(r.known.at);
	free(r.of);
	return rc;
}
