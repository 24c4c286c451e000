/*
 * The table of options: environment variable, `kerncast run` flag, argument,
 * default, help. The shim reads the variables once; the flags of `kerncast run`,
 * its --help and the man page are made from this table.
 */
#ifndef KC_OPTIONS_H
#define KC_OPTIONS_H

#include "extent.h"
#include "keep.h"

#include <stddef.h>
#include <stdint.h>

/* X(field, environment, flag or NULL, argument or NULL, default, help) */
#define KC_OPTION_TABLE(X)                                                                                             \
	X(db, "KERNCAST_DB", "output", "DB", "kerncast.db", "database to write")                                       \
	X(measure, "KERNCAST_MEASURE", "measure", "all|kernels|adaptive|off", "all",                                   \
	  "what CUPTI measures: kernels and transfers, kernels only, both in windows once all is known well, nothing") \
	X(graphs, "KERNCAST_GRAPHS", "graphs", "nodes|whole", "nodes",                                                 \
	  "whether CUPTI measures each kernel of a CUDA graph, or each launch of a graph as one, which costs "         \
	  "half as much or less")                                                                                      \
	X(journal_max, "KERNCAST_JOURNAL_MAX", "journal-max", "BYTES", "1G",                                           \
	  "bound on the journal; launches and transfers past it are counted as dropped (K, M and G are understood)")   \
	X(flush_ms, "KERNCAST_FLUSH_MS", "flush", "MS", "5000",                                                        \
	  "longest wait at exit, for CUPTI's last records and the database together")                                  \
	X(cupti, "KERNCAST_CUPTI", "cupti", "FILE", "", "libcupti.so to use")                                          \
	X(fresh, "KERNCAST_FRESH", "fresh", NULL, "0", "begin knowing nothing of what earlier runs taught")            \
	X(prior, "KERNCAST_PRIOR", "prior", "FILE", "",                                                                \
	  "begin with what kerncast learn wrote into this file, where earlier runs taught nothing")                    \
	X(caches, "KERNCAST_CACHES", "caches", "on|off", "on",                                                         \
	  "whether to look for the PTX of kernels in Triton's cache and PyTorch's, beside the machine code that was "  \
	  "loaded")                                                                                                    \
	X(wait_ns, "KERNCAST_WAIT_FOR_CODE", "wait-for-code", "TIME", "1ms",                                           \
	  "longest wait of a kernel's first launch until the kernel's code has been read, so that it is predicted "    \
	  "from "                                                                                                      \
	  "that; a process waits 20 times as long at most, half of that in cuInit; 0: never")                          \
	X(gpu_state_ns, "KERNCAST_GPU_STATE", "gpu-state", "TIME|off", "1s",                                           \
	  "how often NVML is asked for the clocks and the power of the GPUs in use, why they are slowed down, and "    \
	  "how many other processes use them")                                                                         \
	X(quiet, "KERNCAST_QUIET", "quiet", NULL, "0", "say nothing on stderr")                                        \
	X(kernel, "KERNCAST_KERNEL", "kernel", "REGEX", "",                                                            \
	  "record launches of kernels whose mangled name, which contains the plain one, matches this extended "        \
	  "regular "                                                                                                   \
	  "expression; the others are counted")                                                                        \
	X(every, "KERNCAST_EVERY", "every", "N", "1",                                                                  \
	  "record the first launch of each kernel and every Nth after it; the others are counted")                     \
	X(after, "KERNCAST_AFTER", "after", "TIME|N", "",                                                              \
	  "begin to record so long after cuInit (10s, 5m, 1h), or after N launches")                                   \
	X(lasting, "KERNCAST_FOR", "for", "TIME|N", "", "then record for so long, or N launches")                      \
	X(gate, "KERNCAST_WHILE", "while", "FILE", "", "record only while this file exists")                           \
	X(toggle, "KERNCAST_SIGNAL", "signal", "usr1|usr2", "",                                                        \
	  "record from this signal on, which stops it the next time, unless the program handles the signal itself")    \
	X(keep, "KERNCAST_KEEP", "keep", "TIME|RUNS|SIZE", "",                                                         \
	  "after the program, remove runs that ended longer ago (30d), all but so many (20), or the oldest until the " \
	  "rest "                                                                                                      \
	  "fits into this size (2G), as kerncast prune does; the library itself removes nothing")                      \
	X(ranks, "KERNCAST_RANKS", "ranks", "N[,N...]", "",                                                            \
	  "of a job that a launcher starts (torchrun, srun, mpiexec) record these ranks alone, such as 0,8 or 0-3; "   \
	  "the others run as without kerncast")                                                                        \
	X(command, "KERNCAST_COMMAND", NULL, NULL, "", "command of the run (set by kerncast run)")                     \
	X(run, "KERNCAST_RUN", NULL, NULL, "", "name of the run (set by kerncast run)")                                \
	X(caller, "KERNCAST_VERSION", NULL, NULL, "", "version of the command (set by kerncast run)")                  \
	X(unnamed, "KERNCAST_DB_UNNAMED", NULL, NULL, "0", "1: nobody has named the database (set by kerncast run)")   \
	X(disable, "KERNCAST_DISABLE", NULL, NULL, "0", "1: do nothing at all")

enum kc_option {
#define KC_OPTION_ENUM(field, env, flag, arg, value, help) KC_OPTION_##field,
	KC_OPTION_TABLE(KC_OPTION_ENUM)
#undef KC_OPTION_ENUM
	    KC_OPTION_COUNT,
};

struct kc_option_info {
	const char *field, *env, *flag, *arg, *value, *help;
};
const struct kc_option_info *kc_option_info(enum kc_option option);

enum kc_graphs { KC_GRAPHS_NODES, KC_GRAPHS_WHOLE };
enum kc_measure { KC_MEASURE_ALL, KC_MEASURE_KERNELS, KC_MEASURE_ADAPTIVE, KC_MEASURE_NOTHING };

struct kc_options {
	char db[1024]; /* absolute */
	int unnamed;   /* it is the default, whoever passes it on: kc_store_own() decides whether it is used */
	char cupti[1024];
	char run[64];
	char ranks[512];    /* kc_ranks_have(); empty: all */
	char command[4096]; /* as a shell reads it */
	char caller[64];    /* kc_version_text() of the command; empty: it was not started by one */
	enum kc_measure measure;
	enum kc_graphs graphs; /* KC_GRAPHS_NODES with KC_MEASURE_ADAPTIVE, which looks at single kernels */
	uint64_t journal_max_bytes;
	uint32_t flush_ms;
	char kernel[512]; /* a valid POSIX extended regular expression; empty: every kernel */
	uint32_t every;   /* 1: every launch */
	struct kc_extent after, lasting;
	char gate[1024]; /* absolute; empty: none */
	int toggle;      /* a signal's number; 0: none */
	struct kc_keep keep;
	int fresh;
	char prior[1024]; /* absolute; empty: none */
	int caches;
	int64_t wait_ns;
	int64_t gpu_state_ns; /* 0: never */
	int quiet;
	int disable;
};

/* 0: text is a valid value of the option; -EINVAL: it is not. */
int kc_option_check(enum kc_option option, const char *text);
/* What the option takes, for instance "all|kernels|adaptive|off". */
const char *kc_option_values(enum kc_option option);

/* Why the two are refused together. */
extern const char kc_option_whole_adaptive[];

/* Reads the environment. 0; -EINVAL: a variable has an invalid value, which why names
 * in one line; that option has its default, and all of them can be used. */
int kc_options_read(struct kc_options *options, char *why, size_t why_size);

/* Reads "64K", "1G" or "123". 0 or -EINVAL. */
int kc_parse_bytes(const char *text, uint64_t *bytes);

#endif
