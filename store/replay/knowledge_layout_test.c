/* What was gathered, in the order and the room of a file. */
#include "knowledge_layout.h"
#include "store/common/identity.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS = 70000 };
static const struct kc_shape none;

static struct kc_knowledge_made *begin(int anonymous)
{
	struct kc_knowledge_made *made = kc_knowledge_made_new(anonymous);

	assert_non_null(made);
	made->devices = (struct kc__made_rows){calloc(1, sizeof(struct kc_knowledge_device)), 1, 1};
	assert_non_null(made->devices.at);
	*(struct kc_knowledge_device *)made->devices.at =
	    (struct kc_knowledge_device){.name = "GPU",
					 .cc_major = 8,
					 .sm_count = 108,
					 .cores_per_sm = 64,
					 .clock_khz = 1410000,
					 .memory_bytes_per_s = 1555000000000};
	made->kernels.at = calloc(1000, sizeof(struct kc__made_kernel));
	made->entries.at = calloc(ROWS, sizeof(struct kc__made_entry));
	made->given.at = calloc(10, sizeof(struct kc__made_given));
	assert_true(made->kernels.at && made->entries.at && made->given.at);
	return made;
}

static uint32_t put_kernel(struct kc_knowledge_made *made, const char *mangled, uint64_t code_hash)
{
	uint32_t place = made->kernels.count++;
	struct kc__made_kernel *kernel = (struct kc__made_kernel *)made->kernels.at + place;

	kernel->row = (struct kc_knowledge_kernel){
	    .name = kc_launch_name(mangled, &none, NULL), .code_hash = code_hash, .registers = 32, .measured = 1};
	kernel->place = place;
	kernel->mangled = strdup(mangled);
	return place;
}

/* Its number of measurements tells it from others. */
static uint32_t put_entry(struct kc_knowledge_made *made, uint64_t name, uint32_t kernel, int whole, uint32_t count)
{
	const uint64_t key[] = {name, kernel};
	struct kc__made_entry *entry = (struct kc__made_entry *)made->entries.at + made->entries.count++;

	entry->row = (struct kc_knowledge_entry){.name = name,
						 .kernel = kernel,
						 .whole = whole != 0,
						 .unit_ns = 2000,
						 .launch_ns = 750,
						 .lambda = {.variance = 1, .weight = 1, .count = count}};
	assert_int_equal(kc_intern(&made->entry_names, 0, key, sizeof(key)), made->entries.count);
	return made->entries.count - 1;
}

static uint64_t name_of(const char *mangled, uint32_t grid, const char *arguments)
{
	const struct kc_shape shape = {.grid = {grid, 1, 1}, .block = {256, 1, 1}};

	return kc_launch_name(mangled, &shape, arguments);
}

/* The file; to be freed with its head. */
static struct kc_knowledge end(struct kc_knowledge_made *made, struct kc_knowledge_left_out *left_out)
{
	struct kc_knowledge knowledge;
	char why[200] = "";
	void *bytes;
	size_t length;

	assert_int_equal(kc_knowledge_made_bytes(made, &bytes, &length, left_out), 0);
	assert_int_equal(kc_knowledge_check(bytes, length, &knowledge, why, sizeof(why)), 0);
	assert_true(length <= KC_KNOWLEDGE_BYTES_MAX);
	kc_knowledge_made_free(made);
	return knowledge;
}

static const struct kc_knowledge_entry *entry_named(const struct kc_knowledge *k, uint64_t name)
{
	for (uint32_t i = 0; i < k->head->entry_count; i++)
		if (k->entries[i].name == name)
			return &k->entries[i];
	return NULL;
}

static void each_entry_stays_with_its_kernel(void **state)
{
	static const char *const names[] = {"_Z1av", "_Z1bv", "_Z1cv", "_Z1dv", "_Z1ev", "_Z1fv"};
	enum { KERNELS = sizeof(names) / sizeof(names[0]) };

	(void)state;
	for (int anonymous = 0; anonymous < 2; anonymous++) {
		struct kc_knowledge_made *made = begin(anonymous);
		struct kc_knowledge_left_out left_out;
		struct kc_knowledge k;

		for (uint32_t i = 0; i < KERNELS; i++) {
			struct kc__made_kernel *kernels = made->kernels.at;
			uint32_t kernel = put_kernel(made, names[i], 7);

			kernels[kernel].sizes.count = 1;
			kernels[kernel].sizes.points[0] =
			    (struct kc_scaling_point){{0.1f, 9.7f, {4.2f, 0, 0}, 8.1f}, (float)i, 20};
			put_entry(made, name_of(names[i], 64, NULL), kernel, 1, 10 + i);
			put_entry(made, name_of(names[i], 0, NULL), kernel, 0, 20 + i);
		}
		k = end(made, &left_out);
		assert_int_equal(left_out.no_room, 0);
		assert_int_equal(k.head->anonymous, anonymous);
		assert_int_equal(k.head->kernel_count, KERNELS);
		assert_int_equal(k.head->entry_count, 2 * KERNELS);
		for (uint32_t i = 0; i < KERNELS; i++) {
			const struct kc_knowledge_entry *entry = entry_named(&k, name_of(names[i], 64, NULL));
			const struct kc_knowledge_kernel *kernel = &k.kernels[entry->kernel];

			assert_int_equal(entry->lambda.count, 10 + i);
			assert_int_equal(kernel->name, kc_launch_name(names[i], &none, NULL));
			assert_int_equal(lroundf(k.points[kernel->first_point].log_ns), i);
			if (anonymous)
				assert_int_equal(kernel->text, 0);
			else
				assert_string_equal(k.text + kernel->text, names[i]);
			assert_int_equal(entry_named(&k, name_of(names[i], 0, NULL))->lambda.count, 20 + i);
		}
		free((void *)k.head);
	}
}

/* 256 of one name: those whose code has the smallest hashes; others are not concerned. */
static void kernels_of_one_name_are_limited(void **state)
{
	struct kc_knowledge_made *made = begin(0);
	struct kc_knowledge_left_out left_out;
	struct kc_knowledge k;
	uint32_t alike = 0;

	(void)state;
	for (uint32_t i = 0; i < 300; i++) {
		put_entry(made, name_of("_Z1kv", i + 1, NULL), put_kernel(made, "_Z1kv", 1000 - i), 1, 1);
		if (i % 3 == 0)
			put_entry(made, name_of("_Z1jv", i + 1, NULL), put_kernel(made, "_Z1jv", i), 1, 1);
	}
	k = end(made, &left_out);
	assert_int_equal(k.head->kernel_count, KC_KNOWLEDGE_ALIKE_MAX + 100);
	assert_int_equal(left_out.no_room, 300 - KC_KNOWLEDGE_ALIKE_MAX);
	for (uint32_t i = 0; i < k.head->kernel_count; i++) {
		if (k.kernels[i].name != kc_launch_name("_Z1kv", &none, NULL))
			continue;
		assert_int_equal(k.kernels[i].code_hash, 701 + alike);
		alike++;
	}
	assert_int_equal(alike, KC_KNOWLEDGE_ALIKE_MAX);
	assert_null(entry_named(&k, name_of("_Z1kv", 1, NULL)));
	assert_int_equal(k.kernels[entry_named(&k, name_of("_Z1kv", 300, NULL))->kernel].code_hash, 701);
	free((void *)k.head);
}

/* Block shapes stay, and of launch shapes those that were measured most. */
static void what_is_used_least_has_no_room(void **state)
{
	enum { BLOCKS = 1000 };
	struct kc_knowledge_made *made = begin(1);
	struct kc_knowledge_left_out left_out;
	struct kc_knowledge k;
	uint32_t kernel = put_kernel(made, "_Z1kv", 7), blocks = 0, least = ROWS, room;

	(void)state;
	for (uint32_t i = 0; i < ROWS - 1; i++)
		put_entry(made, i * UINT64_C(0x9E3779B97F4A7C15), kernel, i >= BLOCKS, 1 + i * 31 % (ROWS - 1));
	k = end(made, &left_out);
	room = (KC_KNOWLEDGE_BYTES_MAX - sizeof(struct kc_knowledge_head) - sizeof(struct kc_knowledge_device) -
		sizeof(struct kc_knowledge_kernel)) /
	       sizeof(struct kc_knowledge_entry);
	assert_int_equal(k.head->entry_count, room);
	assert_int_equal(left_out.no_room, ROWS - 1 - room);
	for (uint32_t i = 0; i < room; i++) {
		blocks += !k.entries[i].whole;
		if (k.entries[i].whole && k.entries[i].lambda.count < least)
			least = k.entries[i].lambda.count;
	}
	assert_int_equal(blocks, BLOCKS);
	for (uint32_t i = BLOCKS; i < ROWS - 1; i++)
		room -= 1 + i * 31 % (ROWS - 1) >= least;
	assert_int_equal(room, BLOCKS); /* all with so many measurements are there */
	free((void *)k.head);
}

/* The launch without arguments gets what is known of the only ones; of several, nothing is known. */
static void launches_without_arguments_are_those_with_the_only_ones(void **state)
{
	struct kc_knowledge_made *made = begin(0);
	struct kc__made_given *given = made->given.at;
	struct kc_knowledge_left_out left_out;
	struct kc_knowledge k;
	uint32_t kernel = put_kernel(made, "_Z1kv", 7), one, first;

	(void)state;
	put_entry(made, name_of("_Z1kv", 3, NULL), kernel, 1, 30); /* of another run, which did not tell arguments */
	put_entry(made, name_of("_Z1kv", 4, NULL), kernel, 1, 40);
	one = put_entry(made, name_of("_Z1kv", 1, "p0 = 1"), kernel, 1, 10);
	first = put_entry(made, name_of("_Z1kv", 2, "p0 = 1"), kernel, 1, 20);
	put_entry(made, name_of("_Z1kv", 2, "p0 = 2"), kernel, 1, 21);
	given[0] = (struct kc__made_given){name_of("_Z1kv", 1, NULL), kernel, one, 0};
	given[1] = (struct kc__made_given){name_of("_Z1kv", 2, NULL), kernel, first, 1};
	given[2] = (struct kc__made_given){name_of("_Z1kv", 3, NULL), kernel, one, 0};
	given[3] = (struct kc__made_given){name_of("_Z1kv", 4, NULL), kernel, first, 1};
	made->given.count = 4;
	k = end(made, &left_out);
	assert_int_equal(k.head->entry_count, 5);
	assert_int_equal(entry_named(&k, name_of("_Z1kv", 1, NULL))->lambda.count, 10);
	assert_int_equal(entry_named(&k, name_of("_Z1kv", 1, "p0 = 1"))->lambda.count, 10);
	assert_null(entry_named(&k, name_of("_Z1kv", 2, NULL)));
	assert_int_equal(entry_named(&k, name_of("_Z1kv", 2, "p0 = 2"))->lambda.count, 21);
	assert_int_equal(entry_named(&k, name_of("_Z1kv", 3, NULL))->lambda.count, 10);
	assert_null(entry_named(&k, name_of("_Z1kv", 4, NULL)));
	free((void *)k.head);
}

static void nothing_and_too_much_are_no_file(void **state)
{
	struct kc_knowledge_made *made = begin(0);
	struct kc_knowledge_left_out left_out;
	char *name = calloc(1, KC_KNOWLEDGE_BYTES_MAX + 1);
	void *bytes;
	size_t length;

	(void)state;
	assert_non_null(name);
	assert_int_equal(kc_knowledge_made_bytes(made, &bytes, &length, &left_out), -ENODATA);
	memset(name, 'k', KC_KNOWLEDGE_BYTES_MAX);
	put_entry(made, 1, put_kernel(made, name, 7), 1, 1);
	assert_int_equal(kc_knowledge_made_bytes(made, &bytes, &length, &left_out), -EFBIG);
	assert_null(bytes);
	kc_knowledge_made_free(made);
	free(name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_entry_stays_with_its_kernel),
	    cmocka_unit_test(kernels_of_one_name_are_limited),
	    cmocka_unit_test(what_is_used_least_has_no_room),
	    cmocka_unit_test(launches_without_arguments_are_those_with_the_only_ones),
	    cmocka_unit_test(nothing_and_too_much_are_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
