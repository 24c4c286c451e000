/* The time alone, what is slowed down, and what the code bounds. */
#include "outlook_testing.h"

static int64_t solo_ns(const struct fixture *f)
{
	struct kc_belief belief = kc_lambda_belief(&f->lambda, 1);

	return kc_forecast_solo(&f->work, &belief, NULL, NULL).ns;
}

/* No context is known. */
static struct kc_prediction predict_solo(struct fixture *f, uint32_t stream, int64_t now_ns, struct kc_solo solo)
{
	struct kc_prediction_request prospect = {
	    .launch = {&f->device, &f->work, &f->contention, 1, 0},
	    .name = {1, 1},
	    .solo = solo,
	    .alone = 1,
	    .device = &f->of_device,
	    .kernel = &f->of_kernel,
	};
	struct kc_prediction said;

	kc_outlook_predict(&prospect, f->tl, &f->history, stream, now_ns, &said);
	return said;
}

static struct kc_placement place(struct fixture *f, uint32_t stream, int64_t now_ns, int64_t solo_ns)
{
	return predict_solo(f, stream, now_ns, (struct kc_solo){.ns = solo_ns, .half_width = 0.1f}).placement;
}

/* Twice as long beside another one, each time. Returns when all has ended. */
static int64_t run_slowed_down(struct fixture *f)
{
	int64_t now_ns = 0;

	for (uint32_t i = 0; i < 20; i++) {
		struct kc_placement alone, beside;

		now_ns += 1000000000;
		alone = place(f, 0, now_ns, solo_ns(f));
		beside = place(f, 1, now_ns, solo_ns(f));
		learn(f, &alone, 0, i, 100000);
		learn(f, &beside, 1, i + 1, 200000);
	}
	return now_ns + 1000000000;
}

/* Its time alone stays what it was, and the slowdown becomes 2. */
static void overlapped_runs_teach_the_slowdown(void **state)
{
	struct fixture f;
	struct kc_placement alone, beside;
	int64_t now_ns;

	(void)state;
	begin(&f);
	now_ns = run_slowed_down(&f);
	assert_true(llabs(solo_ns(&f) - 100000) < 1000);
	alone = place(&f, 0, now_ns, 100000);
	beside = place(&f, 1, now_ns, 100000);
	assert_true(alone.slowdown < 1.2f);
	assert_true(fabsf(beside.slowdown - 2) < 0.1f);
	free(f.tl);
}

/* The code says 90 µs at least, the interval reaches from 100 µs down to a third: so that of the whole duration begins
 * at 90 µs, beside another one as well, where twice as long is only likely. Of another model it does not. */
static void the_code_bounds_the_duration(void **state)
{
	struct kc_solo solo = {.ns = 100000, .half_width = 1.1f, .model = KC_MODEL_BSP_CODE};
	struct kc_prediction said;
	struct fixture f;
	int64_t now_ns;

	(void)state;
	begin(&f);
	now_ns = run_slowed_down(&f);
	f.work.counted_least_ns = 90000;
	for (uint32_t stream = 0; stream < 2; stream++) {
		said = predict_solo(&f, stream, now_ns, solo);
		assert_true(fabs((double)said.solo_low_ns * (double)said.placement.slowdown - 90000) < 4);
	}
	assert_true(said.placement.slowdown > 1.9f);
	solo.model = KC_MODEL_BSP_KERNEL;
	said = predict_solo(&f, 0, now_ns + 1000000000, solo);
	assert_in_range(said.solo_low_ns, 30000, 40000);
	free(f.tl);
}

/* Each takes longer than λ says, as each has more to do, which the launch shape does not tell. A shape that was never
 * measured gets what the device's have learned. */
static void what_runs_alone_is_not_slowed_down(void **state)
{
	const struct kc_placement placed = {.slowdown = 1, .meeting = {.room = 1}};
	struct fixture f;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 10; i++)
		learn(&f, &placed, 0, i, 10000 << i);
	assert_float_equal(kc_contention_slowdown(&f.board, &placed.meeting), 1, 0);
	free(f.tl);
}

/* Never seen alone: the first measurement is all there is to go by. */
static void what_never_runs_alone_is_learned_too(void **state)
{
	struct kc_placement placed = {.slowdown = 1, .meeting = {.room = 1}};
	struct fixture f;

	(void)state;
	begin(&f);
	learn(&f, &placed, 1, 0, 300000);
	assert_true(llabs(solo_ns(&f) - 300000) < 3000);
	free(f.tl);
}

static void load(void **state)
{
	struct fixture f;
	struct kc_outlook outlook = {.device = &f.device, .work = &f.work};

	(void)state;
	begin(&f);
	/* 60 blocks of 8 warps on 80 SMs of 64 warps: 480 of 5,120. */
	assert_float_equal(kc_outlook_load(&outlook, 100000).of[KC_LOAD_ISSUE], 480.0 / 5120, 1e-6);
	assert_float_equal(kc_outlook_load(&outlook, 100000).of[KC_LOAD_MEMORY], 0, 0);
	free(f.tl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(overlapped_runs_teach_the_slowdown),
	    cmocka_unit_test(the_code_bounds_the_duration),
	    cmocka_unit_test(what_runs_alone_is_not_slowed_down),
	    cmocka_unit_test(what_never_runs_alone_is_learned_too),
	    cmocka_unit_test(load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
