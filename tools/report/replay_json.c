#include "replay_forms.h"

#include "report_forms.h"
#include "predictor/experience/outlook.h"
#include "tools/input/layer_spec.h"
#include "tools/output/filter_shown.h"
#include "tools/output/json.h"
#include "tools/system/database.h"

#include "store/past/knowledge.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

double kc_replay_per_s(const struct kc_replay *replay)
{
	return replay->seconds > 0 ? (double)replay->launches / replay->seconds : NAN;
}

static void set_reasons(json_t *out, const struct kc_replay *replay)
{
	json_t *reasons = json_object();

	for (uint32_t i = 1; i < KC_UNPREDICTABLE_COUNT; i++)
		json_object_set_new(reasons, kc_unpredictable_name(i),
				    json_integer((json_int_t)replay->unpredictable[i]));
	json_object_set_new(out, "unpredictable_reasons", reasons);
}

static void set_assumed(json_t *out, const struct kc_replay *replay)
{
	char capability[24];

	json_object_set_new(out, "assumed_device_launches", json_integer((json_int_t)replay->assumed_device));
	json_object_set_new(out, "assumed_device",
			    replay->assumed_device ? kc_json_text(replay->assumed_name) : json_null());
	snprintf(capability, sizeof(capability), "%u.%u", replay->assumed_cc_major, replay->assumed_cc_minor);
	json_object_set_new(out, "assumed_by_capability",
			    replay->assumed_cc_major ? kc_json_text(capability) : json_null());
	json_object_set_new(out, "foreign_device_launches", json_integer((json_int_t)replay->foreign));
	json_object_set_new(out, "foreign_device", replay->foreign ? kc_json_text(replay->foreign_name) : json_null());
}

static void set_beyond(json_t *out, const struct kc_replay_beyond *beyond)
{
	json_t *object = json_object();

	json_object_set_new(object, "launches", json_integer((json_int_t)beyond->launches));
	json_object_set_new(object, "threads", json_integer((json_int_t)beyond->threads));
	json_object_set_new(object, "registers", json_integer((json_int_t)beyond->registers));
	json_object_set_new(object, "shared_memory", json_integer((json_int_t)beyond->shared));
	json_object_set_new(object, "clusters", json_integer((json_int_t)beyond->clusters));
	json_object_set_new(out, "beyond_device", object);
}

static void set_concurrency(json_t *out, const struct kc_replay *replay)
{
	json_t *slowdown = json_object(), *makespan = json_object();

	json_object_set_new(slowdown, "n", json_integer((json_int_t)replay->slowdown.n));
	json_object_set_new(slowdown, "without_solo", json_integer((json_int_t)replay->slowdown.without));
	json_object_set_new(slowdown, "mape", kc_json_percent(replay->slowdown.mape));
	json_object_set_new(slowdown, "mape_no_slowdown", kc_json_percent(replay->slowdown.mape_no_slowdown));
	json_object_set_new(out, "slowdown", slowdown);
	json_object_set_new(makespan, "n", json_integer((json_int_t)replay->makespan.n));
	json_object_set_new(makespan, "mape", kc_json_percent(replay->makespan.mape));
	json_object_set_new(makespan, "mape_serial", kc_json_percent(replay->makespan.mape_serial));
	json_object_set_new(makespan, "mape_no_contention", kc_json_percent(replay->makespan.mape_no_contention));
	json_object_set_new(out, "makespan", makespan);
}

static json_t *json_of(const struct kc_replay_accuracy *a)
{
	json_t *out = json_object();

	json_object_set_new(out, "n", json_integer((json_int_t)a->n));
	json_object_set_new(out, "mape", kc_json_percent(a->mape));
	json_object_set_new(out, "median", kc_json_percent(a->median));
	json_object_set_new(out, "p90", kc_json_percent(a->p90));
	return out;
}

static void set_models(json_t *out, const struct kc_replay *replay)
{
	json_t *models = json_object();

	for (uint32_t i = 0; i < KC_REPLAY_MODELS; i++)
		json_object_set_new(models, kc_replay_model_name(i), json_of(&replay->models[i]));
	json_object_set_new(out, "by_model", models);
	json_object_set_new(out, "mape_beside_last_value", kc_json_percent(replay->beside_last));
}

static void set_intervals(json_t *out, const struct kc_replay *replay)
{
	json_t *intervals = json_object(), *score = json_object();

	json_object_set_new(out, "coverage90", kc_json_percent(replay->coverage));
	for (uint32_t i = 0; i < KC_REPLAY_NOVELTIES; i++) {
		json_t *class = json_object();

		json_object_set_new(class, "n", json_integer((json_int_t)replay->intervals[i].n));
		json_object_set_new(class, "coverage", kc_json_percent(replay->intervals[i].coverage));
		json_object_set_new(class, "median_width", kc_json_percent(replay->intervals[i].width));
		json_object_set_new(intervals, kc_novelty_name(i), class);
	}
	json_object_set_new(out, "intervals", intervals);
	json_object_set_new(score, "n", json_integer((json_int_t)replay->scored));
	json_object_set_new(score, "ours", kc_json_percent(replay->score));
	json_object_set_new(score, "quantiles", kc_json_percent(replay->past_score));
	json_object_set_new(out, "interval_score", score);
}

static void set_curve(json_t *out, const struct kc_replay *replay)
{
	json_t *curve = json_array();

	for (uint32_t i = 0; i < KC_REPLAY_STAGES && replay->stages[i].n; i++) {
		json_t *stage = json_object();

		json_object_set_new(stage, "from", json_integer((json_int_t)1 << i));
		json_object_set_new(stage, "n", json_integer((json_int_t)replay->stages[i].n));
		json_object_set_new(stage, "mape", kc_json_percent(replay->stages[i].mape));
		json_object_set_new(stage, "median", kc_json_percent(replay->stages[i].median));
		json_object_set_new(stage, "p90", kc_json_percent(replay->stages[i].p90));
		json_array_append_new(curve, stage);
	}
	json_object_set_new(out, "learning_curve", curve);
}

static void set_known(json_t *out, const struct kc_replay *replay, const struct kc_replay_delay *delay)
{
	json_t *known = json_object();

	json_object_set_new(known, "as_recorded_launches", json_integer((json_int_t)replay->as_recorded));
	json_object_set_new(known, "delayed_launches",
			    json_integer((json_int_t)(replay->launches - replay->as_recorded)));
	json_object_set_new(known, "delay_ns", json_integer(delay->ns));
	json_object_set_new(known, "batch", json_integer((json_int_t)delay->batch));
	json_object_set_new(out, "known", known);
	json_object_set_new(out, "chosen_launches", json_integer((json_int_t)replay->chosen));
	json_object_set_new(out, "incomplete_launches", json_integer((json_int_t)replay->incomplete));
	json_object_set_new(out, "past_missing_launches", json_integer((json_int_t)replay->without_past));
}

/* The file that processes began with here, and the launches of those that had begun with another one. */
static void set_prior(json_t *out, const struct kc_replay *replay, const struct kc_knowledge *knowledge)
{
	json_t *prior = json_object();
	char checksum[17];

	snprintf(checksum, sizeof(checksum), "%016" PRIx64,
		 knowledge ? knowledge->head->checksum : replay->prior_missing);
	json_object_set_new(prior, "checksum", knowledge ? kc_json_text(checksum) : json_null());
	json_object_set_new(prior, "missing",
			    !knowledge && replay->without_prior ? kc_json_text(checksum) : json_null());
	json_object_set_new(prior, "missing_launches", json_integer((json_int_t)replay->without_prior));
	json_object_set_new(out, "prior", prior);
}

static void set_without(json_t *out, uint32_t without)
{
	json_t *layers = json_array();

	for (uint32_t i = 0; i < KC_LAYERS; i++)
		if (kc_lacks(without, i))
			json_array_append_new(layers, json_string(kc_layer_name(i)));
	json_object_set_new(out, "without", layers);
}

int kc_replay_json(const struct kc_replay *replay, const struct kc_replay_options *options, const char *path)
{
	const struct kc_report *data = replay->report;
	json_t *out = kc_json_document("replay", 1);

#define COUNT(key, value) json_object_set_new(out, key, json_integer((json_int_t)(value)))
#define CLASS(key, accuracy) json_object_set_new(out, key, kc_json_accuracy(&data->accuracy))
	json_object_set_new(out, "simulated", json_boolean(data->simulated));
	json_object_set_new(out, "database", kc_json_text(kc_database_shown(path)));
	set_known(out, replay, &options->delay);
	set_prior(out, replay, options->knowledge);
	set_without(out, options->without);
	json_object_set_new(out, "filter", kc_filter_json(options->filter));
	COUNT("launches", replay->launches);
	COUNT("predicted", replay->predicted);
	COUNT("measured", replay->measured);
	COUNT("excluded", replay->excluded);
	set_reasons(out, replay);
	set_assumed(out, replay);
	set_beyond(out, &replay->beyond);
	json_object_set_new(out, "launches_per_s", kc_json_real(kc_replay_per_s(replay)));
	CLASS("accuracy", all);
	CLASS("first_seen", novelty[KC_FIRST_SEEN]);
	CLASS("new_size", novelty[KC_NEW_SIZE]);
	CLASS("repeated", novelty[KC_REPEATED]);
	CLASS("solo", solo);
	CLASS("overlapped", overlapped);
	CLASS("behind", behind);
	CLASS("overtaken", overtaken);
#undef CLASS
#undef COUNT
	set_models(out, replay);
	set_intervals(out, replay);
	set_concurrency(out, replay);
	json_object_set_new(out, "concurrency", kc_json_concurrency(data));
	set_curve(out, replay);
	json_object_set_new(out, "models", kc_json_groups(data, KC_BY_MODEL));
	json_object_set_new(out, "cases", kc_json_groups(data, KC_BY_CASE));
	json_object_set_new(out, "kernels", kc_json_groups(data, KC_BY_KERNEL));
	return kc_json_print(out);
}
