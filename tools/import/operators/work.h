/*
 * What an operator comes to, from its name and inputs: floating-point operations
 * of matrix products, convolutions and attention, as torch.utils.flop_counter
 * defines them (two for each multiply-add, none for a bias, and all of attention's
 * scores although a causal mask leaves half of them out), and bytes.
 *
 *   kc_operator_work   one call of an operator
 *
 * An operator that is not in the table of work.c comes to nothing that is known.
 */
#ifndef KC_OPERATOR_WORK_H
#define KC_OPERATOR_WORK_H

#include "inputs.h"

#include "store/query/report/kernel_class.h"

struct kc_operator_work {
	enum kc_kernel_class of; /* of the kernels that do it: matrix product, convolution or attention */
	uint32_t parts;   /* kernels of the same work that do it: 2 for both gradients of a convolution; 0: not known */
	int is_nominal;   /* less may be needed: scores are masked, or it is not known whether they are */
	double flop;      /* NAN: not known */
	double bytes;     /* of its inputs and outputs, each counted once; NAN: not known */
	const char *type; /* of what it multiplies; "": not known, or of several types */
};

/* 1; 0: it is not known what this operator does. *out points into the inputs. */
int kc_operator_work(const char *name, const struct kc_operator_inputs *inputs, struct kc_operator_work *out);

/* "[64, 3, 224, 224] [8, 3, 7, 7]": the tensors, for people. */
void kc_operator_inputs_text(const struct kc_operator_inputs *inputs, char *out, size_t size);

#endif
