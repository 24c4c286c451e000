#include "standing.h"

#include <math.h>
#include <string.h>

_Static_assert(KC_CANDIDATES <= KC_CANDIDATES_MAX, "their weights fit a word");

#define FIRST_ERROR 0.2f          /* relative, of each model before anything was measured */
#define NEW_CONCURRENT_ERROR 0.3f /* the same, of contexts beside kernels that they were never seen with */
#define START_ERROR 0.05f         /* the same, of contexts at a start like that of an earlier run */
#define LEAST_ERROR 0.003f        /* relative; smaller differences do not tell models apart */
#define LARGEST_ERROR 1.0f        /* of one measurement */
#define MEMORY 60.0f              /* measurements that a mean error stands for at most; older ones fade */
#define PARENT_WORTH 3.0f         /* measurements: prior weight of the device's errors, from which a kernel's start */
#define LARGEST_LOG 36.0f         /* of predicted / measured, natural: no kernel lasts e^36 ns */
#define WEIGHT_BITS 16u

static float weight_of(uint64_t word, uint32_t candidate)
{
	uint32_t bits = (uint32_t)(word >> (WEIGHT_BITS * candidate)) << 16;
	float weight;

	memcpy(&weight, &bits, sizeof(weight));
	return weight;
}

static void publish(struct kc_trust *trust)
{
	uint64_t word = 0;

	for (uint32_t i = 0; i < KC_CANDIDATES; i++) {
		float error = trust->error[i] + LEAST_ERROR, cube = error * error * error, sixth = cube * cube;
		float weight = 1 / (sixth * sixth);
		uint32_t bits;

		memcpy(&bits, &weight, sizeof(bits));
		word |= (uint64_t)(bits >> 16) << (WEIGHT_BITS * i);
	}
	__atomic_store_n(&trust->weights, word, __ATOMIC_RELAXED);
}

void kc_standing_init(struct kc_standing *standing, struct kc_standing *parent)
{
	*standing = (struct kc_standing){.parent = parent};
	kc_estimators_init(&standing->estimators);
	for (uint32_t e = 0; !parent && e < KC_EVIDENCES; e++) {
		struct kc_trust *trust = &standing->with[e];

		for (uint32_t i = 0; i < KC_CANDIDATES; i++)
			trust->error[i] = FIRST_ERROR;
		if (e == KC_EVIDENCE_NEW_CONCURRENT) /* durations beside other kernels say less until they have proved
							right */
			trust->error[KC_CANDIDATE_CONTEXT] = NEW_CONCURRENT_ERROR;
		if (e == KC_EVIDENCE_START)
			trust->error[KC_CANDIDATE_CONTEXT] = START_ERROR;
		publish(trust);
	}
}

/* The kernel's, as soon as it was measured with such evidence; the device's before. */
static uint64_t weights_of(const struct kc_standing *s, uint32_t evidence)
{
	uint64_t word = 0;

	for (; s && !word; s = s->parent)
		word = __atomic_load_n(&s->with[evidence].weights, __ATOMIC_RELAXED);
	return word;
}

void kc_standing_mix(const struct kc_standing *standing, const struct kc_candidates *candidates, struct kc_mix *out)
{
	uint64_t word = weights_of(standing, candidates->evidence);
	float solo = 0, solo_weight = 0, direct_weight = 0, spread = 0;

	for (uint32_t i = 0; i < KC_CANDIDATES; i++) {
		float weight = word ? weight_of(word, i) : 1;

		if (!(candidates->present & 1u << i))
			continue;
		spread += weight * candidates->spread[i];
		if (i == KC_CANDIDATE_CONTEXT) {
			direct_weight = weight;
			continue;
		}
		solo += weight * candidates->log_ns[i];
		solo_weight += weight;
	}
	out->direct = (struct kc_duration_estimate){0};
	if (direct_weight > 0) {
		out->direct.log_ns = candidates->log_ns[KC_CANDIDATE_CONTEXT];
		out->direct.share = direct_weight / (direct_weight + solo_weight);
	}
	out->solo_log_ns = solo_weight > 0 ? solo / solo_weight : out->direct.log_ns;
	out->spread = spread / (solo_weight + direct_weight);
}

static float error_of(float log_ratio)
{
	float error = log_ratio < LARGEST_LOG ? fabsf(expf(log_ratio) - 1) : LARGEST_ERROR;

	return error < LARGEST_ERROR ? error : LARGEST_ERROR;
}

static void learn_one(struct kc_standing *s, const struct kc_candidates *candidates, const float errors[KC_CANDIDATES])
{
	struct kc_trust *trust = &s->with[candidates->evidence];
	float gain;

	if (s->parent && !trust->count)
		memcpy(trust->error, s->parent->with[candidates->evidence].error, sizeof(trust->error));
	trust->count += trust->count < MEMORY;
	gain = 1 / fminf(PARENT_WORTH + (float)trust->count, MEMORY);
	for (uint32_t i = 0; i < KC_CANDIDATES; i++) {
		if (candidates->present & 1u << i)
			trust->error[i] += (errors[i] - trust->error[i]) * gain;
	}
	publish(trust);
}

void kc_standing_learn(struct kc_standing *standing, const struct kc_candidates *candidates, float slowdown,
		       float measured_log_ns)
{
	float log_slowdown = slowdown > 1 ? logf(slowdown) : 0, errors[KC_CANDIDATES] = {0};

	for (uint32_t i = 0; i < KC_CANDIDATES; i++) {
		float predicted = candidates->log_ns[i] + (i == KC_CANDIDATE_CONTEXT ? 0 : log_slowdown);

		if (candidates->present & 1u << i)
			errors[i] = error_of(predicted - measured_log_ns);
	}
	for (; standing; standing = standing->parent)
		learn_one(standing, candidates, errors);
}
