#include "html_internal.h"
#include "store/query/steps/step_use.h"
#include "tools/output/json.h"
#include "tools/report/step_fields.h"

#include <errno.h>

#define LAUNCHES UINT64_C(400000) /* that are read, so that the page is there in seconds */

/* The place of a process among those that the page shows; -1: it is not there. */
static json_int_t place_of(const struct kc__html *page, int64_t process)
{
	for (size_t i = 0; i < page->data->process_count; i++)
		if (page->data->processes[i].id == process)
			return (json_int_t)i;
	return -1;
}

static json_t *names(const struct kc__html *page)
{
	json_t *out = json_array();

	for (size_t i = 0; i < page->data->process_count; i++)
		json_array_append_new(out, kc_json_text(page->data->processes[i].name));
	return out;
}

/* Of nested repeats the outer ones. */
static int is_shown(const struct kc_step_use *use)
{
	return use->number >= 0 && !use->is_inner;
}

static json_t *rows(const struct kc__html *page, const struct kc_steps_report *steps)
{
	json_t *out = json_array();
	size_t most = KC__HTML_STEPS / (page->data->process_count ? page->data->process_count : 1), n = 0;
	int64_t process = 0;

	for (size_t i = 0; i < steps->count; i++) {
		const struct kc_step_use *use = steps->at + i;
		json_int_t place = place_of(page, use->process);
		json_t *row;

		n = use->process == process ? n : 0;
		process = use->process;
		if (!is_shown(use) || place < 0 || n++ >= most)
			continue;
		row = kc_fields_json(&kc_step_fields, use);
		json_object_del(row, "name"); /* with what may be a path */
		json_object_set_new(row, "place", json_integer(place));
		json_array_append_new(out, row);
	}
	return out;
}

static const char *known_by(const struct kc_steps_report *steps)
{
	const char *by = "told";

	for (size_t i = 0; i < steps->search_count; i++) {
		if (steps->searches[i].verdict == KC_STEPS_NESTED)
			return "nested";
		if (steps->searches[i].verdict == KC_STEPS_FOUND)
			by = "found";
	}
	return by;
}

int kc__html_steps_json(const struct kc__html *page, json_t **out)
{
	struct kc_steps_report *steps = NULL;
	json_int_t of = 0;
	int rc;

	*out = json_null();
	if (page->data->ledger.launches > LAUNCHES)
		return 0;
	rc = kc_query_steps(page->store, page->data, page->filter, 1, &steps);
	if (rc)
		return rc;
	for (size_t i = 0; i < steps->count; i++)
		of += is_shown(steps->at + i);
	if (of)
		*out = json_pack("{s:s, s:I, s:o, s:o}", "steps_are", known_by(steps), "of", of, "processes",
				 names(page), "rows", rows(page, steps));
	kc_steps_report_free(steps);
	return *out ? 0 : -ENOMEM;
}
