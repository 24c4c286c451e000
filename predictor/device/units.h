/*
 * Units of NVIDIA GPUs that have been the same in every generation since
 * compute capability 5.0, and that compiled code relies on.
 *
 * Sources: CUDA C++ Programming Guide, "SIMT Architecture" and "Shared Memory"
 * of compute capability 5.x and later; CUDA C++ Best Practices Guide, "Coalesced
 * Access to Global Memory".
 */
#ifndef KC_UNITS_H
#define KC_UNITS_H

#define KC_WARP_LANES 32u /* threads per warp */
#define KC_WARP_LANES_LOG2 5u
#define KC_SECTOR_BYTES 32u /* smallest part of global memory that is transferred */
#define KC_BANKS 32u        /* of shared memory */
#define KC_BANK_BYTES 4u    /* per pass */

#endif
