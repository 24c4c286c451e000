/* Texts of kernels, read from a database: struct kc_past_text. */
#ifndef KC_PAST_TEXTS_H
#define KC_PAST_TEXTS_H

#include "past.h"

struct kc__past_texts {
	struct kc_past_text *at;
	size_t count, capacity;
	size_t bytes; /* packed */
};

/* Adds the texts of the kernels that this process launched, as far as there is room. 0 or -errno. */
int kc__past_texts_add(struct kc_store *s, int64_t process, struct kc__past_texts *texts);
void kc__past_texts_free(struct kc__past_texts *texts);
const struct kc_past_text *kc__past_texts_find(const struct kc__past_texts *texts, const char *mangled,
					       uint64_t code_hash, uint32_t architecture);

#endif
