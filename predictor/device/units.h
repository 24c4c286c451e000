/*
 * What is the same on every GPU.
 */
#ifndef KC_UNITS_H
#define KC_UNITS_H

#define KC_WARP_THREADS 32u
#define KC_SECTOR_BYTES 32u /* the least that a memory access moves. Source: CUDA C++ best practices guide */

#endif
