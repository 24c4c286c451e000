/*
 * Whether PTX and machine code come from the same lines of the source.
 *
 *   kc_features         what both forms of one kernel show: barriers, instructions
 *                       for tensor cores, loads of 16 bytes
 *   kc_features_wanted  a kernel whose machine code is looked for in a cubin
 *
 * PTX for another architecture than the device's may have been compiled from other
 * lines (__CUDA_ARCH__), and its formula would then be that of another program. How
 * often an instruction occurs says little, as both compilers unroll loops; that one
 * form has none of a kind and the other has some does.
 */
#ifndef KC_FEATURES_H
#define KC_FEATURES_H

#include "predictor/code/machine/cubin.h"
#include "predictor/code/container/image.h"
#include "predictor/code/ptx/ptx.h"

struct kc_features {
	uint8_t known;              /* 0: nothing is, and all else is 0 */
	uint8_t calls_away;         /* calls code that is not counted here */
	uint32_t barriers;          /* of a block */
	uint32_t tensor;            /* instructions that multiply matrices */
	uint32_t wide_loads;        /* instructions that load 16 bytes or more from global memory */
	uint32_t wide_shared_loads; /* the same from shared memory */
};

/* Of a kernel and all that it calls. */
struct kc_features kc_features_of_ptx(const struct kc_ptx_module *module, const struct kc_ptx_function *kernel);
struct kc_features kc_features_of_code(const struct kc_cubin_kernel *kernel);

/* What shows that a kernel's PTX and the machine code for the device are different programs, as a sentence; NULL:
 * nothing does. static_shared_bytes: of the machine code. Where `code` is not known, only that is compared. */
const char *kc_features_differ(const struct kc_ptx_module *module, const struct kc_ptx_function *kernel,
			       const struct kc_features *code, uint64_t static_shared_bytes);

struct kc_features_wanted {
	const char *name; /* mangled */
	struct kc_features features;
};

/* Finds the machine code of kernels in an image that is a cubin, which is unpacked part by part and read three times.
 * What is not in it, or for an architecture whose instructions are not known, stays not known. memory_bytes limits the
 * memory for this: the cubin's section headers and their names, and that for unpacking. 0; -EBADMSG, -ENOMEM: nothing
 * is known, and *refusal says why. */
int kc_features_of_image(const struct kc_image *image, struct kc_features_wanted *wanted, uint32_t count,
			 size_t memory_bytes, struct kc_refusal *refusal);

#endif
