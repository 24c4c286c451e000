#include "rivals.h"

#include "predictor/math/duration.h"

#include <math.h>

/* Errors are in log time. Chosen on the recorded traces that are marked "choose". */
#define LARGEST_ERROR 2.0       /* of one measurement */
#define ERROR_WORTH 4.0f        /* measurements that the errors at the start are worth */
#define MEMORY 60.0f            /* measurements; older ones fade */
#define LEAST_REST_NS 200.0     /* beyond KC_PRIOR_LEAST_NS: a logarithm needs something */
#define PRIOR_HALF_WIDTH 1.75f  /* of the 90 % interval */
#define FRAMEWORK_LAUNCHES 4.0f /* measured, from which a process is one of a framework */
#define TOLD_SHARE 0.5f         /* of the prior, from which the guess is called its */

static const float start[KC_FAMILIES][KC_RIVALS] = {
    [KC_FAMILY_NONE] = {0.9f, 0.9f},
    [KC_FAMILY_FRAMEWORK] = {0.5f, 1.4f},
    [KC_FAMILY_PRODUCT] = {0.6f, 1.4f},
    [KC_FAMILY_WAITING] = {0.9f, 0.9f},
};

/* Hand-written kernels are none of what the prior was trained on, but where a framework's kernels are measured, the
 * other ones of the process are mostly its own too. How long NCCL waits for other devices, the prior cannot know. */
static int may_compete(const struct kc_rivals *rivals, enum kc_family family)
{
	if (family == KC_FAMILY_NONE)
		return rivals->of[KC_FAMILY_FRAMEWORK].weight >= FRAMEWORK_LAUNCHES;
	return family != KC_FAMILY_WAITING;
}

static void publish(struct kc_rivals *rivals, enum kc_family family)
{
	struct kc_rival_record *record = &rivals->of[family];
	float ratio = record->error[KC_RIVAL_PRIOR] / record->error[KC_RIVAL_LAMBDA], cube = ratio * ratio * ratio;
	float share = may_compete(rivals, family) ? 1 / (1 + cube * cube) : 0;

	__atomic_store(&record->share, &share, __ATOMIC_RELAXED);
}

void kc_rivals_init(struct kc_rivals *rivals)
{
	*rivals = (struct kc_rivals){.correction = {.count = 0}};
	for (uint32_t i = 0; i < KC_FAMILIES; i++) {
		struct kc_rival_record *record = &rivals->of[i];

		record->error[KC_RIVAL_PRIOR] = start[i][KC_RIVAL_PRIOR];
		record->error[KC_RIVAL_LAMBDA] = start[i][KC_RIVAL_LAMBDA];
		publish(rivals, i);
	}
}

/* Logarithm of the whole time by the prior. */
static double by_prior(const struct kc_rivals *rivals, const struct kc_name_traits *name, float log_ns)
{
	double corrected = (double)(log_ns + kc_correction_of(&rivals->correction, name, log_ns));

	return log(KC_PRIOR_LEAST_NS + fmin(exp(corrected), KC__LONGEST_NS));
}

static double by_lambda(const struct kc_solo *lambda)
{
	return log(fmax((double)lambda->ns, 1));
}

void kc_rivals_mix(const struct kc_rivals *rivals, const struct kc_name_traits *name, float log_ns,
		   struct kc_solo *solo)
{
	double mixed, half;
	float share;

	__atomic_load(&rivals->of[name->family].share, &share, __ATOMIC_RELAXED);
	if (!(share > 0))
		return;
	mixed = (double)share * by_prior(rivals, name, log_ns) + (1 - (double)share) * by_lambda(solo);
	half = (double)(share * PRIOR_HALF_WIDTH + (1 - share) * solo->half_width);
	solo->ns = kc__whole_ns(exp(mixed));
	solo->low_ns = kc__whole_ns(exp(mixed - half));
	solo->high_ns = kc__whole_ns(exp(mixed + half));
	solo->half_width = (float)half;
	if (share >= TOLD_SHARE)
		solo->model = KC_MODEL_PRIOR;
}

static void learn_error(struct kc_rival_record *record, enum kc_rival rival, double off, float weight)
{
	float error = (float)fmin(fabs(off), LARGEST_ERROR);

	record->error[rival] += weight / (record->weight + ERROR_WORTH) * (error - record->error[rival]);
}

static float log_rest(int64_t measured_ns)
{
	return (float)log(fmax((double)measured_ns - KC_PRIOR_LEAST_NS, LEAST_REST_NS));
}

void kc_rivals_learn(struct kc_rivals *rivals, const struct kc_name_traits *name, float log_ns,
		     const struct kc_solo *lambda, int64_t measured_ns, float weight,
		     struct kc_correction_lesson *lesson)
{
	struct kc_rival_record *record = &rivals->of[name->family];
	double measured = log((double)measured_ns);

	record->weight = fminf(record->weight + weight, MEMORY);
	learn_error(record, KC_RIVAL_PRIOR, by_prior(rivals, name, log_ns) - measured, weight);
	learn_error(record, KC_RIVAL_LAMBDA, by_lambda(lambda) - measured, weight);
	publish(rivals, name->family);
	publish(rivals, KC_FAMILY_NONE);
	kc_correction_learn(&rivals->correction, name, log_ns, log_rest(measured_ns), weight, lesson);
}

void kc_rivals_amend(struct kc_rivals *rivals, const struct kc_name_traits *name, float log_ns, int64_t measured_ns,
		     struct kc_correction_lesson *lesson)
{
	kc_correction_amend(&rivals->correction, name, log_ns, log_rest(measured_ns), lesson);
}
