/*
 * engine_bench: how many launches per second the engine learns from on one core: each is measured, and it is decided
 * what it overlapped. An application's loop over so many launch shapes of a quarter as many kernels in four streams,
 * with one launch in eight out of turn; and how long the model of resources takes for a launch whose work is counted.
 * The median of the rounds, in the processor time of the thread.
 */
#include "engine.h"

#include "predictor/concurrency/overlap.h"
#include "cuda_tests/bench/timing.h"
#include "predictor/solo/counted.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	SHAPES_MAX = 200,
	KERNELS_MAX = SHAPES_MAX / 4,
	STREAMS = 4,
	BATCH = 4096,
	ROUNDS = 41,
	BUDGET = 300000,
	MODEL_NS = 300
};

struct bench {
	struct kc_engine engine;
	struct kc_device info;
	struct kc_engine_device device;
	struct kc_engine_kernel kernels[KERNELS_MAX];
	struct kc_engine_key keys[KERNELS_MAX];
	_Atomic uint32_t shapes[SHAPES_MAX];
	struct kc_engine_variant variants[SHAPES_MAX];
	struct kc_timeline *timeline;
	struct kc_history history;
	uint32_t random;
	int64_t now_ns;
	struct made {
		uint32_t variant, lane, ticket;
		int64_t start_ns, measured_ns;
		struct kc_engine_launch kept;
	} made[BATCH];
};

/* Lehmer, Park and Miller 1988. */
static uint32_t draw(struct bench *b, uint32_t below)
{
	b->random = (uint32_t)((uint64_t)b->random * 48271 % 2147483647);
	return b->random % below;
}

static void begin(struct bench *b, uint32_t shapes)
{
	static const struct kc_resources resources = {.registers = 32};

	b->info = *kc_device_builtin("a100");
	kc_device_complete(&b->info);
	b->random = 1;
	b->now_ns = 1000000000;
	kc_cells_init(b->engine.cells);
	kc_timeline_init(b->timeline, &b->info);
	kc_history_init(&b->history, 0);
	kc_engine_device_init(&b->engine, &b->device, &b->info);
	for (uint32_t i = 0; i < STREAMS; i++)
		kc_timeline_stream(b->timeline, i, KC_STREAM_NONBLOCKING, 0);
	for (uint32_t i = 0; i < (shapes + 3) / 4; i++) {
		kc_engine_kernel_init(&b->kernels[i], &b->device, "kernel");
		kc_engine_key_init(&b->keys[i], &b->kernels[i]);
	}
	for (uint32_t i = 0; i < shapes; i++) {
		struct kc_shape dims = {.grid = {8 * (i + 1), 1, 1}, .block = {128, 1, 1}};

		b->shapes[i] = 0;
		b->variants[i] = (struct kc_engine_variant){0};
		kc_engine_variant_init(&b->variants[i], &b->keys[i / 4], &b->shapes[i], &resources, &dims, 0);
		kc_engine_variant_name(&b->variants[i], (struct kc_name){i + 1, i + 1});
	}
}

static void predict(struct bench *b, struct made *made)
{
	const struct kc_engine_stage stage = {b->timeline, &b->history, NULL};
	struct kc_prediction_request request;
	struct kc_prediction p;

	kc_engine_ask(&b->engine, &b->variants[made->variant], NULL, &request);
	kc_engine_predict(&request, &stage, made->lane, b->now_ns, &p, &made->kept);
	made->ticket = p.placement.ticket;
	made->start_ns = p.placement.start_ns;
}

static void learn(struct bench *b, const struct made *made)
{
	const struct kc_load met = {{made->lane ? 0.25f : 0}};

	kc_timeline_measured(b->timeline, made->lane, made->ticket, made->start_ns, made->start_ns + made->measured_ns);
	kc_engine_measured(&b->engine, &b->variants[made->variant], &made->kept, made->measured_ns);
	kc_engine_decided(&b->engine, &b->variants[made->variant], &made->kept,
			  made->lane ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE, &met, made->measured_ns);
}

/* Predicts a batch, and returns the time that learning from it takes. */
static int64_t round_of(struct bench *b, uint32_t shapes)
{
	int64_t began_ns;

	for (uint32_t i = 0; i < BATCH; i++) {
		struct made *made = &b->made[i];

		made->variant = draw(b, 8) ? i % shapes : draw(b, shapes);
		made->lane = i % STREAMS;
		made->measured_ns = 10000 + 100 * made->variant + draw(b, 500);
		b->now_ns += 3000;
		predict(b, made);
	}
	began_ns = spent_ns();
	for (uint32_t i = 0; i < BATCH; i++)
		learn(b, &b->made[i]);
	return spent_ns() - began_ns;
}

static void run(struct bench *b, uint32_t shapes)
{
	int64_t took_ns[ROUNDS];
	double rate;

	begin(b, shapes);
	round_of(b, shapes);
	for (uint32_t i = 0; i < ROUNDS; i++)
		took_ns[i] = round_of(b, shapes);
	rate = BATCH * 1e9 / (double)median_ns(took_ns, ROUNDS);
	printf("engine, %3u launch shapes: %9.0f launches per second (budget %d: %s)\n", shapes, rate, BUDGET,
	       rate >= BUDGET ? "ok" : "MISSED");
}

/* A launch that needs something of every resource. */
static void run_model(void)
{
	const struct kc_device *device = kc_device_builtin("h200");
	struct kc_counts counts = {.threads = 256000, .exact = 1, .chain_cycles = 100, .chain_far = 3};
	struct kc_resources resources = {.registers = 32};
	struct kc_shape shape = {.grid = {1000, 1, 1}, .block = {256, 1, 1}};
	struct kc_curve_point size;
	struct kc_work work;
	int64_t took_ns[ROUNDS], ns;

	for (uint32_t n = 0; n < KC_COUNTER_COUNT; n++)
		counts.of[n] = n + 1;
	kc_work_init(&work, device, &resources, &shape, 0);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		int64_t began_ns = spent_ns();

		for (uint32_t n = 0; n < BATCH; n++) {
			counts.of[KC_COUNT_OF_INT] = n;
			kc_work_count(&work, device, &counts, &size);
		}
		took_ns[i] = spent_ns() - began_ns;
	}
	ns = median_ns(took_ns, ROUNDS) / BATCH;
	printf("model of a counted launch: %9lld ns (budget %d: %s)\n", (long long)ns, MODEL_NS,
	       ns <= MODEL_NS ? "ok" : "MISSED");
}

int main(void)
{
	struct bench *b = calloc(1, sizeof(*b));

	if (!b || !(b->timeline = calloc(1, kc_timeline_size())) || !(b->engine.cells = calloc(1, kc_cells_bytes())))
		return 1;
	run(b, 5);
	run(b, SHAPES_MAX);
	run_model();
	free(b->engine.cells);
	free(b->timeline);
	free(b);
	return 0;
}
