/* Formulas of some 100 KB each: which give way, and that no memory is lost or counted twice. */
#include "formulas.h"
#include "shim/tables/memory.h"
#include "shim/tables/tables_testing.h"
#include "shim/entry/real.h"

#include <errno.h>

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

#define FORMULAS 64
#define READERS_BYTES ((size_t)6 << 20)

static struct kc_ptx_module module;
static size_t others_bytes; /* that something else has taken of the share */
static size_t cost_bytes;   /* of one formula */

#define MANY 400
#define FEW 100

/* p1 rounds of an inner loop with so many variables, all of which the address depends on. */
static void parse(int variables)
{
	static char text[128 << 10];
	char *at =
	    text + sprintf(text, ".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k(.param .u64 a, "
				 ".param .u32 n)\n{\n.reg .pred %%p<2>;\n.reg .b32 %%r<404>;\n.reg .b64 %%rd<4>;\n"
				 "ld.param.u64 %%rd1, [a];\nld.param.u32 %%r1, [n];\nmov.u32 %%r0, 0;\n");

	for (int i = 2; i < variables + 2; i++)
		at += sprintf(at, "mov.u32 %%r%d, %%tid.x;\n", i);
	at += sprintf(at, "LOOP:\n");
	for (int i = 2; i < variables + 2; i++)
		at += sprintf(at, "add.s32 %%r%d, %%r%d, %%r%d;\n", i, i, i == 2 ? 1 : i - 1);
	sprintf(at,
		"add.s32 %%r0, %%r0, 1;\nsetp.lt.s32 %%p1, %%r0, %%r1;\n@%%p1 bra LOOP;\n"
		"mul.wide.s32 %%rd2, %%r%d, 4;\nadd.s64 %%rd3, %%rd1, %%rd2;\nst.global.u32 [%%rd3], %%r1;\nret;\n}\n",
		variables + 1);
	assert_int_equal(kc_ptx_parse(&module, text, strlen(text), 16 << 20, NULL), 0);
}

static size_t left(void)
{
	return kc__share_left(KC__SHARE_CODE);
}

/* Something else takes all but so many bytes of the share. */
static void leave(size_t bytes)
{
	kc__share_give(KC__SHARE_CODE, others_bytes);
	others_bytes = left() - bytes;
	assert_true(kc__share_take(KC__SHARE_CODE, others_bytes));
}

static int begin_reading(void **state)
{
	int rc = begin(state);

	parse(MANY);
	others_bytes = 0;
	leave(READERS_BYTES);
	return rc;
}

static int end_reading(void **state)
{
	kc__formulas_drop();
	kc_ptx_free(&module);
	return end(state);
}

static struct kc_cost *read_cost(void)
{
	struct kc_cost *cost;

	assert_int_equal(
	    kc_cost_read_within(&cost, &module, kc_ptx_find(&module, "k"), KC__FORMULA_BYTES, 16 << 20, NULL), 0);
	cost_bytes = kc_cost_bytes(cost);
	return cost;
}

/* NULL: there is no room. */
static struct kc__formula *put_formula(struct kc__formula *known)
{
	struct kc_cost *cost = read_cost();
	struct kc__formula *formula = known;

	if (!kc__formulas_make_room(cost)) {
		kc_cost_free(cost);
		return NULL;
	}
	pthread_mutex_lock(&kc__shim.tables_lock);
	if (!formula)
		formula = kc__formula_make(cost, kc_ptx_find(&module, "k"), false);
	assert_non_null(formula);
	kc__formulas_add(formula, cost);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return formula;
}

/* Two rounds of the loop. */
static int count(struct kc__formula *formula, struct kc_counts *counts)
{
	const struct kc_shape dims = {.grid = {1, 1, 1}, .block = {32, 1, 1}};
	uint64_t a = 0x700000000000;
	uint32_t n = 2;
	void *params[] = {&a, &n};
	int rc;

	pthread_mutex_lock(&kc__shim.tables_lock);
	rc = kc__formulas_count(formula, &dims, &(const struct kc__given){.params = params}, KC_COST_EFFORT_EXACT,
				counts);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return rc;
}

/* 3 MiB hold so many; one more takes the place of the second, as the first was evaluated meanwhile. */
static void the_one_evaluated_the_longest_time_ago_gives_way(void **state)
{
	struct kc__formula *all[FORMULAS];
	struct kc_counts counts;
	uint32_t fit;

	(void)state;
	all[0] = put_formula(NULL);
	assert_in_range(cost_bytes, KC__FORMULAS_BYTES / (FORMULAS - 2), KC__FORMULA_BYTES);
	fit = (uint32_t)(KC__FORMULAS_BYTES / cost_bytes);
	for (uint32_t i = 1; i < fit; i++)
		assert_non_null(all[i] = put_formula(NULL));
	assert_int_equal(count(all[0], &counts), 0);
	assert_true(counts.of[KC_COUNT_OF_ST_GLOBAL] == 1);
	assert_non_null(all[fit] = put_formula(NULL));
	assert_int_equal(count(all[0], &counts), 0);
	assert_int_equal(count(all[1], &counts), -ENODATA);
	assert_int_equal(count(all[fit], &counts), 0);
	assert_ptr_equal(put_formula(all[1]), all[1]); /* read again */
	assert_int_equal(count(all[1], &counts), 0);
	assert_true(counts.of[KC_COUNT_OF_ST_GLOBAL] == 1);
}

/* The first test: what evaluations need is taken once and for all of them. */
static void memory_is_counted_once(void **state)
{
	size_t scratch, formulas, page = KC__PAGE_BYTES;
	struct kc_counts counts;
	struct kc__formula *one;

	(void)state;
	one = put_formula(NULL);
	scratch = kc_cost_scratch_bytes(one->cost);
	assert_true(scratch > 0);
	formulas = (cost_bytes + page - 1) / page * page;
	scratch = (scratch + page - 1) / page * page;
	assert_int_equal(left(), READERS_BYTES - formulas - scratch);
	assert_true(kc__formulas_drop());
	assert_int_equal(left(), READERS_BYTES - scratch);
	assert_false(kc__formulas_drop());
	assert_int_equal(count(one, &counts), -ENODATA);
}

/* As many give way as a large one needs, where nothing else is left; none, where all would not be enough. */
static void only_what_helps_gives_way(void **state)
{
	struct kc__formula *few[2], *many;
	struct kc_counts counts;
	size_t few_bytes;

	(void)state;
	kc_ptx_free(&module);
	parse(FEW);
	few[0] = put_formula(NULL);
	few_bytes = cost_bytes;
	few[1] = put_formula(NULL);
	kc_ptx_free(&module);
	parse(MANY);
	leave(0);
	assert_null(put_formula(NULL));
	assert_true(cost_bytes > 2 * few_bytes + KC__PAGE_BYTES);
	assert_int_equal(count(few[0], &counts), 0);
	assert_int_equal(count(few[1], &counts), 0);
	assert_null(put_formula(NULL));
	kc__formulas_yield(2 * few_bytes + 2 * KC__PAGE_BYTES);
	assert_int_equal(left(), 0);
	leave(READERS_BYTES);
	assert_non_null(many = put_formula(NULL));
	leave(0);
	kc__formulas_yield(few_bytes / 2);
	assert_in_range(left(), few_bytes / 2, few_bytes + KC__PAGE_BYTES);
	assert_int_equal(count(few[0], &counts), -ENODATA);
	assert_int_equal(count(few[1], &counts), 0);
	leave(0);
	assert_non_null(put_formula(NULL));
	assert_int_equal(count(many, &counts), -ENODATA); /* evaluated the longest time ago, and enough */
	assert_int_equal(count(few[1], &counts), 0);
}

static void without_room_nothing_is_taken(void **state)
{
	(void)state;
	leave(4 * KC__PAGE_BYTES);
	assert_null(put_formula(NULL));
	assert_in_range(left(), 0, 4 * KC__PAGE_BYTES);
}

int main(void)
{
#define TEST_READING(name) cmocka_unit_test_setup_teardown(name, begin_reading, end_reading)
	const struct CMUnitTest tests[] = {
	    TEST_READING(memory_is_counted_once),
	    TEST_READING(the_one_evaluated_the_longest_time_ago_gives_way),
	    TEST_READING(only_what_helps_gives_way),
	    TEST_READING(without_room_nothing_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
