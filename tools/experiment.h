/*
 * kerncast experiment: what a paper claims, beside what is measured on the device at hand.
 *
 *   kc_experiment     one paper's experiment: the steps that measure it, and what their measurements say
 *   kc_step           one run of a program of cuda_tests/experiments under the library: one algorithm, one setting
 *   kc_laboratory     where programs, databases and figures are, and what kind of device is there
 *   kc_observed       a step that was run: its launches and copies, in the order they were made
 *   kc_observations   all of an experiment's steps that were run, and the device
 *   kc_finding        what follows: claims with the paper's figure and ours, and the points of the figure
 *
 * A step is complete when its row is in the table experiment_step of DIR/NAME.db; it is written when the program has
 * ended well and its launches are there. What an interrupted step left behind is deleted before it is run again.
 *
 * experiment.c reads the command line; experiment_run.c runs steps; experiment_store.c keeps and loads them;
 * experiment_counts.c reads what kernels do from the programs' code; experiment_NAME.c judges; experiment_finding.c
 * has the arithmetic of claims; experiment_text.c, experiment_json.c and experiment_figure.c show.
 */
#ifndef KC_EXPERIMENT_H
#define KC_EXPERIMENT_H

#include "predictor/papers/boathull.h"
#include "predictor/code/cost.h"
#include "predictor/device/device.h"
#include "predictor/solo/forecast.h"
#include "store/database/store.h"

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KC_STEPS 128u /* of one experiment at most */
#define KC_STEP_TEXT 160u
#define KC_STEP_TOKEN "experiment-" /* how the tokens of steps' runs begin, and no others */
#define KC_CALIBRATION "calibrate"  /* the step that is `kerncast calibrate` */

enum kc_plan {
	KC_PLAN_SMALL, /* a minute on the simulated device, some minutes with all experiments on a GPU */
	KC_PLAN_FULL,  /* the papers' sizes */
};

struct kc_step {
	const char *program;   /* "bsp", KC_CALIBRATION */
	const char *algorithm; /* its --only; NULL: all */
	uint32_t size, block;  /* 0: the program's own */
	uint32_t repeat;       /* rounds */
	const char *more;      /* a further argument; NULL: none */
};

struct kc_laboratory {
	char folder[PATH_MAX];   /* of databases and figures */
	char programs[PATH_MAX]; /* of what cuda_tests/experiments builds */
	char device[96];         /* the first one here; "": not asked */
	int simulated;           /* programs for the stand-in device are run */
	enum kc_plan plan;
	int64_t deadline_ns; /* no step begins after it, CLOCK_MONOTONIC; 0: none */
	int full;            /* the disk is: nothing more is measured */
	int blind;           /* launches are not measured here: neither */
	int lock;            /* descriptor: one experiment at a time in a folder */
};

struct kc_observed_launch {
	char *kernel; /* mangled */
	uint32_t grid[3], block[3], dynamic_shared_bytes;
	double measured_ns; /* NAN: not measured */
	struct kc_resources resources;
	/* what was predicted before it ran */
	double slowdown, slowdown_waves;
};

struct kc_observed_copy {
	char kind[8]; /* "HtoD" */
	uint64_t bytes;
	double measured_ns;
};

struct kc_observed {
	const struct kc_step *step;
	struct kc_observed_launch *launches;
	uint32_t launch_count;
	struct kc_observed_copy *copies;
	uint32_t copy_count;
	uint32_t right, wrong; /* of the program's checks; neither where nothing was computed */
};

/* The table calibration, its last row; 0: not known. */
struct kc_rates {
	double copy_bytes_per_s, scattered_bytes_per_s, flops_per_s, bus_bytes_per_s;
};

struct kc_observations {
	struct kc_device device; /* all 0 where no step is complete */
	struct kc_rates rates;
	struct kc_observed *steps;
	uint32_t step_count, planned;
	uint32_t unmeasured;  /* launches without a measurement */
	const char *programs; /* their folder */
	int simulated;
};

enum kc_verdict { KC_NOT_MEASURED, KC_HOLDS, KC_FAILS };

struct kc_claim {
	char text[96];   /* what is claimed */
	char source[64]; /* where: equation, table, figure */
	char paper[32];  /* its figure, as printed there; "here: " and a limit that is kerncast's own */
	char here[48];   /* ours, for people */
	double value;    /* ours: a share, a ratio, or with high the lower end of a range; NAN: nothing measured */
	double high;     /* NAN: value is all there is */
	uint32_t points; /* behind it */
	enum kc_verdict verdict;
	char why[160]; /* by how much it fails, where; "": nothing to say */
};
#define KC_CLAIMS 8u

/* One point of the figure; what its numbers are depends on the kind. NAN: there is none. */
struct kc_point {
	char series[40];
	double x;
	double measured, predicted;
	double low, high; /* of the prediction, where it is a range */
	int known;        /* it was given to the model: fitted, timed */
};

struct kc_finding {
	struct kc_claim claims[KC_CLAIMS];
	uint32_t claim_count;
	struct kc_point *points;
	uint32_t point_count, point_capacity;
	struct kc_boathull_machine machine; /* of the boat hull's curves */
	char note[256];                     /* how the predictions were made */
	int failed;                         /* out of memory */
	int uncounted; /* steps were measured whose program's code cannot be read; the note says it */
};

enum kc_figure_kind {
	KC_FIGURE_TIMES,    /* predicted against measured ns */
	KC_FIGURE_BOUNDS,   /* the same with ranges */
	KC_FIGURE_SLOWDOWN, /* estimated against actual */
	KC_FIGURE_CURVES,   /* x: threads per block; ns */
	KC_FIGURE_HULL,     /* x: operations per byte; ns per byte */
	KC_FIGURE_LEARNING, /* x: measurements known; predicted: λ over its last value; measured: mean error */
};

struct kc_experiment {
	const char *name, *title, *paper;
	enum kc_figure_kind figure;
	uint32_t (*plan)(enum kc_plan plan, struct kc_step steps[static KC_STEPS]); /* returns how many */
	void (*judge)(const struct kc_observations *evidence, struct kc_finding *finding);
};

extern const struct kc_experiment kc_experiment_bsp, kc_experiment_lambda;       /* experiment_bsp.c */
extern const struct kc_experiment kc_experiment_cycles;                          /* experiment_cycles.c */
extern const struct kc_experiment kc_experiment_block_size;                      /* experiment_block_size.c */
extern const struct kc_experiment kc_experiment_boat_hull;                       /* experiment_boat_hull.c */
extern const struct kc_experiment kc_experiment_pairs, kc_experiment_real_pairs; /* experiment_pairs.c */
/* NULL past the end. */
const struct kc_experiment *kc_experiment_at(unsigned i);

/* --- experiment_run.c */
/* The programs and the device. measuring: 0 where nothing will be run. An exit status, after a message. */
int kc_laboratory_open(struct kc_laboratory *lab, int measuring);
void kc_laboratory_close(struct kc_laboratory *lab);
/* Runs what is not complete yet. 0; 1: something is missing now, which has been said. */
int kc_experiment_measure(struct kc_laboratory *lab, const struct kc_experiment *experiment);

/* --- experiment_store.c */
/* "bsp --only matmul_coalesced --size 512 --block 256 --repeat 5": what a step is known by. */
void kc_step_text(const struct kc_step *step, char out[static KC_STEP_TEXT]);
void kc_experiment_path(const struct kc_laboratory *lab, const char *name, const char *ending, char *out, size_t size);
/* For writing; what incomplete steps left is gone. 0 or -errno, why says it. */
int kc_experiment_store(const struct kc_laboratory *lab, const char *name, struct kc_store **store, char *why,
			size_t why_size);
/* Of the device that the steps were measured on; "" where none is complete. simulated: 1 where it is. */
void kc_experiment_device(struct kc_store *store, char *name, size_t size, int *simulated);
int kc_step_is_complete(struct kc_store *store, const struct kc_step *step);
/* token: of its run; output: what the program printed. 0; -ENODATA: nothing was recorded of it; -ENOSPC; -EIO. */
int kc_step_complete(struct kc_store *store, const struct kc_step *step, const char *token, const char *output,
		     char *why, size_t why_size);
/* Those of the steps that are complete. 0 or -errno. Released in any case. */
int kc_observations_load(struct kc_observations *evidence, const struct kc_laboratory *lab, const char *name,
			 const struct kc_step *steps, uint32_t count);
void kc_observations_free(struct kc_observations *evidence);

/* --- experiment_counts.c: one program's code */
struct kc_program_code;
/* NULL where it cannot be read. */
struct kc_program_code *kc_program_code_read(const struct kc_observations *evidence, const char *program);
/* Tells the finding where code, that was to be read from this program, is NULL though steps were measured. */
void kc_program_code_tell(const struct kc_program_code *code, const struct kc_observations *evidence,
			  const char *program, struct kc_finding *finding);
void kc_program_code_free(struct kc_program_code *code);
/* Counts of a launch whose integer arguments are numbers[]; pointers are taken as aligned and far from each other. 0;
 * -ENOENT: there is no formula of this kernel; -errno. */
int kc_program_counts(const struct kc_program_code *code, const struct kc_observed_launch *launch,
		      const uint64_t *numbers, uint32_t number_count, struct kc_counts *counts);

/* --- experiment_finding.c */
/* Median; NAN of none. Orders values. */
double kc_median(double *values, uint32_t count);
/* Rounds and the launches in each; 0: the launches do not divide into them. */
uint32_t kc_observed_round(const struct kc_observed *observed);
/* Median over the rounds of the k-th launch in a round. */
double kc_observed_median_ns(const struct kc_observed *observed, uint32_t k);
/* Of a whole round, gaps not counted. */
double kc_observed_round_ns(const struct kc_observed *observed);

struct kc_point *kc_finding_point(struct kc_finding *finding, const char *series); /* never NULL */
struct kc_claim *kc_finding_claim(struct kc_finding *finding, const char *text, const char *source, const char *paper);
void kc_finding_free(struct kc_finding *finding);
/* Settles a claim: predicted / measured of every point that the model did not know lies within low to high. */
void kc_claim_ratios(struct kc_claim *claim, const struct kc_finding *finding, double low, double high);
/* The share of measured values within low to high of their points, all of them wanted. */
void kc_claim_within(struct kc_claim *claim, const struct kc_finding *finding);
/* value is at most limit; shares, shown in percent. points 0: not measured. */
void kc_claim_at_most(struct kc_claim *claim, double value, double limit, uint32_t points);
/* |predicted - measured| / measured */
double kc_error_of(double predicted, double measured);

/* --- showing. Exit statuses. */
struct kc_shown { /* one experiment, judged */
	const struct kc_experiment *experiment;
	const struct kc_observations *evidence;
	const struct kc_finding *finding;
	char database[PATH_MAX];
	char figures[2][PATH_MAX]; /* SVG, PNG; "": not drawn */
};
int kc_shown_text(const struct kc_shown *shown);
struct json_t *kc_shown_json(const struct kc_shown *shown);

/* --- experiment_figure.c */
/* The figure's gnuplot commands, data included, without terminal and output. */
void kc_figure_script(FILE *to, const struct kc_shown *shown);
/* SVG and PNG into the laboratory's folder; names in shown. 0 or -errno: -ENOENT no gnuplot; why says more. */
int kc_figure_draw(const struct kc_laboratory *lab, struct kc_shown *shown, char *why, size_t why_size);

#endif
