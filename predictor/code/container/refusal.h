/*
 * Why code was refused: where in the bytes, and the reason in words.
 */
#ifndef KC_REFUSAL_H
#define KC_REFUSAL_H

#include <stddef.h>

struct kc_refusal {
	size_t offset; /* from the first byte of the file or image that was given */
	char reason[112];
};

/* Fills *refusal, which may be NULL, and returns -EBADMSG. */
int kc__refuse(struct kc_refusal *refusal, size_t offset, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
