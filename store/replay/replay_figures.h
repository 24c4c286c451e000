/*
 * What a replay is judged by.
 *
 *   kc__figures    sums of errors over all launches
 *   kc__score      errors of each model, how good intervals are, the learning curve
 *   kc__yardstick  the durations measured so far of a launch shape: simple guesses
 *                  that the models have to beat
 */
#ifndef KC_REPLAY_FIGURES_H
#define KC_REPLAY_FIGURES_H

#include "replay_run.h"
#include "store/replay/replay_internal.h"

/* replay_figures.c: errors. All processes are put on one clock, one after the other. */
struct kc__figures;
struct kc__figures *kc__figures_new(void);
void kc__figures_free(struct kc__figures *figures);
/* A process begins at first_ns of its own clock. forget: it knows nothing of the processes before it. */
void kc__figures_begin(struct kc__figures *figures, int forget, int64_t first_ns);
/* plain: predicted without contention. Sets launch->reference_ns. 0 or -ENOMEM. */
int kc__figures_add(struct kc__figures *figures, struct kc_replay_launch *launch, int64_t device,
		    const struct kc_placement *plain);
/* All launches of the process have been added. */
void kc__figures_close(struct kc__figures *figures);
/* 0 or -errno. */
int kc__figures_finish(struct kc__figures *figures, struct kc_store *s, struct kc_replay *out);

struct kc__heap { /* the largest first */
	int64_t *at;
	uint32_t count, capacity;
};

/* A quantile of all values so far: up_to holds the values up to it, so that its top is the quantile; rest holds the
 * others, negated. */
struct kc__quantile {
	struct kc__heap up_to, rest;
};

/* The simple guesses that predictions of a launch shape have to beat: its last measured duration, and the 5 % and 95 %
 * quantiles of all its measured durations so far. */
struct kc__yardstick {
	int64_t last_ns;
	uint32_t count;
	struct kc__quantile low, high;
};

/* replay_score.c: models, yardsticks, intervals, the learning curve. kc__yardstick_add creates *yardstick if that is
 * NULL. 0 or -ENOMEM.
 */
int kc__yardstick_add(struct kc__yardstick **yardstick, int64_t ns);
void kc__yardstick_free(struct kc__yardstick *yardstick);
/* yardstick: NULL where nothing was measured. */
void kc__yardstick_look(const struct kc__yardstick *yardstick, struct kc_replay_launch *launch);

/* Quantiles to 1 %, as in store/common/sketch.h, but without computing a logarithm for each value: a bucket holds the
 * floats with the same exponent and the same upper bits of the fraction. */
#define KC__ERROR_BUCKETS 2560u
struct kc__errors {
	uint64_t n;
	double sum;
	uint32_t buckets[KC__ERROR_BUCKETS];
};

struct kc__coverage {
	uint64_t n, covered;
	struct kc__errors width;
};

struct kc__score {
	struct kc__errors models[KC_REPLAY_MODELS];
	double beside_last;
	struct kc__coverage intervals[KC_REPLAY_NOVELTIES];
	uint64_t scored;
	double score, past_score;
	uint64_t launches;
	struct kc__errors stages[KC_REPLAY_STAGES];
};
void kc__score_add(struct kc__score *score, const struct kc_replay_launch *launch);
void kc__score_finish(const struct kc__score *score, struct kc_replay *out);

#endif
