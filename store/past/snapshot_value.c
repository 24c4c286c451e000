#include "snapshot.h"

#include <errno.h>
#include <string.h>

#define WORD sizeof(uint32_t)

static size_t map_bytes(size_t bytes)
{
	return (bytes / WORD + 7) / 8;
}

size_t kc__value_most(size_t bytes)
{
	return map_bytes(bytes) + bytes;
}

size_t kc__value_encode(const void *value, size_t bytes, uint8_t *out)
{
	uint8_t *map = out, *at = out + map_bytes(bytes);

	memset(map, 0, map_bytes(bytes));
	for (size_t i = 0; i < bytes / WORD; i++) {
		uint32_t word;

		memcpy(&word, (const uint8_t *)value + i * WORD, WORD);
		if (!word)
			continue;
		map[i / 8] |= (uint8_t)(1u << i % 8);
		memcpy(at, &word, WORD);
		at += WORD;
	}
	return (size_t)(at - out);
}

int kc__value_decode(const uint8_t *from, size_t from_bytes, void *value, size_t bytes)
{
	const uint8_t *map = from, *at = from + map_bytes(bytes), *end = from + from_bytes;

	if (from_bytes < map_bytes(bytes))
		return -EBADMSG;
	memset(value, 0, bytes);
	for (size_t i = 0; i < bytes / WORD; i++) {
		if (!(map[i / 8] & 1u << i % 8))
			continue;
		if ((size_t)(end - at) < WORD)
			return -EBADMSG;
		memcpy((uint8_t *)value + i * WORD, at, WORD);
		at += WORD;
	}
	return at == end ? 0 : -EBADMSG;
}
