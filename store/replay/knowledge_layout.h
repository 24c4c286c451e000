/*
 * What was gathered for a file of knowledge, and its way into the file's tables.
 *
 *   kc__made_kernel, kc__made_entry   rows of the file, and what the tables beside them will get
 *   kc__made_given                    a launch shape whose launches are told apart by their arguments
 */
#ifndef KC_KNOWLEDGE_LAYOUT_H
#define KC_KNOWLEDGE_LAYOUT_H

#include "knowledge_made.h"
#include "store/common/ids/intern.h"
#include "store/past/knowledge.h"

struct kc__made_rows {
	void *at;
	uint32_t count, capacity;
};

struct kc__made_kernel {
	struct kc_knowledge_kernel row;
	struct kc_scaling sizes;
	char *mangled;
	uint32_t place; /* before kernels were sorted */
};

struct kc__made_entry {
	struct kc_knowledge_entry row;
};

struct kc__made_given {
	uint64_t name; /* without arguments */
	uint32_t kernel;
	uint32_t entry; /* of the first arguments */
	int several;
};

struct kc_knowledge_made {
	int anonymous, error;
	uint64_t databases, unknown_gpu, foreign_gpu;
	struct kc__made_rows devices, kernels, entries, given; /* kc_knowledge_device, and the structs above */
	/* Their places by what tells them apart; objects whose λ was pooled. */
	struct kc_intern device_names, kernel_names, entry_names, given_names, pooled;
};

#endif
