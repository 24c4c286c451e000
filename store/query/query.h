/*
 * Reads from a database what a report needs.
 *
 *   kc_selection   which runs: from "latest", "all" or a number
 *   kc_report      everything about them: the ledger, accuracy over all matched
 *                  launches and over classes of them, a kc_group for each
 *                  kernel, model, stream and case, predicted against measured
 *                  overlap, devices, processes and messages
 *
 * A report is made from roll-ups, whose quantiles are within 1 % of the true
 * ones (store/common/sketch.h), or, if exact is set, from every launch.
 *
 * Error is |predicted - measured| / measured duration over matched launches;
 * predicted duration is predicted end - predicted start. All shares are 0..1.
 */
#ifndef KC_QUERY_H
#define KC_QUERY_H

#include "store/journal/journal.h"
#include "predictor/concurrency/timeline.h"
#include "store/database/devices/device_row.h"
#include "store/database/store.h"
#include "store/query/filter.h"

#include <stddef.h>
#include <stdint.h>

#define KC_CASES 4u    /* enum kc_case */
#define KC_OVERLAPS 4u /* enum kc_overlap */

struct kc_selection {
	int64_t first_run, last_run; /* both included */
};

/* Why a launch has no row although it was made: it was not asked for. */
enum kc_not_asked {
	KC_ASKED = 0,
	KC_NOT_ASKED_KERNEL,  /* --kernel */
	KC_NOT_ASKED_EVERY,   /* --every */
	KC_NOT_ASKED_BEFORE,  /* before --after */
	KC_NOT_ASKED_AFTER,   /* after --for */
	KC_NOT_ASKED_STOPPED, /* --while, --signal */
	KC_NOT_ASKED_COUNT,
};
const char *kc_not_asked_name(uint32_t reason);

/* launches = predicted + sum of unpredictable
 * predicted = matched + sum of unmeasured + awaited
 * measured = matched + measured launches without a prediction
 * cupti_records = measured + unmatched + records_awaited
 * All of these hold while a process runs, too. */
struct kc_ledger {
	uint64_t launches; /* rows: kernel executions asked for, failed calls included */
	uint64_t predicted;
	uint64_t unpredictable_total;
	uint64_t unpredictable[KC_UNPREDICTABLE_COUNT]; /* by reason; [KC_PREDICTED] is 0 */
	uint64_t failed;                                /* the call returned an error */
	uint64_t unreturned;                            /* the process ended during the call */
	uint64_t measured;                              /* launches with a measured time */
	uint64_t matched;                               /* predicted launches with a measured time */
	uint64_t unmeasured_total;
	uint64_t unmeasured[KC_UNMEASURED_COUNT]; /* predicted launches; [KC_MEASURED] is 0 */
	uint64_t awaited;                         /* predicted, neither measured nor given up */
	uint64_t cupti_records;
	uint64_t unmatched;    /* records that belong to no launch, or are invalid */
	uint64_t records_lost; /* of unmatched: of launches that were dropped at the end, when they had been measured */
	uint64_t records_awaited; /* joined to a launch whose row is not in the database yet */
	uint64_t invalid;         /* of unmatched: start = 0 or end < start */
	uint64_t records_dropped;
	uint64_t
	    dropped; /* launches without a row: the journal was full, or there was no place to store them at the end */
	uint64_t after_end; /* launches while the process ended; they have no row */
	uint64_t not_asked_total;
	uint64_t not_asked[KC_NOT_ASKED_COUNT]; /* launches without a row, by reason; [KC_ASKED] is 0 */
	uint64_t transfers_not_asked;           /* transfers without a row, for any of these reasons */
	uint64_t elsewhere; /* launches with a row in a database that was moved or deleted while the process ran */
	uint64_t elsewhere_measured;
	uint64_t captured, calls, graph_launches, routed_by_name, left_unhooked, loads_unseen;
	uint64_t graphs_unknown; /* graph launches with kernels that cannot be counted; those kernels have no rows */
	uint64_t transfers, transfers_measured, transfer_records, transfer_unmatched;
	uint64_t graphs_whole, graphs_measured,
	    graphs_unmatched;       /* launches of graphs to be measured as one; records */
	uint64_t transfers_dropped; /* without a row, as above */
	uint64_t stream_calls_dropped_total;
	uint64_t stream_calls_dropped[KC_STREAM_CALL_COUNT]; /* likewise, by kind; [KC_CALL_NONE] is 0 */
	uint64_t events_dropped; /* what a process learned that is neither a measurement nor a decision, likewise */
};

/* Where n is 0, the others are NAN. */
struct kc_accuracy {
	uint64_t n;
	double mape;               /* mean error */
	double mape_time_weighted; /* sum of |predicted - measured| / sum of measured */
	double median, p90;        /* of the error */
	double within_20;          /* share with predicted/measured in 0.8..1.2 */
	double bias;               /* geometric mean of predicted/measured; above 1: predicted too long */
};

/* Why a kernel's predictions may be wrong: bits */
enum kc_hint {
	KC_HINT_FEW = 1,        /* fewer than KC_HINT_FEW_BELOW matched launches */
	KC_HINT_NEW_SIZES = 2,  /* most launches were first seen or of a new size */
	KC_HINT_OVERLAPPED = 4, /* most of the error is in overlapped launches */
	KC_HINT_VARYING = 8,    /* even repeated solo launches deviate by more than KC_HINT_VARYING_ABOVE */
	KC_HINT_SHORT = 16,     /* mean below KC_HINT_SHORT_NS: CUPTI's clock steps by about 0.5 us */
	KC_HINT_LOW = 32,       /* bias below 0.8: predicted too short */
	KC_HINT_HIGH = 64,      /* bias above 1.2: predicted too long */
	KC_HINT_NO_CODE = 128,  /* new sizes, varying, or predicted too short or too long, and the kernel's code could
				   not be read: `kernel.code` tells why */
	KC_HINT_LAST = 128,
};
#define KC_HINT_FEW_BELOW 5u
#define KC_HINT_VARYING_ABOVE 0.2 /* standard deviation of log(predicted / measured) */
#define KC_HINT_SHORT_NS 5000.0
/* The phrase for one bit: "few measurements", "new sizes", … */
const char *kc_hint_text(uint32_t bit);

/* Of the launches of a kernel whose work is known from its code, or from the operators that launched it: all zeros
 * where it is of none. */
struct kc_group_work {
	uint64_t launches;
	uint64_t by_operator; /* of these, known from operators */
	double measured_ns;   /* of these launches, as all below */
	double flop, bytes;   /* sums; bytes NAN: not known of all of them */
	double limit_ns;      /* that the resource which each launch needs longest would take alone; NAN: likewise */
	uint32_t limit;       /* enum kc_resource: the one that most of that time is of */
};

struct kc_group {
	int64_t id; /* row of `kernel` or `stream`, or enum kc_model, kc_case or kc_kernel_class */
	char *name; /* kernel: readable; stream: "default", "stream 3", with pid where there are several */
	uint64_t launches;
	uint64_t measured;
	double time_share;        /* of all measured time of the selection */
	double mean_measured_ns;  /* NAN where nothing was measured */
	double mean_predicted_ns; /* over matched launches; NAN where there are none */
	struct kc_accuracy accuracy;
	uint32_t hints;            /* kernels only */
	uint32_t kernel_class;     /* kernels only: enum kc_kernel_class */
	struct kc_group_work work; /* kernels only, once kc_query_work() was called */
};

/* Launches of graphs of so many kernels that were measured as one. */
struct kc_graph_row {
	uint64_t kernels; /* 0: not known */
	uint64_t launches, measured;
	/* Over those that were predicted and measured; NAN where there are none: */
	double mean_predicted_ns, mean_measured_ns;
	double error; /* sum of |predicted - measured| / sum of measured */
};

struct kc_groups {
	struct kc_group *at; /* by measured time, longest first */
	size_t count;
};

/* Measured slowdown: measured duration / median of those solo measurements of the
 * same kernel and launch shape that were known at prediction time. */
struct kc_slowdown_error {
	uint64_t n;       /* overlapped, matched launches with such a median */
	uint64_t without; /* overlapped, matched launches without */
	double mape;      /* |predicted - measured slowdown| / measured slowdown; NAN where n = 0 */
	double mean_predicted, mean_measured;
	double mape_waves, mean_waves; /* the same for Equation 5.1 alone (slowdown_waves) */
};

struct kc_process_row {
	int64_t id, run;
	uint32_t pid;
	char *name; /* "rank 3, node7 (pid 4102)": store/query/names.h */
	char *command_line;
	char *host, *container, *visible_devices, *job; /* "": not known */
	int64_t rank, local_rank, world_size;           /* -1: not known */
	char *gpus;                                     /* numbers of those that it used: "0, 1" */
	char *ended;                                    /* "exit", "killed", "" while running or not known */
	int64_t started_unix_ns;
	int64_t duration_ns; /* 0: not known */
	uint64_t launches;
	int simulated;
	char *measure;
};

/* Frees its texts. */
void kc_process_row_clear(struct kc_process_row *row);

struct kc_message_row {
	int64_t process;
	uint32_t severity;
	char *code; /* "NO_CUPTI" */
	char *text;
	uint64_t count;
};

struct kc_report {
	struct kc_selection selection;
	int exact;
	int simulated; /* 1: at least one process ran on a simulated device */
	struct kc_ledger ledger;
	struct kc_accuracy all;
	struct kc_accuracy novelty[3]; /* enum kc_novelty: first seen, new size, repeated */
	struct kc_accuracy solo;       /* KC_OVERLAP_NONE */
	struct kc_accuracy overlapped; /* behind and overtaken */
	struct kc_accuracy behind, overtaken;
	struct kc_groups kernels, models, streams, cases;
	struct kc_groups classes;                    /* of kernels: store/query/report/kernel_class.h */
	struct kc_groups ranks, gpus;                /* processes, and the devices of streams */
	uint64_t concurrency[KC_CASES][KC_OVERLAPS]; /* matched launches: predicted case, what was measured */
	struct kc_slowdown_error slowdown;
	double measured_ns; /* sum of all measured durations */
	double work_ns;     /* of those whose work is known; NAN: it was not asked for, or there are too many */
	struct kc_device_row *devices;
	size_t device_count;
	struct kc_process_row *processes;
	size_t process_count;
	struct kc_message_row *messages;
	size_t message_count;
	struct kc_graph_row *graphs; /* most measured time first */
	size_t graph_count;
};

/* which: NULL or "latest", "all", or the number of a run. 0; -ENOENT: there is no such
 * run, or none at all (why names those that exist); -EINVAL: not a number. */
int kc_query_select(struct kc_store *s, const char *which, struct kc_selection *out, char *why, size_t why_size);

/* exact: 0: from roll-ups, 1: from every launch. 0 or negative errno. Free *out with
 * kc_report_free(). */
int kc_query_report(struct kc_store *s, const struct kc_selection *selection, int exact, struct kc_report **out);
/* From every launch. Accuracy, groups and concurrency are of those that match; ledger, processes, devices and messages
 * of all. */
int kc_query_report_matching(struct kc_store *s, const struct kc_selection *selection, struct kc_filter *filter,
			     struct kc_report **out);
void kc_report_free(struct kc_report *report);
/* NULL: no device of the report has this id. */
const struct kc_device_row *kc_report_device(const struct kc_report *report, int64_t id);

/* All devices of the database, by id. Free them with free(). */
int kc_query_devices(struct kc_store *s, struct kc_device_row **devices, size_t *count);

/* 1: the equations above struct kc_ledger hold. */
int kc_ledger_adds_up(const struct kc_ledger *ledger);

#endif
