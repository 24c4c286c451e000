/* Which records a launch of a graph makes. What launch.c does is the test's. */
#include "graph_plan.h"
#include "shim/code/variants.h"
#include "shim/code/kernel_formula.h"
#include "shim/entry/real.h"
#include "shim/tables/functions.h"
#include "shim/code/early.h"
#include "shim/tables/streams.h"
#include "shim/tables/tables.h"
#include "calls.h"
#include "graph_nodes.h"
#include "graph_testing.h"

#include "store/journal/journal_testing.h"

static const CUgraphExec executable = (CUgraphExec)0x1000;

/* ---- The rest of the library ---- */

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));
static struct kc__graph entry;
static struct kc_slot *records[NODES_MAX];
static uint32_t record_count;

struct kc__graph *kc__graph_of(CUgraphExec exec, bool make)
{
	return exec == executable && (make || entry.exec) ? &entry : NULL;
}

void kc__graph_let_go(struct kc__graph *graph)
{
	(void)graph;
}

struct kc__stream *kc__stream_of(CUstream stream, bool per_thread)
{
	(void)stream, (void)per_thread;
	return NULL;
}

bool kc__ask_parameters(CUfunction f, bool as_kernel, struct kc__parameter *at, uint32_t *count)
{
	(void)f, (void)as_kernel, (void)at;
	*count = 0;
	return false;
}

size_t kc__arguments_pack(const struct kc__parameters *parameters, const struct kc__given *given, void *block,
			  size_t max_bytes)
{
	(void)parameters, (void)given, (void)block, (void)max_bytes;
	return 0;
}

struct kc__given kc__given_packed(struct kc__packed *packed, void *block, size_t bytes)
{
	(void)packed;
	(void)block;
	(void)bytes;
	return (struct kc__given){0};
}

int64_t kc__now_ns(void)
{
	return 100;
}

bool kc__launch_enter(void)
{
	return true;
}

bool kc__capturing(CUstream stream, bool per_thread)
{
	(void)stream;
	(void)per_thread;
	return false;
}

void kc__launch_passed(CUstream stream, bool per_thread, uint64_t kernels, uint64_t records)
{
	(void)records;
	(void)stream;
	(void)per_thread;
	(void)kernels;
}

bool kc__selection_skips(struct kc__kernel *kernel)
{
	(void)kernel;
	return false;
}

void kc__selection_expects(uint64_t records)
{
	(void)records;
}

bool kc__selection_takes(uint64_t kernels, uint64_t records)
{
	(void)records;
	(void)kernels;
	return true;
}

void kc__launch_without_slot(void)
{
}

void kc__know_stream(struct kc__known *known, CUstream handle, bool per_thread)
{
	(void)handle;
	(void)per_thread;
	memset(known, 0, sizeof(*known));
}

static bool unloading; /* modules, in another thread */

/* What a launch with code that has been read is, and one before that. NULL: kernels are not known. */
static struct kc__variant *with_code, *without_code;
static bool code_read, two_kinds;
static uint32_t looked_up;

/* The real one asks the driver, which may wait for whatever holds the lock. */
static void assert_can_wait(void)
{
	assert_int_equal(pthread_mutex_trylock(&kc__shim.learning), 0);
	pthread_mutex_unlock(&kc__shim.learning);
}

void kc__know_kernel(struct kc__known *known, const struct kc_shape *dims)
{
	(void)dims;
	assert_can_wait();
	looked_up++;
	if (unloading)
		atomic_fetch_add(&kc__shim.module_generation, 1);
	if (!known->device)
		return;
	known->variant = code_read ? with_code : without_code;
	if (two_kinds)
		known->variant = looked_up % 2 ? with_code : without_code;
	known->kernel = known->variant->kernel;
	code_read = true; /* by the reader, in another thread */
}

bool kc__variant_is_outdated(const struct kc__variant *variant)
{
	return variant == without_code && code_read && !two_kinds;
}

struct kc__variant *kc__early_successor(const struct kc__variant *variant)
{
	return variant->successor;
}

bool kc__early_made(struct kc__variant *variant, int64_t predicted_at_ns)
{
	(void)variant;
	(void)predicted_at_ns;
	return true;
}

bool kc__early_is_lost(const struct kc__variant *variant)
{
	(void)variant;
	return false;
}

uint32_t kc__thread_id(struct kc__thread *t)
{
	(void)t;
	return 1;
}

void kc__cancel(struct kc__stream *stream, const struct kc_slot *slot, uint32_t ticket)
{
	(void)stream;
	(void)slot;
	(void)ticket;
}

struct kc__device *kc__current_device(struct kc__thread *t, CUcontext *context)
{
	(void)t;
	(void)context;
	return NULL;
}

/* ---- One-line calls ---- */

static int begin(void **state)
{
	if (setup(state))
		return -1;
	kc__shim.journal = create(16 * MIB);
	kc__shim.header = kc_journal_header(kc__shim.journal);
	kc__shim.stage = KC__ON;
	unloading = false;
	return 0;
}

static int end(void **state)
{
	kc__graph_gone(executable);
	finish(kc__shim.journal, 1);
	return teardown(state);
}

/* clones: the ids of the first nodes' copies in CUPTI's records. */
static void instantiate(struct graph *graph, const uint64_t *ids, size_t id_count)
{
	struct kc__clones clones;

	assert_true(kc__graph_instantiate_begin(&clones));
	for (size_t i = 0; i < id_count; i++)
		kc__graph_node_cloned((CUgraphNode)&graph->nodes[i], ids[i]);
	kc__graph_instantiate_end(CUDA_SUCCESS, &executable, HANDLE(*graph), &clones);
}

/* What the worker makes of the launch: records of its kernels. */
static void expand(const struct kc__graph_exec *launched, struct kc_slot *slot)
{
	kc__plans_expand(slot);
	for (uint32_t i = 0; i < launched->enabled; i++)
		records[record_count++] = kc_journal_at(kc__shim.journal, slot->index + 1 + i);
	for (uint32_t i = 0; i < record_count; i++) {
		assert_int_equal(state_of(records[i]), KC_SLOT_RETURNED);
		assert_int_equal(records[i]->kind, KC_KIND_LAUNCH);
	}
}

static uint32_t launch(CUresult result, uint32_t correlation)
{
	struct kc__graph_exec *launched;
	struct kc_slot *slot;

	record_count = 0;
	assert_true(kc__graph_launch_begin(executable, NULL, false, &launched));
	slot = launched->slot;
	assert_non_null(slot);
	assert_int_equal(state_of(slot), KC_SLOT_CALLED);
	kc__thread.correlation = correlation;
	kc__graph_launch_end(launched, NULL, false, result);
	assert_int_equal(kc__thread.depth, 0);
	expand(launched, slot);
	return record_count;
}

static uint64_t counted(enum kc_counter counter)
{
	return atomic_load(&kc__shim.header->counters[counter]);
}

/* ---- Tests ---- */

static struct graph child = {.count = 2, .nodes = {KERNEL(20), KERNEL(21)}};
static struct graph parent = {.count = 4,
			      .nodes = {KERNEL(10),
					{.type = CU_GRAPH_NODE_TYPE_MEMSET},
					{.type = CU_GRAPH_NODE_TYPE_GRAPH, .child = &child},
					KERNEL(11)}};

static void each_kernel_is_one_record_in_the_order_of_the_driver(void **state)
{
	static const uint32_t blocks[] = {10, 20, 21, 11};

	(void)state;
	instantiate(&parent, (const uint64_t[]){71}, 1);
	assert_int_equal(launch(CUDA_SUCCESS, 7), 4);
	for (uint32_t i = 0; i < 4; i++) {
		const struct kc_launch *l = &records[i]->launch;

		assert_int_equal(l->grid[0], blocks[i]);
		assert_int_equal(l->graph_node, i + 1);
		assert_int_equal(l->graph_launch, records[0]->launch.graph_launch);
		assert_int_equal(l->graph_record, i ? 0 : 71);
		assert_int_equal(l->correlation, 7);
		assert_int_equal(l->result, CUDA_SUCCESS);
		assert_int_equal(l->api, KC_API_GRAPH);
		assert_int_equal(l->kernel, 0); /* not known, nor what belongs to it */
		assert_int_equal(l->variant, 0);
		assert_int_equal(l->arguments, 0);
		assert_int_equal(l->blocks_per_sm, 0);
	}
	assert_int_equal(counted(KC_COUNT_GRAPH_LAUNCHES), 1);
	assert_int_equal(counted(KC_COUNT_GRAPHS_UNKNOWN), 0);
}

#define THREE_KERNELS                                                                                                  \
	{                                                                                                              \
		KERNEL(1), KERNEL(2), KERNEL(3)                                                                        \
	}

/* Each begins when the one before it has ended, or no order is known. */
static void kernels_of_a_chain_run_in_order(void **state)
{
	static struct {
		struct graph graph;
		enum kc_order_in_stream order;
	} cases[] = {
	    {{3, THREE_KERNELS, 2, {{0, 1, 0}, {1, 2, 0}}}, KC_IN_ORDER},
	    {{3, THREE_KERNELS, 2, {{1, 0, 0}, {2, 1, 0}}}, KC_IN_ORDER}, /* listed from its end */
	    {{3, THREE_KERNELS, 2, {{0, 1, 0}, {0, 2, 0}}}, KC_BESIDE_IN_GRAPH},
	    {{3, THREE_KERNELS, 2, {{0, 2, 0}, {1, 2, 0}}}, KC_BESIDE_IN_GRAPH},
	    {{3, THREE_KERNELS, 1, {{0, 1, 0}}}, KC_BESIDE_IN_GRAPH},
	    {{3, THREE_KERNELS, 0, {{0}}}, KC_BESIDE_IN_GRAPH},
	    {{3, THREE_KERNELS, 2, {{0, 1, 0}, {1, 2, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC}}}, KC_BESIDE_IN_GRAPH},
	    {{1, {KERNEL(1)}, 0, {{0}}}, KC_IN_ORDER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		instantiate(&cases[i].graph, NULL, 0);
		launch(CUDA_SUCCESS, 7);
		for (uint32_t k = 0; k < record_count; k++)
			assert_int_equal(records[k]->launch.beside, cases[i].order);
		kc__graph_gone(executable);
	}
}

static void launches_of_a_graph_are_numbered(void **state)
{
	uint32_t number;

	(void)state;
	instantiate(&child, NULL, 0);
	assert_int_equal(launch(CUDA_SUCCESS, 7), 2);
	number = records[0]->launch.graph_launch;
	assert_true(number > 0);
	assert_int_equal(launch(CUDA_SUCCESS, 8), 2);
	assert_int_equal(records[1]->launch.graph_launch, number + 1);
}

/* Somewhere in the slot there is an address between these. */
static bool holds_address(const struct kc_slot *slot, const void *from, size_t bytes)
{
	for (size_t i = 0; i + sizeof(uintptr_t) <= sizeof(slot->bytes); i += sizeof(uint32_t)) {
		uintptr_t word;

		memcpy(&word, slot->bytes + i, sizeof(word));
		if (word - (uintptr_t)from < bytes)
			return true;
	}
	return false;
}

/* Whoever reads the journal of a process that was killed finds what it means in another process, too. */
static void during_the_call_no_record_holds_an_address(void **state)
{
	struct kc__graph_exec *launched;

	(void)state;
	instantiate(&child, NULL, 0);
	assert_true(kc__graph_launch_begin(executable, NULL, false, &launched));
	for (uint64_t i = 0; i < kc_journal_claimed(kc__shim.journal); i++)
		assert_false(holds_address(kc_journal_at(kc__shim.journal, i), &child, sizeof(child)));
	kc__graph_launch_end(launched, NULL, false, CUDA_SUCCESS);
}

static struct kc__device device;
static struct kc__kernel kernel = {.device = &device};

static void make_variant(struct kc__variant *variant, struct kc_engine_key *key, uint32_t id)
{
	static _Atomic uint32_t shape;
	static const struct kc_resources resources = {.registers = 16};
	static const struct kc_shape dims = {.grid = {20, 1, 1}, .block = {32, 1, 1}};

	*variant = (struct kc__variant){.kernel = &kernel, .id = id};
	assert_int_equal(kc_engine_variant_init(&variant->engine, key, &shape, &resources, &dims, 0), 0);
	kc__shim.variant_by_id[id] = variant;
}

/* A kernel's code is read while the kernel is looked up: then it is looked up again, and never while nothing is
 * learned, as then the driver must not be asked. */
static void code_that_was_read_meanwhile_is_used(void **state)
{
	static struct kc__variant *_Atomic by_id[3];
	static struct kc__variant variants[2];
	static struct kc_engine_key key;
	struct kc__known on = {.device = &device, .any_stream = true, .unpredictable = KC_PREDICTED};

	(void)state;
	kc__shim.variant_by_id = by_id;
	device.info = *kc_device_builtin("a100");
	kc_engine_device_init(&kc__shim.engine, &device.engine, &device.info);
	kc_engine_kernel_init(&kernel.engine, &device.engine, "kernel");
	kc_engine_key_init(&key, &kernel.engine);
	make_variant(without_code = &variants[0], &key, 1);
	make_variant(with_code = &variants[1], &key, 2);
	with_code->arguments = 5;
	with_code->blocks_per_sm = 7;
	instantiate(&child, NULL, 0);
	looked_up = 0;
	code_read = false;
	kc__plan_make(entry.exec, &on);
	assert_int_equal(looked_up, 3); /* the first of two kernels twice */
	assert_non_null(entry.exec->plan);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(entry.exec->plan->kernels[i].variant, with_code->id);
		assert_int_equal(entry.exec->plan->kernels[i].arguments, 5);
		assert_int_equal(entry.exec->plan->kernels[i].blocks_per_sm, 7);
	}
}

/* The worker makes a plan anew once something was learned of any of its kernels, or code was read. */
static bool is_made_again(void)
{
	const struct kc__plan *before = entry.exec->plan;

	atomic_store(&entry.exec->plan->used, true);
	entry.exec->plan->again_ns = 0;
	kc_engine_event(&kc__shim.engine);
	kc__plans_step();
	return entry.exec->plan != before;
}

static void a_plan_is_made_anew_where_there_is_news(void **state)
{
	static struct kc__variant *_Atomic by_id[3];
	static struct kc__variant variants[2];
	static struct kc_engine_key keys[2];
	struct kc__known on = {.device = &device, .any_stream = true, .unpredictable = KC_PREDICTED};

	(void)state;
	kc__shim.variant_by_id = by_id;
	device.info = *kc_device_builtin("a100");
	kc_engine_device_init(&kc__shim.engine, &device.engine, &device.info);
	kc_engine_kernel_init(&kernel.engine, &device.engine, "kernel");
	for (int i = 0; i < 2; i++) {
		kc_engine_key_init(&keys[i], &kernel.engine);
		make_variant(&variants[i], &keys[i], (uint32_t)i + 1);
	}
	without_code = &variants[0];
	with_code = &variants[1];
	two_kinds = true;
	instantiate(&child, NULL, 0);
	kc__plan_make(entry.exec, &on);
	two_kinds = false;
	assert_int_equal(entry.exec->plan->kind_count, 2);
	assert_false(is_made_again());
	for (int i = 0; i < 2; i++) {
		atomic_fetch_add(&variants[i].engine.news, 1);
		assert_true(is_made_again());
		assert_false(is_made_again());
	}
	atomic_fetch_add(&kc__shim.formulas, 1);
	assert_true(is_made_again());
	assert_false(is_made_again());
}

static void it_is_recorded_while_modules_are_unloaded(void **state)
{
	(void)state;
	instantiate(&child, NULL, 0);
	unloading = true;
	assert_int_equal(launch(CUDA_SUCCESS, 7), 2);
	assert_int_equal(launch(CUDA_SUCCESS, 8), 2);
	assert_int_equal(counted(KC_COUNT_DROPPED), 0);
}

static void a_launch_that_fails_fails_for_each_kernel(void **state)
{
	(void)state;
	instantiate(&child, NULL, 0);
	assert_int_equal(launch(CUDA_ERROR_INVALID_VALUE, 0), 2);
	assert_int_equal(records[0]->launch.result, CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(records[1]->launch.result, CUDA_ERROR_INVALID_VALUE);
}

static void a_disabled_node_makes_no_record(void **state)
{
	(void)state;
	instantiate(&child, NULL, 0);
	kc__graph_set_enabled(executable, NODE(child, 0), 0);
	assert_int_equal(launch(CUDA_SUCCESS, 7), 1);
	assert_int_equal(records[0]->launch.grid[0], 21);
	assert_int_equal(records[0]->launch.graph_node, 2);
	kc__graph_set_enabled(executable, NODE(child, 0), 1);
	assert_int_equal(launch(CUDA_SUCCESS, 8), 2);
}

static void a_node_is_given_other_parameters(void **state)
{
	CUDA_KERNEL_NODE_PARAMS_v2 params = params_of(99);

	(void)state;
	instantiate(&child, NULL, 0);
	kc__graph_set_kernel(executable, NODE(child, 1), &params);
	assert_int_equal(launch(CUDA_SUCCESS, 7), 2);
	assert_int_equal(records[0]->launch.grid[0], 20);
	assert_int_equal(records[1]->launch.grid[0], 99);
}

static void many_nodes_are_recorded_once_each(void **state)
{
	static struct graph many = {.count = NODES_MAX};

	(void)state;
	for (unsigned i = 0; i < NODES_MAX; i++)
		many.nodes[i] = (struct graph_node)KERNEL(100 + i);
	instantiate(&many, NULL, 0);
	kc__graph_set_enabled(executable, NODE(many, 15), 0);
	kc__graph_set_enabled(executable, NODE(many, 39), 0);
	assert_int_equal(launch(CUDA_SUCCESS, 7), NODES_MAX - 2);
	for (uint32_t i = 0; i < record_count; i++) {
		uint32_t node = i < 15 ? i : i + 1;

		assert_int_equal(records[i]->launch.grid[0], 100 + node);
		assert_int_equal(records[i]->launch.graph_node, node + 1);
	}
}

static void a_child_graph_is_given_other_parameters(void **state)
{
	static const uint32_t blocks[] = {10, 30, 31, 11};
	struct graph other = {.count = 2, .nodes = {KERNEL(30), KERNEL(31)}};

	(void)state;
	instantiate(&parent, NULL, 0);
	kc__graph_set_child(executable, NODE(parent, 2), HANDLE(other));
	assert_int_equal(launch(CUDA_SUCCESS, 7), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(records[i]->launch.grid[0], blocks[i]);
}

static void an_update_changes_parameters_alone(void **state)
{
	struct graph other = {.count = 2, .nodes = {KERNEL(30), KERNEL(31)}};

	(void)state;
	instantiate(&child, (const uint64_t[]){71, 72}, 2);
	kc__graph_set_enabled(executable, NODE(child, 0), 0);
	kc__graph_updated(executable, HANDLE(other));
	assert_int_equal(launch(CUDA_SUCCESS, 7), 1);
	assert_int_equal(records[0]->launch.grid[0], 31);
	assert_int_equal(records[0]->launch.graph_record, 72);
}

static void what_cannot_be_counted_beforehand_is_said(void **state)
{
	struct graph conditional = {.count = 2, .nodes = {KERNEL(10), {.type = CU_GRAPH_NODE_TYPE_CONDITIONAL}}};

	(void)state;
	instantiate(&conditional, NULL, 0);
	assert_int_equal(launch(CUDA_SUCCESS, 7), 1);
	assert_int_equal(counted(KC_COUNT_GRAPHS_UNKNOWN), 1);
}

static void a_graph_that_is_gone_is_not_known(void **state)
{
	struct kc__graph_exec *launched;

	(void)state;
	instantiate(&child, NULL, 0);
	kc__graph_gone(executable);
	assert_false(kc__graph_launch_begin(executable, NULL, false, &launched));
	assert_int_equal(kc__thread.depth, 0);
	assert_int_equal(counted(KC_COUNT_GRAPHS_UNKNOWN), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static void nodes_are_found_without_memory_for_an_index(void **state)
{
	(void)state;
	instantiate(&parent, NULL, 0);
	free(entry.exec->places);
	entry.exec->places = NULL;
	for (int i = 0; i < 4; i++)
		assert_ptr_equal(kc__graph_node(entry.exec, entry.exec->nodes[i].original), &entry.exec->nodes[i]);
	assert_null(kc__graph_node(entry.exec, NODE(parent, 1)));
	assert_ptr_equal(kc__graph_copy(entry.exec, NODE(parent, 1)), entry.exec->copies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_plan_is_made_anew_where_there_is_news), /* before others have plans */
	    TEST(each_kernel_is_one_record_in_the_order_of_the_driver),
	    TEST(kernels_of_a_chain_run_in_order),
	    TEST(launches_of_a_graph_are_numbered),
	    TEST(during_the_call_no_record_holds_an_address),
	    TEST(code_that_was_read_meanwhile_is_used),
	    TEST(it_is_recorded_while_modules_are_unloaded),
	    TEST(a_launch_that_fails_fails_for_each_kernel),
	    TEST(a_disabled_node_makes_no_record),
	    TEST(a_node_is_given_other_parameters),
	    TEST(many_nodes_are_recorded_once_each),
	    TEST(a_child_graph_is_given_other_parameters),
	    TEST(an_update_changes_parameters_alone),
	    TEST(what_cannot_be_counted_beforehand_is_said),
	    TEST(a_graph_that_is_gone_is_not_known),
	    TEST(nodes_are_found_without_memory_for_an_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
