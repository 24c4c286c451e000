/* The engine without some of what it learns: what is left predicts alone. */
#include "engine_testing.h"

static int learned_mix(const struct world *w)
{
	struct world *new = world_without(0);
	int learned = memcmp(w->device.learned.experience.standing.with, new->device.learned.experience.standing.with,
			     sizeof(w->device.learned.experience.standing.with)) != 0;

	destroy(new);
	return learned;
}

static int learned_margins(const struct world *w)
{
	return w->device.learned.experience.margins.all.factors != 0;
}

static void without_lambda_the_devices_remains(void **state)
{
	struct world *w = world_without(1u << KC_LAYER_LAMBDA);

	(void)state;
	run_alone(w, FEW, work_ns(w, FEW, 1 / 3.0));
	assert_int_equal(solo(w, FEW).model, KC_MODEL_BSP_DEVICE);
	assert_near(solo(w, FEW).ns, held(w, FEW, work_ns(w, FEW, 1 / 3.0)));
	destroy(w);
}

static void without_sizes_the_kernels_lambda_remains(void **state)
{
	struct world *w = world_without(1u << KC_LAYER_SIZES);

	(void)state;
	run_alone(w, FEW, work_ns(w, FEW, 1 / 3.0));
	assert_int_equal(solo(w, MANY).model, KC_MODEL_BSP_KERNEL);
	destroy(w);
}

static void without_contexts_lambda_predicts_alone(void **state)
{
	struct world *w = world_without(1u << KC_LAYER_CONTEXTS);

	(void)state;
	run_alone(w, FEW, 5 * MS);
	w->now_ns += APART_NS;
	assert_int_equal(predict(w, FEW, 0).candidates.present, 1u << KC_CANDIDATE_LAMBDA);
	destroy(w);
}

static void without_mix_or_margins_they_are_not_learned(void **state)
{
	static const uint32_t withouts[] = {0, 1u << KC_LAYER_MIX, 1u << KC_LAYER_MARGINS};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct world *w = world_without(withouts[i]);

		for (uint32_t k = 0; k < 10; k++)
			run_alone(w, FEW, (k + 1) * MS);
		assert_int_equal(learned_mix(w), i != 1);
		assert_int_equal(learned_margins(w), i != 2);
		destroy(w);
	}
}

/* Each fills the device: the second waits, unless nobody looks. */
static void without_placement_nothing_waits_for_room(void **state)
{
	struct world *with = world_without(0), *without = world_without(1u << KC_LAYER_PLACEMENT);
	struct kc_prediction first, second;

	(void)state;
	first = predict(with, FEW, 0);
	second = predict(with, MANY, 1);
	assert_true(second.placement.start_ns > first.placement.start_ns);
	first = predict(without, FEW, 0);
	second = predict(without, MANY, 1);
	assert_int_equal(second.placement.start_ns, first.placement.start_ns);
	assert_near(second.placement.end_ns - second.placement.start_ns,
		    held(without, MANY, work_ns(without, MANY, 1)));
	/* In its own stream it does wait. */
	assert_true(predict(without, MANY, 0).placement.start_ns >= first.placement.end_ns);
	destroy(with);
	destroy(without);
}

static void without_contention_room_alone_slows_down(void **state)
{
	struct world *w = world_without(1u << KC_LAYER_CONTENTION);
	struct kc_prediction_request prospect;

	(void)state;
	kc_engine_ask(&w->engine, &w->variants[FEW], NULL, &prospect);
	assert_null(prospect.launch.contention);
	assert_int_equal(prospect.launch.in_stream, 0);
	destroy(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(without_lambda_the_devices_remains),
	    cmocka_unit_test(without_sizes_the_kernels_lambda_remains),
	    cmocka_unit_test(without_contexts_lambda_predicts_alone),
	    cmocka_unit_test(without_mix_or_margins_they_are_not_learned),
	    cmocka_unit_test(without_placement_nothing_waits_for_room),
	    cmocka_unit_test(without_contention_room_alone_slows_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
