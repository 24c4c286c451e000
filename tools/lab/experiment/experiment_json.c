#include "tools/system/database.h"
#include "experiment.h"
#include "tools/output/json.h"

static json_t *claim_json(const struct kc_claim *claim)
{
	json_t *out = json_object();

	json_object_set_new(out, "claim", json_string(claim->text));
	json_object_set_new(out, "source", json_string(claim->source));
	json_object_set_new(out, "paper", json_string(claim->paper));
	json_object_set_new(out, "here", claim->points ? json_string(claim->here) : json_null());
	json_object_set_new(out, "value", kc_json_real(claim->value));
	json_object_set_new(out, "high", kc_json_real(claim->high));
	json_object_set_new(out, "points", json_integer(claim->points));
	json_object_set_new(out, "holds",
			    claim->verdict == KC_NOT_MEASURED ? json_null() : json_boolean(claim->verdict == KC_HOLDS));
	json_object_set_new(out, "why", *claim->why ? json_string(claim->why) : json_null());
	return out;
}

static json_t *point_json(const struct kc_point *point)
{
	json_t *out = json_object();

	json_object_set_new(out, "series", json_string(point->series));
	json_object_set_new(out, "x", kc_json_real(point->x));
	json_object_set_new(out, "measured", kc_json_real(point->measured));
	json_object_set_new(out, "predicted", kc_json_real(point->predicted));
	json_object_set_new(out, "low", kc_json_real(point->low));
	json_object_set_new(out, "high", kc_json_real(point->high));
	json_object_set_new(out, "known", json_boolean(point->known));
	return out;
}

static json_t *checks_json(const struct kc_observations *evidence)
{
	json_t *out = json_object();
	uint32_t right = 0, wrong = 0;

	for (uint32_t i = 0; i < evidence->step_count; i++) {
		right += evidence->steps[i].right;
		wrong += evidence->steps[i].wrong;
	}
	json_object_set_new(out, "right", json_integer(right));
	json_object_set_new(out, "wrong", json_integer(wrong));
	return out;
}

json_t *kc_shown_json(const struct kc_shown *shown)
{
	json_t *out = json_object(), *claims = json_array(), *points = json_array(), *figures = json_array();
	const struct kc_observations *evidence = shown->evidence;

	for (uint32_t i = 0; i < shown->finding->claim_count; i++)
		json_array_append_new(claims, claim_json(&shown->finding->claims[i]));
	for (uint32_t i = 0; i < shown->finding->point_count; i++)
		json_array_append_new(points, point_json(&shown->finding->points[i]));
	for (unsigned i = 0; i < 2; i++)
		if (*shown->figures[i])
			json_array_append_new(figures, kc_json_text(kc_database_shown(shown->figures[i])));
	json_object_set_new(out, "name", json_string(shown->experiment->name));
	json_object_set_new(out, "title", json_string(shown->experiment->title));
	json_object_set_new(out, "paper", json_string(shown->experiment->paper));
	json_object_set_new(out, "simulated", json_boolean(evidence->simulated));
	json_object_set_new(out, "device", evidence->step_count ? kc_json_text(evidence->device.name) : json_null());
	json_object_set_new(out, "database", kc_json_text(kc_database_shown(shown->database)));
	json_object_set_new(out, "steps", json_integer(evidence->planned));
	json_object_set_new(out, "complete", json_integer(evidence->step_count));
	json_object_set_new(out, "unmeasured", json_integer(evidence->unmeasured));
	json_object_set_new(out, "checks", checks_json(evidence));
	json_object_set_new(out, "claims", claims);
	json_object_set_new(out, "points", points);
	json_object_set_new(out, "note", json_string(shown->finding->note));
	json_object_set_new(out, "figures", figures);
	return out;
}
