#include "models_json.h"

#include <math.h>

static json_t *bound_by(const struct kc_launch_times *times)
{
	if (!(times->bound_ns > 0))
		return json_null();
	return json_string(times->bound_by < KC_RESOURCE_COUNT ? kc_resource_key(times->bound_by) : "floor");
}

static json_t *resources_json(const struct kc_launch_times *times)
{
	const struct kc_resource_times *resources = &times->resources;
	json_t *out = json_object(), *each = json_object();

	json_object_set_new(out, "total_ns", kc_json_real(resources->total_ns));
	json_object_set_new(out, "low_ns", kc_json_real(times->low_ns));
	json_object_set_new(out, "high_ns", kc_json_real(times->high_ns));
	json_object_set_new(out, "floor_ns", kc_json_real(resources->floor_ns));
	json_object_set_new(out, "limit", json_string(kc_resource_key(resources->limit)));
	for (uint32_t i = 0; i < KC_RESOURCE_COUNT; i++)
		json_object_set_new(each, kc_resource_key(i), kc_json_real(resources->ns[i]));
	json_object_set_new(out, "ns", each);
	json_object_set_new(out, "bound_ns", kc_json_ratio(times->bound_ns));
	json_object_set_new(out, "bound_by", bound_by(times));
	return out;
}

json_t *kc_models_json(const struct kc_launch_times *launch)
{
	const struct kc_model_times *times = &launch->models;
	json_t *out = json_object(), *boathull = json_null();

	json_object_set_new(out, "resources", resources_json(launch));
	if (times->boathull_class != KC_BOATHULL_NONE) {
		boathull = json_object();
		json_object_set_new(boathull, "class", json_string(kc_boathull_class_name(times->boathull_class)));
		json_object_set_new(boathull, "low_ns", kc_json_real(times->boathull_low_ns));
		json_object_set_new(boathull, "high_ns", kc_json_real(times->boathull_high_ns));
	}
	json_object_set_new(out, "bsp_ns", kc_json_real(times->bsp_ns));
	json_object_set_new(out, "cycle_max_ns", kc_json_real(times->cycle_max_ns));
	json_object_set_new(out, "cycle_sum_ns", kc_json_real(times->cycle_sum_ns));
	json_object_set_new(out, "boathull", boathull);
	json_object_set_new(out, "roofline_low_ns", kc_json_real(times->roofline_low_ns));
	json_object_set_new(out, "roofline_high_ns", kc_json_real(times->roofline_high_ns));
	return out;
}

json_t *kc_json_ratio(double value)
{
	return kc_json_real(value > 0 ? value : NAN);
}

json_t *kc_counts_json(const struct kc_counts *counts)
{
	json_t *out = json_object();

	for (unsigned i = 0; i < KC_COUNTER_COUNT; i++)
		json_object_set_new(out, kc_cost_counter_name(i), kc_json_real(counts->of[i]));
	json_object_set_new(out, "sectors_per_request", kc_json_ratio(kc_counts_sectors_per_request(counts)));
	json_object_set_new(out, "bank_conflict_degree", kc_json_ratio(kc_counts_bank_conflict_degree(counts)));
	return out;
}
