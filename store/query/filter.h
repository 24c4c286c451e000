/*
 * Which launches count in figures or are printed, by their kernels, streams, processes, steps, ranges,
 * times and durations.
 *
 *   kc_filter_choice   what was asked for; all that is given must hold
 *   kc_filter          the same for one database: tells of each launch whether it matches
 *   kc_filter_launch   what it needs to know of a launch
 *
 * Ids are those of rows. What the database says of a kernel, stream or process is read once, when its id is met.
 */
#ifndef KC_FILTER_H
#define KC_FILTER_H

#include "steps/known_steps.h"
#include "store/database/store.h"

#include <regex.h>
#include <stddef.h>
#include <stdint.h>

struct kc_selection;
struct sqlite3_stmt;

#define KC_FILTER_NUMBERS 64u /* of streams or processes */

struct kc_filter_regex {
	const char *text; /* NULL: not given */
	regex_t compiled;
};

struct kc_filter_numbers {
	int64_t at[KC_FILTER_NUMBERS];
	uint32_t count;
};

/* Names as the report prints them, beside numbers. */
struct kc_filter_names {
	struct {
		const char *at; /* need not end there */
		size_t length;
	} each[KC_FILTER_NUMBERS];
	uint32_t count;
};

/* Numbers from the first to the last, both included. */
struct kc_filter_spans {
	struct {
		int64_t first, last;
		enum kc_step_level level;
	} each[KC_FILTER_NUMBERS];
	uint32_t count;
};

/* Starts as zeros: every launch matches. */
struct kc_filter_choice {
	struct kc_filter_regex kernel, exclude; /* on the readable and the mangled name: one of them matches */
	struct kc_filter_numbers streams;       /* as the report calls them (names.h) */
	int default_streams;                    /* 1: of processes and of threads; beside the numbers, not instead */
	struct kc_filter_numbers processes;     /* pids */
	struct kc_filter_names process_names;   /* beside the numbers: a command line, "pid 42" or as in names.h */
	struct kc_filter_numbers ranks;         /* of processes */
	struct kc_filter_numbers devices;       /* numbers, as in names.h */
	struct kc_filter_names
	    device_names; /* beside the numbers: "GPU 0 of rank 1", "GPU 0 of node7", or a UUID from its beginning */
	struct kc_filter_spans steps; /* numbers of steps (steps/known_steps.h) */
	struct kc_filter_regex range; /* on the names of ranges that a launch was made in: one of them matches */
	/* Of the launch call, from the start of the run, which is that of its first process. Imported traces: on the
	 * trace's own clock. since_ns 0: from before the start, too; until_ns, not included, 0: to the end. */
	int64_t since_ns, until_ns;
	int64_t min_ns; /* measured duration; 0: any, or not measured */
};

struct kc_filter_launch {
	int64_t process, stream, kernel, device; /* rows; 0: not known */
	int64_t launched_ns;                     /* since the start of its process: launch_row.launched */
	int64_t measured_ns;                     /* duration; 0: not measured */
	int64_t id;                              /* launch_row.id; 0: of no launch */
};

struct kc_filter_counts {
	uint64_t launches, matching;
};

struct kc_filter;

/* Sets a POSIX extended regular expression; keeps text. 0; -EINVAL: it is none, why says so. */
int kc_filter_regex(struct kc_filter_regex *regex, const char *text, char *why, size_t why_size);
/* 1: something was given. */
int kc_filter_is_given(const struct kc_filter_choice *choice);
/* 1: more than the kernels' names was given. */
int kc_filter_needs_launches(const struct kc_filter_choice *choice);
/* 1: launches of the kernel may match; names: NULL where they are not known. */
int kc_filter_kernel(const struct kc_filter_choice *choice, const char *name, const char *mangled);
void kc_filter_choice_free(struct kc_filter_choice *choice);

/* *out is NULL where nothing was given. choice and s must outlive it. 0 or -errno. */
int kc_filter_new(const struct kc_filter_choice *choice, struct kc_store *s, struct kc_filter **out);
void kc_filter_free(struct kc_filter *filter);
const struct kc_filter_choice *kc_filter_choice_of(const struct kc_filter *filter);

/* 1: it matches; 0; -errno. Counts it. filter NULL: every launch matches, here and below. */
int kc_filter_matches(struct kc_filter *filter, const struct kc_filter_launch *launch);
/* What kc_filter_matches() has counted. filter: not NULL. */
struct kc_filter_counts kc_filter_counted(const struct kc_filter *filter);
/* Which steps those of the launches are that were looked at. filter: not NULL. */
enum kc_steps_are kc_filter_steps_are(const struct kc_filter *filter);
/* As kc_filter_matches(), but does not count, for a row with the columns process, stream, kernel, launched,
 * measured_span, device and id (as of struct kc_filter_launch) from `first` on. A transfer has no kernel. */
int kc_filter_row(struct kc_filter *filter, struct sqlite3_stmt *row, int first);
struct kc_step;
/* 1: launches of the step may match, by its process, its number and its start. */
int kc_filter_step(const struct kc_filter *filter, const struct kc_step *step, enum kc_step_level level);
/* 1: launches of the process may match. */
int kc_filter_process(const struct kc_filter *filter, int64_t process);
/* 1: some launch of these runs matches; 0; -errno. filter: not NULL. */
int kc_filter_any(struct kc_filter *filter, const struct kc_selection *selection);

#endif
