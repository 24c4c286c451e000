#include "predictor/papers/boathull.h"
#include "copy.h"
#include "predictor/concurrency/timeline.h"

#include <errno.h>
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
	    {"h100-pcie", 14592}, {"h200", 16896},    {"b200", 18944},     {"rtx5090", 21760}, {"gtx770", 1536},
	    {"k80", 2496},        {"m40", 3072},      {"m60", 2048},       {"gtx1080", 2560},  {"gtx1060", 1280},
	    {"p4", 2560},         {"p40", 3840},      {"titanv", 5120},    {"rtx2070", 2304},  {"gtx1660ti", 1536},
	    {"a30", 3584},        {"a10", 9216},      {"a40", 10752},      {"rtx3060", 3584},  {"rtx3080", 8704},
	    {"a5000", 8192},      {"l4", 7424},       {"l40", 18176},      {"rtx4060", 3072},  {"rtx4080", 9728},
	    {"rtx5080", 10752},   {"rtx5070", 6144},  {"gh200", 16896},    {"agx-orin", 2048}, {"jetson-nano", 128},
	    {"gb10", 6144},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(sheet) / sizeof(sheet[0]); i++) {
		const struct kc_device *d = kc_device_builtin(sheet[i].name);

		assert_non_null(d);
		assert_int_equal(d->sm_count * d->cores_per_sm, sheet[i].cores);
	}
}

/* FP32 rate in TFLOPS and memory bandwidth in GB/s as NVIDIA's data sheets print them, rounded. */
static void rates(void **state)
{
	static const struct {
		const char *name;
		double tflops, bandwidth;
	} sheet[] = {
	    {"k40", 4.29, 288},       {"k80", 4.37, 240},      {"m40", 6.8, 288},          {"p100", 10.6, 732},
	    {"p100-pcie", 9.3, 732},  {"p40", 11.8, 346},      {"p4", 5.5, 192},           {"v100", 15.7, 900},
	    {"v100-pcie", 14, 900},   {"v100s", 16.4, 1134},   {"t4", 8.1, 320},           {"a100", 19.5, 1555},
	    {"a30", 10.3, 933},       {"a10", 31.2, 600},      {"a40", 37.4, 696},         {"l4", 30.3, 300},
	    {"l40", 90.5, 864},       {"l40s", 91.6, 864},     {"h100", 67, 3350},         {"h100-pcie", 51.2, 2039},
	    {"h100-nvl", 60, 3938},   {"h200", 67, 4800},      {"gh200", 67, 4000},        {"a6000", 38.7, 768},
	    {"a5000", 27.8, 768},     {"rtx4090", 82.6, 1008}, {"rtx6000-ada", 91.1, 960}, {"rtx-pro6000", 125, 1792},
	    {"rtx5090", 104.8, 1792}, {"rtx5080", 56.3, 960},  {"agx-orin", 5.3, 204.8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(sheet) / sizeof(sheet[0]); i++) {
		const struct kc_device *d = kc_device_builtin(sheet[i].name);

		assert_non_null(d);
		print_message("# %s: %.1f TFLOPS, %.0f GB/s\n", d->name, kc_device_peak_flops(d) / 1e12,
			      (double)d->memory_bytes_per_s / 1e9);
		assert_float_equal(kc_device_peak_flops(d) / 1e12 / sheet[i].tflops, 1, 0.02);
		assert_float_equal((double)d->memory_bytes_per_s / 1e9 / sheet[i].bandwidth, 1, 0.01);
	}
}

/* Two transfers a clock over the bus. */
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
		assert_true(d->clock_khz && d->sm_count && *kc_device_builtin_source(i));
		assert_ptr_equal(kc_device_builtin_meant(d->name), d);
		assert_ptr_equal(kc_device_builtin(d->name), d);
	}
	assert_true(i >= 190);
	assert_null(kc_device_builtin_alias(i));
	assert_null(kc_device_builtin_source(i));
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
	    {"NVIDIA GeForce GTX 680", "gtx680"}, /* as newer drivers say it */
	    {"NVIDIA Tesla T4", "t4"},
	    {"NVIDIA L40S", "l40s"},
	    {"trace_l40s", "l40s"},
	    {"GeForce GTX 980 Ti", "gtx980ti"},
	    {"NVIDIA GeForce RTX 4070 Ti SUPER", "rtx4070ti-super"},
	    {"bench-rtx4070-ti", "rtx4070ti"},
	    {"GeForce GTX 1060 with Max-Q Design", NULL},
	    {"NVIDIA RTX A2000 8GB Laptop GPU", NULL},
	    {"NVIDIA RTX A2000 12GB", "a2000"},
	    {"Tesla K20Xm", NULL},
	    {"Tesla V100-DGXS-32GB", "v100"},
	    {"NVIDIA A100-SXM4-40GB MIG 3g.20gb", "a100"},
	    {"NVIDIA PG509-210", "pg509-210"},
	    {"NVIDIA GH200 120GB", "gh200"},
	    {"hta_gp100", "gp100"},
	    {"Tesla V100-PCIE-32GB", "v100-pcie-32gb"},
	    {"Tesla P4", "p4"},
	    {"autograd_nw4", NULL},
	    {"test4", NULL},
	    {"", NULL},
	    {"RTX A1000", "a1000"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_ptr_equal(kc_device_builtin_meant(rows[i].name),
				 rows[i].alias ? kc_device_builtin(rows[i].alias) : NULL);
}

/* As PyTorch's traces name GPUs. */
static void names_of_other_makers(void **state)
{
	static const struct {
		const char *name;
		int foreign;
	} rows[] = {
	    {"AMD Instinct MI300X", 1},
	    {"AMD Radeon RX 7900 XTX", 1},
	    {"MI250X", 1},
	    {"gfx90a:sramecc+:xnack-", 1},
	    {"gfx942", 1},
	    {"Intel(R) Data Center GPU Max 1550", 1},
	    {"Intel(R) Arc(TM) A30M", 1},
	    {"Ascend910B", 1},
	    {"NVIDIA H100 80GB HBM3", 0},
	    {"NVIDIA GeForce MX350", 0},
	    {"Tesla M60", 0},
	    {"GRID V100D-8Q", 0},
	    {"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(kc_device_is_foreign(rows[i].name), rows[i].foreign);
	for (unsigned i = 0; kc_device_builtin_at(i); i++)
		assert_int_equal(kc_device_is_foreign(kc_device_builtin_at(i)->name), 0);
	assert_null(kc_device_builtin_meant("Intel Arc A30"));
}

/* NVIDIA's lists "CUDA GPU compute capability" and "Legacy CUDA GPU compute capability". */
static void capabilities_by_name(void **state)
{
	static const struct {
		const char *name;
		uint32_t capability; /* 86: 8.6; 0: none */
	} rows[] = {
	    {"Quadro M1200", 50},
	    {"T1200 Laptop GPU", 75},
	    {"NVS 510", 30},
	    {"NVS 810", 50},
	    {"T500", 75},
	    {"T550 Laptop GPU", 75},
	    {"GeForce GTX 950M", 50},
	    {"GeForce GTX 960M", 50},
	    {"GeForce GTX 850M", 50},
	    {"GeForce GTX 880M", 30},
	    {"GeForce GTX 780M", 30},
	    {"GeForce GT 710", 35},
	    {"GeForce 910M", 35},
	    {"GeForce 920M", 35},
	    {"GeForce 930MX", 50},
	    {"GeForce 830M", 50},
	    {"GeForce 845M", 50},
	    {"GeForce MX110", 50},
	    {"GeForce MX130", 50},
	    {"GeForce MX150", 61},
	    {"GeForce MX250", 61},
	    {"GeForce MX450", 75},
	    {"GeForce MX550", 75},
	    {"GeForce MX570", 86},
	    {"Tesla M10", 50},
	    {"P104-100", 61},
	    {"T4G", 75},
	    {"Jetson TK1", 32},
	    {"NVIDIA GV100", 70},
	    {"Quadro K510M", 35},
	    {"Quadro K610M", 35},
	    {"Quadro M500M", 50},
	    {"Quadro M520", 50},
	    {"Quadro M5000M", 52},
	    {"Jetson T4000", 110},
	    {"Jetson T5000", 110},
	    {"GeForce GTX 660M", 30},
	    {"Quadro K2100M", 30},
	    {"Tesla K10.G2.8GB", 30},
	    {"GRID K520", 30},
	    {"NVIDIA Tegra K1", 32},
	    {"Tesla K20Xm", 35},
	    {"GeForce GT 730", 35},
	    {"Tesla K80", 37},
	    {"GeForce GTX 860M", 50},
	    {"GeForce 940MX", 50},
	    {"GeForce GTX 750", 50},
	    {"Quadro M2000M", 50},
	    {"Quadro M620", 50},
	    {"GeForce GTX 965M", 52},
	    {"Quadro M5500", 52},
	    {"GeForce GTX TITAN X", 52},
	    {"NVIDIA Tegra X1", 53},
	    {"hta_gp100", 60},
	    {"GeForce GTX 1050", 61},
	    {"GeForce GT 1030", 61},
	    {"NVIDIA GeForce MX350", 61},
	    {"Quadro P2000", 61},
	    {"NVIDIA TITAN X (Pascal)", 61},
	    {"NVIDIA Tegra X2", 62},
	    {"GRID V100D-8Q", 70},
	    {"Xavier", 72},
	    {"Quadro RTX 3000", 75},
	    {"Quadro RTX 4000 with Max-Q Design", 75},
	    {"NVIDIA T1200 Laptop GPU", 75},
	    {"GeForce RTX 2070 with Max-Q Design", 75},
	    {"NVIDIA A100-SXM-64GB", 80},
	    {"NVIDIA GeForce RTX 2050", 86},
	    {"NVIDIA GeForce RTX 3050 Laptop GPU", 86},
	    {"NVIDIA A16", 86},
	    {"NVIDIA RTX A3000 12GB Laptop GPU", 86},
	    {"Orin", 87},
	    {"NVIDIA L2", 89},
	    {"NVIDIA RTX 3500 Ada Generation Laptop GPU", 89},
	    {"NVIDIA H800 PCIe", 90},
	    {"NVIDIA H20-3e", 90},
	    {"NVIDIA B100", 100},
	    {"NVIDIA GB300", 103},
	    {"NVIDIA GeForce RTX 5070 Laptop GPU", 120},
	    {"NVIDIA RTX PRO 1000 Blackwell Generation Laptop GPU", 120},
	    {"autograd_nw4", 0},
	    {"test4", 0},
	    {"sampled_rank0", 0},
	    {"rtx", 0},
	    {"", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t cc_major = 0, cc_minor = 0;
		int rc = kc_device_capability_of(rows[i].name, &cc_major, &cc_minor);

		print_message("# %s: %u.%u\n", rows[i].name, cc_major, cc_minor);
		assert_int_equal(rc, rows[i].capability ? 0 : -ENOENT);
		assert_int_equal(cc_major * 10 + cc_minor, rows[i].capability);
	}
	for (unsigned i = 0; kc_device_builtin_at(i); i++) {
		const struct kc_device *d = kc_device_builtin_at(i);
		uint32_t cc_major = 0, cc_minor = 0;

		if (kc_device_capability_of(d->name, &cc_major, &cc_minor) == 0)
			assert_int_equal(cc_major * 10 + cc_minor, d->cc_major * 10 + d->cc_minor);
	}
}

/* The A2 to the RTX 3090 Ti and RTX A6000 have 8.6: 6 to 84 SMs. */
static void one_that_stands_for_its_kind(void **state)
{
	const struct kc_device *of_8_6 = kc_device_builtin_like(8, 6), *of_8_8 = kc_device_builtin_like(8, 8);

	(void)state;
	assert_int_equal(of_8_6->cc_major * 10 + of_8_6->cc_minor, 86);
	assert_in_range(of_8_6->sm_count, 30, 60);
	assert_int_equal(of_8_8->cc_major * 10 + of_8_8->cc_minor, 87);
	assert_int_equal(kc_device_builtin_like(3, 2)->cc_minor, 0);
	assert_int_equal(kc_device_builtin_like(20, 0)->cc_major, 12);
	assert_non_null(kc_device_builtin_like(0, 0));
	assert_ptr_equal(kc_device_builtin_like(7, 5), kc_device_builtin_like(7, 5));
}

/* What a profile says of its device stays; the limits are the programming guide's of 8.6; the rest is assumed. */
static void what_is_not_known_is_assumed(void **state)
{
	struct kc_device told = {.name = "NVIDIA RTX A3000 Laptop GPU", .cc_major = 8, .cc_minor = 6, .sm_count = 32};
	struct kc_device nothing = {.cc_major = 0};

	(void)state;
	kc_device_assume(&told, kc_device_builtin("h100"));
	assert_string_equal(told.name, "NVIDIA RTX A3000 Laptop GPU");
	assert_int_equal(told.sm_count, 32);
	assert_int_equal(told.max_threads_per_sm, 1536);
	assert_int_equal(told.shared_per_block_optin_bytes, 99 * 1024);
	assert_int_equal(told.cores_per_sm, 128);
	assert_int_equal(told.clock_khz, 1980000);
	assert_int_equal(told.memory_bytes_per_s, kc_device_builtin("h100")->memory_bytes_per_s);
	assert_true(kc_device_is_possible(&told));
	kc_device_assume(&nothing, kc_device_builtin("v100"));
	assert_int_equal(nothing.cc_major * 10 + nothing.cc_minor, 70);
	assert_int_equal(nothing.sm_count, 80);
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
	    cmocka_unit_test(names_of_other_makers),
	    cmocka_unit_test(by_name),
	    cmocka_unit_test(k40_of_the_thesis),
	    cmocka_unit_test(cores),
	    cmocka_unit_test(rates),
	    cmocka_unit_test(capabilities_by_name),
	    cmocka_unit_test(one_that_stands_for_its_kind),
	    cmocka_unit_test(what_is_not_known_is_assumed),
	    cmocka_unit_test(every_builtin_is_complete),
	    cmocka_unit_test(cores_per_sm),
	    cmocka_unit_test(what_the_driver_said_stays),
	    cmocka_unit_test(measured_values_are_used),
	    cmocka_unit_test(what_was_not_measured_stays),
	    cmocka_unit_test(no_rate_exceeds_the_hardware),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
