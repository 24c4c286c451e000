#include "cfg.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define HEAD ".version 8.0\n.target sm_75\n.address_size 64\n"
#define BODY(text)                                                                                                     \
	HEAD ".visible .entry k(.param .u64 a, .param .u32 n)\n{\n.reg .pred %p<9>;\n.reg .b32 %r<9>;\n" text "}\n"
#define MEMORY ((size_t)16 << 20)

struct read {
	struct kc_ptx_module module;
	struct kc_arena arena;
	struct kc_cfg cfg;
	struct kc_refusal refusal;
	int rc;
};

static void read_text(struct read *r, const char *text)
{
	assert_int_equal(kc_ptx_parse(&r->module, text, strlen(text), MEMORY, &r->refusal), 0);
	kc_arena_init(&r->arena, MEMORY);
	r->rc = kc_cfg_read(&r->cfg, &r->arena, &r->module, kc_ptx_find(&r->module, "k"), &r->refusal);
}

static void let_go(struct read *r)
{
	kc_arena_free(&r->arena);
	kc_ptx_free(&r->module);
}

static void blocks_of_an_if_else(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, BODY("setp.eq.s32 %p1, %r1, 0;\n@%p1 bra L1;\nadd.s32 %r2, %r1, 1;\nbra L2;\n"
			   "L1: add.s32 %r2, %r1, 2;\nL2: ret;\n"));
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.cfg.block_count, 4);
	assert_int_equal(r.cfg.loop_count, 0);
	/* In reverse postorder the join comes last; its dominator is the branch. */
	assert_int_equal(r.cfg.blocks[3].in_count, 2);
	assert_int_equal(r.cfg.blocks[3].dominator, 0);
	assert_int_equal(r.cfg.blocks[0].ends, KC_END_BRANCH);
	assert_int_equal(r.cfg.blocks[3].ends, KC_END_RETURNS);
	assert_true(kc_cfg_dominates(&r.cfg, 0, 3));
	assert_false(kc_cfg_dominates(&r.cfg, 1, 3));
	assert_false(kc_cfg_dominates(&r.cfg, 2, 3));
	let_go(&r);
}

static void a_guarded_return_goes_two_ways(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, BODY("@%p1 ret;\nadd.s32 %r2, %r1, 1;\nret;\n"));
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.cfg.block_count, 2);
	assert_int_equal(r.cfg.blocks[0].out_count, 2);
	assert_int_equal(r.cfg.edges[r.cfg.blocks[0].out].to, KC_NO_BLOCK);
	assert_int_equal(r.cfg.edges[r.cfg.blocks[0].out + 1].to, 1);
	let_go(&r);
}

static void code_that_is_never_reached_is_dropped(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, BODY("bra L1;\nadd.s32 %r2, %r1, 1;\nL1: ret;\n"));
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.cfg.block_count, 2);
	let_go(&r);
}

static void loops_in_loops(void **state)
{
	struct read r;

	(void)state;
	/* Two adjacent loops within one; each is a block with an edge to itself. */
	read_text(&r, BODY("L1: add.s32 %r1, %r1, 1;\nL2: add.s32 %r2, %r2, 1;\n@%p1 bra L2;\n"
			   "L3: add.s32 %r3, %r3, 1;\n@%p2 bra L3;\n@%p3 bra L1;\nret;\n"));
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.cfg.loop_count, 3);
	assert_int_equal(r.cfg.loops[0].depth, 0);
	assert_int_equal(r.cfg.loops[0].parent, KC_NO_LOOP);
	for (uint32_t i = 1; i < 3; i++) {
		assert_int_equal(r.cfg.loops[i].depth, 1);
		assert_int_equal(r.cfg.loops[i].parent, 0);
		assert_int_equal(r.cfg.loops[i].member_count, 1);
		assert_true(kc_cfg_holds(&r.cfg, 0, r.cfg.loops[i].header));
	}
	assert_false(kc_cfg_holds(&r.cfg, 1, r.cfg.loops[2].header));
	/* Header, the two loops, the block that leads back. */
	assert_int_equal(r.cfg.loops[0].member_count, 4);
	let_go(&r);
}

static void several_back_edges_make_one_loop(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, BODY("L1: add.s32 %r1, %r1, 1;\n@%p1 bra L1;\n@%p2 bra L1;\nret;\n"));
	assert_int_equal(r.rc, 0);
	assert_int_equal(r.cfg.loop_count, 1);
	assert_int_equal(r.cfg.loops[0].member_count, 2);
	let_go(&r);
}

static void a_loop_with_two_entries_is_refused(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, BODY("@%p1 bra L2;\nL1: add.s32 %r1, %r1, 1;\nL2: add.s32 %r2, %r2, 1;\n@%p2 bra L1;\nret;\n"));
	assert_int_equal(r.rc, -ENOTSUP);
	assert_string_equal(r.refusal.reason, "a loop with two entries");
	let_go(&r);
}

static void loops_nested_too_deep_are_refused(void **state)
{
	char text[4096] = BODY("");
	struct read r;
	size_t length = strlen(text) - 2;

	(void)state;
	for (unsigned i = 0; i < KC_LOOP_DEPTH_MAX + 1; i++)
		length += (size_t)sprintf(text + length, "L%u: add.s32 %%r1, %%r1, 1;\n", i);
	for (unsigned i = KC_LOOP_DEPTH_MAX + 1; i--;)
		length += (size_t)sprintf(text + length, "@%%p1 bra L%u;\n", i);
	strcpy(text + length, "ret;\n}\n");
	read_text(&r, text);
	assert_int_equal(r.rc, -ENOTSUP);
	assert_string_equal(r.refusal.reason, "loops nested too deeply");
	let_go(&r);
}

static void a_called_function_stands_where_it_is_called(void **state)
{
	struct read r;

	(void)state;
	read_text(
	    &r,
	    HEAD ".func (.param .b32 out) f(.param .b32 in)\n{\n.reg .b32 %r<3>;\nld.param.b32 %r1, [in];\n"
		 "st.param.b32 [out], %r1;\nret;\n}\n"
		 ".visible .entry k()\n{\n.reg .b32 %r<3>;\n{\n.param .b32 x;\nst.param.b32 [x], %r1;\n.param .b32 y;\n"
		 "call (y), f, (x);\nld.param.b32 %r2, [y];\n}\nret;\n}\n");
	assert_int_equal(r.rc, 0);
	/* st, call, the three of f, ld, ret */
	assert_int_equal(r.cfg.point_count, 7);
	assert_int_equal(r.cfg.call_count, 2);
	assert_int_equal(r.cfg.loop_count, 0);
	/* f reads the register that the caller wrote, and the caller reads the one that f returns. */
	assert_int_equal(kc_cfg_param_register(&r.cfg, 1, 0, 1), kc_cfg_param_register(&r.cfg, 0, 0, 0));
	assert_int_equal(kc_cfg_param_register(&r.cfg, 1, 0, 0), kc_cfg_param_register(&r.cfg, 0, 1, 0));
	let_go(&r);
}

static void a_recursive_call_stays_closed(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, HEAD ".func f()\n{\ncall f, ();\nret;\n}\n.visible .entry k()\n{\ncall f, ();\nret;\n}\n");
	assert_int_equal(r.rc, 0);
	/* call, call within f, f's ret, ret */
	assert_int_equal(r.cfg.point_count, 4);
	let_go(&r);
}

/* Nine predicates and nine registers, then the kernel's own two variables; what is passed to it has no register. */
static void places_of_a_kernels_variables(void **state)
{
	struct read r;

	(void)state;
	read_text(&r, BODY("{\n.param .b32 q0;\n.param .b32 q1;\nst.param.b32 [q0], %r1;\nst.param.b32 [q1], %r2;\n}\n"
			   "ret;\n"));
	assert_int_equal(r.rc, 0);
	assert_int_equal(kc_cfg_param_register(&r.cfg, 0, 0, 0), 18);
	assert_int_equal(kc_cfg_param_register(&r.cfg, 0, 1, 0), 19);
	assert_int_equal(kc_cfg_param_register(&r.cfg, 0, 2, 0), KC_NO_REGISTER);
	assert_int_equal(kc_cfg_param_register(&r.cfg, 0, 0, 1), KC_NO_REGISTER);
	let_go(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(blocks_of_an_if_else),
	    cmocka_unit_test(a_guarded_return_goes_two_ways),
	    cmocka_unit_test(code_that_is_never_reached_is_dropped),
	    cmocka_unit_test(loops_in_loops),
	    cmocka_unit_test(several_back_edges_make_one_loop),
	    cmocka_unit_test(a_loop_with_two_entries_is_refused),
	    cmocka_unit_test(loops_nested_too_deep_are_refused),
	    cmocka_unit_test(a_called_function_stands_where_it_is_called),
	    cmocka_unit_test(a_recursive_call_stays_closed),
	    cmocka_unit_test(places_of_a_kernels_variables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
