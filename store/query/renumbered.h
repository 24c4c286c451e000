/*
 * Kernels that a compiler numbered anew. torch.compile names what it makes of some
 * operators triton_poi_fused_add_3, where 3 counts the kernels of its graph: after
 * a change of the program, the name may belong to another kernel.
 */
#ifndef KC_RENUMBERED_H
#define KC_RENUMBERED_H

#include "measured.h"

/*
 * Makes kernels whose names differ in this number alone one kernel where they are
 * the same: those of the same code; else of the same registers, shared memory and
 * launch shapes; else of the same launch shapes. In each case, as many as there
 * were go in the order of their numbers; of more or fewer, those of the same number
 * go together first. What is left keeps its name, and is the same kernel only if
 * neither side's is another's. One that has another number is "NAME (was _NUMBER)".
 * Returns 0 or -ENOMEM.
 */
int kc_measured_renumber(struct kc_measured_names *names, struct kc_measured_run *old, size_t old_count,
			 struct kc_measured_run *new);

#endif
