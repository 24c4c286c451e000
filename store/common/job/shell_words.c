#include "shell_words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

size_t kc_shell_quote(const char *argument, size_t length, char *out)
{
	static const char plain[] = "_-+./=:,@%^";
	size_t n = 0, safe = 0;

	while (safe < length && (isalnum((unsigned char)argument[safe]) || strchr(plain, argument[safe])))
		safe++;
	if (length > 0 && safe == length) {
		memcpy(out, argument, length);
		return length;
	}
	out[n++] = '\'';
	for (size_t i = 0; i < length; i++) {
		if (argument[i] == '\'') {
			memcpy(out + n, "'\\'", 3);
			n += 3;
		}
		out[n++] = argument[i];
	}
	out[n++] = '\'';
	return n;
}

char *kc_shell_words(char *const *arguments, char *out, size_t size)
{
	size_t used = 0;

	for (; *arguments; arguments++) {
		size_t length = strlen(*arguments), n;
		char *quoted = malloc(KC_QUOTED_BYTES(length));

		n = quoted ? kc_shell_quote(*arguments, length, quoted) : 0;
		if (!n || used + n + 2 > size) {
			free(quoted);
			break;
		}
		if (used)
			out[used++] = ' ';
		memcpy(out + used, quoted, n);
		used += n;
		free(quoted);
	}
	out[used] = '\0';
	return out;
}
