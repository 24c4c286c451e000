/*
 * What predicting and measuring need here, one struct kc_check each. A
 * struct kc_diagnosis collects them; checks.c and probe.c add to it, doctor.c
 * prints it.
 */
#ifndef KC_DOCTOR_H
#define KC_DOCTOR_H

#include "predictor/device/device.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum kc_level { KC_LEVEL_OK, KC_LEVEL_WARNING, KC_LEVEL_PROBLEM };

struct kc_check {
	enum kc_level level;
	char name[24];
	char text[512];
	char cure[256]; /* "": there is nothing to do */
};

#define KC_CHECKS 40u
#define KC_PROBE_DEVICES 8u

struct kc_diagnosis {
	struct kc_check checks[KC_CHECKS];
	size_t count;
	int driver_version; /* as cuDriverGetVersion reports it; 0: unknown */
	int device_count;
	int simulated;
	char devices[KC_PROBE_DEVICES][96];
};

void kc_check_add(struct kc_diagnosis *d, enum kc_level level, const char *name, const char *cure, const char *format,
		  ...) __attribute__((format(printf, 5, 6)));

/* checks.c: the environment, and the place of the database */
void kc_check_environment(struct kc_diagnosis *d);
void kc_check_database(struct kc_diagnosis *d);
void kc_check_program(struct kc_diagnosis *d, const char *command);

/* probe.c: each runs in a process of its own, since a driver may crash or hang */
void kc_check_preload(struct kc_diagnosis *d);
void kc_check_driver(struct kc_diagnosis *d);
void kc_check_cupti(struct kc_diagnosis *d); /* to be called after the driver's check */

/* trial.c: runs a small program under the library; to be called after the driver's check */
void kc_check_trial(struct kc_diagnosis *d);

/* 1: libkerncast.so is loaded in this process (what kc_check_preload()'s child asks itself). */
int kc_is_preloaded(void);

#endif
