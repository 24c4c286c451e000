/*
 * A device by name, or from a file with one `key=value` a line: the keys are
 * the fields of struct kc_device, as `kerncast devices --json` prints them,
 * and `like`, a built-in device to begin with. # begins a comment.
 */
#ifndef KC_DEVICE_SPEC_H
#define KC_DEVICE_SPEC_H

#include "predictor/device/device.h"

#include <stddef.h>

/*
 * what: a built-in device's name, or else a file's path, or else a part of a name that fits one built-in device
 * only ("4090", "a100-80"). 0; -ENOENT none of these;
 * -EINVAL a malformed line, or sm_count or cc_major missing; -errno
 * the file cannot be read. why gets a sentence.
 */
int kc_device_spec(const char *what, struct kc_device *device, char *why, size_t why_size);

/* Sets one field from text. 0; -ENOENT: no such field; -EINVAL: not a number in its range. */
int kc_device_set(struct kc_device *device, const char *key, const char *value);

/* Copies every numeric field of over that is not 0. */
void kc_device_overlay(struct kc_device *device, const struct kc_device *over);

/* The i-th numeric field: its name and value; NULL past the end. */
const char *kc_device_field(const struct kc_device *device, unsigned i, uint64_t *value);

#endif
