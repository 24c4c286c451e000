#include "models_json.h"

#include "count_spec.h"

#include <math.h>

json_t *kc_models_json(const struct kc_model_times *times)
{
	json_t *out = json_object(), *boathull = json_null();

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

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

json_t *kc_counts_json(const struct kc_counts *counts)
{
	const double *n = counts->of;
	json_t *out = json_object();

	for (unsigned i = 0; i < KC_COUNTER_COUNT; i++)
		json_object_set_new(out, kc_count_spec_name(i), kc_json_real(n[i]));
	json_object_set_new(out, "sectors_per_request",
			    kc_json_real(ratio(n[KC_COUNT_OF_SECTORS], n[KC_COUNT_OF_REQUESTS])));
	json_object_set_new(out, "bank_conflict_degree",
			    kc_json_real(ratio(n[KC_COUNT_OF_SHARED_PASSES], n[KC_COUNT_OF_SHARED_REQUESTS])));
	return out;
}
