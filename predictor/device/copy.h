/*
 * How long copies and memsets take: a latency and a rate, which is learned for
 * each kind and device from measured ones.
 */
#ifndef KC_COPY_H
#define KC_COPY_H

#include "device.h"

#include <stdint.h>

enum kc_copy_route {
	KC_ROUTE_TO_DEVICE,
	KC_ROUTE_TO_HOST,
	KC_ROUTE_ON_DEVICE, /* copies within it, memsets */
	KC_ROUTE_OTHER,     /* from device to device, or not known */
};

/* rate: as learned, ns per MiB; 0: nothing was learned. Returns ns. */
int64_t kc_copy_ns(const struct kc_device *device, enum kc_copy_route route, uint64_t rate, uint64_t bytes);

/* The rate after one more measured copy; unchanged if the copy says nothing about it. */
uint64_t kc_copy_learn(uint64_t rate, uint64_t bytes, int64_t measured_ns);

#endif
