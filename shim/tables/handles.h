/*
 * The driver's handles of kernels, modules and libraries, as calls that were seen tell of them. One that is not known,
 * as it came from a call that was not seen, is asked for at its first launch (functions.c).
 */
#ifndef KC_SHIM_HANDLES_H
#define KC_SHIM_HANDLES_H

#include "shim/shim.h"

enum kc__form {
	KC__FORM_UNKNOWN,
	KC__FORM_FUNCTION, /* CUfunction */
	KC__FORM_KERNEL,   /* CUkernel */
};

/* After a call has returned a kernel's handle. name: NULL where the call was not given it; container: the module or
 * library it is of. */
void kc__handle_named(const void *handle, enum kc__form form, const char *name, const void *container);
/* After cuKernelGetFunction(): the CUfunction and the CUkernel are of one kernel. */
void kc__handle_function(const void *function, const void *kernel);
void kc__handle_gone(const void *handle); /* before the unload, with the kernels in it: addresses may be others' next */
void kc__handle_code_set(const void *handle, struct kc__code *code); /* tables_lock held */

enum kc__form kc__handle_form(const void *handle);
/* What the driver has shown it to be. */
void kc__handle_form_set(const void *handle, enum kc__form form);
/* NULL: not known */
struct kc__code *kc__handle_code(const void *handle);
const char *kc__handle_name(const void *handle);

#endif
