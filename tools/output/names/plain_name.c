#include "plain_name.h"

#include "tools/output/format.h"

#include "predictor/math/letters.h"
#include "store/query/readable.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool is_of_word(char letter)
{
	return kc_is_letter_or_digit(letter) || letter == '_';
}

static int depth_of(char letter)
{
	return !!strchr(")>}]", letter) - !!strchr("(<{[", letter);
}

/* What follows the return type, by its place: the last blank that is in no brackets. */
static size_t name_at(const char *name, size_t size)
{
	int depth = 0;

	for (size_t at = size; at-- > 0;) {
		if (name[at] == ' ' && !depth)
			return at + 1;
		depth += depth_of(name[at]);
	}
	return 0;
}

/* The bytes of a namespace that stands here. */
static size_t namespace_size(const char *at)
{
	static const char *const common[] = {"(anonymous namespace)::", "at::native::", "c10::", "std::"};

	for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++) {
		if (!strncmp(at, common[i], strlen(common[i])))
			return strlen(common[i]);
	}
	return 0;
}

/* The bytes of the operands of PyTorch's elementwise kernels, ", std::array<char*, 3ul>", if they stand here. */
static size_t operands_size(const char *at)
{
	static const char begin[] = ", std::array<char*, ";
	size_t digits;

	if (strncmp(at, begin, strlen(begin)) != 0)
		return 0;
	at += strlen(begin);
	digits = strspn(at, "0123456789");
	return digits && !strncmp(at + digits, "ul>", 3) ? strlen(begin) + digits + 3 : 0;
}

char *kc_plain_name(const char *name)
{
	size_t length = strlen(name), size = kc_readable_parameters(name), to = 0, skipped;
	char *out = strdup(name);

	if (!out)
		return NULL;
	for (size_t at = size < length ? name_at(name, size) : 0; at < size; at += skipped ? skipped : 1) {
		bool begins = at == 0 || (!is_of_word(name[at - 1]) && (to == 0 || out[to - 1] != ':'));

		skipped = begins || name[at] == '(' ? namespace_size(name + at) : 0;
		skipped += operands_size(name + at);
		if (!skipped)
			out[to++] = name[at];
	}
	out[to] = '\0';
	return out;
}

char *kc_shorten_name(const char *name, size_t width, char *out, size_t size)
{
	char *plain = kc_text_width(name) > width ? kc_plain_name(name) : NULL;

	kc_shorten_middle(plain ? plain : name, width, out, size);
	free(plain);
	return out;
}
