/*
 * The simulated block scheduler against published observations, recorded in
 * vectors/block_scheduler.json: placements of Gilman et al. 2021 (most room),
 * order of Amert et al. 2017 (head of line); times are compared with arithmetic by hand.
 */
#include "scheduler.h"

#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#define WARP 32
#define VECTORS "cuda_tests/simcuda/vectors/block_scheduler.json"
#define LONG_NS 1e6

static struct sm_device device;

static struct sm_kernel kernel_of(uint64_t blocks, uint32_t threads, double block_ns)
{
	struct sm_kernel kernel = {.unplaced = blocks, .block_ns = block_ns};

	kernel.need.warps = (threads + WARP - 1) / WARP;
	kernel.need.threads = threads;
	kernel.need.blocks = 1;
	return kernel;
}

static struct sm_limits limits_of(uint32_t sm_count, uint32_t threads, uint32_t blocks, uint32_t shared_bytes)
{
	struct sm_limits limits = {.sm_count = sm_count, .bytes_per_ns = 1000};

	limits.sm.threads = threads;
	limits.sm.warps = threads / WARP;
	limits.sm.blocks = blocks;
	limits.sm.registers = 65536;
	limits.sm.shared_bytes = shared_bytes;
	return limits;
}

static int64_t number(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int64_t item(const json_t *array, size_t i)
{
	return json_integer_value(json_array_get(array, i));
}

static json_t *load(void)
{
	json_t *root = json_load_file(VECTORS, 0, NULL);

	assert_non_null(root);
	return root;
}

/* One block of so many threads on each SM in tie order; SMs that the vector
 * leaves idle get a block that fills them and ends after 1 ns. */
static void occupy(const json_t *vector, const uint32_t *rank_of, struct sm_kernel *holders)
{
	const json_t *resident = json_object_get(vector, "resident");
	uint32_t held[SM_MAX] = {0}, i;

	for (i = 0; i < json_array_size(resident); i++) {
		const json_t *pair = json_array_get(resident, i);

		held[rank_of[item(pair, 0)]] = item(pair, 1);
	}
	for (i = 0; i < device.limits.sm_count; i++) {
		holders[i] = held[i] ? kernel_of(1, held[i], LONG_NS) : kernel_of(1, device.limits.sm.threads, 1);
		sm_kernel_init(&holders[i], &device.limits);
		sm_submit(&device, &holders[i], 0);
		sm_dispatch(&device, 0);
		assert_int_equal(sm_resident(&device, &holders[i], i), 1);
	}
	sm_finish(&device, 1);
	sm_dispatch(&device, 1);
}

static uint32_t where_next_goes(struct sm_kernel *kernel)
{
	uint32_t before[SM_MAX], rank;

	for (rank = 0; rank < device.limits.sm_count; rank++)
		before[rank] = sm_resident(&device, kernel, rank);
	kernel->unplaced = 1;
	assert_int_equal(sm_place(&device, kernel, 1), 1);
	for (rank = 0; sm_resident(&device, kernel, rank) == before[rank]; rank++)
		assert_in_range(rank, 0, device.limits.sm_count - 1);
	return rank;
}

static void check_vector(const json_t *vector)
{
	static struct sm_kernel holders[SM_MAX];
	const json_t *order = json_object_get(vector, "order"), *cap = json_object_get(vector, "cap");
	const json_t *expected = json_object_get(vector, "expected");
	uint32_t n = number(vector, "sm_count"), threads = number(vector, "threads_per_block"), rank_of[SM_MAX], i;
	struct sm_limits limits = limits_of(n, number(cap, "threads"), number(cap, "blocks"), 0);
	struct sm_kernel kernel = kernel_of(number(vector, "blocks"), threads, LONG_NS);

	assert_int_equal(limits.sm.warps, number(cap, "warps"));
	sm_device_init(&device, &limits);
	for (i = 0; i < n; i++)
		rank_of[item(order, i)] = i;
	occupy(vector, rank_of, holders);
	sm_kernel_init(&kernel, &limits);
	for (i = 0; i < json_array_size(expected); i++)
		assert_int_equal(item(order, where_next_goes(&kernel)), item(expected, i));
}

static void test_most_room(void **state)
{
	json_t *root = load(), *vectors = json_object_get(root, "most_room");
	size_t i;

	(void)state;
	assert_true(json_array_size(vectors) >= 6);
	for (i = 0; i < json_array_size(vectors); i++)
		check_vector(json_array_get(vectors, i));
	json_decref(root);
}

/* Placing many blocks at once is placing them one by one. */
static void test_bulk_is_one_by_one(void **state)
{
	struct sm_limits limits = limits_of(13, 2048, 32, 65536);
	struct sm_kernel uneven[5], bulk = kernel_of(0, 96, LONG_NS), single = bulk;
	uint32_t at_once[13], rank, i, blocks;

	(void)state;
	for (blocks = 1; blocks < 250; blocks += 7) {
		for (int one_by_one = 0; one_by_one < 2; one_by_one++) {
			struct sm_kernel *kernel = one_by_one ? &single : &bulk;

			sm_device_init(&device, &limits);
			for (i = 0; i < 5; i++) {
				uneven[i] = kernel_of(3 + 2 * i, 64 + 128 * i, LONG_NS);
				sm_kernel_init(&uneven[i], &limits);
				sm_place(&device, &uneven[i], 0);
			}
			kernel->unplaced = blocks;
			sm_kernel_init(kernel, &limits);
			if (one_by_one)
				for (i = 0; i < blocks; i++) {
					kernel->unplaced = 1;
					if (!sm_place(&device, kernel, 0))
						break;
				}
			else
				sm_place(&device, kernel, 0);
			for (rank = 0; rank < 13; rank++) {
				if (one_by_one)
					assert_int_equal(sm_resident(&device, kernel, rank), at_once[rank]);
				else
					at_once[rank] = sm_resident(&device, kernel, rank);
			}
		}
	}
}

static struct sm_kernel amert_kernel(const json_t *vector, unsigned i, double block_ns)
{
	const json_t *entry = json_array_get(json_object_get(vector, "kernels"), i);
	struct sm_kernel kernel = kernel_of(number(entry, "blocks"), number(entry, "threads"), block_ns);

	kernel.need.shared_bytes = number(entry, "smem");
	return kernel;
}

/* Amert et al. 2017, Table 1 and Figures 3 and 4; all blocks take 1000 ns here, K5's as well. */
static void test_head_of_line(void **state)
{
	json_t *root = load(), *vector = json_object_get(root, "amert");
	struct sm_limits limits =
	    limits_of(number(vector, "sm_count"), number(vector, "threads_per_sm"), 32, number(vector, "smem_per_sm"));
	struct sm_kernel k1 = amert_kernel(vector, 0, 1000), k2 = amert_kernel(vector, 1, 1000);
	struct sm_kernel k4 = amert_kernel(vector, 3, 1000), k5 = amert_kernel(vector, 4, 1000);

	(void)state;
	sm_device_init(&device, &limits);
	sm_kernel_init(&k1, &limits);
	sm_kernel_init(&k2, &limits);
	sm_kernel_init(&k4, &limits);
	sm_kernel_init(&k5, &limits);
	sm_submit(&device, &k1, 0);
	sm_dispatch(&device, 0);
	sm_submit(&device, &k4, 0);
	sm_dispatch(&device, 200);
	sm_submit(&device, &k5, 0);
	sm_dispatch(&device, 400);
	assert_int_equal(k1.resident, 4);
	assert_int_equal(k4.resident, 0); /* it would fit, but K1 is not fully dispatched */
	assert_null(sm_finish(&device, sm_next(&device)));
	sm_dispatch(&device, 1000);
	assert_int_equal(k1.resident, 2);
	assert_int_equal(k4.resident, 4);
	assert_int_equal(k5.resident, 0); /* threads are free, shared memory is not */
	assert_non_null(sm_finish(&device, sm_next(&device)));
	sm_submit(&device, &k2, 0); /* K1 has ended: its stream moves on */
	sm_dispatch(&device, 2000);
	assert_true(k1.end_ns == 2000 && k4.end_ns == 2000);
	assert_int_equal(k5.resident, 2);
	assert_int_equal(k2.resident, 2);
	json_decref(root);
}

/* A lower level waits until the higher is empty; running blocks stay. */
static void test_priority(void **state)
{
	struct sm_limits limits = limits_of(1, 1024, 32, 0);
	struct sm_kernel low = kernel_of(4, 1024, 100), high = kernel_of(1, 1024, 100);

	(void)state;
	sm_device_init(&device, &limits);
	sm_kernel_init(&low, &limits);
	sm_kernel_init(&high, &limits);
	sm_submit(&device, &low, 1);
	sm_dispatch(&device, 0);
	sm_submit(&device, &high, 0);
	sm_dispatch(&device, 50);
	assert_int_equal(low.resident, 1);
	sm_finish(&device, sm_next(&device));
	sm_dispatch(&device, 100);
	assert_int_equal(high.resident, 1);
	assert_int_equal(low.resident, 0);
	sm_finish(&device, sm_next(&device));
	sm_dispatch(&device, 200);
	assert_int_equal(low.resident, 1);
}

static double run_alone(struct sm_kernel *kernel, const struct sm_limits *limits)
{
	double now = 0;

	sm_device_init(&device, limits);
	sm_kernel_init(kernel, limits);
	sm_submit(&device, kernel, 0);
	sm_dispatch(&device, now);
	while (kernel->end_ns < 0) {
		now = sm_next(&device);
		assert_true(now < SM_NEVER);
		sm_finish(&device, now);
		sm_dispatch(&device, now);
	}
	return kernel->end_ns;
}

static void test_times(void **state)
{
	struct sm_limits limits = limits_of(10, 2048, 32, 0);
	struct sm_kernel waves = kernel_of(161, 1024, 100), crowd = kernel_of(80, 256, 100);
	struct sm_kernel memory = kernel_of(80, 256, 100);

	(void)state;
	/* 20 slots: 8 full waves and one block more */
	assert_float_equal(run_alone(&waves, &limits), 900, 1e-6);
	/* 8 blocks per SM that use a quarter of it each: twice what it has */
	crowd.share = 0.25;
	assert_float_equal(run_alone(&crowd, &limits), 200, 1e-6);
	/* 80 blocks move 8,000,000 bytes at 1000 bytes/ns, which take 100 ns without that limit */
	memory.traffic_bytes = 100000;
	assert_float_equal(run_alone(&memory, &limits), 8000, 1e-3);
}

/* Two kernels that each ask for 0.8 of the bandwidth ask for 1.6 of it together:
 * 1 / (1 - 0.8 + 0.8 * 1.6) = 1 / 1.48. */
static void test_contention(void **state)
{
	struct sm_limits limits = limits_of(10, 2048, 32, 0);
	struct sm_kernel a = kernel_of(10, 256, 100), b = a;

	(void)state;
	a.traffic_bytes = b.traffic_bytes = 8000;
	sm_device_init(&device, &limits);
	sm_kernel_init(&a, &limits);
	sm_kernel_init(&b, &limits);
	assert_float_equal(a.intensity, 0.8, 1e-9);
	sm_submit(&device, &a, 0);
	sm_submit(&device, &b, 0);
	sm_dispatch(&device, 0);
	assert_float_equal(sm_next(&device), 148, 1e-6);
}

static void test_big_grid_is_cheap(void **state)
{
	struct sm_limits limits = limits_of(108, 2048, 32, 0);
	struct sm_kernel big = kernel_of(1000000, 1024, 1000);
	clock_t start = clock();

	(void)state;
	/* 216 slots: 4630 waves */
	assert_float_equal(run_alone(&big, &limits), 4630000, 1);
	assert_true(clock() - start < CLOCKS_PER_SEC / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_most_room),
	    cmocka_unit_test(test_bulk_is_one_by_one),
	    cmocka_unit_test(test_head_of_line),
	    cmocka_unit_test(test_priority),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_contention),
	    cmocka_unit_test(test_big_grid_is_cheap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
