/* For tests of files of knowledge: one that is made by hand, and a launch that is met with it. */
#ifndef KC_KNOWLEDGE_TESTING_H
#define KC_KNOWLEDGE_TESTING_H

#include "knowledge.h"
#include "past_testing.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NAME "_Z1kv"

static const struct kc_shape block = {.block = {256, 1, 1}};
static const struct kc_shape none;

/* A file with one kernel on one GPU, the tables as the header says. */
struct file {
	struct kc_knowledge_head head;
	struct kc_knowledge_device device;
	struct kc_knowledge_kernel kernel;
	struct kc_knowledge_entry entries[2];
	struct kc_scaling_point point;
	char text[sizeof(NAME) + 1];
	char rest[5];
};
#define FILE_BYTES (offsetof(struct file, rest))

static inline void seal(struct file *f)
{
	f->head.checksum = kc_knowledge_checksum(f, FILE_BYTES);
}

static inline struct kc_knowledge_entry entry_of(const struct kc_shape *shape, double log_lambda)
{
	return (struct kc_knowledge_entry){
	    .name = kc_launch_name(NAME, shape, NULL),
	    .whole = shape->grid[0] != 0,
	    .unit_ns = 2000,
	    .launch_ns = 750,
	    .lambda = {.log_value = log_lambda, .variance = 0.0004, .weight = 8, .count = 20, .spread_count = 19},
	};
}

/* In the order of their names. */
static inline void put_entries(struct file *f, struct kc_knowledge_entry a, struct kc_knowledge_entry b)
{
	f->entries[0] = a.name < b.name ? a : b;
	f->entries[1] = a.name < b.name ? b : a;
}

static inline void make(struct file *f)
{
	memset(f, 0, sizeof(*f));
	memcpy(f->head.magic, kc_knowledge_magic, sizeof(f->head.magic));
	f->head.version = KC_KNOWLEDGE_VERSION;
	f->head.bytes = FILE_BYTES;
	f->head.device_count = f->head.kernel_count = f->head.point_count = 1;
	f->head.entry_count = 2;
	f->head.text_bytes = sizeof(f->text);
	f->device = (struct kc_knowledge_device){.name = "NVIDIA A100",
						 .cc_major = 8,
						 .sm_count = 108,
						 .cores_per_sm = 64,
						 .clock_khz = 1410000,
						 .memory_bytes_per_s = 1555000000000,
						 .lambda = {.log_value = 1, .variance = 1, .weight = 2, .count = 3}};
	f->kernel = (struct kc_knowledge_kernel){.name = kc_launch_name(NAME, &none, NULL),
						 .code_hash = 0xABC,
						 .registers = 32,
						 .point_count = 1,
						 .text = 1,
						 .measured = 20};
	put_entries(f, entry_of(&program_dims[0], log(0.5)), entry_of(&block, log(0.25)));
	f->point = (struct kc_scaling_point){{0.1f, 9.7f, {4.2f, 0, 0}, 8.1f}, 8.5f, 20};
	memcpy(f->text + 1, NAME, sizeof(NAME));
	seal(f);
}

static inline int check(const struct file *f, size_t length)
{
	void *bytes = malloc(length + 1);
	struct kc_knowledge knowledge = {0};
	char why[200] = "";
	int rc;

	memcpy(bytes, f, length < sizeof(*f) ? length : sizeof(*f));
	rc = kc_knowledge_check(bytes, length, &knowledge, why, sizeof(why));
	assert_true((rc == 0) == (why[0] == 0));
	free(bytes);
	return rc;
}

/* Each with a checksum that fits. */
#define TAKEN(change)                                                                                                  \
	do {                                                                                                           \
		struct file f;                                                                                         \
		make(&f);                                                                                              \
		change;                                                                                                \
		seal(&f);                                                                                              \
		if (check(&f, FILE_BYTES) != 0)                                                                        \
			fail_msg("refused: %s", #change);                                                              \
	} while (0)

#define REFUSED(change)                                                                                                \
	do {                                                                                                           \
		struct file f;                                                                                         \
		make(&f);                                                                                              \
		change;                                                                                                \
		seal(&f);                                                                                              \
		if (check(&f, FILE_BYTES) != -EBADMSG)                                                                 \
			fail_msg("taken: %s", #change);                                                                \
	} while (0)

static inline struct kc_past_query query_of(const struct kc_device *device, const struct kc_shape *shape)
{
	return (struct kc_past_query){
	    .code = {.mangled = NAME, .code_hash = 0xABC, .registers = 32},
	    .uuid = "0",
	    .device = device,
	    .dims = shape,
	};
}

struct world {
	struct kc_engine engine;
	struct kc_engine_device device;
	struct kc_engine_kernel kernel;
	struct kc_engine_key key;
	_Atomic uint32_t shape;
	struct kc_engine_variant variant;
};

/* A launch as it is met for the first time. */
static inline void meet(struct world *w, const struct kc_knowledge *k, const struct kc_device *info)
{
	static const struct kc_resources resources = {.registers = 32, .max_threads_per_block = 1024};
	const struct kc_beginning from = {.knowledge = k};
	const struct kc_past_query query = query_of(info, &program_dims[0]);

	memset(w, 0, sizeof(*w));
	kc_engine_device_init(&w->engine, &w->device, info);
	kc_past_recall_device(&from, "0", &w->engine, &w->device);
	kc_past_make_kernel(&from, &query.code, "0", &w->device, &w->kernel);
	kc_past_make_key(&from, &query, &w->kernel, &w->key);
	kc_past_recall_shape(&from, &query, &w->shape);
	assert_int_equal(kc_engine_variant_init(&w->variant, &w->key, &w->shape, &resources, &program_dims[0], 8), 0);
	kc_past_make_variant(&from, &query, NULL, NULL, &w->variant);
}

#endif
