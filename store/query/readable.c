#include "readable.h"

#include "predictor/math/letters.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>
#include <sys/resource.h>

/* libiberty recurses: up to 220 bytes of stack for each byte of a name, and 430 KiB to print it. Twice that. */
#define STACK_PER_BYTE 512u
/* More than a kernel's name has, and 64 times the work at most. */
#define DOUBLINGS_MAX 6u

struct writing {
	char *out;
	size_t size, length;
	jmp_buf full;
};

static size_t room(const struct writing *w)
{
	return w->size - 1 - w->length;
}

/* A name of 300 bytes can stand for gigabytes: one that is larger than the room for it is given up. */
static void append(const char *text, size_t length, void *opaque)
{
	struct writing *w = opaque;
	size_t fitting = length < room(w) ? length : room(w);

	memcpy(w->out + w->length, text, fitting);
	w->length += fitting;
	if (fitting < length)
		longjmp(w->full, 1);
}

/* libiberty's own limit, which is off here, refuses names of 1 KiB. Printing to a callback it holds nothing but stack,
 * so nothing is lost when append() does not return. */
static int write_readable(struct writing *w, const char *mangled)
{
	if (setjmp(w->full))
		return 1;
	return cplus_demangle_v3_callback(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, append, w);
}

/* The longest name that half of the stack is enough for. */
static size_t longest(void)
{
	struct rlimit stack;
	rlim_t bytes;

	if (getrlimit(RLIMIT_STACK, &stack) || stack.rlim_cur == RLIM_INFINITY)
		return KC_MANGLED_BYTES;
	bytes = stack.rlim_cur / 2 / STACK_PER_BYTE;
	return bytes < KC_MANGLED_BYTES ? bytes : KC_MANGLED_BYTES;
}

/* In a conversion operator ("cv") libiberty reads what follows a template parameter with arguments ("T_I", "T0_I")
 * twice, and so 2^n times where n are within one another. */
static int doubles_without_end(const char *name)
{
	unsigned count = 0;

	if (!strstr(name, "cv"))
		return 0;
	for (const char *end = strstr(name, "_I"); end; end = strstr(end + 1, "_I")) {
		const char *start = end;

		while (start > name && isdigit((unsigned char)start[-1]))
			start--;
		count += start > name && strchr("T_", start[-1]);
	}
	return count > DOUBLINGS_MAX;
}

static int is_mangled(const char *name)
{
	return strncmp(name, "_Z", 2) == 0 && strnlen(name, KC_MANGLED_BYTES + 1) <= longest() &&
	       !doubles_without_end(name);
}

int kc_readable_name(const char *mangled, char *out, size_t size)
{
	struct writing w = {.out = out, .size = size};
	int readable = is_mangled(mangled) && write_readable(&w, mangled);

	if (!readable) {
		w.length = strnlen(mangled, size - 1);
		memcpy(out, mangled, w.length);
	}
	out[w.length] = '\0';
	return readable;
}

size_t kc_readable_parameters(const char *name)
{
	size_t size = strlen(name);
	int depth = 0;

	if (!size || name[size - 1] != ')')
		return size;
	for (size_t at = size; at-- > 1;) {
		depth += (name[at] == ')') - (name[at] == '(');
		if (!depth)
			return kc_is_letter_or_digit(name[at - 1]) || strchr("_>", name[at - 1]) ? at : size;
	}
	return size;
}
