#include "ptx_lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64u /* characters */
#define NESTING_MAX 64u

static int is_digit(int c)
{
	return c >= '0' && c <= '9';
}

/* PTX ISA, "Identifiers" */
static int is_word(int c)
{
	return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}

static int at(const struct kc__lexer *lexer, size_t ahead)
{
	return lexer->next + ahead < lexer->length ? (unsigned char)lexer->bytes[lexer->next + ahead] : 0;
}

static int skip_comment(struct kc__lexer *lexer)
{
	size_t start = lexer->next;

	if (at(lexer, 1) == '/') {
		const char *end = memchr(lexer->bytes + start, '\n', lexer->length - start);

		lexer->next = end ? (size_t)(end - lexer->bytes) : lexer->length;
		return 0;
	}
	for (lexer->next += 2; lexer->next < lexer->length; lexer->next++) {
		if (at(lexer, 0) == '*' && at(lexer, 1) == '/') {
			lexer->next += 2;
			return 0;
		}
	}
	return kc__refuse(lexer->refusal, start, "a comment does not end");
}

static int skip_space(struct kc__lexer *lexer)
{
	while (lexer->next < lexer->length) {
		int c = at(lexer, 0), rc;

		if (c == '/' && (at(lexer, 1) == '/' || at(lexer, 1) == '*')) {
			rc = skip_comment(lexer);
			if (rc)
				return rc;
		} else if (c == ' ' || (c >= '\t' && c <= '\r')) {
			lexer->next++;
		} else {
			break;
		}
	}
	/* The length may include the NUL that ends the text. */
	if (lexer->next < lexer->length && !at(lexer, 0))
		lexer->length = lexer->next;
	return 0;
}

static void take_word(struct kc__lexer *lexer)
{
	lexer->text = lexer->bytes + lexer->next;
	while (is_word(at(lexer, 0)) || (lexer->kind == KC__TOKEN_DOTTED && at(lexer, 0) == ':' && at(lexer, 1) == ':'))
		lexer->next += at(lexer, 0) == ':' ? 2 : 1;
	lexer->text_length = (size_t)(lexer->bytes + lexer->next - lexer->text);
}

static int take_string(struct kc__lexer *lexer)
{
	const char *start = lexer->bytes + lexer->next + 1;
	const char *end = memchr(start, '"', lexer->length - lexer->next - 1);

	if (!end)
		return kc__refuse(lexer->refusal, lexer->offset, "a string does not end");
	lexer->kind = KC__TOKEN_STRING;
	lexer->text = start;
	lexer->text_length = (size_t)(end - start);
	lexer->next = (size_t)(end + 1 - lexer->bytes);
	return 0;
}

/* Characters of a number: digits, letters, a decimal point, the sign of an exponent. */
static size_t number_length(const struct kc__lexer *lexer, int *is_decimal_float)
{
	int hex = at(lexer, 0) == '0' && at(lexer, 1) && strchr("xXfFdD", at(lexer, 1));
	size_t n = 0;

	*is_decimal_float = 0;
	for (;; n++) {
		int c = at(lexer, n), before = n ? at(lexer, n - 1) : 0;

		if (!hex && (c == '.' || ((c == '+' || c == '-') && (before == 'e' || before == 'E'))))
			*is_decimal_float = 1;
		else if (!is_word(c))
			return n;
		else if (!hex && (c == 'e' || c == 'E'))
			*is_decimal_float = 1;
	}
}

static int take_number(struct kc__lexer *lexer)
{
	char digits[NUMBER_MAX], *end;
	int is_float;
	size_t length = number_length(lexer, &is_float);
	double decimal;

	if (length >= sizeof(digits))
		return kc__refuse(lexer->refusal, lexer->offset, "a number of %zu characters is too long", length);
	memcpy(digits, lexer->bytes + lexer->next, length);
	digits[length] = '\0';
	lexer->next += length;
	lexer->kind = KC__TOKEN_INTEGER;
	errno = 0;
	if (digits[0] == '0' && length > 2 && strchr("fFdD", digits[1])) {
		lexer->kind = KC__TOKEN_FLOAT;
		lexer->value = (int64_t)strtoull(digits + 2, &end, 16);
	} else if (is_float) {
		lexer->kind = KC__TOKEN_FLOAT;
		decimal = strtod(digits, &end);
		memcpy(&lexer->value, &decimal, sizeof(decimal));
	} else if (digits[0] == '0' && (digits[1] == 'b' || digits[1] == 'B')) {
		lexer->value = (int64_t)strtoull(digits + 2, &end, 2);
	} else {
		lexer->value = (int64_t)strtoull(digits, &end, 0);
	}
	if (*end == 'U')
		end++;
	if (*end || errno)
		return kc__refuse(lexer->refusal, lexer->offset, "\"%.40s\" is not a number", digits);
	return 0;
}

int kc__lexer_advance(struct kc__lexer *lexer)
{
	int rc = skip_space(lexer), c;

	if (rc)
		return rc;
	c = at(lexer, 0);
	lexer->offset = lexer->next;
	lexer->text = lexer->bytes + lexer->next;
	lexer->text_length = 0;
	if (lexer->next >= lexer->length) {
		lexer->kind = KC__TOKEN_END;
	} else if (is_digit(c)) {
		return take_number(lexer);
	} else if (is_word(c)) {
		lexer->kind = KC__TOKEN_WORD;
		take_word(lexer);
	} else if (c == '.' && is_word(at(lexer, 1))) {
		lexer->kind = KC__TOKEN_DOTTED;
		lexer->next++;
		take_word(lexer);
	} else if (c == '"') {
		return take_string(lexer);
	} else if (c > ' ' && c < 127) {
		lexer->kind = KC__TOKEN_SIGN;
		lexer->sign = (char)c;
		lexer->text_length = 1;
		lexer->next++;
	} else {
		return kc__refuse(lexer->refusal, lexer->offset, "byte 0x%02x is not PTX", (unsigned)c);
	}
	return 0;
}

int kc__lexer_start(struct kc__lexer *lexer, const char *bytes, size_t length, struct kc_refusal *refusal)
{
	*lexer = (struct kc__lexer){.bytes = bytes, .length = length, .refusal = refusal};
	return kc__lexer_advance(lexer);
}

int kc__lexer_is_sign(const struct kc__lexer *lexer, char sign)
{
	return lexer->kind == KC__TOKEN_SIGN && lexer->sign == sign;
}

int kc__lexer_is_dotted(const struct kc__lexer *lexer, const char *word)
{
	return lexer->kind == KC__TOKEN_DOTTED && strlen(word) == lexer->text_length &&
	       !memcmp(word, lexer->text, lexer->text_length);
}

int kc__lexer_take_sign(struct kc__lexer *lexer, char sign)
{
	int rc;

	if (!kc__lexer_is_sign(lexer, sign))
		return 0;
	rc = kc__lexer_advance(lexer);
	return rc ? rc : 1;
}

int kc__lexer_expect_sign(struct kc__lexer *lexer, char sign)
{
	char expected[] = {'\'', sign, '\'', '\0'};

	if (!kc__lexer_is_sign(lexer, sign))
		return kc__lexer_unexpected(lexer, expected);
	return kc__lexer_advance(lexer);
}

int kc__lexer_skip_past(struct kc__lexer *lexer, char sign)
{
	size_t start = lexer->offset;
	unsigned depth = 0;
	int rc = 0;

	for (; !rc && lexer->kind != KC__TOKEN_END; rc = kc__lexer_advance(lexer)) {
		if (lexer->kind != KC__TOKEN_SIGN)
			continue;
		if (!depth && lexer->sign == sign)
			return kc__lexer_advance(lexer);
		if (strchr("{[(", lexer->sign) && ++depth > NESTING_MAX)
			return kc__refuse(lexer->refusal, lexer->offset, "brackets nested too deeply");
		if (strchr("}])", lexer->sign) && depth-- == 0)
			return kc__lexer_unexpected(lexer, "the end of a statement");
	}
	return rc ? rc : kc__refuse(lexer->refusal, start, "the text ends before '%c'", sign);
}

int kc__lexer_unexpected(const struct kc__lexer *lexer, const char *expected)
{
	int shown = (int)(lexer->text_length < 40 ? lexer->text_length : 40);

	if (lexer->kind == KC__TOKEN_END)
		return kc__refuse(lexer->refusal, lexer->offset, "the text ends where %s was expected", expected);
	if (lexer->kind == KC__TOKEN_INTEGER || lexer->kind == KC__TOKEN_FLOAT)
		return kc__refuse(lexer->refusal, lexer->offset, "a number where %s was expected", expected);
	return kc__refuse(lexer->refusal, lexer->offset, "\"%.*s\" where %s was expected", shown, lexer->text,
			  expected);
}
