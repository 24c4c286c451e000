/* Sectors and passes of kernels that are small enough to count by hand. */
#include "predictor/code/cost.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define MEMORY ((size_t)16 << 20)
#define POINTER UINT64_C(0x10000000)

/* %rd1 = a, %r1 = n, %r2 = tid; %rd4 = an address in shared memory. */
static const char before[] =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u32 n)\n{\n"
    ".reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<9>;\n.shared .align 16 .b8 s[16384];\n"
    "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\nmov.u32 %r2, %tid.x;\nmov.u64 %rd4, s;\n";

/* %rd3 = a + tid * bytes; %rd5 = s + tid * bytes */
#define AT(bytes) "mul.wide.u32 %rd2, %r2, " bytes ";\nadd.s64 %rd3, %rd1, %rd2;\nadd.s64 %rd5, %rd4, %rd2;\n"

static struct kc_counts of_blocks(const char *body, uint32_t blocks, uint32_t threads, uint64_t n, uint32_t effort)
{
	struct kc_cost_argument arguments[2] = {{.value = POINTER, .known = 1}, {.value = n, .known = n != UINT64_MAX}};
	struct kc_cost_launch launch = {
	    .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .arguments = arguments, .argument_count = 2};
	struct kc_ptx_module module;
	struct kc_refusal refusal;
	struct kc_counts counts;
	struct kc_cost *cost;
	char text[8192];

	assert_true(snprintf(text, sizeof(text), "%s%sret;\n}\n", before, body) < (int)sizeof(text));
	assert_int_equal(kc_ptx_parse(&module, text, strlen(text), MEMORY, &refusal), 0);
	assert_int_equal(kc_cost_read(&cost, &module, kc_ptx_find(&module, "k"), MEMORY, &refusal), 0);
	assert_int_equal(kc_cost_evaluate(cost, &launch, effort, &counts), 0);
	kc_cost_free(cost);
	kc_ptx_free(&module);
	return counts;
}

/* One block of that many threads. */
static struct kc_counts evaluated(const char *body, uint32_t threads, uint64_t n, uint32_t effort)
{
	return of_blocks(body, 1, threads, n, effort);
}

static struct kc_counts exactly(const char *body, uint32_t threads, uint64_t n)
{
	return evaluated(body, threads, n, KC_COST_EFFORT_EXACT);
}

#define assert_near(ours, expected) assert_true(fabs((ours) - (expected)) <= 1e-9 * fmax(1, fabs((double)(expected))))

/* 32 floats fill 4 sectors, 8 floats 1; a single lane touches 1. A line has 128 bytes. */
static void sectors_are_compared_with_the_least_of_each_request(void **state)
{
	static const struct {
		const char *text;
		uint32_t threads;
		double sectors, least, scattered, lines;
	} cases[] = {
	    {AT("4") "ld.global.f32 %f1, [%rd3];\n", 32, 4, 4, 0, 1},
	    {AT("4") "ld.global.f32 %f1, [%rd3];\n", 33, 4 + 1, 4 + 1, 0, 2},
	    {AT("4") "ld.global.f32 %f1, [%rd3];\n", 1, 1, 1, 0, 1},
	    {AT("16") "ld.global.v4.f32 {%f1,%f2,%f3,%f4}, [%rd3];\n", 32, 16, 16, 0, 4},
	    {AT("4") "ld.global.f32 %f1, [%rd3+4];\n", 32, 5, 4, 0, 2}, /* misaligned: bytes 4 to 131 */
	    {AT("0") "ld.global.f32 %f1, [%rd3];\n", 32, 1, 4, 0, 1},   /* one word for all */
	    {AT("8") "ld.global.f32 %f1, [%rd3];\n", 8, 2, 1, 1, 1},    /* every other word */
	    {AT("20") "st.global.f32 [%rd3], %f1;\n", 32, 20, 4, 16, 5},
	    {AT("64") "st.global.f32 [%rd3], %f1;\n", 32, 32, 4, 28, 16},
	    {AT("4") "red.global.add.u32 [%rd3], %r1;\n", 32, 4, 4, 0, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = exactly(cases[i].text, cases[i].threads, 0);

		assert_near(counts.of[KC_COUNT_OF_SECTORS] * counts.threads, cases[i].sectors);
		assert_near(counts.least_sectors * counts.threads, cases[i].least);
		assert_near(counts.scattered_sectors * counts.threads, cases[i].scattered);
		assert_near(counts.lines * counts.threads, cases[i].lines);
		assert_near(kc_counts_least_sectors_per_request(&counts),
			    cases[i].least / (cases[i].threads > 32 ? 2 : 1));
		counts = evaluated(cases[i].text, cases[i].threads, 0, KC_COST_EFFORT_LAUNCH);
		assert_near(counts.lines * counts.threads, cases[i].lines);
	}
}

/* Where lanes n and n ^ 1, or n and n ^ 2, have one address, 8 bytes of each take one pass, 16 two; not where other
 * lanes have, nor in stores. */
static void wide_loads_that_lanes_share_are_packed(void **state)
{
	static const struct {
		const char *text;
		double passes;
	} cases[] = {
	    {AT("0") "ld.shared.v2.f32 {%f1,%f2}, [%rd5];\n", 1},
	    {AT("0") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n", 2},
	    {AT("0") "ld.shared.f32 %f1, [%rd5];\n", 1},
	    {AT("0") "st.shared.v4.f32 [%rd5], {%f1,%f2,%f3,%f4};\n", 4},
	    {"shr.u32 %r2, %r2, 1;\n" AT("8") "ld.shared.v2.f32 {%f1,%f2}, [%rd5];\n", 1},
	    {"shr.u32 %r2, %r2, 1;\n" AT("16") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n", 2},
	    /* two lanes by one, four times: 0 1 0 1, 2 3 2 3, … */
	    {"shr.u32 %r4, %r2, 2;\nshl.b32 %r4, %r4, 1;\nand.b32 %r2, %r2, 1;\nadd.u32 %r2, %r2, %r4;\n" AT(
		 "16") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n",
	     2},
	    {"and.b32 %r2, %r2, 15;\n" AT("16") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n", 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = exactly(cases[i].text, 32, 0);
		struct kc_counts at_launch = evaluated(cases[i].text, 32, 0, KC_COST_EFFORT_LAUNCH);

		assert_near(counts.of[KC_COUNT_OF_SHARED_PASSES] * counts.threads, cases[i].passes);
		assert_near(at_launch.of[KC_COUNT_OF_SHARED_PASSES] * counts.threads, cases[i].passes);
		assert_near(kc_counts_bank_conflict_degree(&counts), 1);
	}
}

/* A pass has 128 bytes: 32 lanes take 2 passes for 8 bytes each, 4 for 16. With rows of 128 bytes all lanes of a pass
 * use the same banks: 16 lanes of 8 bytes one pair, 8 lanes of 16 bytes one group of four. */
static void wide_accesses_to_neighbours_are_no_bank_conflict(void **state)
{
	static const struct {
		const char *text;
		uint32_t threads;
		double passes, degree;
	} cases[] = {
	    {AT("4") "ld.shared.f32 %f1, [%rd5];\n", 32, 1, 1},
	    {AT("8") "ld.shared.v2.f32 {%f1,%f2}, [%rd5];\n", 32, 2, 1},
	    {AT("16") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n", 32, 4, 1},
	    {AT("16") "st.shared.v4.f32 [%rd5], {%f1,%f2,%f3,%f4};\n", 8, 1, 1},
	    {AT("128") "ld.shared.f32 %f1, [%rd5];\n", 32, 32, 32},
	    {AT("128") "ld.shared.v2.f32 {%f1,%f2}, [%rd5];\n", 32, 32, 16},
	    {AT("128") "ld.shared.v4.f32 {%f1,%f2,%f3,%f4}, [%rd5];\n", 32, 32, 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = exactly(cases[i].text, cases[i].threads, 0);

		assert_near(counts.of[KC_COUNT_OF_SHARED_PASSES] * counts.threads, cases[i].passes);
		assert_near(kc_counts_bank_conflict_degree(&counts), cases[i].degree);
	}
}

/* A copy of 16 bytes per lane from adjacent addresses. */
#define COPY(size) "cp.async.cg.shared.global [%rd5], [%rd3], 16" size ";\n"
#define BELOW_10 "setp.lt.u32 %p1, %r2, 10;\n"
/* %r5 = n - 16 tid, from 0 to 16: what is left of n bytes */
#define LEFT "shl.b32 %r4, %r2, 4;\nsub.s32 %r5, %r1, %r4;\nmax.s32 %r5, %r5, 0;\nmin.s32 %r5, %r5, 16;\n"

/* PTX ISA, cp.async: src-size bytes are read, the rest of cp-size is filled with zeros; ignore-src: nothing is read. */
static const struct copy {
	const char *text;
	uint64_t n;
	double loads, bytes, requests, sectors;
	int exact;
} copies[] = {
    {AT("16") COPY(""), 0, 32, 512, 1, 16, 1},
    {AT("16") COPY(", 16"), 0, 32, 512, 1, 16, 1},
    {AT("16") COPY(", 0"), 0, 0, 0, 0, 0, 1},
    {AT("16") COPY(", 4"), 0, 32, 128, 1, 16, 1}, /* 4 bytes of every 16 */
    {AT("16") BELOW_10 "selp.b32 %r5, 16, 0, %p1;\n" COPY(", %r5"), 0, 10, 160, 1, 5, 1},
    {AT("16") "setp.lt.u32 %p1, 3, %r1;\nselp.b32 %r5, 16, 0, %p1;\n" COPY(", %r5"), 3, 0, 0, 0, 0, 1},
    {AT("16") LEFT COPY(", %r5"), 100, 7, 100, 1, 4, 1}, /* 6 lanes of 16, one of 4 */
    {AT("16") BELOW_10 COPY(", %p1"), 0, 22, 352, 1, 11, 1},
    {AT("16") BELOW_10 "@%p1 " COPY(", 8"), 0, 10, 80, 1, 5, 1},
    {AT("4") BELOW_10 "selp.b32 %r5, 4, 0, %p1;\ncp.async.ca.shared.global [%rd5], [%rd3], 4, %r5;\n", 0, 10, 40, 1, 2,
     1},
    {AT("16") "cp.async.cg.shared.global.L2::cache_hint [%rd5], [%rd3], 16, %rd9;\n", 0, 32, 512, 1, 16, 1},
    {AT("16") BELOW_10 "selp.b32 %r5, 16, 0, %p1;\n"
		       "cp.async.cg.shared.global.L2::cache_hint.L2::128B [%rd5], [%rd3], 16, %r5, %rd9;\n",
     0, 10, 160, 1, 5, 1},
    {AT("16") "ld.shared.u32 %r5, [%rd5];\n" COPY(", %r5"), 0, 32, 512, 1, 16,
     0}, /* not known: as if all bytes were read */
};

static void copies_read_their_source_size(void **state)
{
	static const uint32_t efforts[] = {KC_COST_EFFORT_LAUNCH, KC_COST_EFFORT_EXACT};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(copies) / sizeof(*copies); i++) {
		const struct copy *copy = &copies[i / 2];
		struct kc_counts counts = evaluated(copy->text, 32, copy->n, efforts[i % 2]);

		assert_near(counts.of[KC_COUNT_OF_LD_GLOBAL] * 32, copy->loads);
		assert_near(counts.of[KC_COUNT_OF_BYTES_LOADED] * 32, copy->bytes);
		assert_near(counts.of[KC_COUNT_OF_REQUESTS] * 32, copy->requests);
		assert_near(counts.of[KC_COUNT_OF_SECTORS] * 32, copy->sectors);
		assert_int_equal(!counts.assumed, copy->exact);
		if (efforts[i % 2] == KC_COST_EFFORT_EXACT)
			assert_int_equal(counts.exact, copy->exact);
	}
	/* All lanes execute it, and bytes that are not read are written as zeros. */
	assert_near(exactly(copies[4].text, 32, 0).active_share, 1);
	assert_near(exactly(copies[2].text, 32, 0).of[KC_COUNT_OF_ST_SHARED], 1);
	assert_near(exactly(copies[4].text, 32, 0).of[KC_COUNT_OF_ST_SHARED], 1);
}

/* A three-stage pipeline of a product with tiles of 128 x 32 and 32 x 128 halves: two tiles before the loop, in
 * iteration k tile k + 2 if there is one. Each of 128 threads copies 128 of the 2 * 8,192 bytes of a tile. */
#define TILE                                                                                                           \
	"selp.b32 %r5, 16, 0, %p1;\n" COPY(", %r5") COPY(", %r5") COPY(", %r5") COPY(", %r5") COPY(", %r5")            \
	    COPY(", %r5") COPY(", %r5") COPY(", %r5") "add.s64 %rd3, %rd3, 2048;\n"
#define PIPELINE                                                                                                       \
	AT("16")                                                                                                       \
	"setp.gt.s32 %p1, %r1, 0;\n" TILE "setp.gt.s32 %p1, %r1, 1;\n" TILE "mov.u32 %r4, 0;\nROUND:\n"                \
	"add.s32 %r6, %r4, 2;\nsetp.lt.s32 %p1, %r6, %r1;\n" TILE                                                      \
	"add.s32 %r4, %r4, 1;\nsetp.lt.s32 %p2, %r4, %r1;\n@%p2 bra ROUND;\n"

static void a_pipeline_reads_each_tile_once(void **state)
{
	/* K = 1024, 128 and 64 are 32, 4 and 2 tiles of 32 */
	static const struct {
		uint32_t tiles;
		double bytes;
	} products[] = {{32, 4096}, {4, 512}, {2, 256}, {1, 128}, {1000, 128000}};

	(void)state;
	for (size_t i = 0; i < sizeof(products) / sizeof(*products); i++) {
		struct kc_counts counts = exactly(PIPELINE, 128, products[i].tiles);

		assert_near(counts.of[KC_COUNT_OF_BYTES_LOADED], products[i].bytes);
		assert_near(counts.of[KC_COUNT_OF_SECTORS], products[i].bytes / 32);
		assert_near(counts.of[KC_COUNT_OF_REQUESTS] * 32, 8.0 * products[i].tiles);
		assert_near(counts.of[KC_COUNT_OF_ST_SHARED], 8 * (products[i].tiles + 2.0));
		assert_int_equal(counts.exact, 1);
	}
}

/* Iterations of 512 bytes until n are read, the last one in part: the size changes with the iteration. */
static void a_loop_ends_within_a_tile(void **state)
{
	static const char rounds[] =
	    AT("16") "mov.u32 %r7, 0;\nshl.b32 %r4, %r2, 4;\nROUND:\n"
		     "sub.s32 %r5, %r1, %r7;\nsub.s32 %r5, %r5, %r4;\nmax.s32 %r5, %r5, 0;\n"
		     "min.s32 %r5, %r5, 16;\n" COPY(", %r5") "add.s64 %rd3, %rd3, 512;\nadd.s32 %r7, %r7, 512;\n"
							     "setp.lt.s32 %p2, %r7, %r1;\n@%p2 bra ROUND;\n";
	static const uint32_t bytes[] = {1, 512, 516, 1300, 5120, 51204};

	(void)state;
	for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
		struct kc_counts counts = exactly(rounds, 32, bytes[i]);

		assert_near(counts.of[KC_COUNT_OF_BYTES_LOADED] * 32, bytes[i]);
		assert_near(counts.of[KC_COUNT_OF_SECTORS] * 32, (bytes[i] + 31) / 32);
		assert_near(counts.of[KC_COUNT_OF_REQUESTS] * 32, (bytes[i] + 511) / 512);
		assert_int_equal(counts.exact, 1);
	}
}

#define BULK(to, from) "cp.async.bulk." to "." from ".mbarrier::complete_tx::bytes "

/* One thread requests a bulk copy. The size of a tensor's box is in its tensor map, which is not among the arguments.
 */
static void rows_in_bulk(void **state)
{
	static const struct copy rows[] = {
	    {BULK("shared::cluster", "global") "[%rd4], [%rd1], 2048, [%rd4+8192];\n", 0, 1, 2048, 1, 64, 1},
	    {BULK("shared::cluster", "global") "[%rd4], [%rd1], %r1, [%rd4+8192];\n", 1024, 1, 1024, 1, 32, 1},
	    {BULK("shared::cluster", "global") "[%rd4], [%rd1], %r1, [%rd4+8192];\n", UINT64_MAX, 1, 0, 1, 0, 0},
	    {BULK("shared::cluster", "shared::cta") "[%rd4], [%rd5], 2048, [%rd4+8192];\n", 0, 0, 0, 0, 0, 1},
	    {"cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%rd4], [%rd1, {%r1}], "
	     "[%rd4+8192];\n",
	     0, 1, 0, 1, 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct kc_counts counts = exactly(rows[i].text, 1, rows[i].n);

		assert_near(counts.of[KC_COUNT_OF_LD_GLOBAL], rows[i].loads);
		assert_near(counts.of[KC_COUNT_OF_BYTES_LOADED], rows[i].bytes);
		assert_near(counts.of[KC_COUNT_OF_REQUESTS], rows[i].requests);
		assert_near(counts.of[KC_COUNT_OF_SECTORS], rows[i].sectors);
		assert_int_equal(counts.exact, rows[i].exact);
	}
}

#define TENSOR(more)                                                                                                   \
	"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes" more                        \
	" [%rd4], [%rd1, {%r2, %r2}], [%rd4+8192]"
#define ARRIVES(bytes) "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%rd4+8192], " bytes ";\n"
#define EXPECTS(bytes) "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%rd4+8192], " bytes ";\n"

/* PTX ISA, "Tracking asynchronous operations by the mbarrier object": expect-tx adds to what a barrier waits for, and
 * each copy takes as many bytes from that as it has copied; so both add up to the same. */
static void barriers_expect_the_bytes_of_boxes(void **state)
{
	static const struct {
		const char *text;
		uint64_t n;
		double loads, loaded, stored, requests;
		int exact;
	} cases[] = {
	    {ARRIVES("4096") TENSOR("") ";\n", 0, 1, 4096, 0, 1, 0},
	    {TENSOR("") ";\n" TENSOR("") ";\n" ARRIVES("4096"), 0, 2, 4096, 0, 2, 0},
	    {EXPECTS("%r1") TENSOR("") ";\n", 2048, 1, 2048, 0, 1, 0},
	    {EXPECTS("%r1") TENSOR("") ";\n", UINT64_MAX, 1, 0, 0, 1, 0},
	    {"mbarrier.arrive_drop.expect_tx.shared::cta.b64 _, [%rd4+8192], 96;\n" TENSOR("") ";\n", 0, 1, 96, 0, 1,
	     0},
	    {"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 %rd9, [%rd4+8192], 64;\n" TENSOR("") ";\n", 0, 1,
	     64, 0, 1, 0},
	    {"setp.gt.u32 %p1, %r1, 3;\n@%p1 " ARRIVES("4096") "@%p1 " TENSOR("") ";\n", 4, 1, 4096, 0, 1, 0},
	    {"setp.gt.u32 %p1, %r1, 3;\n@%p1 " ARRIVES("4096") "@%p1 " TENSOR("") ";\n", 3, 0, 0, 0, 0, 1},
	    /* 2,048 of the 6,144 bytes come by a copy whose size is an operand */
	    {EXPECTS("6144") TENSOR("") ";\n" BULK("shared::cluster", "global") "[%rd4], [%rd1], 2048, [%rd4+8192];\n",
	     0, 2, 6144, 0, 2, 0},
	    /* operands tell all */
	    {EXPECTS("2048") BULK("shared::cluster", "global") "[%rd4], [%rd1], 2048, [%rd4+8192];\n", 0, 1, 2048, 0, 1,
	     1},
	    /* stores: of known size, and of a box, for which no barrier waits */
	    {EXPECTS("4096") TENSOR("") ";\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%rd4], 1024;\n", 0, 1,
	     4096, 1024, 2, 0},
	    {EXPECTS("4096")
		 TENSOR("") ";\ncp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r2}], [%rd4];\n",
	     0, 1, 4096, 0, 2, 0},
	    /* what is read once arrives at several barriers, or comes from elsewhere: nothing is concluded */
	    {EXPECTS("4096") TENSOR(".multicast::cluster") ", 3;\n", 0, 1, 0, 0, 1, 0},
	    {EXPECTS("4096")
		 TENSOR("") ";\n" BULK("shared::cluster", "shared::cta") "[%rd4], [%rd5], 48, [%rd4+8192];\n",
	     0, 1, 0, 0, 1, 0},
	    {EXPECTS("4096")
		 TENSOR("") ";\nst.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%rd4], %r1, [%rd4+8192];\n",
	     0, 1, 0, 0, 1, 0},
	    {EXPECTS("4096") TENSOR("") ";\nmbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%rd4+8192], 16;\n", 0, 1,
	     0, 0, 1, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kc_counts counts = exactly(cases[i].text, 1, cases[i].n);

		assert_near(counts.of[KC_COUNT_OF_LD_GLOBAL], cases[i].loads);
		assert_near(counts.of[KC_COUNT_OF_BYTES_LOADED], cases[i].loaded);
		assert_near(counts.of[KC_COUNT_OF_BYTES_STORED], cases[i].stored);
		assert_near(counts.of[KC_COUNT_OF_REQUESTS], cases[i].requests);
		assert_near(counts.of[KC_COUNT_OF_SECTORS], (cases[i].loaded + cases[i].stored) / 32);
		assert_int_equal(counts.exact, cases[i].exact);
	}
}

/* C[M, N] = A[M, K] B[K, N] of halves: each block has 128 x 128 of C, and in each round thread 0 asks for 128 x 64 of A
 * and 64 x 128 of B. K = n. */
#define ROUND                                                                                                          \
	"mov.u32 %r4, 0;\nsetp.eq.u32 %p1, %r2, 0;\nROUND:\n@%p1 " ARRIVES("32768") "@%p1 " TENSOR(                    \
	    "") ";\n@%p1 " TENSOR("") ";\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 %p3, [%rd4+8192], "         \
				      "0;\n@!%p3 bra AGAIN;\n"                                                         \
				      "add.s32 %r4, %r4, 64;\nsetp.lt.s32 %p2, %r4, %r1;\n@%p2 bra ROUND;\n"

static void a_product_reads_its_boxes(void **state)
{
	static const struct {
		uint32_t m, n, k;
	} products[] = {{128, 128, 64}, {512, 256, 1024}, {4096, 4096, 128}};
	static const uint32_t efforts[] = {KC_COST_EFFORT_LAUNCH, KC_COST_EFFORT_EXACT};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(products) / sizeof(*products); i++) {
		uint32_t m = products[i / 2].m, n = products[i / 2].n, k = products[i / 2].k;
		struct kc_counts counts = of_blocks(ROUND, m / 128 * (n / 128), 128, k, efforts[i % 2]);
		/* each row of blocks reads all of B, each column all of A */
		double bytes = 2.0 * ((double)m * k * (n / 128) + (double)k * n * (m / 128));

		assert_near(counts.of[KC_COUNT_OF_BYTES_LOADED] * counts.threads, bytes);
		assert_near(counts.of[KC_COUNT_OF_SECTORS] * counts.threads, bytes / 32);
		assert_near(counts.of[KC_COUNT_OF_LD_GLOBAL] * counts.threads, 2.0 * (m / 128) * (n / 128) * (k / 64));
		assert_true(counts.assumed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sectors_are_compared_with_the_least_of_each_request),
	    cmocka_unit_test(wide_accesses_to_neighbours_are_no_bank_conflict),
	    cmocka_unit_test(wide_loads_that_lanes_share_are_packed),
	    cmocka_unit_test(copies_read_their_source_size),
	    cmocka_unit_test(a_pipeline_reads_each_tile_once),
	    cmocka_unit_test(a_loop_ends_within_a_tile),
	    cmocka_unit_test(rows_in_bulk),
	    cmocka_unit_test(barriers_expect_the_bytes_of_boxes),
	    cmocka_unit_test(a_product_reads_its_boxes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
