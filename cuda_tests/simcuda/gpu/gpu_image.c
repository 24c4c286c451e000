/*
 * Images as applications hand them over: fatbin wrapper, fatbin, cubin, PTX.
 * Everything needed is copied, the image may go after the call.
 */
#include "gpu_image.h"

#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC 0xba55ed50u
#define ENTRY_PTX 1
#define ENTRY_ELF 2
#define FLAG_LZ4 0x2000
#define FLAG_ZSTD 0x8000
#define LARGEST_BYTES (1ull << 31) /* size of one uncompressed entry */
#define ENTRIES_MAX 64
#define OLDEST_COMPILED 75 /* nvcc 13 compiles for 7.5 and up */

struct wrapper { /* __fatBinC_Wrapper_t */
	uint32_t magic, version;
	const void *data, *more;
};

struct fatbin {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* after the header */
};

struct entry {
	uint32_t kind, sm;
	uint64_t flags, bytes, compressed_bytes, plain_bytes;
	const uint8_t *payload;
};

static uint16_t u16(const uint8_t *at)
{
	uint16_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t u32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static uint64_t u64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static unsigned read_entries(const uint8_t *data, struct entry *entry)
{
	struct fatbin fatbin;
	const uint8_t *at, *end;
	unsigned n = 0;

	memcpy(&fatbin, data, sizeof(fatbin));
	at = data + fatbin.header_bytes;
	end = at + fatbin.bytes;
	while (n < ENTRIES_MAX && end - at >= 64) {
		uint32_t header_bytes = u32(at + 4);

		entry[n].kind = u16(at);
		entry[n].bytes = u64(at + 8);
		entry[n].compressed_bytes = u32(at + 16);
		entry[n].sm = u32(at + 28);
		entry[n].flags = u64(at + 40);
		entry[n].plain_bytes = u64(at + 56);
		if (header_bytes < 64 || header_bytes > (uint64_t)(end - at) ||
		    entry[n].bytes > (uint64_t)(end - at) - header_bytes)
			break;
		entry[n].payload = at + header_bytes;
		at += header_bytes + entry[n].bytes;
		n++;
	}
	return n;
}

/* Returns the entry's bytes, uncompressed and followed by a NUL. The caller frees them. */
static uint8_t *unpack(const struct entry *entry, size_t *bytes)
{
	uint64_t plain = entry->flags & (FLAG_LZ4 | FLAG_ZSTD) ? entry->plain_bytes : entry->bytes;
	uint64_t packed = entry->compressed_bytes ? entry->compressed_bytes : entry->bytes;
	uint8_t *out;
	int ok = 1;

	if (plain > LARGEST_BYTES || packed > entry->bytes)
		return NULL;
	out = malloc(plain + 1);
	if (!out)
		return NULL;
	if (entry->flags & FLAG_ZSTD)
		ok = ZSTD_decompress(out, plain, entry->payload, packed) == plain;
	else if (entry->flags & FLAG_LZ4)
		ok = LZ4_decompress_safe((const char *)entry->payload, (char *)out, packed, plain) == (int)plain;
	else
		memcpy(out, entry->payload, plain);
	if (!ok) {
		free(out);
		return NULL;
	}
	out[plain] = '\0';
	*bytes = plain;
	return out;
}

static uint32_t capability(const struct sim_preset *preset)
{
	return preset->cc_major * 10 + preset->cc_minor;
}

/* Programming guide, "Binary compatibility": same major, minor not above. */
static const struct entry *best_elf(const struct entry *entry, unsigned n, uint32_t cc)
{
	const struct entry *best = NULL;
	unsigned i;

	for (i = 0; i < n; i++)
		if (entry[i].kind == ENTRY_ELF && entry[i].sm / 10 == cc / 10 && entry[i].sm <= cc &&
		    (!best || entry[i].sm > best->sm))
			best = &entry[i];
	return best;
}

static const struct entry *best_ptx(const struct entry *entry, unsigned n, uint32_t cc)
{
	const struct entry *best = NULL;
	unsigned i;

	for (i = 0; i < n; i++)
		if (entry[i].kind == ENTRY_PTX && entry[i].sm <= cc && (!best || entry[i].sm > best->sm))
			best = &entry[i];
	return best;
}

static const struct entry *lowest(const struct entry *entry, unsigned n, uint32_t kind)
{
	const struct entry *best = NULL;
	unsigned i;

	for (i = 0; i < n; i++)
		if (entry[i].kind == kind && (!best || entry[i].sm < best->sm))
			best = &entry[i];
	return best;
}

static void say_lowest(const struct sim_preset *preset, uint32_t sm)
{
	static atomic_int said;

	if (sim.verbose && !atomic_exchange(&said, 1))
		fprintf(stderr, "simcuda: compute capability %u.%u is below 7.5: using code for sm_%u\n",
			preset->cc_major, preset->cc_minor, sm);
}

static CUresult read_payload(struct sim_code *code, uint32_t kind, const uint8_t *data, size_t bytes)
{
	int ok = kind == ENTRY_ELF ? sim_cubin_read(code, data, bytes) : sim_ptx_read(code, (const char *)data, bytes);

	if (ok)
		return CUDA_SUCCESS;
	return kind == ENTRY_ELF ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_INVALID_PTX;
}

static CUresult read_entry(struct sim_code *code, const struct entry *entry)
{
	size_t bytes;
	uint8_t *data = unpack(entry, &bytes);
	CUresult result;

	if (!data)
		return CUDA_ERROR_INVALID_IMAGE;
	result = read_payload(code, entry->kind, data, bytes);
	free(data);
	return result;
}

/* What a just-in-time compiler would use is not known: what the ahead-of-time
 * one used for its lowest architecture stands in, where there is such code. */
static void borrow_resources(struct sim_code *code, const struct entry *elf)
{
	struct sim_code other = {0};
	uint32_t i;

	if (!elf || read_entry(&other, elf)) {
		sim_code_free(&other);
		return;
	}
	for (i = 0; i < code->kernels; i++) {
		struct sim_kernel *to = &code->kernel[i];
		const struct sim_kernel *from = sim_code_kernel(&other, to->name);

		if (!from)
			continue;
		to->registers = from->registers;
		to->static_shared_bytes = from->static_shared_bytes;
		to->local_bytes = from->local_bytes;
	}
	sim_code_free(&other);
}

static CUresult load_fatbin(struct sim_code *code, const uint8_t *data, const struct sim_preset *preset)
{
	struct entry entry[ENTRIES_MAX];
	unsigned n = read_entries(data, entry);
	const struct entry *chosen, *low = lowest(entry, n, ENTRY_ELF);
	uint32_t cc = capability(preset);
	CUresult result;

	chosen = best_elf(entry, n, cc);
	if (!chosen)
		chosen = best_ptx(entry, n, cc);
	if (!chosen && cc < OLDEST_COMPILED) {
		chosen = low ? low : lowest(entry, n, ENTRY_PTX);
		if (chosen)
			say_lowest(preset, chosen->sm);
	}
	if (!chosen)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	result = read_entry(code, chosen);
	if (!result && chosen->kind == ENTRY_PTX)
		borrow_resources(code, low);
	return result;
}

static CUresult load_cubin(struct sim_code *code, const uint8_t *data, const struct sim_preset *preset)
{
	uint32_t cc = capability(preset), sm = sim_cubin_sm(data);

	if (cc < OLDEST_COMPILED)
		say_lowest(preset, sm);
	else if (sm / 10 != cc / 10 || sm > cc)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return read_payload(code, ENTRY_ELF, data, sim_cubin_bytes(data));
}

static CUresult load_ptx(struct sim_code *code, const char *text, const struct sim_preset *preset)
{
	CUresult result = read_payload(code, ENTRY_PTX, (const uint8_t *)text, strlen(text));
	uint32_t cc = capability(preset);

	if (!result && cc >= OLDEST_COMPILED && code->kernels && code->kernel[0].ptx_version > cc)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	return result;
}

static const uint8_t *unwrap(const void *image)
{
	struct wrapper wrapper;

	if (u32(image) != WRAPPER_MAGIC)
		return image;
	memcpy(&wrapper, image, sizeof(wrapper));
	return wrapper.data;
}

static int is_elf(const uint8_t *data)
{
	return !memcmp(data, "\177ELF", 4);
}

CUresult sim_image_load(struct sim_code *code, const void *image, const struct sim_preset *preset)
{
	const uint8_t *data;
	CUresult result;
	uint32_t i;

	if (!image)
		return CUDA_ERROR_INVALID_VALUE;
	memset(code, 0, sizeof(*code));
	data = unwrap(image);
	if (!data)
		return CUDA_ERROR_INVALID_IMAGE;
	if (u32(data) == FATBIN_MAGIC)
		result = load_fatbin(code, data, preset);
	else if (is_elf(data))
		result = load_cubin(code, data, preset);
	else
		result = load_ptx(code, (const char *)data, preset);
	if (result) {
		sim_code_free(code);
		return result;
	}
	for (i = 0; i < code->kernels; i++)
		code->kernel[i].binary_version = capability(preset);
	return CUDA_SUCCESS;
}

size_t sim_image_bytes(const void *image)
{
	const uint8_t *data = unwrap(image);

	if (u32(data) == FATBIN_MAGIC)
		return u16(data + 6) + u64(data + 8);
	return is_elf(data) ? sim_cubin_bytes(data) : strlen((const char *)data) + 1;
}

const void *sim_image_data(const void *image)
{
	return unwrap(image);
}
