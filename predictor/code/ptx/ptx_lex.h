/*
 * PTX text as tokens. The lexer holds the current token. Comments and white space
 * are skipped.
 */
#ifndef KC_PTX_LEX_H
#define KC_PTX_LEX_H

#include "predictor/code/container/refusal.h"

#include <stdint.h>

enum kc__token {
	KC__TOKEN_END,
	KC__TOKEN_WORD,    /* name, opcode, %register */
	KC__TOKEN_DOTTED,  /* .word, which may contain "::"; the text is without the dot */
	KC__TOKEN_INTEGER, /* .value */
	KC__TOKEN_FLOAT,   /* .value: the bits of a float or double */
	KC__TOKEN_STRING,
	KC__TOKEN_SIGN, /* .sign: one character */
};

struct kc__lexer {
	const char *bytes;
	size_t length, next;
	/* the current token */
	uint32_t kind;
	size_t offset;
	const char *text;
	size_t text_length;
	int64_t value;
	char sign;
	struct kc_refusal *refusal;
};

/* 0; -EBADMSG: what follows is no token. */
int kc__lexer_start(struct kc__lexer *lexer, const char *bytes, size_t length, struct kc_refusal *refusal);
int kc__lexer_advance(struct kc__lexer *lexer);

int kc__lexer_is_sign(const struct kc__lexer *lexer, char sign);
int kc__lexer_is_dotted(const struct kc__lexer *lexer, const char *word);
/* Advances past this sign if it is the current token: 1; 0: it is not; -EBADMSG. */
int kc__lexer_take_sign(struct kc__lexer *lexer, char sign);
/* Advances past this sign. 0; -EBADMSG if it is not the current token. */
int kc__lexer_expect_sign(struct kc__lexer *lexer, char sign);
/* Advances past the next such sign outside of brackets. 0, -EBADMSG */
int kc__lexer_skip_past(struct kc__lexer *lexer, char sign);

/* Refuses the current token. -EBADMSG */
int kc__lexer_unexpected(const struct kc__lexer *lexer, const char *expected);

#endif
