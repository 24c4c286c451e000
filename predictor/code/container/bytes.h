/*
 * Bytes from outside, read within their bounds only.
 */
#ifndef KC_BYTES_H
#define KC_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct kc_bytes {
	const uint8_t *first;
	size_t length;
	size_t offset; /* of the first, from the first byte of what was handed in: for refusals */
};

/* 1: at … at + length lies within, *part is that; 0: it does not. */
int kc__bytes_part(const struct kc_bytes *bytes, uint64_t at, uint64_t length, struct kc_bytes *part);

/* Little endian; 0 where not all of it lies within. */
uint16_t kc__bytes_u16(const struct kc_bytes *bytes, uint64_t at);
uint32_t kc__bytes_u32(const struct kc_bytes *bytes, uint64_t at);
uint64_t kc__bytes_u64(const struct kc_bytes *bytes, uint64_t at);

#endif
