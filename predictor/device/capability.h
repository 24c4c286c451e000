/*
 * What every GPU of a compute capability has, as initialisers of struct
 * kc_device: device.c completes a device from them, builtin.c begins each
 * built-in one with them.
 */
#ifndef KC_CAPABILITY_H
#define KC_CAPABILITY_H

#define KIB 1024u
#define MIB (1024u * KIB)
#define GIB (1024ull * MIB)

/*
 * Launch call to first block on an idle device, and kernel to kernel in a
 * queue: medians of the recorded PyTorch profiles of V100 (8 to 10 µs, 1 µs)
 * and A100 (12 µs, 1.2 µs), with CUPTI at work as it is here.
 */
#define LAUNCH_OVERHEAD_NS 8000
#define LAUNCH_GAP_NS 1000

#define HARDWARE_QUEUES 8 /* CUDA_DEVICE_MAX_CONNECTIONS where it is not set */

/*
 * Limits by compute capability. Source: CUDA C++ programming guide, tables
 * "Technical specifications per compute capability" and "Throughput of native
 * arithmetic instructions" (32-bit floating-point add, per clock cycle and SM).
 */
#define LIMITS(major, minor, cores, threads, blocks, registers, block_registers, shared, optin, reserved)              \
	.cc_major = (major), .cc_minor = (minor), .cores_per_sm = (cores), .warp_size = 32,                            \
	.max_threads_per_block = 1024, .max_threads_per_sm = (threads), .max_blocks_per_sm = (blocks),                 \
	.registers_per_sm = (registers), .registers_per_block = (block_registers), .shared_per_sm_bytes = (shared),    \
	.shared_per_block_bytes = 48 * KIB, .shared_per_block_optin_bytes = (optin),                                   \
	.shared_reserved_per_block_bytes = (reserved), .copy_engines = 2, .hardware_queues = HARDWARE_QUEUES,          \
	.launch_overhead_ns = LAUNCH_OVERHEAD_NS, .launch_gap_ns = LAUNCH_GAP_NS

#define CC_3_0 LIMITS(3, 0, 192, 2048, 16, 64 * KIB, 64 * KIB, 48 * KIB, 0, 0)
#define CC_3_2 LIMITS(3, 2, 192, 2048, 16, 64 * KIB, 32 * KIB, 48 * KIB, 0, 0)
#define CC_3_5 LIMITS(3, 5, 192, 2048, 16, 64 * KIB, 64 * KIB, 48 * KIB, 0, 0)
#define CC_3_7 LIMITS(3, 7, 192, 2048, 16, 128 * KIB, 64 * KIB, 112 * KIB, 0, 0)
#define CC_5_0 LIMITS(5, 0, 128, 2048, 32, 64 * KIB, 64 * KIB, 64 * KIB, 0, 0)
#define CC_5_2 LIMITS(5, 2, 128, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 0, 0)
#define CC_5_3 LIMITS(5, 3, 128, 2048, 32, 64 * KIB, 32 * KIB, 64 * KIB, 0, 0)
#define CC_6_0 LIMITS(6, 0, 64, 2048, 32, 64 * KIB, 64 * KIB, 64 * KIB, 0, 0)
#define CC_6_1 LIMITS(6, 1, 128, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 0, 0)
#define CC_6_2 LIMITS(6, 2, 128, 2048, 32, 64 * KIB, 32 * KIB, 64 * KIB, 0, 0)
#define CC_7_0 LIMITS(7, 0, 64, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 96 * KIB, 0)
#define CC_7_2 LIMITS(7, 2, 64, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 96 * KIB, 0)
#define CC_7_5 LIMITS(7, 5, 64, 1024, 16, 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB, 0)
#define CC_8_0 LIMITS(8, 0, 64, 2048, 32, 64 * KIB, 64 * KIB, 164 * KIB, 163 * KIB, KIB)
#define CC_8_6 LIMITS(8, 6, 128, 1536, 16, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)
#define CC_8_7 LIMITS(8, 7, 128, 1536, 16, 64 * KIB, 64 * KIB, 164 * KIB, 163 * KIB, KIB)
#define CC_8_9 LIMITS(8, 9, 128, 1536, 24, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)
#define CC_9_0 LIMITS(9, 0, 128, 2048, 32, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_10_0 LIMITS(10, 0, 128, 2048, 32, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_10_1 LIMITS(10, 1, 128, 1536, 24, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_10_3 LIMITS(10, 3, 128, 2048, 32, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_11_0 LIMITS(11, 0, 128, 1536, 24, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_12_0 LIMITS(12, 0, 128, 1536, 24, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)
#define CC_12_1 LIMITS(12, 1, 128, 1536, 24, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)

#endif
