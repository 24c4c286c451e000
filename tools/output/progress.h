/* Progress of long work on stderr: a line that is overwritten on a terminal, a line now and then elsewhere, nothing
 * for quick work. */
#ifndef KC_PROGRESS_H
#define KC_PROGRESS_H

#include <stdint.h>
#include <time.h>

struct kc_progress {
	const char *what, *done; /* "trace.json", "read" */
	uint64_t whole; /* in the unit of kc_progress(); 0: not known, and seconds are told instead of percent */
	int64_t begin_ns, next_ns;
	int terminal;
	int shown;
};

void kc_progress_begin(struct kc_progress *progress, const char *what, const char *done, uint64_t whole);
/* Begins the next part of the same work. */
void kc_progress_next(struct kc_progress *progress, const char *done, uint64_t whole);
void kc_progress(struct kc_progress *progress, uint64_t done);
/* When kc_progress() has something to tell next, by CLOCK_MONOTONIC. */
void kc_progress_time(const struct kc_progress *progress, struct timespec *next);
/* Removes the line. */
void kc_progress_end(struct kc_progress *progress);

#endif
