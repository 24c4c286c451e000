#include "rivals.h"

#include "predictor/math/duration.h"

#include <math.h>
#include <string.h>

/* Log time. Chosen on the recorded traces that are marked "choose". */
#define LARGEST_ERROR 2.0f  /* of one measurement */
#define ERROR_WORTH 4.0f    /* measurements that the errors at the start are worth */
#define OFFSET_WORTH 6.0f   /* the same of the offset, 0 at the start */
#define LARGEST_STEP 1.5f   /* of the offset, by one measurement */
#define MEMORY 60.0f        /* measurements; older ones fade */
#define LEAST_REST_NS 200.0 /* beyond KC_PRIOR_LEAST_NS: a logarithm needs something */
#define PRIOR_HALF_WIDTH 2.0f
#define TOLD_SHARE 0.5f /* of the prior, from which the guess is called its */

static const float start[KC_FAMILIES][KC_RIVALS] = {
    [KC_FAMILY_NONE] = {1.6f, 0.9f},
    [KC_FAMILY_FRAMEWORK] = {0.5f, 1.4f},
    [KC_FAMILY_PRODUCT] = {0.6f, 1.4f},
    [KC_FAMILY_WAITING] = {1.6f, 1.0f},
};

struct published {
	float offset, share;
};

static void publish(struct kc_rival_record *record)
{
	float ratio = record->error[KC_RIVAL_PRIOR] / record->error[KC_RIVAL_LAMBDA], cube = ratio * ratio * ratio;
	struct published now = {record->offset, 1 / (1 + cube * cube)};
	uint64_t word;

	memcpy(&word, &now, sizeof(word));
	__atomic_store_n(&record->published, word, __ATOMIC_RELAXED);
}

void kc_rivals_init(struct kc_rivals *rivals)
{
	for (uint32_t i = 0; i < KC_FAMILIES; i++) {
		struct kc_rival_record *record = &rivals->of[i];

		*record = (struct kc_rival_record){.weight = OFFSET_WORTH};
		memcpy(record->error, start[i], sizeof(record->error));
		publish(record);
	}
}

static double ns_of(float log_ns, float offset)
{
	return KC_PRIOR_LEAST_NS + fmin(exp((double)(log_ns + offset)), KC__LONGEST_NS);
}

void kc_rivals_mix(const struct kc_rivals *rivals, enum kc_family family, float log_ns, struct kc_solo *solo)
{
	uint64_t word = __atomic_load_n(&rivals->of[family].published, __ATOMIC_RELAXED);
	struct published now;
	double share, mixed, half;

	memcpy(&now, &word, sizeof(now));
	share = (double)now.share;
	mixed = share * log(ns_of(log_ns, now.offset)) + (1 - share) * log(fmax((double)solo->ns, 1));
	half = share * (double)PRIOR_HALF_WIDTH + (1 - share) * (double)solo->half_width;
	solo->ns = kc__whole_ns(exp(mixed));
	solo->low_ns = kc__whole_ns(exp(mixed - half));
	solo->high_ns = kc__whole_ns(exp(fmin(mixed + half, log(KC__LONGEST_NS))));
	solo->half_width = (float)half;
	if (now.share >= TOLD_SHARE)
		solo->model = KC_MODEL_PRIOR;
}

static float clipped(double x, float limit)
{
	return (float)fmin(fmax(x, -(double)limit), (double)limit);
}

void kc_rivals_learn(struct kc_rivals *rivals, enum kc_family family, float log_ns, const struct kc_solo *solo,
		     int64_t measured_ns, float weight)
{
	struct kc_rival_record *record = &rivals->of[family];
	double measured = (double)measured_ns;
	double rest = log(fmax(measured - KC_PRIOR_LEAST_NS, LEAST_REST_NS));
	float errors[KC_RIVALS] = {
	    [KC_RIVAL_PRIOR] = fabsf(clipped(log(ns_of(log_ns, record->offset) / measured), LARGEST_ERROR)),
	    [KC_RIVAL_LAMBDA] = fabsf(clipped(log(fmax((double)solo->ns, 1) / measured), LARGEST_ERROR)),
	};

	record->weight = fminf(record->weight + weight, MEMORY);
	for (uint32_t i = 0; i < KC_RIVALS; i++)
		record->error[i] += weight / (record->weight - OFFSET_WORTH + ERROR_WORTH) * (errors[i] - record->error[i]);
	record->offset += weight / record->weight *
			  clipped(rest - (double)log_ns - (double)record->offset, LARGEST_STEP);
	publish(record);
}
