/*
 * One pass over the PTX of a module, on the reader's thread: it is unpacked part by
 * part, what was launched is cut out of it (ptx_cut.h), and read kernel by kernel.
 *
 *   kc__reading  the kernels of one module that are being read, and what that may
 *                take in this step
 *   kc__source   the PTX, and the device's own code where that is compared with it
 *
 * What a step had no time for is kept for the next one, up to 2 MiB of it, unless
 * that begins with another module: unpacking a library's text takes longer than
 * reading some of its kernels.
 */
#ifndef KC_CODE_PASS_H
#define KC_CODE_PASS_H

#include "loaded_code.h"

#include "predictor/code/container/image.h"

struct kc__reading {
	const struct kc__code *code; /* of the module */
	struct kc__kernel *kernels;  /* those that were not read, by next_wanted */
	struct kc_refusal refusal;
	bool saw_code;
	bool lacks_room;   /* something could be read with more memory */
	bool is_cubin;     /* by itself */
	bool is_apart;     /* what is read is not in what was loaded: it is kept for the next run */
	bool is_kept;      /* it has been kept by an earlier one: kept_text.h */
	size_t room_bytes; /* there is for what reading takes from here on, and for the formulas */
	uint32_t done;
	uint32_t calls;  /* of the reader, when these kernels were taken */
	bool is_last;    /* the process ends: time is up whether a kernel was read or not */
	int64_t pass_ns; /* that the last pass over a text took */
	int64_t step_ns; /* that kernels may be read for, after the first pass over a text */
	int64_t stop_ns; /* 0: no text has been passed over yet */
};

struct kc__source {
	const struct kc_image *image;
	bool other_architecture;     /* than that of which the device's code was made */
	const struct kc_image *code; /* that, if it is to be compared; NULL: there is none */
};

/* Reads kernels from *from on, as many as a pass takes. Returns where to go on: at the same place while there is no
 * room for the text of all of them at once; NULL: the text cannot be read, or time is up. */
struct kc__kernel **kc__pass_over(struct kc__reading *reading, struct kc__kernel **from,
				  const struct kc__source *source);
/* Reads what the last step has kept of this module, or lets go of what it has kept of another. */
void kc__pass_resume(struct kc__reading *reading);
void kc__pass_forget(void); /* fork child */

/* Enough for now: what is left is read in another step. */
bool kc__is_late(const struct kc__reading *reading);
/* The kernel may be wanted again from now on. */
void kc__not_wanted(struct kc__kernel *kernel);
/* Of what finds no room: a command has more. */
enum kc_code_state kc__without_room(const struct kc__code *code);

#endif
