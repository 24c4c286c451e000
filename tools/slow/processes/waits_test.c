/* What is waited for in collectives. */
#include "waits.h"

#include "store/database/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define ROUNDS 10

struct made {
	struct kc_measured_names names;
	struct kc_measured_run run;
	int64_t sequence;
};

/* ns: 0: not measured. */
static void launch(struct made *m, const char *name, int64_t process, int64_t start_ns, int64_t ns)
{
	struct kc_measured_shape shape = {.grid = {8, 1, 1}, .block = {64, 1, 1}};
	struct kc_measured_launch *launch = kc__list_add(&m->run.launches, sizeof(*launch));
	struct kc_measured_moment *moment = kc__list_add(&m->run.moments, sizeof(*moment));

	assert_true(launch && moment);
	assert_int_equal(kc_measured_kernel_number(&m->names, name, name, &shape.kernel), 0);
	assert_int_equal(kc_measured_shape_number(&m->names, &shape, &launch->shape), 0);
	launch->ns = ns;
	moment->id = process << KC_SEQUENCE_BITS | ++m->sequence;
	moment->start_ns = start_ns;
}

/* An all-reduce of `ns` in each round, a millisecond long, that ends at the same time on all processes; their clocks
 * are 3 ms apart. */
static void rounds(struct made *m, int64_t process, int64_t ns, int count)
{
	for (int i = 0; i < count; i++) {
		int64_t end_ns = 3000000 * process + 1000000 * (i + 1);

		launch(m, "gemm", process, end_ns - 900000, 1000);
		launch(m, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", process, end_ns - ns, ns);
	}
}

static double waited(struct made *m, uint32_t process, double lost_ns)
{
	struct kc_slow_process straggler = {.process = process, .lost_ns = lost_ns};

	assert_int_equal(kc_slow_waits(&m->names, &m->run, &straggler, 1), 0);
	return straggler.waited_ns;
}

static void done(struct made *m)
{
	kc_measured_names_free(&m->names);
	kc_measured_run_free(&m->run);
}

/* Process 2 comes last and takes 10 us; the others take 50 and 40: they wait 40 and 30 in each round. */
static void for_who_comes_last(void **state)
{
	struct made m = {0};

	(void)state;
	rounds(&m, 1, 50000, ROUNDS);
	rounds(&m, 2, 10000, ROUNDS);
	rounds(&m, 3, 40000, ROUNDS);
	assert_true(waited(&m, 2, 1e9) == ROUNDS * 70000.0);
	assert_true(waited(&m, 1, 1e9) == 0);
	done(&m);
}

/* Two others wait no more than twice what it lost. */
static void no_more_than_it_lost(void **state)
{
	struct made m = {0};

	(void)state;
	rounds(&m, 1, 50000, ROUNDS);
	rounds(&m, 2, 10000, ROUNDS);
	rounds(&m, 3, 40000, ROUNDS);
	assert_true(waited(&m, 2, 100000) == 200000);
	done(&m);
}

/* Process 3 has one more, and 4 ends at other times, by 150 us or more: they are in other collectives, of the same
 * kernel. The fourth of process 1 was not measured. */
static void within_a_collective(void **state)
{
	struct made m = {0};

	(void)state;
	rounds(&m, 1, 50000, ROUNDS);
	((struct kc_measured_launch *)m.run.launches.at)[7].ns = 0;
	rounds(&m, 2, 10000, ROUNDS);
	rounds(&m, 3, 40000, ROUNDS + 1);
	for (int i = 0; i < ROUNDS; i++)
		launch(&m, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 4, 1000000 * i + i * 7 % 10 * 50000, 45000);
	assert_true(waited(&m, 2, 1e9) == (ROUNDS - 1) * 40000.0);
	done(&m);
}

static void nothing_to_wait_in(void **state)
{
	struct made m = {0};

	(void)state;
	launch(&m, "gemm", 1, 0, 1000);
	launch(&m, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 1, 0, 1000);
	launch(&m, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 2, 0, 3000);
	assert_true(waited(&m, 1, 1e9) == 0);
	assert_int_equal(kc_slow_waits(&m.names, &m.run, NULL, 0), 0);
	done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(for_who_comes_last),
	    cmocka_unit_test(no_more_than_it_lost),
	    cmocka_unit_test(within_a_collective),
	    cmocka_unit_test(nothing_to_wait_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
