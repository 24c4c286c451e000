/*
 * kerncast explain: what the code in a file does.
 *
 *   kc_explain_launch   what was asked for: grid, block, shared memory, arguments as text
 *   kc_explained        one kernel: its PTX and cost formula, what its machine code tells,
 *                       for a launch the counts, and on a device every model's time
 *   kc_explanation      the file: images, the architecture that was taken, kernels
 *
 * explain.c reads the command line, explain_read.c fills a kc_explanation,
 * explain_words.c has what both forms of output say,
 * explain_text.c and explain_json.c print it.
 */
#ifndef KC_EXPLAIN_H
#define KC_EXPLAIN_H

#include "tools/input/launch_times.h"

#include "predictor/code/cost.h"
#include "predictor/code/container/cubin.h"
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
	struct kc_ptx_module ptx;
	struct kc_cubin code;
	int foreign;               /* the device would load none of it; the lowest architecture is shown instead */
	struct kc_refusal refusal; /* why PTX or machine code could not be read; no reason: all of it was read */
};

struct kc_explained {
	const char *name; /* mangled */
	char *readable;
	const struct kc_explain_unit *unit;
	const struct kc_ptx_function *function; /* NULL: the kernel has no PTX */
	const struct kc_cubin_kernel *code;     /* NULL: the device would load no machine code of it */
	uint32_t code_sm;
	struct kc_cost *cost; /* NULL: there is none, for the reason in refusal */
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
	struct kc_explained *kernels;
	uint32_t kernel_count, kernel_capacity;
	const struct kc_explain_launch *launch;
	double lambda; /* of the BSP model */
	void *map;     /* the file */
	size_t map_bytes;
};

/* 0; -ENOENT: no GPU code, or none of that kernel; -EBADMSG, -ENOMEM, -errno, with a sentence in why. kernel: name,
 * mangled or readable, with or without its parameter list; NULL: all. */
int kc_explain_read(struct kc_explanation *explanation, const char *kernel, char *why, size_t why_size);
/* Evaluates the formulas for explanation->launch, and the models if a device was named. 0; -EINVAL: an argument does
 * not fit its parameter; -ENOMEM. */
int kc_explain_count(struct kc_explanation *explanation, char *why, size_t why_size);
void kc_explain_free(struct kc_explanation *explanation);

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

/* Both return an exit status. */
int kc_explain_print_text(const struct kc_explanation *explanation);
int kc_explain_print_json(const struct kc_explanation *explanation);

#endif
