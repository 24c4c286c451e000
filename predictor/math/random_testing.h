/* Random numbers that are the same in every run of a test. */
#ifndef KC_RANDOM_TESTING_H
#define KC_RANDOM_TESTING_H

#include <stdint.h>

/* 0 to bound - 1: xorshift64, Marsaglia 2003. */
static inline uint32_t random_below(uint32_t bound)
{
	static uint64_t s = 88172645463325252u;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (uint32_t)(s >> 33) % bound;
}

#endif
