#include "demangle_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_MAX 100000u /* of characters in one name */

void kc__reader_init(struct kc__reader *r, const char *mangled)
{
	r->at = mangled;
	r->end = mangled + strlen(mangled);
	r->failed = 0;
	r->depth = 0;
	r->used = 0;
	r->substitution_count = 0;
	r->argument_count = 0;
	r->own = (struct kc__arguments){0};
	r->pack_element = -1;
	r->pack_size = 0;
	r->ends_in_arguments = r->is_const = r->is_structor = 0;
}

struct kc__text kc__fail(struct kc__reader *r)
{
	r->failed = 1;
	r->at = r->end;
	return (struct kc__text){0};
}

char kc__peek(const struct kc__reader *r)
{
	return r->at < r->end ? *r->at : 0;
}

int kc__take(struct kc__reader *r, char c)
{
	if (r->at >= r->end || *r->at != c)
		return 0;
	r->at++;
	return 1;
}

int kc__take_string(struct kc__reader *r, const char *string)
{
	size_t length = strlen(string);

	if ((size_t)(r->end - r->at) < length || strncmp(r->at, string, length))
		return 0;
	r->at += length;
	return 1;
}

size_t kc__mangled_number(struct kc__reader *r)
{
	size_t value = 0;

	if (!isdigit((unsigned char)kc__peek(r)))
		kc__fail(r);
	while (isdigit((unsigned char)kc__peek(r)) && value < NUMBER_MAX)
		value = value * 10 + (size_t)(*r->at++ - '0');
	return value;
}

struct kc__text kc__copy(struct kc__reader *r, const char *bytes, size_t length)
{
	struct kc__text text = {.start = (uint32_t)r->used, .length = (uint32_t)length, .split = (uint32_t)length};

	if (r->failed || length > sizeof(r->arena) - r->used)
		return kc__fail(r);
	memmove(r->arena + r->used, bytes, length);
	r->used += length;
	return text;
}

struct kc__text kc__literal(struct kc__reader *r, const char *string)
{
	return kc__copy(r, string, strlen(string));
}

static struct kc__text append_bytes(struct kc__reader *r, struct kc__text a, const char *bytes, size_t length)
{
	if (a.start + a.length != r->used)
		a = kc__copy(r, r->arena + a.start, a.length);
	kc__copy(r, bytes, length);
	if (r->failed)
		return kc__fail(r);
	a.length += (uint32_t)length;
	a.split = a.length;
	a.is_open = a.is_array = 0;
	return a;
}

struct kc__text kc__append(struct kc__reader *r, struct kc__text a, struct kc__text b)
{
	return append_bytes(r, a, r->arena + b.start, b.length);
}

struct kc__text kc__append_string(struct kc__reader *r, struct kc__text a, const char *string)
{
	return append_bytes(r, a, string, strlen(string));
}

struct kc__text kc__append_number(struct kc__reader *r, struct kc__text a, size_t number)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%zu", number);
	return kc__append_string(r, a, digits);
}

char kc__last(const struct kc__reader *r, struct kc__text text)
{
	return text.length ? r->arena[text.start + text.length - 1] : 0;
}

void kc__text_get(const struct kc__reader *r, struct kc__text text, char *out, size_t size)
{
	size_t length = text.length < size ? text.length : size - 1;

	memcpy(out, r->arena + text.start, length);
	out[length] = 0;
}

static struct kc__text part(struct kc__text text, uint32_t from, uint32_t to)
{
	return (struct kc__text){.start = text.start + from, .length = to - from, .split = to - from};
}

struct kc__text kc__wrap(struct kc__reader *r, struct kc__text type, struct kc__text mark)
{
	struct kc__text before = part(type, 0, type.split), after = part(type, type.split, type.length), all = before;
	uint32_t split;

	if (type.is_open)
		all = kc__append_string(r, all, "(");
	all = kc__append(r, all, mark);
	split = all.length;
	if (type.is_open)
		all = kc__append_string(r, all, type.is_array ? ") " : ")");
	all = kc__append(r, all, after);
	all.split = split;
	return all;
}

struct kc__text kc__qualify(struct kc__reader *r, struct kc__text type, const char *qualifier)
{
	struct kc__text element, bound;

	if (!type.is_open || !type.is_array)
		return kc__wrap(r, type, kc__literal(r, qualifier));
	element = part(type, 0, type.split - 1);
	bound = part(type, type.split, type.length);
	element = kc__append_string(r, kc__append_string(r, element, qualifier), " ");
	return kc__declarator(r, element, bound, " ");
}

struct kc__text kc__reference(struct kc__reader *r, struct kc__text type, const char *mark)
{
	const char *text = r->arena + type.start;
	int has_one = type.split > 0 && text[type.split - 1] == '&', has_two = has_one && text[type.split - 2] == '&';
	struct kc__text before, after;
	uint32_t split;

	if (!has_one)
		return kc__wrap(r, type, kc__literal(r, mark));
	if (!has_two || mark[1])
		return type;
	before = part(type, 0, type.split - 1);
	after = part(type, type.split, type.length);
	split = before.length;
	before = kc__append(r, before, after);
	before.split = split;
	return before;
}

struct kc__text kc__declarator(struct kc__reader *r, struct kc__text before, struct kc__text after, const char *blank)
{
	struct kc__text all = kc__append(r, before, after);

	all.split = before.length;
	all.is_open = 1;
	all.is_array = blank[0] == ' ';
	return all;
}

void kc__remember(struct kc__reader *r, struct kc__text text)
{
	if (r->failed)
		return;
	if (r->substitution_count == KC__SUBSTITUTIONS) {
		kc__fail(r);
		return;
	}
	r->substitutions[r->substitution_count++] = text;
}
