/*
 * What the demangler reads from and writes into.
 *
 *   kc__text      a stretch of the reader's arena; split is where a declarator
 *                 ("*", "&", " const") goes in: behind a plain type, inside the
 *                 brackets of a function or array type. Nothing in the arena
 *                 ever changes, so stretches may overlap and be kept.
 *   kc__reader    the mangled name, the arena, substitutions (S_, S0_, …) and
 *                 the template arguments that T_, T0_, … mean.
 *
 * After the first failure every function returns an empty text.
 */
#ifndef KC_DEMANGLE_TEXT_H
#define KC_DEMANGLE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#define KC__ARENA_BYTES 49152u
#define KC__SUBSTITUTIONS 256u
#define KC__ARGUMENTS 256u
#define KC__ARGUMENTS_PER_LIST 24u
#define KC__DEPTH 40u

struct kc__text {
	uint32_t start, length, split;
	uint16_t is_open;  /* a function or array type: its declarator needs brackets */
	uint16_t is_array; /* "int (&) [4]" has a blank behind them */
};

struct kc__arguments { /* of one template, in the reader's arguments */
	size_t first, count;
};

struct kc__argument {
	struct kc__text text;
	int is_pack;
	struct kc__arguments elements;
};

struct kc__reader {
	const char *at, *end;
	int failed;
	unsigned depth;
	size_t used;
	char arena[KC__ARENA_BYTES];
	struct kc__text substitutions[KC__SUBSTITUTIONS];
	size_t substitution_count;
	struct kc__argument arguments[KC__ARGUMENTS];
	size_t argument_count;
	struct kc__arguments own; /* of the function at hand */
	int pack_element;         /* being expanded; -1: none */
	size_t pack_size;         /* of the pack met while expanding */
	int ends_in_arguments;    /* the name just read: its function has a return type */
	int is_const;             /* … is a const member function */
	int is_structor;          /* … is a constructor or destructor, which have none */
};

void kc__reader_init(struct kc__reader *r, const char *mangled);
struct kc__text kc__fail(struct kc__reader *r);

/* Reading. kc__peek: 0 at the end. */
char kc__peek(const struct kc__reader *r);
int kc__take(struct kc__reader *r, char c);
int kc__take_string(struct kc__reader *r, const char *string);
size_t kc__mangled_number(struct kc__reader *r);

/* Writing. */
struct kc__text kc__copy(struct kc__reader *r, const char *bytes, size_t length);
struct kc__text kc__literal(struct kc__reader *r, const char *string);
struct kc__text kc__append(struct kc__reader *r, struct kc__text a, struct kc__text b);
struct kc__text kc__append_string(struct kc__reader *r, struct kc__text a, const char *string);
struct kc__text kc__append_number(struct kc__reader *r, struct kc__text a, size_t number);
char kc__last(const struct kc__reader *r, struct kc__text text);
void kc__text_get(const struct kc__reader *r, struct kc__text text, char *out, size_t size);

/* Adds a declarator to a type. */
struct kc__text kc__wrap(struct kc__reader *r, struct kc__text type, struct kc__text mark);
/* Adds " const" or the like; to an array's element type. */
struct kc__text kc__qualify(struct kc__reader *r, struct kc__text type, const char *qualifier);
/* mark: "&" or "&&"; references to references collapse, as in the standard, [dcl.ref]. */
struct kc__text kc__reference(struct kc__reader *r, struct kc__text type, const char *mark);
/* A type whose declarator goes between before and after; blank: after its brackets. */
struct kc__text kc__declarator(struct kc__reader *r, struct kc__text before, struct kc__text after, const char *blank);

/* The next substitution. */
void kc__remember(struct kc__reader *r, struct kc__text text);

#endif
