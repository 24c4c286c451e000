/* The engine's own rules, for launches chosen by hand. */
#include "engine_testing.h"

/* Three times slower than assumed: so are the device, the kernel, and what is made of them afterwards. Times of other
 * sizes would say more, and are left out. */
static void entries_start_from_their_parents(void **state)
{
	struct world *w = world_without(1u << KC_LAYER_SIZES);
	struct kc_engine_key key = {0};

	(void)state;
	assert_int_equal(solo(w, OTHER_KERNEL).model, KC_MODEL_BSP_DEVICE);
	assert_near(solo(w, OTHER_KERNEL).ns, held(w, OTHER_KERNEL, work_ns(w, OTHER_KERNEL, 1)));
	run_alone(w, FEW, work_ns(w, FEW, 1 / 3.0));
	assert_int_equal(solo(w, FEW).model, KC_MODEL_BSP_SHAPE);
	assert_int_equal(solo(w, MANY).model, KC_MODEL_BSP_KERNEL);
	assert_int_equal(solo(w, OTHER_KERNEL).model, KC_MODEL_BSP_DEVICE);
	for (uint32_t i = 0; i < OTHER_KERNEL; i++)
		assert_near(solo(w, i).ns, work_ns(w, i, 1 / 3.0));
	assert_near(solo(w, OTHER_KERNEL).ns, held(w, OTHER_KERNEL, work_ns(w, OTHER_KERNEL, 1 / 3.0)));
	kc_engine_key_init(&key, &w->kernels[1]);
	assert_true(key.learned.levels[KC_UNIT_NOMINAL].lambda.parent ==
		    &w->device.learned.levels[KC_UNIT_NOMINAL].lambda);
	assert_float_equal(key.learned.levels[KC_UNIT_NOMINAL].lambda.log_value, -log(3), 1e-4);
	assert_int_equal(key.learned.levels[KC_UNIT_NOMINAL].lambda.count, 0);
	/* A kernel of counted work starts from another λ, of which nothing is known. */
	assert_int_equal(w->device.learned.levels[KC_UNIT_COUNTED].lambda.count, 0);
	destroy(w);
}

static void novelty_counts_launches_whatever_their_arguments(void **state)
{
	struct world *w = *state;

	for (uint32_t i = 0; i < VARIANTS; i++)
		assert_int_equal(kc_engine_novelty(&w->variants[i]), KC_FIRST_SEEN);
	predict(w, FEW, 0);
	assert_int_equal(kc_engine_novelty(&w->variants[FEW]), KC_FIRST_SEEN);
	measure(w, FEW, MS);
	assert_int_equal(kc_engine_novelty(&w->variants[FEW]), KC_REPEATED);
	assert_int_equal(kc_engine_novelty(&w->variants[FEW_OTHER]), KC_REPEATED);
	assert_int_equal(kc_engine_novelty(&w->variants[MANY]), KC_NEW_SIZE);
	assert_int_equal(kc_engine_novelty(&w->variants[OTHER_KERNEL]), KC_FIRST_SEEN);
}

static void no_time_teaches_nothing(void **state)
{
	struct world *w = *state, before;

	predict(w, FEW, 0);
	before = *w;
	for (int64_t ns = 0; ns > -2; ns--) {
		measure(w, FEW, ns);
		decide(w, FEW, KC_OVERLAP_NONE, ns);
		decide(w, FEW, KC_OVERLAP_BEHIND, ns);
	}
	assert_memory_equal(w, &before, sizeof(*w));
}

static void contexts_learn_when_it_is_measured_and_lambda_when_it_is_decided(void **state)
{
	struct world *w = *state;
	struct kc_prediction p = predict(w, FEW, 0);
	int64_t took_ns = work_ns(w, FEW, 1 / 3.0);

	assert_int_equal(p.candidates.present, 1u << KC_CANDIDATE_LAMBDA);
	measure(w, FEW, took_ns);
	assert_near(solo(w, FEW).ns, held(w, FEW, work_ns(w, FEW, 1)));
	begin_process(w);
	p = predict(w, FEW, 0);
	assert_int_equal(p.candidates.present, 1u << KC_CANDIDATE_LAMBDA | 1u << KC_CANDIDATE_CONTEXT);
	assert_near((int64_t)expf(p.candidates.log_ns[KC_CANDIDATE_CONTEXT]), took_ns);
	assert_near((int64_t)expf(p.candidates.log_ns[KC_CANDIDATE_LAMBDA]), held(w, FEW, work_ns(w, FEW, 1)));
	decide(w, FEW, KC_OVERLAP_NONE, took_ns);
	assert_near(solo(w, FEW).ns, took_ns);
}

static void an_unknown_overlap_teaches_no_contention(void **state)
{
	struct world *w = *state;
	struct kc_contention own, devices;

	run_alone(w, FEW, MS);
	own = w->variants[FEW].learned.contention;
	devices = w->device.learned.contention;
	predict(w, FEW, 0);
	decide(w, FEW, KC_OVERLAP_UNKNOWN, 3 * MS);
	assert_memory_equal(&w->variants[FEW].learned.contention, &own, sizeof(own));
	assert_memory_equal(&w->device.learned.contention, &devices, sizeof(devices));
	/* Nor does it count as alone: λ is as before. */
	assert_int_equal(w->variants[FEW].learned.solos, 1);
	assert_near(solo(w, FEW).ns, MS);
	decide(w, FEW, KC_OVERLAP_BEHIND, 3 * MS);
	assert_memory_not_equal(&w->variants[FEW].learned.contention, &own, sizeof(own));
	assert_memory_not_equal(&w->device.learned.contention, &devices, sizeof(devices));
	assert_near(solo(w, FEW).ns, MS);
}

static void what_is_published_is_what_lambda_believes(void **state)
{
	static const uint32_t models[] = {KC_MODEL_BSP_DEVICE, KC_MODEL_BSP_KERNEL, KC_MODEL_BSP_SHAPE};
	struct world *w = *state;

	w->engine.driver.published = published;
	w->engine.driver.arg = w;
	run_alone(w, FEW, 5 * MS);
	assert_int_equal(w->told.count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct kc_engine_publication *told = &w->told.last[i];
		struct kc_belief now = kc_lambda_belief(told->lambda, i + 1);

		assert_int_equal(told->model, models[i]);
		assert_true(told->device == &w->device);
		assert_true(told->key == (i > 0 ? &w->keys[0] : NULL));
		assert_true(told->variant == (i > 1 ? &w->variants[FEW] : NULL));
		assert_belief_equal(&told->belief, &now);
	}
	const struct kc_learned *levels[] = {&w->device.learned.levels[KC_UNIT_NOMINAL],
					     &w->keys[0].learned.levels[KC_UNIT_NOMINAL],
					     &w->variants[FEW].learned.level};
	for (uint32_t i = 0; i < 3; i++) {
		struct kc_belief read;

		kc_published_read(&levels[i]->published, &read);
		assert_true(w->told.last[i].lambda == &levels[i]->lambda);
		assert_belief_equal(&read, &w->told.last[i].belief);
		assert_belief_equal(&read, &levels[i]->last);
	}
	assert_int_equal(w->engine.states, 3);
}

static void events_are_numbered_from_one(void **state)
{
	struct world *w = *state;

	assert_int_equal(kc_engine_known(&w->engine), 0);
	assert_int_equal(kc_engine_event(&w->engine), 1);
	assert_int_equal(kc_engine_known(&w->engine), 1);
	assert_int_equal(kc_engine_event(&w->engine), 2);
	assert_int_equal(kc_engine_event(&w->engine), 3);
	assert_int_equal(kc_engine_known(&w->engine), 3);
}

#define MIB 1048576u

static int64_t copy_of_one_mib_ns(const struct world *w, uint32_t kind)
{
	return kc_engine_copy_ns(&w->device, kind, KC_ROUTE_TO_DEVICE, MIB);
}

/* PCIe 3.0 x16, 12 GB/s: a MiB takes 87,381 ns, after a latency of 1.5 µs. A new measurement counts for a quarter. */
static void copies_are_as_fast_as_measured(void **state)
{
	struct world *w = *state;

	assert_int_equal(copy_of_one_mib_ns(w, 1), 88881);
	kc_engine_copy_measured(&w->device, 1, MIB, 50000);
	assert_int_equal(copy_of_one_mib_ns(w, 1), 51500);
	kc_engine_copy_measured(&w->device, 1, 2 * MIB, 180000);
	assert_int_equal(copy_of_one_mib_ns(w, 1), 1500 + (3 * 50000 + 90000) / 4);
	kc_engine_copy_measured(&w->device, 1, 4, 9000); /* too small to tell the rate */
	kc_engine_copy_measured(&w->device, 1, MIB, 0);
	assert_int_equal(copy_of_one_mib_ns(w, 1), 61500);
	assert_int_equal(copy_of_one_mib_ns(w, 2), 88881);
}

/* 100 multiply-adds per thread. */
static void count_work(struct world *w, uint32_t variant)
{
	struct kc_counts counts = {
	    .of = {[KC_COUNT_OF_FMA] = 100},
	    .threads = (double)w->variants[variant].work.blocks * 256,
	    .active_share = 1,
	    .exact = 1,
	};

	assert_int_equal(kc_engine_variant_count(&w->variants[variant], &counts), 0);
	kc_engine_variant_name(&w->variants[variant], w->variants[variant].name);
}

/* A thread copies 64 bytes; L2 may hold 6 MiB of what is loaded and of what is stored, and the rest takes as long as
 * 898 GB/s allow (4096 bits at 1754 MT/s), after two thirds of 0.75 µs. The interval of first guesses that are limited
 * so would begin a factor of e^0.4 below a guess that is 8 % above it. */
static void first_intervals_begin_at_the_bound(void **state)
{
	struct world *w = *state;
	const double threads = 160000 * 256.0, bound_ns = 500 + 2 * (64 * threads - (6 << 20)) / 898.048;
	struct kc_counts counts = {
	    .of = {[KC_COUNT_OF_LD_GLOBAL] = 1,
		   [KC_COUNT_OF_ST_GLOBAL] = 1,
		   [KC_COUNT_OF_BYTES_LOADED] = 64,
		   [KC_COUNT_OF_BYTES_STORED] = 64,
		   [KC_COUNT_OF_REQUESTS] = 2 / 32.0,
		   [KC_COUNT_OF_SECTORS] = 4},
	    .threads = threads,
	    .active_share = 1,
	    .exact = 1,
	    .distinct_loaded_bytes = 64 * threads,
	    .distinct_stored_bytes = 64 * threads,
	};
	struct kc_prediction prediction;

	assert_int_equal(kc_engine_variant_count(&w->variants[FEW], &counts), 0);
	kc_engine_variant_name(&w->variants[FEW], w->variants[FEW].name);
	prediction = predict(w, FEW, 0);
	assert_int_equal(prediction.model, KC_MODEL_BSP_CODE);
	assert_in_range(prediction.solo_low_ns, bound_ns - 4, bound_ns + 4);
	assert_true(prediction.solo_low_ns < prediction.solo_ns);
	/* What was measured tells more. */
	run_alone(w, FEW, (int64_t)(bound_ns / 2));
	w->now_ns += APART_NS;
	assert_true((double)predict(w, FEW, 0).solo_low_ns < bound_ns);
}

static void counted_work_is_learned_by_size(void **state)
{
	struct world *w = *state;

	for (uint32_t i = FEW; i <= MANY; i++)
		count_work(w, i);
	assert_int_equal(w->variants[FEW].name.shape, 0);
	assert_int_equal(solo(w, MANY).model, KC_MODEL_BSP_CODE);
	predict(w, FEW, 0);
	measure(w, FEW, 10 * MS);
	decide(w, FEW, KC_OVERLAP_BEHIND, 10 * MS); /* not alone: no size was measured */
	assert_int_equal(w->keys[0].learned.sizes.count, 0);
	run_alone(w, FEW, 10 * MS);
	assert_int_equal(w->keys[0].learned.sizes.count, 1);
	assert_int_equal(solo(w, MANY).model, KC_MODEL_BSP_SIZES);
	/* Three times the work, far above the launch term: three times as long, to 5 %. */
	assert_in_range(solo(w, MANY).ns, 285 * MS / 10, 315 * MS / 10);
	/* The λ of a nominal work has nothing to do with it. */
	assert_int_equal(w->device.learned.levels[KC_UNIT_NOMINAL].lambda.count, 0);
	assert_int_equal(w->keys[0].learned.levels[KC_UNIT_NOMINAL].lambda.count, 0);
	assert_int_equal(solo(w, OTHER_KERNEL).model, KC_MODEL_BSP_DEVICE);
}

static void a_size_may_be_learned_of_another_launch(void **state)
{
	struct world *w = *state;

	count_work(w, FEW);
	count_work(w, MANY);
	kc_engine_learn_size(&w->engine, &w->keys[0], &w->variants[FEW].work, &w->variants[FEW].size, 10 * MS);
	assert_int_equal(w->keys[0].learned.sizes.count, 1);
	assert_int_equal(solo(w, FEW).model, KC_MODEL_BSP_SIZES);
	assert_near(solo(w, FEW).ns, 10 * MS);
	assert_in_range(solo(w, MANY).ns, 285 * MS / 10, 315 * MS / 10);
	assert_int_equal(w->keys[0].learned.levels[KC_UNIT_COUNTED].lambda.count, 1);
	assert_int_equal(w->device.learned.levels[KC_UNIT_COUNTED].lambda.count, 1);
	assert_int_equal(w->variants[FEW].learned.level.lambda.count, 0);
}

/* A second for a kernel of 41 million threads says nothing of another one, which may take 0.1 ms. Without the bound it
 * was predicted to take two seconds. */
static void a_slow_kernel_makes_no_other_absurd(void **state)
{
	struct world *w = *state;

	run_alone(w, FEW, 1000 * MS);
	assert_int_equal(solo(w, OTHER_KERNEL).model, KC_MODEL_BSP_DEVICE);
	assert_in_range(solo(w, OTHER_KERNEL).ns, MS, 10 * MS);
}

/* By what is usual and λ before: of a second, both would have learned. */
static void the_guess_that_is_judged_has_not_seen_the_measurement(void **state)
{
	struct world *w = *state;
	int64_t guessed_ns = solo(w, FEW).ns;

	assert_in_range(guessed_ns, 1, 100 * MS);
	run_alone(w, FEW, 1000 * MS);
	assert_int_equal(w->variants[FEW].guess.ns, guessed_ns);
}

/* Four times the number counts as twice the time until more is known, and the law over sizes, by which both launches
 * are alike, is believed as much: √2 ms. */
static void numbers_among_arguments_are_learned_from(void **state)
{
	struct world *w = *state;

	assert_int_equal(kc_engine_variant_given(&w->variants[FEW_OTHER], "p0 = 400"), sizeof(struct kc_arguments_fit));
	w->kernels[0].by_arguments = calloc(1, sizeof(struct kc_arguments_fit));
	assert_int_equal(kc_engine_variant_given(&w->variants[FEW], "p0 = 100"), 0);
	run_alone(w, FEW, MS);
	assert_int_equal(solo(w, FEW_OTHER).model, KC_MODEL_SCALING);
	assert_in_range(solo(w, FEW_OTHER).ns, 1.35 * MS, 1.48 * MS);
	/* The same arguments again, and launches without any, teach nothing of others. */
	run_alone(w, FEW, MS);
	run_alone(w, MANY, 5 * MS);
	assert_int_equal(w->kernels[0].by_arguments->learned, 1);
	run_alone(w, FEW_OTHER, 2 * MS);
	assert_int_equal(w->kernels[0].by_arguments->learned, 2);
	free(w->kernels[0].by_arguments);
}

/* Layers switched off */

/* As a launching thread does: from what was asked last, where that tells. */
static struct kc_prediction predict_again(struct world *w, uint32_t variant, uint32_t stream, uint32_t *asked)
{
	const struct kc_engine_stage stage = {w->timeline, &w->history, w->answers};
	struct kc_prediction_request *request = kc_engine_asked(&w->engine, &w->variants[variant]), said;
	struct kc_prediction prediction;

	if (!request) {
		++*asked;
		kc_engine_ask(&w->engine, &w->variants[variant], w->answers, &said);
		request = kc_engine_keep(&w->variants[variant], &said);
	}
	kc_engine_predict(request, &stage, stream, w->now_ns, &prediction, &w->kept);
	return prediction;
}

static void assert_predicted_equal(const struct world *a, const struct kc_prediction *p, const struct world *b,
				   const struct kc_prediction *q)
{
	assert_int_equal(p->placement.start_ns, q->placement.start_ns);
	assert_int_equal(p->placement.end_ns, q->placement.end_ns);
	assert_int_equal(p->placement.concurrency_case, q->placement.concurrency_case);
	assert_memory_equal(&p->placement.slowdown_waves, &q->placement.slowdown_waves, sizeof(float));
	assert_int_equal(p->model, q->model);
	assert_memory_equal(&a->kept, &b->kept, sizeof(a->kept));
}

static uint32_t chance(uint64_t *seed, uint32_t of)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u; /* Knuth's MMIX */
	return (uint32_t)(*seed >> 33) % of;
}

/* Whatever is learned between two launches, whose ends may lie before, at or after the next one's beginning. */
static void what_was_asked_last_says_the_same(void **state)
{
	struct world *asking = world_without(0), *keeping = world_without(0);
	uint32_t asked = 0, launches = 20000;
	uint64_t seed = 1;

	(void)state;
	asking->answers = calloc(1, kc_estimate_cache_bytes());
	keeping->answers = calloc(1, kc_estimate_cache_bytes());
	assert_true(asking->answers && keeping->answers);
	for (uint32_t i = 0; i < launches; i++) {
		uint32_t variant = i / 500 % 2 ? i % VARIANTS : chance(&seed, VARIANTS),
			 stream = chance(&seed, 20) ? 0 : chance(&seed, 3);
		int64_t ns = 20000 + chance(&seed, 1000) * (i / 1000);
		uint32_t overlap = chance(&seed, 3) ? KC_OVERLAP_NONE : KC_OVERLAP_BEHIND;
		struct kc_prediction p = predict(asking, variant, stream);
		struct kc_prediction q = predict_again(keeping, variant, stream, &asked);

		assert_predicted_equal(asking, &p, keeping, &q);
		for (int k = 0; k < 2; k++) {
			struct world *w = k ? keeping : asking;

			if (!(i / 50 % 3))
				measure(w, variant, ns);
			if (!(i / 50 % 4) && (variant != MANY || i > launches / 2)) /* so long only its size tells */
				decide(w, variant, overlap, ns);
			if (i == launches / 2)
				kc_engine_succeed(&w->variants[MANY], &w->variants[FEW]);
			w->now_ns += chance(&(uint64_t){seed + i}, 40000);
		}
	}
	assert_true(asked > VARIANTS && asked < launches / 4);
	destroy(asking);
	destroy(keeping);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entries_start_from_their_parents),
	    TEST(novelty_counts_launches_whatever_their_arguments),
	    TEST(no_time_teaches_nothing),
	    TEST(contexts_learn_when_it_is_measured_and_lambda_when_it_is_decided),
	    TEST(an_unknown_overlap_teaches_no_contention),
	    TEST(what_is_published_is_what_lambda_believes),
	    TEST(events_are_numbered_from_one),
	    TEST(copies_are_as_fast_as_measured),
	    TEST(first_intervals_begin_at_the_bound),
	    TEST(counted_work_is_learned_by_size),
	    TEST(a_size_may_be_learned_of_another_launch),
	    TEST(a_slow_kernel_makes_no_other_absurd),
	    TEST(the_guess_that_is_judged_has_not_seen_the_measurement),
	    TEST(numbers_among_arguments_are_learned_from),
	    cmocka_unit_test(what_was_asked_last_says_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
