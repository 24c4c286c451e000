/*
 * The PTX of one kernel, packed to be kept in a database: a block of LZ4.
 */
#ifndef KC_PACKED_TEXT_H
#define KC_PACKED_TEXT_H

#include <stddef.h>

#define KC_TEXT_BYTES ((size_t)512 << 10)       /* of a text that is kept, at most */
#define KC_PACKED_TEXT_BYTES ((size_t)64 << 10) /* of what it is packed to */

/* Returns the length of what is in packed now; 0: the text, or what it is packed to, is too long. */
size_t kc_text_pack(const char *text, size_t length, void *packed, size_t max_bytes);
/* length: of the text, which the caller frees. NULL: that is not what was packed, or there is no memory. */
char *kc_text_unpack(const void *packed, size_t packed_bytes, size_t length);

#endif
