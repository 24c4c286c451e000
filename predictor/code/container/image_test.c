/*
 * One source, cuda_tests/code/containers.cu, in every container that nvcc can make:
 * complete, truncated at every length, and with changed bytes.
 */
#include "image.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_BYTES ((size_t)16 << 20)
#define PTX (1u << KC_IMAGE_PTX)
#define CUBIN (1u << KC_IMAGE_CUBIN)

struct file {
	char *bytes; /* with a NUL behind */
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
	file.bytes = calloc(1, file.length + 1);
	assert_non_null(file.bytes);
	assert_int_equal(fread(file.bytes, 1, file.length, stream), file.length);
	fclose(stream);
	return file;
}

static struct kc_images read_file(const struct file *file)
{
	struct kc_images images;
	struct kc_refusal refusal;

	assert_int_equal(kc_images_list(&images, file->bytes, file->length, MEMORY_BYTES, &refusal), 0);
	assert_int_equal(images.skipped_count, 0);
	for (uint32_t i = 0; i < images.count; i++)
		assert_int_equal(kc_image_unpack(&images.images[i], &images.arena, &refusal), 0);
	return images;
}

/* nvcc removes comments and blanks from the PTX in a fatbin. */
static char *bare(const char *text, size_t length)
{
	char *out = malloc(length + 1), *to = out;

	assert_non_null(out);
	for (size_t i = 0; i < length; i++) {
		if (i + 1 < length && text[i] == '/' && text[i + 1] == '/')
			while (i < length && text[i] != '\n')
				i++;
		if (i < length && !isspace((unsigned char)text[i]))
			*to++ = text[i];
	}
	*to = '\0';
	return out;
}

static const struct kc_image *find(const struct kc_images *images, uint32_t kind)
{
	for (uint32_t i = 0; i < images->count; i++)
		if (images->images[i].kind == kind && memmem(images->images[i].bytes, images->images[i].length,
							     "_Z5saxpyifPKfPf", strlen("_Z5saxpyifPKfPf")))
			return &images->images[i];
	return NULL;
}

static void test_same_ptx_from_every_container(void **state)
{
	static const struct {
		const char *name;
		uint8_t compressed;
	} containers[] = {
	    {"default.fatbin", 2}, {"none.fatbin", 0}, {"speed.fatbin", 1}, {"size.fatbin", 2},
	    {"two.fatbin", 2},     {"default.o", 2},   {"rdc.o", 2},        {"rdc", 2},
	};
	struct file plain = load("plain.ptx");
	struct kc_images plain_images = read_file(&plain);
	char *expected = bare(plain.bytes, plain.length);

	(void)state;
	assert_int_equal(plain_images.count, 1);
	assert_int_equal(plain_images.images[0].sm, 90);
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct file file = load(containers[i].name);
		struct kc_images images = read_file(&file);
		const struct kc_image *found = find(&images, KC_IMAGE_PTX), *chosen;
		char *text;

		assert_non_null(found);
		assert_int_equal(found->compressed, containers[i].compressed);
		chosen = kc_images_choose(&images, found->fatbin, 9, 0, PTX);
		assert_non_null(chosen);
		assert_int_equal(chosen->sm, 90);
		text = bare(chosen->bytes, chosen->length);
		assert_string_equal(text, expected);
		free(text);
		kc_images_free(&images);
		free(file.bytes);
	}
	free(expected);
	kc_images_free(&plain_images);
	free(plain.bytes);
}

static void test_same_cubin_from_every_fatbin(void **state)
{
	static const char *const containers[] = {"default.fatbin", "none.fatbin", "speed.fatbin",
						 "size.fatbin",    "two.fatbin",  "cubin_only.fatbin"};
	struct file plain = load("plain.cubin");
	struct kc_images plain_images = read_file(&plain);

	(void)state;
	assert_int_equal(plain_images.count, 1);
	assert_int_equal(plain_images.images[0].kind, KC_IMAGE_CUBIN);
	assert_int_equal(plain_images.images[0].sm, 90);
	for (size_t i = 0; i < sizeof(containers) / sizeof(containers[0]); i++) {
		struct file file = load(containers[i]);
		struct kc_images images = read_file(&file);
		const struct kc_image *cubin = kc_images_choose(&images, 0, 9, 0, PTX | CUBIN);

		assert_non_null(cubin);
		assert_int_equal(cubin->kind, KC_IMAGE_CUBIN);
		assert_int_equal(cubin->length, plain.length);
		assert_memory_equal(cubin->bytes, plain.bytes, plain.length);
		kc_images_free(&images);
		free(file.bytes);
	}
	kc_images_free(&plain_images);
	free(plain.bytes);
}

static void test_choice_by_device(void **state)
{
	static const struct {
		const char *name;
		uint32_t major, minor;
		unsigned kinds;
		int kind; /* -1: none */
		uint32_t sm;
	} choices[] = {
	    {"two.fatbin", 8, 0, PTX | CUBIN, KC_IMAGE_CUBIN, 80},
	    {"two.fatbin", 8, 9, PTX | CUBIN, KC_IMAGE_CUBIN, 80},
	    {"two.fatbin", 9, 0, PTX | CUBIN, KC_IMAGE_CUBIN, 90},
	    {"two.fatbin", 10, 0, PTX | CUBIN, KC_IMAGE_PTX, 90},
	    {"two.fatbin", 8, 6, PTX, KC_IMAGE_PTX, 80},
	    {"two.fatbin", 7, 5, PTX | CUBIN, -1, 0},
	    {"cubin_only.fatbin", 9, 0, PTX, -1, 0},
	    {"cubin_only.fatbin", 10, 0, PTX | CUBIN, -1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		struct file file = load(choices[i].name);
		struct kc_images images = read_file(&file);
		const struct kc_image *image =
		    kc_images_choose(&images, 0, choices[i].major, choices[i].minor, choices[i].kinds);

		assert_int_equal(image ? image->kind : -1, choices[i].kind);
		if (image)
			assert_int_equal(image->sm, choices[i].sm);
		assert_null(kc_images_choose(&images, images.fatbin_count, 9, 0, PTX | CUBIN));
		kc_images_free(&images);
		free(file.bytes);
	}
}

/* sm_90a runs only on 9.0; nvcc -arch=sm_90a adds PTX for compute_90, which runs on later devices. */
static void test_architecture_specific(void **state)
{
	struct file file = load("specific.fatbin");
	struct kc_images images = read_file(&file);
	const struct kc_image *cubin = kc_images_choose(&images, 0, 9, 0, CUBIN);
	const struct kc_image *ptx = kc_images_choose(&images, 0, 9, 0, PTX);
	const struct kc_image *later = kc_images_choose(&images, 0, 10, 0, PTX | CUBIN);

	(void)state;
	assert_non_null(cubin);
	assert_int_equal(cubin->suffix, 'a');
	assert_non_null(ptx);
	assert_int_equal(ptx->suffix, 'a');
	assert_non_null(later);
	assert_int_equal(later->kind, KC_IMAGE_PTX);
	assert_int_equal(later->suffix, 0);
	kc_images_free(&images);
	free(file.bytes);
}

/* The linked cubin is in the first fatbin, the PTX of each source file in one of the following. */
static void test_rdc_program(void **state)
{
	struct file file = load("rdc");
	struct kc_images images = read_file(&file);

	(void)state;
	assert_int_equal(images.fatbin_count, 2);
	assert_non_null(kc_images_choose(&images, 0, 9, 0, CUBIN));
	assert_null(kc_images_choose(&images, 0, 9, 0, PTX));
	assert_non_null(kc_images_choose(&images, 1, 9, 0, PTX));
	kc_images_free(&images);
	free(file.bytes);
}

static void test_aarch64(void **state)
{
	struct file file = load("default.o");
	struct kc_images images;

	(void)state;
	file.bytes[18] = (char)183; /* e_machine */
	images = read_file(&file);
	assert_int_equal(images.count, 2);
	kc_images_free(&images);
	free(file.bytes);
}

static void test_ptx_text(void **state)
{
	static const char commented[] =
	    "\n/* a\n comment */ // another\n\t.version 8.5\n.target sm_100f, debug\n\0behind";
	static const struct {
		const char *text;
		int result;
	} texts[] = {
	    {"", -EBADMSG},  {"int main(void)", -EBADMSG}, {"/* .version 8.5", -EBADMSG}, {"// .version 8.5", -EBADMSG},
	    {"/", -EBADMSG}, {".version 8.5", 0}};
	struct kc_refusal refusal;
	struct kc_images images;

	(void)state;
	assert_int_equal(kc_images_list(&images, commented, sizeof(commented), MEMORY_BYTES, &refusal), 0);
	assert_int_equal(images.count, 1);
	assert_int_equal(images.images[0].kind, KC_IMAGE_PTX);
	assert_int_equal(images.images[0].sm, 100);
	assert_int_equal(images.images[0].suffix, 'f');
	assert_int_equal(images.images[0].length, strlen(commented));
	kc_images_free(&images);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(kc_images_list(&images, texts[i].text, strlen(texts[i].text), MEMORY_BYTES, &refusal),
				 texts[i].result);
		kc_images_free(&images);
	}
}

static void test_whether_a_fatbin_has_ptx(void **state)
{
	static const struct {
		const char *name;
		int lacks;
	} files[] = {{"cubin_only.fatbin", 1}, {"default.fatbin", 0}, {"size.fatbin", 0}, {"default.o", 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct file file = load(files[i].name);

		assert_int_equal(kc_image_lacks_ptx(file.bytes, file.length), files[i].lacks);
		free(file.bytes);
	}
}

static void test_list_then_unpack(void **state)
{
	struct file file = load("size.fatbin");
	struct kc_images images;
	struct kc_refusal refusal;

	(void)state;
	assert_int_equal(kc_images_list(&images, file.bytes, file.length, MEMORY_BYTES, &refusal), 0);
	assert_int_equal(images.count, 2);
	assert_null(images.images[1].bytes);
	assert_int_equal(kc_image_unpack(&images.images[1], &images.arena, &refusal), 0);
	assert_non_null(images.images[1].bytes);
	assert_null(images.images[0].bytes);
	kc_images_free(&images);
	free(file.bytes);
}

static size_t length_by_address(const void *image, size_t limit_bytes)
{
	struct kc_image_piece piece;

	return kc_image_pieces(image, limit_bytes, &piece, 1) ? piece.length : 0;
}

static void test_length_by_address(void **state)
{
	static const char *const names[] = {"default.fatbin", "size.fatbin", "plain.cubin", "plain.ptx", "rdc"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct file file = load(names[i]);
		size_t length = file.length + !strcmp(names[i], "plain.ptx"); /* the NUL */

		assert_int_equal(length_by_address(file.bytes, (size_t)8 << 20), length);
		assert_int_equal(length_by_address(file.bytes, length), length);
		assert_int_equal(length_by_address(file.bytes, length - 1), 0);
		assert_int_equal(length_by_address(file.bytes, 0), 0);
		free(file.bytes);
	}
	assert_int_equal(length_by_address("", 8), 1);
	assert_int_equal(length_by_address(NULL, 8), 0);
}

struct wrapper { /* __fatBinC_Wrapper_t */
	uint32_t magic, version;
	const void *fatbin;
	const void *const *more;
};

static void test_pieces_behind_a_wrapper(void **state)
{
	struct file linked = load("default.fatbin"), part = load("size.fatbin");
	const void *const parts[] = {part.bytes, part.bytes, NULL};
	struct wrapper one = {0x466243b1, 1, linked.bytes, NULL}, several = {0x466243b1, 2, linked.bytes, parts};
	struct kc_image_piece pieces[4];

	(void)state;
	assert_int_equal(kc_image_pieces(linked.bytes, 1 << 20, pieces, 4), 1);
	assert_int_equal(pieces[0].length, linked.length);
	assert_int_equal(kc_image_pieces(&one, 1 << 20, pieces, 4), 1);
	assert_ptr_equal(pieces[0].bytes, linked.bytes);
	assert_int_equal(kc_image_pieces(&several, 1 << 20, pieces, 4), 3);
	assert_ptr_equal(pieces[2].bytes, part.bytes);
	assert_int_equal(pieces[2].length, part.length);
	assert_int_equal(kc_image_pieces(&several, 1 << 20, pieces, 2), 2);
	assert_int_equal(kc_image_pieces(&several, part.length, pieces, 4), 3);
	assert_int_equal(pieces[0].length, 0);
	free(linked.bytes);
	free(part.bytes);
}

/* --- refusals */

/* Unpacks all images. 0: at least one was unpacked; else how the first one failed. */
static int unpack_all(struct kc_images *images, struct kc_refusal *refusal)
{
	int first_failure = 0, unpacked = 0;

	for (uint32_t i = 0; i < images->count; i++) {
		struct kc_refusal why;
		int result = kc_image_unpack(&images->images[i], &images->arena, &why);

		unpacked |= !result;
		if (!result || first_failure)
			continue;
		first_failure = result;
		*refusal = why;
	}
	return unpacked ? 0 : first_failure;
}

static int read_copy(const char *bytes, size_t length, size_t memory_bytes, struct kc_refusal *refusal)
{
	char *copy = malloc(length ? length : 1); /* so that a sanitizer notices reads beyond the end */
	struct kc_images images;
	int result;

	assert_non_null(copy);
	memcpy(copy, bytes, length);
	*refusal = (struct kc_refusal){.offset = SIZE_MAX};
	result = kc_images_list(&images, copy, length, memory_bytes, refusal);
	if (!result) {
		assert_true(images.count > 0);
		result = unpack_all(&images, refusal);
		kc_images_free(&images);
	}
	if (result) {
		assert_true(result == -EBADMSG || result == -ENOENT || result == -ENOMEM);
		assert_true(refusal->offset <= length);
		assert_true(refusal->reason[0]);
	}
	free(copy);
	return result;
}

#define LENGTHS_TRIED 6000u

static void test_every_truncation(void **state)
{
	static const char *const names[] = {"speed.fatbin", "size.fatbin", "default.o", "plain.cubin", "rdc"};
	struct kc_refusal refusal;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct file file = load(names[i]);
		size_t step = file.length / LENGTHS_TRIED + 1;

		for (size_t length = 0; length < file.length; length += step)
			read_copy(file.bytes, length, MEMORY_BYTES, &refusal);
		free(file.bytes);
	}
}

static void test_every_byte_changed(void **state)
{
	static const char *const names[] = {"size.fatbin", "speed.fatbin", "plain.cubin"};
	static const unsigned char changes[] = {0xff, 0x01, 0x80};
	struct kc_refusal refusal;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct file file = load(names[i]);

		for (size_t at = 0; at < file.length; at++)
			for (size_t c = 0; c < sizeof(changes); c++) {
				file.bytes[at] ^= (char)changes[c];
				read_copy(file.bytes, file.length, MEMORY_BYTES, &refusal);
				file.bytes[at] ^= (char)changes[c];
			}
		free(file.bytes);
	}
}

/* Fields of size.fatbin: header of 16 bytes, entry of 64. */
static void test_refusals_name_offset_and_reason(void **state)
{
	static const struct {
		size_t at;
		uint64_t value;
		unsigned bytes;
		size_t offset;
		const char *reason;
	} changes[] = {
	    {4, 2, 2, 4, "fatbin version 2 is unknown, only 1 is supported"},
	    {8, UINT64_MAX, 8, 6, "fatbin header of 16 bytes with 18446744073709551615 bytes of entries"},
	    {16 + 4, 63, 4, 16 + 4, "entry header of 63 bytes"},
	    {16 + 8, UINT64_MAX - 8, 8, 16 + 8, "entry of 18446744073709551607 bytes"},
	};
	struct kc_refusal refusal;

	(void)state;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		struct file file = load("size.fatbin");

		memcpy(file.bytes + changes[i].at, &changes[i].value, changes[i].bytes);
		assert_int_equal(read_copy(file.bytes, file.length, MEMORY_BYTES, &refusal), -EBADMSG);
		assert_int_equal(refusal.offset, changes[i].offset);
		assert_non_null(strstr(refusal.reason, changes[i].reason));
		free(file.bytes);
	}
}

/* An entry that claims to unpack to 2 GiB is refused without allocating that; others are read. */
static void test_bomb(void **state)
{
	struct file file = load("size.fatbin");
	uint64_t large = INT32_MAX;
	struct kc_refusal refusal;
	struct kc_images images;

	(void)state;
	memcpy(file.bytes + 16 + 56, &large, sizeof(large));
	assert_int_equal(kc_images_list(&images, file.bytes, file.length, MEMORY_BYTES, &refusal), 0);
	assert_int_equal(images.count, 2);
	assert_int_equal(kc_image_unpack(&images.images[0], &images.arena, &refusal), -ENOMEM);
	assert_int_equal(refusal.offset, 16);
	assert_non_null(strstr(refusal.reason, "2147483647 bytes"));
	assert_int_equal(images.images[1].kind, KC_IMAGE_PTX);
	assert_int_equal(kc_image_unpack(&images.images[1], &images.arena, &refusal), 0);
	kc_images_free(&images);
	assert_int_equal(read_copy(file.bytes, file.length, 300, &refusal), -ENOMEM);
	assert_int_equal(read_copy(file.bytes, file.length, 0, &refusal), -ENOMEM);
	free(file.bytes);
}

static void test_what_is_no_code(void **state)
{
	struct kc_refusal refusal;
	struct kc_images images;
	struct wrapper wrapper = {0x466243b1, 1, NULL, NULL};
	struct file file = load("default.o");

	(void)state;
	assert_int_equal(kc_images_list(&images, &wrapper, sizeof(wrapper), MEMORY_BYTES, &refusal), -EBADMSG);
	assert_non_null(strstr(refusal.reason, "wrapper"));
	file.bytes[18] = 8; /* e_machine: MIPS */
	assert_int_equal(read_copy(file.bytes, file.length, MEMORY_BYTES, &refusal), -EBADMSG);
	assert_non_null(strstr(refusal.reason, "machine 8"));
	free(file.bytes);
	file = load("default.o");
	for (char *name = file.bytes;
	     (name = memmem(name, file.length - (size_t)(name - file.bytes), ".nv_fatbin", 10));)
		*name = 'x';
	assert_int_equal(read_copy(file.bytes, file.length, MEMORY_BYTES, &refusal), -ENOENT);
	free(file.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same_ptx_from_every_container),
	    cmocka_unit_test(test_same_cubin_from_every_fatbin),
	    cmocka_unit_test(test_choice_by_device),
	    cmocka_unit_test(test_architecture_specific),
	    cmocka_unit_test(test_rdc_program),
	    cmocka_unit_test(test_aarch64),
	    cmocka_unit_test(test_ptx_text),
	    cmocka_unit_test(test_whether_a_fatbin_has_ptx),
	    cmocka_unit_test(test_list_then_unpack),
	    cmocka_unit_test(test_length_by_address),
	    cmocka_unit_test(test_pieces_behind_a_wrapper),
	    cmocka_unit_test(test_every_truncation),
	    cmocka_unit_test(test_every_byte_changed),
	    cmocka_unit_test(test_refusals_name_offset_and_reason),
	    cmocka_unit_test(test_bomb),
	    cmocka_unit_test(test_what_is_no_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
