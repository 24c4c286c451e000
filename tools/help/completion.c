#include "completion.h"
#include "tools/program.h"

#include "predictor/device/device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LITERAL "abcdefghijklmnopqrstuvwxyz0123456789"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define A_DEVICE "NAME|FILE" /* the argument of options that take a device */

int kc__option_is_last(const struct argp_option *option)
{
	return !option->name && !option->key;
}

int kc__option_is_shown(const struct argp_option *option)
{
	return option->name && !(option->flags & OPTION_HIDDEN);
}

char kc__option_letter(const struct argp_option *option)
{
	return option->key > 0 && option->key <= 0x7f && isalpha(option->key) ? (char)option->key : 0;
}

/* Calls put for each word between blanks and bars without capitals and signs. Returns how many there are. */
static int each_literal(const char *text, void (*put)(const char *word, size_t n, int first))
{
	static const char between[] = " |";
	int count = 0;

	for (text += strspn(text, between); *text; text += strspn(text, between)) {
		size_t n = strcspn(text, between);

		if (strspn(text, LITERAL) == n) {
			if (put)
				put(text, n, count == 0);
			count++;
		}
		text += n;
	}
	return count;
}

static void put_word(const char *word, size_t n, int first)
{
	printf("%s%.*s", first ? "" : " ", (int)n, word);
}

void kc__put_literals(const char *argument)
{
	each_literal(argument, put_word);
}

void kc__put_known(const struct argp_option *option)
{
	const char *alias;

	for (unsigned i = 0; !strcmp(option->arg, A_DEVICE) && (alias = kc_device_builtin_alias(i)); i++)
		printf("%s%s", i ? " " : "", alias);
	kc__put_literals(option->arg);
}

int kc__option_has_known(const struct argp_option *option)
{
	return !strcmp(option->arg, A_DEVICE) || each_literal(option->arg, NULL) > 0;
}

void kc__put_named(const char *text, char joint)
{
	static const char written[] = "kerncast";
	const char *at;

	for (; (at = strstr(text, written)); text = at + strlen(written)) {
		int within = at > text && at[-1] == '_';

		fwrite(text, 1, (size_t)(at - text), stdout);
		for (const char *c = kc_program.name; *c; c++)
			putchar(within && *c == '-' ? joint : *c);
	}
	fputs(text, stdout);
}

/* Whether text has one of these words, in capitals. */
static int names_file(const char *text)
{
	static const char *const words[] = {"FILE", "DB", "DIR", "TRACE", "OLD", "NEW", "APP", "LIST"};

	for (text += strcspn(text, CAPITALS); *text; text += strcspn(text, CAPITALS)) {
		size_t n = strspn(text, CAPITALS);

		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (n == strlen(words[i]) && memcmp(text, words[i], n) == 0)
				return 1;
		}
		text += n;
	}
	return 0;
}

int kc__option_takes_file(const struct argp_option *option)
{
	return names_file(option->arg);
}

int kc__arguments_are_files(const char *arguments)
{
	return names_file(arguments);
}

int kc_completion_print(const char *shell)
{
	static const struct {
		const char *shell;
		void (*print)(void);
	} shells[] = {{"bash", kc__completion_bash}, {"zsh", kc__completion_zsh}, {"fish", kc__completion_fish}};

	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(shell, shells[i].shell) == 0) {
			shells[i].print();
			return 0;
		}
	}
	return -EINVAL;
}
