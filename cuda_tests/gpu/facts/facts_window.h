/*
 * CUPTI attached and detached step by step, as kerncast attaches it, and the launches that are made meanwhile beside
 * the records that come of them.
 *
 *   launch  a launch call: when it was made, its correlation id as the callback told it, its grid
 *   seen    a kernel record: times, correlation id, grid, when it was delivered
 *   judged  launches of a window joined with what was seen
 *
 * A thread flushes every 5 ms while records are collected. Everything else is called by one thread; only launches are
 * made by several.
 */
#ifndef FACTS_WINDOW_H
#define FACTS_WINDOW_H

#include "facts.h"

enum { FACTS_GRIDS = 97 }; /* grids of launches that are judged: a record of another launch most likely has another */

struct facts_launch {
	int64_t begun_ns, made_ns; /* before and after the call */
	uint32_t correlation;      /* 0: no callback told it */
	int32_t grid;
};

struct facts_seen {
	int64_t delivered_ns;
	uint64_t start_ns, end_ns;
	uint32_t correlation;
	int32_t grid;
};

struct facts_judged {
	int launches;
	int without_id;
	int lost;          /* an id, but no record */
	int other_grid;    /* the record of another launch */
	int without_times; /* start or end is 0, or the end before the start */
	int repeated;      /* a second record with the id */
	int early;         /* starts before its launch call began ... */
	int late;          /* ends after it was delivered ... */
	int64_t apart_ns;  /* ... by so much at most */
};

/* The correlation id of the launch that this thread has made last; 0: no callback told it. */
extern __thread uint32_t facts_correlation;

/* Subscribes, gives clock, buffers and the bound of device buffers; the library is opened the first time. */
void facts_window_subscribe(const struct facts_options *options);
/* The callbacks that tell the ids of launches and copies; those of cloned graph nodes. */
void facts_window_callbacks(bool on);
void facts_window_clones(bool on);
/* Those of launches by the runtime, which tell nothing. */
void facts_window_runtime_callbacks(bool on);
/* Records of kernels, copies and memsets. Off: what is still with CUPTI is forced out. */
void facts_window_kinds(bool on);
void facts_window_unsubscribe(void);
/* cuptiFinalize: where it is called, or within the callback at the exit of a driver call of this thread. The device
 * has no unfinished work of this thread, and kinds are off. */
CUptiResult facts_window_finalize(bool in_callback);
/* All but the library itself: subscribed, callbacks, kinds; and back again. */
void facts_window_attach(const struct facts_options *options);
CUptiResult facts_window_detach(bool in_callback);

/* Reads what was delivered. facts_seen_*: what has been read since it was forgotten. */
void facts_window_read(void);
int facts_seen_count(void);
int facts_seen_with(uint32_t correlation);
/* Sorts what was seen by id; the one at index. */
void facts_seen_sort(void);
const struct facts_seen *facts_seen_at(int index);
void facts_seen_forget(void);
/* Joins launches with what was seen, and adds to judged. Both are sorted by id. */
void facts_judge(struct facts_judged *judged, struct facts_launch *launches, int count);
/* Times may be a little off: those of the device are taken to the clock of the host. */
bool facts_all_right(const struct facts_judged *judged);
void facts_say_judged(const char *name, const struct facts_judged *judged);

/* A launch call that gives its id and times. */
void facts_launch_noted(CUfunction function, CUstream stream, int grid, struct facts_launch *launch);

/* Sorts values. part of count, such as 0.5 for the median. */
int64_t facts_quantile(int64_t *values, int count, double part);

#endif
