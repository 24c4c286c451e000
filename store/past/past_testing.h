/* For tests of what a program begins with: a GPU, and a small program that learns on it. */
#ifndef KC_PAST_TESTING_H
#define KC_PAST_TESTING_H

#include "a100_testing.h"
#include "past.h"
#include "predictor/concurrency/overlap.h"
#include "snapshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OWN "0a000000000000000000000000000000"
#define OTHER "0b000000000000000000000000000000"

/* Launch shape 0 with two sets of arguments, and shape 1, both of one block shape; their arguments, NULL: not known. */
enum { PROGRAM_SHAPES = 2, PROGRAM_VARIANTS = 3 };
static const struct kc_shape program_dims[PROGRAM_SHAPES] = {{.grid = {64, 1, 1}, .block = {256, 1, 1}},
							     {.grid = {900, 1, 1}, .block = {256, 1, 1}}};
static const char *const program_arguments[PROGRAM_VARIANTS] = {"p0 = 5", "p0 = 6", NULL};
static const uint32_t program_shape[PROGRAM_VARIANTS] = {0, 0, 1};

struct program {
	struct kc_engine engine;
	struct kc_device info;
	struct kc_code_identity code;
	const char *uuid;
	struct kc_engine_device device;
	struct kc_engine_kernel kernel;
	struct kc_engine_key key;
	struct kc_arguments_fit fit;
	_Atomic uint32_t shapes[PROGRAM_SHAPES];
	struct kc_engine_variant variants[PROGRAM_VARIANTS];
	struct kc_timeline *timeline;
	struct kc_history history;
	int64_t now_ns;
};

static inline struct kc_past_query program_query(const struct program *p, uint32_t variant)
{
	return (struct kc_past_query){
	    .code = p->code,
	    .uuid = p->uuid,
	    .device = &p->info,
	    .dims = &program_dims[program_shape[variant]],
	    .arguments = program_arguments[variant],
	};
}

static inline void *program_memory(size_t bytes, void *program)
{
	assert_int_equal(bytes, sizeof(struct kc_arguments_fit));
	return &((struct program *)program)->fit;
}

/* counts: of all launches; NULL: the code was not read. */
static inline void program_meet(struct program *p, uint32_t i, const struct kc_beginning *from,
				const struct kc_counts *counts)
{
	static const struct kc_resources resources = {.registers = 32, .max_threads_per_block = 1024};
	const struct kc_past_query query = program_query(p, i);
	struct kc_engine_variant *variant = &p->variants[i];
	uint64_t name = kc_launch_name(p->code.mangled, query.dims, query.arguments);

	kc_past_recall_shape(from, &query, &p->shapes[program_shape[i]]);
	assert_int_equal(
	    kc_engine_variant_init(variant, &p->key, &p->shapes[program_shape[i]], &resources, query.dims, 8), 0);
	if (counts)
		assert_int_equal(kc_engine_variant_count(variant, counts), 0);
	kc_engine_variant_name(variant, (struct kc_name){kc_launch_identity(name, &p->code, p->uuid), 0});
	kc_past_make_variant(from, &query, program_memory, p, variant);
}

static inline struct program *program_new(const struct kc_beginning *from, const char *uuid, uint64_t code_hash,
					  const struct kc_counts *counts)
{
	struct program *p = calloc(1, sizeof(*p));
	struct kc_past_query query;

	assert_non_null(p);
	p->info = a100;
	p->code = (struct kc_code_identity){.mangled = "_Z1kv", .code_hash = code_hash, .registers = 32};
	p->uuid = uuid;
	p->engine.cells = calloc(1, kc_cells_bytes());
	p->timeline = calloc(1, kc_timeline_size());
	assert_true(p->engine.cells && p->timeline);
	kc_cells_init(p->engine.cells);
	kc_past_recall_cells(from, p->engine.cells);
	kc_timeline_init(p->timeline, &p->info);
	kc_history_init(&p->history, 0);
	kc_engine_device_init(&p->engine, &p->device, &p->info);
	kc_past_recall_device(from, uuid, &p->engine, &p->device);
	kc_past_make_kernel(from, &p->code, uuid, &p->device, &p->kernel);
	query = program_query(p, 0);
	kc_past_make_key(from, &query, &p->kernel, &p->key);
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++)
		program_meet(p, i, from, counts);
	return p;
}

static inline void program_free(struct program *p)
{
	free(p->engine.cells);
	free(p->timeline);
	free(p);
}

/* One launch; every third one ran beside another. */
static inline void program_launch(struct program *p, uint32_t i, int64_t ns)
{
	const struct kc_engine_stage stage = {.timeline = p->timeline, .history = &p->history};
	const struct kc_load met = {{0.2f, 0.1f, 0}};
	int overlapped = p->now_ns / 500000 % 3 == 2;
	struct kc_prediction_request request;
	struct kc_prediction prediction;
	struct kc_engine_launch launch;

	p->now_ns += 500000;
	kc_engine_ask(&p->engine, &p->variants[i], NULL, &request);
	kc_engine_predict(&request, &stage, 0, p->now_ns, &prediction, &launch);
	kc_engine_measured(&p->engine, &p->variants[i], &launch, ns);
	kc_engine_event(&p->engine);
	kc_engine_decided(&p->engine, &p->variants[i], &launch, overlapped ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE, &met,
			  ns);
	kc_engine_event(&p->engine);
	kc_engine_copy_measured(&p->device, 1, 1 << 20, ns);
}

/* ns of the i-th variant: 20 µs, 25 and 30, give or take a tenth. */
static inline void program_run(struct program *p, uint32_t launches)
{
	uint32_t noise = 1;

	for (uint32_t n = 0; n < launches; n++) {
		uint32_t i = n * 7 / 3 % PROGRAM_VARIANTS;

		noise = noise * 1664525u + 1013904223u;
		program_launch(p, i, 20000 + 5000 * i + noise % 4001 - 2000);
	}
}

static inline void program_add(const struct program *p, struct kc_snapshot_maker *maker)
{
	assert_non_null(maker);
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++) {
		const struct kc_past_query query = program_query(p, i);
		const struct kc_snapshot_entry entry = {
		    .code = p->code,
		    .uuid = p->uuid,
		    .dims = query.dims,
		    .name = kc_launch_name(p->code.mangled, query.dims, query.arguments),
		    .variant = &p->variants[i],
		};

		if (p->variants[i].learned.measured)
			assert_int_equal(kc_snapshot_add(maker, &entry), 0);
	}
}

static inline void program_keep(const struct program *p, const struct kc_snapshot *before, void **bytes, size_t *size)
{
	struct kc_snapshot_maker *maker = kc_snapshot_begin();

	program_add(p, maker);
	assert_int_equal(kc_snapshot_end(maker, before, p->engine.cells, bytes, size), 0);
}

#endif
