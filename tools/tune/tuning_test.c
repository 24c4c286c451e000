#include "tuning.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIDE = 8, COUNT = SIDE * SIDE, TIMED = 8, EVERY = 9 };

/* Blocks 1 to 128 by tiles 1 to 8; the timed ones lie on the diagonal. */
struct fixture {
	double values[COUNT * 2], ns[COUNT], timed_ns[TIMED], out[COUNT];
	uint32_t timed[TIMED], all[COUNT];
	struct kc_space space;
};

static double work(double block, double tile)
{
	return 1e5 / block + 300 * tile + 2000 * fmod(tile, 3);
}

static void set(struct fixture *f)
{
	f->space = (struct kc_space){.values = f->values, .count = COUNT, .parameters = 2};
	for (uint32_t i = 0; i < COUNT; i++) {
		f->values[2 * i] = exp2(i / SIDE);
		f->values[2 * i + 1] = 1 + i % SIDE;
		f->ns[i] = work(f->values[2 * i], f->values[2 * i + 1]);
		f->all[i] = i;
	}
	for (uint32_t i = 0; i < TIMED; i++) {
		f->timed[i] = EVERY * i;
		f->timed_ns[i] = f->ns[f->timed[i]];
	}
}

static double worst(const struct fixture *f)
{
	double most = 0;

	for (uint32_t i = 0; i < COUNT; i++)
		most = fmax(most, fabs(f->out[i] / f->ns[i] - 1));
	return most;
}

static double error_with(struct fixture *f, const struct kc_space_times *donors, uint32_t count)
{
	struct kc_tuning_donors transferred;

	assert_int_equal(kc_tuning_transfer(&f->space, f->timed, f->timed_ns, TIMED, donors, count, &transferred), 0);
	assert_int_equal(
	    kc_tuning_predict(&f->space, f->timed, f->timed_ns, TIMED, &transferred, 1, f->all, COUNT, f->out), 0);
	kc_tuning_donors_free(&transferred);
	return worst(f);
}

/* A device at a third of the speed says all: a straight line of slope 1, drawn to 0 by a ridge of 0.01. */
static void a_donor_that_knows_all_is_scaled(void **state)
{
	static struct fixture f;
	double slower[COUNT];
	struct kc_space_times donor = {.ns = slower, .same_as = {0, 1}};

	(void)state;
	set(&f);
	for (int i = 0; i < COUNT; i++)
		slower[i] = 3 * f.ns[i];
	donor.space = f.space;
	assert_true(error_with(&f, &donor, 1) < 0.01);
}

/* Columns the other way round, and one more: at 0 its times are of another kernel, at 1 they are ours. */
static void a_parameter_that_only_the_donor_has_is_found_out(void **state)
{
	static struct fixture f;
	static double values[2 * COUNT * 3], ns[2 * COUNT];
	struct kc_space_times donor = {
	    .space = {.values = values, .count = 2 * COUNT, .parameters = 3}, .ns = ns, .same_as = {1, -1, 0}};

	(void)state;
	set(&f);
	for (int i = 0; i < 2 * COUNT; i++) {
		values[3 * i] = f.values[2 * (i % COUNT) + 1];
		values[3 * i + 1] = i / COUNT;
		values[3 * i + 2] = f.values[2 * (i % COUNT)];
		ns[i] = i / COUNT ? 2 * f.ns[i % COUNT] : 1e6 + 1000 * (i * 29 % 64);
	}
	assert_true(error_with(&f, &donor, 1) < 0.01);
}

/* One of two donors contributes nonsense: it has next to no weight. */
static void donors_count_by_how_well_they_fit(void **state)
{
	static struct fixture f;
	double nonsense[COUNT], slower[COUNT];
	struct kc_space_times donors[2] = {{.ns = nonsense, .same_as = {0, 1}}, {.ns = slower, .same_as = {0, 1}}};

	(void)state;
	set(&f);
	for (int i = 0; i < COUNT; i++) {
		nonsense[i] = 1000 + i * 37 % 64 * 100;
		slower[i] = 2 * f.ns[i];
	}
	donors[0].space = donors[1].space = f.space;
	assert_true(error_with(&f, donors, 2) < 0.02);
}

/* The donor has every other configuration: its trees predict the rest, roughly. */
static void what_a_donor_lacks_is_made_up(void **state)
{
	static struct fixture f;
	static double values[COUNT], ns[COUNT / 2];
	struct kc_space_times donor = {
	    .space = {.values = values, .count = COUNT / 2, .parameters = 2}, .ns = ns, .same_as = {0, 1}};
	double without;

	(void)state;
	set(&f);
	for (int i = 0; i < COUNT / 2; i++) {
		values[2 * i] = f.values[4 * i];
		values[2 * i + 1] = f.values[4 * i + 1];
		ns[i] = f.ns[2 * i];
	}
	without = error_with(&f, NULL, 0);
	assert_true(error_with(&f, &donor, 1) < without / 2);
}

/* Timed ones are met; the mean alone would be off by a factor of ten. */
static void without_donors_the_timed_ones_are_followed(void **state)
{
	static struct fixture f;

	(void)state;
	set(&f);
	error_with(&f, NULL, 0);
	for (int i = 0; i < TIMED; i++)
		assert_true(fabs(f.out[f.timed[i]] / f.timed_ns[i] - 1) < 0.2);
}

/* Time follows block and tile smoothly; one in three is timed. Steps, which trees alone can make, would be far off. */
static void a_smooth_space_is_followed_between_the_timed_ones(void **state)
{
	static struct fixture f;
	struct kc_tuning_donors none = {0, COUNT, NULL};
	uint32_t timed[COUNT], count = 0;
	double ns[COUNT];

	(void)state;
	set(&f);
	for (uint32_t i = 0; i < COUNT; i++)
		f.ns[i] = 1e5 / f.values[2 * i] + 3000 * f.values[2 * i + 1];
	for (uint32_t i = 0; i < COUNT; i += 3) {
		timed[count] = i;
		ns[count++] = f.ns[i];
	}
	assert_int_equal(kc_tuning_predict(&f.space, timed, ns, count, &none, 1, f.all, COUNT, f.out), 0);
	assert_true(worst(&f) < 0.06);
}

static void what_makes_no_sense_is_refused(void **state)
{
	static struct fixture f;
	struct kc_tuning_donors none = {0, COUNT, NULL}, out;
	struct kc_space wide = {.values = f.values, .count = 1, .parameters = KC_SPACE_PARAMETERS + 1};
	struct kc_space_times stranger = {.ns = f.ns, .same_as = {-1, -1}};

	(void)state;
	set(&f);
	stranger.space = f.space;
	assert_int_equal(kc_tuning_transfer(&f.space, f.timed, f.timed_ns, 0, NULL, 0, &out), -EINVAL);
	assert_int_equal(kc_tuning_transfer(&f.space, f.timed, f.timed_ns, TIMED, &stranger, 1, &out), -EINVAL);
	assert_int_equal(kc_tuning_transfer(&wide, f.timed, f.timed_ns, 1, NULL, 0, &out), -EINVAL);
	assert_int_equal(kc_tuning_predict(&f.space, f.timed, f.timed_ns, 0, &none, 1, f.all, 1, f.out), -EINVAL);
	assert_int_equal(kc_tuning_predict(&wide, f.timed, f.timed_ns, 1, &none, 1, f.all, 1, f.out), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_donor_that_knows_all_is_scaled),
	    cmocka_unit_test(a_parameter_that_only_the_donor_has_is_found_out),
	    cmocka_unit_test(donors_count_by_how_well_they_fit),
	    cmocka_unit_test(what_a_donor_lacks_is_made_up),
	    cmocka_unit_test(without_donors_the_timed_ones_are_followed),
	    cmocka_unit_test(a_smooth_space_is_followed_between_the_timed_ones),
	    cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
