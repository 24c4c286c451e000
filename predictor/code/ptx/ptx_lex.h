/*
 * PTX text as tokens. The lexer stands on one token; what it is, and its text,
 * are read from here. Comments and white space are passed over.
 */
#ifndef KC_PTX_LEX_H
#define KC_PTX_LEX_H

#include "predictor/code/container/refusal.h"

#include <stdint.h>

enum kc__token {
	KC__TOKEN_END,
	KC__TOKEN_WORD,    /* name, opcode, %register */
	KC__TOKEN_DOTTED,  /* .word; "::" may be inside. The text is without the dot */
	KC__TOKEN_INTEGER, /* .value */
	KC__TOKEN_FLOAT,   /* .value: the bits of a float or double */
	KC__TOKEN_STRING,
	KC__TOKEN_SIGN, /* .sign: one character */
};

struct kc__lexer {
	const char *bytes;
	size_t length, next;
	/* the token */
	uint32_t kind;
	size_t offset;
	const char *text;
	size_t text_length;
	int64_t value;
	char sign;
	struct kc_refusal *refusal;
};

/* 0; -EBADMSG: no token. */
int kc__lexer_start(struct kc__lexer *lexer, const char *bytes, size_t length, struct kc_refusal *refusal);
int kc__lexer_advance(struct kc__lexer *lexer);

int kc__lexer_is_sign(const struct kc__lexer *lexer, char sign);
int kc__lexer_is_dotted(const struct kc__lexer *lexer, const char *word);
/* Advances where it is this sign: 1, 0, negative. */
int kc__lexer_take_sign(struct kc__lexer *lexer, char sign);
/* It must be this sign. */
int kc__lexer_expect_sign(struct kc__lexer *lexer, char sign);
/* Past what follows up to and including this sign, brackets balanced. */
int kc__lexer_skip_past(struct kc__lexer *lexer, char sign);

int kc__lexer_unexpected(const struct kc__lexer *lexer, const char *expected);

#endif
