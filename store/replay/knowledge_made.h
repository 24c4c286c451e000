/*
 * What databases taught, gathered for a file (store/past/knowledge.h): all launches of all their processes are
 * replayed, each measurement known at once, and what was learned of the same launches on the same model of GPU is
 * pooled.
 *
 *   kc_knowledge_lesson   a launch shape, for training trees that go on from the prior's
 *   kc_knowledge_more     such trees, on their way into the file
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

struct kc_knowledge_lesson {
	uint64_t words; /* kc_name_traits.words */
	float traits[KC_TRAITS];
	float expected;   /* by the built-in trees: log time in units of the device */
	float measured;   /* the same of the median of its first launches */
	uint32_t program; /* which measured it first: a command line, or a process of a trace; counted from 1 */
	uint32_t simulated;
};

struct kc_knowledge_more {
	struct kc_knowledge_trees row;
	uint32_t tree_count, limit_count;
	float off_without, off_with; /* of programs left out: mean error of the log */
	float limits[KC_KNOWLEDGE_LIMITS_MAX];
	uint32_t nodes[KC_KNOWLEDGE_TREES_MAX * KC_PRIOR_NODES];
	int16_t leaves[KC_KNOWLEDGE_TREES_MAX * KC_PRIOR_LEAVES];
};

/* anonymous: without the names of kernels. NULL: no memory. */
struct kc_knowledge_made *kc_knowledge_made_new(int anonymous);
/* Adds what a database taught. 0 or -errno. */
int kc_knowledge_made_add(struct kc_knowledge_made *made, struct kc_store *s);
/* What was added so far: of GPUs, or of simulated devices where there is nothing else. */
const struct kc_knowledge_lesson *kc_knowledge_made_lessons(struct kc_knowledge_made *made, uint32_t *count);
/* more: kc_knowledge_trees_sound(), and kept until the end. */
void kc_knowledge_made_grow(struct kc_knowledge_made *made, const struct kc_knowledge_more *more);
/* The file's bytes, to be freed. Nothing can be added afterwards. 0; -ENODATA: nothing was learned; -EFBIG: kernels
 * alone would make the file too long; -ENOMEM. */
int kc_knowledge_made_bytes(struct kc_knowledge_made *made, void **bytes, size_t *length,
			    struct kc_knowledge_left_out *left_out);
void kc_knowledge_made_free(struct kc_knowledge_made *made);

#endif
