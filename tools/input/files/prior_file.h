/* A file that `kerncast learn` wrote, for a command. */
#ifndef KC_PRIOR_FILE_H
#define KC_PRIOR_FILE_H

#include "store/past/knowledge.h"

/* NULL after a message. */
struct kc_knowledge *kc_prior_read(const char *path);

#endif
