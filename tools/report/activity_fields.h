/*
 * Where time went, as rows, and the lists of what is told of them, in text, JSON, CSV and on the page: GPUs, streams
 * and processes (ranks); idle gaps by cause, and the longest; copies.
 */
#ifndef KC_ACTIVITY_FIELDS_H
#define KC_ACTIVITY_FIELDS_H

#include "report_forms.h"
#include "tools/output/fields.h"

/* The tables that show some of these fields. */
enum {
	KC_TIME_STREAMS = 1, /* of text */
	KC_TIME_PLACES = 2,  /* of processes and GPUs */
	KC_TIME_PAGE = 4,    /* of GPUs and processes, on the page */
	KC_TIME_PAGE_STREAMS = 8,
	KC_TIME_BY = 16, /* --by time */
	KC_GAPS_TEXT = 1,
	KC_GAPS_PAGE = 2,
};

struct kc_time_row {
	const char *of; /* "GPU", "process", "stream" */
	const char *name, *gpu;
	int64_t id, device; /* rows of the database; -1: not known */
	uint64_t kernels, copies;
	double span_ns;
	struct kc_time_parts {
		double busy, kernels, compute, communication, hidden, exposed, copies_only, idle, launch_bound,
		    launched, unknown;
	} ns, share; /* of span_ns; NAN: not known */
};

/* A row of struct kc_gap_activity. */
struct kc_gap_row {
	double ns, at_ns, late_ns, waited_ns; /* NAN: not known */
	const char *cause, *why, *gpu, *process, *call, *stream, *name, *before, *before_stream;
	int64_t thread;
	const char *note;
	char text[1024];
};

struct kc_gap_sum {
	const char *cause, *why, *meaning;
	uint64_t count;
	double ns, share; /* of all idle time */
};

extern const struct kc_fields kc_time_fields, kc_gap_fields, kc_gap_sum_fields, kc_copy_fields;

struct kc_activity_rows {
	struct kc_time_row *devices, *places, *streams; /* as in the activity */
	struct kc_gap_row *gaps;
	struct kc_gap_sum causes[KC_GAP_CAUSES]; /* that there are, by time, longest first */
	size_t cause_count;
};

/* 0 or -ENOMEM. *out is to be freed either way, before the data and the activity. */
int kc_activity_rows(const struct kc_report *data, const struct kc_activity *activity, struct kc_activity_rows *out);
void kc_activity_rows_free(struct kc_activity_rows *rows);

/* The rows that --by asks for, of KC_BY_TIME, KC_BY_GAP or KC_BY_COPY; `most` at most. 0, -ENOMEM, or KC_EXIT_FAILED
 * after a message. */
int kc_activity_by(const struct kc_report_view *view, size_t most, int csv);

#endif
