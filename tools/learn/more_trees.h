/* Trees that go on from the prior's built-in ones, trained on what databases taught by a Python that has LightGBM. */
#ifndef KC_MORE_TREES_H
#define KC_MORE_TREES_H

#include "store/replay/knowledge_made.h"

#define KC_MORE_TREES_LEAST 128u      /* launch shapes; with fewer, none were tried */
#define KC_MORE_TREES_LIMIT_MS 120000 /* of the time that it may take */

/* 0; -ENODATA: why tells why there are none. limit_ms: after which the Python is killed. */
int kc_more_trees_train(const struct kc_knowledge_lesson *lessons, uint32_t count, const char *python, int limit_ms,
			struct kc_knowledge_more *more, char *why, size_t why_size);

#endif
