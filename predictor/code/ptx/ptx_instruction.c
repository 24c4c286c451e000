#include "ptx_parser.h"

#include <string.h>

#define UNRESOLVED UINT32_MAX /* a target whose scope has not ended */

static const struct kc__ptx_modifier compares[] = {
    {"eq", KC_PTX_EQ},   {"ne", KC_PTX_NE},   {"lt", KC_PTX_LT},   {"le", KC_PTX_LE},   {"gt", KC_PTX_GT},
    {"ge", KC_PTX_GE},   {"lo", KC_PTX_LO},   {"ls", KC_PTX_LS},   {"hi", KC_PTX_HI},   {"hs", KC_PTX_HS},
    {"equ", KC_PTX_EQU}, {"neu", KC_PTX_NEU}, {"ltu", KC_PTX_LTU}, {"leu", KC_PTX_LEU}, {"gtu", KC_PTX_GTU},
    {"geu", KC_PTX_GEU}, {"num", KC_PTX_NUM}, {"nan", KC_PTX_NAN},
};

static const struct kc__ptx_modifier flags[] = {
    {"wide", KC_PTX_WIDE},    {"hi", KC_PTX_HIGH},   {"and", KC_PTX_BOOL_AND},  {"or", KC_PTX_BOOL_OR},
    {"xor", KC_PTX_BOOL_XOR}, {"bulk", KC_PTX_BULK}, {"sat", KC_PTX_SATURATES}, {"ftz", KC_PTX_FLUSHES},
};

static const struct kc__ptx_modifier vectors[] = {{"v2", 2}, {"v4", 4}, {"v8", 8}};

static const char *const opcode_names[] = {[KC_PTX_OTHER] = "",
#define X(constant, spelling) [KC_PTX_##constant] = spelling,
					   KC_PTX_OPCODES(X)
#undef X
};

static uint32_t opcode_named(const char *text, size_t length)
{
	for (uint32_t i = 1; i < KC_PTX_OPCODE_COUNT; i++)
		if (opcode_names[i][0] == text[0] && strlen(opcode_names[i]) == length &&
		    !memcmp(opcode_names[i], text, length))
			return i;
	return KC_PTX_OTHER;
}

static int compares_values(uint32_t opcode)
{
	return opcode == KC_PTX_SETP || opcode == KC_PTX_SET;
}

static int waits(const char *text, size_t length)
{
	return (length == 4 && (!memcmp(text, "sync", 4) || !memcmp(text, "wait", 4))) ||
	       (length == 3 && !memcmp(text, "red", 3));
}

/* "shared::cta" is shared memory; "L1::evict_last" and the like do not matter. */
static void modify(struct kc_ptx_instruction *i, const char *text, size_t length)
{
	const char *colons = memchr(text, ':', length);
	size_t word = colons ? (size_t)(colons - text) : length;
	uint32_t value;

	if ((value = kc__ptx_type_named(text, length))) {
		if (!i->type)
			i->type = (uint8_t)value;
		else if (!i->type2)
			i->type2 = (uint8_t)value;
	} else if (compares_values(i->opcode) && (value = KC__PTX_LOOK_UP(compares, text, length))) {
		i->compare = (uint8_t)value;
	} else if ((value = kc__ptx_space_named(text, word))) {
		i->space = i->space ? i->space : (uint8_t)value;
	} else if ((value = KC__PTX_LOOK_UP(vectors, text, length))) {
		i->vector = (uint8_t)value;
	} else {
		i->flags |= KC__PTX_LOOK_UP(flags, text, length);
		if ((i->opcode == KC_PTX_BAR || i->opcode == KC_PTX_BARRIER) && waits(text, length))
			i->flags |= KC_PTX_WAITS;
	}
}

/* How many of the first operands are written. */
static uint8_t results_of(const struct kc_ptx_instruction *i, const struct kc_ptx_operand *operands,
			  uint32_t alternates)
{
	switch (i->opcode) {
	case KC_PTX_ST:
	case KC_PTX_RED:
	case KC_PTX_BRA:
	case KC_PTX_BRX:
	case KC_PTX_RET:
	case KC_PTX_EXIT:
	case KC_PTX_MEMBAR:
	case KC_PTX_FENCE:
	case KC_PTX_PREFETCH:
	case KC_PTX_TRAP:
	case KC_PTX_NANOSLEEP:
	case KC_PTX_CP:
	case KC_PTX_SUST:
	case KC_PTX_STMATRIX:
		return 0;
	case KC_PTX_BAR:
	case KC_PTX_BARRIER:
		return i->type && i->operand_count && operands[0].kind == KC_PTX_REGISTER;
	case KC_PTX_CALL:
		return i->operand_count > 1 && operands[0].kind == KC_PTX_VECTOR;
	default:
		if (!i->operand_count || (operands[0].kind != KC_PTX_REGISTER && operands[0].kind != KC_PTX_VECTOR &&
					  operands[0].kind != KC_PTX_OPERAND_NONE))
			return 0;
		return (uint8_t)(1 + alternates);
	}
}

/* Each spelling is kept once. */
static const char *keep(struct kc__parser *parser, const char *text, size_t length)
{
	const struct kc__name *known = kc__names_find(&parser->spellings, text, length);
	const char *copy;

	if (known)
		return known->text;
	copy = kc_arena_text(&parser->module->arena, text, length);
	if (!copy || kc__names_add(&parser->spellings, copy, length, 0, 0, 0))
		return NULL;
	return copy;
}

static int read_opcode(struct kc__parser *parser, struct kc_ptx_instruction *i)
{
	struct kc__lexer *lexer = &parser->lexer;
	const char *start = lexer->text;
	size_t length = lexer->text_length;
	int rc;

	if (lexer->kind != KC__TOKEN_WORD)
		return kc__lexer_unexpected(lexer, "an instruction");
	i->opcode = (uint16_t)opcode_named(lexer->text, lexer->text_length);
	i->vector = 1;
	while (!(rc = kc__lexer_advance(lexer)) && lexer->kind == KC__TOKEN_DOTTED) {
		modify(i, lexer->text, lexer->text_length);
		length = (size_t)(lexer->text + lexer->text_length - start);
	}
	i->spelling = rc ? NULL : keep(parser, start, length);
	return rc ? rc : i->spelling ? 0 : kc__ptx_no_memory(parser);
}

static int read_guard(struct kc__parser *parser, struct kc_ptx_instruction *i)
{
	struct kc__lexer *lexer = &parser->lexer;
	int rc = kc__lexer_take_sign(lexer, '@');

	i->guard = KC_PTX_NO_REGISTER;
	if (rc <= 0)
		return rc;
	rc = kc__lexer_take_sign(lexer, '!');
	if (rc < 0)
		return rc;
	i->guard_negated = (uint8_t)rc;
	if (lexer->kind != KC__TOKEN_WORD ||
	    kc__names_register(&parser->names, lexer->text, lexer->text_length, &i->guard))
		return kc__lexer_unexpected(lexer, "a predicate");
	return kc__lexer_advance(lexer);
}

/* "d|p" is two results. */
static int read_operands(struct kc__parser *parser, struct kc_ptx_instruction *i)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct kc_ptx_operand operands[KC_PTX_OPERANDS_MAX];
	uint32_t count = 0, alternates = 0;
	int rc = 0;

	while (!kc__lexer_is_sign(lexer, ';')) {
		if (count == KC_PTX_OPERANDS_MAX)
			return kc__refuse(lexer->refusal, lexer->offset, "more than %u operands", count);
		rc = kc__ptx_operand(parser, &operands[count++]);
		if (!rc && kc__lexer_is_sign(lexer, '|')) {
			alternates++;
			rc = kc__lexer_advance(lexer);
		} else if (!rc && !kc__lexer_is_sign(lexer, ';')) {
			rc = kc__lexer_expect_sign(lexer, ',');
		}
		if (rc)
			return rc;
	}
	i->operand_count = (uint8_t)count;
	i->results = results_of(i, operands, alternates);
	i->operands = kc_arena_array(&parser->module->arena, count, sizeof(*operands));
	if (!i->operands)
		return kc__ptx_no_memory(parser);
	memcpy(i->operands, operands, count * sizeof(*operands));
	return kc__lexer_advance(lexer);
}

int kc__ptx_instruction(struct kc__parser *parser)
{
	struct kc_ptx_function *function = parser->function;
	struct kc_ptx_instruction instruction = {.offset = (uint32_t)parser->lexer.offset, .target = UNRESOLVED};
	int rc = kc__ptx_grow(parser, &function->instructions, function->instruction_count,
			      &parser->capacity.instructions, sizeof(instruction));

	rc = rc ? rc : read_guard(parser, &instruction);
	rc = rc ? rc : read_opcode(parser, &instruction);
	rc = rc ? rc : read_operands(parser, &instruction);
	if (!rc)
		function->instructions[function->instruction_count++] = instruction;
	return rc;
}

/* NULL: it is not in the scope that ends; in the function's own, that is all there is. */
static const struct kc__name *name_here(const struct kc__parser *parser, const char *text, uint32_t kind)
{
	const struct kc__name *name = text ? kc__names_find(&parser->labels, text, strlen(text)) : NULL;

	return name && name->kind == kind && name->depth == parser->labels.depth ? name : NULL;
}

static int is_outermost(const struct kc__parser *parser)
{
	return parser->labels.depth == 1;
}

static int resolve_branch(struct kc__parser *parser, struct kc_ptx_instruction *i)
{
	const char *text = i->operand_count ? i->operands[0].text : NULL;
	const struct kc__name *label = name_here(parser, text, KC__NAME_LABEL);

	if (label)
		i->target = label->number;
	else if (is_outermost(parser))
		return kc__refuse(parser->lexer.refusal, i->offset, "a branch to %.40s, which is no label",
				  text ? text : "what");
	return 0;
}

/* A list of targets is in the scope of its labels. */
static int resolve_list(struct kc__parser *parser, struct kc_ptx_instruction *i)
{
	const char *text = i->operand_count > 1 ? i->operands[1].text : NULL;
	const struct kc__name *name = name_here(parser, text, KC__NAME_TARGETS);
	const struct kc__target_list *list = name ? &parser->lists[name->number] : NULL;
	uint32_t *targets;

	if (!list)
		return is_outermost(parser)
			   ? kc__refuse(parser->lexer.refusal, i->offset, "brx.idx without a list of targets")
			   : 0;
	targets = kc_arena_array(&parser->module->arena, list->count, sizeof(*targets));
	if (!targets)
		return kc__ptx_no_memory(parser);
	for (uint32_t t = 0; t < list->count; t++) {
		const struct kc__name *label = name_here(parser, list->labels[t], KC__NAME_LABEL);

		if (!label)
			return kc__refuse(parser->lexer.refusal, i->offset, "a branch to %.40s, which is no label",
					  list->labels[t]);
		targets[t] = label->number;
	}
	i->targets = targets;
	i->target_count = list->count;
	return 0;
}

int kc__ptx_resolve(struct kc__parser *parser, uint32_t first)
{
	const struct kc_ptx_function *function = parser->function;
	int rc = 0;

	for (uint32_t n = first; n < function->instruction_count && !rc; n++) {
		struct kc_ptx_instruction *i = &function->instructions[n];

		if (i->opcode == KC_PTX_BRA && i->target == UNRESOLVED)
			rc = resolve_branch(parser, i);
		else if (i->opcode == KC_PTX_BRX && !i->targets)
			rc = resolve_list(parser, i);
	}
	return rc;
}
