/* The kernels behind the driver's handles. */
#ifndef KC_SHIM_TABLES_FUNCTIONS_H
#define KC_SHIM_TABLES_FUNCTIONS_H

#include "shim/shim.h"

/* Asks the driver for a function's parameters, of which it takes KC__PARAMETERS_MAX at most. as_kernel: the handle is a
 * CUkernel where nothing else tells. Returns false if the driver cannot tell, or if the function has no parameter. */
bool kc__ask_parameters(CUfunction f, bool as_kernel, struct kc__parameter *at, uint32_t *count);
struct kc__function *kc__function_of(CUfunction f, struct kc__device *device);
void kc__function_gone(CUfunction f); /* on any device. tables_lock held */

#endif
