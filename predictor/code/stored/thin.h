/*
 * A fatbin without what is not needed of it: a library's may have 20 MB for eight
 * architectures, of which the PTX for one is 2 MB.
 */
#ifndef KC_THIN_H
#define KC_THIN_H

#include "predictor/code/container/refusal.h"

#include <stddef.h>
#include <stdint.h>

/* Puts the `length` bytes from `at` on into `to`. 0, or a negative errno. */
typedef int kc_thin_read(void *arg, uint64_t at, void *to, size_t length);

struct kc_thin_request {
	kc_thin_read *read;
	void *arg;
	size_t length; /* of what is read */
	/* Keep only the PTX that is best for this device; where that is for another architecture, also the machine code
	 * that the driver loads there, if it fits. 0, 0: all PTX, and all machine code if that takes no more than a
	 * sixteenth of memory_bytes. */
	uint32_t cc_major, cc_minor;
	size_t memory_bytes; /* the result takes no more */
};

/* Whether the bytes begin like a fatbin. */
int kc_image_is_fatbin(const void *bytes, size_t length);
/* Makes a fatbin of the chosen entries, as they are, in *bytes, which the caller frees. What is no fatbin is read as a
 * whole. 0; -ENOENT: the fatbin has no PTX; -EBADMSG, -ENOMEM, or what `read` returned, a negative errno: *refusal says
 * where and why. */
int kc_image_thin(const struct kc_thin_request *request, void **bytes, size_t *length, struct kc_refusal *refusal);

#endif
