/*
 * What a kernel is for, by its name: a matrix product, a copy, a sum.
 *
 * The first row of the table in kernel_class.c with a word that the name has tells
 * the class; what waits for other GPUs is told as everywhere (predictor/prior/
 * kernel_name.h). Names tell what a kernel is called, never how much it does.
 */
#ifndef KC_KERNEL_CLASS_H
#define KC_KERNEL_CLASS_H

#include <stddef.h>

/* X(constant, name) */
#define KC_KERNEL_CLASSES(X)                                                                                           \
	X(OTHER, "other")                                                                                              \
	X(PRODUCT, "matrix product")                                                                                   \
	X(ATTENTION, "attention")                                                                                      \
	X(CONVOLUTION, "convolution")                                                                                  \
	X(ELEMENTWISE, "elementwise")                                                                                  \
	X(REDUCTION, "reduction")                                                                                      \
	X(COMMUNICATION, "communication")                                                                              \
	X(COPY, "copy")                                                                                                \
	X(SORT, "sort and scan")                                                                                       \
	X(GATHER, "gather and scatter")                                                                                \
	X(OPTIMIZER, "optimizer")

enum kc_kernel_class {
#define X(constant, name) KC_CLASS_##constant,
	KC_KERNEL_CLASSES(X)
#undef X
	    KC_CLASS_COUNT,
};

/* name: readable. */
enum kc_kernel_class kc_kernel_class_of(const char *name);
const char *kc_kernel_class_name(unsigned kernel_class);

#endif
