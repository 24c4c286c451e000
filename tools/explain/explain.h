/*
 * kerncast explain: what the code in a file does.
 *
 *   kc_explain_launch   what was asked for: grid, block, shared memory, arguments as text
 *   kc_explanation      the file: images, the architecture that was taken, where each kernel is
 *   kc_explained        one kernel: its cost formula, what its machine code tells,
 *                       for a launch the counts, and on a device every model's time
 *   kc_explain_form     text or JSON
 *
 * explain.c reads the command line, explain_read.c fills a kc_explanation,
 * explain_kernel.c a kc_explained; explain_words.c has what both forms of output
 * say, explain_text.c and explain_json.c print it. A library's formulas do not
 * fit into memory together: kernels are read, printed and freed one by one.
 */
#ifndef KC_EXPLAIN_H
#define KC_EXPLAIN_H

#include "tools/input/launch_times.h"

#include "predictor/code/cost.h"
#include "predictor/code/features/block_freedom.h"
#include "predictor/code/machine/cubin.h"
#include "predictor/code/container/image.h"
#include "predictor/code/ptx/ptx.h"
#include "predictor/device/device.h"

#include <stddef.h>
#include <stdint.h>

#define KC_EXPLAIN_ARGUMENTS 256u
#define KC_EXPLAIN_WHY_BYTES 512u

struct kc_explain_launch {
	int given;
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const char *arguments[KC_EXPLAIN_ARGUMENTS]; /* as typed */
	uint32_t argument_count;
};

/* The code of one fatbin that the device would load. */
struct kc_explain_unit {
	const struct kc_image *ptx_image, *code_image; /* NULL: none */
	int ptx_is_other; /* the device could not compile this PTX, which may be of other lines of the source */
	uint32_t ptx_function_count;
	int passed_over; /* the PTX has no kernel that was asked for, and was not parsed */
	struct kc_cubin code;
	int foreign;               /* the device would load none of it; the lowest architecture is shown instead */
	struct kc_refusal refusal; /* why PTX or machine code could not be read; no reason: all of it was read */
};

/* Where a kernel is. */
struct kc_explain_entry {
	const char *name; /* mangled */
	struct kc_explain_unit *unit;
	int has_ptx;
	uint32_t function;                  /* among those of the unit's PTX */
	const struct kc_cubin_kernel *code; /* NULL: there is no machine code of it */
	int code_is_foreign;                /* that is not what the device would load */
	uint32_t code_sm;
};

struct kc_explained {
	const struct kc_explain_entry *entry;
	char *readable;
	uint32_t ptx_target;         /* 0: the kernel has no PTX */
	struct kc_ptx_param *params; /* of the PTX; without names */
	uint32_t param_count;
	struct kc_block_freedom blocks; /* of the PTX */
	struct kc_cost *cost;           /* NULL: there is none, for the reason in refusal */
	struct kc_cost_story story;
	struct kc_refusal refusal;
	int counted; /* 1; 0: no launch was given; -errno of kc_cost_evaluate */
	struct kc_counts counts;
	int timed; /* 1; 0: not counted, or no device was named; -errno of kc_launch_times */
	struct kc_launch_times times;
	char untimed[KC_EXPLAIN_WHY_BYTES]; /* why there are no times */
};

struct kc_explanation {
	const char *path;
	const struct kc_device *device; /* NULL: none was named */
	uint32_t sm;                    /* architecture for which the code was chosen */
	struct kc_images images;
	struct kc_explain_unit *units; /* one per fatbin */
	struct kc_arena entries_arena;
	struct kc_explain_entry **entries;
	uint32_t kernel_count, kernel_capacity;
	const struct kc_explain_unit *parsed; /* of this one the PTX is in memory; NULL: of none */
	struct kc_ptx_module ptx;
	const struct kc_explain_launch *launch;
	const struct kc_resources *resources; /* of the kernel, as the driver told; NULL: those of the machine code */
	double lambda;                        /* of the BSP model */
	void *map;                            /* the file */
	size_t map_bytes;
};

/* Cuts ":NAME" off FILE:NAME and returns the name; NULL: there is none. Both may contain colons. */
const char *kc_explain_split(char *path);
/* Finds the kernels. 0; -ENOENT: no GPU code, or none of that kernel; -EBADMSG, -ENOMEM, -errno, with a sentence in
 * why. kernel: name, mangled or readable, with or without its parameter list; NULL: all. */
int kc_explain_read(struct kc_explanation *explanation, const char *kernel, char *why, size_t why_size);
void kc_explain_free(struct kc_explanation *explanation);

/* Builds the formula of kernel i < kernel_count; evaluates it if explanation->launch is given, and the models if a
 * device was named. *kernel may outlive the next one, but not the explanation. 0; -EINVAL: an argument does not fit its
 * parameter; -ENOMEM, -EBADMSG, with a sentence in why; kc_explained_free in any case. */
int kc_explain_kernel(struct kc_explanation *explanation, uint32_t i, struct kc_explained *kernel, char *why,
		      size_t why_size);
void kc_explained_free(struct kc_explained *kernel);

/* Puts the PTX of the unit into explanation->ptx, in place of another one's. 0; -EBADMSG, -ENOMEM: *refusal says why.
 */
int kc__explain_parse(struct kc_explanation *explanation, struct kc_explain_unit *unit, struct kc_refusal *refusal);
/* Says so if rc is -ENOMEM, in place of a reason of the reader. */
void kc__explain_no_memory(struct kc_refusal *refusal, int rc);

/* "sm_75, sm_90, compute_90", in ascending order. */
void kc_explain_architectures(const struct kc_images *images, char *out, size_t size);

/* Reads an argument as typed, for a parameter: "_" is unknown; integers are decimal, negative or hexadecimal;
 * floating-point numbers are decimal ("1.5", "1.5f") or their bits in hexadecimal; a struct is the hexadecimal
 * digits of its bytes, in the order of memory. 0; -EINVAL with a few words in why; -ENOMEM. Freed with
 * kc_explain_argument_free. */
int kc_explain_argument(const char *text, const struct kc_ptx_param *param, struct kc_cost_argument *out, char *why,
			size_t why_size);
void kc_explain_argument_free(struct kc_cost_argument *argument);

/* The type of a parameter: "u32", "f64", "struct". */
const char *kc_explain_type(const struct kc_ptx_param *param);
/* Why a kernel has no formula, no counts or no times. 1; 0: it has all that was asked for. */
int kc_explain_refusal(const struct kc_explained *kernel, char out[static KC_EXPLAIN_WHY_BYTES]);
/* The i-th note on the file, i ≥ 0; "": none at this i. 1; 0: past the end. */
int kc_explain_note(const struct kc_explanation *explanation, uint32_t i, char out[static KC_EXPLAIN_WHY_BYTES]);

/* All kernels are printed in their order, between the two others. 0, -ENOMEM; `end` returns an exit status. */
struct kc_explain_form {
	int (*begin)(const struct kc_explanation *explanation);
	int (*kernel)(const struct kc_explanation *explanation, const struct kc_explained *kernel);
	int (*end)(const struct kc_explanation *explanation);
};
extern const struct kc_explain_form kc_explain_text, kc_explain_json;

#endif
