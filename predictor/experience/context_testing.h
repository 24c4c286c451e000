/* The context of a launch, as the engine finds it in two steps. */
#ifndef KC_CONTEXT_TESTING_H
#define KC_CONTEXT_TESTING_H

#include "context.h"

static inline uint64_t context_in(const struct kc_history *history, uint64_t identity, uint32_t stream, int64_t now_ns)
{
	struct kc_history_view view;

	kc_history_look(history, identity, stream, now_ns, &view);
	return kc_history_context_beside(history, identity, view.concurrent);
}

#endif
