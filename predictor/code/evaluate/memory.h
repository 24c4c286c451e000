/*
 * Sectors and bank passes of a warp's accesses.
 *
 * Global memory is transferred in sectors of 32 bytes: a request costs as many
 * as its lanes touch. Shared memory has 32 banks of 4 bytes: lanes that read
 * different words of one bank are served in different passes, lanes that read
 * the same word in one. A request for 8 bytes per lane is served in two halves of
 * the warp, for 16 bytes in four quarters: at most 128 bytes each; loads in half as
 * many parts where lanes n and n ^ 1, or n and n ^ 2, have one address for all n, as
 * what returns to the registers is then packed.
 *
 * Sources: CUDA C++ Programming Guide, "Global Memory" and "Shared Memory" of
 * compute capability 5.x and later; CUDA C++ Best Practices Guide, "Coalesced
 * Access to Global Memory"; Nsight Compute, "Memory Tables"; of lanes with one
 * address NVIDIA's developer forum, "Unexpected shared memory bank conflict" (77228).
 */
#ifndef KC_MEMORY_H
#define KC_MEMORY_H

#include "lanes.h"

/* Sectors that the lanes of `mask` touch with `bytes` each. A lane of unknown address touches sectors of its own. */
uint32_t kc__sectors(const struct kc_lanes *address, uint32_t mask, uint32_t bytes);
/* The same on average over alignments: all addresses moved by each multiple of `apart` bytes, a power of 2. */
double kc__mean_sectors(const struct kc_lanes *address, uint32_t mask, uint32_t bytes, uint32_t apart);
/* On average, of so many threads in a row, in so many rows, whose addresses are not known, but how they differ between
 * them (enum kc_alike). */
double kc__near_sectors(uint32_t alike, double in_row, double rows, uint32_t bytes);
/* The same where lanes access different numbers of bytes. */
uint32_t kc__uneven_sectors(const struct kc_lanes *address, uint32_t mask, const uint8_t bytes[KC_WARP_LANES]);
/* Lines of L1, of 128 bytes, that they touch. Lanes of unknown addresses touch one together: some may be near each
 * other. */
uint32_t kc__lines(const struct kc_lanes *address, uint32_t mask, uint32_t bytes);
/* Sectors if the lanes accessed that many bytes altogether at adjacent addresses from the start of a sector on. */
uint32_t kc__least_sectors(uint32_t all_bytes);
/* Of `sectors`, those that adjacent addresses from the same first byte on would not touch. */
uint32_t kc__scattered_sectors(const struct kc_lanes *address, uint32_t mask, uint32_t all_bytes, uint32_t sectors);
/* Passes if there were no bank conflicts. */
uint32_t kc__least_passes(uint32_t mask, uint32_t bytes);
/* Passes in which the banks serve the lanes of `mask`. A lane of unknown address conflicts with no other. to_lanes:
 * each lane is given what its address has. */
uint32_t kc__passes(const struct kc_lanes *address, uint32_t mask, uint32_t bytes, int to_lanes);
/* Limits windows to the terms in which sectors or passes stay the same: those whose step is a multiple of
 * granule_bytes, a sector's or a bank's. */
void kc__limit_pattern(struct kc_windows *w, const struct kc_lanes *address, uint32_t bytes, uint32_t granule_bytes);

#endif
