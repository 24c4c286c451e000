/*
 * Cubins that ptxas makes of cuda_tests/code/containers.cu and instructions.ptx
 * have what these sources say.
 */
#include "cubin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_BYTES ((size_t)4 << 20)

struct file {
	char *bytes;
	size_t length;
};

static struct file load(const char *name)
{
	char path[4096];
	struct file file = {0};
	FILE *stream;

	snprintf(path, sizeof(path), "%s/%s", KC_CODE_MODULES, name);
	stream = fopen(path, "rb");
	assert_non_null(stream);
	fseek(stream, 0, SEEK_END);
	file.length = (size_t)ftell(stream);
	rewind(stream);
	file.bytes = malloc(file.length);
	assert_non_null(file.bytes);
	assert_int_equal(fread(file.bytes, 1, file.length, stream), file.length);
	fclose(stream);
	return file;
}

static struct kc_cubin read_cubin(const char *name)
{
	struct file file = load(name);
	struct kc_cubin cubin;
	struct kc_refusal refusal;

	assert_int_equal(kc_cubin_read(&cubin, file.bytes, file.length, MEMORY_BYTES, &refusal), 0);
	free(file.bytes);
	return cubin;
}

/* NULL: there is none of that name. */
static const struct kc_cubin_kernel *find_kernel(const struct kc_cubin *cubin, const char *name)
{
	for (uint32_t i = 0; i < cubin->kernel_count; i++)
		if (!strcmp(cubin->kernels[i].name, name))
			return &cubin->kernels[i];
	return NULL;
}

static void assert_params(const struct kc_cubin_kernel *kernel, const struct kc_cubin_param *expected, uint32_t count)
{
	assert_int_equal(kernel->param_count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(kernel->params[i].offset_bytes, expected[i].offset_bytes);
		assert_int_equal(kernel->params[i].bytes, expected[i].bytes);
	}
}

static void test_kernels(void **state)
{
	static const struct kc_cubin_param of_saxpy[] = {{0, 4}, {4, 4}, {8, 8}, {16, 8}};
	static const struct kc_cubin_param of_tile[] = {{0, 8}, {8, 8}, {16, 1}, {24, 8}};
	struct kc_cubin cubin = read_cubin("plain.cubin");
	const struct kc_cubin_kernel *saxpy = find_kernel(&cubin, "_Z5saxpyifPKfPf");
	const struct kc_cubin_kernel *tile = find_kernel(&cubin, "_Z4tilePKfPfcd");

	(void)state;
	assert_int_equal(cubin.sm, 90);
	assert_false(cubin.relocatable);
	assert_int_equal(cubin.kernel_count, 2);
	assert_non_null(saxpy);
	assert_non_null(tile);
	assert_null(find_kernel(&cubin, "saxpy"));
	assert_params(saxpy, of_saxpy, 4);
	assert_params(tile, of_tile, 4);
	assert_int_equal(saxpy->static_shared_bytes, 0);
	assert_int_equal(tile->static_shared_bytes, 1024);
	assert_int_equal(tile->max_threads[0], 256);
	assert_int_equal(tile->max_threads[1], 1);
	assert_int_equal(saxpy->max_threads[0], 0);
	assert_in_range(saxpy->registers, 8, 40);
	assert_in_range(tile->registers, 8, 40);
	assert_int_equal(tile->local_bytes, 0);
	assert_true(saxpy->sass.has_loop);
	assert_int_equal(saxpy->sass.reach, KC_SASS_STATIC);
	assert_int_equal(tile->sass.reach, KC_SASS_EXACT);
	assert_int_equal(tile->sass.of[KC_SASS_BARRIERS], 1);
	kc_cubin_free(&cubin);
}

/* Relocatable, so without the system's shared memory. 128 rows of 33 floats are more bytes than the file has. */
static void test_relocatable(void **state)
{
	struct kc_cubin cubin = read_cubin("relocatable.cubin");
	const struct kc_cubin_kernel *kernel = find_kernel(&cubin, "_Z12max_subarrayPKfPfi");

	(void)state;
	assert_true(cubin.relocatable);
	assert_non_null(kernel);
	assert_int_equal(kernel->static_shared_bytes, 128 * 33 * 4);
	kc_cubin_free(&cubin);
}

/* Kernels of instructions.ptx, as their comments there have them. */
static const struct expected {
	const char *kernel;
	uint32_t class_number, count;
} expected[] = {
    {"fma3", KC_SASS_LD_GLOBAL, 4},
    {"fma3", KC_SASS_FMA, 3},
    {"fma3", KC_SASS_ST_GLOBAL, 1},
    {"fma3", KC_SASS_ADD, 0},
    {"fma3", KC_SASS_HALF, 0},
    {"add2_mul3", KC_SASS_LD_GLOBAL, 2},
    {"add2_mul3", KC_SASS_ADD, 2},
    {"add2_mul3", KC_SASS_MUL, 3},
    {"add2_mul3", KC_SASS_FMA, 0},
    {"doubles", KC_SASS_FMA, 2},
    {"doubles", KC_SASS_ADD, 1},
    {"doubles", KC_SASS_MUL, 1},
    {"doubles", KC_SASS_DOUBLE, 4},
    {"doubles", KC_SASS_LD_GLOBAL, 2},
    {"halves", KC_SASS_HALF, 3},
    {"halves", KC_SASS_DOUBLE, 0},
    {"shared_barrier", KC_SASS_LD_SHARED, 1},
    {"shared_barrier", KC_SASS_ST_SHARED, 1},
    {"shared_barrier", KC_SASS_BARRIERS, 1},
    {"shared_barrier", KC_SASS_ST_GLOBAL, 1},
    {"locals", KC_SASS_LD_LOCAL, 1},
    {"locals", KC_SASS_ST_LOCAL, 1},
    {"atomics", KC_SASS_ATOMICS, 4},
    {"atomics", KC_SASS_ATOMICS_SHARED, 1},
    {"atomics", KC_SASS_FMA, 0},
    {"specials", KC_SASS_SPECIAL, 2},
    {"specials", KC_SASS_CONVERT, 1},
    {"tensor", KC_SASS_TENSOR, 1},
    {"tensor", KC_SASS_LD_GLOBAL, 4},
    {"generic", KC_SASS_LD_GENERIC, 1},
    {"generic", KC_SASS_ST_GENERIC, 1},
    {"guarded", KC_SASS_ST_GLOBAL, 1},
    {"loop", KC_SASS_LD_GLOBAL, 1},
};

static const struct {
	const char *kernel;
	uint8_t reach, has_loop, has_call;
} reaches[] = {
    {"fma3", KC_SASS_EXACT, 0, 0},      {"atomics", KC_SASS_EXACT, 0, 0}, {"shared_barrier", KC_SASS_EXACT, 0, 0},
    {"guarded", KC_SASS_AT_MOST, 0, 0}, {"loop", KC_SASS_STATIC, 1, 0},   {"call", KC_SASS_STATIC, 0, 1},
};

static void test_instructions(void **state)
{
	static const uint32_t architectures[] = {75, 80, 89, 90, 100, 120};
	char name[64];

	(void)state;
	for (size_t a = 0; a < sizeof(architectures) / sizeof(architectures[0]); a++) {
		struct kc_cubin cubin;
		const struct kc_cubin_kernel *kernel;

		snprintf(name, sizeof(name), "instructions_%u.cubin", architectures[a]);
		cubin = read_cubin(name);
		assert_int_equal(cubin.sm, architectures[a]);
		for (uint32_t i = 0; i < cubin.kernel_count; i++) {
			assert_true(cubin.kernels[i].sass.known);
			assert_int_equal(cubin.kernels[i].sass.of[KC_SASS_UNKNOWN], 0);
		}
		for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
			kernel = find_kernel(&cubin, expected[i].kernel);
			assert_non_null(kernel);
			if (kernel->sass.of[expected[i].class_number] != expected[i].count)
				fail_msg("sm_%u, %s: %s %u, expected %u", cubin.sm, kernel->name,
					 kc_sass_class_name(expected[i].class_number),
					 kernel->sass.of[expected[i].class_number], expected[i].count);
		}
		for (size_t i = 0; i < sizeof(reaches) / sizeof(reaches[0]); i++) {
			kernel = find_kernel(&cubin, reaches[i].kernel);
			assert_non_null(kernel);
			assert_int_equal(kernel->sass.reach, reaches[i].reach);
			assert_int_equal(kernel->sass.has_loop, reaches[i].has_loop);
			assert_int_equal(kernel->sass.has_call, reaches[i].has_call);
		}
		kc_cubin_free(&cubin);
	}
}

/* --- bytes cut off and changed */

static void read_copy(const char *bytes, size_t length)
{
	char *copy = malloc(length ? length : 1);
	struct kc_refusal refusal = {.offset = SIZE_MAX};
	struct kc_cubin cubin;
	int result;

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	result = kc_cubin_read(&cubin, copy, length, MEMORY_BYTES, &refusal);
	free(copy);
	if (!result) {
		for (uint32_t i = 0; i < cubin.kernel_count; i++)
			assert_non_null(cubin.kernels[i].name);
		kc_cubin_free(&cubin);
		return;
	}
	assert_true(result == -EBADMSG || result == -ENOMEM);
	assert_true(refusal.offset <= length);
	assert_true(refusal.reason[0]);
}

static void test_every_truncation(void **state)
{
	static const char *const names[] = {"plain.cubin", "instructions_75.cubin", "instructions_120.cubin"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct file file = load(names[i]);

		for (size_t length = 0; length < file.length; length += 1 + file.length / 8000)
			read_copy(file.bytes, length);
		free(file.bytes);
	}
}

static void test_every_byte_changed(void **state)
{
	static const unsigned char changes[] = {0xff, 0x01, 0x80};
	struct file file = load("plain.cubin");

	(void)state;
	for (size_t at = 0; at < file.length; at++)
		for (size_t c = 0; c < sizeof(changes); c++) {
			file.bytes[at] ^= (char)changes[c];
			read_copy(file.bytes, file.length);
			file.bytes[at] ^= (char)changes[c];
		}
	free(file.bytes);
}

static void test_refusals(void **state)
{
	struct file file = load("plain.cubin");
	struct kc_refusal refusal;
	struct kc_cubin cubin;

	(void)state;
	assert_int_equal(kc_cubin_read(&cubin, file.bytes, file.length, 64, &refusal), -ENOMEM);
	assert_int_equal(kc_cubin_read(&cubin, file.bytes, 60, MEMORY_BYTES, &refusal), -EBADMSG);
	file.bytes[18] = 62; /* e_machine: x86-64 */
	assert_int_equal(kc_cubin_read(&cubin, file.bytes, file.length, MEMORY_BYTES, &refusal), -EBADMSG);
	assert_int_equal(refusal.offset, 18);
	assert_non_null(strstr(refusal.reason, "machine 62"));
	free(file.bytes);
}

/* A future architecture may use a number for another instruction: none is counted. */
static void test_architecture_not_known(void **state)
{
	struct file file = load("plain.cubin");
	struct kc_refusal refusal;
	struct kc_cubin cubin;

	(void)state;
	file.bytes[49] = (char)130; /* e_flags: sm_130 */
	assert_int_equal(kc_cubin_read(&cubin, file.bytes, file.length, MEMORY_BYTES, &refusal), 0);
	assert_int_equal(cubin.sm, 130);
	assert_int_equal(cubin.kernel_count, 2);
	assert_false(cubin.kernels[0].sass.known);
	assert_int_equal(cubin.kernels[0].sass.instructions, 0);
	kc_cubin_free(&cubin);
	free(file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_relocatable),
	    cmocka_unit_test(test_kernels),
	    cmocka_unit_test(test_instructions),
	    cmocka_unit_test(test_every_truncation),
	    cmocka_unit_test(test_every_byte_changed),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_architecture_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
