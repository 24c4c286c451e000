/*
 * How a warp's accesses meet memory.
 *
 * Global memory is served in sectors of 32 bytes: a request costs as many as
 * its lanes touch. Shared memory has 32 banks of 4 bytes: lanes that read
 * different words of one bank are served one after the other, lanes that read
 * the same word together. A warp's request for 8 bytes a lane is served in two
 * halves, for 16 bytes in four quarters, so that each moves at most 128 bytes.
 *
 * Sources: CUDA C++ Programming Guide, "Global Memory" and "Shared Memory" of
 * compute capability 5.x and later; CUDA C++ Best Practices Guide, "Coalesced
 * Access to Global Memory"; Nsight Compute, "Memory Tables".
 */
#ifndef KC_MEMORY_H
#define KC_MEMORY_H

#include "lanes.h"

/* Sectors that the lanes of a mask touch. Those of unknown address: as many each as their bytes need. */
uint32_t kc__sectors(const struct kc_lanes *address, uint32_t mask, uint32_t bytes);
/* The same, on average, where the lanes are moved by each multiple of `apart` (bytes, a power of 2) equally often. */
double kc__mean_sectors(const struct kc_lanes *address, uint32_t mask, uint32_t bytes, uint32_t apart);
/* The same, of lanes that move different numbers of bytes. */
uint32_t kc__uneven_sectors(const struct kc_lanes *address, uint32_t mask, const uint8_t bytes[KC_WARP_LANES]);
/* If the lanes, which move so many bytes in all, had neighbouring addresses from the start of a sector on. */
uint32_t kc__least_sectors(uint32_t all_bytes);
/* Of so many sectors, those beyond what such neighbours touch from the same first byte on. */
uint32_t kc__scattered_sectors(const struct kc_lanes *address, uint32_t mask, uint32_t all_bytes, uint32_t sectors);
/* Passes without bank conflicts. */
uint32_t kc__least_passes(uint32_t mask, uint32_t bytes);
/* Passes in which the banks serve them. Those of unknown address meet no other's bank. */
uint32_t kc__passes(const struct kc_lanes *address, uint32_t mask, uint32_t bytes);
/* For how many terms of each sum the pattern stays: moved by whole granules, of sectors or banks, it does. */
void kc__limit_pattern(struct kc_windows *w, const struct kc_lanes *address, uint32_t bytes, uint32_t granule_bytes);

#endif
