#include "ptx.h"

#include "ptx_parser.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NEWEST_MAJOR 9u /* PTX ISA version */

const struct kc_ptx_variable *kc_ptx_symbol(const struct kc_ptx_module *module, const struct kc_ptx_function *function,
					    uint32_t number)
{
	return number & KC_PTX_LOCAL_SYMBOL ? &function->locals[number & ~KC_PTX_LOCAL_SYMBOL]
					    : &module->variables[number];
}

/* For directives that end with the line: .loc 1 12 3, function_name …, inlined_at … */
static int skip_line(struct kc__lexer *lexer)
{
	const char *end = memchr(lexer->bytes + lexer->offset, '\n', lexer->length - lexer->offset);

	lexer->next = end ? (size_t)(end - lexer->bytes) : lexer->length;
	return kc__lexer_advance(lexer);
}

static int is_line(const struct kc__lexer *lexer)
{
	return kc__lexer_is_dotted(lexer, "loc") || kc__lexer_is_dotted(lexer, "file") ||
	       kc__lexer_is_dotted(lexer, "version") || kc__lexer_is_dotted(lexer, "target") ||
	       kc__lexer_is_dotted(lexer, "address_size");
}

static int read_directive(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	uint32_t space = kc__ptx_space(lexer);
	int is_register = kc__lexer_is_dotted(lexer, "reg"), rc;

	if (is_line(lexer))
		return skip_line(lexer);
	if (!is_register && !space)
		return kc__lexer_skip_past(lexer, ';');
	rc = kc__lexer_advance(lexer);
	if (rc)
		return rc;
	return is_register ? kc__ptx_registers(parser) : kc__ptx_variables(parser, space);
}

/* Reads what begins with a word: a label, a label with its list (such as .branchtargets), or an instruction. */
static int read_word(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer, before = *lexer;
	int rc = kc__lexer_advance(lexer);

	if (rc)
		return rc;
	if (!kc__lexer_is_sign(lexer, ':')) {
		*lexer = before;
		return kc__ptx_instruction(parser);
	}
	rc = kc__lexer_advance(lexer);
	if (!rc && kc__lexer_is_dotted(lexer, "branchtargets"))
		return kc__ptx_targets(parser, before.text, before.text_length);
	if (!rc && (kc__lexer_is_dotted(lexer, "callprototype") || kc__lexer_is_dotted(lexer, "calltargets")))
		return kc__lexer_skip_past(lexer, ';');
	return rc ? rc
		  : kc__ptx_declare(parser, &parser->labels, before.text, before.text_length, KC__NAME_LABEL,
				    parser->function->instruction_count, 1);
}

static int enter_scope(struct kc__parser *parser)
{
	int rc = kc__names_enter(&parser->names);

	rc = rc ? rc : kc__names_enter(&parser->labels);
	if (rc == -E2BIG)
		return kc__refuse(parser->lexer.refusal, parser->lexer.offset, "blocks nested too deeply");
	return rc ? kc__ptx_no_memory(parser) : 0;
}

static void leave_scope(struct kc__parser *parser)
{
	kc__names_leave(&parser->labels);
	kc__names_leave(&parser->names);
}

/* From '{' to the '}' that closes it. */
static int read_body(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	uint32_t begins[KC__SCOPES_MAX] = {0}; /* the first instruction of each scope */
	unsigned depth = 1;
	int rc = kc__lexer_advance(lexer);

	while (!rc && depth) {
		if (kc__lexer_is_sign(lexer, '{')) {
			rc = enter_scope(parser);
			begins[depth++] = parser->function->instruction_count;
			rc = rc ? rc : kc__lexer_advance(lexer);
		} else if (kc__lexer_is_sign(lexer, '}')) {
			rc = kc__ptx_resolve(parser, begins[--depth]);
			if (depth)
				leave_scope(parser);
			rc = rc ? rc : kc__lexer_advance(lexer);
		} else if (kc__lexer_is_sign(lexer, ';')) {
			rc = kc__lexer_advance(lexer);
		} else if (lexer->kind == KC__TOKEN_DOTTED) {
			rc = read_directive(parser);
		} else if (lexer->kind == KC__TOKEN_WORD) {
			rc = read_word(parser);
		} else if (kc__lexer_is_sign(lexer, '@')) {
			rc = kc__ptx_instruction(parser);
		} else {
			rc = kc__lexer_unexpected(lexer, "an instruction");
		}
	}
	return rc;
}

/* .maxntid 256, 1, 1 */
static int read_threads(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	uint64_t n;
	int rc = kc__lexer_advance(lexer), more = 1;

	for (unsigned i = 0; i < 3 && !rc && more; i++) {
		rc = kc__ptx_integer(lexer, UINT32_MAX, &n);
		if (rc)
			return rc;
		parser->function->max_threads[i] = (uint32_t)n;
		more = kc__lexer_take_sign(lexer, ',');
		rc = more < 0 ? more : 0;
	}
	return rc;
}

/* Directives between the parameters and the body, or the ';' of a declaration. */
static int read_attributes(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	int rc = 0;

	while (!rc && !kc__lexer_is_sign(lexer, '{') && !kc__lexer_is_sign(lexer, ';')) {
		if (lexer->kind == KC__TOKEN_END || lexer->kind == KC__TOKEN_WORD)
			return kc__lexer_unexpected(lexer, "a function's body");
		if (kc__lexer_is_dotted(lexer, "reqntid") || kc__lexer_is_dotted(lexer, "reqnctapercluster") ||
		    kc__lexer_is_dotted(lexer, "explicitcluster"))
			parser->function->is_shape_required = 1;
		if (kc__lexer_is_dotted(lexer, "maxntid") || kc__lexer_is_dotted(lexer, "reqntid"))
			rc = read_threads(parser);
		else if (kc__lexer_is_dotted(lexer, "pragma"))
			rc = kc__lexer_skip_past(lexer, ';');
		else
			rc = kc__lexer_advance(lexer);
	}
	return rc;
}

static int read_signature(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct kc_ptx_function *function = parser->function;
	const char *text;
	size_t length;
	int rc = 0;

	if (!function->is_entry && kc__lexer_is_sign(lexer, '('))
		rc = kc__ptx_params(parser, 1);
	rc = rc ? rc : kc__ptx_name(lexer, &text, &length);
	if (rc)
		return rc;
	function->name = kc_arena_text(&parser->module->arena, text, length);
	if (!function->name)
		return kc__ptx_no_memory(parser);
	return kc__lexer_is_sign(lexer, '(') ? kc__ptx_params(parser, 0) : 0;
}

/* .entry or .func; after the directive. */
static int read_function(struct kc__parser *parser, int is_entry)
{
	struct kc_ptx_module *module = parser->module;
	struct kc_ptx_function function = {.is_entry = (uint8_t)is_entry, .offset = (uint32_t)parser->lexer.offset};
	struct kc__capacity *capacity = &parser->capacity;
	int rc =
	    kc__ptx_grow(parser, &module->functions, module->function_count, &capacity->functions, sizeof(function));

	capacity->params = capacity->registers = capacity->locals = capacity->instructions = capacity->lists = 0;
	parser->list_count = 0;
	rc = rc ? rc : enter_scope(parser);
	if (rc)
		return rc;
	parser->function = &function;
	rc = read_signature(parser);
	rc = rc ? rc : read_attributes(parser);
	function.has_body = !rc && kc__lexer_is_sign(&parser->lexer, '{');
	if (!rc)
		rc = function.has_body ? read_body(parser) : kc__lexer_advance(&parser->lexer);
	parser->function = NULL;
	if (rc)
		return rc;
	leave_scope(parser);
	module->functions[module->function_count++] = function;
	return 0;
}

/* .target sm_90a, … */
static int read_target(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	int rc = kc__lexer_advance(lexer);

	if (rc)
		return rc;
	if (lexer->kind != KC__TOKEN_WORD || lexer->text_length < 4 || memcmp(lexer->text, "sm_", 3))
		return kc__lexer_unexpected(lexer, "a target architecture");
	for (size_t i = 3; i < lexer->text_length && lexer->text[i] >= '0' && lexer->text[i] <= '9' && i < 8; i++)
		parser->module->target = parser->module->target * 10 + (uint32_t)(lexer->text[i] - '0');
	return skip_line(lexer);
}

/* .version 9.0, which the lexer reads as a decimal fraction. */
static int read_version(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	struct kc_ptx_module *module = parser->module;
	size_t offset;
	char text[16] = "", *minor;
	int rc =
	    kc__lexer_is_dotted(lexer, "version") ? kc__lexer_advance(lexer) : kc__lexer_unexpected(lexer, ".version");

	if (rc)
		return rc;
	offset = lexer->offset;
	memcpy(text, lexer->bytes + offset,
	       lexer->length - offset < sizeof(text) - 1 ? lexer->length - offset : sizeof(text) - 1);
	module->version_major = (uint32_t)strtoul(text, &minor, 10);
	if (minor == text || *minor != '.')
		return kc__refuse(lexer->refusal, offset, "not a PTX version");
	module->version_minor = (uint32_t)strtoul(minor + 1, NULL, 10);
	if (module->version_major > NEWEST_MAJOR)
		return kc__refuse(lexer->refusal, offset, "PTX version %u.%u is newer than %u.x", module->version_major,
				  module->version_minor, NEWEST_MAJOR);
	return kc__lexer_advance(lexer);
}

static int read_top(struct kc__parser *parser)
{
	struct kc__lexer *lexer = &parser->lexer;
	uint32_t space = kc__ptx_space(lexer);
	int is_entry = kc__lexer_is_dotted(lexer, "entry"), is_function = kc__lexer_is_dotted(lexer, "func"), rc;

	if (kc__lexer_is_dotted(lexer, "target"))
		return read_target(parser);
	if (is_line(lexer))
		return skip_line(lexer);
	if (kc__lexer_is_dotted(lexer, "visible") || kc__lexer_is_dotted(lexer, "extern") ||
	    kc__lexer_is_dotted(lexer, "weak") || kc__lexer_is_dotted(lexer, "common") ||
	    kc__lexer_is_dotted(lexer, "noreturn"))
		return kc__lexer_advance(lexer);
	if (kc__lexer_is_dotted(lexer, "section")) {
		rc = kc__lexer_skip_past(lexer, '{');
		return rc ? rc : kc__lexer_skip_past(lexer, '}');
	}
	if (lexer->kind != KC__TOKEN_DOTTED && !kc__lexer_is_sign(lexer, ';'))
		return kc__lexer_unexpected(lexer, "a declaration");
	if (!is_entry && !is_function && !space)
		return kc__lexer_skip_past(lexer, ';');
	rc = kc__lexer_advance(lexer);
	if (rc)
		return rc;
	return space ? kc__ptx_variables(parser, space) : read_function(parser, is_entry);
}

static int parse(struct kc__parser *parser, const char *text, size_t length, struct kc_refusal *refusal)
{
	int rc;

	if (length > UINT32_MAX)
		return kc__refuse(refusal, 0, "more than 4 GiB of text");
	rc = kc__lexer_start(&parser->lexer, text, length, refusal);
	rc = rc ? rc : read_version(parser);
	while (!rc && parser->lexer.kind != KC__TOKEN_END)
		rc = read_top(parser);
	return rc;
}

int kc_ptx_parse(struct kc_ptx_module *module, const char *text, size_t length, size_t memory_bytes,
		 struct kc_refusal *refusal)
{
	struct kc__parser parser = {.module = module};
	int rc;

	*module = (struct kc_ptx_module){0};
	kc_arena_init(&module->arena, memory_bytes);
	rc = kc__names_init(&parser.names, memory_bytes);
	rc = rc ? rc : kc__names_init(&parser.labels, memory_bytes);
	rc = rc ? rc : kc__names_init(&parser.spellings, memory_bytes);
	rc = rc ? rc : parse(&parser, text, length, refusal);
	kc__names_free(&parser.names);
	kc__names_free(&parser.labels);
	kc__names_free(&parser.spellings);
	if (rc)
		kc_ptx_free(module);
	return rc;
}

void kc_ptx_free(struct kc_ptx_module *module)
{
	kc_arena_free(&module->arena);
	*module = (struct kc_ptx_module){0};
}

int kc_ptx_next_entry(const char *text, size_t length, size_t *at, const char **name, size_t *name_length)
{
	static const char entry[] = ".entry";
	const char *found;

	while ((found = memmem(text + *at, length - *at, entry, strlen(entry)))) {
		struct kc__lexer lexer;

		*at = (size_t)(found - text) + strlen(entry);
		if (kc__lexer_start(&lexer, text + *at, length - *at, NULL) || lexer.kind != KC__TOKEN_WORD)
			continue;
		*name = lexer.text;
		*name_length = lexer.text_length;
		return 1;
	}
	return 0;
}

const struct kc_ptx_function *kc_ptx_find(const struct kc_ptx_module *module, const char *name)
{
	for (uint32_t i = 0; i < module->function_count; i++)
		if (module->functions[i].has_body && !strcmp(module->functions[i].name, name))
			return &module->functions[i];
	return NULL;
}
