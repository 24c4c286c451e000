#include "ptx.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY_BYTES ((size_t)4 << 20)

#define HEADER ".version 8.3\n.target sm_90a\n.address_size 64\n"

static void parse(struct kc_ptx_module *module, const char *text)
{
	struct kc_refusal refusal = {0};

	if (kc_ptx_parse(module, text, strlen(text), MEMORY_BYTES, &refusal))
		fail_msg("at %zu: %s", refusal.offset, refusal.reason);
}

static const struct kc_ptx_instruction *body(struct kc_ptx_module *module, const char *lines)
{
	char text[4096];

	snprintf(text, sizeof(text),
		 HEADER ".visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1)\n{\n"
			".reg .pred %%p<4>; .reg .b32 %%r<8>; .reg .f32 %%f<8>; .reg .b64 %%rd<8>;\n"
			".shared .align 4 .b8 tile[1024];\n%s\n}\n",
		 lines);
	parse(module, text);
	return module->functions[0].instructions;
}

static void versions_and_targets_are_read(void **state)
{
	struct kc_ptx_module module;

	(void)state;
	parse(&module, HEADER);
	assert_int_equal(module.version_major, 8);
	assert_int_equal(module.version_minor, 3);
	assert_int_equal(module.target, 90);
	assert_int_equal(module.function_count, 0);
	kc_ptx_free(&module);
}

/* As in a C struct: u8 at 0, u64 at 8, 12 bytes aligned to 4 at 16, u16 at 28, f64 at 32. */
static void parameters_lie_as_in_a_struct(void **state)
{
	static const uint32_t offsets[] = {0, 8, 16, 28, 32}, sizes[] = {1, 8, 12, 2, 8};
	struct kc_ptx_module module;

	(void)state;
	parse(&module, HEADER ".entry k(.param .u8 a, .param .u64 .ptr .global .align 4 b, .param .align 4 .b8 c[12],\n"
			      " .param .u16 d, .param .f64 e) .maxntid 128, 2 .minnctapersm 3 { ret; }");
	assert_int_equal(module.functions[0].param_count, 5);
	for (unsigned i = 0; i < 5; i++) {
		/* The .align of a pointer describes the memory it points to. */
		assert_int_equal(module.functions[0].params[i].offset_bytes, offsets[i]);
		assert_int_equal(module.functions[0].params[i].bytes, sizes[i]);
	}
	assert_true(module.functions[0].params[2].is_array);
	assert_int_equal(module.functions[0].max_threads[0], 128);
	assert_int_equal(module.functions[0].max_threads[1], 2);
	kc_ptx_free(&module);
}

static void loads_name_space_width_and_address(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_instruction *i =
	    body(&module, "ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+-16];\n"
			  "ld.param.u32 %r1, [k_param_1];\n"
			  "st.shared.f32 [tile+8], %f1;\n"
			  "ld.shared::cta.u32 %r2, [%r1-4];");

	(void)state;
	assert_int_equal(i[0].opcode, KC_PTX_LD);
	assert_int_equal(i[0].space, KC_PTX_GLOBAL);
	assert_int_equal(i[0].vector, 4);
	assert_int_equal(i[0].type, KC_PTX_F32);
	assert_int_equal(i[0].results, 1);
	assert_int_equal(i[0].operands[0].kind, KC_PTX_VECTOR);
	assert_int_equal(i[0].operands[0].count, 4);
	assert_int_equal(i[0].operands[1].kind, KC_PTX_ADDRESS);
	assert_int_equal(i[0].operands[1].base, KC_PTX_BASE_REGISTER);
	assert_int_equal(i[0].operands[1].value, -16);
	assert_string_equal(i[0].spelling, "ld.global.nc.L1::no_allocate.v4.f32");
	assert_int_equal(i[1].operands[1].base, KC_PTX_BASE_PARAM);
	assert_int_equal(i[1].operands[1].number, 1);
	assert_int_equal(i[2].results, 0);
	assert_int_equal(i[2].operands[0].base, KC_PTX_BASE_SYMBOL);
	assert_int_equal(i[2].operands[0].value, 8);
	assert_string_equal(kc_ptx_symbol(&module, &module.functions[0], i[2].operands[0].number)->name, "tile");
	assert_int_equal(i[3].space, KC_PTX_SHARED);
	assert_int_equal(i[3].operands[1].value, -4);
	kc_ptx_free(&module);
}

static void modifiers_belong_to_their_opcode(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_instruction *i = body(&module, "mul.lo.s32 %r1, %r2, -3;\n"
							   "mul.wide.u32 %rd1, %r1, 0x10;\n"
							   "setp.lo.and.u32 %p1|%p2, %r1, %r2, !%p3;\n"
							   "cvt.rn.f32.s32 %f1, %r1;\n"
							   "bar.sync 0;\n"
							   "bar.arrive 0, 64;\n"
							   "shf.l.wrap.b32 %r3, %r1, %r2, 5;");

	(void)state;
	assert_int_equal(i[0].operands[2].value, -3);
	assert_int_equal(i[1].flags, KC_PTX_WIDE);
	assert_int_equal(i[1].operands[2].value, 16);
	assert_int_equal(i[2].compare, KC_PTX_LO);
	assert_int_equal(i[2].flags, KC_PTX_BOOL_AND);
	assert_int_equal(i[2].results, 2);
	assert_true(i[2].operands[4].negated);
	assert_int_equal(i[3].type, KC_PTX_F32);
	assert_int_equal(i[3].type2, KC_PTX_S32);
	assert_true(i[4].flags & KC_PTX_WAITS);
	assert_false(i[5].flags & KC_PTX_WAITS);
	kc_ptx_free(&module);
}

static void labels_become_indices(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_instruction *i = body(&module, "$L1: @!%p1 bra $L2;\n"
							   "bra.uni $L1;\n"
							   "$ts: .branchtargets $L1, $L2;\n"
							   "brx.idx %r1, $ts;\n"
							   "$L2:");

	(void)state;
	assert_int_equal(i[0].guard, 1);
	assert_true(i[0].guard_negated);
	assert_int_equal(i[0].target, 3);
	assert_int_equal(i[1].guard, KC_PTX_NO_REGISTER);
	assert_int_equal(i[1].target, 0);
	assert_int_equal(i[2].target_count, 2);
	assert_int_equal(i[2].targets[1], 3);
	assert_int_equal(module.functions[0].instruction_count, 3);
	kc_ptx_free(&module);
}

/* Inline assembly that appears twice has its label twice: PTX ISA, "Grouping Instructions", names are those of the
 * block. */
static void labels_are_those_of_their_block(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_instruction *i = body(&module, "L: mov.u32 %r1, 1;\n"
							   "{ L: mov.u32 %r1, 2; @%p1 bra L; { bra L; } }\n"
							   "{ bra OUT; @%p1 bra L; L: mov.u32 %r1, 3; }\n"
							   "bra L;\n"
							   "OUT: ret;");

	(void)state;
	assert_int_equal(i[2].target, 1);
	assert_int_equal(i[3].target, 1);
	assert_int_equal(i[4].target, 8);
	assert_int_equal(i[5].target, 6);
	assert_int_equal(i[7].target, 0);
	kc_ptx_free(&module);
}

/* 0f3F800000 is 1.0f; PTX ISA, "Floating-Point Constants". */
static void numbers_are_read(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_instruction *i = body(&module, "mov.f32 %f1, 0f3F800000;\n"
							   "mov.b64 %rd1, 0xffffffffffffffff;\n"
							   "mov.u32 %r1, 0b101U;\n"
							   "mov.u32 %r2, %ctaid.y;\n"
							   "mov.u32 %r3, %laneid;\n"
							   "mov.u64 %rd2, %clock64;\n"
							   "mov.f64 %rd2, 0.5;");
	double half;

	(void)state;
	assert_int_equal(i[0].operands[1].kind, KC_PTX_FLOAT);
	assert_int_equal(i[0].operands[1].value, 0x3f800000);
	assert_int_equal(i[1].operands[1].value, -1);
	assert_int_equal(i[2].operands[1].value, 5);
	assert_int_equal(i[3].operands[1].number, KC_PTX_CTAID_Y);
	assert_int_equal(i[4].operands[1].number, KC_PTX_LANEID);
	assert_int_equal(i[5].operands[1].kind, KC_PTX_SPECIAL);
	assert_int_equal(i[5].operands[1].number, KC_PTX_SPECIAL_OTHER);
	memcpy(&half, &i[6].operands[1].value, sizeof(half));
	assert_true(half == 0.5);
	kc_ptx_free(&module);
}

static void calls_and_scopes(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_function *f;

	(void)state;
	parse(&module, HEADER ".global .align 8 .u64 table[4] = {1, 2, {3}, 4};\n"
			      ".func (.param .b32 out) g(.param .b32 in);\n"
			      ".func (.param .b32 out) g(.param .b32 in)\n"
			      "{ .reg .b32 %r<2>; ld.param.b32 %r1, [in]; st.param.b32 [out+0], %r1; ret; }\n"
			      ".entry k() { .reg .b32 %r<3>; .reg .b64 %rd1;\n"
			      "{ // callseq 0, 0\n"
			      ".reg .b32 temp_param_reg; .param .b32 param0; .param .b32 retval0;\n"
			      "st.param.b32 [param0+0], %r1;\n"
			      "call.uni (retval0), g, (param0);\n"
			      "ld.param.b32 %r2, [retval0+0]; }\n"
			      "mov.u64 %rd1, table; ret; }");
	assert_int_equal(module.function_count, 3);
	assert_false(module.functions[0].has_body);
	assert_int_equal(module.variables[0].bytes, 32);
	f = kc_ptx_find(&module, "k");
	assert_non_null(f);
	assert_int_equal(f->instruction_count, 5);
	assert_int_equal(f->instructions[1].opcode, KC_PTX_CALL);
	assert_int_equal(f->instructions[1].operand_count, 3);
	assert_int_equal(f->instructions[1].results, 1);
	assert_string_equal(f->instructions[1].operands[1].text, "g");
	assert_int_equal(f->instructions[3].operands[1].kind, KC_PTX_SYMBOL);
	assert_string_equal(kc_ptx_symbol(&module, f, f->instructions[3].operands[1].number)->name, "table");
	f = kc_ptx_find(&module, "g");
	assert_int_equal(f->instructions[0].operands[1].base, KC_PTX_BASE_PARAM);
	kc_ptx_free(&module);
}

/* PTX ISA, "mov": mov.u32 ptr, A[5] moves the address of A[5]. That of a .v4 is what ptxas 13.0 makes of it. */
static void an_address_may_be_an_elements(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_instruction *i;

	(void)state;
	parse(&module, HEADER ".global .u16 table[8];\n"
			      ".entry k() { .reg .b64 %rd<3>; .shared .align 16 .v4 .f32 tile[64];\n"
			      "mov.u64 %rd0, table[5]; mov.u64 %rd1, tile[3]; mov.u64 %rd2, tile[0]; ret; }");
	i = module.functions[0].instructions;
	assert_int_equal(i[0].operands[1].kind, KC_PTX_SYMBOL);
	assert_int_equal(i[0].operands[1].value, 5 * 2);
	assert_string_equal(kc_ptx_symbol(&module, &module.functions[0], i[1].operands[1].number)->name, "tile");
	assert_int_equal(i[1].operands[1].value, 3 * 4);
	assert_int_equal(i[2].operands[1].value, 0);
	kc_ptx_free(&module);
}

struct bad {
	const char *text, *at, *reason;
};

static void what_is_not_ptx_is_refused_with_its_place(void **state)
{
	static const struct bad bad[] = {
	    {"", "", ".version"},
	    {"int main(void)", "int", ".version"},
	    {".version 12.0\n.target sm_90\n", "12.0", "newer"},
	    {HEADER ".entry k() { bra nowhere; }", "bra", "no label"},
	    {HEADER ".entry k() { add.s32 %r1", "", "the text ends"},
	    {HEADER ".entry k() { @%p1 ret; }", "%p1", "a predicate"},
	    {HEADER ".entry k() { ret; /* ", "/*", "does not end"},
	    {HEADER ".entry k() { .reg .b32 %r<99999999>; }", "99999999", "too large"},
	    {HEADER ".entry k() { mov.b32 %clock, 0q12; }", "0q12", "not a number"},
	    {HEADER ".shared .b8 a[4294967295][4294967295];", "4294967295];", "too large"},
	    {HEADER "\x01", "\x01", "not PTX"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct kc_ptx_module module;
		struct kc_refusal refusal = {0};
		const char *at = *bad[i].at ? strstr(bad[i].text, bad[i].at) : bad[i].text + strlen(bad[i].text);

		assert_int_equal(kc_ptx_parse(&module, bad[i].text, strlen(bad[i].text), MEMORY_BYTES, &refusal),
				 -EBADMSG);
		if (!strstr(refusal.reason, bad[i].reason))
			fail_msg("%s: %s", bad[i].text, refusal.reason);
		if (refusal.offset < (size_t)(at - bad[i].text) || refusal.offset > (size_t)(at - bad[i].text) + 12)
			fail_msg("%s: at %zu", bad[i].text, refusal.offset);
	}
}

static void memory_is_bounded(void **state)
{
	static const char text[] = HEADER ".entry k() { .reg .b32 %r<1000000>; }";
	struct kc_ptx_module module;

	(void)state;
	assert_int_equal(kc_ptx_parse(&module, text, strlen(text), 1 << 16, NULL), -ENOMEM);
}

/* A comment that never ends hides the last one from the parser as well. */
static void names_are_found_without_parsing(void **state)
{
	static const char text[] =
	    HEADER ".visible .entry one() { ret; }\n.entry/* .entry word */\n two(.param .u32 n) {"
		   " not PTX }\n.func f() {}.entry \"s\" .entry $three /* .entry";
	static const char *const names[] = {"one", "two", "word", "$three"};
	const char *name;
	size_t at = 0, length;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(kc_ptx_next_entry(text, strlen(text), &at, &name, &length), 1);
		assert_int_equal(length, strlen(names[i]));
		assert_memory_equal(name, names[i], length);
	}
	assert_int_equal(kc_ptx_next_entry(text, strlen(text), &at, &name, &length), 0);
}

/* Opcodes that this parser has no number for are kept as they are spelled. */
static void unknown_opcodes_are_kept(void **state)
{
	struct kc_ptx_module module;
	const struct kc_ptx_instruction *i = body(&module, "tcgen99.mma.kind::f16 [%r1], %rd1, %p1;");

	(void)state;
	assert_int_equal(i[0].opcode, KC_PTX_OTHER);
	assert_string_equal(i[0].spelling, "tcgen99.mma.kind::f16");
	kc_ptx_free(&module);
}

/* By the PTX ISA, "Fundamental Types", "Alternate Floating-Point Data Formats" and "Packed Data Types". */
static void types_and_their_sizes(void **state)
{
	static const struct {
		const char *name;
		uint32_t bytes;
		int is_float, is_signed;
	} types[] = {
	    {"b8", 1, 0, 0},    {"u8", 1, 0, 0},  {"s8", 1, 0, 1},   {"b16", 2, 0, 0},   {"u16", 2, 0, 0},
	    {"s16", 2, 0, 1},   {"f16", 2, 1, 0}, {"bf16", 2, 1, 0}, {"b32", 4, 0, 0},   {"u32", 4, 0, 0},
	    {"s32", 4, 0, 1},   {"f32", 4, 1, 0}, {"tf32", 4, 1, 0}, {"f16x2", 4, 1, 0}, {"bf16x2", 4, 1, 0},
	    {"b64", 8, 0, 0},   {"u64", 8, 0, 0}, {"s64", 8, 0, 1},  {"f64", 8, 1, 0},   {"f32x2", 8, 1, 0},
	    {"b128", 16, 0, 0},
	};

	(void)state;
	for (size_t n = 0; n < sizeof(types) / sizeof(*types); n++) {
		struct kc_ptx_module module;
		const struct kc_ptx_instruction *i;
		char text[64];

		snprintf(text, sizeof(text), "ld.global.%s %%r1, [%%rd1];", types[n].name);
		i = body(&module, text);
		assert_int_equal(kc_ptx_type_bytes(i[0].type), types[n].bytes);
		assert_int_equal(kc_ptx_type_is_float(i[0].type), types[n].is_float);
		assert_int_equal(kc_ptx_type_is_signed(i[0].type), types[n].is_signed);
		kc_ptx_free(&module);
	}
	assert_int_equal(kc_ptx_type_bytes(KC_PTX_PRED), 1);
	assert_int_equal(kc_ptx_type_bytes(KC_PTX_OTHER_TYPE), 0);
	assert_int_equal(kc_ptx_type_bytes(KC_PTX_OTHER_TYPE + 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(versions_and_targets_are_read),
	    cmocka_unit_test(parameters_lie_as_in_a_struct),
	    cmocka_unit_test(loads_name_space_width_and_address),
	    cmocka_unit_test(modifiers_belong_to_their_opcode),
	    cmocka_unit_test(labels_become_indices),
	    cmocka_unit_test(labels_are_those_of_their_block),
	    cmocka_unit_test(numbers_are_read),
	    cmocka_unit_test(calls_and_scopes),
	    cmocka_unit_test(an_address_may_be_an_elements),
	    cmocka_unit_test(what_is_not_ptx_is_refused_with_its_place),
	    cmocka_unit_test(memory_is_bounded),
	    cmocka_unit_test(names_are_found_without_parsing),
	    cmocka_unit_test(unknown_opcodes_are_kept),
	    cmocka_unit_test(types_and_their_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
