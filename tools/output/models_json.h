/* The models' times and the counts behind them, for every --json that has them. */
#ifndef KC_MODELS_JSON_H
#define KC_MODELS_JSON_H

#include "json.h"

#include "tools/input/launch_times.h"

/* resources (total_ns, low_ns, high_ns, floor_ns, limit, and ns of each by its key), bsp_ns, cycle_max_ns,
 * cycle_sum_ns, boathull (class, low_ns, high_ns; null where no class fits), roofline_low_ns, roofline_high_ns. */
json_t *kc_models_json(const struct kc_launch_times *launch);

/* A ratio of predictor/code/cost.h, which is 0 if there is nothing to divide; that becomes null. */
json_t *kc_json_ratio(double value);

/* Every counter by its name, per thread; sectors_per_request and bank_conflict_degree. */
json_t *kc_counts_json(const struct kc_counts *counts);

#endif
