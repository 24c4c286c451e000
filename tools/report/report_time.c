#include "report_text.h"
#include "tools/output/colour.h"
#include "tools/output/format.h"
#include "tools/output/table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNELS_SHOWN 10u

static const char *const orders[] = {
    [KC_SORT_NONE] = "Kernels by time",
    [KC_SORT_TIME] = "Kernels by time",
    [KC_SORT_ERROR] = "Kernels, largest mean error first",
    [KC_SORT_COUNT] = "Kernels, most launches first",
};

static void print_heading(const struct kc_report_view *view)
{
	const struct kc_ledger *l = &view->data->ledger;
	char ns[KC_FORMAT_BYTES], measured[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES];
	uint64_t without_row = l->dropped + l->after_end + l->elsewhere + l->not_asked_total;

	kc_format_ns(view->data->measured_ns, ns);
	if (view->filter)
		kc_heading("%s: %s in %s launches that match", orders[view->sorting.by], ns,
			   kc_format_count(kc_filter_counted(view->filter).matching, launches));
	else if (l->measured == l->launches && !without_row)
		kc_heading("%s: %s in %s launch%s", orders[view->sorting.by], ns,
			   kc_format_count(l->measured, measured), l->launches == 1 ? "" : "es");
	else
		kc_heading("%s: %s in %s measured of %s launches (what is missing: see Ledger)",
			   orders[view->sorting.by], ns, kc_format_count(l->measured, measured),
			   kc_format_count(l->launches + without_row, launches));
}

static void add_row(struct kc_table *table, const struct kc_group *group, double all_ns)
{
	char time[KC_FORMAT_BYTES], share[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES], mean[KC_FORMAT_BYTES];

	kc_format_ns(group->time_share * all_ns, time);
	kc_format_percent(group->time_share * 100, share);
	kc_format_count(group->measured, launches);
	kc_format_ns(group->mean_measured_ns, mean);
	kc_table_row(table, (const char *const[]){group->name, time, share, launches, mean});
}

int kc__report_print_time(const struct kc_report_view *view)
{
	static const struct kc_column columns[] = {
	    {"kernel", KC_LEFT, 1},    {"time", KC_RIGHT, 0}, {"share", KC_RIGHT, 0},
	    {"launches", KC_RIGHT, 0}, {"mean", KC_RIGHT, 0}, {0},
	};
	const struct kc_groups *kernels = &view->data->kernels;
	size_t *order =
	    kc_report_order(kernels, view->data->measured_ns, view->sorting.by ? view->sorting.by : KC_SORT_TIME);
	size_t shown = view->sorting.top ? view->sorting.top : KERNELS_SHOWN, n = 0;
	struct kc_table table;
	int rc;

	if (!order)
		return -ENOMEM;
	print_heading(view);
	kc_table_init(&table, columns);
	for (size_t i = 0; i < kernels->count && n < shown; i++)
		if (kernels->at[order[i]].measured) {
			add_row(&table, kernels->at + order[i], view->data->measured_ns);
			n++;
		}
	rc = kc_table_print(&table, stdout, KC_REPORT_INDENT, view->width);
	if (kernels->count > n)
		printf("  and %zu more (%s)\n", kernels->count - n,
		       view->sorting.top ? "a larger --top shows them" : "--by kernel shows all");
	kc_table_free(&table);
	free(order);
	return rc;
}
