#include "reference.h"

#include <stdio.h>
#include <stdlib.h>

void *reference_memory(size_t bytes)
{
	void *memory = malloc(bytes ? bytes : 1);

	if (memory)
		return memory;
	fprintf(stderr, "not enough memory for the CPU's result\n");
	exit(1);
}

/* The finaliser of MurmurHash3 (Appleby). */
uint32_t reference_scramble(uint32_t x)
{
	x ^= x >> 16;
	x *= 0x85ebca6bu;
	x ^= x >> 13;
	x *= 0xc2b2ae35u;
	return x ^ x >> 16;
}
