/*
 * Predicts recorded launches again, as if they were just being made.
 *
 *   kc_replay_options   which launches, and what to assume
 *   kc_replay_launch    one launch: what was predicted, and what was measured
 *   kc_replay           errors over all launches
 *
 * Launches are predicted in the order in which they were issued. A measurement
 * becomes known a stated time after the kernel's end, so that no prediction
 * depends on anything that ended after its launch. What one process taught is
 * known to the processes that began after its end. Imported processes are
 * replayed one after the other, because their clocks cannot be compared.
 *
 * The rules are those of the live library: both drive predictor/engine.h.
 */
#ifndef KC_REPLAY_H
#define KC_REPLAY_H

#include "predictor/experience/standing.h"
#include "store/replay/replay_delay.h"
#include "store/query/query.h"

struct kc_replay_launch {
	int64_t process, shape, stream, kernel; /* rows; 0: not known */
	uint64_t sequence;
	int64_t launched_ns; /* times on the process's clock */
	int64_t solo_ns, solo_low_ns, solo_high_ns;
	int64_t low_ns, high_ns;                    /* 90 % interval of the predicted duration */
	int64_t start_ns, end_ns;                   /* predicted */
	int64_t said_ns[KC_CANDIDATES];             /* the duration by each model alone; 0: it cannot tell */
	int64_t last_ns;                            /* last known duration of the launch shape; 0: none */
	int64_t past_low_ns, past_high_ns;          /* 5 and 95 % quantile of those known; 0: too few */
	int64_t measured_start_ns, measured_end_ns; /* 0: not measured */
	double slowdown, slowdown_waves;
	double reference_ns; /* median of the solo runs of the shape known by then; 0: none */
	uint32_t model, concurrency_case, novelty, unpredictable;
	uint32_t overlap; /* enum kc_overlap, measured */
	uint32_t beyond;  /* what it asked for that its device is not known to have: kc_work_clamp() */
	int excluded;     /* not in the figures */
};

/* What stands for the time until a profiler hands over its buffers where no run tells it: a design value. */
#define KC_REPLAY_DELAY_NS 10000000

struct kc_knowledge; /* store/past/knowledge.h */

struct kc_replay_options {
	struct kc_selection selection;
	struct kc_filter
	    *filter; /* launches that do not match are not in the figures; NULL: all match. Those of 0 ns never are */
	int fresh;   /* no process knows what another one taught */
	int launches_alone; /* of the result, only counts of launches are wanted: no figures */
	int imported_only;  /* recorded processes are left out: they have predictions of their own */
	int as_recorded;    /* processes that recorded their events are replayed by them, and delay does not apply */
	struct kc_replay_delay delay;
	/* Every process begins with it, where earlier ones taught nothing; NULL: with nothing. Processes that recorded
	 * to have begun with another file, or with none, are replayed by delay. */
	const struct kc_knowledge *knowledge;
	uint32_t without; /* a bit for each enum kc_layer that is switched off (outlook.h) */
	/* Assumed where the database does not describe the device; NULL: one of the compute capability that the trace
	 * or the device's name tells, or else a V100. */
	const struct kc_device *device;
	/* May be NULL. Called for each launch that matches, in their order; returns 0 to continue. By another thread
	 * than kc_replay_run(), which waits for the last call. */
	int (*launch)(const struct kc_replay_launch *launch, void *arg);
	void *arg;
};

/* Of overlapped, predicted launches with a solo reference. Slowdown: time / reference. */
struct kc_replay_slowdown {
	uint64_t n, without;     /* without: no solo run of the shape was known */
	double mape;             /* of the predicted slowdown; NAN where n = 0 */
	double mape_no_slowdown; /* of 1 */
};

/* Of groups of kernels that overlapped one another on a device: from the first
 * start to the last end. */
struct kc_replay_makespan {
	uint64_t n;
	double mape;
	double mape_serial;        /* one after the other */
	double mape_no_contention; /* in their streams, each as long as alone */
};

/* By model: the candidates, and beside them what they are judged by. */
enum { KC_REPLAY_MIX = KC_CANDIDATES, KC_REPLAY_LAST, KC_REPLAY_MODELS };
const char *kc_replay_model_name(uint32_t model);

struct kc_replay_accuracy {
	uint64_t n;
	double mape, median, p90; /* NAN where n = 0; median and p90 to 1 % of them */
};

#define KC_REPLAY_NOVELTIES 3u /* enum kc_novelty */

struct kc_replay_interval {
	uint64_t n;
	double coverage; /* share of durations inside */
	double width;    /* median of (high - low) / measured */
};

/* Launches of traces that asked a device for more than it is known to have, and are predicted as if they had asked for
 * the most that it has. */
struct kc_replay_beyond {
	uint64_t launches;
	uint64_t threads, registers, shared, clusters; /* those that asked for more of it */
};

/* A stage: launches 2^i to 2^(i + 1) - 1 in the figures, the last one open. */
#define KC_REPLAY_STAGES 24u
struct kc_replay {
	uint64_t launches, predicted, measured, excluded;
	uint64_t as_recorded;   /* launches of processes that were replayed with what they recorded as known */
	uint64_t chosen;        /* of processes that stored a choice of their launches: the rest is not replayed */
	uint64_t incomplete;    /* of processes that had to drop launches, transfers or calls on streams */
	uint64_t without_past;  /* of processes that had begun with what is not in the database any more */
	uint64_t without_prior; /* of processes that had begun with a file of knowledge that is not given here */
	uint64_t prior_missing; /* checksum of the first such file */
	uint64_t unpredictable[KC_UNPREDICTABLE_COUNT];
	uint64_t assumed_device,
	    assumed_nameless; /* launches on an unknown device; those of which not even its name is known */
	uint64_t foreign; /* launches on what is no GPU of NVIDIA, which are not predicted; the name of the first one */
	char foreign_name[96];
	/* The device assumed for the first unknown one; the name of the first one of which no figures are known. */
	char assumed_name[96], unknown_name[96];
	/* The compute capability by which it was chosen; 0: none was known, or options.device stands for it. */
	uint32_t assumed_cc_major, assumed_cc_minor;
	struct kc_replay_beyond beyond;
	double seconds;           /* processor time of reading the launches and predicting them */
	struct kc_report *report; /* accuracy, groups; its ledger and messages are empty */
	struct kc_replay_slowdown slowdown;
	struct kc_replay_makespan makespan;
	struct kc_replay_accuracy models[KC_REPLAY_MODELS];
	double beside_last; /* mean error over the launches of models[KC_REPLAY_LAST] */
	struct kc_replay_interval intervals[KC_REPLAY_NOVELTIES];
	double coverage; /* over all */
	/* Mean interval score over measured duration (Gneiting and Raftery 2007; less is better) of repeated launches
	 * of shapes known well enough: ours, and that of the quantiles of the durations known. */
	uint64_t scored;
	double score, past_score;
	struct kc_replay_accuracy stages[KC_REPLAY_STAGES];
};

/* Whether the database knows every device of these runs, so that options.device would stand for none; names gets
 * theirs. 1, 0 or -errno. */
int kc_replay_knows_devices(struct kc_store *s, const struct kc_selection *selection, char *names, size_t size);

/* 0 or -errno. Freed with kc_replay_free. */
int kc_replay_run(struct kc_store *s, const struct kc_replay_options *options, struct kc_replay **out);
void kc_replay_free(struct kc_replay *replay);

#endif
