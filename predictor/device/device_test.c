#include "predictor/papers/boathull.h"
#include "copy.h"
#include "predictor/concurrency/timeline.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void by_name(void **state)
{
	(void)state;
	assert_string_equal(kc_device_builtin("K40")->name, "Tesla K40");
	assert_ptr_equal(kc_device_builtin("nvidia h200"), kc_device_builtin("h200"));
	assert_null(kc_device_builtin("voodoo2"));
	assert_null(kc_device_builtin(""));
}

static void one_that_cannot_exist_is_told(void **state)
{
	static const size_t attributes[] = {
	    offsetof(struct kc_device, sm_count),         offsetof(struct kc_device, warp_size),
	    offsetof(struct kc_device, clock_khz),        offsetof(struct kc_device, max_threads_per_sm),
	    offsetof(struct kc_device, registers_per_sm), offsetof(struct kc_device, shared_per_sm_bytes)};
	static const uint32_t values[] = {0, 1u << 31, UINT32_MAX};

	(void)state;
	for (unsigned i = 0; kc_device_builtin_at(i); i++) {
		struct kc_device device = *kc_device_builtin_at(i);

		kc_device_complete(&device);
		assert_true(kc_device_is_possible(&device));
	}
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		for (size_t k = 0; k < sizeof(values) / sizeof(values[0]); k++) {
			struct kc_device device = *kc_device_builtin("h200");

			memcpy((char *)&device + attributes[i], &values[k], sizeof(values[k]));
			assert_false(kc_device_is_possible(&device));
		}
	}
}

/* Table 6.1 of Quintanilla Cruz' thesis. */
static void k40_of_the_thesis(void **state)
{
	const struct kc_device *d = kc_device_builtin("k40");

	(void)state;
	assert_int_equal(d->sm_count * d->cores_per_sm, 2880);
	assert_int_equal(d->memory_bytes >> 30, 12);
	assert_int_equal(d->memory_bytes_per_s / 1000000000, 288);
	assert_int_equal(d->cc_major * 10 + d->cc_minor, 35);
	assert_int_equal(d->shared_per_sm_bytes, 48 * 1024);
	assert_int_equal(d->registers_per_sm, 65536);
	assert_int_equal(d->max_threads_per_sm, 2048);
	assert_int_equal(d->max_blocks_per_sm, 16);
}

/* CUDA cores as the data sheets print them. */
static void cores(void **state)
{
	static const struct {
		const char *name;
		uint32_t cores;
	} sheet[] = {
	    {"gtx680", 1536},     {"k20", 2496},      {"titan", 2688},     {"gtx950", 768},    {"gtx970", 1664},
	    {"gtx980", 2048},     {"p100", 3584},     {"gtx1080ti", 3584}, {"v100", 5120},     {"t4", 2560},
	    {"rtx2080ti", 4352},  {"titanrtx", 4608}, {"a100", 6912},      {"a4000", 6144},    {"rtx3060-laptop", 3840},
	    {"rtx3090", 10496},   {"a6000", 10752},   {"rtx4090", 16384},  {"l40s", 18176},    {"h100", 16896},
	    {"h100-pcie", 14592}, {"h200", 16896},    {"b200", 18944},     {"rtx5090", 21760},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(sheet) / sizeof(sheet[0]); i++) {
		const struct kc_device *d = kc_device_builtin(sheet[i].name);

		assert_non_null(d);
		assert_int_equal(d->sm_count * d->cores_per_sm, sheet[i].cores);
	}
}

/* Two transfers a clock over the bus; the data sheets round, the H200's and B200's most. */
static void every_builtin_is_complete(void **state)
{
	unsigned i = 0;

	(void)state;
	for (const struct kc_device *d; (d = kc_device_builtin_at(i)); i++) {
		struct kc_device copy = *d;
		double peak = 2e3 * d->memory_clock_khz * d->memory_bus_bits / 8;

		kc_device_complete(&copy);
		assert_memory_equal(&copy, d, sizeof(copy));
		assert_ptr_equal(kc_device_builtin(kc_device_builtin_alias(i)), d);
		assert_float_equal((double)d->memory_bytes_per_s / peak, 1, 0.06);
		assert_int_equal(d->simulated, 0);
		assert_true(d->l2_bytes && d->memory_bytes && d->clock_khz && d->sm_count);
	}
	assert_true(i >= 20);
	assert_null(kc_device_builtin_alias(i));
}

/* Programming guide, table "Throughput of native arithmetic instructions", 32-bit add. */
static void cores_per_sm(void **state)
{
	(void)state;
	assert_int_equal(kc_device_cores_per_sm(3, 5), 192);
	assert_int_equal(kc_device_cores_per_sm(5, 2), 128);
	assert_int_equal(kc_device_cores_per_sm(6, 0), 64);
	assert_int_equal(kc_device_cores_per_sm(6, 1), 128);
	assert_int_equal(kc_device_cores_per_sm(7, 5), 64);
	assert_int_equal(kc_device_cores_per_sm(8, 0), 64);
	assert_int_equal(kc_device_cores_per_sm(8, 6), 128);
	assert_int_equal(kc_device_cores_per_sm(9, 0), 128);
	assert_int_equal(kc_device_cores_per_sm(13, 0), 128);
}

static void what_the_driver_said_stays(void **state)
{
	struct kc_device d = {
	    .cc_major = 8, .cc_minor = 0, .max_blocks_per_sm = 7, .memory_clock_khz = 1215000, .memory_bus_bits = 5120};

	(void)state;
	kc_device_complete(&d);
	assert_int_equal(d.max_blocks_per_sm, 7);
	assert_int_equal(d.shared_reserved_per_block_bytes, 1024);
	assert_int_equal(d.cores_per_sm, 64);
	assert_int_equal(d.memory_bytes_per_s, 1555200000000); /* A100 data sheet: 1,555 GB/s */
	assert_true(d.launch_overhead_ns && d.launch_gap_ns && d.hardware_queues == 8);
}

/* Names as drivers report them, and as people call their traces. */
static void names_that_mean_a_device(void **state)
{
	static const struct {
		const char *name, *alias;
	} rows[] = {
	    {"GeForce GTX 1080 Ti", "gtx1080ti"},
	    {"GeForce GTX 950", "gtx950"},
	    {"Tesla K40c", "k40"},
	    {"Tesla K20c", "k20"},
	    {"GeForce GTX TITAN", "titan"},
	    {"GeForce GTX TITAN X", "titanx"},
	    {"NVIDIA A100-SXM4-40GB", "a100"},
	    {"resnet50_v100_a", "v100"},
	    {"linear_2080ti", "rtx2080ti"},
	    {"NVIDIA H200", "h200"},
	    {"NVIDIA H100 PCIe", "h100-pcie"},
	    {"NVIDIA H100 80GB HBM3", "h100"},
	    {"NVIDIA RTX A4000", "a4000"},
	    {"NVIDIA GeForce RTX 3060 Laptop GPU", "rtx3060-laptop"},
	    {"GeForce GTX 980 Ti", NULL},
	    {"autograd_nw4", NULL},
	    {"test4", NULL},
	    {"", NULL},
	    {"RTX A1000", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_ptr_equal(kc_device_builtin_meant(rows[i].name),
				 rows[i].alias ? kc_device_builtin(rows[i].alias) : NULL);
}

static struct kc_work one_warp(const struct kc_device *device)
{
	struct kc_resources resources = {0};
	struct kc_shape shape = {{1, 1, 1}, {32, 1, 1}, 0, 0};
	struct kc_work work;

	assert_int_equal(kc_work_init(&work, device, &resources, &shape, 0), 0);
	return work;
}

/* What was measured replaces the built-in figures, in the device and in what the models make of it. */
static void measured_values_are_used(void **state)
{
	const struct kc_calibration measured = {.launch_overhead_ns = 4321.6,
						.empty_kernel_ns = 2100,
						.launch_gap_ns = 640,
						.copy_bytes_per_s = 1e12,
						.flops_per_s = 15e12};
	struct kc_device d = *kc_device_builtin("a100");
	struct kc_boathull_machine machine;
	struct kc_timeline *tl = malloc(kc_timeline_size());
	struct kc_placement first, second;
	struct kc_work work;

	(void)state;
	kc_device_calibrate(&d, &measured);
	work = one_warp(&d);
	assert_float_equal(work.launch_ns, 2100, 0);
	kc_timeline_init(tl, &d);
	kc_timeline_kernel(tl, 0, 1000000, &work, 5000, &first);
	kc_timeline_kernel(tl, 0, 1000000, &work, 5000, &second);
	assert_int_equal(first.start_ns, 1000000 + 4321);
	assert_int_equal(second.start_ns, first.end_ns + 640);
	free(tl);
	machine = kc_boathull_machine_of(&d);
	assert_float_equal(machine.coalesced_gbps, 1000, 1e-9);
	assert_float_equal(machine.compute_gflops, 15000, 1e-9);
	/* A MiB read and written at 1 TB/s: 2,097 ns more than a copy of next to nothing. */
	assert_in_range(kc_copy_ns(&d, KC_ROUTE_ON_DEVICE, 0, 1 << 20) - kc_copy_ns(&d, KC_ROUTE_ON_DEVICE, 0, 1), 2096,
			2098);
}

/* NVIDIA's data sheet of the A100: 19.5 TFLOP/s in FP32, 1,555 GB/s. */
static void no_rate_exceeds_the_hardware(void **state)
{
	const struct kc_calibration measured = {.copy_bytes_per_s = 9e12, .flops_per_s = 2.7e15};
	struct kc_device d = *kc_device_builtin("a100");

	(void)state;
	kc_device_calibrate(&d, &measured);
	assert_float_equal((double)d.flops_per_s, 19.5e12, 0.05e12);
	assert_float_equal((double)d.copy_bytes_per_s, 1555e9, 1e9);
}

static void what_was_not_measured_stays(void **state)
{
	const struct kc_calibration measured = {
	    .launch_overhead_ns = NAN, .launch_gap_ns = -3, .flops_per_s = INFINITY};
	struct kc_device d = *kc_device_builtin("a100");

	(void)state;
	kc_device_calibrate(&d, &measured);
	assert_memory_equal(&d, kc_device_builtin("a100"), sizeof(d));
	assert_float_equal(kc_device_bandwidth(&d), 1555.2e9, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_that_cannot_exist_is_told),
	    cmocka_unit_test(names_that_mean_a_device),
	    cmocka_unit_test(by_name),
	    cmocka_unit_test(k40_of_the_thesis),
	    cmocka_unit_test(cores),
	    cmocka_unit_test(every_builtin_is_complete),
	    cmocka_unit_test(cores_per_sm),
	    cmocka_unit_test(what_the_driver_said_stays),
	    cmocka_unit_test(measured_values_are_used),
	    cmocka_unit_test(what_was_not_measured_stays),
	    cmocka_unit_test(no_rate_exceeds_the_hardware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
