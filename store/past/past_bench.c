/*
 * past_bench: what a program with a long past pays for it: to read it at the start, at the first launch of a launch
 * shape that it knows, and to write what it has learned. Of 1,000 kernels in 10,000 launch shapes that a million
 * launches have taught, one in eight out of turn. The median of the rounds, in the processor time of the thread.
 */
#include "past.h"
#include "predictor/concurrency/overlap.h"
#include "cuda_tests/bench/timing.h"
#include "snapshot.h"
#include "snapshot_row.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KERNELS = 1000, SHAPES = 10000, STREAMS = 4, LAUNCHES = 1000000, ROUNDS = 15 };
#define LOAD_BUDGET_NS 3000000
#define ENTRY_BUDGET_NS 20000
#define WRITE_BUDGET_NS 600000000 /* 1 % of the minute between two */
#define UUID "0a000000000000000000000000000000"

struct bench {
	struct kc_engine engine;
	struct kc_device info;
	struct kc_engine_device device;
	char names[KERNELS][96];
	struct kc_engine_kernel kernels[KERNELS];
	struct kc_engine_key keys[KERNELS];
	_Atomic uint32_t shapes[SHAPES];
	struct kc_shape dims[SHAPES];
	struct kc_engine_variant variants[SHAPES];
	struct kc_timeline *timeline;
	struct kc_history history;
	uint32_t random;
	int64_t now_ns;
};

/* Lehmer, Park and Miller 1988. */
static uint32_t draw(struct bench *b, uint32_t below)
{
	b->random = (uint32_t)((uint64_t)b->random * 48271 % 2147483647);
	return b->random % below;
}

static struct kc_code_identity code_of(const struct bench *b, uint32_t kernel)
{
	return (struct kc_code_identity){.mangled = b->names[kernel], .code_hash = kernel + 1, .registers = 32};
}

static struct kc_past_query query_of(const struct bench *b, uint32_t shape)
{
	return (struct kc_past_query){
	    .code = code_of(b, shape % KERNELS), .uuid = UUID, .device = &b->info, .dims = &b->dims[shape]};
}

static void meet(struct bench *b, uint32_t shape, const struct kc_beginning *from)
{
	static const struct kc_resources resources = {.registers = 32, .max_threads_per_block = 1024};
	const struct kc_past_query query = query_of(b, shape);
	uint32_t kernel = shape % KERNELS;
	uint64_t identity;

	if (shape < KERNELS) {
		kc_past_make_kernel(from, &query.code, UUID, &b->device, &b->kernels[kernel]);
		kc_past_make_key(from, &query, &b->kernels[kernel], &b->keys[kernel]);
	}
	kc_past_recall_shape(from, &query, &b->shapes[shape]);
	kc_engine_variant_init(&b->variants[shape], &b->keys[kernel], &b->shapes[shape], &resources, query.dims, 8);
	identity = kc_launch_identity(kc_launch_name(query.code.mangled, query.dims, NULL), &query.code, UUID);
	kc_engine_variant_name(&b->variants[shape], (struct kc_name){identity, identity});
	kc_past_make_variant(from, &query, NULL, NULL, &b->variants[shape]);
}

static struct bench *begin(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b || !(b->timeline = calloc(1, kc_timeline_size())) || !(b->engine.cells = calloc(1, kc_cells_bytes())))
		exit(1);
	b->info = *kc_device_builtin("a100");
	kc_device_complete(&b->info);
	b->random = 1;
	kc_cells_init(b->engine.cells);
	kc_timeline_init(b->timeline, &b->info);
	kc_history_init(&b->history, 0);
	for (uint32_t i = 0; i < STREAMS; i++)
		kc_timeline_stream(b->timeline, i, KC_STREAM_NONBLOCKING, 0);
	kc_engine_device_init(&b->engine, &b->device, &b->info);
	for (uint32_t i = 0; i < KERNELS; i++)
		snprintf(b->names[i], sizeof(b->names[i]),
			 "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_%u_functorEEEviT0_T1_", i);
	for (uint32_t i = 0; i < SHAPES; i++)
		b->dims[i] = (struct kc_shape){.grid = {8 * (1 + i / KERNELS) + i % 7, 1, 1}, .block = {128, 1, 1}};
	return b;
}

static void end(struct bench *b)
{
	free(b->engine.cells);
	free(b->timeline);
	free(b);
}

static void launch(struct bench *b, uint32_t n)
{
	const struct kc_engine_stage stage = {b->timeline, &b->history, NULL};
	const struct kc_load met = {{n % STREAMS == 3 ? 0.25f : 0}};
	uint32_t shape = draw(b, 8) ? n % SHAPES : draw(b, SHAPES);
	int64_t ns = 10000 + 3 * shape + draw(b, 500);
	struct kc_prediction_request request;
	struct kc_engine_launch kept;
	struct kc_prediction p;

	b->now_ns += 20000;
	kc_engine_ask(&b->engine, &b->variants[shape], NULL, &request);
	kc_engine_predict(&request, &stage, n % STREAMS, b->now_ns, &p, &kept);
	kc_timeline_measured(b->timeline, n % STREAMS, p.placement.ticket, p.placement.start_ns,
			     p.placement.start_ns + ns);
	kc_engine_measured(&b->engine, &b->variants[shape], &kept, ns);
	kc_engine_decided(&b->engine, &b->variants[shape], &kept,
			  n % STREAMS == 3 ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE, &met, ns);
}

static int keep(const struct bench *b, const struct kc_snapshot *before, struct kc_store *s)
{
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	const struct kc_snapshot_carried carried = {.before = before, .cells = b->engine.cells};
	int rc = maker ? 0 : -1;

	for (uint32_t i = 0; rc == 0 && i < SHAPES; i++) {
		const struct kc_snapshot_entry entry = {
		    .code = code_of(b, i % KERNELS),
		    .uuid = UUID,
		    .dims = &b->dims[i],
		    .name = kc_launch_name(b->names[i % KERNELS], &b->dims[i], NULL),
		    .variant = &b->variants[i],
		};

		rc = kc_snapshot_add(maker, &entry);
	}
	return rc ? rc : kc_snapshot_store(s, &carried, maker);
}

static void say(const char *what, int64_t ns, int64_t budget_ns)
{
	printf("%-58s %9.1f us (budget %lld: %s)\n", what, (double)ns / 1e3, (long long)(budget_ns / 1000),
	       ns <= budget_ns ? "ok" : "MISSED");
}

static void write_rounds(const struct bench *b, const struct kc_snapshot *before, struct kc_store *s)
{
	int64_t took_ns[ROUNDS];

	for (uint32_t i = 0; i < ROUNDS; i++) {
		int64_t began_ns = spent_ns();

		if (keep(b, before, s))
			exit(1);
		took_ns[i] = spent_ns() - began_ns;
	}
	say("to write what was learned", median_ns(took_ns, ROUNDS), WRITE_BUDGET_NS);
}

static struct kc_past *read_past(const char *path, const char *executable)
{
	const struct kc_past_options options = {.executable = executable, .bound = {.bytes = 20 << 20}};
	struct kc_past *past;
	char why[200] = "";
	int rc = kc_past_load(path, &options, &past, why, sizeof(why));

	if (rc == 0 || rc == -ENODATA)
		return past;
	printf("%s\n", why);
	exit(1);
}

static void read_rounds(const char *path)
{
	int64_t without_ns[ROUNDS], took_ns[ROUNDS], entries_ns[ROUNDS];

	for (uint32_t i = 0; i < ROUNDS; i++) {
		struct bench *b = begin();
		struct kc_beginning from = {NULL, NULL};
		int64_t began_ns = spent_ns();

		kc_past_free(read_past(path, "/usr/bin/another"));
		without_ns[i] = spent_ns() - began_ns;
		began_ns = spent_ns();
		from.past = read_past(path, "/usr/bin/app");
		kc_past_recall_cells(&from, b->engine.cells);
		kc_past_recall_device(&from, UUID, &b->engine, &b->device);
		took_ns[i] = spent_ns() - began_ns - without_ns[i];
		began_ns = spent_ns();
		for (uint32_t shape = 0; shape < SHAPES; shape++)
			meet(b, shape, &from);
		entries_ns[i] = (spent_ns() - began_ns) / SHAPES;
		if (!b->variants[SHAPES - 1].learned.measured)
			exit(1);
		end(b);
		kc_past_free((struct kc_past *)from.past);
	}
	printf("%-58s %9.1f us\n", "to look for it, and there is none", (double)median_ns(without_ns, ROUNDS) / 1e3);
	say("to begin with it, beyond that", median_ns(took_ns, ROUNDS), LOAD_BUDGET_NS);
	say("an entry that is met", median_ns(entries_ns, ROUNDS), ENTRY_BUDGET_NS);
}

int main(void)
{
	struct kc_journal_header header = {.pid = 1, .monotonic_ns = 1, .executable = "/usr/bin/app", .measure = "all"};
	const struct kc_beginning nothing = {NULL, NULL};
	char path[sizeof("/tmp/kc-past-bench-XXXXXX") + sizeof("-wal")] = "/tmp/kc-past-bench-XXXXXX";
	const size_t length = strlen(path);
	struct bench *b = begin();
	struct kc_store *s;
	int64_t process;
	int file = mkstemp(path);

	close(file);
	if (file < 0 || kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0) || kc_store_process(s, &header, &process))
		return 1;
	for (uint32_t i = 0; i < SHAPES; i++)
		meet(b, i, &nothing);
	for (uint32_t n = 0; n < LAUNCHES; n++)
		launch(b, n);
	write_rounds(b, NULL, s);
	kc_store_close(s);
	read_rounds(path);
	end(b);
	unlink(path);
	strcpy(path + length, "-wal");
	unlink(path);
	strcpy(path + length, "-shm");
	unlink(path);
	return 0;
}
