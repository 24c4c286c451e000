/*
 * What predicting a launch costs, and learning from its measurement: an
 * application's loop over so many launch shapes, each launch measured when the next
 * has been made. Prints medians.
 *
 * As last seen, on one core of a shared machine, 200 launch shapes with one launch
 * in eight out of turn: kc_outlook_predict 0.5 µs, kc_outlook_measured and
 * kc_outlook_learn together 0.85 µs.
 */
#include "outlook.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { LAUNCHES = 60000, SHAPES_MAX = 4096, LANE = 0 };

struct subject {
	struct kc_work work;
	struct kc_lambda lambda;
	struct kc_belief belief;
	struct kc_contention contention;
	struct kc_kernel_experience kernel;
	uint32_t measured;
};

struct bench {
	struct kc_device device;
	struct kc_timeline *tl;
	struct kc_cells *cells;
	struct kc_history history;
	struct kc_device_experience experience;
	struct kc_lambda root;
	struct kc_contention board;
	struct subject subjects[SHAPES_MAX];
	int64_t predicting[LAUNCHES], learning[LAUNCHES];
	uint32_t random;
};

static int64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Lehmer, Park and Miller 1988. */
static uint32_t draw(struct bench *b, uint32_t below)
{
	b->random = (uint32_t)((uint64_t)b->random * 48271 % 2147483647);
	return b->random % below;
}

static void begin(struct bench *b, uint32_t shapes)
{
	struct kc_resources resources = {.registers = 32};

	kc_timeline_init(b->tl, &b->device);
	kc_timeline_stream(b->tl, LANE, KC_STREAM_NONBLOCKING, 0);
	kc_history_init(&b->history, 0);
	kc_device_experience_init(&b->experience, b->cells);
	kc_lambda_init(&b->root, NULL);
	kc_contention_init(&b->board, NULL);
	for (uint32_t i = 0; i < shapes; i++) {
		struct subject *s = &b->subjects[i];
		struct kc_shape shape = {{8 * (i + 1), 1, 1}, {32u << i % 5, 1, 1}, 0, 0};

		*s = (struct subject){0};
		kc_work_init(&s->work, &b->device, &resources, &shape, 0);
		kc_lambda_init(&s->lambda, &b->root);
		kc_contention_init(&s->contention, &b->board);
		kc_kernel_experience_init(&s->kernel, &b->experience);
	}
}

static void predict(struct bench *b, uint32_t shape, int64_t now_ns, struct kc_prediction *out)
{
	struct subject *s = &b->subjects[shape];
	struct kc_prediction_request prospect = {
	    .launch = {&b->device, &s->work, &s->contention, shape + 1},
	    .name = {shape + 1, shape + 1},
	    .novelty = kc_novelty(s->measured, s->measured),
	    .solo = kc_forecast_solo(&s->work, &s->belief, NULL, NULL),
	    .device = &b->experience,
	    .kernel = &s->kernel,
	};

	kc_outlook_predict(&prospect, b->tl, &b->history, LANE, now_ns, out);
}

static void learn(struct bench *b, uint32_t shape, const struct kc_prediction *said, int64_t measured_ns)
{
	struct subject *s = &b->subjects[shape];
	struct kc_measured_launch outcome = {
	    .device = &b->experience,
	    .kernel = &s->kernel,
	    .name = {shape + 1, shape + 1},
	    .context = said->context,
	    .slowdown = 1,
	    .low_ns = said->solo_low_ns,
	    .high_ns = said->solo_high_ns,
	    .novelty = kc_novelty(s->measured, s->measured),
	    .solo = kc_forecast_solo(&s->work, &s->belief, NULL, NULL),
	    .measured_ns = measured_ns,
	};
	struct kc_decided_launch lesson = {
	    .work = &s->work,
	    .lambda = &s->lambda,
	    .contention = &s->contention,
	    .meeting = said->placement.meeting,
	    .slowdown = 1,
	    .solos = s->measured++,
	    .measured_ns = measured_ns,
	};

	kc_outlook_measured(&outcome);
	kc_outlook_learn(&lesson);
	if (kc_lambda_needs_publishing(&s->lambda, &s->belief))
		s->belief = kc_lambda_belief(&s->lambda, 1);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void print(const char *what, uint32_t shapes, int64_t took[LAUNCHES])
{
	qsort(took, LAUNCHES, sizeof(took[0]), by_value);
	printf("%-34s %4u launch shapes: median %5lld ns, 99 %% %5lld ns\n", what, shapes,
	       (long long)took[LAUNCHES / 2], (long long)took[LAUNCHES / 100 * 99]);
}

static void run(struct bench *b, uint32_t shapes)
{
	int64_t now_ns = 1000000000;

	begin(b, shapes);
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		uint32_t shape = draw(b, 8) ? i % shapes : draw(b, shapes);
		int64_t measured_ns = 10000 + 100 * shape + draw(b, 500), first_ns = clock_ns(), second_ns;
		struct kc_prediction said;

		predict(b, shape, now_ns, &said);
		second_ns = clock_ns();
		learn(b, shape, &said, measured_ns);
		b->learning[i] = clock_ns() - second_ns;
		b->predicting[i] = second_ns - first_ns;
		kc_timeline_measured(b->tl, LANE, said.placement.ticket, said.placement.start_ns,
				     said.placement.start_ns + measured_ns);
		now_ns += measured_ns / 2;
	}
	print("predicting a launch", shapes, b->predicting);
	print("learning from it (budget 1,000 ns)", shapes, b->learning);
}

int main(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	int64_t begin_ns = clock_ns();

	if (!b || !(b->tl = malloc(kc_timeline_size())) || !(b->cells = calloc(1, kc_cells_bytes())))
		return 1;
	b->device = *kc_device_builtin("a100");
	b->random = 1;
	kc_cells_init(b->cells);
	for (int i = 0; i < 1000000; i++)
		clock_ns();
	printf("reading the clock: %lld ns, in each figure\n", (long long)(clock_ns() - begin_ns) / 1000000);
	run(b, 8);
	run(b, 200);
	run(b, SHAPES_MAX);
	free(b->cells);
	free(b->tl);
	free(b);
	return 0;
}
