#include "diff_testing.h"

/* The first `olds` runs against the next one. */
static void units_of(struct made *m, size_t olds, struct kc_diff_units *out)
{
	const struct kc_diff_input inputs[KC_SIDES] = {{m->runs, olds, NULL, 0}, {m->runs + olds, 1, NULL, 0}};

	assert_int_equal(kc_diff_units_make(&m->names, inputs, out), 0);
}

static const struct kc_diff_item *item_of(const struct kc_diff_units *units, int side, size_t i)
{
	assert_true(i < units->items[side].count);
	return (const struct kc_diff_item *)units->items[side].at + i;
}

/* A digit for each launch: its unit; a point: none. */
static void units_are(const struct kc_diff_units *units, int side, const char *wanted)
{
	char got[64];

	assert_int_equal(units->items[side].count, strlen(wanted));
	for (size_t i = 0; i <= strlen(wanted); i++)
		got[i] = '\0';
	for (size_t i = 0; i < strlen(wanted); i++) {
		uint32_t unit = item_of(units, side, i)->unit;

		got[i] = (char)(unit == KC_DIFF_NOWHERE ? '.' : '0' + unit);
	}
	assert_string_equal(got, wanted);
}

/* Units are numbered by kernel, in the order of their first launches, then by position, likewise. */
static void check_units(const char *old, const char *new, const char *old_units, const char *new_units)
{
	struct made m = {0};
	struct kc_diff_units units;

	launch_each(&m, 0, old);
	launch_each(&m, 1, new);
	units_of(&m, 1, &units);
	units_are(&units, KC_OLD, old_units);
	units_are(&units, KC_NEW, new_units);
	kc_diff_units_free(&units);
	made_free(&m);
}

/* The third and the sixth launch both come after b, and before that after a and c. After the very first launches, there
 * are not two launches at the same place. */
static void two_launches_before_make_a_position(void **state)
{
	(void)state;
	check_units("abkcbkabkcbkabkcbk", "abkcbkabkcbkabkcbk", "..3514023514023514", "..3514023514023514");
}

/* k after b, which comes after p, q, r once each: one launch before makes its position. After x it is twice, so there
 * two launches make it. b, which has a position after x, is not compared without one. */
static void one_launch_before_where_two_are_too_many(void **state)
{
	(void)state;
	check_units("pbkqbkrbkxbkxbk", "pbkqbkrbkxbkxbk", "..2..2..2301301", "..2..2..2301301");
}

/* a comes after nothing, k and b, once each. */
static void no_launch_before_where_one_is_too_many(void **state)
{
	(void)state;
	check_units("akabac", "akabac", "0.0.0.", "0.0.0.");
}

static void streams_have_positions_of_their_own(void **state)
{
	(void)state;
	check_units("aAbBaAbBaAbB", "abababABABAB", "002211331133", "021313021313");
}

/* The same launches with arguments in another order: compared in order, most would meet others. */
static void arguments_are_part_of_a_position(void **state)
{
	(void)state;
	check_units("12121212", "11112222", "..010101", "..001111");
	/* Each once: then they tell nothing. */
	check_units("123456", "654321", "000000", "000000");
	/* One side does not know them: the positions are those of launches without arguments. */
	check_units("kkkkkkkk", "kkkkkkkk", "..000000", "..000000");
	check_units("12345678", "kkkkkkkk", "..000000", "..000000");
	check_units("kkkkkkkk", "11111112", "..000000", "..000000");
}

static double clipped_ns(const struct kc_diff_units *units, int side, size_t i)
{
	return exp(item_of(units, side, i)->log);
}

/* Where nothing scatters, 5 % (of the logarithm) are not far. A kernel's positions have medians of their own. */
static void outliers_are_clipped(void **state)
{
	struct made m = {0};
	struct kc_diff_units units;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 20; i++) {
			launch(&m, run, i % 2 ? "a" : "b", 5000);
			launch(&m, run, "k", run == 1 && i == 8 ? 20000 : i % 2 ? 40000 : 10000);
		}
	units_of(&m, 1, &units);
	for (size_t i = 2; i < 20; i++) {
		double ns = i % 2 ? 40000 : 10000;

		assert_true(near(clipped_ns(&units, KC_OLD, 2 * i + 1), ns, 1e-6));
		assert_true(near(clipped_ns(&units, KC_NEW, 2 * i + 1), i == 8 ? ns * exp(0.05) : ns, 1e-6));
	}
	kc_diff_units_free(&units);
	made_free(&m);
}

/*
 * OLD: 10, 12 and 14.4 us, seven of each: the logarithm of 1.2 from the median. NEW: 10 and 11 us, nine of each, with
 * a median of 10 us times the root of 1.1, and two far outside. A tenth of 41, four, is outside of the scatter at each
 * end, and the seven shortest and longest ones of OLD are more: its width is twice that logarithm, and as much again
 * is not far. The first two launches of each side have a position of their own.
 */
static void limits_are_as_wide_as_the_scatter(void **state)
{
	static const double old[] = {10000, 12000, 14400};
	struct made m = {0};
	struct kc_diff_units units;

	(void)state;
	for (int i = 0; i < 23; i++)
		launch(&m, 0, "k", old[i % 3]);
	for (int i = 0; i < 22; i++)
		launch(&m, 1, "k", i == 7 ? 100 : i == 12 ? 1000000 : i % 2 ? 11000 : 10000);
	units_of(&m, 1, &units);
	for (size_t i = 2; i < 23; i++)
		assert_true(near(clipped_ns(&units, KC_OLD, i), old[i % 3], 1e-6));
	assert_true(near(clipped_ns(&units, KC_NEW, 7), 10000 * sqrt(1.1) / (1.2 * 1.2 * 1.2), 0.01));
	assert_true(near(clipped_ns(&units, KC_NEW, 12), 10000 * sqrt(1.1) * (1.2 * 1.2 * 1.2), 0.01));
	kc_diff_units_free(&units);
	made_free(&m);
}

/* 10 launches of the first OLD run, 6 of the second, 14 of NEW: the 16 fill four cells, two of each run a cell. */
static void cells_hold_the_same_part_of_each_run(void **state)
{
	static const double launches[KC_SIDES][4] = {{5, 3, 5, 3}, {4, 3, 4, 3}};
	static const double of_first_run[4] = {3, 2, 3, 2};
	struct made m = {0};
	struct kc_diff_units units;

	(void)state;
	for (int i = 0; i < 12; i++)
		launch(&m, 0, "k", 10000);
	for (int i = 0; i < 8; i++)
		launch(&m, 1, "k", 20000);
	for (int i = 0; i < 16; i++)
		launch(&m, 2, "k", 15000);
	units_of(&m, 2, &units);
	assert_int_equal(units.count, 1);
	assert_int_equal(units.cell_count, 4);
	for (int i = 0; i < 4; i++) {
		const struct kc_diff_cell *cell = units.cells + i;
		double share = of_first_run[i] / launches[KC_OLD][i];

		assert_true(near(cell->launches[KC_OLD], launches[KC_OLD][i], 0));
		assert_true(near(cell->launches[KC_NEW], launches[KC_NEW][i], 0));
		assert_true(near(cell->log[KC_OLD], share * log(10000) + (1 - share) * log(20000), 1e-9));
		assert_true(near(cell->ns[KC_OLD], share * 10000 + (1 - share) * 20000, 1e-6));
		assert_true(near(cell->ns[KC_NEW], 15000, 1e-6));
		assert_true(i == 0 || cell->at > cell[-1].at);
	}
	kc_diff_units_free(&units);
	made_free(&m);
}

/* Four parts of four launches of 10 us, at a position that NEW does not have. NEW alternates between 10 and 20 us, of
 * which a baseline would only tell the geometric mean. */
static void parts_of_a_baseline_are_cells(void **state)
{
	struct made m = {0};
	struct kc__list parts = {0};
	struct kc_diff_units units;

	(void)state;
	for (int i = 0; i < 16; i++)
		launch(&m, 0, "k", i % 2 ? 20000 : 10000);
	for (int i = 0; i < 4; i++)
		part_of(&m, &parts, "k", ((float)i + 0.5f) / 4, 4);
	{
		const struct kc_diff_input inputs[KC_SIDES] = {{NULL, 0, &parts, 0}, {m.runs, 1, NULL, 0}};

		assert_int_equal(kc_diff_units_make(&m.names, inputs, &units), 0);
	}
	assert_int_equal(units.count, 1);
	assert_int_equal(units.cell_count, 4);
	for (int i = 0; i < 4; i++) {
		assert_true(near(units.cells[i].launches[KC_OLD], 4, 0) && near(units.cells[i].launches[KC_NEW], 4, 0));
		assert_true(near(units.cells[i].ns[KC_OLD], 10000, 1e-6));
		assert_true(near(units.cells[i].ns[KC_NEW], sqrt(10000.0 * 20000.0), 1e-6));
	}
	kc_diff_units_free(&units);
	free(parts.at);
	made_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(two_launches_before_make_a_position),
	    cmocka_unit_test(one_launch_before_where_two_are_too_many),
	    cmocka_unit_test(no_launch_before_where_one_is_too_many),
	    cmocka_unit_test(streams_have_positions_of_their_own),
	    cmocka_unit_test(arguments_are_part_of_a_position),
	    cmocka_unit_test(outliers_are_clipped),
	    cmocka_unit_test(limits_are_as_wide_as_the_scatter),
	    cmocka_unit_test(cells_hold_the_same_part_of_each_run),
	    cmocka_unit_test(parts_of_a_baseline_are_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
