/* The worker as the engine's learner. */
#ifndef KC_SHIM_WORKER_LEARN_H
#define KC_SHIM_WORKER_LEARN_H

#include "shim/shim.h"

void kc__learn_begin(void); /* before devices are made */
void kc__learn_measured(struct kc_launch *launch);
/* What it puts on the device, for the launches that overlap it. */
struct kc_load kc__learn_load(const struct kc_launch *launch);
/* met: what the launches it overlapped put on the device meanwhile. */
void kc__learn_decided(struct kc_launch *launch, const struct kc_load *met);
void kc__learn_transfer(struct kc_transfer *transfer);
/* Of a graph that is measured as one nothing is learned; the timeline knows when it has run. */
void kc__learn_graph(struct kc_graph_launch *launch);
void kc__learn_past(void); /* what earlier processes taught has been taken in */
/* From here on launches of the kernel are predicted from its code, with what earlier launches of their shape taught.
 * prepared: of kc__early_prepare(). */
void kc__learn_formula(struct kc__kernel *kernel, struct kc__formula *formula, const struct kc__early *prepared);
void kc__learn_sizes(struct kc__kernel *kernel); /* kc__early_teach_all() */

#endif
