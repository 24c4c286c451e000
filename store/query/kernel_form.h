/*
 * One form for what different demanglers make of a kernel's name. The C++
 * runtime and binutils (the PyTorch profiler, kerncast) write
 *   void scale<float, 4, true>(float const*, int)
 * and NVIDIA's profilers, of the same symbol,
 *   void scale<float, (int)4, (bool)1>(const T1 *, int)
 * and before, scale<float, int=4, bool=1>. Forms leave out what differs:
 * blanks, "const", types of template arguments, the result.
 */
#ifndef KC_KERNEL_FORM_H
#define KC_KERNEL_FORM_H

#include "readable.h"

#define KC_FORM_BYTES KC_READABLE_BYTES

struct kc_kernel_form {
	char text[KC_FORM_BYTES]; /* cut where it is longer */
	size_t named;             /* bytes of it before the parameters */
	int is_generic;           /* the parameters are those of the template: T1 stands for what the arguments say */
};

void kc_kernel_form(const char *name, struct kc_kernel_form *form);

#endif
