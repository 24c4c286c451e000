#include "problem.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct kc_problem_row row(uint32_t grid, uint32_t block, const char *arguments)
{
	struct kc_problem_row made = {.block = {block, 1, 1}, .grid = {grid, 1, 1}};

	kc_problem_read(&made, arguments);
	return made;
}

static struct kc_problem_row plane(uint32_t grid_x, uint32_t grid_y, uint32_t block_x, uint32_t block_y)
{
	return (struct kc_problem_row){.block = {block_x, block_y, 1}, .grid = {grid_x, grid_y, 1}};
}

/* Of the row with this shape, after the rows have been sorted. */
static double size_of(const struct kc_problem_row *rows, size_t count, uint32_t grid, uint32_t block)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].grid[0] == grid && rows[i].block[0] == block)
			return rows[i].size;
	return -1;
}

#define FIND(rows) assert_int_equal(kc_problems_find(rows, sizeof(rows) / sizeof(*(rows))), 0)
#define SIZE(rows, grid, block) size_of(rows, sizeof(rows) / sizeof(*(rows)), grid, block)

static void numbers_are_read_and_alignments_are_not(void **state)
{
	static const char *const none[] = {NULL, "", "0", "big", "p2 mod 32 = 8", "p0 = ?", "inf", "p0 = -3", "4096 x"};
	struct kc_problem_row r = row(1, 1, "p0 = 131072, p1 = 8, p2 mod 32 = 0");

	(void)state;
	assert_int_equal(r.count, 2);
	assert_true(r.numbers[0] == 131072 && r.numbers[1] == 8);
	r = row(1, 1, "4096");
	assert_int_equal(r.count, 1);
	assert_true(r.numbers[0] == 4096);
	r = row(1, 1, "1,2,3,4,5,6,7,8,9,10");
	assert_int_equal(r.count, KC_PROBLEM_NUMBERS);
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		assert_int_equal(row(1, 1, none[i]).count, 0);
}

/* 1,000 elements: 32 blocks of 32, 11 of 96 (1,056), 4 of 256 (1,024), 2 of 640 (1,280). All cover 1,000, and none of
 * 993 to 1,024 is told from it. 2,000 need 63 of 32 and 8 of 256. */
static void blocks_that_cover_the_same_elements_are_one_problem(void **state)
{
	struct kc_problem_row rows[] = {row(32, 32, NULL), row(63, 32, NULL), row(4, 256, NULL),
					row(8, 256, NULL), row(11, 96, NULL), row(2, 640, NULL)};

	(void)state;
	FIND(rows);
	assert_true(SIZE(rows, 32, 32) == 1024);
	assert_true(SIZE(rows, 11, 96) == 1024);
	assert_true(SIZE(rows, 4, 256) == 1024);
	assert_true(SIZE(rows, 2, 640) == 1024);
	assert_true(SIZE(rows, 63, 32) == 2016);
	assert_true(SIZE(rows, 8, 256) == 2016);
}

/* A kernel whose blocks overlap launches more of small ones: 1 problem by its argument, 3 by threads. */
static void arguments_say_the_size_where_threads_do_not(void **state)
{
	struct kc_problem_row rows[] = {row(131, 1024, "p0 = 131072, p1 = 8"), row(547, 256, "p0 = 131072, p1 = 8"),
					row(2731, 64, "p0 = 131072, p1 = 8, p2 mod 32 = 4"),
					row(2731, 64, NULL) /* before the code was read */};

	(void)state;
	FIND(rows);
	for (size_t i = 0; i < 4; i++)
		assert_true(rows[i].size == 131072);
}

/* 1,000 is what blocks of 32 cover 32 times and of 640 twice, and 600 what one of 1,024 covers; blocks of 128 cover
 * both, and their grids tell which. */
static void launches_without_arguments_join_those_with_some(void **state)
{
	struct kc_problem_row rows[] = {row(8, 128, NULL), row(5, 128, NULL), row(32, 32, "p0 = 1000"),
					row(1, 1024, "p0 = 600"), row(2, 640, NULL)};

	(void)state;
	FIND(rows);
	assert_true(SIZE(rows, 8, 128) == 1000);
	assert_true(SIZE(rows, 32, 32) == 1000);
	assert_true(SIZE(rows, 2, 640) == 1000);
	assert_true(SIZE(rows, 5, 128) == 600);
	assert_true(SIZE(rows, 1, 1024) == 600);
}

/* m x k and k x n: the largest does not tell them apart, their product does. */
static void other_arguments_are_other_problems(void **state)
{
	struct kc_problem_row rows[] = {row(64, 32, "4096,512"), row(16, 128, "4096,512"), row(64, 33, "4096,1024"),
					row(16, 129, "4096,1024")};

	(void)state;
	FIND(rows);
	assert_true(SIZE(rows, 64, 32) == 4096.0 * 512);
	assert_true(SIZE(rows, 16, 128) == 4096.0 * 512);
	assert_true(SIZE(rows, 64, 33) == 4096.0 * 1024);
	assert_true(SIZE(rows, 16, 129) == 4096.0 * 1024);
}

/* A kernel that does not look at its size: what it is given is a flag. */
static void an_argument_that_goes_with_several_grids_is_no_size(void **state)
{
	struct kc_problem_row rows[] = {row(4, 256, "p1 = 3"), row(8, 256, "p1 = 3"), row(8, 128, "p1 = 3")};

	(void)state;
	FIND(rows);
	assert_true(SIZE(rows, 4, 256) == 1024);
	assert_true(SIZE(rows, 8, 128) == 1024);
	assert_true(SIZE(rows, 8, 256) == 2048);
}

/* 1,024 x 1,024: 43 blocks of 24 cover 1,032, 52 of 20 1,040, 86 of 12 1,032. 1,024 x 512 is another problem. */
static void planes_are_compared_in_each_dimension(void **state)
{
	struct kc_problem_row rows[] = {plane(32, 32, 32, 32), plane(43, 64, 24, 16), plane(52, 64, 20, 16),
					plane(86, 128, 12, 8), plane(128, 64, 8, 8)};

	(void)state;
	FIND(rows);
	assert_true(SIZE(rows, 32, 32) == 1024.0 * 1024);
	assert_true(SIZE(rows, 43, 24) == 1024.0 * 1024);
	assert_true(SIZE(rows, 52, 20) == 1024.0 * 1024);
	assert_true(SIZE(rows, 86, 12) == 1024.0 * 1024);
	assert_true(SIZE(rows, 128, 8) == 1024.0 * 512);
}

/* One block for all of a small problem, and as many threads in it as elements: each is another problem. Together with
 * finer blocks one that covers all is of their problem. */
static void single_blocks_tell_no_size(void **state)
{
	struct kc_problem_row alone[] = {row(1, 3, NULL), row(1, 7, NULL), row(1, 64, NULL)};
	struct kc_problem_row among[] = {row(1, 1024, NULL), row(4, 256, NULL), row(8, 128, NULL)};

	(void)state;
	FIND(alone);
	for (size_t i = 0; i < 3; i++)
		assert_true(alone[i].size == alone[i].block[0]);
	FIND(among);
	for (size_t i = 0; i < 3; i++)
		assert_true(among[i].size == 1024);
}

/* Tiles on the diagonals of a matrix. Of the largest tile, 1 on each of two diagonals, arguments were recorded. */
static void a_coarse_block_does_not_take_in_all_finer_ones(void **state)
{
	struct kc_problem_row rows[34] = {row(1, 1024, "p0 = 1024, p2 = 0"), row(1, 1024, "p0 = 1024, p2 = 1")};
	int of_one_problem = 0;

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		rows[2 + i] = row(1 + i, 32, NULL);
	FIND(rows);
	for (int i = 0; i < 34; i++)
		of_one_problem += rows[i].block[0] == 32 && rows[i].size == 1024;
	assert_true(of_one_problem <= 1);
	assert_true(SIZE(rows, 7, 32) == 224);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(numbers_are_read_and_alignments_are_not),
	    cmocka_unit_test(blocks_that_cover_the_same_elements_are_one_problem),
	    cmocka_unit_test(arguments_say_the_size_where_threads_do_not),
	    cmocka_unit_test(launches_without_arguments_join_those_with_some),
	    cmocka_unit_test(other_arguments_are_other_problems),
	    cmocka_unit_test(an_argument_that_goes_with_several_grids_is_no_size),
	    cmocka_unit_test(planes_are_compared_in_each_dimension),
	    cmocka_unit_test(single_blocks_tell_no_size),
	    cmocka_unit_test(a_coarse_block_does_not_take_in_all_finer_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
