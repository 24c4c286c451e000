/* What `kerncast learn --list` prints. */
#ifndef KC_KNOWLEDGE_LIST_H
#define KC_KNOWLEDGE_LIST_H

#include "store/past/knowledge.h"

/* Both return the exit status. */
int kc_knowledge_list(const struct kc_knowledge *knowledge, const char *path);
int kc_knowledge_list_json(const struct kc_knowledge *knowledge, const char *path);

#endif
