/*
 * How long copies and memsets take: a latency and a rate, which is learned for
 * each kind and device from measured ones.
 */
#ifndef KC_COPY_H
#define KC_COPY_H

#include "device.h"

#include <stdint.h>

/* on_device: the bytes stay on the device (copies in it, memsets). rate: what
 * was learned, ns per MiB; 0: nothing yet. Returns ns. */
int64_t kc_copy_ns(const struct kc_device *device, int on_device, uint64_t rate, uint64_t bytes);

/* The rate after one more measured copy; unchanged where it says nothing about the rate. */
uint64_t kc_copy_learn(uint64_t rate, uint64_t bytes, int64_t measured_ns);

#endif
