#include "inspect.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SEPARATORS " :" /* ld.so(8) */

static int is_sanitizer(const char *entry, size_t n)
{
	static const char *const names[] = {"libasan", "libtsan", "libhwasan", "liblsan", "libclang_rt."};
	const char *base = memrchr(entry, '/', n);

	base = base ? base + 1 : entry;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if ((size_t)(entry + n - base) >= strlen(names[i]) && memcmp(base, names[i], strlen(names[i])) == 0)
			return 1;
	}
	return 0;
}

static int append(char *out, size_t size, const char *entry, size_t n)
{
	size_t used = strlen(out);

	if (n == 0)
		return 0;
	if (used + n + 2 > size)
		return -ERANGE;
	snprintf(out + used, size - used, "%s%.*s", used ? ":" : "", (int)n, entry);
	return 0;
}

/* Appends the entries of existing that are sanitizers (want = 1) or are not (0), except library itself. Returns how
 * many, or -ERANGE. */
static int append_those(const char *existing, const char *library, int want, char *out, size_t size)
{
	int count = 0;

	while (*existing) {
		size_t n = strcspn(existing, SEPARATORS);

		if (n > 0 && is_sanitizer(existing, n) == want &&
		    (n != strlen(library) || memcmp(existing, library, n) != 0)) {
			if (append(out, size, existing, n) < 0)
				return -ERANGE;
			count++;
		}
		existing += n + strspn(existing + n, SEPARATORS);
	}
	return count;
}

int kc_preload_value(const char *existing, const char *library, const char *sanitizer, char *out, size_t size)
{
	int sanitizers;

	out[0] = '\0';
	if (strpbrk(library, SEPARATORS))
		return -EINVAL;
	sanitizers = append_those(existing ? existing : "", library, 1, out, size);
	if (sanitizers < 0)
		return sanitizers;
	if (sanitizers == 0 && append(out, size, sanitizer, strlen(sanitizer)) < 0)
		return -ERANGE;
	if (append(out, size, library, strlen(library)) < 0)
		return -ERANGE;
	sanitizers = append_those(existing ? existing : "", library, 0, out, size);
	return sanitizers < 0 ? sanitizers : 0;
}
