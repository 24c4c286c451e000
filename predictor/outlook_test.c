#include "outlook.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct fixture {
	struct kc_device device;
	struct kc_work work;
	struct kc_lambda root, lambda;
	struct kc_contention board, contention;
	struct kc_timeline *tl;
};

static void begin(struct fixture *f)
{
	struct kc_resources resources = {.registers = 32};
	struct kc_shape shape = {.grid = {60, 1, 1}, .block = {256, 1, 1}};

	f->device = *kc_device_builtin("v100");
	kc_device_complete(&f->device);
	assert_int_equal(kc_work_init(&f->work, &f->device, &resources, &shape, 0), 0);
	kc_lambda_init(&f->root, NULL);
	kc_lambda_init(&f->lambda, &f->root);
	kc_contention_init(&f->board, NULL);
	kc_contention_init(&f->contention, &f->board);
	f->tl = calloc(1, kc_timeline_size());
	assert_non_null(f->tl);
	kc_timeline_init(f->tl, &f->device);
}

static int64_t solo_ns(const struct fixture *f)
{
	struct kc_belief belief = kc_lambda_belief(&f->lambda, 1);

	return kc_forecast_solo(&f->work, &belief, NULL, NULL).ns;
}

static void learn(struct fixture *f, const struct kc_placement *placed, int overlapped, uint32_t solos, int64_t ns)
{
	struct kc_lesson lesson = {
	    .work = &f->work,
	    .lambda = &f->lambda,
	    .contention = &f->contention,
	    .meeting = placed->meeting,
	    .slowdown = (double)placed->slowdown,
	    .overlapped = overlapped,
	    .solos = solos,
	    .measured_ns = ns,
	};

	lesson.met.of[KC_LOAD_ISSUE] = overlapped ? 0.5f : 0;
	kc_outlook_learn(&lesson);
}

/* Twice as long beside another one, each time: its time alone stays what it was, and the slowdown becomes 2. */
static void overlapped_runs_teach_the_slowdown(void **state)
{
	struct fixture f;
	struct kc_outlook outlook = {.device = &f.device, .work = &f.work, .contention = &f.contention, .identity = 1};
	struct kc_placement alone, beside;
	int64_t now_ns = 0;

	(void)state;
	begin(&f);
	for (uint32_t i = 0; i < 20; i++) {
		now_ns += 1000000000;
		kc_outlook_place(&outlook, f.tl, 0, now_ns, solo_ns(&f), &alone);
		kc_outlook_place(&outlook, f.tl, 1, now_ns, solo_ns(&f), &beside);
		learn(&f, &alone, 0, i, 100000);
		learn(&f, &beside, 1, i + 1, 200000);
	}
	assert_true(llabs(solo_ns(&f) - 100000) < 1000);
	now_ns += 1000000000;
	kc_outlook_place(&outlook, f.tl, 0, now_ns, 100000, &alone);
	kc_outlook_place(&outlook, f.tl, 1, now_ns, 100000, &beside);
	assert_true(alone.slowdown < 1.2f);
	assert_true(fabsf(beside.slowdown - 2) < 0.1f);
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
	    cmocka_unit_test(what_never_runs_alone_is_learned_too),
	    cmocka_unit_test(load),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
