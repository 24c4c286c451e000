#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define ZSTD_BESIDE_BYTES ((size_t)512 << 10) /* blocks of input and output: 128 KiB each at most */

int kc__stream_too_large(const struct kc_fatbin_entry *entry, size_t needed_bytes, size_t memory_bytes,
			 struct kc_refusal *refusal)
{
	kc__refuse(refusal, entry->offset, "to unpack it needs %zu bytes, but only %zu are allowed", needed_bytes,
		   memory_bytes);
	return -ENOMEM;
}

/* How far back the frame refers. RFC 8878, 3.1.1.1. 0: no frame's header. */
static uint64_t zstd_window_bytes(const struct kc_bytes *frame)
{
	static const uint32_t dictionary_id_bytes[] = {0, 1, 2, 4};
	uint32_t descriptor = frame->length > 5 ? ((const unsigned char *)frame->first)[4] : 0;
	uint32_t window = frame->length > 5 ? ((const unsigned char *)frame->first)[5] : 0;
	uint64_t base;

	if (frame->length <= 5 || kc__bytes_u32(frame, 0) != ZSTD_MAGICNUMBER)
		return 0;
	if (descriptor >> 5 & 1) { /* a single segment: its content is the window */
		size_t at = 5 + dictionary_id_bytes[descriptor & 3];

		switch (descriptor >> 6) {
		case 0:
			return frame->length > at ? ((const unsigned char *)frame->first)[at] + UINT64_C(1) : 0;
		case 1:
			return kc__bytes_u16(frame, at) + UINT64_C(256);
		case 2:
			return kc__bytes_u32(frame, at) + UINT64_C(1);
		default:
			return kc__bytes_u64(frame, at);
		}
	}
	base = UINT64_C(1) << (10 + (window >> 3));
	return base + base / 8 * (window & 7);
}

static int run_zstd(ZSTD_DCtx *decoder, const struct kc_fatbin_entry *entry, char *part, kc_stream_take *take,
		    void *arg, struct kc_refusal *refusal)
{
	ZSTD_inBuffer in = {entry->payload.first, entry->payload.length, 0};
	size_t got = 0, rc = 1;
	int result = 0;

	while (rc && !result) {
		ZSTD_outBuffer out = {part, ZSTD_DStreamOutSize(), 0};
		size_t before = in.pos;

		rc = ZSTD_decompressStream(decoder, &out, &in);
		if (ZSTD_isError(rc))
			return kc__refuse(refusal, entry->payload.offset, "zstd: %s", ZSTD_getErrorName(rc));
		got += out.pos;
		if (got > entry->unpacked_bytes || (rc && !out.pos && in.pos == before))
			break;
		result = take(arg, part, out.pos);
	}
	if (!result && got != entry->unpacked_bytes)
		return kc__refuse(refusal, entry->payload.offset, "unpacks to %zu bytes instead of %zu", got,
				  entry->unpacked_bytes);
	return result;
}

size_t kc__fatbin_stream_bytes(const struct kc_fatbin_entry *entry)
{
	uint64_t window;

	if (entry->packing != KC_PACKED_ZSTD)
		return entry->packing == KC_PACKED_LZ4 ? KC__LZ4_BYTES : 0;
	window = zstd_window_bytes(&entry->payload);
	return window < SIZE_MAX / 2 ? (size_t)window + ZSTD_BESIDE_BYTES + ZSTD_DStreamOutSize() : SIZE_MAX;
}

static int stream_zstd(const struct kc_fatbin_entry *entry, size_t memory_bytes, kc_stream_take *take, void *arg,
		       struct kc_refusal *refusal)
{
	size_t needed = kc__fatbin_stream_bytes(entry);
	ZSTD_DCtx *decoder;
	char *part;
	int rc;

	if (!zstd_window_bytes(&entry->payload))
		return kc__refuse(refusal, entry->payload.offset, "zstd: no frame");
	if (needed > memory_bytes)
		return kc__stream_too_large(entry, needed, memory_bytes, refusal);
	decoder = ZSTD_createDCtx();
	part = malloc(ZSTD_DStreamOutSize());
	rc = decoder && part ? run_zstd(decoder, entry, part, take, arg, refusal)
			     : kc__stream_too_large(entry, needed, memory_bytes, refusal);
	free(part);
	ZSTD_freeDCtx(decoder);
	return rc;
}

int kc__fatbin_stream(const struct kc_fatbin_entry *entry, size_t memory_bytes, kc_stream_take *take, void *arg,
		      struct kc_refusal *refusal)
{
	if (entry->packing == KC_PACKED_ZSTD)
		return stream_zstd(entry, memory_bytes, take, arg, refusal);
	if (entry->packing == KC_PACKED_LZ4)
		return kc__lz4_stream(entry, memory_bytes, take, arg, refusal);
	return take(arg, (const char *)entry->payload.first, entry->payload.length);
}
