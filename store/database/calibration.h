/*
 * What `kerncast calibrate` has kept of devices, for whoever is about to
 * predict on one. The newest counts.
 */
#ifndef KC_CALIBRATION_H
#define KC_CALIBRATION_H

#include "predictor/device/device.h"

#include <stdint.h>

struct sqlite3;

/* Which device: by its name as the driver reports it, and by its own identity where that is known. A built-in
 * device's name stands for all real ones that it means. */
struct kc_calibrated {
	const char *name;
	const uint8_t *uuid; /* KC_UUID_BYTES; NULL: any of that name */
};

/* 1: found; 0: there is none; or negative errno. */
int kc_calibration_find(struct sqlite3 *db, const struct kc_calibrated *device, struct kc_calibration *out);

/* A connection that only reads, for a program that is just starting: it waits
 * for nobody and leaves the file as it is. NULL: no file, or one it cannot read. */
struct sqlite3 *kc_calibration_open(const char *path);
void kc_calibration_close(struct sqlite3 *db);

#endif
