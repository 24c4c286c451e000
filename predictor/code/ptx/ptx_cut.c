#include "ptx_cut.h"

#include "ptx_lex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lz4.h>

#define FIRST_BYTES ((size_t)16 << 10)
#define FIRST_CALLEES 16u
#define ROUNDS_MAX 8u /* calls of calls that are looked for one by one; then all functions are parsed */

enum within { IN_CODE, IN_STRING, IN_LINE_COMMENT, IN_COMMENT };

void kc_ptx_cut_begin(struct kc_ptx_cut *cut, struct kc_ptx_wanted *wanted, uint32_t wanted_count, size_t limit_bytes)
{
	*cut =
	    (struct kc_ptx_cut){.wanted = wanted, .wanted_count = wanted_count, .limit_bytes = limit_bytes, .keeps = 1};
	cut->into = &cut->common;
	for (uint32_t i = 0; i < wanted_count; i++)
		wanted[i] = (struct kc_ptx_wanted){.name = wanted[i].name};
}

void kc_ptx_cut_begin_all(struct kc_ptx_cut *cut, struct kc_ptx_wanted *wanted, uint32_t max, size_t limit_bytes)
{
	kc_ptx_cut_begin(cut, wanted, 0, limit_bytes);
	cut->wanted_max = max;
	kc_arena_init(&cut->names, KC_PTX_CUT_NAMES_BYTES);
}

void kc_ptx_cut_free(struct kc_ptx_cut *cut)
{
	kc_arena_free(&cut->names);
	free(cut->common.bytes);
	free(cut->functions.bytes);
	free(cut->kernels.bytes);
	free(cut->callees);
	*cut = (struct kc_ptx_cut){0};
}

size_t kc_ptx_cut_bytes(const struct kc_ptx_cut *cut)
{
	return cut->common.capacity + cut->functions.capacity + cut->kernels.capacity +
	       cut->callee_capacity * sizeof(*cut->callees) + cut->names.held_bytes;
}

/* Room for so much more. 0; -ENOMEM: `to` would take more than limit_bytes. */
static int reserve(struct kc_ptx_text *to, size_t length, size_t limit_bytes)
{
	size_t needed = to->length + length, larger = to->capacity ? to->capacity : FIRST_BYTES;
	char *grown;

	if (needed > limit_bytes)
		return -ENOMEM;
	while (larger < needed)
		larger += larger / 2;
	larger = larger < limit_bytes ? larger : limit_bytes;
	if (needed > to->capacity) {
		grown = realloc(to->bytes, larger);
		if (!grown)
			return -ENOMEM;
		to->bytes = grown;
		to->capacity = larger;
	}
	return 0;
}

static int append(struct kc_ptx_text *to, const char *text, size_t length, size_t limit_bytes)
{
	int rc = reserve(to, length, limit_bytes);

	if (rc)
		return rc;
	if (length)
		memcpy(to->bytes + to->length, text, length);
	to->length += length;
	return 0;
}

/* Of what is being read; a part is kept for what all kernels need. */
static size_t room(const struct kc_ptx_cut *cut)
{
	size_t others = kc_ptx_cut_bytes(cut) - cut->into->capacity;
	size_t all = cut->kernel ? cut->limit_bytes / 4 * 3 : cut->limit_bytes;

	return all > others ? all - others : 0;
}

/* Keeps a part of what is being read. A kernel that does not fit is left out. */
static int keep(struct kc_ptx_cut *cut, const char *text, size_t length)
{
	if (!cut->keeps || !append(cut->into, text, length, room(cut)))
		return 0;
	if (!cut->kernel)
		return -ENOMEM;
	cut->kernel->no_room = 1;
	cut->keeps = 0;
	cut->kernels.length = cut->kernel->at;
	return 0;
}

static int begins_with(const char *text, size_t length, const char *word)
{
	size_t n = strlen(word);

	return length > n && !memcmp(text, word, n) && (unsigned char)text[n] <= ' ';
}

/* The declaration being read. */
static const char *declaration(const struct kc_ptx_cut *cut, size_t *length)
{
	*length = cut->common.length - cut->item;
	return cut->common.bytes ? cut->common.bytes + cut->item : "";
}

/* The length of the name behind .entry or .func; 0: the declaration has neither. */
static size_t function_name(const char *text, size_t length, const char **name, int *is_kernel)
{
	struct kc__lexer lexer;
	int rc = kc__lexer_start(&lexer, text, length, NULL);

	while (!rc && lexer.kind == KC__TOKEN_DOTTED && !kc__lexer_is_dotted(&lexer, "entry") &&
	       !kc__lexer_is_dotted(&lexer, "func"))
		rc = kc__lexer_advance(&lexer);
	if (rc || lexer.kind != KC__TOKEN_DOTTED)
		return 0;
	*is_kernel = kc__lexer_is_dotted(&lexer, "entry");
	rc = kc__lexer_advance(&lexer);
	if (!rc && !*is_kernel && kc__lexer_is_sign(&lexer, '(')) { /* what it returns */
		rc = kc__lexer_advance(&lexer);
		rc = rc ? rc : kc__lexer_skip_past(&lexer, ')');
	}
	if (rc || lexer.kind != KC__TOKEN_WORD)
		return 0;
	*name = lexer.text;
	return lexer.text_length;
}

static struct kc_ptx_wanted *wanted(const struct kc_ptx_cut *cut, const char *name, size_t length)
{
	for (uint32_t i = 0; i < cut->wanted_count; i++) {
		const char *other = cut->wanted[i].name;

		if (!strncmp(other, name, length) && !other[length])
			return &cut->wanted[i];
	}
	return NULL;
}

/* NULL: there is no room for one more. */
static struct kc_ptx_wanted *add(struct kc_ptx_cut *cut, const char *name, size_t length)
{
	const char *own = cut->wanted_count < cut->wanted_max ? kc_arena_text(&cut->names, name, length) : NULL;

	if (!own)
		return NULL;
	cut->wanted[cut->wanted_count] = (struct kc_ptx_wanted){.name = own};
	return &cut->wanted[cut->wanted_count++];
}

/* What has been read of the declaration belongs to the kernel. */
static int open_kernel(struct kc_ptx_cut *cut, struct kc_ptx_wanted *kernel)
{
	size_t length = cut->common.length - cut->item;

	kernel->found = 1;
	kernel->no_room = 0;
	kernel->at = cut->kernels.length;
	kernel->kept = 0;
	kernel->length = 0;
	kernel->offset = cut->item_offset;
	cut->kernel = kernel;
	cut->into = &cut->kernels;
	cut->common.length = cut->item;
	return keep(cut, cut->common.bytes + cut->item, length);
}

static int open_function(struct kc_ptx_cut *cut, const char *name, size_t name_length)
{
	uint32_t larger = cut->callee_capacity ? 2 * cut->callee_capacity : FIRST_CALLEES;
	size_t length = cut->common.length - cut->item;
	size_t more = (larger - cut->callee_capacity) * sizeof(*cut->callees);
	struct kc_ptx_callee *grown;

	if (cut->callee_count == cut->callee_capacity) {
		grown = kc_ptx_cut_bytes(cut) + more <= cut->limit_bytes
			    ? realloc(cut->callees, larger * sizeof(*grown))
			    : NULL;
		if (!grown)
			return -ENOMEM;
		cut->callees = grown;
		cut->callee_capacity = larger;
	}
	cut->callees[cut->callee_count++] = (struct kc_ptx_callee){
	    .at = cut->functions.length,
	    .name_at = cut->functions.length + (size_t)(name - (cut->common.bytes + cut->item)),
	    .name_length = name_length,
	};
	cut->into = &cut->functions;
	cut->common.length = cut->item;
	return keep(cut, cut->common.bytes + cut->item, length);
}

/* At the '{' of a function's body, of a section or of initial values. */
static int open_body(struct kc_ptx_cut *cut)
{
	size_t length, name_length;
	const char *text = declaration(cut, &length), *name = "";
	struct kc_ptx_wanted *kernel = NULL;
	int is_kernel = 0;

	name_length = cut->opened ? 0 : function_name(text, length, &name, &is_kernel);
	cut->opened = 1;
	cut->ends_with_brace = name_length || begins_with(text, length, ".section");
	if (name_length && !is_kernel)
		return open_function(cut, name, name_length);
	if (name_length)
		kernel = wanted(cut, name, name_length);
	if (name_length && !kernel)
		kernel = add(cut, name, name_length);
	if (kernel)
		return open_kernel(cut, kernel);
	cut->keeps = 0;
	if (cut->ends_with_brace)
		cut->common.length = cut->item;
	return 0;
}

static void begin_item(struct kc_ptx_cut *cut, size_t offset)
{
	cut->item = cut->common.length;
	cut->item_offset = offset;
	cut->into = &cut->common;
	cut->kernel = NULL;
	cut->keeps = 1;
	cut->opened = 0;
}

/* The kernel's text has ended, behind those of others. It is packed behind itself, and then moved to where it was;
 * without room for that, or where it does not become half as long, it stays as it is. */
static void close_kernel(struct kc_ptx_cut *cut)
{
	struct kc_ptx_wanted *kernel = cut->kernel;
	size_t length = cut->kernels.length - kernel->at;
	char *text;
	int made;

	kernel->kept = kernel->length = length;
	if (length > LZ4_MAX_INPUT_SIZE || reserve(&cut->kernels, length / 2, room(cut)))
		return;
	text = cut->kernels.bytes + kernel->at;
	made = LZ4_compress_default(text, text + length, (int)length, (int)(length / 2));
	if (made <= 0)
		return;
	memmove(text, text + length, (size_t)made);
	kernel->kept = (size_t)made;
	cut->kernels.length = kernel->at + kernel->kept;
}

/* At the '}' of a function's body, of a section or of initial values, which are left out. */
static int close_body(struct kc_ptx_cut *cut, size_t offset)
{
	if (cut->kernel && cut->keeps)
		close_kernel(cut);
	if (cut->into == &cut->functions)
		cut->callees[cut->callee_count - 1].length =
		    cut->functions.length - cut->callees[cut->callee_count - 1].at;
	if (cut->ends_with_brace) {
		begin_item(cut, offset);
		return 0;
	}
	cut->keeps = 1;
	return keep(cut, "{}", 2);
}

/* .version, .target, .address_size, .file and .loc end with the line; the last two are not needed. */
static void end_line(struct kc_ptx_cut *cut, size_t offset)
{
	size_t length;
	const char *text = declaration(cut, &length);
	int is_place = begins_with(text, length, ".file") || begins_with(text, length, ".loc");

	if (is_place)
		cut->common.length = cut->item;
	if (is_place || begins_with(text, length, ".version") || begins_with(text, length, ".target") ||
	    begins_with(text, length, ".address_size"))
		begin_item(cut, offset);
}

/* A character of the code that means something here. offset: behind it. */
static int take_sign(struct kc_ptx_cut *cut, char sign, size_t offset)
{
	int rc = 0;

	if (sign == '{') {
		if (!cut->depth++)
			rc = open_body(cut);
		return rc ? rc : keep(cut, "{", 1);
	}
	if (sign == '}') {
		rc = keep(cut, "}", 1);
		if (rc || !cut->depth || --cut->depth)
			return rc;
		return close_body(cut, offset);
	}
	rc = keep(cut, &sign, 1);
	if (!rc && sign == ';')
		begin_item(cut, offset);
	else if (!rc)
		end_line(cut, offset);
	return rc;
}

static int is_stop(const struct kc_ptx_cut *cut, char c)
{
	return c == '{' || c == '}' || c == '"' || c == '/' || (!cut->depth && (c == ';' || c == '\n'));
}

typedef uint8_t chars __attribute__((vector_size(16)));

static int any_of(chars found)
{
	uint64_t halves[2];

	memcpy(halves, &found, sizeof(halves));
	return (halves[0] | halves[1]) != 0;
}

/* The next such character, or the end. Nearly all of a library's text is bodies of kernels that are not wanted: of
 * these many characters are looked at together. */
static const char *next_stop(const struct kc_ptx_cut *cut, const char *p, const char *end)
{
	for (chars c; cut->depth && (size_t)(end - p) >= sizeof(c); p += sizeof(c)) {
		memcpy(&c, p, sizeof(c));
		if (any_of((chars)(c == '{') | (chars)(c == '}') | (chars)(c == '"') | (chars)(c == '/')))
			break;
	}
	while (p < end && !is_stop(cut, *p))
		p++;
	return p;
}

/* Before a declaration: nothing of it is kept, so that where it begins is known, and its first word found at once. */
static const char *skip_blanks(struct kc_ptx_cut *cut, const char *text, const char *at, const char *end)
{
	if (cut->depth || cut->common.length != cut->item)
		return at;
	while (at < end && (unsigned char)*at <= ' ')
		at++;
	cut->item_offset = cut->given + (size_t)(at - text);
	return at;
}

/* In code, up to the next character that means something. */
static int take_code(struct kc_ptx_cut *cut, const char *text, const char **at, const char *end)
{
	const char *from = skip_blanks(cut, text, *at, end), *p = from;
	int rc;

	p = next_stop(cut, p, end);
	rc = keep(cut, from, (size_t)(p - from));
	*at = p;
	if (rc || p == end)
		return rc;
	*at = p + 1;
	cut->after_slash = *p == '/';
	if (*p == '/')
		return 0;
	if (*p != '"')
		return take_sign(cut, *p, cut->given + (size_t)(*at - text));
	cut->within = IN_STRING;
	cut->after_backslash = 0;
	return keep(cut, p, 1);
}

/* The character behind a '/', which begins a comment or is a sign of its own. */
static int take_after_slash(struct kc_ptx_cut *cut, const char **at)
{
	size_t length;

	cut->after_slash = cut->after_star = 0;
	if (**at != '/' && **at != '*')
		return keep(cut, "/", 1);
	cut->within = **at == '/' ? IN_LINE_COMMENT : IN_COMMENT;
	++*at;
	declaration(cut, &length);
	cut->keeps_comment = cut->depth || length;
	return cut->keeps_comment ? keep(cut, cut->within == IN_COMMENT ? "/*" : "//", 2) : 0;
}

static int take_string(struct kc_ptx_cut *cut, const char **at)
{
	char c = *(*at)++;

	if (c == '"' && !cut->after_backslash)
		cut->within = IN_CODE;
	cut->after_backslash = c == '\\' && !cut->after_backslash;
	return keep(cut, &c, 1);
}

/* Comments between declarations are left out; those in one stay, so that its offsets do. A line comment ends before its
 * '\n'. */
static int take_comment(struct kc_ptx_cut *cut, const char **at, const char *end)
{
	const char *from = *at, *newline;

	if (cut->within == IN_LINE_COMMENT) {
		newline = memchr(from, '\n', (size_t)(end - from));
		*at = newline ? newline : end;
		cut->within = newline ? IN_CODE : IN_LINE_COMMENT;
	}
	while (*at < end && cut->within == IN_COMMENT) {
		char c = *(*at)++;

		if (c == '/' && cut->after_star)
			cut->within = IN_CODE;
		cut->after_star = c == '*';
	}
	return cut->keeps_comment ? keep(cut, from, (size_t)(*at - from)) : 0;
}

int kc_ptx_cut_feed(void *arg, const char *text, size_t length)
{
	struct kc_ptx_cut *cut = arg;
	const char *at = text, *end = text + length;
	int rc = 0;

	while (!rc && at < end) {
		if (cut->within == IN_STRING)
			rc = take_string(cut, &at);
		else if (cut->within != IN_CODE)
			rc = take_comment(cut, &at, end);
		else if (cut->after_slash)
			rc = take_after_slash(cut, &at);
		else
			rc = take_code(cut, text, &at, end);
	}
	cut->given += length;
	return rc;
}

void kc_ptx_cut_drop(struct kc_ptx_cut *cut, struct kc_ptx_wanted *kernel)
{
	struct kc_ptx_text *kernels = &cut->kernels;
	size_t at = kernel->at, length = kernel->kept;
	char *smaller;

	kernel->kept = 0;
	kernel->length = 0;
	kernel->found = 0;
	if (!length)
		return;
	kernels->length -= length;
	memmove(kernels->bytes + at, kernels->bytes + at + length, kernels->length - at);
	for (uint32_t i = 0; i < cut->wanted_count; i++)
		if (cut->wanted[i].at > at)
			cut->wanted[i].at -= length;
	smaller = realloc(kernels->bytes, kernels->length ? kernels->length : 1);
	if (!smaller)
		return;
	kernels->bytes = smaller;
	kernels->capacity = kernels->length ? kernels->length : 1;
}

/* Marks the functions of that name. Returns how many were not marked. */
static uint32_t mark_called(struct kc_ptx_cut *cut, const char *name)
{
	size_t length = strlen(name);
	uint32_t marked = 0;

	for (uint32_t i = 0; i < cut->callee_count; i++) {
		struct kc_ptx_callee *callee = &cut->callees[i];

		if (callee->called || length != callee->name_length ||
		    memcmp(cut->functions.bytes + callee->name_at, name, callee->name_length))
			continue;
		callee->called = 1;
		marked++;
	}
	return marked;
}

/* Marks the functions that are called in the module. Returns how many were not marked. */
static uint32_t mark_all_called(struct kc_ptx_cut *cut, const struct kc_ptx_module *module)
{
	uint32_t marked = 0;

	for (uint32_t f = 0; f < module->function_count; f++)
		for (uint32_t i = 0; i < module->functions[f].instruction_count; i++) {
			const struct kc_ptx_instruction *call = &module->functions[f].instructions[i];

			for (uint32_t n = 0; call->opcode == KC_PTX_CALL && n < call->operand_count; n++)
				if (call->operands[n].kind == KC_PTX_NAME)
					marked += mark_called(cut, call->operands[n].text);
		}
	return marked;
}

static int append_kernel(struct kc_ptx_text *to, const struct kc_ptx_cut *cut, const struct kc_ptx_wanted *kernel,
			 size_t limit_bytes)
{
	const char *kept = cut->kernels.bytes + kernel->at;
	int rc;

	if (kernel->kept == kernel->length)
		return append(to, kept, kernel->length, limit_bytes);
	rc = reserve(to, kernel->length, limit_bytes);
	if (rc)
		return rc;
	if (LZ4_decompress_safe(kept, to->bytes + to->length, (int)kernel->kept, (int)kernel->length) !=
	    (int)kernel->length)
		return -ENOMEM;
	to->length += kernel->length;
	return 0;
}

/* The declarations, the functions that are marked, and the kernel. */
static int put_together(struct kc_ptx_cut *cut, const struct kc_ptx_wanted *kernel, size_t limit_bytes)
{
	int rc = 0;

	cut->common.length = cut->item; /* without what follows the last declaration, such as a NUL */
	for (uint32_t i = 0; !rc && i < cut->callee_count; i++)
		if (cut->callees[i].called)
			rc = append(&cut->common, cut->functions.bytes + cut->callees[i].at, cut->callees[i].length,
				    limit_bytes);
	return rc ? rc : append_kernel(&cut->common, cut, kernel, limit_bytes);
}

int kc_ptx_cut_parse(struct kc_ptx_cut *cut, const struct kc_ptx_wanted *kernel, struct kc_ptx_module *module,
		     size_t memory_bytes, struct kc_refusal *refusal)
{
	size_t most = cut->common.capacity + memory_bytes, before;
	uint32_t marked, rounds = 0;
	int rc = 0;

	*module = (struct kc_ptx_module){0};
	for (uint32_t i = 0; i < cut->callee_count; i++)
		cut->callees[i].called = 0;
	do {
		kc_ptx_free(module);
		before = cut->common.capacity;
		rc = put_together(cut, kernel, most);
		if (rc)
			kc__refuse(refusal, kernel->offset, "the kernel needs more memory than is allowed");
		memory_bytes -= cut->common.capacity - before;
		rc = rc ? rc : kc_ptx_parse(module, cut->common.bytes, cut->common.length, memory_bytes, refusal);
		marked = rc ? 0 : mark_all_called(cut, module);
		for (uint32_t i = 0; marked && rounds == ROUNDS_MAX && i < cut->callee_count; i++)
			cut->callees[i].called = 1;
	} while (marked && rounds++ <= ROUNDS_MAX);
	if (rc == -EBADMSG && refusal)
		refusal->offset = kc_ptx_cut_offset(cut, kernel, refusal->offset);
	return rc;
}

const char *kc_ptx_cut_text(const struct kc_ptx_cut *cut, size_t *length)
{
	*length = cut->common.length;
	return cut->common.bytes;
}

size_t kc_ptx_cut_offset(const struct kc_ptx_cut *cut, const struct kc_ptx_wanted *kernel, size_t offset)
{
	size_t begin = cut->common.length - kernel->length;

	return kernel->offset + (offset > begin ? offset - begin : 0);
}
