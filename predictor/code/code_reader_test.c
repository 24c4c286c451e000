/* Parts that are PTX by themselves; those in fatbins are read in stored/thin_test.c and container/image_test.c. */
#include "code_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static struct kc_code_limits limits;
static struct kc_code_reader reader;
static struct kc_code_lack lack;
static char text[1 << 20];

/* Kernels k0, k1, …; kN has N + 1 additions, and as many lines of comments as are given, which cannot be packed to
 * half. */
static struct kc_code_part module(const char *target, int kernels, int comments)
{
	char *at = text + sprintf(text, ".version 8.0\n.target %s\n.address_size 64\n", target);
	uint32_t noise = 1;

	for (int k = 0; k < kernels; k++) {
		at += sprintf(at, ".visible .entry k%d(.param .u64 p0)\n{\n.reg .f32 %%f<4>;\n", k);
		for (int i = 0; i <= k; i++)
			at += sprintf(at, "add.f32 %%f1, %%f2, %%f3;\n");
		for (int i = 0; i < comments; i++, at += sprintf(at, "\n"))
			for (int n = at[0] = 0; n < 90; n++, noise = noise * 1664525 + 1013904223)
				at += sprintf(at, "%s%c", n ? "" : "//", 'A' + (noise >> 24) % 58);
		at += sprintf(at, "ret;\n}\n");
	}
	return (struct kc_code_part){.bytes = text, .length = strlen(text)};
}

static int begin(void **state)
{
	(void)state;
	limits = (struct kc_code_limits){.text_bytes = MIB, .cut_bytes = MIB, .formula_bytes = MIB};
	reader = (struct kc_code_reader){.limits = &limits, .cc_major = 8};
	lack = (struct kc_code_lack){0};
	return 0;
}

static void look_for(const char *a, const char *b)
{
	reader.wanted[0].name = a;
	reader.wanted[1].name = b;
	reader.count = 2;
}

/* The formula, and the text is dropped. */
static void expect(uint32_t kernel, const char *formula)
{
	struct kc_code_read read;
	struct kc_refusal refusal;
	char written[256];

	assert_int_equal(kc_code_read(&reader, kernel, 0, 8 * MIB, &read, &refusal), 0);
	kc_cost_write(read.cost, written, sizeof(written));
	assert_string_equal(written, formula);
	assert_string_equal(read.function->name, reader.wanted[kernel].name);
	kc_code_read_free(&read);
	kc_code_drop(&reader, kernel, false);
}

static void kernels_are_read_by_name_the_shortest_first(void **state)
{
	struct kc_code_part part = module("sm_75", 8, 0);

	(void)state;
	look_for("k6", "k1");
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	assert_false(reader.other_architecture);
	assert_int_equal(kc_code_shortest(&reader), 1);
	expect(1, "add = 2; control = 1");
	assert_int_equal(kc_code_shortest(&reader), 0);
	expect(0, "add = 7; control = 1");
	assert_int_equal(kc_code_shortest(&reader), 2);
	assert_false(kc_code_left_out(&reader));
	kc_code_close(&reader);
	look_for("k", "k8");
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	assert_int_equal(kc_code_shortest(&reader), 2);
	kc_code_close(&reader);
	assert_int_equal(kc_code_lacks(&lack), -ENOENT);
}

static void all_kernels_are_found_if_none_is_named(void **state)
{
	struct kc_code_file file = {memfd_create("part", 0), 5, 0};
	struct kc_code_part part = module("sm_75", 3, 0), in_file = {.file = &file};

	(void)state;
	assert_int_equal(pwrite(file.fd, text, part.length, 5), part.length);
	file.length = part.length;
	assert_int_equal(kc_code_open(&reader, &in_file, 8 * MIB, &lack), 0);
	close(file.fd);
	assert_int_equal(reader.count, 3);
	expect(2, "add = 3; control = 1");
	expect(0, "add = 1; control = 1");
	kc_code_close(&reader);
}

/* What the first part had is not looked for in the next one. */
static void all_kernels_of_one_part_after_another(void **state)
{
	struct kc_code_part part = module("sm_75", 3, 0);

	(void)state;
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	assert_int_equal(reader.count, 3);
	kc_code_close(&reader);
	assert_int_equal(reader.count, 0);
	assert_null(reader.wanted[2].name);
	part = module("sm_75", 5, 0);
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	assert_int_equal(reader.count, 5);
	expect(4, "add = 5; control = 1");
	kc_code_close(&reader);
	look_for("k1", "k0");
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	kc_code_close(&reader);
	assert_int_equal(reader.count, 2);
	assert_string_equal(reader.wanted[0].name, "k1");
}

/* For a device of 8.0. */
static void ptx_of_another_architecture_is_told_from_its_own(void **state)
{
	struct kc_code_part part = module("sm_90", 2, 0);
	struct kc_code_read read;
	struct kc_refusal refusal;

	(void)state;
	look_for("k0", "k1");
	reader.own_only = true;
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), -ENOENT);
	reader.own_only = false;
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	assert_true(reader.other_architecture);
	assert_int_equal(reader.sm, 90);
	assert_int_equal(kc_code_read(&reader, 0, 64, 8 * MIB, &read, &refusal), -EBADMSG);
	assert_string_equal(refusal.reason, "the code for the device takes another amount of shared memory");
	assert_int_equal(refusal.offset, strstr(text, ".visible .entry k0") - text);
	expect(1, "add = 2; control = 1");
	kc_code_close(&reader);
}

/* Each text has some 180 KB, and 384 KiB hold one of them beside what it is packed in. */
static void what_finds_no_room_is_found_without_the_others(void **state)
{
	struct kc_code_part part = module("sm_75", 2, 2000);
	uint32_t first, second;

	(void)state;
	limits.cut_bytes = (size_t)384 << 10;
	look_for("k0", "k1");
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	assert_true(kc_code_left_out(&reader));
	first = kc_code_shortest(&reader);
	second = !first;
	assert_in_range(first, 0, 1);
	assert_false(kc_code_has(&reader, second));
	expect(first, first ? "add = 2; control = 1" : "add = 1; control = 1");
	kc_code_close(&reader);
	reader.wanted[first].name = "";
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	assert_true(kc_code_has(&reader, second));
	kc_code_drop(&reader, second, true);
	assert_false(kc_code_has(&reader, second));
	assert_true(kc_code_left_out(&reader));
	kc_code_close(&reader);
	assert_int_equal(reader.cut.kernels.capacity, 0);
}

static bool at_once(void *user)
{
	++*(int *)user;
	return true;
}

static void limits_are_kept(void **state)
{
	struct kc_code_part part = module("sm_75", 2, 10);
	struct kc_code_read read;
	struct kc_refusal refusal;
	int asked = 0;

	(void)state;
	look_for("k0", "k1");
	limits.text_bytes = part.length - 1;
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), -ENOMEM);
	assert_int_equal(kc_code_lacks(&lack), -ENOMEM);
	limits.text_bytes = part.length;
	reader.ends = at_once;
	reader.user = &asked;
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), -ETIME);
	assert_int_equal(asked, 1);
	reader.ends = NULL;
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), 0);
	/* Memory for as large a formula as may be is enough for a small one and what reading it takes. */
	assert_int_equal(kc_code_read(&reader, 0, 0, limits.formula_bytes, &read, &refusal), 0);
	kc_code_read_free(&read);
	assert_int_equal(kc_code_read(&reader, 0, 0, 1024, &read, &refusal), -ENOMEM);
	limits.formula_bytes = 256;
	assert_int_equal(kc_code_read(&reader, 0, 0, 8 * MIB, &read, &refusal), -ENOMEM);
	limits.formula_bytes = MIB;
	expect(0, "add = 1; control = 1");
	kc_code_close(&reader);
}

static void why_nothing_was_found(void **state)
{
	static const char noise[] = "neither ELF nor a fatbin";
	struct kc_code_part part = {.bytes = noise, .length = sizeof(noise)};

	(void)state;
	assert_int_equal(kc_code_lacks(&lack), -ENOMEM); /* no part could be looked at */
	look_for("k0", "k1");
	assert_int_equal(kc_code_open(&reader, &part, 8 * MIB, &lack), -EBADMSG);
	assert_int_equal(kc_code_lacks(&lack), -EBADMSG);
	assert_string_equal(lack.refusal.reason, "neither a fatbin nor an ELF file nor PTX");
	assert_false(lack.saw_code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(kernels_are_read_by_name_the_shortest_first, begin),
	    cmocka_unit_test_setup(all_kernels_are_found_if_none_is_named, begin),
	    cmocka_unit_test_setup(all_kernels_of_one_part_after_another, begin),
	    cmocka_unit_test_setup(ptx_of_another_architecture_is_told_from_its_own, begin),
	    cmocka_unit_test_setup(what_finds_no_room_is_found_without_the_others, begin),
	    cmocka_unit_test_setup(limits_are_kept, begin),
	    cmocka_unit_test_setup(why_nothing_was_found, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
