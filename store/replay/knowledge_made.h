/*
 * What databases taught, gathered for a file (store/past/knowledge.h): all launches of all their processes are
 * replayed, each measurement known at once, and what was learned of the same launches on the same model of GPU is
 * pooled.
 */
#ifndef KC_KNOWLEDGE_MADE_H
#define KC_KNOWLEDGE_MADE_H

#include "store/database/store.h"
#include "store/past/knowledge.h"

#include <stddef.h>
#include <stdint.h>

struct kc_knowledge_made;

/* What the file will not hold. */
struct kc_knowledge_left_out {
	uint64_t foreign_gpu; /* launch shapes on what is no GPU of NVIDIA */
	uint64_t unknown_gpu; /* launch shapes on a GPU that their database does not describe */
	uint64_t no_room;     /* entries: those measured least often, of a file that would be too long */
};

/* anonymous: without the names of kernels. NULL: no memory. */
struct kc_knowledge_made *kc_knowledge_made_new(int anonymous);
/* Adds what a database taught. 0 or -errno. */
int kc_knowledge_made_add(struct kc_knowledge_made *made, struct kc_store *s);
/* The file's bytes, to be freed. Nothing can be added afterwards. 0; -ENODATA: nothing was learned; -EFBIG: kernels
 * alone would make the file too long; -ENOMEM. */
int kc_knowledge_made_bytes(struct kc_knowledge_made *made, void **bytes, size_t *length,
			    struct kc_knowledge_left_out *left_out);
void kc_knowledge_made_free(struct kc_knowledge_made *made);

#endif
