/* SHA-256 (FIPS 180-4): for the hashes of a content security policy, and for names that are not to be shown. */
#ifndef KC_SHA256_H
#define KC_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define KC_SHA256_BYTES 32u
#define KC_SHA256_BASE64 45u /* 44 characters and NUL */

void kc_sha256(const void *bytes, size_t size, uint8_t out[static KC_SHA256_BYTES]);
/* The same in base64 (RFC 4648). */
void kc_sha256_base64(const void *bytes, size_t size, char out[static KC_SHA256_BASE64]);

#endif
