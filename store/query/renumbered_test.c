/* Kernels whose numbers in their names moved. */
#include "renumbered.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static int calls_left = -1; /* of kc_intern(), before those that find no memory; -1: all find some */
static int refused;         /* how many found none */

uint32_t __real_kc_intern(struct kc_intern *intern, char kind, const void *at, size_t bytes);
uint32_t __wrap_kc_intern(struct kc_intern *intern, char kind, const void *at, size_t bytes);

uint32_t __wrap_kc_intern(struct kc_intern *intern, char kind, const void *at, size_t bytes)
{
	if (calls_left == 0) {
		refused++;
		return 0;
	}
	calls_left -= calls_left > 0;
	return __real_kc_intern(intern, kind, at, bytes);
}

struct made {
	struct kc_measured_names names;
	struct kc_measured_run runs[2];
};

/* A launch of a kernel of this code and so many blocks. */
static void launch(struct made *m, int run, const char *kernel, int64_t hash, uint32_t registers, uint32_t blocks)
{
	struct kc_measured_shape shape = {.grid = {blocks, 1, 1}, .block = {128, 1, 1}};
	struct kc_measured_launch *launch = kc__list_add(&m->runs[run].launches, sizeof(*launch));
	struct kc_measured_code *code = kc__list_add(&m->runs[run].codes, sizeof(*code));

	assert_non_null(launch);
	assert_non_null(code);
	assert_int_equal(kc_measured_kernel_number(&m->names, kernel, kernel, &shape.kernel), 0);
	*launch = (struct kc_measured_launch){.ns = 1000};
	assert_int_equal(kc_measured_shape_number(&m->names, &shape, &launch->shape), 0);
	*code = (struct kc_measured_code){launch->shape, hash, registers, 0};
}

static const char *name_of(const struct made *m, int run, size_t i)
{
	const struct kc_measured_launch *launches = m->runs[run].launches.at;

	return kc_measured_kernel(&m->names, kc_measured_shape(&m->names, launches[i].shape)->kernel)->name;
}

static void renumber(struct made *m)
{
	assert_int_equal(kc_measured_renumber(&m->names, m->runs, 1, m->runs + 1), 0);
}

static void done(struct made *m)
{
	for (int run = 0; run < 2; run++)
		kc_measured_run_free(m->runs + run);
	kc_measured_names_free(&m->names);
}

/* What was 3 is 4 now and the reverse, by their code, though both have the same launch shapes. */
static void code_tells_first(void **state)
{
	struct made m = {0};

	(void)state;
	launch(&m, 0, "triton_poi_fused_add_3", 77, 10, 8);
	launch(&m, 0, "triton_poi_fused_add_4", 88, 10, 8);
	launch(&m, 1, "triton_poi_fused_add_3", 88, 10, 8);
	launch(&m, 1, "triton_poi_fused_add_4", 77, 10, 8);
	renumber(&m);
	for (int run = 0; run < 2; run++) {
		assert_string_equal(name_of(&m, run, run), "triton_poi_fused_add_4 (was _3)");
		assert_string_equal(name_of(&m, run, !run), "triton_poi_fused_add_3 (was _4)");
	}
	done(&m);
}

/* Without code: the launch shapes. A kernel that came before moved all numbers by one, also before a list of types. */
static void shapes_tell_where_code_is_not_known(void **state)
{
	struct made m = {0};

	(void)state;
	launch(&m, 0, "triton_red_fused_add_mul_1_0d1d2de", 0, 10, 8);
	launch(&m, 0, "triton_red_fused_add_mul_2_0d1d2de", 0, 10, 16);
	launch(&m, 1, "triton_red_fused_add_mul_1_0d1d2de", 0, 10, 2);
	launch(&m, 1, "triton_red_fused_add_mul_2_0d1d2de", 0, 10, 8);
	launch(&m, 1, "triton_red_fused_add_mul_3_0d1d2de", 0, 12, 16); /* registers may change */
	renumber(&m);
	assert_string_equal(name_of(&m, 0, 0), "triton_red_fused_add_mul_2_0d1d2de (was _1)");
	assert_string_equal(name_of(&m, 1, 1), name_of(&m, 0, 0));
	assert_string_equal(name_of(&m, 0, 1), "triton_red_fused_add_mul_3_0d1d2de (was _2)");
	assert_string_equal(name_of(&m, 1, 2), name_of(&m, 0, 1));
	assert_string_equal(name_of(&m, 1, 0), "triton_red_fused_add_mul_1_0d1d2de");
	done(&m);
}

/* As many of one shape as before: in the order of their numbers, 9 before 10. One more: those of the same number first.
 */
static void alike_ones_go_in_their_order(void **state)
{
	struct made m = {0};

	(void)state;
	launch(&m, 0, "triton_poi_fused_add_8", 0, 10, 8);
	launch(&m, 0, "triton_poi_fused_add_9", 0, 10, 8);
	launch(&m, 1, "triton_poi_fused_add_9", 0, 10, 8);
	launch(&m, 1, "triton_poi_fused_add_10", 0, 10, 8);
	launch(&m, 0, "triton_poi_fused_mul_5", 0, 10, 8);
	launch(&m, 1, "triton_poi_fused_mul_4", 0, 10, 8);
	launch(&m, 1, "triton_poi_fused_mul_5", 0, 10, 8);
	renumber(&m);
	assert_string_equal(name_of(&m, 0, 0), "triton_poi_fused_add_9 (was _8)");
	assert_string_equal(name_of(&m, 1, 0), name_of(&m, 0, 0));
	assert_string_equal(name_of(&m, 0, 1), "triton_poi_fused_add_10 (was _9)");
	assert_string_equal(name_of(&m, 1, 1), name_of(&m, 0, 1));
	assert_string_equal(name_of(&m, 0, 2), "triton_poi_fused_mul_5");
	assert_string_equal(name_of(&m, 1, 2), "triton_poi_fused_mul_4");
	assert_string_equal(name_of(&m, 1, 3), "triton_poi_fused_mul_5");
	done(&m);
}

/* Another size, other code, or a name with a number that is not the compiler's: the name tells. */
static void names_tell_where_nothing_else_does(void **state)
{
	struct made m = {0};

	(void)state;
	launch(&m, 0, "triton_poi_fused_add_3", 77, 10, 8);
	launch(&m, 1, "triton_poi_fused_add_3", 99, 20, 32);
	launch(&m, 0, "ampere_sgemm_32", 0, 10, 8);
	launch(&m, 1, "ampere_sgemm_64", 0, 10, 8);
	launch(&m, 0, "triton_poi_fused_add_mul_3", 0, 10, 8);
	launch(&m, 1, "triton_poi_fused_mul_3", 0, 10, 8);
	renumber(&m);
	assert_string_equal(name_of(&m, 0, 0), "triton_poi_fused_add_3");
	assert_string_equal(name_of(&m, 1, 0), "triton_poi_fused_add_3");
	assert_string_equal(name_of(&m, 0, 1), "ampere_sgemm_32");
	assert_string_equal(name_of(&m, 1, 1), "ampere_sgemm_64");
	assert_string_equal(name_of(&m, 0, 2), "triton_poi_fused_add_mul_3");
	assert_string_equal(name_of(&m, 1, 2), "triton_poi_fused_mul_3");
	done(&m);
}

/* Wherever memory ends: three marks for each of the four kernels, and the pairs' new names. */
static void no_memory_is_an_error(void **state)
{
	int calls = 0, rc;

	(void)state;
	do {
		struct made m = {0};

		launch(&m, 0, "triton_poi_fused_add_3", 77, 10, 8);
		launch(&m, 0, "triton_poi_fused_add_4", 88, 10, 8);
		launch(&m, 1, "triton_poi_fused_add_3", 88, 10, 8);
		launch(&m, 1, "triton_poi_fused_add_4", 77, 10, 8);
		calls_left = calls;
		refused = 0;
		rc = kc_measured_renumber(&m.names, m.runs, 1, m.runs + 1);
		calls_left = -1;
		assert_int_equal(rc, refused ? -ENOMEM : 0);
		calls++;
		done(&m);
	} while (rc);
	assert_true(calls > 3 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(code_tells_first),
	    cmocka_unit_test(shapes_tell_where_code_is_not_known),
	    cmocka_unit_test(alike_ones_go_in_their_order),
	    cmocka_unit_test(names_tell_where_nothing_else_does),
	    cmocka_unit_test(no_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
