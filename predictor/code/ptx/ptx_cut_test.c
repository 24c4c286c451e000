#include "ptx_cut.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_BYTES ((size_t)4 << 20)

/* Braces, semicolons and slashes stand where they mean nothing; two kernels call, one through another function. */
static const char module_text[] =
    ".version 8.3\n.target sm_90a\n.address_size 64\n"
    ".file 1 \"/a{b/c.cu\"\n"
    "// a comment with } and \"\n"
    ".extern .func (.param .b32 r) outside(.param .b32 a);\n"
    ".global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};\n"
    ".const .align 4 .f32 factor = 0f3F800000;\n"
    ".func (.param .b32 r) inner(.param .b32 a)\n{\n.reg .b32 %r<2>;\nmov.u32 %r0, 1;\nret;\n}\n"
    ".func (.param .b32 r) outer(.param .b32 a)\n{\n{ .param .b32 p; .param .b32 q; call (q), inner, (p); }\nret;\n}\n"
    ".visible .entry first(.param .u64 p0)\n.maxntid 128, 1, 1\n{\n.pragma \"nounroll {\";\nret; /* } */\n}\n"
    ".visible .entry second(.param .u32 n)\n{\n.reg .b32 %r<2>;\n"
    "mov.b64 {%r0, %r1}, 5; // }\n{ .param .b32 p; .param .b32 q; call (q), outer, (p); }\nret;\n}\n"
    ".section .debug_str\n{\n.b8 1 // \"\n}\n"
    ".weak .entry third()\n{\nbar.sync 0;\nret;\n}\n";

static void cut_out(struct kc_ptx_cut *cut, struct kc_ptx_wanted *wanted, uint32_t count, size_t part)
{
	size_t length = sizeof(module_text) - 1;

	kc_ptx_cut_begin(cut, wanted, count, MEMORY_BYTES);
	for (size_t at = 0; at < length; at += part)
		assert_int_equal(kc_ptx_cut_feed(cut, module_text + at, length - at < part ? length - at : part), 0);
}

static void parse_cut(struct kc_ptx_cut *cut, const struct kc_ptx_wanted *kernel, struct kc_ptx_module *module)
{
	struct kc_refusal refusal = {0};

	if (kc_ptx_cut_parse(cut, kernel, module, MEMORY_BYTES, &refusal))
		fail_msg("at %zu: %s", refusal.offset, refusal.reason);
}

static void only_what_is_wanted_is_kept(void **state)
{
	struct kc_ptx_wanted wanted[] = {{.name = "third"}, {.name = "no such"}, {.name = "first"}};
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;

	(void)state;
	cut_out(&cut, wanted, 3, sizeof(module_text));
	assert_true(wanted[0].found && !wanted[1].found && wanted[2].found);
	parse_cut(&cut, &wanted[2], &module);
	assert_int_equal(module.version_major, 8);
	assert_int_equal(module.target, 90);
	assert_int_equal(module.variable_count, 2);
	assert_int_equal(module.variables[0].bytes, 8);
	assert_non_null(kc_ptx_find(&module, "first"));
	assert_int_equal(kc_ptx_find(&module, "first")->max_threads[0], 128);
	assert_null(kc_ptx_find(&module, "second"));
	assert_null(kc_ptx_find(&module, "third"));
	assert_null(kc_ptx_find(&module, "inner"));
	kc_ptx_free(&module);
	parse_cut(&cut, &wanted[0], &module);
	assert_int_equal(kc_ptx_find(&module, "third")->instruction_count, 2);
	kc_ptx_free(&module);
	kc_ptx_cut_free(&cut);
}

/* In the order of the text. A name that was taken is kept after the text is gone. */
static void all_kernels_are_kept_up_to_so_many(void **state)
{
	struct kc_ptx_wanted wanted[2];
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;
	char copy[sizeof(module_text)];

	(void)state;
	memcpy(copy, module_text, sizeof(copy));
	kc_ptx_cut_begin_all(&cut, wanted, 2, MEMORY_BYTES);
	assert_int_equal(kc_ptx_cut_feed(&cut, copy, sizeof(copy) - 1), 0);
	memset(copy, 0, sizeof(copy));
	assert_int_equal(cut.wanted_count, 2);
	assert_string_equal(wanted[0].name, "first");
	assert_string_equal(wanted[1].name, "second");
	parse_cut(&cut, &wanted[1], &module);
	assert_non_null(kc_ptx_find(&module, "second"));
	assert_non_null(kc_ptx_find(&module, "outer"));
	assert_null(kc_ptx_find(&module, "first"));
	kc_ptx_free(&module);
	kc_ptx_cut_free(&cut);
}

static void called_functions_come_along(void **state)
{
	struct kc_ptx_wanted second = {.name = "second"};
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;

	(void)state;
	cut_out(&cut, &second, 1, sizeof(module_text));
	parse_cut(&cut, &second, &module);
	assert_int_equal(kc_ptx_find(&module, "second")->instruction_count, 3);
	assert_non_null(kc_ptx_find(&module, "outer"));
	assert_non_null(kc_ptx_find(&module, "inner"));
	kc_ptx_free(&module);
	kc_ptx_cut_free(&cut);
}

static void parts_may_end_anywhere(void **state)
{
	(void)state;
	for (size_t part = 1; part < 40; part++) {
		struct kc_ptx_wanted wanted[] = {{.name = "first"}, {.name = "second"}, {.name = "third"}}, whole[3];
		struct kc_ptx_cut cut, expected;

		memcpy(whole, wanted, sizeof(whole));
		cut_out(&expected, whole, 3, sizeof(module_text));
		cut_out(&cut, wanted, 3, part);
		assert_int_equal(cut.common.length, expected.common.length);
		assert_int_equal(cut.kernels.length, expected.kernels.length);
		assert_memory_equal(cut.common.bytes, expected.common.bytes, cut.common.length);
		assert_memory_equal(cut.kernels.bytes, expected.kernels.bytes, cut.kernels.length);
		assert_int_equal(cut.functions.length, expected.functions.length);
		for (int i = 0; i < 3; i++)
			assert_int_equal(wanted[i].offset, whole[i].offset);
		kc_ptx_cut_free(&expected);
		kc_ptx_cut_free(&cut);
	}
}

/* The refused instruction is where it was in the text that was given. */
static void refusals_have_the_offset_of_the_text(void **state)
{
	static const char text[] = ".version 8.3\n.target sm_90\n.entry a()\n{\nret;\n}\n"
				   "// a comment\n\n  /* another */ .loc 1 2 3\n/* and one more */ .entry b() // a {\n"
				   "/* } */ {\nret;\nmov.u32 %r0 %r1;\n}\n";
	struct kc_ptx_wanted b = {.name = "b"};
	struct kc_refusal refusal = {0};
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;

	(void)state;
	for (size_t part = 1; part < sizeof(text); part++) {
		kc_ptx_cut_begin(&cut, &b, 1, MEMORY_BYTES);
		for (size_t at = 0; at < strlen(text); at += part)
			assert_int_equal(
			    kc_ptx_cut_feed(&cut, text + at, strlen(text + at) < part ? strlen(text + at) : part), 0);
		assert_int_equal(b.offset, strstr(text, ".entry b") - text);
		assert_int_equal(kc_ptx_cut_parse(&cut, &b, &module, MEMORY_BYTES, &refusal), -EBADMSG);
		assert_in_range(refusal.offset, strstr(text, "mov") - text, strstr(text, "%r1") - text);
		kc_ptx_cut_free(&cut);
	}
}

/* 1 MiB of kernel and room for half of it: that kernel is left out, the others are kept. */
static void a_kernel_without_room_is_left_out(void **state)
{
	static const char head[] = ".version 8.3\n.target sm_90\n.entry a()\n{\nret;\n}\n.entry b()\n{\n";
	static const char tail[] = "}\n.entry c()\n{\nret;\n}\n";
	struct kc_ptx_wanted wanted[] = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;

	(void)state;
	kc_ptx_cut_begin(&cut, wanted, 3, (size_t)512 << 10);
	assert_int_equal(kc_ptx_cut_feed(&cut, head, strlen(head)), 0);
	for (int i = 0; i < (1 << 20) / 16; i++)
		assert_int_equal(kc_ptx_cut_feed(&cut, "bar.sync     0;\n", 16), 0);
	assert_int_equal(kc_ptx_cut_feed(&cut, tail, strlen(tail)), 0);
	assert_true(wanted[0].found && !wanted[0].no_room);
	assert_true(wanted[1].found && wanted[1].no_room);
	assert_true(wanted[2].found && !wanted[2].no_room);
	parse_cut(&cut, &wanted[2], &module);
	assert_non_null(kc_ptx_find(&module, "c"));
	kc_ptx_free(&module);
	kc_ptx_cut_free(&cut);
}

/* Letters in no order, which cannot be packed, as a comment. */
static void feed_noise(struct kc_ptx_cut *cut, size_t length, uint32_t *state)
{
	char text[256] = "//";

	while (length) {
		size_t part = length < sizeof(text) ? length : sizeof(text);

		for (size_t i = 2; i < part; i++) {
			*state = *state * 1664525 + 1013904223; /* Numerical Recipes, "An Even Quicker Generator" */
			text[i] = (char)('A' + (*state >> 24) % 58);
		}
		text[part - 1] = '\n';
		assert_int_equal(kc_ptx_cut_feed(cut, text, part), 0);
		length -= part;
	}
}

/* Many kernels that fill the memory, and a declaration behind each: some kernels are left out, no declaration is. */
static void kernels_leave_room_for_declarations(void **state)
{
	struct kc_ptx_wanted wanted[64];
	char names[64][8], text[128];
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;
	uint32_t noise = 1;
	int kept = 0;

	(void)state;
	for (int i = 0; i < 64; i++) {
		snprintf(names[i], sizeof(names[i]), "k%d", i);
		wanted[i].name = names[i];
	}
	kc_ptx_cut_begin(&cut, wanted, 64, (size_t)128 << 10);
	assert_int_equal(kc_ptx_cut_feed(&cut, ".version 8.3\n.target sm_90\n", 27), 0);
	for (int i = 0; i < 64; i++) {
		snprintf(text, sizeof(text), ".entry k%d()\n{\n", i);
		assert_int_equal(kc_ptx_cut_feed(&cut, text, strlen(text)), 0);
		feed_noise(&cut, 4800, &noise);
		snprintf(text, sizeof(text), "}\n.global .align 4 .b32 v%d;\n", i);
		assert_int_equal(kc_ptx_cut_feed(&cut, text, strlen(text)), 0);
	}
	for (int i = 0; i < 64; i++)
		kept += !wanted[i].no_room;
	assert_in_range(kept, 8, 26); /* of 4.8 KB each, in 3/4 of 128 KiB */
	parse_cut(&cut, &wanted[0], &module);
	assert_int_equal(module.variable_count, 64);
	kc_ptx_free(&module);
	kc_ptx_cut_free(&cut);
}

/* Eight kernels of 128 KiB each in 512 KiB, as their lines resemble each other; each is parsed as it was given. What
 * cannot be packed stays as it is among them. */
static void kernels_are_kept_packed(void **state)
{
	static const char *const names[] = {"k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7"};
	struct kc_ptx_wanted wanted[8];
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;
	uint32_t noise = 1;
	char line[64];

	(void)state;
	for (int i = 0; i < 8; i++)
		wanted[i].name = names[i];
	kc_ptx_cut_begin(&cut, wanted, 8, (size_t)512 << 10);
	assert_int_equal(kc_ptx_cut_feed(&cut, ".version 8.3\n.target sm_90\n", 27), 0);
	for (int i = 0; i < 8; i++) {
		snprintf(line, sizeof(line), ".entry %s()\n{\n.reg .b32 %%r<9>;\n", names[i]);
		assert_int_equal(kc_ptx_cut_feed(&cut, line, strlen(line)), 0);
		if (i == 5)
			feed_noise(&cut, 16384, &noise);
		for (int n = 0; n < 4096; n++) {
			int length = snprintf(line, sizeof(line), "add.u32 %%r%d, %%r%d, %10d;\n", n % 9, i, n);

			assert_int_equal(kc_ptx_cut_feed(&cut, line, (size_t)length), 0);
		}
		assert_int_equal(kc_ptx_cut_feed(&cut, "}\n", 2), 0);
	}
	assert_true(cut.kernels.length < 384 << 10);
	for (int i = 8; i--;) {
		assert_true(wanted[i].found && !wanted[i].no_room && wanted[i].length > 100000);
		parse_cut(&cut, &wanted[i], &module);
		assert_int_equal(module.functions[0].instruction_count, 4096);
		for (uint32_t n = 0; n < 4096; n++) {
			const struct kc_ptx_instruction *add = &module.functions[0].instructions[n];

			assert_int_equal(add->operands[1].number, (uint32_t)i);
			assert_int_equal(add->operands[2].value, n);
		}
		kc_ptx_free(&module);
		kc_ptx_cut_drop(&cut, &wanted[i]);
	}
	assert_int_equal(cut.kernels.length, 0);
	kc_ptx_cut_free(&cut);
}

/* f0 calls f1, which calls f2, and so on. */
static void a_long_chain_of_calls_comes_along(void **state)
{
	struct kc_ptx_wanted k = {.name = "k"};
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;
	char text[128];

	(void)state;
	kc_ptx_cut_begin(&cut, &k, 1, MEMORY_BYTES);
	assert_int_equal(kc_ptx_cut_feed(&cut, ".version 8.3\n.target sm_90\n", 27), 0);
	for (int i = 40; i >= 0; i--) {
		snprintf(text, sizeof(text), ".func f%d()\n{\n%s f%d;\nret;\n}\n", i, i == 40 ? "// " : "call", i + 1);
		assert_int_equal(kc_ptx_cut_feed(&cut, text, strlen(text)), 0);
	}
	snprintf(text, sizeof(text), ".entry k()\n{\ncall f0;\nret;\n}\n");
	assert_int_equal(kc_ptx_cut_feed(&cut, text, strlen(text)), 0);
	parse_cut(&cut, &k, &module);
	assert_non_null(kc_ptx_find(&module, "f40"));
	kc_ptx_free(&module);
	kc_ptx_cut_free(&cut);
}

/* Blank lines are kept nowhere, and what is kept has a limit whatever it is. */
static void memory_is_limited_for_all_together(void **state)
{
	static const char function[] = ".func f()\n{\nret;\n}\n";
	struct kc_ptx_cut cut;
	int rc = 0;

	(void)state;
	kc_ptx_cut_begin(&cut, NULL, 0, (size_t)64 << 10);
	for (int i = 0; i < 1 << 18 && !rc; i++)
		rc = kc_ptx_cut_feed(&cut, "\n\n\n\n\n\n\n\n", 8);
	assert_int_equal(rc, 0);
	assert_in_range(cut.common.length, 0, 16);
	for (int i = 0; i < 100000 && !rc; i++)
		rc = kc_ptx_cut_feed(&cut, function, strlen(function));
	assert_int_equal(rc, -ENOMEM);
	assert_in_range(kc_ptx_cut_bytes(&cut), 1, 64 << 10);
	kc_ptx_cut_free(&cut);
}

static void a_kernel_that_is_done_is_dropped(void **state)
{
	struct kc_ptx_wanted wanted[] = {{.name = "second"}, {.name = "third"}, {.name = "first"}};
	struct kc_ptx_module module;
	struct kc_ptx_cut cut;
	size_t before_bytes, length;

	(void)state;
	cut_out(&cut, wanted, 3, sizeof(module_text));
	before_bytes = kc_ptx_cut_bytes(&cut);
	length = cut.kernels.length - wanted[0].kept;
	kc_ptx_cut_drop(&cut, &wanted[0]);
	assert_false(wanted[0].found);
	assert_int_equal(cut.kernels.length, length);
	assert_int_equal(wanted[1].kept + wanted[2].kept, length);
	assert_true(kc_ptx_cut_bytes(&cut) < before_bytes);
	parse_cut(&cut, &wanted[1], &module);
	assert_int_equal(kc_ptx_find(&module, "third")->instruction_count, 2);
	kc_ptx_free(&module);
	parse_cut(&cut, &wanted[2], &module);
	assert_int_equal(kc_ptx_find(&module, "first")->max_threads[0], 128);
	kc_ptx_free(&module);
	kc_ptx_cut_drop(&cut, &wanted[0]); /* it has no text any more */
	kc_ptx_cut_drop(&cut, &wanted[2]);
	kc_ptx_cut_drop(&cut, &wanted[1]);
	assert_int_equal(cut.kernels.length, 0);
	kc_ptx_cut_free(&cut);
}

/* Each of these would take minutes, were the declaration's beginning looked through again at each brace or comment. */
static void long_declarations_take_no_longer_than_others(void **state)
{
	static const char *const beginnings[] = {".word ", "        "}, *const rests[] = {"{}", "/**/", "\n"};
	struct kc_ptx_cut cut;

	(void)state;
	for (uint32_t n = 0; n < 6; n++) {
		kc_ptx_cut_begin(&cut, NULL, 0, MEMORY_BYTES);
		for (uint32_t i = 0; i < 200000; i++)
			assert_int_equal(kc_ptx_cut_feed(&cut, beginnings[n % 2], strlen(beginnings[n % 2])), 0);
		assert_int_equal(kc_ptx_cut_feed(&cut, "x ", 2), 0);
		for (uint32_t i = 0; i < 200000; i++)
			assert_int_equal(kc_ptx_cut_feed(&cut, rests[n / 2], strlen(rests[n / 2])), 0);
		kc_ptx_cut_free(&cut);
	}
}

static void declarations_without_room_are_refused(void **state)
{
	static const char line[] = ".global .align 4 .b8 a_name_of_some_length[8];\n";
	struct kc_ptx_cut cut;
	int rc = 0;

	(void)state;
	kc_ptx_cut_begin(&cut, NULL, 0, (size_t)64 << 10);
	for (int i = 0; i < 4096 && !rc; i++)
		rc = kc_ptx_cut_feed(&cut, line, strlen(line));
	assert_int_equal(rc, -ENOMEM);
	kc_ptx_cut_free(&cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_what_is_wanted_is_kept),
	    cmocka_unit_test(all_kernels_are_kept_up_to_so_many),
	    cmocka_unit_test(called_functions_come_along),
	    cmocka_unit_test(parts_may_end_anywhere),
	    cmocka_unit_test(refusals_have_the_offset_of_the_text),
	    cmocka_unit_test(a_kernel_without_room_is_left_out),
	    cmocka_unit_test(kernels_leave_room_for_declarations),
	    cmocka_unit_test(kernels_are_kept_packed),
	    cmocka_unit_test(a_long_chain_of_calls_comes_along),
	    cmocka_unit_test(memory_is_limited_for_all_together),
	    cmocka_unit_test(a_kernel_that_is_done_is_dropped),
	    cmocka_unit_test(long_declarations_take_no_longer_than_others),
	    cmocka_unit_test(declarations_without_room_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
