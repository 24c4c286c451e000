#include "operator_class.h"
#include "activity.h"
#include "kernel_class.h"
#include "report_internal.h"

#include "store/common/ids/ids.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct moved {
	uint64_t launches, measured;
	double ns;
};

struct reader {
	struct kc_store *store;
	struct kc_filter *filter;
	struct kc_report *report;
	struct kc_ids kernels; /* a number less 1 is the place of the group, and in `of` */
	struct moved *of, all;
	sqlite3_stmt *launches;
};

/* What kc_filter_row() takes. Operators come first, as most are others. */
#define CONVOLUTIONS                                                                                                   \
	"SELECT r.id >> ?3, r.stream, s.kernel, r.launched, r.measured_span, s.device, r.id FROM launched_by l"        \
	" CROSS JOIN operator o ON o.process = l.id >> ?3 AND o.local = l.operator"                                    \
	" CROSS JOIN launch_row r ON r.id = l.id CROSS JOIN shape s ON s.id = r.shape"                                 \
	" WHERE l.id BETWEEN ?1 AND ?2 AND instr(o.name, 'convolution')"

static void add(struct moved *to, int is_measured, double ns)
{
	to->launches++;
	to->measured += (uint64_t)is_measured;
	to->ns += ns;
}

static int add_launch(struct reader *r, sqlite3_stmt *row)
{
	uint32_t kernel = kc_ids_find(&r->kernels, sqlite3_column_int64(row, 2));
	int is_measured = sqlite3_column_type(row, 4) != SQLITE_NULL, matches;
	int64_t ns = is_measured ? sqlite3_column_int64(row, 4) : 0;

	if (!kernel || r->report->kernels.at[kernel - 1].kernel_class != KC_CLASS_PRODUCT || ns < 0 ||
	    ns > KC_MEASURED_MAX_NS)
		return 0;
	matches = kc_filter_row(r->filter, row, 0);
	if (matches == 1) {
		add(&r->of[kernel - 1], is_measured, (double)ns);
		add(&r->all, is_measured, (double)ns);
	}
	return matches < 0 ? matches : 0;
}

static int read_process(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int64_t id = sqlite3_column_int64(process, 0);
	int rc = SQLITE_DONE, failed = 0;

	if (id < 1 || id > KC_PROCESS_MAX)
		return 0;
	sqlite3_bind_int64(r->launches, 1, id << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(r->launches, 2, id << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	sqlite3_bind_int(r->launches, 3, KC_SEQUENCE_BITS);
	while (!failed && (rc = sqlite3_step(r->launches)) == SQLITE_ROW)
		failed = add_launch(r, r->launches);
	sqlite3_reset(r->launches);
	return failed ? failed : kc__errno(r->store->db, rc);
}

static double measured_ns(const struct kc_group *group)
{
	return group->measured ? group->mean_measured_ns * (double)group->measured : 0;
}

static void set_times(struct kc_group *group, const struct kc_report *report, double ns)
{
	group->time_share = report->measured_ns > 0 ? fmax(ns, 0) / report->measured_ns : 0;
	group->mean_measured_ns = group->measured ? fmax(ns, 0) / (double)group->measured : NAN;
}

static struct kc_group *class_at(struct kc_groups *classes, int64_t id)
{
	for (size_t i = 0; i < classes->count; i++)
		if (classes->at[i].id == id)
			return &classes->at[i];
	return NULL;
}

/* One without launches is added where there is none. NULL: no memory. */
static struct kc_group *class_for(struct kc_groups *classes, uint32_t id)
{
	struct kc_group *found = class_at(classes, id), *grown;

	if (found)
		return found;
	grown = realloc(classes->at, (classes->count + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	classes->at = grown;
	grown[classes->count] = (struct kc_group){
	    .id = id,
	    .name = strdup(kc_kernel_class_name(id)),
	    .mean_measured_ns = NAN,
	    .mean_predicted_ns = NAN,
	    .accuracy = {0, NAN, NAN, NAN, NAN, NAN, NAN},
	};
	return grown[classes->count].name ? &grown[classes->count++] : NULL;
}

static void drop_if_empty(struct kc_groups *classes, struct kc_group *group)
{
	if (group->launches)
		return;
	free(group->name);
	*group = classes->at[--classes->count];
}

/* Launches whose operator is known were imported: they have no predictions. */
static int move(struct reader *r)
{
	struct kc_groups *classes = &r->report->classes;
	struct kc_group *to = class_for(classes, KC_CLASS_CONVOLUTION), *from = class_at(classes, KC_CLASS_PRODUCT);
	double from_ns, to_ns;

	if (!to)
		return -ENOMEM;
	if (!from || from->launches < r->all.launches || from->measured < r->all.measured)
		return 0; /* a damaged database: rows and sums differ */
	from_ns = measured_ns(from) - r->all.ns;
	to_ns = measured_ns(to) + r->all.ns;
	from->launches -= r->all.launches;
	from->measured -= r->all.measured;
	to->launches += r->all.launches;
	to->measured += r->all.measured;
	set_times(from, r->report, from_ns);
	set_times(to, r->report, to_ns);
	drop_if_empty(classes, from);
	qsort(classes->at, classes->count, sizeof(*classes->at), kc__by_time);
	for (size_t i = 0; i < r->report->kernels.count; i++)
		if (r->of[i].ns > measured_ns(&r->report->kernels.at[i]) / 2)
			r->report->kernels.at[i].kernel_class = KC_CLASS_CONVOLUTION;
	return 0;
}

static int prepare(struct reader *r)
{
	const struct kc_groups *kernels = &r->report->kernels;

	if (sqlite3_prepare_v2(r->store->db, CONVOLUTIONS, -1, &r->launches, NULL) != SQLITE_OK)
		return kc__errno(r->store->db, sqlite3_errcode(r->store->db));
	r->of = calloc(kernels->count + 1, sizeof(*r->of));
	for (size_t i = 0; r->of && i < kernels->count; i++)
		if (kc_ids_number(&r->kernels, kernels->at[i].id) != i + 1)
			return -ENOMEM;
	return r->of ? 0 : -ENOMEM;
}

int kc_query_operator_classes(struct kc_store *s, struct kc_filter *filter, struct kc_report *report)
{
	struct reader r = {.store = s, .filter = filter, .report = report};
	int rc;

	if (!report->exact && report->ledger.launches > KC_ACTIVITY_MOST)
		return 0;
	rc = prepare(&r);
	if (rc == 0)
		rc = kc__select(s, &report->selection, "SELECT id FROM process WHERE run BETWEEN ?1 AND ?2 ORDER BY id",
				read_process, &r);
	if (rc == 0 && r.all.launches)
		rc = move(&r);
	sqlite3_finalize(r.launches);
	kc_ids_free(&r.kernels);
	free(r.of);
	return rc;
}
