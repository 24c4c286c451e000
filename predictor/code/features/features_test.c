/*
 * Cubins and PTX of cuda_tests/code show what their sources say, and differ where
 * these say so.
 */
#include "features.h"

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

static void assert_same(const struct kc_features *a, const struct kc_features *b)
{
	assert_int_equal(a->known, b->known);
	assert_int_equal(a->calls_away, b->calls_away);
	assert_int_equal(a->barriers, b->barriers);
	assert_int_equal(a->tensor, b->tensor);
	assert_int_equal(a->wide_loads, b->wide_loads);
	assert_int_equal(a->wide_shared_loads, b->wide_shared_loads);
}

static struct kc_features features_in(const struct kc_image *image, const char *kernel)
{
	struct kc_features_wanted wanted = {.name = kernel};
	struct kc_refusal refusal;

	assert_int_equal(kc_features_of_image(image, &wanted, 1, MEMORY_BYTES, &refusal), 0);
	return wanted.features;
}

/* Whether the cubin is read part by part or as a whole. */
static struct kc_features features_of(const struct file *cubin, const char *kernel)
{
	struct kc_image image = {.kind = KC_IMAGE_CUBIN, .bytes = cubin->bytes, .length = cubin->length};
	struct kc_features in_parts = features_in(&image, kernel), whole = {0};
	struct kc_refusal refusal;
	struct kc_cubin read;

	assert_int_equal(kc_cubin_read(&read, cubin->bytes, cubin->length, MEMORY_BYTES, &refusal), 0);
	for (uint32_t i = 0; i < read.kernel_count; i++)
		if (!strcmp(read.kernels[i].name, kernel))
			whole = kc_features_of_code(&read.kernels[i]);
	assert_same(&in_parts, &whole);
	kc_cubin_free(&read);
	return whole;
}

/* Each of the instructions is once in its kernel, and in the machine code once or, where the architecture lacks it, as
 * up to 16 of a smaller shape. */
static const struct {
	const char *files; /* without .cubin */
	const char *kernel;
	uint32_t tensor, tensor_max, wide, wide_shared;
} instructions[] = {
    {"80_80 80_86 80_89 80_90 80_100 80_120", "hmma", 1, 1, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "hmma_narrow", 1, 1, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "hmma_bf16", 1, 1, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "hmma_tf32", 1, 1, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "hmma_sparse", 1, 1, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "imma", 1, 1, 0, 0},
    {"80_80 80_86 80_89", "imma_4", 1, 1, 0, 0},
    {"80_90 80_100 80_120", "imma_4", 2, 16, 0, 0},
    {"80_80 80_86 80_89 80_90", "bmma", 1, 1, 0, 0},
    {"80_100 80_120", "bmma", 2, 16, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "dmma", 1, 1, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "wmma", 1, 2, 0, 0},
    {"89_89 89_120", "qmma", 1, 1, 0, 0},
    {"90a_90a", "hgmma", 1, 1, 0, 0},
    {"90a_90a", "hgmma_tf32", 1, 1, 0, 0},
    {"90a_90a", "qgmma", 1, 1, 0, 0},
    {"90a_90a", "igmma", 1, 1, 0, 0},
    {"90a_90a", "bgmma", 1, 1, 0, 0},
    {"100a_100a", "utchmma", 1, 1, 0, 0},
    {"100a_100a", "utchmma_tf32", 1, 1, 0, 0},
    {"100a_100a", "utcqmma", 1, 1, 0, 0},
    {"100a_100a", "utcimma", 1, 1, 0, 0},
    {"100a_100a", "utcomma", 1, 1, 0, 0},
    {"120a_120a", "qmma", 1, 1, 0, 0},
    {"120a_120a", "qmma_scaled", 1, 1, 0, 0},
    {"120a_120a", "omma", 1, 1, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_16", 0, 0, 1, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_16_constant", 0, 0, 1, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_16_generic", 0, 0, 1, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_16_once", 0, 0, 1, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_16_shared", 0, 0, 0, 1},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "copy_16", 0, 0, 1, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "copy_16_ca", 0, 0, 1, 0},
    {"100a_100a 120a_120a", "load_32", 0, 0, 1, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_8", 0, 0, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_8_generic", 0, 0, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_8_shared", 0, 0, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "load_1", 0, 0, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "copy_8", 0, 0, 0, 0},
    {"80_80 80_86 80_89 80_90 80_100 80_120", "copy_4", 0, 0, 0, 0},
};

static void test_instructions(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(instructions) / sizeof(instructions[0]); i++) {
		char files[64], name[64], *rest;

		snprintf(files, sizeof(files), "%s", instructions[i].files);
		for (char *of = strtok_r(files, " ", &rest); of; of = strtok_r(NULL, " ", &rest)) {
			struct kc_features features;
			struct file file;

			snprintf(name, sizeof(name), "features_%s.cubin", of);
			file = load(name);
			features = features_of(&file, instructions[i].kernel);
			free(file.bytes);
			if (!features.known || features.tensor < instructions[i].tensor ||
			    features.tensor > instructions[i].tensor_max ||
			    features.wide_loads != instructions[i].wide ||
			    features.wide_shared_loads != instructions[i].wide_shared)
				fail_msg("%s, %s: %u, %u, %u", name, instructions[i].kernel, features.tensor,
					 features.wide_loads, features.wide_shared_loads);
		}
	}
}

/* --- differs.cu: machine code and PTX of one source */

struct fatbin {
	struct file file;
	struct kc_images images;
};

static struct fatbin open_fatbin(void)
{
	struct fatbin fatbin = {.file = load("differs.fatbin")};
	struct kc_refusal refusal;

	assert_int_equal(kc_images_list(&fatbin.images, fatbin.file.bytes, fatbin.file.length, MEMORY_BYTES, &refusal),
			 0);
	return fatbin;
}

static void close_fatbin(struct fatbin *fatbin)
{
	kc_images_free(&fatbin->images);
	free(fatbin->file.bytes);
}

/* The module is to be freed. */
static struct kc_ptx_module ptx_of(struct fatbin *fatbin, uint32_t sm)
{
	struct kc_ptx_module module = {0};
	struct kc_refusal refusal;

	for (uint32_t i = 0; i < fatbin->images.count; i++) {
		struct kc_image *image = &fatbin->images.images[i];

		if (image->kind != KC_IMAGE_PTX || image->sm != sm)
			continue;
		assert_int_equal(kc_image_unpack(&fatbin->images.images[i], &fatbin->images.arena, &refusal), 0);
		assert_int_equal(kc_ptx_parse(&module, image->bytes, image->length, MEMORY_BYTES, &refusal), 0);
		return module;
	}
	fail();
	return module;
}

static const struct kc_image *code_of(const struct fatbin *fatbin, uint32_t sm)
{
	for (uint32_t i = 0; i < fatbin->images.count; i++)
		if (fatbin->images.images[i].kind == KC_IMAGE_CUBIN && fatbin->images.images[i].sm == sm)
			return &fatbin->images.images[i];
	fail();
	return NULL;
}

/* As the source has them; the highest number of a barrier, plus 1. */
static void test_barriers(void **state)
{
	static const struct {
		const char *kernel;
		uint32_t barriers;
	} expected[] = {{"same", 1}, {"same_unrolled", 0}, {"same_called", 1}, {"named_barriers", 6}};
	struct fatbin fatbin = open_fatbin();
	struct file relocatable = load("differs_relocatable.cubin");

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		for (size_t a = 0; a < 5; a++) {
			static const uint32_t architectures[] = {75, 80, 90, 100, 120};
			struct kc_features features =
			    features_in(code_of(&fatbin, architectures[a]), expected[i].kernel);

			assert_true(features.known);
			assert_false(features.calls_away);
			assert_int_equal(features.barriers, expected[i].barriers);
		}
	}
	assert_true(features_of(&relocatable, "same_called").calls_away);
	assert_false(features_of(&relocatable, "same").calls_away);
	free(relocatable.bytes);
	close_fatbin(&fatbin);
}

/* PTX for sm_80 against code for sm_75 and sm_80 comes from the same lines, and against that from sm_90 on from others.
 */
static void test_one_source(void **state)
{
	static const struct {
		const char *kernel, *below, *above; /* of the code, where the PTX is for another one */
	} expected[] = {
	    {"same", NULL, NULL},
	    {"same_unrolled", NULL, NULL},
	    {"same_called", NULL, NULL},
	    {"named_barriers", NULL, NULL},
	    {"barrier", "has no barriers", "has barriers"},
	    {"tensor", "does not use tensor cores", "uses tensor cores"},
	    {"wide", "has no loads of 16 bytes", "has loads of 16 bytes"},
	};
	static const uint32_t architectures[] = {75, 80, 90, 100, 120};
	struct fatbin fatbin = open_fatbin();
	struct kc_ptx_module old = ptx_of(&fatbin, 80), recent = ptx_of(&fatbin, 120);

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		for (size_t a = 0; a < sizeof(architectures) / sizeof(architectures[0]); a++) {
			const char *kernel = expected[i].kernel, *wanted, *differs;
			struct kc_features code = features_in(code_of(&fatbin, architectures[a]), kernel);
			uint64_t shared = !strcmp(kernel, "same") ? 64 * 16 : 0;

			wanted = architectures[a] < 90 ? NULL : expected[i].above;
			differs = kc_features_differ(&old, kc_ptx_find(&old, kernel), &code, shared);
			assert_true(!differs == !wanted && (!wanted || strstr(differs, wanted)));
			wanted = architectures[a] < 90 ? expected[i].below : NULL;
			differs = kc_features_differ(&recent, kc_ptx_find(&recent, kernel), &code, shared);
			assert_true(!differs == !wanted && (!wanted || strstr(differs, wanted)));
		}
	}
	kc_ptx_free(&old);
	kc_ptx_free(&recent);
	close_fatbin(&fatbin);
}

/* --- the rule */

static const char *differs(const char *body, struct kc_features code, uint64_t static_shared_bytes)
{
	char text[2048];
	struct kc_ptx_module module;
	struct kc_refusal refusal;
	const char *found;

	snprintf(text, sizeof(text),
		 ".version 8.0\n.target sm_90\n.address_size 64\n"
		 ".extern .func elsewhere ();\n"
		 ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %%rd<9>;\n.reg .b32 %%r<9>;\n.reg .f64 %%d<9>;\n"
		 "%s\nret;\n}\n",
		 body);
	assert_int_equal(kc_ptx_parse(&module, text, strlen(text), MEMORY_BYTES, &refusal), 0);
	found = kc_features_differ(&module, kc_ptx_find(&module, "k"), &code, static_shared_bytes);
	kc_ptx_free(&module);
	return found;
}

#define LOAD "ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];\n"
#define MULTIPLY                                                                                                       \
	"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%r1, %r2}, {%r3}, {%r1, %r2, %r3, "   \
	"%r4};\n"

static void test_what_differs(void **state)
{
	(void)state;
	assert_null(differs("", (struct kc_features){.known = 1}, 0));
	assert_non_null(differs("bar.sync 0;", (struct kc_features){.known = 1}, 0));
	assert_non_null(differs("barrier.cta.red.popc.u32 %r1, 0, 1;", (struct kc_features){.known = 1}, 0));
	assert_null(differs("bar.warp.sync -1;", (struct kc_features){.known = 1}, 0));
	assert_null(differs("barrier.cluster.arrive;", (struct kc_features){.known = 1}, 0));
	/* Nothing is known of the code, or of what one of them calls. */
	assert_null(differs("bar.sync 0;", (struct kc_features){0}, 0));
	assert_null(differs("bar.sync 0;", (struct kc_features){.known = 1, .calls_away = 1}, 0));
	assert_null(differs("call elsewhere;", (struct kc_features){.known = 1, .barriers = 1, .tensor = 9}, 0));
	/* From sm_80 on, this is no instruction for tensor cores; with numbers of 64 bits it is. */
	assert_null(differs("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%r1, %r2, %r3, %r4}, {%r1, %r2}, "
			    "{%r1, %r2}, {%r1, %r2, %r3, %r4};",
			    (struct kc_features){.known = 1}, 0));
	assert_non_null(differs("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d1, %d2}, {%d3}, {%d4}, {%d1, %d2};",
				(struct kc_features){.known = 1}, 0));
	/* Another number of them is no difference, unless it is more than 16 times as high. */
	assert_null(differs(MULTIPLY, (struct kc_features){.known = 1, .tensor = 16}, 0));
	assert_non_null(differs(MULTIPLY, (struct kc_features){.known = 1, .tensor = 17}, 0));
	assert_null(differs(LOAD LOAD, (struct kc_features){.known = 1, .wide_loads = 32}, 0));
	assert_non_null(differs(LOAD LOAD, (struct kc_features){.known = 1, .wide_loads = 33}, 0));
	/* One load may be two that ptxas joined, or one whose value nothing needs; it joins more in shared memory. */
	assert_null(differs("", (struct kc_features){.known = 1, .wide_loads = 1}, 0));
	assert_non_null(differs("", (struct kc_features){.known = 1, .wide_loads = 2}, 0));
	assert_null(differs(LOAD, (struct kc_features){.known = 1}, 0));
	assert_non_null(differs(LOAD LOAD, (struct kc_features){.known = 1}, 0));
	assert_null(differs("", (struct kc_features){.known = 1, .wide_shared_loads = 9}, 0));
	assert_null(differs(LOAD LOAD, (struct kc_features){.known = 1, .wide_shared_loads = 2}, 0));
	/* Shared memory is compared in any case: an array of 64 bytes, with a gap of at most 15. */
	assert_null(differs(".shared .b8 s[64];", (struct kc_features){0}, 64));
	assert_null(differs(".shared .b8 s[64];", (struct kc_features){0}, 79));
	assert_non_null(differs(".shared .b8 s[64];", (struct kc_features){0}, 80));
	assert_non_null(differs(".shared .b8 s[64];", (struct kc_features){0}, 63));
}

/* --- cubins that cannot be read */

static int read_damaged(const char *bytes, size_t length, size_t memory_bytes, struct kc_features *features)
{
	char *copy = malloc(length ? length : 1);
	struct kc_features_wanted wanted[] = {{.name = "same"}, {.name = "tensor"}, {.name = "no_such"}};
	struct kc_image image = {.kind = KC_IMAGE_CUBIN, .bytes = copy, .length = length};
	struct kc_refusal refusal;
	int rc;

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	rc = kc_features_of_image(&image, wanted, 3, memory_bytes, &refusal);
	assert_true(rc == 0 || rc == -EBADMSG || rc == -ENOMEM);
	assert_false(wanted[2].features.known);
	assert_true(rc == 0 || !wanted[0].features.known);
	*features = wanted[0].features;
	free(copy);
	return rc;
}

static void test_damaged(void **state)
{
	struct file file = load("differs_relocatable.cubin");
	struct kc_features features;

	(void)state;
	assert_int_equal(read_damaged(file.bytes, file.length, MEMORY_BYTES, &features), 0);
	assert_true(features.known);
	assert_int_equal(read_damaged(file.bytes, file.length, 256, &features), -ENOMEM);
	for (size_t length = 0; length < file.length; length += 1 + file.length / 2000)
		read_damaged(file.bytes, length, MEMORY_BYTES, &features);
	for (size_t at = 0; at < file.length; at++) {
		if (at > 64 && at < file.length - 8192 && at % 7)
			continue;
		file.bytes[at] ^= (char)0xff;
		read_damaged(file.bytes, file.length, MEMORY_BYTES, &features);
		file.bytes[at] ^= (char)0xff;
	}
	file.bytes[49] = (char)130; /* e_flags: sm_130 */
	assert_int_equal(read_damaged(file.bytes, file.length, MEMORY_BYTES, &features), 0);
	assert_false(features.known);
	free(file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_instructions), cmocka_unit_test(test_barriers), cmocka_unit_test(test_one_source),
	    cmocka_unit_test(test_what_differs), cmocka_unit_test(test_damaged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
