/* Copies between global and shared memory, by hand: of 32 threads, each its own piece, of 4, 8 or 16 bytes. */
#include "cost_testing.h"

/* %r5: so many bytes of shared memory for each thread */
#define PLACES(bytes) ADDRESS(bytes) "mov.u32 %r4, s;\nmad.lo.s32 %r5, %r2, " bytes ", %r4;\n"
#define COPY_16(operands) PLACES("16") "cp.async.cg.shared.global [%r5], [%rd3], 16" operands ";\n"
#define COPY_16_HINTED(operands)                                                                                       \
	PLACES("16") "cp.async.cg.shared.global.L2::cache_hint [%r5], [%rd3], 16" operands ";\n"
#define BELOW(number) "setp.lt.u32 %p1, %r2, " number ";\n"
#define ONE_THREAD BELOW("1") "mov.u32 %r4, s;\n@%p1 "
#define LOAD(size)                                                                                                     \
	"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], " size ", [%r4+64];\n"
#define STORE(size) "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r4], " size ";\n"
#define BOX                                                                                                            \
	"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1, {%r2}], "           \
	"[%r4+64];\n"
#define BOX_TO_SEVERAL                                                                                                 \
	"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r4], "       \
	"[%rd1, {%r2}], [%r4+64], %rs1;\n"
#define EXPECT(bytes) "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r4+64], " bytes ";\n"

struct expected {
	const char *text;
	double loads, stores, bytes, requests, sectors, shared_stores, passes;
};

static void check(const struct expected *cases, size_t count, int exact)
{
	for (size_t i = 0; i < count; i++) {
		const struct expected *c = &cases[i];
		struct kc_counts counts = evaluated(c->text, 1, 32, 5);
		double bytes = counted(&counts, KC_COUNT_OF_BYTES_LOADED) - counted(&counts, KC_COUNT_OF_BYTES_STORED);

		if (fabs(counted(&counts, KC_COUNT_OF_LD_GLOBAL) - c->loads) > NEAR || fabs(bytes - c->bytes) > NEAR)
			print_message("%g loads, %g bytes of\n%s\n", counted(&counts, KC_COUNT_OF_LD_GLOBAL), bytes,
				      c->text);
		assert_count(counts, LD_GLOBAL, c->loads);
		assert_count(counts, ST_GLOBAL, c->stores);
		assert_near(bytes, c->bytes);
		assert_count(counts, REQUESTS, c->requests);
		assert_count(counts, SECTORS, c->sectors);
		assert_count(counts, LD_SHARED, 0);
		assert_count(counts, ST_SHARED, c->shared_stores);
		assert_count(counts, SHARED_PASSES, c->passes);
		assert_int_equal(counts.exact, exact);
		assert_int_equal(counts.assumed, exact ? 0 : KC_ASSUMED_ADDRESS);
	}
}

#define CHECK(cases, exact) check(cases, sizeof(cases) / sizeof(*(cases)), exact)

/* A quarter of a warp stores its 16 bytes in a pass. What is not read of a piece is filled with zeros. */
static void pieces_that_threads_copy(void **state)
{
	static const struct expected cases[] = {
	    {KERNEL(PLACES("4") "cp.async.ca.shared.global [%r5], [%rd3], 4;\n"), 32, 0, 128, 1, 4, 32, 1},
	    {KERNEL(PLACES("8") "cp.async.ca.shared.global [%r5], [%rd3], 8;\n"), 32, 0, 256, 1, 8, 32, 2},
	    {KERNEL(COPY_16("")), 32, 0, 512, 1, 16, 32, 4},
	    /* of so many bytes; of no more than the piece; of none */
	    {KERNEL(COPY_16(", 8")), 32, 0, 256, 1, 16, 32, 4},
	    {KERNEL("mov.u32 %r6, 8;\n" COPY_16(", %r6")), 32, 0, 256, 1, 16, 32, 4},
	    {KERNEL(COPY_16(", 99")), 32, 0, 512, 1, 16, 32, 4},
	    {KERNEL(COPY_16(", 0")), 0, 0, 0, 0, 0, 32, 4},
	    {KERNEL(COPY_16(", %r1")), 32, 0, 32 * 5, 1, 16, 32, 4},
	    /* half of the threads */
	    {KERNEL(BELOW("16") "selp.b32 %r6, 16, 0, %p1;\n" COPY_16(", %r6")), 16, 0, 256, 1, 8, 32, 4},
	    /* those for which a predicate does not hold, or does */
	    {KERNEL(BELOW("8") COPY_16(", %p1")), 24, 0, 384, 1, 12, 32, 4},
	    {KERNEL(BELOW("8") COPY_16(", !%p1")), 8, 0, 128, 1, 4, 32, 4},
	    /* a policy of caches is no size */
	    {KERNEL("mov.u64 %rd5, 0;\n" COPY_16_HINTED(", %rd5")), 32, 0, 512, 1, 16, 32, 4},
	    {KERNEL("mov.u64 %rd5, 0;\n" COPY_16_HINTED(", 8, %rd5")), 32, 0, 256, 1, 16, 32, 4},
	    {KERNEL(BELOW("8") PLACES("16") "@%p1 cp.async.cg.shared.global [%r5], [%rd3], 16;\n"), 8, 0, 128, 1, 4, 8,
	     1},
	    {KERNEL("cp.async.commit_group;\ncp.async.wait_group 0;\n"), 0, 0, 0, 0, 0, 0, 0},
	};

	(void)state;
	CHECK(cases, 1);
}

/* One request of a thread, of all bytes from the beginning of a sector on. */
static void bulk_copies(void **state)
{
	static const struct expected cases[] = {
	    {KERNEL(ONE_THREAD LOAD("64")), 1, 0, 64, 1, 2, 0, 0},
	    {KERNEL("mov.u32 %r4, s;\n" LOAD("64")), 32, 0, 32 * 64, 32, 64, 0, 0},
	    {KERNEL("mul.lo.u32 %r6, %r1, 32;\n" ONE_THREAD LOAD("%r6")), 1, 0, 160, 1, 5, 0, 0},
	    {KERNEL(ONE_THREAD LOAD("0")), 0, 0, 0, 0, 0, 0, 0},
	    {KERNEL(ONE_THREAD LOAD("1048576")), 1, 0, 1048576, 1, 32768, 0, 0},
	    {KERNEL(ONE_THREAD STORE("96")), 0, 1, -96, 1, 3, 0, 0},
	    /* what a barrier expects of copies whose sizes are told is these copies' */
	    {KERNEL(ONE_THREAD LOAD("64") EXPECT("64")), 1, 0, 64, 1, 2, 0, 0},
	    /* to another block's shared memory */
	    {KERNEL(ONE_THREAD "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r4], [%r4+8], "
			       "64, [%r4+64];\n"),
	     0, 0, 0, 0, 0, 0, 0},
	};
	struct kc_counts counts = evaluated(KERNEL(ONE_THREAD LOAD("64")), 1, 32, 5);

	(void)state;
	CHECK(cases, 1);
	assert_near(counts.least_sectors * counts.threads, 2);
}

/* Of boxes of tensors it is told only what barriers expect, all of them together; not where a box goes to several
 * blocks, or no barrier expects anything. */
static void boxes_of_tensors(void **state)
{
	static const struct expected cases[] = {
	    {KERNEL("mov.u32 %r4, s;\n" EXPECT("64") BOX BOX), 64, 0, 32 * 64, 64, 32 * 2, 0, 0},
	    {KERNEL("mov.u32 %r4, s;\n" EXPECT("64") EXPECT("32") BOX), 32, 0, 32 * 96, 32, 32 * 3, 0, 0},
	    {KERNEL("mov.u32 %r4, s;\n" BOX), 32, 0, 0, 32, 0, 0, 0},
	    {KERNEL("mov.u32 %r4, s;\n" EXPECT("64") BOX_TO_SEVERAL BOX), 64, 0, 0, 64, 0, 0, 0},
	};

	(void)state;
	CHECK(cases, 0);
}

/* A number of bytes that is loaded: a whole piece, of which nothing is known of a bulk copy. */
static void sizes_that_are_not_known(void **state)
{
	struct kc_counts piece = evaluated(KERNEL("ld.global.u32 %r6, [%rd1];\n" COPY_16(", %r6")), 1, 32, 5);
	struct kc_counts bulk =
	    evaluated(KERNEL("ld.global.u32 %r6, [%rd1];\nmov.u32 %r4, s;\n" LOAD("%r6")), 1, 32, 5);

	(void)state;
	assert_int_equal(piece.assumed, KC_ASSUMED_ADDRESS);
	assert_count(piece, LD_GLOBAL, 2 * 32);
	assert_count(piece, BYTES_LOADED, 32 * 4 + 512);
	assert_count(piece, SECTORS, 1 + 16);
	assert_int_equal(bulk.assumed, KC_ASSUMED_ADDRESS);
	assert_count(bulk, LD_GLOBAL, 2 * 32);
	assert_count(bulk, BYTES_LOADED, 32 * 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(pieces_that_threads_copy),
	    cmocka_unit_test(bulk_copies),
	    cmocka_unit_test(boxes_of_tensors),
	    cmocka_unit_test(sizes_that_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
