#include "ptx_parser.h"

#include <string.h>

#define ELEMENTS_MAX 255u

struct special {
	const char *word, *part;
	uint32_t number;
};

/* PTX ISA, "Special Registers" */
static const struct special specials[] = {
    {"%tid", "x", KC_PTX_TID_X},
    {"%tid", "y", KC_PTX_TID_Y},
    {"%tid", "z", KC_PTX_TID_Z},
    {"%ntid", "x", KC_PTX_NTID_X},
    {"%ntid", "y", KC_PTX_NTID_Y},
    {"%ntid", "z", KC_PTX_NTID_Z},
    {"%ctaid", "x", KC_PTX_CTAID_X},
    {"%ctaid", "y", KC_PTX_CTAID_Y},
    {"%ctaid", "z", KC_PTX_CTAID_Z},
    {"%nctaid", "x", KC_PTX_NCTAID_X},
    {"%nctaid", "y", KC_PTX_NCTAID_Y},
    {"%nctaid", "z", KC_PTX_NCTAID_Z},
    {"%laneid", "", KC_PTX_LANEID},
    {"%warpid", "", KC_PTX_WARPID},
    {"%nwarpid", "", KC_PTX_NWARPID},
    {"WARP_SZ", "", KC_PTX_WARP_SIZE},
    {"%lanemask_eq", "", KC_PTX_LANEMASK_EQ},
    {"%lanemask_le", "", KC_PTX_LANEMASK_LE},
    {"%lanemask_lt", "", KC_PTX_LANEMASK_LT},
    {"%lanemask_ge", "", KC_PTX_LANEMASK_GE},
    {"%lanemask_gt", "", KC_PTX_LANEMASK_GT},
};

static int is(const char *text, size_t length, const char *word)
{
	return strlen(word) == length && !memcmp(text, word, length);
}

/* Begins after the word. */
static int special(struct kc__parser *parser, const char *text, size_t length, struct kc_ptx_operand *operand)
{
	struct kc__lexer *lexer = &parser->lexer;
	int dotted = lexer->kind == KC__TOKEN_DOTTED;

	operand->kind = KC_PTX_SPECIAL;
	operand->number = KC_PTX_SPECIAL_OTHER;
	for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
		const struct special *s = &specials[i];

		if (is(text, length, s->word) && (dotted ? kc__lexer_is_dotted(lexer, s->part) : !*s->part))
			operand->number = s->number;
	}
	return dotted ? kc__lexer_advance(lexer) : 0;
}

static int text_of(struct kc__parser *parser, const char *text, size_t length, struct kc_ptx_operand *operand)
{
	operand->kind = KC_PTX_NAME;
	operand->text = kc_arena_text(&parser->module->arena, text, length);
	return operand->text ? 0 : kc__ptx_no_memory(parser);
}

/* A register, variable, parameter, special register or other name. */
static int named(struct kc__parser *parser, struct kc_ptx_operand *operand)
{
	struct kc__lexer *lexer = &parser->lexer;
	const char *text = lexer->text;
	size_t length = lexer->text_length;
	const struct kc__name *name = kc__names_find(&parser->names, text, length);
	int rc = kc__lexer_advance(lexer);

	if (rc)
		return rc;
	if (name && (name->kind == KC__NAME_SYMBOL || name->kind == KC__NAME_PARAM)) {
		operand->kind = KC_PTX_SYMBOL;
		operand->base = name->kind == KC__NAME_PARAM ? KC_PTX_BASE_PARAM : KC_PTX_BASE_SYMBOL;
		operand->number = name->number;
		return 0;
	}
	if (!kc__names_register(&parser->names, text, length, &operand->number)) {
		operand->kind = KC_PTX_REGISTER;
		operand->base = KC_PTX_BASE_REGISTER;
		return 0;
	}
	if (text[0] == '%' || is(text, length, "WARP_SZ"))
		return special(parser, text, length, operand);
	return text_of(parser, text, length, operand);
}

static int number(struct kc__parser *parser, struct kc_ptx_operand *operand, int negative)
{
	struct kc__lexer *lexer = &parser->lexer;

	if (lexer->kind != KC__TOKEN_INTEGER && lexer->kind != KC__TOKEN_FLOAT)
		return kc__lexer_unexpected(lexer, "a number");
	operand->kind = lexer->kind == KC__TOKEN_FLOAT ? KC_PTX_FLOAT : KC_PTX_INTEGER;
	operand->value = negative ? (int64_t)(0 - (uint64_t)lexer->value) : lexer->value;
	return kc__lexer_advance(lexer);
}

/* + 4, - 4, +-4 after a base */
static int displacement(struct kc__parser *parser, struct kc_ptx_operand *operand)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct kc_ptx_operand by = {0};
	int plus, minus, rc;

	plus = kc__lexer_take_sign(lexer, '+');
	minus = plus < 0 ? plus : kc__lexer_take_sign(lexer, '-');
	if (plus < 0 || minus < 0)
		return plus < 0 ? plus : minus;
	if (!plus && !minus)
		return 0;
	rc = number(parser, &by, minus);
	operand->value = by.value;
	return rc;
}

/* A[5], the address of an element, as mov takes it. Of an array of vectors, ptxas (CUDA 13.0) counts components. */
static int element(struct kc__parser *parser, struct kc_ptx_operand *operand)
{
	struct kc__lexer *lexer = &parser->lexer;
	const struct kc_ptx_variable *array = kc_ptx_symbol(parser->module, parser->function, operand->number);
	uint64_t index;
	int rc = kc__lexer_advance(lexer);

	rc = rc ? rc : kc__ptx_integer(lexer, UINT32_MAX, &index);
	if (rc)
		return rc;
	operand->value = (int64_t)(index * kc_ptx_type_bytes(array->type));
	return kc__lexer_expect_sign(lexer, ']');
}

static int address(struct kc__parser *parser, struct kc_ptx_operand *operand)
{
	struct kc__lexer *lexer = &parser->lexer;
	int rc = kc__lexer_advance(lexer);

	if (!rc && lexer->kind == KC__TOKEN_WORD) {
		rc = named(parser, operand);
		if (!rc && operand->kind != KC_PTX_SYMBOL && operand->kind != KC_PTX_REGISTER)
			rc = kc__lexer_unexpected(lexer, "a known name in an address before this");
		rc = rc ? rc : displacement(parser, operand);
	} else if (!rc) {
		int minus = kc__lexer_take_sign(lexer, '-');

		rc = minus < 0 ? minus : number(parser, operand, minus);
		operand->base = KC_PTX_BASE_NUMBER;
	}
	operand->kind = KC_PTX_ADDRESS;
	/* Coordinates in a texture or tensor may follow. */
	return rc ? rc : kc__lexer_skip_past(lexer, ']');
}

static int list(struct kc__parser *parser, struct kc_ptx_operand *operand, char close)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct kc_ptx_operand elements[ELEMENTS_MAX], *kept;
	uint32_t count = 0;
	int rc = kc__lexer_advance(lexer);

	while (!rc && !kc__lexer_is_sign(lexer, close)) {
		if (count == ELEMENTS_MAX)
			return kc__refuse(lexer->refusal, lexer->offset, "more than %u operands in a list", count);
		if (kc__lexer_is_sign(lexer, '{') || kc__lexer_is_sign(lexer, '('))
			return kc__lexer_unexpected(lexer, "an operand that is no list");
		rc = kc__ptx_operand(parser, &elements[count++]);
		if (!rc && !kc__lexer_is_sign(lexer, close))
			rc = kc__lexer_expect_sign(lexer, ',');
	}
	if (rc)
		return rc;
	kept = kc_arena_array(&parser->module->arena, count, sizeof(*kept));
	if (!kept)
		return kc__ptx_no_memory(parser);
	memcpy(kept, elements, count * sizeof(*kept));
	*operand = (struct kc_ptx_operand){.kind = KC_PTX_VECTOR, .count = (uint8_t)count, .elements = kept};
	return kc__lexer_advance(lexer);
}

int kc__ptx_operand(struct kc__parser *parser, struct kc_ptx_operand *operand)
{
	struct kc__lexer *lexer = &parser->lexer;
	int rc;

	*operand = (struct kc_ptx_operand){0};
	if (kc__lexer_is_sign(lexer, '['))
		return address(parser, operand);
	if (kc__lexer_is_sign(lexer, '{'))
		return list(parser, operand, '}');
	if (kc__lexer_is_sign(lexer, '('))
		return list(parser, operand, ')');
	if (kc__lexer_is_sign(lexer, '-')) {
		rc = kc__lexer_advance(lexer);
		return rc ? rc : number(parser, operand, 1);
	}
	rc = kc__lexer_take_sign(lexer, '!');
	if (rc < 0)
		return rc;
	operand->negated = (uint8_t)rc;
	if (lexer->kind != KC__TOKEN_WORD)
		return number(parser, operand, 0);
	if (is(lexer->text, lexer->text_length, "_"))
		return kc__lexer_advance(lexer);
	rc = named(parser, operand);
	if (rc || operand->kind != KC_PTX_SYMBOL)
		return rc;
	if (operand->base == KC_PTX_BASE_SYMBOL && kc__lexer_is_sign(lexer, '['))
		return element(parser, operand);
	return displacement(parser, operand);
}
