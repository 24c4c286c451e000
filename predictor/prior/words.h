/*
 * The words of a kernel's name: its identifiers, cut at underscores, in lower case. Names of types, keywords and
 * numbers are left out, so that a mangled name (Itanium C++ ABI) and the same name written out have the same words.
 *
 *   kc_words   the different words of a name, in the order in which they first come
 */
#ifndef KC_WORDS_H
#define KC_WORDS_H

#include <stddef.h>
#include <stdint.h>

#define KC_WORDS_MAX 96u     /* different words; what comes after them is not looked at, */
#define KC_WORDS_BYTES 2048u /* nor what is beyond so much of a name */
#define KC_WORD_BYTES 32u    /* of a word; longer ones are cut */

struct kc_words {
	uint32_t count;
	uint32_t hash[KC_WORDS_MAX]; /* kc_word_hash() */
	struct kc_word {
		uint16_t at;  /* where it is in the name, */
		uint8_t size; /* and how long */
	} place[KC_WORDS_MAX];
};

/* FNV-1a of the letters in lower case, at most KC_WORD_BYTES of them. */
uint32_t kc_word_hash(const char *word, size_t size);

void kc_words_of(const char *name, struct kc_words *words);

#endif
