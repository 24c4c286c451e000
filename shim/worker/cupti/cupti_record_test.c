/* What is made of CUPTI's records, and which of their times are believed. */
#define KC_WITH_CUPTI
#include "shim/shim.h"
#include "cupti_client.h"
#include "measuring.h"
#include "shim/entry/profiler.h"

#include "buffers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define DELIVERED_NS 50000000
#define OFFSET_NS 1000 /* by which CUPTI's clock is ahead of ours */

struct kc__state kc__shim;
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));
struct kc__cupti kc__cupti;

/* ---- The rest of the library ---- */

int64_t kc__now_ns(void)
{
	return DELIVERED_NS;
}

void kc__say(enum kc_message_code code, const char *detail)
{
	(void)code;
	(void)detail;
}

void kc__profiler_told(struct kc__profiler_told *told)
{
	memset(told, 0, sizeof(*told));
}

static unsigned looked_at;

void kc__device_buffers_look(const struct kc__record *record)
{
	(void)record;
	looked_at++;
}

/* ---- Tests ---- */

static void fields_of_each_kind(void **state)
{
	const CUpti_ActivityKernel10 kernel = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					       .correlationId = 7,
					       .graphNodeId = 9,
					       .gridX = 1,
					       .gridY = 2,
					       .gridZ = 3,
					       .blockX = 4,
					       .blockY = 5,
					       .blockZ = 6,
					       .start = 5000,
					       .end = 6000};
	const CUpti_ActivityMemcpyPtoP4 peer = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
						.correlationId = 7,
						.graphNodeId = 9,
						.bytes = 100,
						.start = 5000,
						.end = 6000};
	const CUpti_ActivityMemset4 memset_record = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
						     .correlationId = 7,
						     .graphNodeId = 9,
						     .bytes = 100,
						     .start = 5000,
						     .end = 6000};
	const CUpti_ActivityGraphTrace2 graph = {
	    .kind = CUPTI_ACTIVITY_KIND_GRAPH_TRACE, .correlationId = 7, .start = 5000, .end = 6000};
	const CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_DRIVER};
	const struct {
		const void *at;
		struct kc__record wanted;
	} cases[] = {
	    {&kernel, {.is_kernel = 1, .graph_node = 9, .grid = {1, 2, 3}, .block = {4, 5, 6}}},
	    {&peer, {.kind = KC_COPY_PEER, .graph_node = 9, .bytes = 100}},
	    {&memset_record, {.kind = KC_MEMSET, .graph_node = 9, .bytes = 100}},
	    {&graph, {.is_graph = 1}},
	};
	struct kc__record record;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct kc__record *wanted = &cases[i].wanted;

		assert_true(kc__cupti_read(cases[i].at, OFFSET_NS, &record));
		assert_int_equal(record.correlation, 7);
		assert_int_equal(record.start_ns, 4000);
		assert_int_equal(record.end_ns, 5000);
		assert_int_equal(record.is_kernel, wanted->is_kernel);
		assert_int_equal(record.is_graph, wanted->is_graph);
		assert_int_equal(record.kind, wanted->kind);
		assert_int_equal(record.graph_node, wanted->graph_node);
		assert_int_equal(record.bytes, wanted->bytes);
		assert_memory_equal(record.grid, wanted->grid, sizeof(record.grid));
		assert_memory_equal(record.block, wanted->block, sizeof(record.block));
	}
	assert_false(kc__cupti_read(&call, OFFSET_NS, &record));
}

/* cupti_activity.h, CUpti_ActivityMemcpyKind: H is the host, D device memory, A an array of it. */
static void copies_by_where_they_go(void **state)
{
	static const struct {
		CUpti_ActivityMemcpyKind copy;
		enum kc_transfer_kind kind;
	} cases[] = {
	    {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, KC_COPY_HTOD},     {CUPTI_ACTIVITY_MEMCPY_KIND_HTOA, KC_COPY_HTOD},
	    {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, KC_COPY_DTOH},     {CUPTI_ACTIVITY_MEMCPY_KIND_ATOH, KC_COPY_DTOH},
	    {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, KC_COPY_DTOD},     {CUPTI_ACTIVITY_MEMCPY_KIND_ATOA, KC_COPY_DTOD},
	    {CUPTI_ACTIVITY_MEMCPY_KIND_ATOD, KC_COPY_DTOD},     {CUPTI_ACTIVITY_MEMCPY_KIND_DTOA, KC_COPY_DTOD},
	    {CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, KC_COPY_PEER},     {CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, KC_COPY_OTHER},
	    {CUPTI_ACTIVITY_MEMCPY_KIND_UNKNOWN, KC_COPY_OTHER},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const CUpti_ActivityMemcpy6 copy = {
		    .kind = CUPTI_ACTIVITY_KIND_MEMCPY, .copyKind = (uint8_t)cases[i].copy, .bytes = 100};
		struct kc__record record;

		assert_true(kc__cupti_read(&copy, OFFSET_NS, &record));
		assert_int_equal(record.kind, cases[i].kind);
		assert_int_equal(record.bytes, 100);
	}
}

static CUpti_ActivityKernel10 kernel_at(uint64_t start, uint64_t end)
{
	return (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, .start = start, .end = end};
}

/* A start of 0 and an end before the start are CUPTI's for times that it does not know. */
static void times_that_are_none(void **state)
{
	static const struct {
		uint64_t start, end;
		int64_t start_ns, end_ns;
	} cases[] = {
	    {0, 6000, 0, 0}, {6000, 5999, 0, 0}, {6000, 6000, 5000, 5000}, {6000, 6001, 5000, 5001}, {0, 0, 0, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CUpti_ActivityKernel10 kernel = kernel_at(cases[i].start, cases[i].end);
		struct kc__record record;

		assert_true(kc__cupti_read(&kernel, OFFSET_NS, &record));
		assert_int_equal(record.start_ns, cases[i].start_ns);
		assert_int_equal(record.end_ns, cases[i].end_ns);
	}
}

static CUptiResult next_kernel(uint8_t *buffer, size_t valid_bytes, CUpti_Activity **record)
{
	uint8_t *next = *record ? (uint8_t *)*record + sizeof(CUpti_ActivityKernel10) : buffer;

	if (next + sizeof(CUpti_ActivityKernel10) > buffer + valid_bytes)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)next;
	return CUPTI_SUCCESS;
}

static CUptiResult none_dropped(CUcontext context, uint32_t stream, size_t *dropped)
{
	(void)context;
	(void)stream;
	*dropped = 0;
	return CUPTI_SUCCESS;
}

static struct kc__record told[4];
static unsigned tells;

static void tell(const struct kc__record *record, void *arg)
{
	assert_ptr_equal(arg, &told);
	assert_in_range(tells, 0, 3);
	told[tells++] = *record;
}

static void drain(const CUpti_ActivityKernel10 *kernels, size_t count, bool forced)
{
	size_t bytes;
	uint8_t *at;

	kc__buffers_forget();
	kc__buffers_begin(true);
	at = kc__buffer_take(16, &bytes);
	assert_non_null(at);
	assert_true(bytes >= count * sizeof(*kernels));
	memcpy(at, kernels, count * sizeof(*kernels));
	kc__buffer_delivered(at, count * sizeof(*kernels), NULL, 0, forced, DELIVERED_NS);
	tells = looked_at = 0;
	kc__cupti = (struct kc__cupti){.most_bytes = SIZE_MAX,
				       .clock_offset_ns = OFFSET_NS,
				       .our_clock = kc__cupti.our_clock,
				       .cuptiActivityGetNextRecord = next_kernel,
				       .cuptiActivityGetNumDroppedRecords = none_dropped};
	kc__cupti_drain(tell, &told);
}

/* Nothing ends after its record was delivered, as far as the clocks agree: to 100 us where CUPTI has ours, to 10 ms
 * where it has its own. */
static void times_after_the_delivery_are_none(void **state)
{
	static const int64_t within_ns[] = {10000000, 100000};

	(void)state;
	for (int ours = 0; ours < 2; ours++) {
		const uint64_t last = (uint64_t)(OFFSET_NS + DELIVERED_NS + within_ns[ours]);
		const CUpti_ActivityKernel10 kernels[] = {kernel_at(5000, 6000), kernel_at(5000, last),
							  kernel_at(5000, last + 1)};

		kc__cupti.our_clock = ours;
		drain(kernels, 3, false);
		assert_int_equal(tells, 3);
		assert_int_equal(looked_at, 3);
		assert_int_equal(told[0].end_ns, 5000);
		assert_int_equal(told[1].start_ns, 4000);
		assert_int_equal(told[1].end_ns, DELIVERED_NS + within_ns[ours]);
		assert_int_equal(told[2].start_ns, 0);
		assert_int_equal(told[2].end_ns, 0);
	}
}

/* By force CUPTI returns records of what has not ended, too, which come again. */
static void without_times_a_record_counts_where_it_was_not_forced(void **state)
{
	const CUpti_ActivityKernel10 kernels[] = {kernel_at(0, 0), kernel_at(5000, 6000)};

	(void)state;
	drain(kernels, 2, true);
	assert_int_equal(tells, 1);
	assert_int_equal(told[0].end_ns, 5000);
	drain(kernels, 2, false);
	assert_int_equal(tells, 2);
	assert_int_equal(told[0].end_ns, 0);
	assert_int_equal(told[1].end_ns, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_of_each_kind),
	    cmocka_unit_test(copies_by_where_they_go),
	    cmocka_unit_test(times_that_are_none),
	    cmocka_unit_test(times_after_the_delivery_are_none),
	    cmocka_unit_test(without_times_a_record_counts_where_it_was_not_forced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
