/* Kernels of graphs: what is predicted of them for all launches, and where a launch puts them. */
#include "graph.h"

#include "predictor/concurrency/overlap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000
#define OVERHEAD_NS 4000
#define GAP_NS 1000

/* They take 1 and 3 ms. */
enum { SHORT, LONG, VARIANTS };

struct world {
	struct kc_engine engine;
	struct kc_device info;
	struct kc_engine_device device;
	struct kc_engine_kernel kernels[VARIANTS];
	struct kc_engine_key keys[VARIANTS];
	_Atomic uint32_t shapes[VARIANTS];
	struct kc_engine_variant variants[VARIANTS];
	struct kc_timeline *timeline;
	struct kc_history history;
};

static void launch_alone(struct world *w, uint32_t variant, int64_t now_ns, int64_t ns)
{
	const struct kc_engine_stage stage = {w->timeline, &w->history, NULL};
	struct kc_prediction_request request;
	struct kc_prediction prediction;
	struct kc_engine_launch kept;

	kc_engine_ask(&w->engine, &w->variants[variant], NULL, &request);
	kc_engine_predict(&request, &stage, 0, now_ns, &prediction, &kept);
	kc_engine_measured(&w->engine, &w->variants[variant], &kept, ns);
	kc_engine_event(&w->engine);
	kc_engine_decided(&w->engine, &w->variants[variant], &kept, KC_OVERLAP_NONE, &(struct kc_load){{0}}, ns);
	kc_engine_event(&w->engine);
}

static void begin_device(struct world *w)
{
	memset(w->timeline, 0, kc_timeline_size());
	kc_timeline_init(w->timeline, &w->info);
	kc_history_init(&w->history, 0);
}

static int set_up(void **state)
{
	static const struct kc_resources resources = {.registers = 32};
	struct world *w = *state = calloc(1, sizeof(*w));

	w->engine.cells = calloc(1, kc_cells_bytes());
	w->timeline = malloc(kc_timeline_size());
	assert_true(w->engine.cells && w->timeline);
	kc_cells_init(w->engine.cells);
	w->info = *kc_device_builtin("v100");
	w->info.launch_overhead_ns = OVERHEAD_NS;
	w->info.launch_gap_ns = GAP_NS;
	kc_device_complete(&w->info);
	kc_engine_device_init(&w->engine, &w->device, &w->info);
	for (uint32_t i = 0; i < VARIANTS; i++) {
		const struct kc_shape dims = {.grid = {160000 * (i + 1), 1, 1}, .block = {256, 1, 1}};

		kc_engine_kernel_init(&w->kernels[i], &w->device, "kernel");
		kc_engine_key_init(&w->keys[i], &w->kernels[i]);
		assert_int_equal(
		    kc_engine_variant_init(&w->variants[i], &w->keys[i], &w->shapes[i], &resources, &dims, 0), 0);
		kc_engine_variant_name(&w->variants[i], (struct kc_name){100 + i, 200 + i});
	}
	begin_device(w);
	for (int64_t i = 0; i < 100; i++) {
		launch_alone(w, SHORT, 20 * i * MS, MS);
		launch_alone(w, LONG, (20 * i + 10) * MS, 3 * MS);
	}
	begin_device(w);
	return 0;
}

static int tear_down(void **state)
{
	struct world *w = *state;

	free(w->engine.cells);
	free(w->timeline);
	free(w);
	return 0;
}

#define NEARLY(value, wanted) assert_in_range(value, (wanted)*99 / 100, (wanted)*101 / 100)

/* A kernel that cannot be predicted stands between the second and the third. */
static const uint32_t different = 2;
static void predict(struct world *w, struct kc_graph_prediction *predictions, struct kc_graph_whole *whole)
{
	struct kc_graph_room *room = calloc(1, kc_graph_room_bytes());
	struct kc_engine_variant *variants[] = {&w->variants[SHORT], &w->variants[LONG], NULL, &w->variants[SHORT]};
	uint32_t firsts[4];

	assert_int_equal(kc_graph_predict(&w->engine, variants, 4, room, predictions, firsts, whole), different);
	free(room);
	assert_int_equal(firsts[0], 0);
	assert_int_equal(firsts[1], 1);
}

static void kernels_follow_one_another_from_the_start_of_the_first(void **state)
{
	struct kc_graph_prediction p[4];
	struct world *w = *state;
	struct kc_graph_whole whole;

	predict(w, p, &whole);
	assert_int_equal(p[0].start_ns, 0);
	NEARLY(p[0].span_ns, MS);
	assert_int_equal(p[1].start_ns, p[0].span_ns + GAP_NS);
	NEARLY(p[1].span_ns, 3 * MS);
	assert_int_equal(p[2].model, KC_MODEL_NONE);
	assert_int_equal(p[2].span_ns, 0);
	assert_int_equal(p[3].start_ns, p[1].start_ns + p[1].span_ns + GAP_NS);
	assert_int_equal(p[3].novelty, KC_REPEATED);
	assert_int_equal(whole.span_ns, p[3].start_ns + p[3].span_ns);
	NEARLY(whole.span_ns, 5 * MS);
	assert_ptr_equal(whole.work, &w->variants[LONG].work); /* 3 of 5 ms */
}

/* Whatever is predicted, as often as it is. */
static void predicting_a_graph_changes_nothing(void **state)
{
	struct kc_graph_prediction first[4], again[4];
	struct kc_graph_whole whole;
	struct world *w = *state;
	uint64_t known = kc_engine_known(&w->engine);
	uint32_t launched = atomic_load(&w->variants[SHORT].outstanding.launched);

	predict(w, first, &whole);
	predict(w, again, &whole);
	assert_memory_equal(first, again, sizeof(first));
	assert_int_equal(kc_engine_known(&w->engine), known);
	assert_int_equal(atomic_load(&w->variants[SHORT].outstanding.launched), launched);
}

static void a_launch_takes_its_stream_as_one_kernel_does(void **state)
{
	struct kc_graph_prediction p[4];
	struct world *w = *state;
	const struct kc_engine_stage stage = {w->timeline, &w->history, NULL};
	struct kc_placement one, two;
	struct kc_graph_whole whole;

	predict(w, p, &whole);
	kc_graph_place(&whole, &stage, 1, 10 * MS, &one);
	assert_int_equal(one.start_ns, 10 * MS + OVERHEAD_NS);
	assert_int_equal(one.end_ns - one.start_ns, whole.span_ns);
	kc_graph_place(&whole, &stage, 1, 10 * MS, &two);
	assert_int_equal(two.start_ns, one.end_ns + GAP_NS);
	assert_true(two.ticket && two.ticket != one.ticket);
	/* It was measured to end 1 ms later: what follows in the stream does so. */
	kc_timeline_measured(w->timeline, 1, one.ticket, one.start_ns, one.end_ns + MS);
	assert_int_equal(kc_timeline_tail(w->timeline, 1, 11 * MS), two.end_ns + MS);
}

/* What comes before later launches is what comes before them where the kernels are launched one by one. */
static void later_launches_come_after_the_kernels(void **state)
{
	struct kc_graph_prediction p[4];
	struct world *w = *state;
	const struct kc_engine_stage stage = {w->timeline, &w->history, NULL};
	struct kc_history by_hand = w->history;
	struct kc_placement placement;
	struct kc_history_view after, after_by_hand;
	struct kc_graph_whole whole;

	predict(w, p, &whole);
	kc_graph_place(&whole, &stage, 1, 10 * MS, &placement);
	for (uint32_t i = 0; i < 3; i++)
		kc_history_add(&by_hand, i == 1 ? 101 : 100, 1, placement.end_ns);
	kc_history_look(&w->history, 7, 1, 10 * MS, &after);
	kc_history_look(&by_hand, 7, 1, 10 * MS, &after_by_hand);
	assert_int_equal(after.key, after_by_hand.key);
}

static void what_delays_a_launch_stretches_its_kernels(void **state)
{
	const struct kc_graph_prediction p = {.start_ns = 100, .span_ns = 50, .slowdown = 1.5f};
	int64_t start_ns, end_ns;

	(void)state;
	assert_true(kc_graph_times(&p, 200, 1000, 1200, &start_ns, &end_ns) == 1.5f);
	assert_int_equal(start_ns, 1100);
	assert_int_equal(end_ns, 1150);
	assert_true(kc_graph_times(&p, 200, 1000, 1400, &start_ns, &end_ns) == 3.0f);
	assert_int_equal(start_ns, 1200);
	assert_int_equal(end_ns, 1300);
}

static void without_a_kernel_to_predict_nothing_is_placed(void **state)
{
	struct kc_graph_room *room = calloc(1, kc_graph_room_bytes());
	struct kc_engine_variant *variants[] = {NULL};
	struct world *w = *state;
	const struct kc_engine_stage stage = {w->timeline, &w->history, NULL};
	struct kc_placement placement = {0};
	struct kc_graph_prediction p;
	struct kc_graph_whole whole;

	assert_int_equal(kc_graph_predict(&w->engine, variants, 1, room, &p, NULL, &whole), 0);
	free(room);
	kc_graph_place(&whole, &stage, 1, 10 * MS, &placement);
	assert_int_equal(placement.ticket, 0);
	assert_int_equal(kc_timeline_tail(w->timeline, 1, 10 * MS), 10 * MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(kernels_follow_one_another_from_the_start_of_the_first),
	    TEST(predicting_a_graph_changes_nothing),
	    TEST(a_launch_takes_its_stream_as_one_kernel_does),
	    TEST(later_launches_come_after_the_kernels),
	    TEST(what_delays_a_launch_stretches_its_kernels),
	    TEST(without_a_kernel_to_predict_nothing_is_placed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
