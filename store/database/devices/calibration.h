/*
 * What `kerncast calibrate` has measured of devices, for a program that is about
 * to predict on one. The newest calibration of a device is used.
 */
#ifndef KC_CALIBRATION_H
#define KC_CALIBRATION_H

#include "predictor/device/device.h"

#include <stdint.h>

struct sqlite3;

/* A device by its name as the driver reports it, and by its UUID where that is known. The name of a built-in device
 * stands for all real devices of that kind. */
struct kc_calibrated {
	const char *name;
	const uint8_t *uuid; /* KC_UUID_BYTES; NULL: any of that name */
};

/* 1: found; 0: there is none; or negative errno. */
int kc_calibration_find(struct sqlite3 *db, const struct kc_calibrated *device, struct kc_calibration *out);

#endif
