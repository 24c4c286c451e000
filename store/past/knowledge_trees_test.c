/* Trees in files of knowledge: which are refused, what the others say, and where it is used. */
#include "knowledge_testing.h"

static void trees_that_cannot_be_asked_are_refused(void **state)
{
	struct file f;

	(void)state;
	REFUSED(f.leaves[0][0] = 32767); /* 32 in log time */
	REFUSED(f.leaves[1][KC_PRIOR_LEAVES - 1] = -32768);
	REFUSED(f.head.tree_count = 0);
	REFUSED(f.head.tree_count = 1);
	REFUSED(f.head.tree_count = UINT32_MAX);
	REFUSED(f.head.limit_count = 1);
	REFUSED(f.head.limit_count = UINT32_MAX);
	REFUSED(f.trained.simulated = 2);
	REFUSED(f.trained.base = NAN);
	REFUSED(f.trained.base = 21);
	REFUSED(f.trained.leaf = 0);
	REFUSED(f.trained.leaf = INFINITY);
	REFUSED(f.trained.leaf = 0.1f); /* 30 + 2 */
	REFUSED(f.trained.limits_at[0] = 1);
	REFUSED(f.trained.limits_at[1] = 3);
	REFUSED(f.trained.limits_at[KC_TRAITS] = 1);
	REFUSED(f.trained.limits_at[5] = 1);
	REFUSED(f.limits[0] = NAN);
	REFUSED(f.limits[1] = INFINITY);
	REFUSED(f.trained.limits_at[1] = 2; f.limits[1] = 0); /* two of one trait */
	REFUSED(f.nodes[0][0] = NODE(KC_TRAITS + KC_PRIOR_WORDS, 0, LEAF(0), 1));
	REFUSED(f.nodes[0][0] = NODE(KC_TRAIT_WAVES, 0, LEAF(KC_PRIOR_LEAVES), 1));
	REFUSED(f.nodes[0][0] = NODE(KC_TRAIT_WAVES, 0, 0, 1));
	REFUSED(f.nodes[0][0] = NODE(KC_TRAIT_WAVES, 0, LEAF(0), KC_PRIOR_NODES));
	REFUSED(f.nodes[0][1] = NODE(KC_TRAIT_WAVES, 0, LEAF(0), 1));
	REFUSED(f.nodes[0][1] = NODE(KC_TRAIT_WAVES, 0, LEAF(0), 2)); /* which leads back to the first */
	make(&f);
	f.nodes[1][1] = UINT32_MAX; /* nothing leads there */
	seal(&f);
	assert_int_equal(check(&f, FILE_BYTES), 0);
	f.trained.continues++; /* other built-in trees */
	seal(&f);
	assert_int_equal(check(&f, FILE_BYTES), -EPROTO);
}

/* The base and the largest leaf of each tree together: a factor of e^20 either way. */
static void trees_may_add_so_much(void **state)
{
	(void)state;
	TAKEN(memset(f.leaves, 0, sizeof(f.leaves)); f.trained.base = 20);
	TAKEN(memset(f.leaves, 0, sizeof(f.leaves)); f.trained.base = -20);
	REFUSED(memset(f.leaves, 0, sizeof(f.leaves)); f.trained.base = 20.01f);
	REFUSED(memset(f.leaves, 0, sizeof(f.leaves)); f.trained.base = -20.01f);
	TAKEN(memset(f.leaves, 0, sizeof(f.leaves)); f.leaves[0][0] = f.leaves[1][1] = -1000; f.trained.leaf = 0.01f;
	      f.trained.base = 0);
	REFUSED(memset(f.leaves, 0, sizeof(f.leaves)); f.leaves[0][0] = f.leaves[1][1] = -1001; f.trained.leaf = 0.01f;
		f.trained.base = 0);
}

static void trees_of_the_file_say_what_their_tables_say(void **state)
{
	float traits[KC_TRAITS] = {0};
	const struct kc_prior_trees *trees;
	struct kc_knowledge k = {0};
	struct file f;
	char why[200];

	(void)state;
	make(&f);
	assert_int_equal(kc_knowledge_check(&f, FILE_BYTES, &k, why, sizeof(why)), 0);
	trees = kc_knowledge_trees(&k, &a100);
	assert_non_null(trees);
	assert_float_equal(kc_prior_ask(trees, traits, 0), 0.61, 1e-6); /* at its limit a trait is below it */
	traits[KC_TRAIT_WAVES] = 0.1f;
	assert_float_equal(kc_prior_ask(trees, traits, UINT64_MAX ^ 1u << WORD), 0.31, 1e-6);
	traits[KC_TRAIT_BLOCKS] = 3.5f;
	assert_float_equal(kc_prior_ask(trees, traits, 1u << WORD), 0.82, 1e-6);
}

/* 64 blocks are less than a wave and more than e^3: 0.5 + 0.1 + 0.02. */
static void trees_of_the_file_add_to_the_first_guess(void **state)
{
	struct kc_device simulated = a100;
	struct kc_knowledge k = {0};
	struct world with, without;
	struct file f;
	char why[200];

	(void)state;
	make(&f);
	assert_int_equal(kc_knowledge_check(&f, FILE_BYTES, &k, why, sizeof(why)), 0);
	meet(&without, NULL, &a100);
	meet(&with, &k, &a100);
	assert_float_equal(with.variant.prior_log_ns - without.variant.prior_log_ns, 0.62, 1e-5);
	assert_float_equal(with.variant.scale.log_guess_ns, without.variant.scale.log_guess_ns, 0);
	simulated.simulated = 1; /* GPUs' trees are not for it, */
	meet(&with, &k, &simulated);
	assert_float_equal(with.variant.prior_log_ns, without.variant.prior_log_ns, 0);
	f.trained.simulated = 1; /* and its own not for GPUs */
	seal(&f);
	assert_int_equal(kc_knowledge_check(&f, FILE_BYTES, &k, why, sizeof(why)), 0);
	meet(&with, &k, &a100);
	assert_float_equal(with.variant.prior_log_ns, without.variant.prior_log_ns, 0);
	meet(&with, &k, &simulated);
	assert_float_equal(with.variant.prior_log_ns - without.variant.prior_log_ns, 0.62, 1e-5);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(trees_that_cannot_be_asked_are_refused),
	    cmocka_unit_test(trees_may_add_so_much),
	    cmocka_unit_test(trees_of_the_file_say_what_their_tables_say),
	    cmocka_unit_test(trees_of_the_file_add_to_the_first_guess),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
