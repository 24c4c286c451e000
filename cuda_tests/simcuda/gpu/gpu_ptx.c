/*
 * PTX text: entries with their parameters and resources, module variables.
 * Registers are decided by ptxas and unknown here; .maxnreg or DEFAULT_REGISTERS.
 */
#include "gpu_image.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_REGISTERS 32

struct reader {
	struct sim_code *code;
	const char *at, *end;
	uint32_t target; /* 75 for sm_75 */
};

/* One declaration, such as ".align 4 .b8 name[128]". */
struct declaration {
	uint32_t align, element_bytes;
	uint64_t count;
	const char *name;
	size_t length;
	int managed;
};

static const char *blank_comments(const char *text, size_t bytes, size_t *length)
{
	char *out = malloc(bytes + 1);
	size_t i = 0, n = 0;

	if (!out)
		return NULL;
	bytes = strnlen(text, bytes);
	while (i < bytes) {
		if (!strncmp(text + i, "//", 2)) {
			while (i < bytes && text[i] != '\n')
				i++;
		} else if (!strncmp(text + i, "/*", 2)) {
			const char *end = strstr(text + i + 2, "*/");

			i = end ? (size_t)(end + 2 - text) : bytes;
			out[n++] = ' ';
		} else {
			out[n++] = text[i++];
		}
	}
	out[n] = '\0';
	*length = n;
	return out;
}

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || c == '%';
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end && isspace((unsigned char)*r->at))
		r->at++;
}

/* Reads the next word or single character. Returns 0 at the end. */
static size_t next_token(struct reader *r, const char **token)
{
	skip_space(r);
	*token = r->at;
	if (r->at >= r->end)
		return 0;
	if (!is_word(*r->at)) {
		r->at++;
		return 1;
	}
	while (r->at < r->end && is_word(*r->at))
		r->at++;
	return r->at - *token;
}

static int is(const char *token, size_t length, const char *text)
{
	return strlen(text) == length && !strncmp(token, text, length);
}

static uint64_t next_number(struct reader *r)
{
	const char *token;

	return next_token(r, &token) ? strtoull(token, NULL, 0) : 0;
}

/* Bytes of ".u32", ".b8", ".f64", …; 0: the word is no type. */
static uint32_t type_bytes(const char *token, size_t length)
{
	static const char letters[] = "busf";
	char *end;
	unsigned long bits;

	if (length < 3 || token[0] != '.' || !strchr(letters, token[1]) || !isdigit((unsigned char)token[2]))
		return 0;
	bits = strtoul(token + 2, &end, 10);
	return end == token + length && bits % 8 == 0 ? bits / 8 : 0;
}

/* "(.managed)" after .attribute; 1: managed. */
static int read_attribute(struct reader *r)
{
	const char *token;
	size_t length;
	int managed = 0;

	while ((length = next_token(r, &token)) && *token != ')')
		managed |= is(token, length, ".managed");
	return managed;
}

/* Reads up to the "," ")" ";" or "=" that ends the declaration and leaves that character unread. */
static int read_declaration(struct reader *r, struct declaration *d)
{
	const char *token;
	size_t length;

	int pointee = 0; /* ".ptr .global .align 16": the alignment is that of the memory it points to */

	memset(d, 0, sizeof(*d));
	d->count = 1;
	for (;;) {
		skip_space(r);
		if (r->at >= r->end || strchr(",);={", *r->at))
			break;
		length = next_token(r, &token);
		if (is(token, length, ".align") && pointee)
			next_number(r);
		else if (is(token, length, ".align"))
			d->align = next_number(r);
		else if (is(token, length, ".ptr"))
			pointee = 1;
		else if (is(token, length, ".attribute"))
			d->managed |= read_attribute(r);
		else if (is(token, length, "["))
			d->count *= next_number(r);
		else if (type_bytes(token, length))
			d->element_bytes = type_bytes(token, length);
		else if (token[0] != '.' && is_word(token[0]) && d->element_bytes) {
			d->name = token;
			d->length = length;
		}
	}
	if (!d->align)
		d->align = d->element_bytes;
	return d->name != NULL;
}

static int read_params(struct reader *r, struct sim_kernel *kernel)
{
	struct declaration d;
	uint32_t ordinal = 0, offset = 0;

	while (r->at < r->end && *r->at != ')') {
		if (read_declaration(r, &d)) {
			offset = (offset + d.align - 1) / d.align * d.align;
			if (!sim_kernel_set_param(kernel, ordinal++, offset, d.element_bytes * d.count))
				return 0;
			offset += d.element_bytes * d.count;
		}
		if (r->at < r->end && *r->at != ')')
			r->at++;
	}
	return 1;
}

static void read_directives(struct reader *r, struct sim_kernel *kernel)
{
	const char *token;
	size_t length;

	for (skip_space(r); r->at < r->end && *r->at != '{' && *r->at != ';'; skip_space(r)) {
		length = next_token(r, &token);
		if (is(token, length, ".maxnreg")) {
			kernel->registers = next_number(r);
		} else if (is(token, length, ".maxntid") || is(token, length, ".reqntid")) {
			kernel->max_threads = next_number(r);
			for (skip_space(r); r->at < r->end && *r->at == ','; skip_space(r)) {
				r->at++;
				kernel->max_threads *= next_number(r);
			}
		}
	}
}

/* Skips a body, up to the brace that closes it. */
static void read_body(struct reader *r, struct sim_kernel *kernel)
{
	struct declaration d;
	const char *token;
	size_t length;
	int depth = 0;

	while ((length = next_token(r, &token))) {
		uint32_t *bytes = NULL;

		if (*token == '{')
			depth++;
		else if (*token == '}' && --depth == 0)
			return;
		else if (is(token, length, ".shared"))
			bytes = &kernel->static_shared_bytes;
		else if (is(token, length, ".local"))
			bytes = &kernel->local_bytes;
		if (bytes && read_declaration(r, &d))
			*bytes = (*bytes + d.align - 1) / d.align * d.align + d.element_bytes * d.count;
	}
}

static int read_entry(struct reader *r)
{
	struct sim_kernel *kernel;
	const char *name;
	size_t length = next_token(r, &name);

	kernel = length ? sim_code_add_kernel(r->code, name, length) : NULL;
	if (!kernel)
		return 0;
	kernel->ptx_version = r->target;
	skip_space(r);
	if (r->at < r->end && *r->at == '(') {
		r->at++;
		if (!read_params(r, kernel))
			return 0;
		r->at++;
	}
	read_directives(r, kernel);
	if (!kernel->registers)
		kernel->registers = DEFAULT_REGISTERS;
	read_body(r, kernel);
	return 1;
}

/* "= {1, 2, 0f3F800000}" or "= 7": only literals are read, addresses stay zero. */
static void read_values(struct reader *r, const struct declaration *d, struct sim_global *global)
{
	uint64_t bytes = global->bytes, at = 0, value;
	uint8_t *out = calloc(1, bytes ? bytes : 1);
	const char *token;
	size_t length;

	global->initial = out;
	while (out && r->at < r->end && *r->at != ';') {
		int negative;

		length = next_token(r, &token);
		negative = is(token, length, "-");
		if (negative)
			length = next_token(r, &token);
		if (!length || !isdigit((unsigned char)*token) || at + d->element_bytes > bytes)
			continue;
		if (length > 2 && token[0] == '0' && strchr("fFdD", token[1]))
			value = strtoull(token + 2, NULL, 16);
		else
			value = strtoull(token, NULL, 0);
		value = negative ? -value : value;
		memcpy(out + at, &value, d->element_bytes < 8 ? d->element_bytes : 8);
		at += d->element_bytes;
		skip_space(r);
	}
}

static int read_variable(struct reader *r)
{
	struct declaration d;
	struct sim_global *global;

	if (!read_declaration(r, &d))
		return 1;
	global = sim_code_add_global(r->code, d.name, d.length, d.element_bytes * d.count);
	if (!global)
		return 0;
	global->managed = d.managed;
	skip_space(r);
	if (r->at < r->end && *r->at == '=')
		read_values(r, &d, global);
	return 1;
}

static void skip_function(struct reader *r)
{
	struct sim_kernel nowhere = {0};

	while (r->at < r->end && *r->at != '{' && *r->at != ';')
		r->at++;
	if (r->at < r->end && *r->at == '{')
		read_body(r, &nowhere);
}

static int read_module(struct reader *r)
{
	const char *token;
	size_t length;
	int external = 0, ok = 1, versioned = 0;

	while (ok && (length = next_token(r, &token))) {
		if (is(token, length, ".version")) {
			versioned = 1;
		} else if (is(token, length, ".target")) {
			length = next_token(r, &token);
			r->target = length > 3 ? strtoul(token + 3, NULL, 10) : 0;
		} else if (is(token, length, ".entry")) {
			ok = read_entry(r);
		} else if (is(token, length, ".func")) {
			skip_function(r);
		} else if (is(token, length, ".extern")) {
			external = 1;
			continue;
		} else if (is(token, length, ".global") || is(token, length, ".const")) {
			ok = external || read_variable(r);
		}
		external = 0;
	}
	return ok && versioned;
}

int sim_ptx_read(struct sim_code *code, const char *text, size_t bytes)
{
	size_t length;
	const char *plain = blank_comments(text, bytes, &length);
	struct reader reader = {.code = code, .at = plain, .end = plain + (plain ? length : 0)};
	int ok;

	if (!plain)
		return 0;
	ok = read_module(&reader);
	free((void *)plain);
	return ok;
}
