/* For fuzz targets of what a program begins with: a kernel's first launch, as it is then predicted. */
#ifndef KC_FIRST_LAUNCH_FUZZING_H
#define KC_FIRST_LAUNCH_FUZZING_H

#include "past.h"
#include "store/common/fuzzing.h"

#include <string.h>

/* query->dims is set here. */
static void kc_fuzz_first_launch(const struct kc_beginning *from, struct kc_past_query *query)
{
	static const struct kc_shape dims = {.grid = {64, 1, 1}, .block = {256, 1, 1}};
	static const struct kc_resources resources = {.registers = 32, .max_threads_per_block = 1024};
	static struct kc_engine engine;
	static struct kc_engine_device device;
	static struct kc_engine_kernel kernel;
	static struct kc_engine_key key;
	static struct kc_engine_shape shape;
	static struct kc_engine_variant variant;
	struct kc_prediction_request prospect;

	query->dims = &dims;
	memset(&engine, 0, sizeof(engine));
	memset(&shape, 0, sizeof(shape));
	kc_engine_device_init(&engine, &device, query->device);
	kc_past_recall_device(from, query->uuid, &engine, &device);
	kc_engine_kernel_init(&kernel, &device, query->code.mangled);
	kc_past_recall_kernel(from, &query->code, query->uuid, &kernel);
	kc_engine_key_init(&key, &kernel);
	kc_past_recall_key(from, query, &key);
	kc_past_recall_shape(from, query, &shape);
	KC_FUZZ_MUST(kc_engine_variant_init(&variant, &key, &shape, &resources, &dims, 8) == 0);
	kc_past_recall_variant(from, query, &variant);
	kc_engine_ask(&engine, &variant, NULL, &prospect);
	KC_FUZZ_MUST(prospect.solo.ns > 0);
}

#endif
