/* What a file may say was learned: limits that learning keeps to, and that keep predictions finite. */
#include "learned.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static uint64_t weights(float solo, float context)
{
	uint32_t a, b;

	memcpy(&a, &solo, sizeof(a));
	memcpy(&b, &context, sizeof(b));
	return a >> 16 | (b & 0xffff0000u);
}

static const struct kc_candidates both = {
    .present = 1u << KC_CANDIDATE_LAMBDA | 1u << KC_CANDIDATE_CONTEXT,
    .log_ns = {14, 14},
    .spread = {0.1f, 0.1f},
    .evidence = KC_EVIDENCE_LAST,
};

/* Of what never errs 0.003^-12 = 1.9e30; of what errs by all of it, 1.003^-12. */
static void weights_that_are_learned_are_possible(void **state)
{
	struct kc_kernel_learned learned = {0};
	struct kc_standing *standing = &learned.experience.standing;

	(void)state;
	assert_true(kc_kernel_learned_is_possible(&learned)); /* none yet */
	kc_standing_init(standing, NULL);
	for (int i = 0; i < 10000; i++)
		kc_standing_learn(standing, &both, 1, 14);
	assert_true(kc_kernel_learned_is_possible(&learned));
	for (int i = 0; i < 10000; i++)
		kc_standing_learn(standing, &both, 1, 0);
	assert_true(kc_kernel_learned_is_possible(&learned));
}

/* 1.6e38 · 14 is no float; of two candidates that count for nothing there is no mean. */
static void weights_that_no_learning_gives_are_not(void **state)
{
	const uint64_t impossible[] = {weights(1.6e38f, 1), weights(1, 1.6e38f), weights(1e31f, 1), weights(0, 1),
				       weights(-1, 1),      weights(1, NAN),     weights(1, 0)};
	struct kc_kernel_learned learned = {0};
	struct kc_trust *trust = &learned.experience.standing.with[KC_EVIDENCE_LAST];

	(void)state;
	for (size_t i = 0; i < sizeof(impossible) / sizeof(*impossible); i++) {
		trust->weights = impossible[i];
		assert_false(kc_kernel_learned_is_possible(&learned));
	}
	trust->weights = weights(1.8e30f, 1);
	assert_true(kc_kernel_learned_is_possible(&learned));
}

/* A mean absolute error of 0.01 at least: 0.01^-3. */
static void certainty_of_slowdowns(void **state)
{
	struct kc_variant_learned learned = {0};
	const float possible[] = {0.5f, 1e6f}, impossible[] = {0.5f, 1e35f};

	(void)state;
	memcpy(&learned.contention.cells[0], possible, sizeof(possible));
	assert_true(kc_variant_learned_is_possible(&learned));
	memcpy(&learned.contention.cells[0], impossible, sizeof(impossible));
	assert_false(kc_variant_learned_is_possible(&learned));
}

/* ---- Limits: each number at them, and beyond ---- */

static void put(void *at, size_t bytes, double value)
{
	float single = (float)value;

	if (bytes == sizeof(single))
		memcpy(at, &single, bytes);
	else
		memcpy(at, &value, bytes);
}

#define AT(at, bytes, low, high)                                                                                       \
	do {                                                                                                           \
		unsigned char was_[sizeof(double)];                                                                    \
		memcpy(was_, at, bytes);                                                                               \
		put(at, bytes, low);                                                                                   \
		assert_true(POSSIBLE);                                                                                 \
		put(at, bytes, high);                                                                                  \
		assert_true(POSSIBLE);                                                                                 \
		put(at, bytes, (low)-fmax(fabs(low), 1e-3) / 1000);                                                    \
		assert_false(POSSIBLE);                                                                                \
		put(at, bytes, (high)*1.001);                                                                          \
		assert_false(POSSIBLE);                                                                                \
		put(at, bytes, NAN);                                                                                   \
		assert_false(POSSIBLE);                                                                                \
		memcpy(at, was_, bytes);                                                                               \
	} while (0)
#define KEEPS(member, low, high) AT(&(member), sizeof(member), low, high)
#define HALVES_KEEP(word, low, high)                                                                                   \
	do {                                                                                                           \
		AT((char *)&(word), sizeof(float), low, high);                                                         \
		AT((char *)&(word) + sizeof(float), sizeof(float), low, high);                                         \
	} while (0)
#define ALL_KEEP(array, low, high)                                                                                     \
	for (size_t i_ = 0; i_ < sizeof(array) / sizeof((array)[0]); i_++)                                             \
	KEEPS((array)[i_], low, high)
#define LEVEL_KEEPS(level)                                                                                             \
	do {                                                                                                           \
		KEEPS((level).lambda.log_value, -60.0, 60.0);                                                          \
		KEEPS((level).lambda.variance, 0.0, 1e4);                                                              \
		KEEPS((level).lambda.weight, 0.0, 1e9);                                                                \
		KEEPS((level).lambda.widening, 0.0, 1e6);                                                              \
		KEEPS((level).last.log_lambda, -60.0, 60.0);                                                           \
		KEEPS((level).last.half_width, 0.0, 60.0);                                                             \
	} while (0)
/* The last half of the law is free. */
#define CONTENTION_KEEPS(contention)                                                                                   \
	do {                                                                                                           \
		for (uint32_t i = 0; i < KC_CONTENTION_CELLS; i++)                                                     \
			HALVES_KEEP((contention).cells[i], -60.0, 1.05e6);                                             \
		HALVES_KEEP((contention).law[0], -1e6, 1e6);                                                           \
		AT((char *)&(contention).law[1], sizeof(float), -1e6, 1e6);                                            \
		put((char *)&(contention).law[1] + sizeof(float), sizeof(float), NAN);                                 \
		assert_true(POSSIBLE);                                                                                 \
		ALL_KEEP((contention).errors, 0.0, 1e3);                                                               \
		KEEPS((contention).log_solo, -60.0, 60.0);                                                             \
	} while (0)
#define STANDING_KEEPS(standing)                                                                                       \
	do {                                                                                                           \
		ALL_KEEP((standing).estimators.error, 0.0, 1e3);                                                       \
		for (uint32_t e = 0; e < KC_EVIDENCES; e++)                                                            \
			ALL_KEEP((standing).with[e].error, 0.0, 1e3);                                                  \
	} while (0)

#define POSSIBLE kc_device_learned_is_possible(&learned)

static void limits_of_devices(void **state)
{
	static struct kc_device_learned learned;

	(void)state;
	assert_true(POSSIBLE); /* nothing was learned */
	for (int unit = 0; unit < KC_UNITS; unit++)
		LEVEL_KEEPS(learned.levels[unit]);
	CONTENTION_KEEPS(learned.contention);
	STANDING_KEEPS(learned.experience.standing);
	HALVES_KEEP(learned.experience.margins.all.factors, 0.0, 1e6);
	for (uint32_t i = 0; i < KC_MARGIN_CLASSES; i++)
		HALVES_KEEP(learned.experience.margins.classes[i].factors, 0.0, 1e6);
	for (uint32_t i = 0; i < KC_MARGIN_AGES; i++)
		HALVES_KEEP(learned.experience.margins.ages[i].margin.factors, 0.0, 1e6);
	for (uint32_t i = 0; i < KC_FAMILIES; i++) {
		KEEPS(learned.rivals.of[i].share, 0.0, 1.0);
		ALL_KEEP(learned.rivals.of[i].error, 0.0, 1e3);
		KEEPS(learned.rivals.of[i].weight, 0.0, 1e9);
	}
	for (uint32_t i = 0; i < KC_ENGINE_COPY_KINDS; i++) {
		learned.copy_ns_per_mib[i] = UINT64_C(1) << 50;
		assert_true(POSSIBLE);
		learned.copy_ns_per_mib[i]++;
		assert_false(POSSIBLE);
		learned.copy_ns_per_mib[i] = 0;
	}
}

/* Durations are divided by it. A month has 2.6e15 ns. */
static void the_step_of_the_clock(void **state)
{
	static struct kc_device_learned learned;

	(void)state;
	learned.experience.tick_ns = 32;
	assert_false(POSSIBLE);
	learned.experience.tick = 32;
	assert_true(POSSIBLE);
	learned.experience.tick = UINT64_C(2600000000000000);
	assert_true(POSSIBLE);
	learned.experience.tick++;
	assert_false(POSSIBLE);
}

/* As many are told as there were, up to 48; what would be told after those is not looked at. */
static void lessons_of_the_prior(void **state)
{
	static struct kc_device_learned learned;
	struct kc_correction *correction = &learned.rivals.correction;

	(void)state;
	correction->lessons = 1;
	assert_false(POSSIBLE);
	correction->count = 1;
	assert_false(POSSIBLE); /* without a weight */
	correction->taught[0].weight = 1;
	assert_true(POSSIBLE);
	HALVES_KEEP(correction->told[0].pull, -60.0, 60.0);
	KEEPS(correction->taught[0].log_ns, -60.0, 60.0);
	KEEPS(correction->taught[0].off, -60.0, 60.0);
	KEEPS(correction->taught[0].weight, 1e-3, 1e9);
	correction->sequence = 1;
	assert_false(POSSIBLE);
	correction->sequence = 2;
	assert_true(POSSIBLE);
	for (uint32_t i = 0; i < 48; i++)
		correction->taught[i].weight = 1;
	correction->count = correction->lessons = 48;
	assert_true(POSSIBLE);
	correction->lessons = 1000;
	assert_true(POSSIBLE);
	KEEPS(correction->taught[47].weight, 1e-3, 1e9);
	correction->lessons = 47;
	assert_false(POSSIBLE);
	correction->count = 49;
	assert_false(POSSIBLE);
}

#undef POSSIBLE
#define POSSIBLE kc_kernel_learned_is_possible(&learned)

static void limits_of_kernels(void **state)
{
	static struct kc_kernel_learned learned;
	struct kc_scaling *scaling = &learned.scaling;

	(void)state;
	STANDING_KEEPS(learned.experience.standing);
	HALVES_KEEP(learned.experience.margin.factors, 0.0, 1e6);
	scaling->count = 1;
	assert_false(POSSIBLE); /* of no measurement */
	for (uint32_t i = 0; i < 16; i++) {
		struct kc_scaling_point *point = &scaling->points[i];

		point->count = 1;
		scaling->count = i + 1;
		assert_true(POSSIBLE);
		KEEPS(point->size.log_waves, 0.0, 60.0);
		KEEPS(point->size.log_threads, 0.0, 60.0);
		ALL_KEEP(point->size.log_grid, 0.0, 60.0);
		KEEPS(point->size.log_guess_ns, 0.0, 60.0);
		KEEPS(point->log_ns, 0.0, 60.0);
	}
	scaling->last = 15;
	assert_true(POSSIBLE);
	scaling->last = 16;
	assert_false(POSSIBLE);
	scaling->last = 0;
	scaling->count = 17;
	assert_false(POSSIBLE);
}

#undef POSSIBLE
#define POSSIBLE kc_key_learned_is_possible(&learned)

/* Work ascends. More than nothing: 1e-6 is the least that is tried. */
static void limits_of_keys(void **state)
{
	static struct kc_key_learned learned;
	struct kc_sizes *sizes = &learned.sizes;

	(void)state;
	for (int unit = 0; unit < KC_UNITS; unit++)
		LEVEL_KEEPS(learned.levels[unit]);
	sizes->count = 1;
	assert_false(POSSIBLE);
	for (uint32_t i = 0; i < 8; i++) {
		struct kc_curve_point *point = &sizes->points[i];
		const double below = i ? sizes->points[i - 1].work_cycles : 0;

		sizes->count = i + 1;
		*point = (struct kc_curve_point){.work_cycles = i + 1, .waves = 1, .time_ns = 1};
		assert_true(POSSIBLE);
		point->work_cycles = below;
		assert_false(POSSIBLE);
		point->work_cycles = below + 1e-6;
		assert_true(POSSIBLE);
		KEEPS(point->work_cycles, below + 1e-6, 1e24);
		point->work_cycles = i + 1;
		KEEPS(point->waves, 1e-6, 1e24);
		KEEPS(point->longest, 0.0, 1e24);
		KEEPS(point->least_bytes, 0.0, 1e24);
		KEEPS(point->time_ns, 1e-6, 2.6e15);
		point->waves = 0;
		assert_false(POSSIBLE);
		point->waves = 1;
		point->time_ns = 0;
		assert_false(POSSIBLE);
		point->time_ns = 1;
	}
	sizes->count = 9;
	assert_false(POSSIBLE);
}

#undef POSSIBLE
#define POSSIBLE kc_variant_learned_is_possible(&learned)

static void limits_of_variants(void **state)
{
	static struct kc_variant_learned learned;

	(void)state;
	LEVEL_KEEPS(learned.level);
	CONTENTION_KEEPS(learned.contention);
	HALVES_KEEP(learned.range.ends, 0.0, 2.6e15);
	HALVES_KEEP(learned.range.measured, 0.0, 2.6e15);
}

#undef POSSIBLE
#define POSSIBLE kc_arguments_fit_is_possible(&learned)

static void limits_of_arguments(void **state)
{
	static struct kc_arguments_fit learned;

	(void)state;
	learned.numbers = 6;
	assert_true(POSSIBLE);
	learned.numbers = 7;
	assert_false(POSSIBLE);
	learned.numbers = 0;
	ALL_KEEP(learned.products, -1e12, 1e12);
	ALL_KEEP(learned.sums, -1e12, 1e12);
	ALL_KEEP(learned.first, -60.0, 60.0);
	KEEPS(learned.least_log_ns, 0.0, 60.0);
	KEEPS(learned.most_log_ns, 0.0, 60.0);
	KEEPS(learned.error, 0.0, 1e3);
	KEEPS(learned.law_error, 0.0, 1e3);
	for (uint32_t i = 0; i < KC_ARGUMENT_POINTS; i++) {
		ALL_KEEP(learned.points[i].x, -120.0, 120.0);
		KEEPS(learned.points[i].log_ns, 0.0, 60.0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(weights_that_are_learned_are_possible),
	    cmocka_unit_test(weights_that_no_learning_gives_are_not),
	    cmocka_unit_test(certainty_of_slowdowns),
	    cmocka_unit_test(limits_of_devices),
	    cmocka_unit_test(the_step_of_the_clock),
	    cmocka_unit_test(lessons_of_the_prior),
	    cmocka_unit_test(limits_of_kernels),
	    cmocka_unit_test(limits_of_keys),
	    cmocka_unit_test(limits_of_variants),
	    cmocka_unit_test(limits_of_arguments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
