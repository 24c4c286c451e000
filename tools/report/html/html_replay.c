#include "html_internal.h"
#include "store/database/schema.h"
#include "store/replay/replay_run.h"
#include "tools/output/format.h"
#include "tools/report/report_forms.h"
#include "predictor/math/order.h"

#include <stdlib.h>

#define MOST UINT64_C(400000) /* launches: some hundred thousand take a second */

KC_ORDER(compare_launches, struct kc_sample_launch, KC_UP(process) ?: KC_UP(sequence))

/* A copy of a window comes after its launches. */
static size_t launch_count(const struct kc_sample *sample)
{
	const struct kc_sample_launch *all = sample->launches.at;
	size_t n = sample->launches.count;

	while (n > 0 && all[n - 1].is_copy)
		n--;
	return n;
}

static void fill_in(struct kc_sample_launch *to, const struct kc_replay_launch *from)
{
	const int64_t measured_ns = kc_minus_ns(from->measured_end_ns, from->measured_start_ns);

	if (from->unpredictable != KC_PREDICTED)
		return;
	to->has[KC_SAMPLE_PREDICTED] = 1;
	to->start_ns[KC_SAMPLE_PREDICTED] = kc_plus_ns(to->launched_ns, kc_minus_ns(from->start_ns, from->launched_ns));
	to->end_ns[KC_SAMPLE_PREDICTED] =
	    kc_plus_ns(to->start_ns[KC_SAMPLE_PREDICTED], kc_minus_ns(from->end_ns, from->start_ns));
	to->low_ns = from->low_ns;
	to->high_ns = from->high_ns;
	to->novelty = from->novelty;
	to->slowdown = from->slowdown;
	if (from->overlap >= KC_OVERLAP_BEHIND && from->reference_ns > 0 && to->has[KC_SAMPLE_MEASURED])
		to->measured_slowdown = (double)measured_ns / from->reference_ns;
}

static void fill_in_sample(struct kc_sample *sample, const struct kc_replay_launch *launch)
{
	const struct kc_sample_launch wanted = {.process = launch->process, .sequence = (int64_t)launch->sequence};
	struct kc_sample_launch *found =
	    bsearch(&wanted, sample->launches.at, launch_count(sample), sizeof(wanted), compare_launches);

	if (found)
		fill_in(found, launch);
}

static int take_launch(const struct kc_replay_launch *launch, void *arg)
{
	struct kc__html *page = arg;

	fill_in_sample(&page->drawn, launch);
	for (size_t i = 0; i < page->window_count; i++)
		fill_in_sample(&page->windows[i].sample, launch);
	return 0;
}

/* Only what the page shows of it: the rest is in the page's own report. */
static json_t *figures_json(const struct kc__html *page, struct kc_report *data)
{
	static const char *const keys[] = {"exact",      "accuracy", "first_seen", "new_size", "repeated",   "solo",
					   "overlapped", "behind",   "overtaken",  "kernels",  "concurrency"};
	const struct kc_report_view view = {.database = "", .data = data, .activity = page->activity};
	json_t *all = kc_report_json(&view), *out = json_object();

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		json_object_set(out, keys[i], json_object_get(all, keys[i]));
	json_decref(all);
	return out;
}

static json_t *about(const struct kc_replay *replay)
{
	char delay[KC_FORMAT_BYTES], device[160] = "";

	if (replay->assumed_device)
		snprintf(device, sizeof(device), " The GPU is taken to be: %s.", replay->assumed_name);
	else if (replay->foreign)
		snprintf(device, sizeof(device), " %s is not an NVIDIA GPU: what ran on it is not predicted.",
			 replay->foreign_name);
	return json_sprintf("A trace has no predictions. These are of kerncast replay, which predicts each launch from "
			    "what had been measured %s before it.%s",
			    kc_format_ns(KC_REPLAY_DELAY_NS, delay), device);
}

static int add_figures(const struct kc__html *page, struct kc_replay *replay, json_t *document)
{
	int rc = kc__html_groups(page, &replay->report->kernels);

	if (rc == 0)
		json_object_set_new(
		    document, "replayed",
		    json_pack("{s:o,s:o}", "about", about(replay), "report", figures_json(page, replay->report)));
	return rc;
}

/* Traces alone are replayed: a run that was recorded has predictions, made before the launches. */
static int is_wanted(const struct kc__html *page)
{
	const struct kc_ledger *ledger = &page->data->ledger;

	return page->data->all.n == 0 && page->data->measured_ns > 0 && ledger->launches <= MOST &&
	       ledger->unpredictable[KC_IMPORTED] > 0;
}

int kc__html_replay(struct kc__html *page, json_t *document)
{
	struct kc_replay_options options = {
	    .selection = *page->selection,
	    .delay = {.ns = KC_REPLAY_DELAY_NS, .batch = 1},
	    .launch = take_launch,
	    .arg = page,
	};
	struct kc_replay *replay = NULL;
	int rc = 0;

	if (!is_wanted(page))
		return 0;
	if (page->filter) /* the page's has counted every launch */
		rc = kc_filter_new(kc_filter_choice_of(page->filter), page->store, &options.filter);
	if (rc == 0)
		rc = kc_replay_run(page->store, &options, &replay);
	if (rc == 0)
		rc = add_figures(page, replay, document);
	kc_replay_free(replay);
	kc_filter_free(options.filter);
	return rc;
}
