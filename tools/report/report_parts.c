#include "report_forms.h"

#include "tools/output/format.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {"kernel", "model", "stream", "case", "rank",  "gpu",     "class",
				    "time",   "gap",   "copy",   "step", "range", "operator"};

const char *kc_report_by_text(enum kc_report_by by)
{
	return names[by];
}

int kc_report_by_name(const char *name, enum kc_report_by *by)
{
	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (strcmp(name, names[i]) == 0) {
			*by = i;
			return 0;
		}
	}
	if (strcmp(name, "process") != 0)
		return -EINVAL;
	*by = KC_BY_RANK;
	return 0;
}

int kc_report_is_activity(enum kc_report_by by)
{
	return by == KC_BY_TIME || by == KC_BY_GAP || by == KC_BY_COPY;
}

const struct kc_groups *kc_report_groups(const struct kc_report *data, enum kc_report_by by)
{
	switch (by) {
	case KC_BY_MODEL:
		return &data->models;
	case KC_BY_STREAM:
		return &data->streams;
	case KC_BY_CASE:
		return &data->cases;
	case KC_BY_RANK:
		return &data->ranks;
	case KC_BY_GPU:
		return &data->gpus;
	case KC_BY_CLASS:
		return &data->classes;
	default:
		break;
	}
	return &data->kernels;
}

struct rank {
	double value;
	size_t index;
};

KC_ORDER(more_first, struct rank, KC_DOWN(value) ?: KC_UP(index))

static double value_of(const struct kc_group *group, double measured_ns, enum kc_sort by)
{
	switch (by) {
	case KC_SORT_TIME:
		return group->time_share;
	case KC_SORT_ERROR:
		return group->accuracy.mape;
	case KC_SORT_COUNT:
		return (double)group->launches;
	default:
		return group->accuracy.mape_time_weighted * group->time_share * measured_ns;
	}
}

size_t *kc_report_worst_first(const struct kc_groups *groups, double measured_ns)
{
	return kc_report_order(groups, measured_ns, KC_SORT_NONE);
}

size_t *kc_report_order(const struct kc_groups *groups, double measured_ns, enum kc_sort by)
{
	struct rank *ranks = calloc(groups->count + 1, sizeof(*ranks));
	size_t *order = calloc(groups->count + 1, sizeof(*order));

	if (!ranks || !order) {
		free(ranks);
		free(order);
		return NULL;
	}
	for (size_t i = 0; i < groups->count; i++) {
		double value = value_of(groups->at + i, measured_ns, by);

		ranks[i] = (struct rank){isnan(value) ? -1 : value, i};
	}
	qsort(ranks, groups->count, sizeof(*ranks), more_first);
	for (size_t i = 0; i < groups->count; i++)
		order[i] = ranks[i].index;
	free(ranks);
	return order;
}

char *kc_report_why(uint32_t hints, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (uint32_t bit = 1; bit <= KC_HINT_LAST && used < size; bit <<= 1) {
		if (hints & bit)
			used += (size_t)snprintf(out + used, size - used, "%s%s", used ? ", " : "", kc_hint_text(bit));
	}
	return out;
}

char *kc_report_reasons(const uint64_t *counts, unsigned n, const char *(*name)(uint32_t), char *out, size_t size)
{
	char count[KC_FORMAT_BYTES];
	size_t used = 0;

	out[0] = '\0';
	for (unsigned i = 1; i < n && used < size; i++) {
		if (counts[i])
			used += (size_t)snprintf(out + used, size - used, "%s%s %s", used ? ", " : "",
						 kc_format_count(counts[i], count), name(i));
	}
	for (char *c = out; *c; c++)
		*c = *c == '_' ? ' ' : *c;
	for (char *c = out; (c = strstr(c, "cupti"));)
		memcpy(c, "CUPTI", strlen("CUPTI"));
	return out;
}

static int is_switched_off(const struct kc_ledger *l)
{
	return l->unmeasured[KC_MEASURE_OFF] == l->predicted && l->unmeasured_total == l->predicted;
}

const char *kc_report_replayable(const struct kc_report *data, const char *database)
{
	for (size_t i = 0; i < data->device_count; i++) {
		if (!kc_device_is_foreign(data->devices[i].device.name))
			return database;
	}
	return data->device_count ? NULL : database;
}

char *kc_report_nothing(const struct kc_ledger *l, const char *database, char *out, size_t size)
{
	char launches[KC_FORMAT_BYTES], reasons[256];

	kc_format_count(l->launches, launches);
	out[0] = '\0';
	if (l->matched > 0 || l->launches == 0)
		return out;
	if (l->unpredictable[KC_IMPORTED] == l->launches) {
		snprintf(out, size,
			 database
			     ? "Imported: %s launches are measured, none is predicted yet. Next: kerncast replay %s"
			     : "Imported: %s launches are measured. None is predicted, as no GPU is NVIDIA's.",
			 launches, database);
	} else if (l->predicted == 0) {
		kc_report_reasons(l->unpredictable, KC_UNPREDICTABLE_COUNT, kc_unpredictable_name, reasons,
				  sizeof(reasons));
		snprintf(out, size, "NO PREDICTION: none of %s launches could be predicted (%s).", launches, reasons);
	} else if (is_switched_off(l)) {
		snprintf(out, size, "Not measured: --measure=off. Accuracy unknown for all %s launches.", launches);
	} else if (l->graphs_measured && l->unmeasured[KC_IN_GRAPH] == l->predicted) {
		snprintf(
		    out, size,
		    "All %s launches are kernels of graphs that were measured as a whole (--graphs=whole): they have "
		    "no times of their own.",
		    launches);
	} else {
		kc_report_reasons(l->unmeasured, KC_UNMEASURED_COUNT, kc_unmeasured_name, reasons, sizeof(reasons));
		snprintf(
		    out, size,
		    "NO MEASUREMENT: accuracy unknown for all %s launches%s%s%s. `kerncast doctor` names the problems.",
		    launches, *reasons ? " (" : "", reasons, *reasons ? ")" : "");
	}
	return out;
}
