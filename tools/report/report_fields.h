/*
 * A kernel, model, stream, case, rank, GPU or class of launches as a row, and the one list of what is told of it: in
 * text, JSON, CSV and on the page.
 */
#ifndef KC_REPORT_FIELDS_H
#define KC_REPORT_FIELDS_H

#include "report_forms.h"
#include "tools/output/fields.h"

/* The tables that show some of these fields. */
enum {
	KC_REPORT_TIME = 1,          /* kernels by time */
	KC_REPORT_WORST = 2,         /* the worst predicted */
	KC_REPORT_BY = 4,            /* --by */
	KC_REPORT_CLASSES = 8,       /* accuracy of classes of launches */
	KC_REPORT_PAGE_KERNELS = 16, /* all kernels, on the page */
	KC_REPORT_LIMITS = 32        /* how near the limits */
};

struct kc_report_row {
	const char *name; /* of a group */
	int64_t id;
	uint64_t launches, measured;
	double time_ns, time_share, mean_measured_ns, mean_predicted_ns; /* NAN: not measured */
	struct kc_accuracy accuracy;
	const char *kernel_class; /* of a kernel; NULL: it is none */
	/* Of its launches whose work is known; NAN and NULL: of none */
	double work_ns, work_known, flops_per_s, bytes_per_s, of_limit;
	const char *limit, *work_from;
	const char *why; /* NULL: none */
	char text[256];
};

/* name: what the rows are. */
struct kc_fields kc_report_fields(const char *name);
/* The groups in an order of kc_report_order(), n at most, without those that were not measured if only_measured. NULL:
 * out of memory; to be freed with free(). *n becomes how many. */
struct kc_report_row *kc_report_rows(const struct kc_report *data, enum kc_report_by by, enum kc_sort order,
				     int only_measured, size_t *n);
/* Of one group; *row has the text of its why. */
void kc_report_row_fill(struct kc_report_row *row, const struct kc_report *data, const struct kc_group *group,
			int is_kernel);
/* Of a class of launches. */
struct kc_report_row kc_report_row_of(const char *name, const struct kc_accuracy *accuracy);

#endif
