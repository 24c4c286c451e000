#include "html_internal.h"
#include "tools/command.h"
#include "tools/report/report_forms.h"
#include "tools/system/database.h"

#include "store/common/version.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

static const char left_out[] = "(left out)";

/* Of what was asked for, numbers stay. */
static void leave_names_out(json_t *filter)
{
	static const char *const keys[] = {"kernel", "exclude", "processes", "devices"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		json_t *asked = json_object_get(filter, keys[i]);

		for (size_t k = 0; k < json_array_size(asked); k++)
			if (json_is_string(json_array_get(asked, k)))
				json_array_set_new(asked, k, json_string(left_out));
		if (json_is_string(asked))
			json_object_set_new(filter, keys[i], json_string(left_out));
	}
}

static json_t *report_json(const struct kc__html *page)
{
	char shown[PATH_MAX];
	const struct kc_report_view view = {
	    .database =
		page->request->anonymous ? "" : kc_printable_text(page->request->database, shown, sizeof(shown)),
	    .data = page->data,
	    .activity = page->activity,
	    .filter = page->filter,
	};
	json_t *out = kc_report_json(&view);

	if (page->request->anonymous)
		leave_names_out(json_object_get(out, "filter"));
	return out;
}

/* A part of the document. */
static int set(json_t *document, const char *key, const struct kc__html *page,
	       int (*make)(const struct kc__html *page, json_t **out))
{
	json_t *part = NULL;
	int rc = make(page, &part);

	if (rc == 0)
		json_object_set_new(document, key, part);
	else
		json_decref(part);
	return rc;
}

static int fill(struct kc__html *page, json_t *document)
{
	int rc = kc__html_samples(page);

	if (rc == 0)
		rc = kc__html_replay(page, document);
	if (rc == 0)
		rc = json_object_set_new(document, "report", report_json(page)) ? -ENOMEM : 0;
	if (rc == 0)
		rc = set(document, "drawn", page, kc__html_drawn_json);
	if (rc == 0)
		rc = set(document, "windows", page, kc__html_windows_json);
	if (rc == 0)
		rc = set(document, "steps", page, kc__html_steps_json);
	if (rc == 0)
		rc = set(document, "lambda", page, kc__html_lambdas_json);
	if (rc == 0 && !page->filter) /* roll-ups are of all launches */
		rc = set(document, "slowdowns", page, kc__html_slowdowns_json);
	return rc;
}

static int failed(const struct kc__html *page, int rc)
{
	if (rc == -ENOMEM)
		kc_error("%s", strerror(ENOMEM));
	else
		kc_database_unreadable(page->request->database, rc);
	return KC_EXIT_FAILED;
}

int kc__html_document(struct kc__html *page, json_t **out)
{
	json_t *counts = NULL;
	int rc = kc__html_trim(page, &counts), status;

	*out = json_object();
	json_object_set_new(*out, "version", json_string(KC_VERSION));
	json_object_set_new(*out, "anonymous", json_boolean(page->request->anonymous));
	json_object_set_new(*out, "counts", counts);
	if (rc < 0)
		return failed(page, rc);
	status = kc__html_compared(page, *out);
	if (status != KC_EXIT_OK)
		return status;
	rc = fill(page, *out);
	return rc < 0 ? failed(page, rc) : KC_EXIT_OK;
}
