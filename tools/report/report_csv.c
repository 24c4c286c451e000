#include "activity_fields.h"
#include "report_fields.h"
#include "scope_fields.h"
#include "step_fields.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

int kc_report_csv(const struct kc_report_view *view)
{
	const struct kc_fields fields = kc_report_fields(kc_report_by_text(view->by));
	size_t n = view->sorting.top ? view->sorting.top : SIZE_MAX;
	struct kc_report_row *rows;

	if (kc_report_is_activity(view->by))
		return kc_activity_by(view, n, 1);
	if (view->by == KC_BY_STEP)
		return kc_steps_by(view, n, 1);
	if (view->by == KC_BY_RANGE || view->by == KC_BY_OPERATOR)
		return kc_scopes_by(view, n, 1);
	rows = kc_report_rows(view->data, view->by, view->sorting.by, 0, &n);
	if (!rows)
		return -ENOMEM;
	kc_fields_csv(&fields, rows, n, view->data->simulated, stdout);
	free(rows);
	return 0;
}
