#include "fatbin.h"

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <lz4.h>
#include <stddef.h>
#include <string.h>
#include <zstd.h>

struct header {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* behind the header */
};

struct entry_header {
	uint16_t kind, version;
	uint32_t header_bytes;
	uint64_t payload_bytes; /* padding included */
	uint32_t packed_bytes;  /* without it; 0: not packed */
	uint32_t options_at;
	uint16_t minor, major; /* of the format of what is in it */
	uint32_t sm;
	uint64_t reserved;
	uint64_t flags;
	uint64_t reserved2;
	uint64_t unpacked_bytes;
};

#define HEADER(field) offsetof(struct header, field)
#define ENTRY(field) offsetof(struct entry_header, field)

#define VERSION 1u
#define FLAG_LZ4 0x2000u
#define FLAG_ZSTD 0x8000u
#define FLAG_ARCHITECTURE_SPECIFIC 0x100000u
#define FLAG_FAMILY_SPECIFIC 0x200000u

int kc__fatbin_is(const struct kc_bytes *bytes)
{
	return kc__bytes_u32(bytes, HEADER(magic)) == KC_FATBIN_MAGIC;
}

int kc__fatbin_open(struct kc_fatbin *fatbin, const struct kc_bytes *bytes, struct kc_refusal *refusal)
{
	uint32_t version = kc__bytes_u16(bytes, HEADER(version));
	uint32_t header_bytes = kc__bytes_u16(bytes, HEADER(header_bytes));
	uint64_t entry_bytes = kc__bytes_u64(bytes, HEADER(bytes));

	if (bytes->length < sizeof(struct header) || !kc__fatbin_is(bytes))
		return kc__refuse(refusal, bytes->offset, "incomplete fatbin header");
	if (version != VERSION)
		return kc__refuse(refusal, bytes->offset + HEADER(version),
				  "fatbin version %u is unknown, only %u is supported", version, VERSION);
	if (header_bytes < sizeof(struct header) || !kc__bytes_part(bytes, header_bytes, entry_bytes, &fatbin->entries))
		return kc__refuse(refusal, bytes->offset + HEADER(header_bytes),
				  "fatbin header of %u bytes with %llu bytes of entries, but there are only %zu",
				  header_bytes, (unsigned long long)entry_bytes, bytes->length);
	fatbin->length = header_bytes + (size_t)entry_bytes;
	return 0;
}

static char suffix_of(uint64_t flags)
{
	return flags & FLAG_ARCHITECTURE_SPECIFIC ? 'a' : flags & FLAG_FAMILY_SPECIFIC ? 'f' : '\0';
}

static int read_packing(struct kc_fatbin_entry *entry, const struct kc_bytes *header, struct kc_refusal *refusal)
{
	uint64_t flags = kc__bytes_u64(header, ENTRY(flags)), unpacked = kc__bytes_u64(header, ENTRY(unpacked_bytes));
	uint32_t packed = kc__bytes_u32(header, ENTRY(packed_bytes));

	entry->suffix = suffix_of(flags);
	entry->packing = flags & FLAG_ZSTD ? KC_PACKED_ZSTD : flags & FLAG_LZ4 ? KC_PACKED_LZ4 : KC_PACKED_NOT;
	entry->unpacked_bytes = entry->payload.length;
	if (entry->packing == KC_PACKED_NOT && !packed)
		return 0;
	if (entry->packing == KC_PACKED_NOT)
		return kc__refuse(refusal, header->offset + ENTRY(flags), "compressed in an unknown way (flags 0x%llx)",
				  (unsigned long long)flags);
	if (!kc__bytes_part(&entry->payload, 0, packed, &entry->payload))
		return kc__refuse(refusal, header->offset + ENTRY(packed_bytes),
				  "%u compressed bytes in an entry of %zu", packed, entry->payload.length);
	if (!unpacked || unpacked > INT_MAX)
		return kc__refuse(refusal, header->offset + ENTRY(unpacked_bytes), "unpacks to %llu bytes",
				  (unsigned long long)unpacked);
	entry->unpacked_bytes = unpacked;
	return 0;
}

/* Splits *rest into the next entry's header and payload and what follows. Nothing is left if they do not fit. */
static int split(struct kc_bytes *rest, struct kc_bytes *header, struct kc_bytes *payload, struct kc_refusal *refusal)
{
	struct kc_bytes all = *rest;
	uint64_t header_bytes = kc__bytes_u32(&all, ENTRY(header_bytes));
	uint64_t payload_bytes = kc__bytes_u64(&all, ENTRY(payload_bytes)), both;

	*rest = (struct kc_bytes){0};
	if (header_bytes < sizeof(struct entry_header) || !kc__bytes_part(&all, 0, header_bytes, header))
		return kc__refuse(refusal, all.offset + ENTRY(header_bytes),
				  "entry header of %u bytes, but only %zu are left", (unsigned)header_bytes,
				  all.length);
	if (!kc__bytes_part(&all, header_bytes, payload_bytes, payload))
		return kc__refuse(refusal, all.offset + ENTRY(payload_bytes),
				  "entry of %llu bytes, but only %zu are left", (unsigned long long)payload_bytes,
				  all.length - (size_t)header_bytes);
	both = header_bytes + payload_bytes;
	kc__bytes_part(&all, both, all.length - both, rest);
	return 0;
}

int kc__fatbin_next(struct kc_fatbin *fatbin, struct kc_fatbin_entry *entry, struct kc_refusal *refusal)
{
	struct kc_bytes header;
	int result;

	if (!fatbin->entries.length)
		return 0;
	*entry = (struct kc_fatbin_entry){.offset = fatbin->entries.offset};
	result = split(&fatbin->entries, &header, &entry->payload, refusal);
	if (result)
		return result;
	entry->kind = kc__bytes_u16(&header, ENTRY(kind));
	entry->sm = kc__bytes_u32(&header, ENTRY(sm));
	result = read_packing(entry, &header, refusal);
	return result ? result : 1;
}

_Static_assert(sizeof(struct header) == KC_FATBIN_HEADER_BYTES, "as in the file");
_Static_assert(sizeof(struct entry_header) == KC_FATBIN_ENTRY_BYTES, "as in the file");

uint32_t kc__fatbin_header_bytes(const void *header)
{
	struct kc_bytes bytes = {header, sizeof(struct header), 0};

	return kc__bytes_u16(&bytes, HEADER(header_bytes));
}

void kc__fatbin_set_length(void *header, uint64_t bytes)
{
	uint64_t stored = htole64(bytes);

	memcpy((char *)header + HEADER(bytes), &stored, sizeof(stored));
}

uint64_t kc__fatbin_entry_head(const void *header, size_t offset, struct kc_fatbin_entry *entry)
{
	struct kc_bytes bytes = {header, sizeof(struct entry_header), offset};
	uint64_t header_bytes = kc__bytes_u32(&bytes, ENTRY(header_bytes));
	uint64_t payload_bytes = kc__bytes_u64(&bytes, ENTRY(payload_bytes)), all;

	*entry = (struct kc_fatbin_entry){
	    .offset = offset,
	    .kind = kc__bytes_u16(&bytes, ENTRY(kind)),
	    .suffix = suffix_of(kc__bytes_u64(&bytes, ENTRY(flags))),
	    .sm = kc__bytes_u32(&bytes, ENTRY(sm)),
	};
	if (header_bytes < sizeof(struct entry_header) || __builtin_add_overflow(header_bytes, payload_bytes, &all))
		return 0;
	return all;
}

int kc__fatbin_unpack(const struct kc_fatbin_entry *entry, char *to, struct kc_refusal *refusal)
{
	const struct kc_bytes *packed = &entry->payload;
	size_t got;

	if (entry->packing == KC_PACKED_ZSTD) {
		got = ZSTD_decompress(to, entry->unpacked_bytes, packed->first, packed->length);
		if (ZSTD_isError(got))
			return kc__refuse(refusal, packed->offset, "zstd: %s", ZSTD_getErrorName(got));
	} else {
		int bytes = packed->length > INT_MAX
				? -1
				: LZ4_decompress_safe((const char *)packed->first, to, (int)packed->length,
						      (int)entry->unpacked_bytes);

		if (bytes < 0)
			return kc__refuse(refusal, packed->offset, "LZ4: damaged or incomplete block");
		got = (size_t)bytes;
	}
	if (got != entry->unpacked_bytes)
		return kc__refuse(refusal, packed->offset, "unpacks to %zu bytes instead of %zu", got,
				  entry->unpacked_bytes);
	return 0;
}

size_t kc__fatbin_length(const void *image, size_t limit_bytes)
{
	struct kc_bytes header = {image, sizeof(struct header), 0};
	uint64_t header_bytes = kc__bytes_u16(&header, HEADER(header_bytes)),
		 bytes = kc__bytes_u64(&header, HEADER(bytes));

	return header_bytes > limit_bytes || bytes > limit_bytes - header_bytes ? 0 : header_bytes + bytes;
}
