/* For fuzz targets of what a program begins with: a kernel's first launch, as it is then predicted. */
#ifndef KC_FIRST_LAUNCH_FUZZING_H
#define KC_FIRST_LAUNCH_FUZZING_H

#include "past.h"
#include "cuda_tests/fuzz/fuzzing.h"

#include <stdlib.h>
#include <string.h>

struct kc_fuzz_launch {
	struct kc_engine engine;
	struct kc_engine_device device;
	struct kc_engine_kernel kernel;
	struct kc_engine_key key;
	struct kc_arguments_fit fit;
	_Atomic uint32_t shape;
	struct kc_engine_variant variant;
};

static inline void *kc_fuzz_memory(size_t bytes, void *launch)
{
	KC_FUZZ_MUST(bytes == sizeof(struct kc_arguments_fit));
	return &((struct kc_fuzz_launch *)launch)->fit;
}

/* query->dims is set here. What is returned holds until the next call. */
static inline struct kc_fuzz_launch *kc_fuzz_first_launch(const struct kc_beginning *from, struct kc_past_query *query)
{
	static const struct kc_shape dims = {.grid = {64, 1, 1}, .block = {256, 1, 1}};
	static const struct kc_resources resources = {.registers = 32, .max_threads_per_block = 1024};
	static struct kc_fuzz_launch l;
	struct kc_cells *cells = l.engine.cells;
	struct kc_prediction_request prospect;

	query->dims = &dims;
	cells = cells ? memset(cells, 0, kc_cells_bytes()) : calloc(1, kc_cells_bytes());
	KC_FUZZ_MUST(cells);
	kc_cells_init(cells);
	memset(&l, 0, sizeof(l));
	l.engine.cells = cells;
	kc_past_recall_cells(from, cells);
	kc_engine_device_init(&l.engine, &l.device, query->device);
	kc_past_recall_device(from, query->uuid, &l.engine, &l.device);
	kc_past_make_kernel(from, &query->code, query->uuid, &l.device, &l.kernel);
	kc_past_make_key(from, query, &l.kernel, &l.key);
	kc_past_recall_shape(from, query, &l.shape);
	KC_FUZZ_MUST(kc_engine_variant_init(&l.variant, &l.key, &l.shape, &resources, &dims, 8) == 0);
	kc_engine_variant_name(&l.variant, (struct kc_name){1, 1});
	kc_past_make_variant(from, query, kc_fuzz_memory, &l, &l.variant);
	kc_engine_ask(&l.engine, &l.variant, NULL, &prospect);
	KC_FUZZ_MUST(prospect.solo.ns > 0);
	return &l;
}

#endif
