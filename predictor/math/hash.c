#include "hash.h"

#define FNV_PRIME UINT64_C(0x100000001b3)

uint64_t kc_fnv(uint64_t hash, const void *at, size_t bytes)
{
	const unsigned char *p = at;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ p[i]) * FNV_PRIME;
	return hash;
}
