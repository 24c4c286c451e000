/* What launches teach: those made before their kernel's code has been read, those in streams that are gone, and those
 * of several devices. */
#include "shim/code/kernel_formula.h"
#include "shim/code/code_read.h"
#include "shim/code/reader.h"
#include "shim/tables/tables_testing.h"
#include "windows.h"
#include "shim/entry/real.h"
#include "shim/code/variants.h"
#include "shim/code/early.h"
#include "shim/tables/recall.h"
#include "shim/worker/cupti/measuring.h"
#include "store/common/ids/thread_testing.h"
#include "learn.h"

#include <unistd.h>

static bool waits[2]; /* a launch on this device would have waited when an entry was made last */

/* ---- The rest of the library ---- */

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

void kc__code_wanted(struct kc__kernel *kernel)
{
	(void)kernel;
}

void kc__code_meet(struct kc__kernel *kernel)
{
	(void)kernel;
}

void kc__reader_await(struct kc__kernel *kernel)
{
	(void)kernel;
}

void kc__reader_answer(struct kc__kernel *kernel)
{
	(void)kernel;
}

static uint32_t new_shapes, shapes_measured;

void kc__flush_new_shape(int64_t now_ns)
{
	(void)now_ns;
	new_shapes++;
}

void kc__flush_shape_measured(void)
{
	shapes_measured++;
}

void kc__windows_measured(struct kc__variant *variant, const struct kc_launch *launch, int64_t low_ns, int64_t high_ns)
{
	(void)variant;
	(void)launch;
	(void)low_ns;
	(void)high_ns;
}

void kc__windows_put(void)
{
}

bool kc__windows_unclear(const struct kc_launch *launch)
{
	(void)launch;
	return false;
}

struct kc_name kc__name_of(const struct kc__kernel *kernel, const struct kc_shape *dims, const char *arguments)
{
	(void)kernel;
	return (struct kc_name){.launch = dims->grid[0] * 2 + (*arguments != 0), .shape = dims->grid[0]};
}

const struct kc_beginning *kc__recalled(void)
{
	static const struct kc_beginning nothing = {NULL, NULL};

	return &nothing;
}

/* Last of all when a variant is made */
struct kc_past_query kc__past_query_of(const struct kc__kernel *k, const struct kc_shape *dims, const char *arguments)
{
	for (int i = 0; i < 2; i++) {
		waits[i] = !kc__lock_try(&kc__shim.devices[i].lock);
		if (!waits[i])
			kc__unlock(&kc__shim.devices[i].lock);
	}
	return (struct kc_past_query){
	    .code = {.mangled = k->name},
	    .uuid = k->device->uuid,
	    .device = &k->device->info,
	    .dims = dims,
	    .arguments = arguments,
	};
}

/* ---- A kernel whose work depends on its second parameter ---- */

static const char text[] = ".version 8.0\n.target sm_75\n.address_size 64\n"
			   ".visible .entry add_up(.param .u64 a, .param .u32 n)\n{\n"
			   ".reg .pred %p<3>;\n.reg .b32 %r<9>;\n"
			   "ld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\n"
			   "$loop:\nsetp.ge.u32 %p1, %r2, %r1;\n@%p1 bra $end;\n"
			   "add.u32 %r2, %r2, 1;\nbra.uni $loop;\n$end:\nret;\n}\n";
static const struct kc__parameter parameters[] = {{0, 8}, {8, 4}};
static struct kc_cost *cost;
static struct kc__kernel kernel;

static int begin_kernel(void **state)
{
	if (begin(state))
		return -1;
	kc__shim.header = kc_journal_header(kc__shim.journal);
	kc__shim.device_count = 2;
	kc__shim.devices[1].lock = (struct kc__lock){0};
	kc__learn_begin();
	kernel = (struct kc__kernel){
	    .name = "add_up",
	    .id = 1,
	    .device = &kc__shim.devices[0],
	    .resources = {.registers = 16},
	    .parameters = {true, 2, parameters},
	};
	kc_engine_device_init(&kc__shim.engine, &kernel.device->engine, &kernel.device->info);
	kc_engine_kernel_init(&kernel.engine, &kernel.device->engine, "kernel");
	return 0;
}

static int end_kernel(void **state)
{
	kc_cost_free(cost);
	cost = NULL;
	return end(state);
}

static struct kc__formula *read_code(void)
{
	struct kc_ptx_module module;
	struct kc__formula *formula;

	assert_int_equal(kc_ptx_parse(&module, text, strlen(text), 1 << 20, NULL), 0);
	assert_int_equal(kc_cost_read(&cost, &module, kc_ptx_find(&module, "add_up"), 1 << 20, NULL), 0);
	pthread_mutex_lock(&kc__shim.tables_lock);
	formula = kc__formula_make(cost, kc_ptx_find(&module, "add_up"), false);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	assert_non_null(formula);
	kc_ptx_free(&module);
	return formula;
}

static struct kc__variant *launched(uint32_t blocks_x, uint32_t blocks_y)
{
	const struct kc_shape dims = {.grid = {blocks_x, blocks_y, 1}, .block = {128, 1, 1}};
	uint64_t a = 0x700000000000;
	uint32_t n = 100;
	void *params[] = {&a, &n};
	struct kc__variant *variant = kc__variant_of(&kernel, NULL, &dims, &(const struct kc__given){.params = params});

	assert_non_null(variant);
	assert_int_equal(variant->unpredictable, KC_PREDICTED);
	return variant;
}

static void assert_succeeded(const struct kc__variant *variant)
{
	assert_false(variant->engine.work.counted);
	assert_non_null(variant->successor);
	assert_true(variant->successor->engine.work.counted);
	assert_ptr_equal(launched(variant->dims.grid[0], variant->dims.grid[1]), variant->successor);
}

/* Whatever is measured after the formula is known teaches the launch with its arguments: of a shape that is launched
 * for the first time while others are prepared, too. */
static void a_shape_launched_during_preparation_has_its_successor(void **state)
{
	struct kc__variant *before = launched(4, 1), *meanwhile;
	struct kc__formula *formula = read_code();
	const struct kc__early *prepared = kc__early_prepare(&kernel, formula);

	(void)state;
	meanwhile = launched(5, 1);
	assert_null(meanwhile->successor);
	kc__learn_formula(&kernel, formula, prepared);
	assert_succeeded(before);
	assert_succeeded(meanwhile);
	assert_int_equal(kc_engine_known(&kc__shim.engine), 1);
}

/* Two threads look up launches of equal work in one order and make them in the other. The first time of a size counts
 * for more than those after it. */
static void sizes_are_learned_in_the_order_of_the_predictions(void **state)
{
	struct kc__variant *a = launched(4, 1), *b = launched(2, 2);
	struct kc__formula *formula = read_code();
	struct kc_sizes expected = {.count = 0};
	const struct kc_engine_variant *successor;

	(void)state;
	kc__early_made(b, 2000);
	kc__early_made(a, 3000);
	assert_false(kc__early_measured(a, 3000, 7000));
	assert_false(kc__early_measured(b, 2000, 9000));
	kc__learn_formula(&kernel, formula, kc__early_prepare(&kernel, formula));
	kc__early_settle(&kernel);
	assert_succeeded(a);
	successor = &a->successor->engine;
	kc_sizes_learn(&expected, &successor->size, successor->work.launch_ns, 7000);
	kc_sizes_learn(&expected, &successor->size, successor->work.launch_ns, 9000);
	assert_int_equal(successor->key->learned.sizes.count, 1);
	assert_float_equal(successor->key->learned.sizes.points[0].time_ns, expected.points[0].time_ns, 0);
}

/* A thread that does what may have to wait for a lock: its id, once it has begun, and whether it has ended. */
static _Atomic pid_t other_thread;
static _Atomic bool other_ended;

static void *measure(void *variant)
{
	bool is_size;

	atomic_store(&other_thread, gettid());
	is_size = kc__early_measured(variant, 2000, 7000);
	atomic_store(&other_ended, true);
	return is_size ? variant : NULL;
}

/* The thread waits for a lock that is held here: nothing else of what it does sleeps. false: it has not, and ended. */
static bool start_and_meet_lock(pthread_t *thread, void *(*function)(void *), void *of)
{
	atomic_store(&other_thread, 0);
	atomic_store(&other_ended, false);
	assert_int_equal(pthread_create(thread, NULL, function, of), 0);
	while (!atomic_load(&other_ended)) {
		if (atomic_load(&other_thread) && kc_thread_state(getpid(), atomic_load(&other_thread)) == 'S')
			return true;
		usleep(100);
	}
	return false;
}

/* A launching thread makes it under tables_lock: what it is by the end of that counts. */
static void a_successor_is_read_once_it_is_complete(void **state)
{
	struct kc__variant *variant = launched(4, 1), *successor;
	struct kc__formula *formula = read_code();
	void *as_size = NULL;
	bool waited;
	pthread_t thread;

	(void)state;
	kc__early_made(variant, 2000);
	kc__learn_formula(&kernel, formula, kc__early_prepare(&kernel, formula));
	successor = variant->successor;
	assert_non_null(successor);
	pthread_mutex_lock(&kc__shim.tables_lock);
	variant->successor = NULL;
	waited = start_and_meet_lock(&thread, measure, variant);
	variant->successor = successor;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	assert_int_equal(pthread_join(thread, &as_size), 0);
	assert_true(waited);
	assert_ptr_equal(as_size, variant);
}

/* Whatever the predecessor knew before it was ever launched, by an earlier run, its successor does not get: its own
 * arguments may be others. */
static void what_was_not_launched_has_nothing_to_hand_on(void **state)
{
	struct kc__variant *made = launched(4, 1), *not_made = launched(5, 1);
	struct kc__formula *formula = read_code();

	(void)state;
	kc__early_made(made, 2000);
	made->engine.learned.level.lambda.count = not_made->engine.learned.level.lambda.count = 3;
	kc__learn_formula(&kernel, formula, kc__early_prepare(&kernel, formula));
	assert_int_equal(made->successor->engine.learned.level.lambda.count, 3);
	assert_int_equal(not_made->successor->engine.learned.level.lambda.count, 0);
}

static struct kc_launch alone(const struct kc__variant *variant, int64_t predicted_at_ns, int64_t took_ns)
{
	return (struct kc_launch){
	    .variant = variant->id,
	    .predicted_at_ns = predicted_at_ns,
	    .measured_start_ns = 100000,
	    .measured_end_ns = 100000 + took_ns,
	    .overlap = KC_OVERLAP_NONE,
	    .solo_ns = took_ns,
	    .slowdown = 1,
	};
}

static void learn_alone(struct kc__variant *variant, int64_t predicted_at_ns, int64_t took_ns)
{
	struct kc_launch launch = alone(variant, predicted_at_ns, took_ns);

	kc__learn_measured(&launch);
	kc__learn_decided(&launch, &(const struct kc_load){{0}});
}

/* The event by which the formula is known comes after successors are made: what is measured in between, a replay learns
 * of the launch as it was made. */
static void until_the_formula_is_known_nothing_is_a_successors(void **state)
{
	struct kc__variant *variant = launched(4, 1);
	struct kc__formula *formula = read_code();
	const struct kc__early *prepared;

	(void)state;
	kc__early_made(variant, 2000);
	prepared = kc__early_prepare(&kernel, formula);
	assert_non_null(variant->successor);
	learn_alone(variant, 2000, 7000);
	assert_int_equal(atomic_load(&variant->successor->engine.learned.measured), 0);
	assert_int_equal(atomic_load(&variant->engine.learned.measured), 1);
	kc__learn_formula(&kernel, formula, prepared);
	assert_int_equal(atomic_load(&variant->successor->engine.learned.measured), 1);
	learn_alone(variant, 2000, 7000);
	assert_int_equal(atomic_load(&variant->successor->engine.learned.measured), 2);
}

/* The second launch of the shape may have been of any size. */
static void launches_made_before_the_code_was_read_teach_no_size_but_the_first(void **state)
{
	struct kc__variant *variant = launched(4, 1);
	struct kc__formula *formula = read_code();
	const struct kc_sizes *sizes = &variant->engine.key->learned.sizes;
	double first_ns;

	(void)state;
	kc__early_made(variant, 2000);
	kc__learn_formula(&kernel, formula, kc__early_prepare(&kernel, formula));
	learn_alone(variant, 2000, 7000);
	assert_int_equal(sizes->count, 1);
	first_ns = sizes->points[0].time_ns;
	learn_alone(variant, 3000, 70000);
	assert_int_equal(sizes->count, 1);
	assert_float_equal(sizes->points[0].time_ns, first_ns, 0);
	assert_int_equal(atomic_load(&variant->successor->engine.learned.measured), 1);
}

static void *decide(void *launch)
{
	atomic_store(&other_thread, gettid());
	kc__learn_decided(launch, &(const struct kc_load){{0}});
	atomic_store(&other_ended, true);
	return NULL;
}

/* What its event comes after is known in it: a replay goes by the numbers of the events. */
static void a_formula_that_becomes_known_before_the_event_counts(void **state)
{
	struct kc__variant *variant = launched(4, 1);
	struct kc_launch launch = alone(variant, 2000, 7000);
	struct kc__formula *formula = read_code();
	struct kc_sizes taught;
	pthread_t thread;
	bool waited;

	(void)state;
	kc__early_made(variant, 2000);
	kc__learn_measured(&launch);
	kc__early_prepare(&kernel, formula);
	pthread_mutex_lock(&kc__shim.learning);
	waited = start_and_meet_lock(&thread, decide, &launch); /* it has looked at the formula */
	atomic_store(&kernel.formula, formula);
	pthread_mutex_unlock(&kc__shim.learning);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(waited);
	assert_int_equal(kc_engine_known(&kc__shim.engine), 2);
	learn_alone(variant->successor, 3000, 9000);
	taught = variant->engine.key->learned.sizes;
	assert_int_equal(taught.count, 1);
	kc__early_settle(&kernel); /* teaches those that no event has taught */
	assert_memory_equal(&taught, &variant->engine.key->learned.sizes, sizeof(taught));
}

/* Durations by context are kept for all devices together. */
static void no_device_predicts_while_an_event_is_taken_in(void **state)
{
	struct kc__formula *formula = read_code();
	const struct kc__early *prepared = kc__early_prepare(&kernel, formula);

	(void)state;
	launched(4, 1);
	assert_false(waits[0] || waits[1]);
	kc__learn_formula(&kernel, formula, prepared); /* makes the successor */
	assert_true(waits[0] && waits[1]);
}

/* Stream 2 had lane 1. Since then it was destroyed, and its handle given to stream 3. */
static void a_destroyed_streams_launches_correct_its_own_lane(void **state)
{
	struct kc__device *device = &kc__shim.devices[0];
	struct kc_timeline *expected = malloc(kc_timeline_size());
	struct kc__stream later = {.id = 3, .lane = 0, .device = device};
	struct kc_launch launch = {.stream = 2, .measured_start_ns = 1000, .measured_end_ns = 90000};
	struct kc_placement placement;

	(void)state;
	assert_non_null(expected);
	kc__shim.stream_lanes[2] = 2 << 8 | 1;
	kc__shim.stream_by_id[2] = &later;
	kc_timeline_occupy(device->timeline, 1, 1000, 5000, &placement);
	launch.ticket = placement.ticket;
	memcpy(expected, device->timeline, kc_timeline_size());
	kc_timeline_measured(expected, 1, launch.ticket, 1000, 90000);
	assert_memory_not_equal(expected, device->timeline, kc_timeline_size());
	kc__learn_measured(&launch);
	assert_memory_equal(expected, device->timeline, kc_timeline_size());
	assert_int_equal(launch.order.measured_after, 1);
	free(expected);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_kernel, end_kernel)

/* So that the worker knows whether one is in flight that was never measured. */
static void first_launches_of_shapes_are_counted(void **state)
{
	uint32_t before = new_shapes, measured_before = shapes_measured;
	struct kc__variant *once = launched(4, 1), *twice = launched(5, 1);

	(void)state;
	assert_ptr_equal(launched(5, 1), twice);
	assert_int_equal(new_shapes - before, 2);
	learn_alone(twice, 2000, 7000);
	learn_alone(twice, 3000, 7000);
	assert_int_equal(shapes_measured - measured_before, 1);
	learn_alone(once, 4000, 7000);
	assert_int_equal(shapes_measured - measured_before, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_shape_launched_during_preparation_has_its_successor),
	    TEST(a_successor_is_read_once_it_is_complete),
	    TEST(sizes_are_learned_in_the_order_of_the_predictions),
	    TEST(what_was_not_launched_has_nothing_to_hand_on),
	    TEST(until_the_formula_is_known_nothing_is_a_successors),
	    TEST(launches_made_before_the_code_was_read_teach_no_size_but_the_first),
	    TEST(a_formula_that_becomes_known_before_the_event_counts),
	    TEST(no_device_predicts_while_an_event_is_taken_in),
	    TEST(a_destroyed_streams_launches_correct_its_own_lane),
	    TEST(first_launches_of_shapes_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
