/*
 * What a trace of the PyTorch profiler tells outside of its events: the devices
 * (deviceProperties), and which process of a job it is of (distributedInfo).
 *
 *   kc_import_about   the process, and the device that is being read; starts as zeros
 */
#ifndef KC_IMPORT_ABOUT_H
#define KC_IMPORT_ABOUT_H

#include "importer.h"

#include <stddef.h>
#include <stdint.h>

struct kc_import_about {
	char rank[64];       /* "rank 3"; "": not known */
	uint32_t world_size; /* 0: not known */
	int64_t device_id;   /* -1: not known */
	struct kc_trace_device device;
	const char *device_key; /* of kc_device_set() */
	int is_id, is_rank, is_world_size;
};

void kc_import_about_begin_device(struct kc_import_about *about);
/* A key of the device, or of distributedInfo, and the value that follows. */
void kc_import_about_device_key(struct kc_import_about *about, const char *at, size_t bytes);
void kc_import_about_device(struct kc_import_about *about, const char *at, size_t bytes);
void kc_import_about_process_key(struct kc_import_about *about, const char *at, size_t bytes);
void kc_import_about_process(struct kc_import_about *about, const char *at, size_t bytes);

#endif
