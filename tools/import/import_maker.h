/*
 * Whose GPUs a trace of the PyTorch profiler is of. Other makers' have the
 * categories and the fields of NVIDIA's, with other meanings: AMD's compute
 * capability 9.4 is no Hopper, and ROCm counts processors as devices, so that
 * kernels run on ordinals past those of deviceProperties.
 *
 *   kc_import_maker   what the trace said so far; starts as zeros
 */
#ifndef KC_IMPORT_MAKER_H
#define KC_IMPORT_MAKER_H

#include "importer.h"

#include "predictor/device/device.h"

#include <stddef.h>
#include <stdint.h>

#define KC_MAKER_ORDINALS 256u

struct kc_import_maker {
	const char
	    *unnamed;     /* what to call a GPU of the maker that calls were seen of; NULL: NVIDIA, as far as known */
	int is_unordered; /* its queues run operations side by side */
	char name[96];    /* of the first GPU of another maker that the trace describes */
	uint8_t described[KC_MAKER_ORDINALS], used[KC_MAKER_ORDINALS];
};

/* Whether a category is of calls: cuda_runtime, cuda_driver, and other makers' alike (xpu_runtime, privateuse1_driver).
 */
int kc_import_maker_is_call(const char *category, size_t bytes);
/* A call of a runtime or driver, or its category ("xpu_runtime"). */
void kc_import_maker_call(struct kc_import_maker *maker, const char *text, size_t bytes);
/* A device of deviceProperties. Takes away what does not mean what it would of NVIDIA's. */
void kc_import_maker_device(struct kc_import_maker *maker, int64_t ordinal, struct kc_device *device);
/* An operation ran on it. */
void kc_import_maker_used(struct kc_import_maker *maker, int64_t ordinal);

/* What the GPUs are called that are not NVIDIA's; NULL: all are, as far as known. */
const char *kc_import_maker_name(const struct kc_import_maker *maker);
/* The next ordinal from `ordinal` on that operations ran on and whose device is not described; < 0: none. */
int64_t kc_import_maker_missing(const struct kc_import_maker *maker, int64_t ordinal);
/* Names GPUs of another maker to the importer, those that deviceProperties does not describe, too, and says so. 1; 0:
 * they are NVIDIA's. */
int kc_import_maker_tell(const struct kc_import_maker *maker, struct kc_importer *importer, const char *path);

#endif
