/*
 * Compiled variants of one kernel: which are the fastest, and which of them to time.
 *
 *   kc_variant    a file with its code, the launch, the values of its parameters; what its code
 *                 is estimated to take, what it took, and what it is expected to take by both
 *   kc_variants   those of a list, in the order of the list; the parameters that tell them apart
 *
 * A list is CSV (variant_list.c); the block shapes of a kernel are a list, too (variant_blocks.c). Times come from its
 * column time_ms, from other CSV, from Kernel Tuner's caches or from files in the format T4 (variant_times.c). What the
 * code takes is what `kerncast explain` estimates (variant_estimate.c); variant_rank.c corrects that by what was timed.
 */
#ifndef KC_VARIANTS_H
#define KC_VARIANTS_H

#include "predictor/code/container/arena.h"
#include "tools/explain/explain.h"
#include "tools/input/launch_times.h"

#define KC_VARIANT_PARAMETERS 32u
#define KC_VARIANTS_MOST 65536u
#define KC_VARIANTS_NAMED 5u /* to be timed next */

enum kc_variant_state {
	KC_VARIANT_ESTIMATED,
	KC_VARIANT_CANNOT_RUN, /* on this device */
	KC_VARIANT_UNKNOWN,    /* its code could not be read or counted */
	KC_VARIANT_FAILED,     /* when it was to be timed */
};

struct kc_variant {
	uint64_t line;                         /* of the list; of a block shape, its number */
	const char *file, *kernel, *arguments; /* as written; kernel, arguments NULL: not given */
	uint32_t grid[3], block[3], dynamic_shared_bytes;
	const char **values; /* of the parameters, as written */
	const char *key;     /* the same values, numbers in one form */
	enum kc_variant_state state;
	const char *why;                 /* where it has no estimate, a sentence; NULL: it has one */
	struct kc_launch_times times;    /* where it has one */
	uint32_t registers, local_bytes; /* per thread */
	uint64_t threads;
	double accesses;            /* to global memory, of all threads; NAN: not known to the last one */
	double occupancy;           /* share of the warps that an SM holds; NAN: not known */
	double measured_ns;         /* NAN: not timed */
	double ns, low_ns, high_ns; /* expected, with the 90 % interval; NAN: not known */
	double deviation;           /* standard deviation of its logarithm, beside other variants of the kernel */
};

/* Starts as zeros. */
struct kc_variants {
	const char *path;                     /* of the list, or of the file with the kernel */
	const char *assumed;                  /* of block shapes, what holds of grids and threads; NULL: of a list */
	const struct kc_resources *resources; /* of the kernel, as the driver told; NULL: those of the machine code */
	struct kc_device device;
	const char *names[KC_VARIANT_PARAMETERS];
	uint32_t parameters;
	struct kc_variant *at;
	uint32_t count, capacity;
	uint32_t *by_key; /* places, in the order of their keys */
	struct kc_arena arena;
	uint64_t strangers; /* timed configurations that are not in the list */
};

/* Reads the list. 0; -errno after a message. */
int kc_variants_read(struct kc_variants *variants, const char *path);
/* Whether a file is a list and not a space, which has no column `file`. */
int kc_variants_is_list(const char *path);
/* Or the block shapes of a kernel that is launched so, in place of a list. */
struct kc_blocks_asked {
	const char *path, *kernel, *arguments; /* arguments: as written; NULL: not given. kernel: NULL: the only one */
	const struct kc_explain_launch *launch;
	const struct kc_block_freedom *freedom; /* which its code allows; NULL: all */
	uint32_t max_threads;                   /* of a block; 0: as many as any may have */
};
/* That of the launch first, then all of powers of two that are whole warps, with grids that cover as many threads. 0;
 * -errno after a message. */
int kc_variants_blocks(struct kc_variants *variants, const struct kc_blocks_asked *asked);
void kc_variants_free(struct kc_variants *variants);

/* Fills in what was timed, from a file of any of the formats. 0; -errno after a message. */
int kc_variants_timed(struct kc_variants *variants, const char *path);

/* What each variant's code takes on the device. 0 or -ENOMEM; what cannot be read is said of its variant. */
int kc_variants_estimate(struct kc_variants *variants);

/* Whether a value is a number, and which one. */
int kc_variant_number(const char *text, double *out);
/* Adds a copy of the variant, at the end. 0 or -ENOMEM. */
int kc_variants_add(struct kc_variants *variants, const struct kc_variant *variant);
/* Once all are there. 0; -errno after a message: two have the same parameters. */
int kc_variants_sort(struct kc_variants *variants);
/* The key of these values. What has no room is left out. */
void kc_variants_key(const struct kc_variants *variants, const char *const *values, char *out, size_t size);
#define KC_VARIANT_KEY_EXTRA 32u /* bytes of a value's key beside those of the value, at most */
/* The variant with this key; NULL: there is none. */
struct kc_variant *kc_variants_find(struct kc_variants *variants, const char *key);
/* Whether the parameter has several values. */
int kc_variants_vary(const struct kc_variants *variants, uint32_t parameter);

#endif
