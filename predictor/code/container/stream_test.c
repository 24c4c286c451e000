/* What LZ4's and zstd's own libraries packed, unpacked part by part and compared with what went in. */
#include "stream.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <zstd.h>

#include <cmocka.h>

#define TEXT_BYTES ((size_t)1 << 20)
#define MEMORY_BYTES ((size_t)16 << 20)
#define WINDOW_LOG 17

struct packed {
	unsigned char *bytes;
	size_t length;
	uint8_t packing;
};

struct got {
	char *bytes;
	size_t length, largest, stop_at;
};

static int take(void *arg, const char *bytes, size_t length)
{
	struct got *got = arg;

	if (got->length + length > TEXT_BYTES)
		return -EOVERFLOW;
	memcpy(got->bytes + got->length, bytes, length);
	got->length += length;
	got->largest = length > got->largest ? length : got->largest;
	return got->stop_at && got->length >= got->stop_at ? -ECANCELED : 0;
}

/* Runs of one character, what stood 65,535 bytes before, and what never stood before. */
static char *text_of(unsigned seed)
{
	char *text = malloc(TEXT_BYTES);
	size_t at = 0;

	assert_non_null(text);
	while (at < TEXT_BYTES) {
		size_t n = (seed = seed * 1103515245 + 12345) >> 16 & 1023, distance;

		n = n < TEXT_BYTES - at ? n + (n == 0) : TEXT_BYTES - at;
		switch (seed >> 8 & 3) {
		case 0:
			memset(text + at, (int)(seed & 127), n);
			break;
		case 1:
			distance = at >= 65535 ? 65535 : at;
			for (size_t i = 0; i < n; i++)
				text[at + i] = distance ? text[at + i - distance] : 'a';
			break;
		case 2:
			distance = at > 3 ? 3 : at;
			for (size_t i = 0; i < n; i++)
				text[at + i] = distance ? text[at + i - distance] : 'b';
			break;
		default:
			for (size_t i = 0; i < n; i++)
				text[at + i] = (char)((seed = seed * 1103515245 + 12345) >> 20);
		}
		at += n;
	}
	return text;
}

static struct packed pack(const char *text, uint8_t packing, size_t length)
{
	size_t most = packing == KC_PACKED_LZ4 ? (size_t)LZ4_compressBound((int)length) : ZSTD_compressBound(length);
	struct packed p = {malloc(most), 0, packing};
	ZSTD_CCtx *zstd = ZSTD_createCCtx();

	assert_non_null(p.bytes);
	ZSTD_CCtx_setParameter(zstd, ZSTD_c_windowLog, WINDOW_LOG);
	if (packing == KC_PACKED_LZ4)
		p.length = (size_t)LZ4_compress_default(text, (char *)p.bytes, (int)length, (int)most);
	else
		p.length = ZSTD_compress2(zstd, p.bytes, most, text, length);
	ZSTD_freeCCtx(zstd);
	return p;
}

static int unpack(const struct packed *p, size_t unpacked_bytes, size_t memory_bytes, struct got *got)
{
	struct kc_fatbin_entry entry = {
	    .packing = p->packing, .payload = {p->bytes, p->length, 0}, .unpacked_bytes = unpacked_bytes};
	struct kc_refusal refusal = {0};
	int rc;

	got->length = got->largest = 0;
	rc = kc__fatbin_stream(&entry, memory_bytes, take, got, &refusal);
	if (rc == -EBADMSG || rc == -ENOMEM)
		assert_true(refusal.reason[0]);
	return rc;
}

static void parts_make_the_whole(void **state)
{
	struct got got = {.bytes = malloc(TEXT_BYTES)};

	(void)state;
	for (unsigned seed = 1; seed <= 6; seed++) {
		char *text = text_of(seed);

		for (uint8_t packing = KC_PACKED_NOT; packing <= KC_PACKED_ZSTD; packing++) {
			size_t length = TEXT_BYTES - seed;
			struct packed p = {(unsigned char *)text, length, KC_PACKED_NOT};

			if (packing)
				p = pack(text, packing, length);
			assert_int_equal(unpack(&p, length, MEMORY_BYTES, &got), 0);
			assert_int_equal(got.length, length);
			assert_memory_equal(got.bytes, text, length);
			if (packing)
				assert_in_range(got.largest, 1, 256 << 10);
			if (packing)
				free(p.bytes);
		}
		free(text);
	}
	free(got.bytes);
}

/* The frame refers back by 128 KiB: that much memory is not enough, 1 MiB is, although the text has 1 MiB. */
static void memory_is_that_of_the_window(void **state)
{
	struct got got = {.bytes = malloc(TEXT_BYTES)};
	char *text = text_of(7);
	struct packed zstd = pack(text, KC_PACKED_ZSTD, TEXT_BYTES), lz4 = pack(text, KC_PACKED_LZ4, TEXT_BYTES);

	(void)state;
	assert_int_equal(unpack(&zstd, TEXT_BYTES, (size_t)1 << WINDOW_LOG, &got), -ENOMEM);
	assert_int_equal(unpack(&zstd, TEXT_BYTES, (size_t)1 << 20, &got), 0);
	assert_int_equal(unpack(&lz4, TEXT_BYTES, (size_t)64 << 10, &got), -ENOMEM);
	assert_int_equal(unpack(&lz4, TEXT_BYTES, (size_t)256 << 10, &got), 0);
	free(zstd.bytes);
	free(lz4.bytes);
	free(text);
	free(got.bytes);
}

static void another_length_than_stated_is_refused(void **state)
{
	struct got got = {.bytes = malloc(TEXT_BYTES)};
	char *text = text_of(8);

	(void)state;
	for (uint8_t packing = KC_PACKED_LZ4; packing <= KC_PACKED_ZSTD; packing++) {
		struct packed p = pack(text, packing, TEXT_BYTES / 2);

		assert_int_equal(unpack(&p, TEXT_BYTES / 2 + 1, MEMORY_BYTES, &got), -EBADMSG);
		assert_int_equal(unpack(&p, TEXT_BYTES / 2 - 1, MEMORY_BYTES, &got), -EBADMSG);
		assert_int_equal(unpack(&p, TEXT_BYTES / 2, MEMORY_BYTES, &got), 0);
		free(p.bytes);
	}
	free(text);
	free(got.bytes);
}

static void what_takes_the_parts_can_stop(void **state)
{
	struct got got = {.bytes = malloc(TEXT_BYTES), .stop_at = 1};
	char *text = text_of(9);

	(void)state;
	for (uint8_t packing = KC_PACKED_LZ4; packing <= KC_PACKED_ZSTD; packing++) {
		struct packed p = pack(text, packing, TEXT_BYTES);

		assert_int_equal(unpack(&p, TEXT_BYTES, MEMORY_BYTES, &got), -ECANCELED);
		assert_true(got.length < TEXT_BYTES);
		free(p.bytes);
	}
	free(text);
	free(got.bytes);
}

/* A distance of 0 is invalid (LZ4 Block Format Description); the library lets it pass. */
static int has_distance_0(const struct packed *p, size_t at)
{
	return !p->bytes[at] && ((at && !p->bytes[at - 1]) || (at + 1 < p->length && !p->bytes[at + 1]));
}

/* LZ4's own library says which damaged blocks can be unpacked, and to what. */
static void damaged_blocks_as_by_the_library(void **state)
{
	size_t length = 8192;
	char *text = text_of(12), *expected = malloc(length);
	struct got got = {.bytes = malloc(TEXT_BYTES)};
	struct packed p = pack(text, KC_PACKED_LZ4, length);
	unsigned refused = 0;

	(void)state;
	assert_in_range(p.length, 1000, 6000);
	for (size_t at = 0; at < p.length; at++)
		for (unsigned bit = 0; bit < 8; bit++) {
			int n, rc;

			p.bytes[at] ^= (unsigned char)(1u << bit);
			n = LZ4_decompress_safe((const char *)p.bytes, expected, (int)p.length, (int)length);
			rc = unpack(&p, length, MEMORY_BYTES, &got);
			if (n == (int)length && !has_distance_0(&p, at)) {
				assert_int_equal(rc, 0);
				assert_memory_equal(got.bytes, expected, length);
			}
			refused += rc != 0;
			p.bytes[at] ^= (unsigned char)(1u << bit);
		}
	assert_true(refused > 100);
	for (size_t cut = 0; cut < p.length; cut++) {
		struct packed shorter = {p.bytes, cut, KC_PACKED_LZ4};

		assert_int_equal(unpack(&shorter, length, MEMORY_BYTES, &got), -EBADMSG);
	}
	free(p.bytes);
	free(expected);
	free(text);
	free(got.bytes);
}

/* Of a frame that ends too early nothing is waited for. */
static void a_frame_that_is_cut_is_refused(void **state)
{
	struct got got = {.bytes = malloc(TEXT_BYTES)};
	char *text = text_of(10);
	struct packed p = pack(text, KC_PACKED_ZSTD, TEXT_BYTES);

	(void)state;
	for (size_t cut = 0; cut < p.length; cut += cut < 64 ? 1 : p.length / 32) {
		struct packed shorter = {p.bytes, cut, KC_PACKED_ZSTD};

		assert_int_equal(unpack(&shorter, TEXT_BYTES, MEMORY_BYTES, &got), -EBADMSG);
	}
	free(p.bytes);
	free(text);
	free(got.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(parts_make_the_whole),
	    cmocka_unit_test(memory_is_that_of_the_window),
	    cmocka_unit_test(another_length_than_stated_is_refused),
	    cmocka_unit_test(what_takes_the_parts_can_stop),
	    cmocka_unit_test(damaged_blocks_as_by_the_library),
	    cmocka_unit_test(a_frame_that_is_cut_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
