/*
 * What the launches of a run should have taken, by their peers: launches of the
 * same launch shape and position that ran alone on a GPU of the same model, in
 * earlier runs or, where those have none, in this one.
 *
 * A position is given by recorded arguments and by the two launches before it on
 * its stream; where too few launches share it, by one, by the arguments alone, or
 * by nothing. The first launch of a kernel in a process is nobody's peer.
 *
 * The launches of a process that is slower than the others of its run count as
 * those of the others do (processes.h).
 *
 * A launch shape, or the arguments that its cost depends on, are a new size where
 * earlier runs launched the kernel, but never with these; where no earlier run has
 * the kernel, if they first come late in this one. What should be is then also
 * known from the kernel's known sizes.
 */
#ifndef KC_SLOW_PEERS_H
#define KC_SLOW_PEERS_H

#include "store/query/measured.h"
#include "tools/diff/compare.h"

#include <stddef.h>
#include <stdint.h>

enum kc_slow_from {
	KC_FROM_NOTHING, /* too few peers */
	KC_FROM_EARLIER, /* runs */
	KC_FROM_THIS,    /* run */
};

/* A measured launch. Logarithms are natural, of ns. */
struct kc_slow_launch {
	double log;         /* of its duration, less process_log */
	double process_log; /* by how much its process is slower than the others of its run (processes.h) */
	double peers_log;   /* median of its peers; NAN: KC_FROM_NOTHING */
	double far;         /* a peer is not so much slower than the median */
	double known_log;   /* median of the known sizes; NAN: it is not a new size, or they are too few */
	uint32_t place;     /* in the lists of the run */
	uint32_t shape;     /* of the names */
	uint8_t from;       /* enum kc_slow_from */
	uint8_t alone;      /* its peers ran alone; 0: no launch of its shape did */
	uint8_t company;    /* it was overlapped */
	uint8_t is_quiet;   /* it ran alone, and was not its kernel's first */
	uint8_t is_first;   /* of its kernel in its process */
	uint8_t is_whole;   /* its process is slower as a whole */
	uint8_t is_late;    /* its process became slower as a whole, here or before */
	uint32_t others;    /* kc_slow_excess */
};

struct kc_slow_runs {
	const struct kc_measured_names *names;
	const struct kc_measured_run *earlier; /* with moments, like run */
	size_t earlier_count;
	const struct kc_measured_run *run;
};

/* The measured launches of runs->run. *out, of *count, is to be freed by the caller. 0 or -ENOMEM. */
int kc_slow_peers(const struct kc_slow_runs *runs, const struct kc_diff_limits *limits, struct kc_slow_launch **out,
		  size_t *count);

#endif
