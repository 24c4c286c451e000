#include "device.h"
#include "predictor/math/letters.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define WORDS_OF_A_NAME 5u /* "RTX 4070 Ti SUPER" */

const struct kc_device *kc_device_builtin(const char *name)
{
	const struct kc_device *device;

	for (unsigned i = 0; (device = kc_device_builtin_at(i)); i++) {
		if (!strcasecmp(kc_device_builtin_alias(i), name) || !strcasecmp(device->name, name))
			return device;
	}
	return NULL;
}

/* The words of a name without what is between them, from the first-th, `count` of them, in lower case. */
static int join_words(const char *name, unsigned first, unsigned count, char *out, size_t size)
{
	size_t n = 0;

	for (unsigned word = 0; word < first + count; word++) {
		name += strcspn(name, WORD_LETTERS);
		if (!*name)
			return 0;
		for (; *name && strchr(WORD_LETTERS, *name); name++) {
			if (word >= first && n + 1 < size)
				out[n++] = kc_lower(*name);
		}
	}
	out[n] = '\0';
	return 1;
}

/* 2: the alias, without "gtx" and "rtx" and what stands between its words; 1: with a letter more, as boards of a chip
 * have it (K40c); 0: neither. */
static unsigned alias_fits(const char *words, const char *alias)
{
	char plain[64];
	size_t n = 0;

	for (; *alias && n + 1 < sizeof(plain); alias++) {
		if (kc_is_letter_or_digit(*alias))
			plain[n++] = *alias;
	}
	plain[n] = '\0';
	if (!strcmp(words, plain) ||
	    ((!strncmp(plain, "gtx", 3) || !strncmp(plain, "rtx", 3)) && !strcmp(words, plain + 3)))
		return 2;
	return !strncmp(words, plain, n) && strspn(words + n, "cmst") == 1 && words[n + 1] == '\0';
}

/* GTX 980 Ti is no GTX 980, and an L40S no L40. */
static int names_another_model(const char *word)
{
	static const char *const words[] = {"ti", "super", "d", "s", "laptop", "max", "mobile"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(word, words[i]))
			return 1;
	}
	return 0;
}

/* "Laptop GPU" and "with Max-Q Design" may stand further on: RTX A2000 8GB Laptop GPU. */
static int is_another_model(const char *name, unsigned next)
{
	char word[64];

	if (join_words(name, next, 1, word, sizeof(word)) && names_another_model(word))
		return 1;
	for (unsigned i = next; join_words(name, i, 1, word, sizeof(word)); i++) {
		if (!strcmp(word, "laptop") || !strcmp(word, "max"))
			return 1;
	}
	return 0;
}

/* The best device for `count` words of a name from the first-th, if it is better than *best. */
static void take_words(const char *name, unsigned first, unsigned count, size_t *best, const struct kc_device **found)
{
	const char *alias;
	char words[64];

	if (!join_words(name, first, count, words, sizeof(words)) || is_another_model(name, first + count))
		return;
	for (unsigned i = 0; (alias = kc_device_builtin_alias(i)); i++) {
		unsigned fits = alias_fits(words, alias);

		if (!fits || 2 * strlen(words) + fits <= *best)
			continue;
		*found = kc_device_builtin_at(i);
		*best = 2 * strlen(words) + fits;
	}
}

/* "gfx942", "mi300x" */
static int is_numbered(const char *word, const char *series)
{
	size_t n = strlen(series);

	return !strncmp(word, series, n) && kc_is_digit(word[n]) && kc_is_digit(word[n + 1]);
}

int kc_device_is_foreign(const char *name)
{
	static const char *const words[] = {"amd",   "ati",   "radeon",    "instinct",   "intel", "xpu",      "hpu",
					    "gaudi", "mtia",  "ascend",    "npu",        "moore", "mthreads", "mtt",
					    "musa",  "mlu",   "cambricon", "hygon",      "dcu",   "iluvatar", "metax",
					    "biren", "apple", "tpu",       "privateuse1"};
	char word[64];

	for (unsigned i = 0; join_words(name, i, 1, word, sizeof(word)); i++) {
		if (!strcmp(word, "nvidia"))
			return 0;
		if (is_numbered(word, "gfx") || is_numbered(word, "mi") || is_numbered(word, "ascend"))
			return 1;
		for (size_t w = 0; w < sizeof(words) / sizeof(words[0]); w++) {
			if (!strcmp(word, words[w]))
				return 1;
		}
	}
	return 0;
}

const struct kc_device *kc_device_builtin_meant(const char *name)
{
	const struct kc_device *found = NULL;
	size_t best = 0;
	char word[64];

	if (kc_device_is_foreign(name))
		return NULL;
	for (unsigned i = 0; kc_device_builtin_at(i); i++) {
		if (kc_device_builtin_match(i, name) == KC_MATCH_WHOLE)
			return kc_device_builtin_at(i);
	}
	for (unsigned first = 0; join_words(name, first, 1, word, sizeof(word)); first++) {
		for (unsigned count = 1; count <= WORDS_OF_A_NAME; count++)
			take_words(name, first, count, &best, &found);
	}
	return found;
}

/* A name without makers, case and what stands between its parts, which are words and numbers: rtx|3060|laptop. */
struct typed {
	char text[64];
	char begins[64]; /* where a part begins, and at the end */
};

static void drop_front(struct typed *typed, const char *front)
{
	size_t n = strlen(front), length = strlen(typed->text);

	if (strncmp(typed->text, front, n) || !typed->begins[n])
		return;
	memmove(typed->text, typed->text + n, length - n + 1);
	memmove(typed->begins, typed->begins + n, length - n + 1);
}

static void read_typed(const char *name, struct typed *typed)
{
	size_t n = 0;
	int apart = 1;

	*typed = (struct typed){.text = ""};
	for (; *name && n + 1 < sizeof(typed->text); name++) {
		if (!kc_is_letter_or_digit(*name)) {
			apart = 1;
			continue;
		}
		typed->begins[n] = (char)(apart || !kc_is_digit(*name) != !kc_is_digit(name[-1]));
		typed->text[n++] = kc_lower(*name);
		apart = 0;
	}
	typed->text[n] = '\0';
	typed->begins[n] = 1;
	drop_front(typed, "nvidia");
	drop_front(typed, "geforce");
	drop_front(typed, "tesla");
}

/* Of `length` characters at `from`: whole parts, and no other model's name begins like this. */
static int are_parts(const struct typed *name, size_t from, size_t length)
{
	const char *end = memchr(name->begins + from + length + 1, 1, sizeof(name->begins) - from - length - 1);
	char next[sizeof(name->text)] = "";

	if (!name->begins[from] || !name->begins[from + length])
		return 0;
	if (name->text[from + length] && end)
		memcpy(next, name->text + from + length, (size_t)(end - name->begins) - from - length);
	return !names_another_model(next);
}

static enum kc_device_match match_name(const struct typed *typed, const char *name)
{
	enum kc_device_match match = KC_MATCH_NONE;
	struct typed has;

	read_typed(name, &has);
	if (!strcmp(has.text, typed->text))
		return KC_MATCH_WHOLE;
	for (const char *at = has.text; (at = strstr(at, typed->text)); at++) {
		if (are_parts(&has, (size_t)(at - has.text), strlen(typed->text)))
			return KC_MATCH_PARTS;
		match = KC_MATCH_LETTERS;
	}
	return match;
}

enum kc_device_match kc_device_builtin_match(unsigned i, const char *typed)
{
	const struct kc_device *device = kc_device_builtin_at(i);
	enum kc_device_match by_alias, by_name;
	struct typed wanted;

	read_typed(typed, &wanted);
	if (!device || !wanted.text[0])
		return KC_MATCH_NONE;
	by_alias = match_name(&wanted, kc_device_builtin_alias(i));
	by_name = match_name(&wanted, device->name);
	if (by_name == KC_MATCH_PARTS && by_alias < KC_MATCH_PARTS)
		return KC_MATCH_NAME_PARTS;
	return by_alias > by_name ? by_alias : by_name;
}
