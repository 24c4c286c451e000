#include "html_internal.h"
#include "tools/diff/forms/changes.h"
#include "tools/diff/forms/step_rows.h"
#include "tools/report/activity_fields.h"
#include "tools/report/report_fields.h"
#include "tools/report/step_fields.h"
#include "tools/slow/forms/slow_fields.h"

static void set(json_t *out, const char *table, const struct kc_fields *fields, unsigned in)
{
	json_object_set_new(out, table, kc_fields_of_page(fields, in));
}

json_t *kc__html_fields(void)
{
	const struct kc_fields groups = kc_report_fields("kernel"), classes = kc_report_fields("launches"),
			       by_class = kc_report_fields("class");
	const struct kc_fields ranks = kc_slow_place_fields(KC_SLOW_BY_RANK);
	struct kc_fields devices = kc_time_fields, places = kc_time_fields, streams = kc_time_fields;
	json_t *out = json_object();

	set(out, "kernels", &groups, KC_REPORT_PAGE_KERNELS);
	set(out, "classes", &classes, KC_REPORT_CLASSES);
	set(out, "by_class", &by_class, KC_REPORT_TIME);
	set(out, "limits", &groups, KC_REPORT_LIMITS);
	devices.name = "GPU";
	places.name = "rank or process";
	streams.name = "stream";
	set(out, "devices", &devices, KC_TIME_PAGE);
	set(out, "places", &places, KC_TIME_PLACES);
	set(out, "streams", &streams, KC_TIME_PAGE_STREAMS);
	set(out, "copies", &kc_copy_fields, 0);
	set(out, "gaps", &kc_gap_fields, KC_GAPS_PAGE);
	set(out, "idle_causes", &kc_gap_sum_fields, 0);
	set(out, "steps", &kc_step_fields, 0);
	set(out, "diff_steps", &kc_diff_step_fields, 0);
	set(out, "changes", &kc_diff_change_fields, KC_DIFF_CHANGES_PAGE);
	set(out, "slow_causes", &kc_slow_cause_fields, 0);
	set(out, "stragglers", &kc_slow_straggler_fields, 0);
	set(out, "slow_ranks", &ranks, 0);
	set(out, "slow_kernels", &kc_slow_kernel_fields, 0);
	set(out, "slow_launches", &kc_slow_launch_fields, 0);
	return out;
}
