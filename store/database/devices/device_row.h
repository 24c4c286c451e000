/* A row of the table `device`, read back. */
#ifndef KC_DEVICE_ROW_H
#define KC_DEVICE_ROW_H

#include "predictor/device/device.h"
#include "store/journal/journal.h"

#include <stdint.h>

#define KC_GPU_NAME_BYTES 160u

struct kc_store;
struct sqlite3_stmt;

struct kc_device_row {
	int64_t id;
	uint32_t driver_version;
	int identified; /* its driver told which one it is: it was recorded, not imported */
	int imported;
	char uuid[2 * KC_UUID_BYTES + 1]; /* hexadecimal; "": not known */
	char bus[32];                     /* location on the PCI bus; "": not known */
	char gpu[KC_GPU_NAME_BYTES];      /* in a report: kc_gpu_name() */
	struct kc_device device;
};

/* What kc__device_row_read() expects of a query, in this order. */
#define KC__DEVICE_COLUMNS                                                                                             \
	"SELECT id, driver_version, name, simulated, memory_bytes_per_s, memory_bytes, cc_major, cc_minor, sm_count,"  \
	" cores_per_sm, warp_size, clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes, max_threads_per_block,"     \
	" max_threads_per_sm, max_blocks_per_sm, registers_per_sm, registers_per_block, shared_per_sm_bytes,"          \
	" shared_per_block_bytes, shared_per_block_optin_bytes, shared_reserved_per_block_bytes, copy_engines,"        \
	" hardware_queues, launch_overhead_ns, launch_gap_ns, empty_kernel_ns, copy_bytes_per_s, flops_per_s,"         \
	" ordinal NOT NULL, iif(uuid GLOB '*[^0]*', uuid, ''), bus FROM device"

/* Of the row that the query has come to. */
void kc__device_row_read(struct sqlite3_stmt *row, struct kc_device_row *device);
/* 1; 0: there is none of that id; -errno. */
int kc__device_row_load(struct kc_store *s, int64_t id, struct kc_device_row *out);

#endif
