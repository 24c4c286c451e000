/* What the threads of a warp and of a block have in common, by hand: sectors of addresses that are not known, bytes
 * that a block loads once. */
#include "cost_testing.h"

/* %r4 = a number from memory, the same in all lanes */
#define FROM_MEMORY "ld.global.u32 %r4, [%rd1];\n"
/* loads a float from a + 4 * that, or + `bytes` * that */
#define AT_INDEX(index) OF_STRUCT(index, "4")
#define OF_STRUCT(index, bytes)                                                                                        \
	"mul.wide.u32 %rd2, " index ", " bytes ";\nadd.s64 %rd3, %rd1, %rd2;\nld.global.f32 %f1, [%rd3];\n"
#define ROW "mov.u32 %r5, %tid.y;\n"

static struct kc_counts of_blocks(const char *text, uint32_t blocks, const uint32_t block[3])
{
	struct kc_cost_argument arguments[2] = {{.value = POINTER, .known = 1}, {.value = 0, .known = 1}};
	struct kc_cost_launch launch = {.grid = {blocks, 1, 1},
					.block = {block[0], block[1], block[2]},
					.arguments = arguments,
					.argument_count = 2};
	struct kc_counts counts, at_launch;
	struct kernel k;

	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_evaluate(k.cost, &launch, KC_COST_EFFORT_EXACT, &counts), 0);
	assert_int_equal(kc_cost_evaluate(k.cost, &launch, KC_COST_EFFORT_LAUNCH, &at_launch), 0);
	let_go(&k);
	assert_true(fabs(counted(&at_launch, KC_COUNT_OF_SECTORS) - counted(&counts, KC_COUNT_OF_SECTORS)) < 1e-4);
	assert_near(at_launch.block_loaded_bytes, counts.block_loaded_bytes);
	return counts;
}

/* Of a warp of 32, or of 4 rows of 8. Bytes next to each other from an unknown place on: one sector, and one more for
 * each 32 bytes behind the first. The number from memory itself is in one sector. */
static void sectors_of_lanes_beside_each_other(void **state)
{
	static const uint32_t row[3] = {32, 1, 1}, rows[3] = {8, 4, 1};
	static const struct {
		const char *text;
		const uint32_t *block;
		double sectors;
	} cases[] = {
	    /* one place for all; 32 floats next to each other; of structs of 16 bytes, of 64; at a pitch from memory */
	    {KERNEL(FROM_MEMORY AT_INDEX("%r4")), row, 1},
	    {KERNEL(FROM_MEMORY "add.u32 %r4, %r4, %r2;\n" AT_INDEX("%r4")), row, 1 + 127 / 32.0},
	    {KERNEL(FROM_MEMORY "add.u32 %r4, %r4, %r2;\n" OF_STRUCT("%r4", "16")), row, 1 + (31 * 16 + 3) / 32.0},
	    {KERNEL(FROM_MEMORY "add.u32 %r4, %r4, %r2;\n" OF_STRUCT("%r4", "64")), row, 32},
	    {KERNEL(FROM_MEMORY "mul.lo.u32 %r4, %r4, %r2;\n" AT_INDEX("%r4")), row, 32},
	    {KERNEL(FROM_MEMORY "shl.b32 %r5, %r2, 1;\nadd.u32 %r4, %r4, %r5;\n" AT_INDEX("%r4")), row,
	     1 + (31 * 8 + 3) / 32.0},
	    /* positions: half of the thread's number */
	    {KERNEL("cvt.rn.f32.u32 %f2, %r2;\nmul.f32 %f2, %f2, 0f3F000000;\ncvt.rzi.u32.f32 %r5, %f2;\n" FROM_MEMORY
		    "add.u32 %r4, %r4, %r5;\n" AT_INDEX("%r4")),
	     row, 1 + 127 / 32.0},
	    /* each by itself, from memory */
	    {KERNEL(ADDRESS("4") "ld.global.u32 %r4, [%rd3];\n" AT_INDEX("%r4")), row, 3 + 32},
	    /* 8 floats of each of 4 rows that are 100 elements apart, or one of each; rows next to each other: one
	       float more for each */
	    {KERNEL(FROM_MEMORY ROW "mad.lo.u32 %r4, %r5, 100, %r4;\nadd.u32 %r4, %r4, %r2;\n" AT_INDEX("%r4")), rows,
	     4 * (1 + 31 / 32.0)},
	    {KERNEL(FROM_MEMORY ROW "mad.lo.u32 %r4, %r5, 100, %r4;\n" AT_INDEX("%r4")), rows, 4},
	    {KERNEL(FROM_MEMORY ROW "add.u32 %r4, %r4, %r5;\nadd.u32 %r4, %r4, %r2;\n" AT_INDEX("%r4")), rows,
	     1 + 43 / 32.0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = of_blocks(cases[i].text, 1, cases[i].block);

		assert_count(counts, SECTORS, cases[i].sectors + 1);
		assert_int_equal(counts.exact, 0);
		assert_int_equal(counts.assumed, KC_ASSUMED_ADDRESS);
	}
}

/* By -2^63 lanes beside each other are as far apart as can be. Shifted left by -1, which is read as 2^32 - 1, nothing
 * is left (PTX ISA, shl: amounts beyond the width are that of the width): one place for all. */
static void the_least_factor_and_the_largest_shift(void **state)
{
	static const uint32_t row[3] = {32, 1, 1};
	struct kc_counts far = of_blocks(
	    KERNEL("ld.global.u64 %rd4, [%rd1];\ncvt.u64.u32 %rd2, %r2;\nmul.lo.s64 %rd3, %rd2, -9223372036854775808;\n"
		   "add.s64 %rd3, %rd3, %rd4;\nadd.s64 %rd3, %rd3, %rd1;\nld.global.f32 %f1, [%rd3];\n"),
	    1, row);
	struct kc_counts one =
	    of_blocks(KERNEL(FROM_MEMORY "shl.b32 %r5, %r2, -1;\nadd.u32 %r4, %r4, %r5;\n" AT_INDEX("%r4")), 1, row);

	/* At known addresses every second lane is 2^63 bytes away, which is nowhere else twice. */
	struct kc_counts known =
	    of_blocks(KERNEL("cvt.u64.u32 %rd2, %r2;\nmul.lo.s64 %rd3, %rd2, -9223372036854775808;\n"
			     "add.s64 %rd3, %rd3, %rd1;\nld.global.f32 %f1, [%rd3];\n"),
		      1, row);

	(void)state;
	assert_count(far, SECTORS, 32 + 1);
	assert_count(known, SECTORS, 2);
	assert_count(one, SECTORS, 1 + 1);
}

#define LOOPS(inner, outer)                                                                                            \
	"mov.u32 %r6, 0;\nOUTER:\nmov.u64 %rd3, %rd1;\nadd.s64 %rd3, %rd3, %rd2;\nmov.u32 %r4, 0;\nINNER:\n"           \
	"ld.global.f32 %f1, [%rd3];\nadd.s64 %rd3, %rd3, 1024;\n"                                                      \
	"add.u32 %r4, %r4, 1;\nsetp.lt.u32 %p2, %r4, " inner ";\n@%p2 bra INNER;\n"                                    \
	"add.u32 %r6, %r6, 1;\nsetp.lt.u32 %p2, %r6, " outer ";\n@%p2 bra OUTER;\n"

/* Of 10 blocks of 256 threads. */
static void bytes_that_a_block_loads_once(void **state)
{
	static const uint32_t block[3] = {256, 1, 1};
	static const struct {
		const char *text;
		double bytes; /* of a block */
	} cases[] = {
	    /* a float of each thread, once or twice; one for all */
	    {KERNEL(ADDRESS("4") "ld.global.f32 %f1, [%rd3];\n"), 1024},
	    {KERNEL(ADDRESS("4") "ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd3];\n"), 1024},
	    {KERNEL("ld.global.f32 %f1, [%rd1];\n"), 32},
	    /* rows of 1,024 bytes: 24 of them fit into L1 until they are read again, 96 do not */
	    {KERNEL(ADDRESS("4") LOOPS("24", "8")), 24 * 1024},
	    {KERNEL(ADDRESS("4") LOOPS("96", "8")), 8 * 96 * 1024},
	    /* nothing of what is stored */
	    {KERNEL(ADDRESS("4") "st.global.f32 [%rd3], %f1;\n"), 0},
	    /* 256 floats next to each other at an unknown place, and one sector; one float for all */
	    {KERNEL(FROM_MEMORY "add.u32 %r4, %r4, %r2;\n" AT_INDEX("%r4")), 32 * (1 + 1023 / 32.0) + 32},
	    {KERNEL(FROM_MEMORY AT_INDEX("%r4")), 32 + 32},
	    /* each thread's own: what it asks for, and 256 numbers */
	    {KERNEL(ADDRESS("4") "ld.global.u32 %r4, [%rd3];\n" AT_INDEX("%r4")), 1024 + 1024},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_near(of_blocks(cases[i].text, 10, block).block_loaded_bytes, 10 * cases[i].bytes);
}

/* Structs of 64 bytes at a known address. */
static void known_addresses_tell_themselves(void **state)
{
	struct kc_counts counts = evaluated(KERNEL(ADDRESS("64") "ld.global.f32 %f1, [%rd3];\n"), 1, 32, 0);

	(void)state;
	assert_count(counts, SECTORS, 32);
	assert_near(counts.block_loaded_bytes, 32 * 32);
	assert_int_equal(counts.exact, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sectors_of_lanes_beside_each_other),
	    cmocka_unit_test(the_least_factor_and_the_largest_shift),
	    cmocka_unit_test(bytes_that_a_block_loads_once),
	    cmocka_unit_test(known_addresses_tell_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
