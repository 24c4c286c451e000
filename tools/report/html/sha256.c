#include "sha256.h"

#include <string.h>

#define BLOCK 64u
#define WORDS 64u
#define LENGTH_BYTES 8u /* of the message's length, at the end of the last block */

/* FIPS 180-4, section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[WORDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t x, unsigned by)
{
	return x >> by | x << (32 - by);
}

static uint32_t big_endian(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* Section 6.2.2, step 1 */
static void schedule(const uint8_t *block, uint32_t w[static WORDS])
{
	for (unsigned i = 0; i < 16; i++)
		w[i] = big_endian(block + 4 * i);
	for (unsigned i = 16; i < WORDS; i++) {
		uint32_t small_0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
		uint32_t small_1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;

		w[i] = w[i - 16] + small_0 + w[i - 7] + small_1;
	}
}

/* Section 6.2.2, steps 2 to 4. v: a to h */
static void add_block(uint32_t hash[static 8], const uint8_t *block)
{
	uint32_t w[WORDS], v[8];

	schedule(block, w);
	memcpy(v, hash, sizeof(v));
	for (unsigned i = 0; i < WORDS; i++) {
		uint32_t big_1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
		uint32_t big_0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
		uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
		uint32_t t1 = v[7] + big_1 + choice + constants[i] + w[i], t2 = big_0 + majority;

		memmove(v + 1, v, 7 * sizeof(*v));
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (unsigned i = 0; i < 8; i++)
		hash[i] += v[i];
}

/* The rest of the message, a bit 1, zeros, and the length in bits (section 5.1.1): one block or two. */
static void add_end(uint32_t hash[static 8], const uint8_t *rest, size_t count, uint64_t size)
{
	uint8_t end[2 * BLOCK] = {0};
	size_t blocks = count + 1 + LENGTH_BYTES > BLOCK ? 2 : 1;

	memcpy(end, rest, count);
	end[count] = 0x80;
	for (unsigned i = 0; i < LENGTH_BYTES; i++)
		end[blocks * BLOCK - 1 - i] = (uint8_t)(size * 8 >> 8 * i);
	for (size_t i = 0; i < blocks; i++)
		add_block(hash, end + i * BLOCK);
}

void kc_sha256(const void *bytes, size_t size, uint8_t out[static KC_SHA256_BYTES])
{
	/* Section 5.3.3 */
	uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
			    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
	const uint8_t *at = bytes;
	size_t left = size;

	for (; left >= BLOCK; left -= BLOCK, at += BLOCK)
		add_block(hash, at);
	add_end(hash, at, left, size);
	for (unsigned i = 0; i < KC_SHA256_BYTES; i++)
		out[i] = (uint8_t)(hash[i / 4] >> 8 * (3 - i % 4));
}

void kc_sha256_base64(const void *bytes, size_t size, char out[static KC_SHA256_BASE64])
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t hash[KC_SHA256_BYTES + 1] = {0}; /* 0 behind, as 32 bytes are no multiple of 3 */

	kc_sha256(bytes, size, hash);
	for (unsigned i = 0; i < (KC_SHA256_BYTES + 1) / 3; i++) {
		uint32_t three = (uint32_t)hash[3 * i] << 16 | (uint32_t)hash[3 * i + 1] << 8 | hash[3 * i + 2];

		for (unsigned k = 0; k < 4; k++)
			out[4 * i + k] = digits[three >> 6 * (3 - k) & 63];
	}
	out[KC_SHA256_BASE64 - 2] = '=';
	out[KC_SHA256_BASE64 - 1] = '\0';
}
