#include "bytes.h"

int kc__bytes_part(const struct kc_bytes *bytes, uint64_t at, uint64_t length, struct kc_bytes *part)
{
	if (at > bytes->length || length > bytes->length - at)
		return 0;
	*part = (struct kc_bytes){bytes->first + at, length, bytes->offset + at};
	return 1;
}

static uint64_t little_endian(const struct kc_bytes *bytes, uint64_t at, unsigned size)
{
	struct kc_bytes part;
	uint64_t value = 0;

	if (!kc__bytes_part(bytes, at, size, &part))
		return 0;
	for (unsigned i = 0; i < size; i++)
		value |= (uint64_t)part.first[i] << (8 * i);
	return value;
}

uint16_t kc__bytes_u16(const struct kc_bytes *bytes, uint64_t at)
{
	return (uint16_t)little_endian(bytes, at, 2);
}

uint32_t kc__bytes_u32(const struct kc_bytes *bytes, uint64_t at)
{
	return (uint32_t)little_endian(bytes, at, 4);
}

uint64_t kc__bytes_u64(const struct kc_bytes *bytes, uint64_t at)
{
	return little_endian(bytes, at, 8);
}
