/*
 * kerncast tune DB: block sizes for the kernels of a run that took most time.
 *
 *   kc_run_kernel   a kernel, as the launch shape and arguments that took most of its time; its code, and what
 *                   other block sizes are expected to take
 *   kc_run_blocks   the run and its kernels
 *
 * A kernel's code is read from the file that the run had it from, or that is named, and believed if it comes to the
 * work that the run recorded for the launch. Where the code tells a thread's work by its place in the whole launch
 * alone (predictor/code/features/block_freedom.h), the blocks that it may have are variants of the kernel, of which
 * that of the launch was timed (variants/variant_rank.h): the estimates of all, the measured time of one, and ranges
 * of what is left of the error.
 */
#ifndef KC_RUN_BLOCKS_H
#define KC_RUN_BLOCKS_H

#include "store/query/report/launch_demand.h"
#include "tools/together/launch_groups.h"
#include "tools/tune/variants/variant_rank.h"

#define KC_RUN_KERNELS_MAX 26u
#define KC_RUN_BLOCKS_NAMED 3u /* of a kernel, to be tried */
/* A block is named that is expected to gain so much, a share of the time: by less, the same code differs from run to
 * run (KernelTuner/kernel_tuner, issue 282: 1 to 3 %). */
#define KC_RUN_LEAST_GAIN 0.02

/* Whether another block is faster. X(constant, in words) */
#define KC_RUN_ANSWERS(X)                                                                                              \
	X(FASTER, "yes")              /* the first that is named, by its whole range */                                \
	X(CANNOT_TELL, "cannot tell") /* one may be */                                                                 \
	X(KEEP, "no")                 /* none is, by its whole range */                                                \
	X(UNKNOWN, "not known")       /* for the reason in `why` */

enum kc_run_answer {
#define X(constant, words) KC_RUN_##constant,
	KC_RUN_ANSWERS(X)
#undef X
};
const char *kc_run_answer_words(enum kc_run_answer answer);

struct kc_run_kernel {
	struct kc_group_kernel of;
	struct kc_launch_demand demand; /* device: of the launch */
	struct kc_launch_code code;
	struct kc_block_freedom freedom;
	char *arguments; /* as `kerncast explain` takes them */
	struct kc_variants variants;
	struct kc_variant_ranking ranking;
	enum kc_run_answer answer;
	uint32_t named[KC_RUN_BLOCKS_NAMED], named_count; /* variants, the shortest expected time first */
	char why[KC_EXPLAIN_WHY_BYTES];                   /* of an answer that is not known, a phrase */
};

/* Starts as zeros. */
struct kc_run_blocks {
	struct kc_side side;
	struct kc_measured_names names;
	struct kc_run_kernel kernels[KC_RUN_KERNELS_MAX];
	unsigned count;
	uint64_t other_kernels; /* that were not looked at, with the share of the time that they took */
	double other_share;
};

struct kc_run_blocks_asked {
	const char *run;  /* NULL: the latest */
	const char *code; /* a file with the kernels; NULL: where the run had them from */
	unsigned most;    /* kernels, at most KC_RUN_KERNELS_MAX */
};

/* run->side must be open. What is wrong is reported on stderr. An exit status. */
int kc_run_blocks(struct kc_run_blocks *run, const struct kc_run_blocks_asked *asked);
void kc_run_blocks_free(struct kc_run_blocks *run);

/* Of a kernel whose code was read, whose blocks are its kernel->variants: fills in the answer from what the launch's
 * own block, the first variant, took alone. 0 or -ENOMEM. */
int kc_run_answer(struct kc_run_kernel *kernel);

/* Arguments as a run records them ("p0 = 131072, p2+8 = 3, p3 mod 32 = 0"), as `kerncast explain` takes them; of an
 * address of which only that is known one that no other argument has. To be freed; NULL: no memory. */
char *kc_run_arguments(const char *recorded, const struct kc_ptx_param *params, uint32_t count);

/* Each returns an exit status. */
int kc_run_blocks_text(const struct kc_run_blocks *run);
int kc_run_blocks_json(const struct kc_run_blocks *run);
int kc_run_blocks_csv(const struct kc_run_blocks *run);

#endif
