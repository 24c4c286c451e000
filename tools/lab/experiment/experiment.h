/*
 * kerncast-lab experiment: what a paper claims, beside what is measured on the device at hand.
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
#define KC_STEP_TOKEN "experiment-" /* the tokens of runs that belong to steps, and no others, begin with it */
#define KC_CALIBRATION "calibrate"  /* the step that runs `kerncast calibrate` */

enum kc_plan {
	KC_PLAN_SMALL, /* a minute on the simulated device, some minutes with all experiments on a GPU */
	KC_PLAN_FULL,  /* the papers' sizes */
};

struct kc_step {
	const char *program;   /* "bsp", KC_CALIBRATION */
	const char *algorithm; /* for --only; NULL: all */
	uint32_t size, block;  /* 0: the program's default */
	uint32_t repeat;       /* rounds */
	const char *more;      /* a further argument; NULL: none */
};

struct kc_laboratory {
	char folder[PATH_MAX];   /* folder of databases and figures */
	char programs[PATH_MAX]; /* folder of the programs of cuda_tests/experiments */
	char device[96];         /* name of the first device; "": not looked up */
	int simulated;           /* 1: the programs run on the stand-in device */
	enum kc_plan plan;
	int64_t deadline_ns; /* no step begins after this time (CLOCK_MONOTONIC); 0: no limit */
	int full;            /* the disk is full, so nothing more is measured */
	int blind;           /* launches cannot be measured here, so nothing more is tried */
	int lock;            /* descriptor that keeps other experiments out of the folder */
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
	uint32_t right, wrong; /* how often the program found its own results right and wrong */
};

/* The last row of the table calibration; 0: unknown. */
struct kc_rates {
	double copy_bytes_per_s, scattered_bytes_per_s, flops_per_s, bus_bytes_per_s;
};

struct kc_observations {
	struct kc_device device; /* all 0 if no step is complete */
	struct kc_rates rates;
	struct kc_observed *steps;
	uint32_t step_count, planned;
	uint32_t unmeasured;  /* launches without a measurement */
	const char *programs; /* folder of the programs */
	int simulated;
};

enum kc_verdict { KC_NOT_MEASURED, KC_HOLDS, KC_FAILS };

struct kc_claim {
	char text[96];   /* the claim */
	char source[64]; /* its place in the paper: equation, table, figure */
	char paper[32];  /* the figure as printed in the paper, or "here: " and a limit of our own */
	char here[48];   /* our figure as text */
	double value;    /* our figure: a share, a ratio, or, with high, the lower end of a range; NAN: nothing was
			    measured */
	double high;     /* NAN: there is no range */
	uint32_t points; /* number of points behind the figure */
	enum kc_verdict verdict;
	char why[160]; /* where and by how much the claim fails; "" */
};
#define KC_CLAIMS 8u

/* One point of the figure; the kind of figure tells what its numbers mean. NAN: there is none. */
struct kc_point {
	char series[40];
	double x;
	double measured, predicted;
	double low, high; /* of a prediction that is a range */
	int known;        /* 1: the model was given this point */
};

struct kc_finding {
	struct kc_claim claims[KC_CLAIMS];
	uint32_t claim_count;
	struct kc_point *points;
	uint32_t point_count, point_capacity;
	struct kc_boathull_machine machine; /* for the curves of the boat hull */
	char note[256];                     /* how the predictions were made */
	int failed;                         /* 1: out of memory */
	int uncounted; /* 1: the code of a program that was measured cannot be read; the note says which */
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
/* Finds the programs and the device. measuring: 0 if nothing will be run. Returns an exit status, after a message if
 * it is not 0. */
int kc_laboratory_open(struct kc_laboratory *lab, int measuring);
void kc_laboratory_close(struct kc_laboratory *lab);
/* Runs the steps that are not complete. 0; 1: some are still missing, which has been reported. */
int kc_experiment_measure(struct kc_laboratory *lab, const struct kc_experiment *experiment);

/* --- experiment_store.c */
/* The name of a step: "bsp --only matmul_coalesced --size 512 --block 256 --repeat 5". */
void kc_step_text(const struct kc_step *step, char out[static KC_STEP_TEXT]);
void kc_experiment_path(const struct kc_laboratory *lab, const char *name, const char *ending, char *out, size_t size);
/* Opens the database for writing and deletes the rows of incomplete steps. 0 or -errno, with the reason in why. */
int kc_experiment_store(const struct kc_laboratory *lab, const char *name, struct kc_store **store, char *why,
			size_t why_size);
/* The device on which the steps were measured; "" if none is complete. simulated: 1 if it is a stand-in. */
void kc_experiment_device(struct kc_store *store, char *name, size_t size, int *simulated);
int kc_step_is_complete(struct kc_store *store, const struct kc_step *step);
/* Marks a step as complete. token: of its run; output: of the program. 0; -ENODATA: nothing of it was recorded;
 * -ENOSPC; -EIO. */
int kc_step_complete(struct kc_store *store, const struct kc_step *step, const char *token, const char *output,
		     char *why, size_t why_size);
/* Loads the complete steps. 0 or -errno; to be freed in any case. */
int kc_observations_load(struct kc_observations *evidence, const struct kc_laboratory *lab, const char *name,
			 const struct kc_step *steps, uint32_t count);
void kc_observations_free(struct kc_observations *evidence);

/* --- experiment_counts.c: one program's code */
struct kc_program_code;
/* NULL: it cannot be read. */
struct kc_program_code *kc_program_code_read(const struct kc_observations *evidence, const char *program);
/* Notes in the finding that this program was measured and its code could not be read (code NULL). */
void kc_program_code_tell(const struct kc_program_code *code, const struct kc_observations *evidence,
			  const char *program, struct kc_finding *finding);
void kc_program_code_free(struct kc_program_code *code);
/* Counts of a launch whose integer arguments are numbers[]; its pointers are assumed to be aligned and far apart. 0;
 * -ENOENT: the kernel has no formula; -errno. */
int kc_program_counts(const struct kc_program_code *code, const struct kc_observed_launch *launch,
		      const uint64_t *numbers, uint32_t number_count, struct kc_counts *counts);

/* --- experiment_finding.c */
/* The number of rounds, and of launches per round; 0: the launches cannot be divided into rounds. */
uint32_t kc_observed_round(const struct kc_observed *observed);
/* Median over the rounds of the k-th launch in a round. */
double kc_observed_median_ns(const struct kc_observed *observed, uint32_t k);
/* The median duration of a whole round, without gaps. */
double kc_observed_round_ns(const struct kc_observed *observed);

struct kc_point *kc_finding_point(struct kc_finding *finding, const char *series); /* never NULL */
struct kc_claim *kc_finding_claim(struct kc_finding *finding, const char *text, const char *source, const char *paper);
void kc_finding_free(struct kc_finding *finding);
/* Settles a claim that predicted / measured is from low to high at every point that the model was not given. */
void kc_claim_ratios(struct kc_claim *claim, const struct kc_finding *finding, double low, double high);
/* Settles a claim that every measured value is from low to high of its point. */
void kc_claim_within(struct kc_claim *claim, const struct kc_finding *finding);
/* Settles a claim that value is at most limit; both are shares, printed in percent. points 0: not measured. */
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
/* Draws SVG and PNG in the laboratory's folder and puts their names into shown. 0; -ENOENT: no gnuplot; -errno, with
 * the reason in why. */
int kc_figure_draw(const struct kc_laboratory *lab, struct kc_shown *shown, char *why, size_t why_size);

#endif
