#include "diff_testing.h"

/* Which kernel came in the place of another one: "g" of "n" and the like; "": of none. */
static void check_place(struct made *m, size_t olds, const char *gone, const char *new)
{
	struct kc_diff d;
	const struct kc_diff_kernel *was;

	compare(m, olds, &d);
	was = kernel_named(m, &d, gone);
	assert_int_equal(was->what, KC_DIFF_GONE);
	assert_int_equal(reported(&d), 0);
	if (*new) {
		const struct kc_diff_kernel *is = kernel_named(m, &d, new);

		assert_int_equal(is->what, KC_DIFF_NEW);
		assert_int_equal(was->replaced, is->kernel);
		assert_int_equal(is->replaced, was->kernel);
	} else {
		assert_int_equal(was->replaced, KC_DIFF_NOWHERE);
	}
	kc_diff_free(&d);
}

static void new_gone_and_replaced(void **state)
{
	struct made m = {0};
	struct kc_diff d;

	(void)state;
	for (int i = 0; i < 20; i++) {
		launch(&m, 0, "first", 10000);
		launch(&m, 0, "gemm_v1", 50000);
		launch(&m, 0, "last", 10000);
		launch(&m, 0, "gone", 3000);
		launch(&m, 1, "first", 10000);
		launch(&m, 1, "gemm_v2", 40000);
		launch(&m, 1, "last", 10000);
	}
	for (int i = 0; i < 5; i++)
		launch(&m, 1, "new", 7000);
	compare(&m, 1, &d);
	check_sums(&d);
	assert_int_equal(reported(&d), 0);
	assert_int_equal(kernel_named(&m, &d, "gemm_v2")->what, KC_DIFF_NEW);
	assert_int_equal(kernel_named(&m, &d, "gemm_v2")->replaced, kernel_named(&m, &d, "gemm_v1")->kernel);
	assert_int_equal(kernel_named(&m, &d, "gemm_v1")->what, KC_DIFF_GONE);
	assert_int_equal(kernel_named(&m, &d, "new")->replaced, KC_DIFF_NOWHERE);
	assert_int_equal(kernel_named(&m, &d, "gone")->replaced, KC_DIFF_NOWHERE);
	assert_true(near(d.sums.new, 20 * 40000 + 5 * 7000, 1));
	assert_true(near(d.sums.gone, -20 * 53000, 1));
	kc_diff_free(&d);
	made_free(&m);
}

/* g comes 20 times after a; n ten times there, which is half, and ten times after b. */
static void half_of_the_launches_are_enough(void **state)
{
	(void)state;
	for (int less = 0; less < 2; less++) {
		struct made m = {0};

		launch_times(&m, 0, 20, "abag");
		launch_times(&m, 1, 10 - less, "aban");
		launch_times(&m, 1, 10 + less, "abna");
		check_place(&m, 1, "g", less ? "" : "n");
		made_free(&m);
	}
}

/* Of two kernels that come after the same launches. */
static void a_product_takes_the_place_of_a_product(void **state)
{
	static const struct {
		const char *gone, *new;
		int is;
	} of[] = {
	    {"cunn_SoftMaxForward", "Cijk_Alik_Bljk", 0},
	    {"nvjet_tst_64x64", "cunn_SoftMaxForward", 0},
	    {"ncclDevKernel_AllReduce_Sum_f32", "vectorized_layer_norm_kernel", 0},
	    {"ampere_sgemm_128x64", "nvjet_tst_64x64", 1},
	    {"cudnn_winograd_forward", "xmma_gemm", 1},
	    {"vectorized_layer_norm_kernel", "triton_poi_fused_add", 1},
	    {"softmax_warp_forward", "flash_fwd_kernel", 1},
	    {"mine", "nvjet_tst_64x64", 1},
	};

	(void)state;
	for (size_t k = 0; k < sizeof(of) / sizeof(*of); k++) {
		struct made m = {0};

		for (int i = 0; i < 20; i++) {
			for (int side = 0; side < 2; side++) {
				launch(&m, side, "a", 10000);
				launch(&m, side, "b", 10000);
				launch(&m, side, side ? of[k].new : of[k].gone, 50000);
			}
		}
		check_place(&m, 1, of[k].gone, of[k].is ? of[k].new : "");
		made_free(&m);
	}
}

/* Two launches before are compared, so that of a alone does not suffice. */
static void the_place_is_after_the_same_two(void **state)
{
	struct made m = {0};

	(void)state;
	launch_times(&m, 0, 20, "bagca");
	launch_times(&m, 1, 20, "bacan");
	check_place(&m, 1, "g", "");
	made_free(&m);
}

/* Both OLD runs launch g 20 times, NEW n 50 times: of these 50, 20 are at the place of g, and not 40. */
static void old_runs_count_as_one(void **state)
{
	struct made m = {0};

	(void)state;
	for (int run = 0; run < 2; run++)
		launch_times(&m, run, 20, "abag");
	launch_times(&m, 2, 50, "aban");
	check_place(&m, 2, "g", "");
	made_free(&m);
}

/* h takes more time than g, so it chooses first; p is at its place half of the times, q always. */
static void most_time_chooses_first_and_the_best(void **state)
{
	struct made m = {0};
	struct kc_diff d;
	uint32_t h, q;

	(void)state;
	launch_times(&m, 0, 20, "abag");
	for (int i = 0; i < 20; i++) {
		launch_each(&m, 0, "aba");
		launch(&m, 0, "h", 20000);
	}
	launch_times(&m, 1, 10, "abap");
	launch_times(&m, 1, 20, "abaq");
	compare(&m, 1, &d);
	h = kernel_named(&m, &d, "h")->kernel;
	q = kernel_named(&m, &d, "q")->kernel;
	assert_int_equal(kernel_named(&m, &d, "h")->replaced, q);
	assert_int_equal(kernel_named(&m, &d, "q")->replaced, h);
	assert_int_equal(kernel_named(&m, &d, "g")->replaced, kernel_named(&m, &d, "p")->kernel);
	kc_diff_free(&d);
	made_free(&m);
}

/* A baseline knows places by launches that may be gone themselves, so beside it nothing is said to be replaced. */
static void nothing_is_replaced_beside_a_baseline(void **state)
{
	struct made m = {0};
	struct kc__list parts = {0};
	struct kc_diff d;

	(void)state;
	launch_times(&m, 0, 20, "aban");
	for (int i = 0; i < 20; i++)
		part_of(&m, &parts, "g", ((float)i + 0.5f) / 20, 1)->before[0] =
		    kc_diff_position(kc_diff_shape_hash(&m.names, shape_of(&m, "a", 1)),
				     kc_diff_shape_hash(&m.names, shape_of(&m, "b", 1)));
	compare_parts(&m, &parts, 0, &d);
	assert_int_equal(kernel_named(&m, &d, "g")->what, KC_DIFF_GONE);
	assert_int_equal(kernel_named(&m, &d, "g")->replaced, KC_DIFF_NOWHERE);
	assert_int_equal(kernel_named(&m, &d, "n")->replaced, KC_DIFF_NOWHERE);
	kc_diff_free(&d);
	free(parts.at);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(new_gone_and_replaced),
	    cmocka_unit_test(half_of_the_launches_are_enough),
	    cmocka_unit_test(a_product_takes_the_place_of_a_product),
	    cmocka_unit_test(the_place_is_after_the_same_two),
	    cmocka_unit_test(old_runs_count_as_one),
	    cmocka_unit_test(most_time_chooses_first_and_the_best),
	    cmocka_unit_test(nothing_is_replaced_beside_a_baseline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
