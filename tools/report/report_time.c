#include "report_fields.h"
#include "report_text.h"
#include "store/query/report/kernel_class.h"
#include "tools/output/colour.h"
#include "tools/output/format.h"

#include <errno.h>
#include <math.h>
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

/* Kernels by what they are for. A single class is that of all kernels. */
static int print_classes(const struct kc_report_view *view)
{
	const struct kc_fields fields = kc_report_fields("class");
	size_t n = KC_CLASS_COUNT;
	struct kc_report_row *rows = kc_report_rows(view->data, KC_BY_CLASS, KC_SORT_TIME, 1, &n);
	int status = 0;

	if (!rows)
		return -ENOMEM;
	if (n > 1) {
		kc_heading("Classes of kernels by time");
		status = kc_fields_table(&fields, KC_REPORT_TIME, rows, n, KC_REPORT_INDENT);
	}
	free(rows);
	return status;
}

/* Kernels whose work is known go to the front. Returns how many. */
static size_t keep_known(struct kc_report_row *rows, size_t n)
{
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (!isnan(rows[i].work_ns))
			rows[known++] = rows[i];
	return known;
}

static const char *told_by(const struct kc_report *data)
{
	uint64_t launches = 0, by_operator = 0;

	for (size_t i = 0; i < data->kernels.count; i++) {
		launches += data->kernels.at[i].work.launches;
		by_operator += data->kernels.at[i].work.by_operator;
	}
	return !by_operator              ? "their code"
	       : by_operator == launches ? "the operators that launched them"
					 : "their code or the operators that launched them";
}

/* Nothing where the work of none is known. */
static int print_limits(const struct kc_report_view *view)
{
	const struct kc_fields fields = kc_report_fields("kernel");
	size_t shown = view->sorting.top ? view->sorting.top : KERNELS_SHOWN, n = SIZE_MAX;
	struct kc_report_row *rows;
	char share[KC_FORMAT_BYTES];
	int status;

	if (!(view->data->work_ns > 0))
		return 0;
	rows = kc_report_rows(view->data, KC_BY_KERNEL, KC_SORT_TIME, 1, &n);
	if (!rows)
		return -ENOMEM;
	n = keep_known(rows, n);
	kc_heading("How near the limits: the work of %s of the kernels' time is known, from %s",
		   kc_format_percent(view->data->work_ns / view->data->measured_ns * 100, share), told_by(view->data));
	status = kc_fields_table(&fields, KC_REPORT_LIMITS, rows, n < shown ? n : shown, KC_REPORT_INDENT);
	if (n > shown)
		printf("  and %zu more (a larger --top shows them)\n", n - shown);
	free(rows);
	return status;
}

int kc__report_print_time(const struct kc_report_view *view)
{
	const struct kc_fields fields = kc_report_fields("kernel");
	size_t n = view->sorting.top ? view->sorting.top : KERNELS_SHOWN, count = view->data->kernels.count;
	struct kc_report_row *rows =
	    kc_report_rows(view->data, KC_BY_KERNEL, view->sorting.by ? view->sorting.by : KC_SORT_TIME, 1, &n);
	int status;

	if (!rows)
		return -ENOMEM;
	print_heading(view);
	status = kc_fields_table(&fields, KC_REPORT_TIME, rows, n, KC_REPORT_INDENT);
	if (count > n)
		printf("  and %zu more (%s)\n", count - n,
		       view->sorting.top ? "a larger --top shows them" : "--by kernel shows all");
	free(rows);
	if (status == 0)
		status = print_classes(view);
	return status ? status : print_limits(view);
}
