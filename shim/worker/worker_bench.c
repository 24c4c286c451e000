/*
 * worker_bench FILE CUPTI: how many launches per second the worker takes through a stage on one core, each stage fed
 * from memory. FILE: for a journal, made and deleted. CUPTI: a library whose records are read, beside its driver. The
 * median of the rounds, in the processor time of the thread.
 */
#define KC_WITH_CUPTI
#include "shim/worker/cupti/buffers.h"
#include "shim/worker/join/join.h"
#include "shim/entry/lookup.h"
#include "shim/worker/cupti/measuring.h"

#include "cuda_tests/bench/timing.h"

#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4096, ROUNDS = 41, STREAMS = 4, BUDGET = 300000 };

#define KERNEL_NS 5000
#define JOURNAL_BYTES (256u << 20)

static struct {
	struct kc_journal *journal;
	struct kc__join *join;
	struct kc__record records[BATCH];
	struct kc__stream_wait waits[STREAMS + 1]; /* by id, from 1 */
	uint32_t correlation, read, finished;
	int64_t now_ns;
} bench;

static void run(const char *stage, int64_t (*round_of)(void))
{
	int64_t took_ns[ROUNDS];
	double rate;

	round_of();
	for (int i = 0; i < ROUNDS; i++)
		took_ns[i] = round_of();
	rate = BATCH * 1e9 / (double)median_ns(took_ns, ROUNDS);
	printf("%-26s %9.0f launches per second (budget %d: %s)\n", stage, rate, BUDGET,
	       rate >= BUDGET ? "ok" : "MISSED");
}

/* CUPTI's records */

static void on_record(const struct kc__record *record, void *unused)
{
	(void)unused;
	bench.read += record->is_kernel;
}

static void deliver(void)
{
	size_t bytes, used = 0;
	uint8_t *at = kc__buffer_take(UINT32_MAX, &bytes);
	CUpti_ActivityKernel10 record = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
					 .start = 1000,
					 .end = 1000 + KERNEL_NS,
					 .gridX = 8,
					 .gridY = 1,
					 .gridZ = 1};

	if (!at)
		exit(1);
	for (; used + sizeof(record) <= bytes && bench.correlation < BATCH; used += sizeof(record)) {
		record.correlationId = ++bench.correlation;
		memcpy(at + used, &record, sizeof(record));
	}
	kc__buffer_delivered(at, used, NULL, 0, false, 0);
}

static int64_t read_records(void)
{
	int64_t began_ns;

	for (bench.correlation = bench.read = 0; bench.correlation < BATCH;)
		deliver();
	began_ns = spent_ns();
	while (kc__cupti_has_records())
		kc__cupti_drain(on_record, NULL);
	began_ns = spent_ns() - began_ns;
	if (bench.read != BATCH)
		exit(1);
	return began_ns;
}

static void attach(const char *library)
{
	struct kc_options options = {.measure = KC_MEASURE_KERNELS};
	CUresult(CUDAAPI * init)(unsigned);
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);

	snprintf(options.cupti, sizeof(options.cupti), "%s", library);
	kc__real_dlsym = kc__dlsym_find_real();
	init = driver ? (CUresult(CUDAAPI *)(unsigned))kc__real_dlsym(driver, "cuInit") : NULL;
	if (!init || init(0) != CUDA_SUCCESS || kc__cupti_attach(&options) != KC_MEASURED) {
		fprintf(stderr, "worker_bench: no CUPTI\n");
		exit(1);
	}
}

/* The join */

static int64_t now_ns(void)
{
	return bench.now_ns;
}

static int64_t exit_ns(void)
{
	return 0;
}

static void say(enum kc_message_code code, const char *detail)
{
	(void)code;
	(void)detail;
}

static void drain(void (*fn)(const struct kc__record *record, void *arg), void *arg)
{
	for (uint32_t i = 0; i < BATCH; i++)
		fn(&bench.records[i], arg);
}

static int64_t clock_error_ns(void)
{
	return INT64_MAX / 2;
}

static uint64_t dropped(void)
{
	return 0;
}

static void id_matched(enum kc__calls calls, bool by_enclosing)
{
	(void)calls;
	(void)by_enclosing;
}

static void id_unmatched(enum kc__calls calls)
{
	(void)calls;
}

static bool not_asked(bool is_kernel)
{
	(void)is_kernel;
	return false;
}

static struct kc__stream_wait *stream_wait(uint32_t id)
{
	return id <= STREAMS ? &bench.waits[id] : NULL;
}

static uint32_t stream_places(void)
{
	return STREAMS + 1;
}

static struct kc_load load(const struct kc_launch *launch)
{
	(void)launch;
	return (struct kc_load){{0.25f}};
}

static void launch_measured(struct kc_launch *launch)
{
	(void)launch;
}

static void transfer_measured(struct kc_transfer *transfer)
{
	(void)transfer;
}

static void launch_decided(struct kc_launch *launch, const struct kc_load *met)
{
	(void)launch;
	(void)met;
}

static void ready(struct kc_slot *slot)
{
	bench.finished++;
	kc_journal_commit(slot, KC_SLOT_STORED);
}

static bool enough_ready(void)
{
	return false;
}

/* In turn in each stream; the kernels of four streams overlap. */
static void launch(uint32_t i)
{
	struct kc_slot *slot = kc_journal_claim(bench.journal, KC_KIND_LAUNCH);
	uint32_t id = ++bench.correlation;

	if (!slot)
		exit(1);
	bench.now_ns += KERNEL_NS / STREAMS;
	slot->launch = (struct kc_launch){.correlation = id, .stream = 1 + i % STREAMS, .launched_ns = bench.now_ns};
	kc_journal_commit(slot, KC_SLOT_RETURNED);
	bench.records[i] = (struct kc__record){
	    .correlation = id, .is_kernel = 1, .start_ns = bench.now_ns, .end_ns = bench.now_ns + KERNEL_NS};
}

static int64_t join_launches(void)
{
	int64_t began_ns;

	kc_journal_prepare(bench.journal);
	for (uint32_t i = 0; i < BATCH; i++)
		launch(i);
	bench.now_ns += KERNEL_NS;
	bench.finished = 0;
	began_ns = spent_ns();
	kc__join_step(bench.join);
	began_ns = spent_ns() - began_ns;
	if (bench.finished != BATCH)
		exit(1);
	kc_journal_retire(bench.journal);
	return began_ns;
}

static void begin_join(const char *path)
{
	static const struct kc_journal_header template = {.run_token = "worker_bench"};
	struct kc__join_driver driver = {
	    .device_count = 1,
	    .now_ns = now_ns,
	    .exit_ns = exit_ns,
	    .say = say,
	    .drain = drain,
	    .dropped = dropped,
	    .clock_error_ns = clock_error_ns,
	    .id_matched = id_matched,
	    .id_unmatched = id_unmatched,
	    .not_asked = not_asked,
	    .stream_wait = stream_wait,
	    .stream_places = stream_places,
	    .stream_at = stream_wait,
	    .load = load,
	    .launch_measured = launch_measured,
	    .transfer_measured = transfer_measured,
	    .launch_decided = launch_decided,
	    .ready = ready,
	    .enough_ready = enough_ready,
	};

	if (kc_journal_create(path, &template, JOURNAL_BYTES, &bench.journal)) {
		fprintf(stderr, "worker_bench: no journal at %s\n", path);
		exit(1);
	}
	driver.journal = bench.journal;
	bench.join = kc__join_new(&driver);
	if (!bench.join)
		exit(1);
	bench.correlation = 0;
	bench.now_ns = 1000000000;
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	attach(argv[2]);
	run("records of CUPTI:", read_records);
	begin_join(argv[1]);
	run("join:", join_launches);
	kc__join_free(bench.join);
	kc_journal_discard(bench.journal);
	return 0;
}
