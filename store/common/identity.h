/*
 * What a launch is called from one run to the next: numbers made of what is
 * recorded of it, the same in every process and in a replay of its rows.
 */
#ifndef KC_IDENTITY_H
#define KC_IDENTITY_H

#include "predictor/solo/forecast.h"

#include <stdint.h>

/* A kernel's code: its mangled name, and what else tells its versions apart. */
struct kc_code_identity {
	const char *mangled;
	uint64_t code_hash; /* 0: not known */
	uint32_t registers, static_shared_bytes;
};

/* Of a launch shape of any version of a kernel. arguments: those that matter, as `launch.arguments`
 * has them, NULL or empty where none is known. */
uint64_t kc_launch_name(const char *mangled, const struct kc_shape *dims, const char *arguments);

/* The same of one version of it on one device, never 0. device: its UUID or other name. */
uint64_t kc_launch_identity(uint64_t launch_name, const struct kc_code_identity *code, const char *device);

#endif
