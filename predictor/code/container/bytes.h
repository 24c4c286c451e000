/*
 * Bytes of a file or a module, read only within their bounds.
 */
#ifndef KC_BYTES_H
#define KC_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct kc_bytes {
	const uint8_t *first;
	size_t length;
	size_t offset; /* of the first byte in the file or image that was given: for refusals */
};

/* 1: *part is the `length` bytes from `at` on. 0: they are not all within. */
int kc__bytes_part(const struct kc_bytes *bytes, uint64_t at, uint64_t length, struct kc_bytes *part);

/* Little endian; 0 if not all of it is within. */
uint16_t kc__bytes_u16(const struct kc_bytes *bytes, uint64_t at);
uint32_t kc__bytes_u32(const struct kc_bytes *bytes, uint64_t at);
uint64_t kc__bytes_u64(const struct kc_bytes *bytes, uint64_t at);

#endif
