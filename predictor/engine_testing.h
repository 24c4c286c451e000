/* What tests of the engine share: a device, its kernels and launches of them, chosen by hand. */
#ifndef KC_ENGINE_TESTING_H
#define KC_ENGINE_TESTING_H

#include "predictor/prior/usual.h"
#include "engine.h"

#include "predictor/concurrency/overlap.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define APART_NS 1000000000 /* between launches, so that none overlaps the one before */
#define MS 1000000

/* FEW and FEW_OTHER are one launch shape with two sets of arguments; MANY has three times their blocks. */
enum { FEW, FEW_OTHER, MANY, OTHER_KERNEL, VARIANTS };
enum { KERNELS = 2, SHAPES = 3 };

struct world {
	struct kc_engine engine;
	struct kc_device info;
	struct kc_engine_device device;
	struct kc_engine_kernel kernels[KERNELS];
	struct kc_engine_key keys[KERNELS];
	_Atomic uint32_t shapes[SHAPES];
	struct kc_engine_variant variants[VARIANTS];
	struct kc_timeline *timeline;
	struct kc_history history;
	struct kc_estimate_cache *answers; /* NULL, but where a test has one */
	struct kc_engine_launch kept;
	int64_t now_ns;
	struct {
		uint32_t count;
		struct kc_engine_publication last[8];
	} told;
};

/* Nothing has run yet; what was learned stays. */
static inline void begin_process(struct world *w)
{
	memset(w->timeline, 0, kc_timeline_size());
	kc_timeline_init(w->timeline, &w->info);
	kc_history_init(&w->history, 0);
	w->now_ns = 0;
}

static inline void published(const struct kc_engine_publication *publication, void *arg)
{
	struct world *w = arg;

	assert_in_range(w->told.count, 0, 7);
	w->told.last[w->told.count++] = *publication;
}

static inline struct world *world_without(uint32_t without)
{
	static const uint32_t kernel_of[VARIANTS] = {0, 0, 0, 1}, shape_of[VARIANTS] = {0, 0, 1, 2};
	static const uint32_t blocks[SHAPES] = {160000, 480000, 320000};
	static const struct kc_resources resources = {.registers = 32};
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->engine.without = without;
	w->engine.cells = calloc(1, kc_cells_bytes());
	w->timeline = calloc(1, kc_timeline_size());
	assert_true(w->engine.cells && w->timeline);
	kc_cells_init(w->engine.cells);
	w->info = *kc_device_builtin("v100");
	kc_device_complete(&w->info);
	kc_engine_device_init(&w->engine, &w->device, &w->info);
	for (uint32_t i = 0; i < KERNELS; i++) {
		kc_engine_kernel_init(&w->kernels[i], &w->device, "kernel");
		kc_engine_key_init(&w->keys[i], &w->kernels[i]);
	}
	for (uint32_t i = 0; i < VARIANTS; i++) {
		struct kc_shape dims = {.grid = {blocks[shape_of[i]], 1, 1}, .block = {256, 1, 1}};

		assert_int_equal(kc_engine_variant_init(&w->variants[i], &w->keys[kernel_of[i]],
							&w->shapes[shape_of[i]], &resources, &dims, 0),
				 0);
		kc_engine_variant_name(&w->variants[i], (struct kc_name){100 + i, 200 + shape_of[i]});
	}
	begin_process(w);
	return w;
}

static inline int set_up(void **state)
{
	*state = world_without(0);
	return 0;
}

static inline void destroy(struct world *w)
{
	free(w->engine.cells);
	free(w->timeline);
	free(w->answers);
	free(w);
}

static inline int tear_down(void **state)
{
	destroy(*state);
	return 0;
}

static inline struct kc_prediction predict(struct world *w, uint32_t variant, uint32_t stream)
{
	const struct kc_engine_stage stage = {w->timeline, &w->history, w->answers};
	struct kc_prediction_request prospect;
	struct kc_prediction prediction;

	kc_engine_ask(&w->engine, &w->variants[variant], w->answers, &prospect);
	kc_engine_predict(&prospect, &stage, stream, w->now_ns, &prediction, &w->kept);
	return prediction;
}

/* Of the launch predicted last. */
static inline void measure(struct world *w, uint32_t variant, int64_t ns)
{
	kc_engine_measured(&w->engine, &w->variants[variant], &w->kept, ns);
}

static inline void decide(struct world *w, uint32_t variant, uint32_t overlap, int64_t ns)
{
	const struct kc_load met = {{overlap == KC_OVERLAP_NONE ? 0 : 0.5f}};

	kc_engine_decided(&w->engine, &w->variants[variant], &w->kept, overlap, &met, ns);
}

static inline void run_alone(struct world *w, uint32_t variant, int64_t ns)
{
	w->now_ns += APART_NS;
	predict(w, variant, 0);
	measure(w, variant, ns);
	decide(w, variant, KC_OVERLAP_NONE, ns);
}

static inline struct kc_solo solo(struct world *w, uint32_t variant)
{
	struct kc_prediction_request prospect;

	kc_engine_ask(&w->engine, &w->variants[variant], NULL, &prospect);
	return prospect.solo;
}

/* Its time where the device does the assumed work so many times faster. */
static inline int64_t work_ns(const struct world *w, uint32_t variant, double lambda)
{
	const struct kc_work *work = &w->variants[variant].work;

	return (int64_t)(work->launch_ns + work->unit_ns / lambda + 0.5);
}

/* As far as it is no further off what is usual than guesses may be. */
static inline int64_t held(const struct world *w, uint32_t variant, int64_t guessed_ns)
{
	struct kc_solo guess = {.ns = guessed_ns};

	kc_usual_bound(&w->variants[variant].work, &guess);
	return guess.ns;
}

static inline void assert_near(int64_t ns, int64_t wanted_ns)
{
	assert_in_range(ns, wanted_ns - wanted_ns / 1000 - 1, wanted_ns + wanted_ns / 1000 + 1);
}

static inline void assert_belief_equal(const struct kc_belief *a, const struct kc_belief *b)
{
	assert_memory_equal(a, b, sizeof(*a));
}

#endif
