/*
 * A kernel's cost formula at a launch: which of the arguments matter, and their
 * values.
 *
 *   kc__formula    published once the reader has read the code; what it is
 *                  evaluated from gives way to other kernels' (formulas.c)
 *   kc__need       bytes of an argument that the formula depends on
 *   kc__packed     a copy of a launch's argument list
 */
#ifndef KC_SHIM_FORMULA_H
#define KC_SHIM_FORMULA_H

#include "shim/shim.h"

#define KC__ARGUMENTS_MAX 64u /* parameters; those past it are not known */

struct kc__need {
	uint32_t param, in_param_bytes; /* offset within the parameter */
	uint32_t offset_bytes, bytes;   /* within the block */
	uint64_t mask;                  /* bits that matter */
};

struct kc__formula {
	struct kc_cost *cost;     /* NULL: it gave way. Written by the reader with tables_lock held */
	uint64_t used;            /* when it was evaluated last; larger is later. tables_lock */
	struct kc__formula *next; /* of those with a cost. tables_lock */
	bool other_architecture;  /* of PTX that the device's code was not compiled from */
	const struct kc__need *needs;
	uint32_t need_count;
	struct kc__parameters parameters; /* as the code has them */
};

/* The driver and the PTX must agree on the number of parameters: the application's list of arguments is only as long as
 * the kernel that it launches needs. */
bool kc__same_parameters(const struct kc__kernel *kernel, const struct kc_ptx_function *function);

/* tables_lock held. cost: of function. NULL: no memory. */
struct kc__formula *kc__formula_make(struct kc_cost *cost, const struct kc_ptx_function *function,
				     bool other_architecture);

/* A number that differs where arguments that matter differ; never 0. */
uint64_t kc__arguments_key(const struct kc__formula *formula, const struct kc__given *given);

/* Of the arguments that matter the one with that index, if it may be a pointer: where it is, and in `first` its value.
 */
bool kc__formula_pointer(const struct kc__formula *formula, uint32_t index, const struct kc__given *given,
			 struct kc_cost_buffer *pointer);

/* The formula's value for this launch. effort, scratch: of kc_cost_evaluate_in(). 0, or its error; -ENODATA: what the
 * formula is evaluated from has given way. tables_lock held, or formulas are (formulas.h). */
int kc__formula_counts(const struct kc__formula *formula, const struct kc_shape *dims, const struct kc__given *given,
		       uint32_t effort, void *scratch, struct kc_counts *counts);

/* The arguments that matter, for the user: "p2 = 1048576, p3 mod 32 = 0, p4 = ?". */
void kc__arguments_tell(const struct kc__formula *formula, const struct kc__given *given, char *text, size_t size);

/* The argument list as one block, laid out as the driver does. Its length; 0: not
 * known, empty or longer than max_bytes. */
size_t kc__arguments_pack(const struct kc__parameters *parameters, const struct kc__given *given, void *block,
			  size_t max_bytes);

/* The block in the form that a launch call takes; valid as long as both are. */
struct kc__packed {
	void *extra[5];
	size_t bytes;
};
struct kc__given kc__given_packed(struct kc__packed *packed, void *block, size_t bytes);

#endif
