/*
 * Sources: NVIDIA's board specifications and data sheets (Tesla K40 BD-06902-001,
 * GeForce GTX 950, Tesla V100 DS, A100 80GB/40GB DS, H200 DS) and architecture
 * white papers; limits per SM: CUDA C++ programming guide, "Technical
 * Specifications per Compute Capability"; allocation units: CUDA occupancy
 * calculator. Host link: what bandwidthTest reaches on PCIe 3, 4 and 5 x16. Launch
 * overhead and gap: published microbenchmarks, a few µs and about 1 µs.
 */
#include "cuda_tests/simcuda/sim.h"

#include <string.h>
#include <strings.h>

#define KIB 1024u
#define MIB (1024u * KIB)

static const struct sim_preset presets[] = {
    {
	.key = "A100",
	.name = "Simulated NVIDIA A100-SXM4-40GB",
	.cc_major = 8,
	.cc_minor = 0,
	.sm_count = 108,
	.clock_khz = 1410000,
	.memory_clock_khz = 1215000,
	.memory_bus_bits = 5120,
	.memory_bytes_per_ns = 1555,
	.memory_bytes = 40ull * 1024 * MIB,
	.l2_bytes = 40 * MIB,
	.threads_per_sm = 2048,
	.blocks_per_sm = 32,
	.registers_per_sm = 65536,
	.shared_per_sm_bytes = 164 * KIB,
	.shared_optin_bytes = 163 * KIB,
	.shared_reserved_bytes = 1 * KIB,
	.shared_unit_bytes = 128,
	.async_engines = 3,
	.resident_grids = 128,
	.greatest_priority = -5,
	.link_bytes_per_ns = 25,
	.launch_overhead_ns = 2500,
	.launch_gap_ns = 900,
    },
    {
	.key = "H200",
	.name = "Simulated NVIDIA H200",
	.cc_major = 9,
	.cc_minor = 0,
	.sm_count = 132,
	.clock_khz = 1980000,
	.memory_clock_khz = 3201000,
	.memory_bus_bits = 6144,
	.memory_bytes_per_ns = 4800,
	.memory_bytes = 141ull * 1000 * 1000 * 1000,
	.l2_bytes = 50 * MIB,
	.threads_per_sm = 2048,
	.blocks_per_sm = 32,
	.registers_per_sm = 65536,
	.shared_per_sm_bytes = 228 * KIB,
	.shared_optin_bytes = 227 * KIB,
	.shared_reserved_bytes = 1 * KIB,
	.shared_unit_bytes = 128,
	.async_engines = 3,
	.resident_grids = 128,
	.greatest_priority = -5,
	.link_bytes_per_ns = 50,
	.launch_overhead_ns = 2200,
	.launch_gap_ns = 800,
    },
    {
	.key = "V100",
	.name = "Simulated Tesla V100-SXM2-16GB",
	.cc_major = 7,
	.cc_minor = 0,
	.sm_count = 80,
	.clock_khz = 1530000,
	.memory_clock_khz = 877000,
	.memory_bus_bits = 4096,
	.memory_bytes_per_ns = 900,
	.memory_bytes = 16ull * 1024 * MIB,
	.l2_bytes = 6 * MIB,
	.threads_per_sm = 2048,
	.blocks_per_sm = 32,
	.registers_per_sm = 65536,
	.shared_per_sm_bytes = 96 * KIB,
	.shared_optin_bytes = 96 * KIB,
	.shared_unit_bytes = 256,
	.async_engines = 6,
	.resident_grids = 128,
	.greatest_priority = -5,
	.link_bytes_per_ns = 12,
	.launch_overhead_ns = 3000,
	.launch_gap_ns = 1000,
    },
    {
	.key = "K40",
	.name = "Simulated Tesla K40m",
	.cc_major = 3,
	.cc_minor = 5,
	.sm_count = 15,
	.clock_khz = 745000,
	.memory_clock_khz = 3004000,
	.memory_bus_bits = 384,
	.memory_bytes_per_ns = 288,
	.memory_bytes = 12ull * 1024 * MIB,
	.l2_bytes = 1536 * KIB,
	.threads_per_sm = 2048,
	.blocks_per_sm = 16,
	.registers_per_sm = 65536,
	.shared_per_sm_bytes = 48 * KIB,
	.shared_unit_bytes = 256,
	.async_engines = 2,
	.resident_grids = 32,
	.greatest_priority = -1,
	.link_bytes_per_ns = 10,
	.launch_overhead_ns = 5000,
	.launch_gap_ns = 1500,
    },
    {
	.key = "GTX950",
	.name = "Simulated GeForce GTX 950",
	.cc_major = 5,
	.cc_minor = 2,
	.sm_count = 6,
	.clock_khz = 1188000,
	.memory_clock_khz = 3305000,
	.memory_bus_bits = 128,
	.memory_bytes_per_ns = 105.6,
	.memory_bytes = 2ull * 1024 * MIB,
	.l2_bytes = 1 * MIB,
	.threads_per_sm = 2048,
	.blocks_per_sm = 32,
	.registers_per_sm = 65536,
	.shared_per_sm_bytes = 96 * KIB,
	.shared_unit_bytes = 256,
	.async_engines = 2,
	.resident_grids = 32,
	.greatest_priority = -1,
	.link_bytes_per_ns = 12,
	.launch_overhead_ns = 4000,
	.launch_gap_ns = 1200,
    },
};

const struct sim_preset *sim_preset_find(const char *key, size_t length)
{
	size_t i;

	for (i = 0; i < sizeof(presets) / sizeof(presets[0]); i++)
		if (strlen(presets[i].key) == length && !strncasecmp(presets[i].key, key, length))
			return &presets[i];
	return NULL;
}
