/* Which steps are found in sequences made by hand, and in the same with launches left out and added at random. */
#include "found_steps.h"
#include "predictor/math/random_testing.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

#define MOST_CALLS 60000u
#define MOST_STEPS 512u
#define BUCKET 1000u /* between the shapes of one kernel */

enum { EMBED = 1, HEAD, LOSS, CLIP, ADAM, LAYER = 10, BACK = 40, ALONE = 80, COPY = 100, RESULT, NAMES };

/* What is called, and where steps begin. */
static struct made {
	struct kc_call at[MOST_CALLS];
	uint32_t shape[MOST_CALLS], name[MOST_CALLS], count;
	uint32_t start[MOST_STEPS], starts;
	int64_t ns;
	uint32_t bucket;
} made, changed;

static void begin(void)
{
	made = (struct made){.ns = 1000};
}

static void call(uint32_t name, enum kc_call_kind kind)
{
	assert_true(made.count < MOST_CALLS);
	made.ns += 5000 + random_below(2000);
	made.at[made.count] = (struct kc_call){made.ns, (uint8_t)kind};
	made.name[made.count] = name;
	made.shape[made.count] = name + made.bucket * BUCKET;
	made.count++;
}

static void launch(uint32_t name)
{
	call(name, KC_CALL_LAUNCH);
}

/* Layers of so many different kernels. */
static void layers(uint32_t count, uint32_t first, uint32_t kernels)
{
	for (uint32_t l = 0; l < count; l++)
		for (uint32_t k = 0; k < kernels; k++)
			launch(first + k);
}

static void forward(void)
{
	launch(EMBED);
	layers(12, LAYER, 8);
	launch(HEAD);
	launch(LOSS);
}

static void backward(void)
{
	layers(12, BACK, 14);
	launch(ALONE);
}

static void optimize(void)
{
	launch(CLIP);
	for (uint32_t i = 0; i < 6; i++)
		launch(ADAM);
}

#define FORWARD (1u + 12 * 8 + 2)
#define BACKWARD (12u * 14 + 1)
#define OPTIMIZER 7u
#define STEP (FORWARD + BACKWARD + OPTIMIZER)

/* A step begins with the next call. */
static void start(void)
{
	assert_true(made.starts < MOST_STEPS);
	made.start[made.starts++] = made.count;
}

enum { WAITS = 1, COPIES = 2 };

static void mark(int by)
{
	if (by & WAITS)
		made.ns += 300000;
	if (by & COPIES)
		call(COPY, KC_CALL_FROM_HOST);
}

static void train(uint32_t steps, int by)
{
	for (uint32_t i = 0; i < steps; i++) {
		start();
		mark(by);
		forward();
		backward();
		optimize();
	}
}

static struct kc_found_steps find_in(const struct made *m)
{
	const struct kc_recording recording = {m->at, m->shape, m->name, m->count, NAMES + 8 * BUCKET, NAMES};
	struct kc_found_steps found;

	assert_int_equal(kc_found_steps_find(&recording, &found), 0);
	return found;
}

/* Exactly the steps that were made, each up to the next; the last one up to the end of the sequence. */
static void all_are_found(const struct kc_repeat *repeat)
{
	assert_int_equal(repeat->count, made.starts);
	for (uint32_t k = 0; k < made.starts; k++) {
		assert_int_equal(repeat->at[k].first, made.start[k]);
		assert_int_equal(repeat->at[k].after, k + 1 < made.starts ? made.start[k + 1] : made.count);
	}
	assert_int_equal(repeat->regular, made.starts);
}

static void steps_begin_after_the_longest_wait(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	train(8, WAITS);
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.start, KC_START_GAP);
	assert_int_equal(found.outer.launches, STEP);
	all_are_found(&found.outer);
	kc_found_steps_free(&found);
}

/* In one step of four, the host waits little at the start, and is held up for long soon after. */
static void what_holds_up_the_host_moves_no_start(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 100; i++) {
		uint32_t is_held_up = !random_below(4), held_up = 1 + random_below(2);

		start();
		for (uint32_t k = 0; k < 8; k++) {
			made.ns += k ? 0 : is_held_up ? 20000 : 100000;
			made.ns += is_held_up && k == held_up ? 400000 : 0;
			launch(LAYER + k);
		}
	}
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.start, KC_START_GAP);
	all_are_found(&found.outer);
	kc_found_steps_free(&found);
}

static void steps_begin_with_the_copy_from_the_host(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	train(8, COPIES);
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.start, KC_START_COPY);
	assert_int_equal(found.outer.launches, STEP);
	all_are_found(&found.outer);
	kc_found_steps_free(&found);
}

/* Nothing marks them, and the recording is of nothing else: the length is known, and the start is its beginning. */
static void a_start_may_be_assumed(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	train(8, 0);
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.start, KC_START_ASSUMED);
	all_are_found(&found.outer);
	kc_found_steps_free(&found);
}

static void what_comes_before_and_after_is_in_no_step(void **state)
{
	struct kc_found_steps found;
	uint32_t end;

	(void)state;
	begin();
	layers(70, ALONE + 1, 1);
	train(8, WAITS | COPIES);
	end = made.count;
	made.ns += 300000;
	layers(70, ALONE + 2, 1);
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.count, 8);
	assert_int_equal(found.outer.at[0].first, 70);
	assert_int_equal(found.outer.at[7].after, end);
	kc_found_steps_free(&found);
}

/* Whatever the verdict is, it is not that there are steps. */
static void none_are_steps(void)
{
	struct kc_found_steps found = find_in(&made);

	assert_in_range(found.verdict, KC_STEPS_NONE, KC_STEPS_REPEAT);
	kc_found_steps_free(&found);
}

static void layers_of_a_single_step_are_no_steps(void **state)
{
	(void)state;
	begin();
	train(1, WAITS | COPIES);
	none_are_steps();
	begin();
	mark(COPIES);
	forward();
	none_are_steps();
	begin();
	train(2, WAITS | COPIES);
	none_are_steps();
}

/* Each layer waits for its result, as where experts are chosen, and is long, and has experts that repeat in it. */
static void layers_that_wait_for_a_result_are_no_steps(void **state)
{
	(void)state;
	begin();
	launch(EMBED);
	for (uint32_t l = 0; l < 24; l++) {
		layers(1, LAYER, 12);
		call(RESULT, KC_CALL_TO_HOST);
		made.ns += 300000;
		layers(32, BACK, 4);
	}
	launch(HEAD);
	none_are_steps();
}

/* As in vLLM's prefill: the host waits before the attention of each layer, and the rest of a layer is a graph. */
static void layers_that_wait_for_an_operator(uint32_t count)
{
	begin();
	launch(EMBED);
	for (uint32_t l = 0; l < count; l++) {
		made.ns += 700000;
		start();
		layers(1, LAYER, 17);
	}
	launch(HEAD);
}

static void layers_that_wait_for_an_operator_are_no_steps(void **state)
{
	(void)state;
	layers_that_wait_for_an_operator(24);
	none_are_steps();
	layers_that_wait_for_an_operator(126);
	none_are_steps();
}

static void more_repeats_than_there_are_layers_are_steps(void **state)
{
	struct kc_found_steps found;

	(void)state;
	layers_that_wait_for_an_operator(300);
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.count, 300);
	assert_int_equal(found.outer.launches, 17);
	kc_found_steps_free(&found);
}

static void steps_that_are_ever_different_are_not_found(void **state)
{
	(void)state;
	begin();
	for (uint32_t i = 0; i < 12; i++) {
		mark(WAITS | COPIES);
		launch(EMBED);
		layers(2 + random_below(40), LAYER, 8);
		launch(LOSS);
		layers(2 + random_below(40), BACK, 14);
		optimize();
	}
	none_are_steps();
}

static void noise_has_no_steps(void **state)
{
	(void)state;
	for (uint32_t kernels = 1; kernels < 80; kernels += 13) {
		begin();
		for (uint32_t i = 0; i < 5000; i++)
			launch(random_below(kernels));
		none_are_steps();
	}
	for (uint32_t calls = 0; calls < 10; calls++) {
		begin();
		layers(calls, LAYER, 1);
		none_are_steps();
	}
}

/* A wait that follows a result is that for the next data where these are copied then. */
static void a_result_and_new_data_begin_a_step(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 50; i++) {
		start();
		mark(WAITS | COPIES);
		made.ns += 3000;
		layers(1, LAYER, 8);
		call(RESULT, KC_CALL_TO_HOST);
	}
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.start, KC_START_GAP);
	all_are_found(&found.outer);
	kc_found_steps_free(&found);
}

/* Two lengths, of which neither is that of the step: with a copy for each part, and without any mark of the whole. */
static void gradient_accumulation_is_nested(void **state)
{
	struct kc_found_steps found;

	(void)state;
	for (int by = WAITS; by <= (WAITS | COPIES); by++) {
		begin();
		for (uint32_t i = 0; i < 6; i++) {
			start();
			for (uint32_t part = 0; part < 4; part++) {
				mark(by);
				forward();
				backward();
			}
			optimize();
		}
		found = find_in(&made);
		assert_int_equal(found.verdict, KC_STEPS_NESTED);
		assert_int_equal(found.outer.launches, 4 * (FORWARD + BACKWARD) + OPTIMIZER);
		assert_int_equal(found.inner.launches, FORWARD + BACKWARD);
		assert_in_range(found.outer.count, 5, 6);
		assert_in_range(found.inner.count, 22, 24);
		kc_found_steps_free(&found);
	}
}

/* A pass over the layers in a loop within each step, with a wait before each. */
static void an_inner_loop_is_nested(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 6; i++) {
		mark(WAITS | COPIES);
		launch(EMBED);
		for (uint32_t pass = 0; pass < 10; pass++) {
			made.ns += 100000;
			launch(ALONE);
			layers(12, LAYER, 8);
		}
		launch(HEAD);
		launch(LOSS);
	}
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_NESTED);
	assert_int_equal(found.outer.launches, 3 + 10 * 97);
	assert_int_equal(found.inner.launches, 97);
	kc_found_steps_free(&found);
}

static void evaluation_is_in_no_step(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	for (uint32_t epoch = 0; epoch < 2; epoch++) {
		train(8, WAITS | COPIES);
		for (uint32_t pass = 0; pass < 5; pass++) {
			mark(WAITS | COPIES);
			forward();
		}
	}
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	assert_int_equal(found.outer.launches, STEP);
	assert_int_equal(found.outer.count, 16);
	assert_int_equal(found.outer.regular, 16);
	for (uint32_t k = 0; k < 16; k++)
		assert_int_equal(found.outer.at[k].first, made.start[k]);
	kc_found_steps_free(&found);
}

/* The model's launches have one of five sizes in each step. */
static void shapes_may_differ_from_step_to_step(void **state)
{
	struct kc_found_steps found;

	(void)state;
	begin();
	for (uint32_t i = 0; i < 20; i++) {
		start();
		made.bucket = random_below(5);
		mark(WAITS | COPIES);
		forward();
		backward();
		made.bucket = 0;
		optimize();
	}
	found = find_in(&made);
	assert_int_equal(found.verdict, KC_STEPS_FOUND);
	all_are_found(&found.outer);
	kc_found_steps_free(&found);
}

/* `made` with a share of its launches left out, and as many of its launches, drawn from all, added elsewhere. */
static void change(uint32_t percent)
{
	uint32_t next = 0;

	changed = (struct made){.count = 0};
	for (uint32_t i = 0; i < made.count; i++) {
		uint32_t drawn = random_below(made.count);

		if (next < made.starts && made.start[next] == i)
			changed.start[changed.starts++] = changed.count, next++;
		if (made.at[i].kind != KC_CALL_LAUNCH || random_below(100) >= percent) {
			changed.at[changed.count] = made.at[i];
			changed.name[changed.count] = made.name[i];
			changed.shape[changed.count++] = made.shape[i];
		}
		if (made.at[drawn].kind == KC_CALL_LAUNCH && random_below(100) < percent) {
			changed.at[changed.count] = (struct kc_call){made.at[i].ns + 1000, KC_CALL_LAUNCH};
			changed.name[changed.count] = made.name[drawn];
			changed.shape[changed.count++] = made.shape[drawn];
		}
	}
}

/* How many of the steps were found to begin within one call of where they do. */
static uint32_t right_starts(const struct kc_repeat *repeat)
{
	uint32_t right = 0;

	for (uint32_t k = 0; k < changed.starts; k++)
		for (uint32_t i = 0; i < repeat->count; i++)
			if (repeat->at[i].first + 1 >= changed.start[k] &&
			    repeat->at[i].first <= changed.start[k] + 1) {
				right++;
				break;
			}
	return right;
}

/* Rising, one after the other, and none is empty. */
static void are_in_order(const struct kc_repeat *repeat)
{
	uint32_t after = 0;

	for (uint32_t k = 0; k < repeat->count; k++) {
		assert_in_range(repeat->at[k].first, after, made.count - 1);
		assert_in_range(repeat->at[k].after, repeat->at[k].first + 1, made.count);
		after = repeat->at[k].after;
	}
}

/* Short periods, copies anywhere, and calls at one time or ages apart. */
static void repeats_are_in_order_whatever_was_called(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 3000; i++) {
		uint32_t period = 1 + random_below(12), names = 1 + random_below(12), calls = random_below(400);
		uint32_t odd = random_below(40);
		struct kc_found_steps found;

		begin();
		for (uint32_t k = 0; k < calls; k++) {
			call(random_below(100) < odd ? random_below(names) : k % period,
			     random_below(100) < odd ? (enum kc_call_kind)random_below(4) : KC_CALL_LAUNCH);
			if (k % period == 0 && i % 3 == 0)
				made.ns += i % 2 ? 300000 : INT64_MAX / 1000;
		}
		found = find_in(&made);
		are_in_order(&found.outer);
		are_in_order(&found.inner);
		kc_found_steps_free(&found);
	}
}

static void most_are_found_with_one_launch_in_twenty_changed(void **state)
{
	uint32_t right = 0, tries = 60;

	(void)state;
	for (uint32_t i = 0; i < tries; i++) {
		struct kc_found_steps found;

		begin();
		train(20, 1 + (int)(i % 3));
		change(5);
		found = find_in(&changed);
		right += found.verdict == KC_STEPS_FOUND && found.outer.count == 20 && right_starts(&found.outer) >= 19;
		kc_found_steps_free(&found);
	}
	assert_true(100 * right >= 85 * tries);
}

static void no_single_step_becomes_several_when_changed(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 60; i++) {
		struct kc_found_steps found;

		begin();
		train(1 + i % 2, WAITS | COPIES);
		change(5);
		found = find_in(&changed);
		assert_in_range(found.verdict, KC_STEPS_NONE, KC_STEPS_REPEAT);
		kc_found_steps_free(&found);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(steps_begin_after_the_longest_wait),
	    cmocka_unit_test(what_holds_up_the_host_moves_no_start),
	    cmocka_unit_test(steps_begin_with_the_copy_from_the_host),
	    cmocka_unit_test(a_start_may_be_assumed),
	    cmocka_unit_test(what_comes_before_and_after_is_in_no_step),
	    cmocka_unit_test(layers_of_a_single_step_are_no_steps),
	    cmocka_unit_test(layers_that_wait_for_a_result_are_no_steps),
	    cmocka_unit_test(layers_that_wait_for_an_operator_are_no_steps),
	    cmocka_unit_test(more_repeats_than_there_are_layers_are_steps),
	    cmocka_unit_test(steps_that_are_ever_different_are_not_found),
	    cmocka_unit_test(noise_has_no_steps),
	    cmocka_unit_test(a_result_and_new_data_begin_a_step),
	    cmocka_unit_test(gradient_accumulation_is_nested),
	    cmocka_unit_test(an_inner_loop_is_nested),
	    cmocka_unit_test(evaluation_is_in_no_step),
	    cmocka_unit_test(shapes_may_differ_from_step_to_step),
	    cmocka_unit_test(repeats_are_in_order_whatever_was_called),
	    cmocka_unit_test(most_are_found_with_one_launch_in_twenty_changed),
	    cmocka_unit_test(no_single_step_becomes_several_when_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
