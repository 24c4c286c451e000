/*
 * A hash for tables of names and keys; no protection against chosen keys.
 */
#ifndef KC_HASH_H
#define KC_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo). Begin with KC_FNV_OFFSET; pass the result on to hash several pieces. */
#define KC_FNV_OFFSET UINT64_C(0xcbf29ce484222325)
uint64_t kc_fnv(uint64_t hash, const void *at, size_t bytes);

#endif
