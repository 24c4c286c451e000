#include "ptx_parser.h"

#include <string.h>

#define REGISTERS_MAX (1u << 20)
#define VARIABLE_BYTES_MAX ((uint64_t)1 << 40)

int kc__ptx_integer(struct kc__lexer *lexer, uint64_t max, uint64_t *value)
{
	if (lexer->kind != KC__TOKEN_INTEGER)
		return kc__lexer_unexpected(lexer, "a number");
	if ((uint64_t)lexer->value > max)
		return kc__refuse(lexer->refusal, lexer->offset, "%llu is too large here",
				  (unsigned long long)lexer->value);
	*value = (uint64_t)lexer->value;
	return kc__lexer_advance(lexer);
}

/* Attributes before the name of a variable or parameter. */
struct declared {
	uint32_t type, align_bytes, vector;
};

static int read_declared(struct kc__lexer *lexer, struct declared *d)
{
	uint64_t align = 0;
	int points = 0, rc = 0;

	*d = (struct declared){.vector = 1};
	while (!rc && lexer->kind == KC__TOKEN_DOTTED) {
		uint32_t type = kc__ptx_type_named(lexer->text, lexer->text_length);
		int aligned = kc__lexer_is_dotted(lexer, "align");

		d->type = d->type ? d->type : type;
		if (kc__lexer_is_dotted(lexer, "v2") || kc__lexer_is_dotted(lexer, "v4"))
			d->vector = (uint32_t)(lexer->text[1] - '0');
		points |= kc__lexer_is_dotted(lexer, "ptr"); /* what follows describes the memory it points to */
		rc = kc__lexer_advance(lexer);
		if (!rc && aligned) {
			rc = kc__ptx_integer(lexer, 1u << 16, &align);
			d->align_bytes = rc || points ? d->align_bytes : (uint32_t)align;
			if (!rc && (align & (align - 1)))
				return kc__refuse(lexer->refusal, lexer->offset,
						  "an alignment of %llu bytes is not a power of 2",
						  (unsigned long long)align);
		} else if (!rc && kc__lexer_is_sign(lexer, '(')) { /* .attribute(…) */
			rc = kc__lexer_advance(lexer);
			rc = rc ? rc : kc__lexer_skip_past(lexer, ')');
		}
	}
	if (!rc && !d->type)
		return kc__lexer_unexpected(lexer, "a type");
	if (!d->align_bytes)
		d->align_bytes = kc_ptx_type_bytes(d->type) * d->vector;
	d->align_bytes = d->align_bytes ? d->align_bytes : 1;
	return rc;
}

/* [4][5] after a name: number of elements; 0 for []. */
static int read_extent(struct kc__lexer *lexer, uint64_t *elements, int *is_array)
{
	uint64_t n = 0;
	int rc = 0;

	*elements = 1;
	*is_array = 0;
	while (!rc && kc__lexer_is_sign(lexer, '[')) {
		*is_array = 1;
		rc = kc__lexer_advance(lexer);
		if (!rc && kc__lexer_is_sign(lexer, ']')) {
			*elements = 0;
		} else if (!rc) {
			rc = kc__ptx_integer(lexer, VARIABLE_BYTES_MAX, &n);
			if (!rc && (__builtin_mul_overflow(*elements, n, elements) || *elements > VARIABLE_BYTES_MAX))
				return kc__refuse(lexer->refusal, lexer->offset, "an array too large");
		}
		rc = rc ? rc : kc__lexer_expect_sign(lexer, ']');
	}
	return rc;
}

int kc__ptx_name(struct kc__lexer *lexer, const char **text, size_t *length)
{
	*text = lexer->text;
	*length = lexer->text_length;
	if (lexer->kind != KC__TOKEN_WORD)
		return kc__lexer_unexpected(lexer, "a name");
	return kc__lexer_advance(lexer);
}

static int add_variable(struct kc__parser *parser, const struct kc_ptx_variable *variable, const char *text,
			size_t length)
{
	struct kc_ptx_function *function = parser->function;
	struct kc_ptx_variable copy = *variable;
	uint32_t number;
	int rc;

	copy.name = kc_arena_text(&parser->module->arena, text, length);
	if (!copy.name)
		return kc__ptx_no_memory(parser);
	if (function) {
		rc = kc__ptx_grow(parser, &function->locals, function->local_count, &parser->capacity.locals,
				  sizeof(copy));
		number = function->local_count | KC_PTX_LOCAL_SYMBOL;
		if (!rc)
			function->locals[function->local_count++] = copy;
		if (copy.space == KC_PTX_SHARED)
			function->static_shared_bytes += copy.bytes;
	} else {
		rc = kc__ptx_grow(parser, &parser->module->variables, parser->module->variable_count,
				  &parser->capacity.variables, sizeof(copy));
		number = parser->module->variable_count;
		if (!rc)
			parser->module->variables[parser->module->variable_count++] = copy;
	}
	return rc ? rc : kc__ptx_declare(parser, &parser->names, text, length, KC__NAME_SYMBOL, number, 1);
}

int kc__ptx_variables(struct kc__parser *parser, uint32_t space)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct declared d;
	int rc = read_declared(lexer, &d), is_array;

	while (!rc) {
		struct kc_ptx_variable variable = {
		    .space = (uint8_t)space, .type = (uint8_t)d.type, .align_bytes = d.align_bytes};
		const char *text;
		size_t length;
		uint64_t elements;

		rc = kc__ptx_name(lexer, &text, &length);
		rc = rc ? rc : read_extent(lexer, &elements, &is_array);
		if (rc)
			return rc;
		variable.bytes = elements * kc_ptx_type_bytes(d.type) * d.vector;
		rc = add_variable(parser, &variable, text, length);
		if (!rc && kc__lexer_is_sign(lexer, '='))
			return kc__lexer_skip_past(lexer, ';');
		if (!rc && !kc__lexer_is_sign(lexer, ','))
			return kc__lexer_expect_sign(lexer, ';');
		rc = rc ? rc : kc__lexer_advance(lexer);
	}
	return rc;
}

/* Parameters are laid out like the members of a struct. */
static int add_param(struct kc__parser *parser, const struct declared *d, const char *text, size_t length,
		     uint64_t elements, int is_array)
{
	struct kc_ptx_function *function = parser->function;
	struct kc_ptx_param param = {.type = (uint8_t)d->type, .is_array = (uint8_t)is_array};
	const struct kc_ptx_param *last;
	uint64_t end = 0, bytes = elements * kc_ptx_type_bytes(d->type) * d->vector;
	int rc =
	    kc__ptx_grow(parser, &function->params, function->param_count, &parser->capacity.params, sizeof(param));

	if (rc)
		return rc;
	if (function->param_count) {
		last = &function->params[function->param_count - 1];
		end = (uint64_t)last->offset_bytes + last->bytes;
	}
	end = (end + d->align_bytes - 1) / d->align_bytes * d->align_bytes;
	if (bytes > UINT32_MAX / 2 || end + bytes > UINT32_MAX / 2)
		return kc__refuse(parser->lexer.refusal, parser->lexer.offset, "parameters too large");
	param.align_bytes = d->align_bytes;
	param.offset_bytes = (uint32_t)end;
	param.bytes = (uint32_t)bytes;
	param.name = kc_arena_text(&parser->module->arena, text, length);
	if (!param.name)
		return kc__ptx_no_memory(parser);
	function->params[function->param_count] = param;
	return kc__ptx_declare(parser, &parser->names, text, length, KC__NAME_PARAM, function->param_count++, 1);
}

int kc__ptx_params(struct kc__parser *parser, int returned)
{
	struct kc__lexer *lexer = &parser->lexer;
	int rc = kc__lexer_expect_sign(lexer, '('), is_array;

	while (!rc && !kc__lexer_is_sign(lexer, ')')) {
		struct kc_ptx_variable variable = {.space = KC_PTX_PARAM};
		struct declared d;
		const char *text;
		size_t length;
		uint64_t elements;

		rc = read_declared(lexer, &d);
		rc = rc ? rc : kc__ptx_name(lexer, &text, &length);
		rc = rc ? rc : read_extent(lexer, &elements, &is_array);
		if (rc)
			return rc;
		variable.type = (uint8_t)d.type;
		variable.align_bytes = d.align_bytes;
		rc = returned ? add_variable(parser, &variable, text, length)
			      : add_param(parser, &d, text, length, elements, is_array);
		if (!rc && !kc__lexer_is_sign(lexer, ')'))
			rc = kc__lexer_expect_sign(lexer, ',');
	}
	return rc ? rc : kc__lexer_expect_sign(lexer, ')');
}

static int add_registers(struct kc__parser *parser, const struct declared *d, const char *text, size_t length,
			 uint32_t count, int is_range)
{
	struct kc_ptx_function *function = parser->function;

	if (count > REGISTERS_MAX - function->register_count)
		return kc__refuse(parser->lexer.refusal, parser->lexer.offset, "more than %u registers", REGISTERS_MAX);
	for (uint32_t i = 0; i < count; i++) {
		int rc = kc__ptx_grow(parser, &function->register_types, function->register_count + i,
				      &parser->capacity.registers, sizeof(*function->register_types));

		if (rc)
			return rc;
		function->register_types[function->register_count + i] = (uint8_t)d->type;
	}
	function->register_count += count;
	return kc__ptx_declare(parser, &parser->names, text, length, is_range ? KC__NAME_REGISTERS : KC__NAME_REGISTER,
			       function->register_count - count, count);
}

int kc__ptx_registers(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct declared d;
	int rc = read_declared(lexer, &d);

	while (!rc) {
		const char *text;
		size_t length;
		uint64_t count = 1;
		int is_range;

		rc = kc__ptx_name(lexer, &text, &length);
		is_range = rc ? rc : kc__lexer_take_sign(lexer, '<');
		if (is_range < 0)
			return is_range;
		if (is_range) {
			rc = kc__ptx_integer(lexer, REGISTERS_MAX, &count);
			rc = rc ? rc : kc__lexer_expect_sign(lexer, '>');
		}
		rc = rc ? rc : add_registers(parser, &d, text, length, (uint32_t)count, is_range);
		if (!rc && !kc__lexer_is_sign(lexer, ','))
			return kc__lexer_expect_sign(lexer, ';');
		rc = rc ? rc : kc__lexer_advance(lexer);
	}
	return rc;
}

int kc__ptx_targets(struct kc__parser *parser, const char *text, size_t length)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct kc__target_list list = {0};
	uint32_t capacity = 0;
	int rc = kc__ptx_grow(parser, &parser->lists, parser->list_count, &parser->capacity.lists, sizeof(list));

	rc = rc ? rc : kc__lexer_advance(lexer);
	while (!rc) {
		const char *label;
		size_t label_length;

		rc = kc__ptx_name(lexer, &label, &label_length);
		rc = rc ? rc : kc__ptx_grow(parser, &list.labels, list.count, &capacity, sizeof(*list.labels));
		if (rc)
			return rc;
		list.labels[list.count] = kc_arena_text(&parser->module->arena, label, label_length);
		if (!list.labels[list.count++])
			return kc__ptx_no_memory(parser);
		if (!kc__lexer_is_sign(lexer, ','))
			break;
		rc = kc__lexer_advance(lexer);
	}
	if (rc)
		return rc;
	parser->lists[parser->list_count] = list;
	rc = kc__ptx_declare(parser, &parser->labels, text, length, KC__NAME_TARGETS, parser->list_count++, 1);
	return rc ? rc : kc__lexer_expect_sign(lexer, ';');
}

uint32_t kc__ptx_space(const struct kc__lexer *lexer)
{
	return lexer->kind == KC__TOKEN_DOTTED ? kc__ptx_space_named(lexer->text, lexer->text_length) : KC_PTX_GENERIC;
}
