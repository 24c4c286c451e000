#include "packed_text.h"

#include <stdlib.h>

#include <lz4.h>

size_t kc_text_pack(const char *text, size_t length, void *packed, size_t max_bytes)
{
	int made;

	if (!length || length > KC_TEXT_BYTES || max_bytes > KC_PACKED_TEXT_BYTES)
		return 0;
	made = LZ4_compress_default(text, packed, (int)length, (int)max_bytes);
	return made > 0 ? (size_t)made : 0;
}

char *kc_text_unpack(const void *packed, size_t packed_bytes, size_t length)
{
	char *text;

	if (!length || length > KC_TEXT_BYTES || packed_bytes > KC_PACKED_TEXT_BYTES)
		return NULL;
	text = malloc(length);
	if (text && LZ4_decompress_safe(packed, text, (int)packed_bytes, (int)length) != (int)length) {
		free(text);
		text = NULL;
	}
	return text;
}
