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
#define KC_EXPLAIN_NAME_BYTES 4096u /* of a demangled name */

struct kc_explain_launch {
	int given;
	uint32_t grid[3], block[3];
	uint32_t dynamic_shared_bytes;
	const char *arguments[KC_EXPLAIN_ARGUMENTS]; /* as typed */
	uint32_t argument_count;
};

/* Code of one fatbin: what a device would take of it. */
struct kc_explain_unit {
	const struct kc_image *ptx_image, *code_image; /* NULL: none */
	struct kc_ptx_module ptx;
	struct kc_cubin code;
	int foreign;               /* the device would take nothing of it: the lowest architecture stands in */
	struct kc_refusal refusal; /* of PTX or machine code that could not be read; no reason: all was */
};

struct kc_explained {
	const char *name; /* mangled */
	char *readable;
	const struct kc_explain_unit *unit;
	const struct kc_ptx_function *function; /* NULL: there is no PTX of it */
	const struct kc_cubin_kernel *code;     /* NULL: no machine code of it was taken */
	uint32_t code_sm;
	struct kc_cost *cost; /* NULL: refusal says why */
	struct kc_cost_story story;
	struct kc_refusal refusal;
	int counted; /* 1; 0: no launch was given; -errno of kc_cost_evaluate */
	struct kc_counts counts;
	int timed; /* 1; 0: not counted, or no device was named; -errno of kc_launch_times */
	struct kc_launch_times times;
	char untimed[KC_EXPLAIN_WHY_BYTES]; /* why it has no times */
};

struct kc_explanation {
	const char *path;
	const struct kc_device *device; /* NULL: none was named */
	uint32_t sm;                    /* that the code was chosen for */
	struct kc_images images;
	struct kc_explain_unit *units; /* one per fatbin */
	struct kc_explained *kernels;
	uint32_t kernel_count, kernel_capacity;
	const struct kc_explain_launch *launch;
	double lambda; /* of the BSP model */
	void *map;     /* the file */
	size_t map_bytes;
};

/* 0; -ENOENT: no GPU code, or none of that kernel; -EBADMSG, -ENOMEM, -errno. why gets a sentence without a name of
 * the command. kernel: name, mangled or readable, with or without its parameter list; NULL: all. */
int kc_explain_read(struct kc_explanation *explanation, const char *kernel, char *why, size_t why_size);
/* Evaluates for explanation->launch, and asks the models where a device was named. 0; -EINVAL: an argument fits no
 * parameter; -ENOMEM. */
int kc_explain_count(struct kc_explanation *explanation, char *why, size_t why_size);
void kc_explain_free(struct kc_explanation *explanation);

/* "sm_75, sm_90, compute_90", in ascending order. */
void kc_explain_architectures(const struct kc_images *images, char *out, size_t size);

/*
 * An argument as typed, for a parameter: "_" is not known; integers decimal,
 * negative or hexadecimal; floating-point numbers decimal ("1.5", "1.5f"), or
 * their bits in hexadecimal; a struct by the hexadecimal digits of its bytes, in
 * the order of memory. 0; -EINVAL and a few words in why; -ENOMEM. What a struct
 * takes is let go by kc_explain_argument_free.
 */
int kc_explain_argument(const char *text, const struct kc_ptx_param *param, struct kc_cost_argument *out, char *why,
			size_t why_size);
void kc_explain_argument_free(struct kc_cost_argument *argument);

/* "u32", "f64", "struct"; of a parameter */
const char *kc_explain_type(const struct kc_ptx_param *param);
/* Why there is no formula, no value of it, or no time. 1, or 0 where there is. */
int kc_explain_refusal(const struct kc_explained *kernel, char out[static KC_EXPLAIN_WHY_BYTES]);
/* What is to be said of the file: i from 0 on; "": nothing at this i. 1, or 0 past the end. */
int kc_explain_note(const struct kc_explanation *explanation, uint32_t i, char out[static KC_EXPLAIN_WHY_BYTES]);

/* Both return an exit status. */
int kc_explain_print_text(const struct kc_explanation *explanation);
int kc_explain_print_json(const struct kc_explanation *explanation);

#endif
