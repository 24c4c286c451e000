#include "report_fields.h"

#include "predictor/solo/resources/resources.h"
#include "store/query/report/kernel_class.h"

#include <math.h>
#include <stdlib.h>

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct kc_report_row, key, head, unit, member, __VA_ARGS__)
#define TIME KC_REPORT_TIME
#define PAGE KC_REPORT_PAGE_KERNELS
#define CLASSES KC_REPORT_CLASSES
#define LIMITS KC_REPORT_LIMITS
#define PREDICTED (KC_REPORT_WORST | KC_REPORT_BY)

/* Where tables call one thing by several names it is here for each of them; CSV has it once. */
static const struct kc_field fields[] = {
    FIELD("name", "kernel", NAME, name, 0),
    FIELD("id", NULL, ID, id, 0),
    FIELD("launches", "launches", COUNT64, launches, KC_REPORT_BY),
    FIELD("measured", NULL, COUNT64, measured, 0),
    FIELD("accuracy.n", "matched", COUNT64, accuracy.n, CLASSES, "matched"),
    FIELD("time_ns", "time", NS, time_ns, TIME),
    FIELD("time_share", "share", PERCENT, time_share, TIME | PREDICTED | PAGE, NULL,
	  "of the measured time of all kernels"),
    FIELD("measured", "launches", COUNT64, measured, TIME, ""),
    FIELD("launches", "launches", COUNT64, launches, PAGE, ""),
    FIELD("mean_measured_ns", "mean", NS, mean_measured_ns, TIME | PAGE, "", "measured"),
    FIELD("mean_predicted_ns", "predicted", NS, mean_predicted_ns, PREDICTED | PAGE, NULL, "mean"),
    FIELD("mean_measured_ns", "measured", NS, mean_measured_ns, PREDICTED),
    FIELD("accuracy.median", "median", PERCENT, accuracy.median, CLASSES),
    FIELD("accuracy.median", "median error", PERCENT, accuracy.median, PAGE, ""),
    FIELD("accuracy.mape_time_weighted", "by time", PERCENT, accuracy.mape_time_weighted, CLASSES, NULL,
	  "sum of |predicted - measured| over the sum of measured"),
    FIELD("accuracy.mape_time_weighted", "error", PERCENT, accuracy.mape_time_weighted, PREDICTED, ""),
    FIELD("accuracy.mape_time_weighted", "error by time", PERCENT, accuracy.mape_time_weighted, PAGE, ""),
    FIELD("accuracy.p90", "p90", PERCENT, accuracy.p90, CLASSES),
    FIELD("accuracy.within_20", "within 20 %", PERCENT, accuracy.within_20, CLASSES | PAGE),
    FIELD("accuracy.bias", "pred/meas", RATIO, accuracy.bias, CLASSES | PREDICTED | PAGE, NULL, "geometric mean"),
    FIELD("accuracy.mape", "mean", PERCENT, accuracy.mape, CLASSES),
    FIELD("class", "class", TEXT, kernel_class, PAGE, "kernel_class",
	  "what it is for, by its name or the operator that launched it"),
    FIELD("work.measured_ns", "time", NS, work_ns, LIMITS, "", "of launches whose work is known"),
    FIELD("work.known", "known", PERCENT, work_known, LIMITS, "work_known", "of the kernel's time"),
    FIELD("work.flops_per_s", "arithmetic", FLOPS_PER_S, flops_per_s, LIMITS, NULL,
	  "floating-point operations by the measured time"),
    FIELD("work.bytes_per_s", "global data", BYTES_PER_S, bytes_per_s, LIMITS, NULL,
	  "bytes read and written, each counted once in a launch, by the measured time"),
    FIELD("work.of_limit", "of limit", PERCENT, of_limit, LIMITS, NULL,
	  "the time that the resource needs alone, of the measured time"),
    FIELD("work.limit", "limit", TEXT, limit, LIMITS, NULL, "the resource of the GPU that is needed longest"),
    FIELD("work.from", NULL, TEXT, work_from, 0, "work_from",
	  "what tells the work: the kernel's code, or the operator that launched it and its inputs"),
    FIELD(NULL, NULL, NOTE, why, PREDICTED, "why"),
};

struct kc_fields kc_report_fields(const char *name)
{
	return (struct kc_fields)KC_FIELDS(fields, struct kc_report_row, .name = name);
}

static void fill_work(struct kc_report_row *row, const struct kc_group_work *work)
{
	row->work_ns = row->work_known = row->flops_per_s = row->bytes_per_s = row->of_limit = NAN;
	if (!work->launches)
		return;
	row->work_ns = work->measured_ns;
	row->work_known = fmin(work->measured_ns / row->time_ns, 1);
	row->flops_per_s = work->flop / work->measured_ns * 1e9;
	row->bytes_per_s = work->bytes / work->measured_ns * 1e9;
	row->of_limit = work->limit_ns / work->measured_ns;
	row->limit = isnan(work->limit_ns) ? NULL : kc_resource_name(work->limit);
	row->work_from = !work->by_operator                    ? "code"
			 : work->by_operator == work->launches ? "operator"
							       : "code, operator";
}

void kc_report_row_fill(struct kc_report_row *row, const struct kc_report *data, const struct kc_group *group,
			int is_kernel)
{
	*row = (struct kc_report_row){
	    .name = group->name,
	    .id = group->id,
	    .launches = group->launches,
	    .measured = group->measured,
	    .time_ns = group->measured ? group->time_share * data->measured_ns : NAN,
	    .time_share = group->measured ? group->time_share : NAN,
	    .mean_measured_ns = group->mean_measured_ns,
	    .mean_predicted_ns = group->mean_predicted_ns,
	    .accuracy = group->accuracy,
	};
	fill_work(row, &group->work);
	if (!is_kernel)
		return;
	row->kernel_class = kc_kernel_class_name(group->kernel_class);
	if (*kc_report_why(group->hints, row->text, sizeof(row->text)))
		row->why = row->text;
}

struct kc_report_row *kc_report_rows(const struct kc_report *data, enum kc_report_by by, enum kc_sort order,
				     int only_measured, size_t *n)
{
	const struct kc_groups *groups = kc_report_groups(data, by);
	size_t *at = kc_report_order(groups, data->measured_ns, order), most = *n;
	struct kc_report_row *rows = calloc(groups->count + 1, sizeof(*rows));

	*n = 0;
	if (!at || !rows) {
		free(at);
		free(rows);
		return NULL;
	}
	for (size_t i = 0; i < groups->count && *n < most; i++)
		if (groups->at[at[i]].measured || !only_measured)
			kc_report_row_fill(rows + (*n)++, data, groups->at + at[i], by == KC_BY_KERNEL);
	free(at);
	return rows;
}

struct kc_report_row kc_report_row_of(const char *name, const struct kc_accuracy *accuracy)
{
	return (struct kc_report_row){.name = name,
				      .time_ns = NAN,
				      .time_share = NAN,
				      .mean_measured_ns = NAN,
				      .mean_predicted_ns = NAN,
				      .accuracy = *accuracy};
}
