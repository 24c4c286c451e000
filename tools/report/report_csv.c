#include "tools/output/csv.h"
#include "report_forms.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

static void header(struct kc_csv *csv, const char *by)
{
	static const char *const columns[] = {"id",
					      "launches",
					      "measured",
					      "matched",
					      "time_share_percent",
					      "mean_predicted_ns",
					      "mean_measured_ns",
					      "mape_percent",
					      "mape_time_weighted_percent",
					      "median_percent",
					      "p90_percent",
					      "within_20_percent",
					      "bias",
					      "why",
					      "simulated"};

	kc_csv_text(csv, by);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		kc_csv_text(csv, columns[i]);
	kc_csv_end_row(csv);
}

static void row(struct kc_csv *csv, const struct kc_group *g, int kernels, int simulated)
{
	const struct kc_accuracy *a = &g->accuracy;
	char why[256];

	kc_csv_text(csv, g->name);
	kc_csv_integer(csv, g->id);
	kc_csv_integer(csv, (int64_t)g->launches);
	kc_csv_integer(csv, (int64_t)g->measured);
	kc_csv_integer(csv, (int64_t)a->n);
	kc_csv_real(csv, g->measured ? g->time_share * 100 : NAN);
	kc_csv_real(csv, g->mean_predicted_ns);
	kc_csv_real(csv, g->mean_measured_ns);
	kc_csv_real(csv, a->mape * 100);
	kc_csv_real(csv, a->mape_time_weighted * 100);
	kc_csv_real(csv, a->median * 100);
	kc_csv_real(csv, a->p90 * 100);
	kc_csv_real(csv, a->within_20 * 100);
	kc_csv_real(csv, a->bias);
	kc_csv_text(csv, kernels ? kc_report_why(g->hints, why, sizeof(why)) : NULL);
	kc_csv_integer(csv, simulated);
	kc_csv_end_row(csv);
}

int kc_report_csv(const struct kc_report_view *view)
{
	static const char *const by[] = {"kernel", "model", "stream", "case"};
	const struct kc_groups *groups = kc_report_groups(view->data, view->by);
	size_t *order = kc_report_order(groups, view->data->measured_ns, view->sorting.by);
	size_t top = view->sorting.top ? view->sorting.top : groups->count;
	struct kc_csv csv = {.to = stdout};

	if (!order)
		return -ENOMEM;
	header(&csv, by[view->by]);
	for (size_t i = 0; i < groups->count && i < top; i++)
		row(&csv, groups->at + order[i], view->by == KC_BY_KERNEL, view->data->simulated);
	free(order);
	return 0;
}
