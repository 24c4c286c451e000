#include "html_internal.h"
#include "tools/command.h"
#include "tools/diff/compare_options.h"
#include "tools/diff/forms/diff_forms.h"
#include "tools/diff/steps_compared.h"
#include "tools/output/format.h"
#include "tools/slow/slow_search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MOST UINT64_C(400000) /* launches, of all runs together, so that the page is there in seconds */
#define LAUNCHES 25u          /* that lost most */
#define ROWS 40u              /* of a list of kernels */
#define BESIDE 4u

/* Leaves the first ones of a list in a document. */
static void cut(json_t *list, size_t most)
{
	while (json_array_size(list) > most)
		json_array_remove(list, json_array_size(list) - 1);
}

static int clean_names(const struct kc__html *page, struct kc_measured_names *names)
{
	struct kc_measured_kernel *kernels = names->kernels.at;
	char **processes = names->processes.at;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < names->kernels.count; i++)
		rc = kc__html_name(page, &kernels[i].name);
	for (size_t i = 0; rc == 0 && i < names->processes.count; i++)
		rc = kc__html_name(page, processes + i);
	return rc;
}

/* What tells of whose launches rows are is left out where names are not to be told: null. */
static void hide(json_t *rows, const char *key)
{
	for (size_t i = 0; i < json_array_size(rows); i++)
		json_object_set_new(json_array_get(rows, i), key, json_null());
}

static void cut_causes(json_t *causes, int anonymous)
{
	for (size_t i = 0; i < json_array_size(causes); i++) {
		json_t *kernels = json_object_get(json_array_get(causes, i), "kernels");

		cut(kernels, ROWS);
		for (size_t k = 0; k < json_array_size(kernels); k++) {
			json_t *processes = json_object_get(json_array_get(kernels, k), "processes");

			cut(json_object_get(json_array_get(kernels, k), "beside"), BESIDE);
			cut(processes, BESIDE);
			if (anonymous)
				hide(processes, "name");
		}
	}
}

/* Of a process nothing but its number is left where names are not to be told. */
static void cut_stragglers(json_t *stragglers, int anonymous)
{
	cut(stragglers, ROWS);
	if (anonymous) {
		hide(stragglers, "name");
		hide(stragglers, "gpu");
	}
}

static void cut_launches(json_t *launches, int anonymous)
{
	if (anonymous) {
		hide(launches, "process_name");
		hide(launches, "gpu");
	}
}

static json_t *slow_json(const struct kc_slow_search *s, const struct kc_diff_limits *limits, int anonymous)
{
	const struct kc_slow_view view = {
	    .runs = &s->runs,
	    .slow = &s->slow,
	    .gpu_states = &s->gpu_states,
	    .store = s->this.store,
	    .limits = *limits,
	    .path = "",
	    .worst = s->worst,
	    .worst_count = s->worst_count,
	    .other_devices = s->other_devices,
	    .top = ROWS,
	};
	json_t *out = kc_slow_document(&view);

	cut_causes(json_object_get(out, "causes"), anonymous);
	cut_launches(json_object_get(out, "launches"), anonymous);
	cut_stragglers(json_object_get(out, "processes"), anonymous);
	if (anonymous)
		hide(json_object_get(out, "ranks"), "name");
	json_object_del(out, "gpus"); /* the page does not show them */
	json_object_set_new(out, "earlier_too_large", json_integer(s->too_large));
	return out;
}

static struct kc_diff_source source_of(const struct kc_side *side)
{
	return (struct kc_diff_source){.path = "", .runs = side->runs, .count = side->read};
}

/* Compares steps where both sides have them. What is told of slow launches no longer holds then. Returns an exit
 * status. */
static int compare_steps(struct kc_slow_search *s, const struct kc_diff_limits *limits, struct kc_diff_steps *steps)
{
	struct kc_side *const sides[KC_SIDES] = {&s->earlier, &s->this};
	struct kc_diff_input inputs[KC_SIDES] = {{s->earlier.runs, s->earlier.read, NULL, 0},
						 {s->this.runs, 1, NULL, 0}};
	int status = kc_diff_steps(&s->names, sides, s->this.with_steps ? KC_PER_ANY : KC_PER_RUN, steps), rc;

	if (status != KC_EXIT_OK || steps->verdict != KC_STEPS_COMPARED)
		return status;
	for (int side = 0; side < KC_SIDES; side++)
		inputs[side].steps = steps->of[side].steps;
	kc_diff_free(&s->diff);
	rc = kc_diff_compare(&s->names, inputs, limits, &s->diff);
	if (rc < 0)
		kc_error("%s", strerror(-rc));
	return rc < 0 ? KC_EXIT_FAILED : KC_EXIT_OK;
}

static json_t *diff_json(const struct kc_slow_search *s, const struct kc_diff_limits *limits,
			 const struct kc_diff_steps *steps)
{
	static const char *const lists[] = {"contributors", "changes"};
	static const char *const left_out[] = {"new", "gone", "others"};
	static const struct kc_filter_choice every;
	const struct kc_diff_view view = {
	    .names = &s->names,
	    .diff = &s->diff,
	    .steps = steps,
	    .limits = *limits,
	    .filter = &every,
	    .sources = {[KC_OLD] = source_of(&s->earlier), [KC_NEW] = source_of(&s->this)},
	};
	json_t *out = kc_diff_document(&view), *counts = json_object();

	for (size_t i = 0; i < sizeof(left_out) / sizeof(*left_out); i++)
		json_object_del(out, left_out[i]);
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
		json_t *list = json_object_get(out, lists[i]);

		json_object_set_new(counts, lists[i], json_integer((json_int_t)json_array_size(list)));
		cut(list, ROWS);
		for (size_t k = 0; k < json_array_size(list); k++)
			json_object_del(json_array_get(list, k), "shapes");
	}
	json_object_set_new(out, "counts", counts);
	return out;
}

static json_t *left_out(const char *why)
{
	return json_pack("{s:s}", "left_out", why);
}

/* A launch that took 0 ns, by a coarse clock, counts as 1 ns in sums; it cannot be compared. */
static int is_measured(const struct kc_report *data)
{
	uint64_t launches = 0;

	for (size_t i = 0; i < data->classes.count; i++)
		launches += data->classes.at[i].measured;
	return data->measured_ns > (double)launches;
}

/* Why the runs are not looked at; NULL: they are. */
static const char *obstacle(const struct kc__html *page, char *out, size_t size)
{
	const struct kc_selection *selection = page->selection;
	char most[KC_FORMAT_BYTES];

	if (selection->first_run != selection->last_run)
		return "Several runs were chosen: choose one with --run.";
	if (!is_measured(page->data))
		return "Nothing was measured.";
	if (page->data->ledger.launches <= MOST)
		return NULL;
	snprintf(out, size, "The run has more than %s launches: kerncast slow and kerncast diff look at all of them.",
		 kc_format_count(MOST, most));
	return out;
}

static void keep_lost(struct kc__html *page, const struct kc_slow_search *s)
{
	if (s->worst_count) {
		page->lost_process = s->worst->origin.process;
		page->lost_sequence = s->worst->origin.sequence;
	}
}

static int search(struct kc__html *page, struct kc_slow_search *s, const struct kc_slow_asked *asked, json_t *document)
{
	struct kc_diff_steps steps;
	int status, rc;

	kc_side_borrow(&s->this, page->store, page->request->database);
	status = kc_slow_search(s, asked);
	if (status == KC_EXIT_OK)
		status = kc_slow_search_worst(s, LAUNCHES, KC_SLOW_ALIKE);
	if (status != KC_EXIT_OK)
		return status;
	keep_lost(page, s);
	rc = clean_names(page, &s->names);
	if (rc < 0)
		return kc_failed(rc);
	json_object_set_new(document, "slow", slow_json(s, &asked->limits, page->request->anonymous));
	if (!s->runs.earlier_count)
		return KC_EXIT_OK;
	status = compare_steps(s, &asked->limits, &steps);
	if (status == KC_EXIT_OK)
		json_object_set_new(document, "diff", diff_json(s, &asked->limits, &steps));
	return status;
}

int kc__html_compared(struct kc__html *page, json_t *document)
{
	static const struct kc_filter_choice every;
	struct kc_slow_search *s;
	char run[32], text[160];
	const char *why = obstacle(page, text, sizeof(text));
	const struct kc_slow_asked asked = {
	    .run = run,
	    .old = page->request->old,
	    .filter = page->filter ? kc_filter_choice_of(page->filter) : &every,
	    .limits = KC_DIFF_DEFAULT_LIMITS,
	    .most = MOST,
	    .with_steps = !page->filter, /* all launches are compared, and not those of the filter's steps */
	};
	int status;

	if (why) {
		json_object_set_new(document, "slow", left_out(why));
		return KC_EXIT_OK;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return kc_failed(-ENOMEM);
	snprintf(run, sizeof(run), "%lld", (long long)page->selection->last_run);
	status = search(page, s, &asked, document);
	kc_slow_search_free(s);
	free(s);
	return status;
}
