/*
 * Which processes of a run became slower than the others while it went on, and from which launch on.
 *
 * The launches of a process, as they came, are divided where what they take beyond the others differs most before and
 * after (CUSUM: Page, 1954). It became slower there where the launches after it are, by more than the limit and more
 * than chance explains, in each third of them and at launch shapes that take most of the time, those before it are not,
 * and most other processes did not change as much at the same share of theirs.
 */
#ifndef KC_SLOW_ONSET_H
#define KC_SLOW_ONSET_H

#include <stddef.h>
#include <stdint.h>

struct kc_slow_beyond {
	double log, ns;   /* of the duration: beyond the level of the others; itself */
	uint32_t process; /* from 0 */
	uint32_t unit;    /* of a process, a launch shape and arguments: from 0 */
	uint32_t place;   /* the caller's */
};

struct kc_slow_onset {
	double log;     /* by how much it is slower from there on; 0: it did not change */
	uint32_t place; /* of the first slower launch */
};

/* launches: those of a process as they came. least: the limit, of the logarithm. out: by process. of_units: how much
 * slower each unit of such a process is from there on; others are left as they are. 0 or -ENOMEM. */
int kc_slow_onsets(const struct kc_slow_beyond *launches, size_t count, double least, struct kc_slow_onset *out,
		   uint32_t processes, double *of_units, uint32_t units);

#endif
