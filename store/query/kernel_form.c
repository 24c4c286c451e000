#include "kernel_form.h"

#include <ctype.h>
#include <string.h>

static int in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void put(struct kc_kernel_form *form, size_t *n, const char *text, size_t length)
{
	for (size_t i = 0; i < length && *n + 1 < sizeof(form->text); i++)
		form->text[(*n)++] = text[i];
}

static int is_word(const char *at, size_t length, const char *word)
{
	return strlen(word) == length && !strncmp(at, word, length);
}

/* The length of a cast before a template argument: "(int)" in "<(int)4", "(Layout)" in "(Layout)-1". 0: none is here.
 */
static size_t cast_length(const char *at, char before)
{
	size_t length = strcspn(at + 1, "()<>,") + 2;

	if ((before != '<' && before != ',') || at[length - 1] != ')')
		return 0;
	return isdigit((unsigned char)at[length]) || at[length] == '-' ? length : 0;
}

/* "4u" and "8ul" are 4 and 8. */
static size_t without_suffix(const char *at, size_t length)
{
	while (isdigit((unsigned char)*at) && length > 1 && strchr("uUlL", at[length - 1]))
		length--;
	return length;
}

/* A word, with the blank that keeps it apart from the one before. */
static void put_word(struct kc_kernel_form *form, size_t *n, const char *at, size_t length)
{
	int number = is_word(at, length, "true") ? '1' : is_word(at, length, "false") ? '0' : 0;

	if (is_word(at, length, "const"))
		return;
	if (*n && in_word(form->text[*n - 1]))
		put(form, n, " ", 1);
	if (number)
		put(form, n, number == '1' ? "1" : "0", 1);
	else
		put(form, n, at, without_suffix(at, length));
}

/* "int=4" is 4. */
static void drop_type(const struct kc_kernel_form *form, size_t *n)
{
	size_t start = *n;

	while (start && form->text[start - 1] != '<' && form->text[start - 1] != ',')
		start--;
	if (start)
		*n = start;
}

static const char unnamed[] = "<unnamed>", anonymous[] = "(anonymous namespace)";

static size_t unnamed_length(const char *at)
{
	if (!strncmp(at, unnamed, sizeof(unnamed) - 1))
		return sizeof(unnamed) - 1;
	return strncmp(at, anonymous, sizeof(anonymous) - 1) ? 0 : sizeof(anonymous) - 1;
}

static int is_generic(const char *word, size_t length)
{
	return length >= 2 && *word == 'T' && strspn(word + 1, "0123456789") == length - 1;
}

void kc_kernel_form(const char *name, struct kc_kernel_form *form)
{
	size_t n = 0, length;
	int depth = 0;

	*form = (struct kc_kernel_form){.named = 0};
	name += !strncmp(name, "void ", 5) ? 5 : 0;
	for (; *name; name += length) {
		length = unnamed_length(name);
		if (length) {
			put(form, &n, "{}", 2);
			continue;
		}
		for (length = 0; in_word(name[length]);)
			length++;
		if (length) {
			form->is_generic |= form->named && is_generic(name, length);
			put_word(form, &n, name, length);
			continue;
		}
		length = *name == '(' ? cast_length(name, n ? form->text[n - 1] : 0) : 0;
		if (length)
			continue;
		length = 1;
		if (*name == '(' && depth == 0 && !form->named)
			form->named = n;
		depth += (*name == '<') - (*name == '>');
		if (*name == '=' && depth > 0 && (isdigit((unsigned char)name[1]) || name[1] == '-'))
			drop_type(form, &n);
		else if (*name != ' ')
			put(form, &n, name, 1);
	}
	form->text[n] = '\0';
	if (!form->named)
		form->named = n;
}
