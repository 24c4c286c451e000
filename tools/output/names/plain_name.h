/*
 * What of a kernel's name tells it from others, where there is no room for all of it.
 */
#ifndef KC_PLAIN_NAME_H
#define KC_PLAIN_NAME_H

#include <stddef.h>

/*
 * The name without the list of its parameters and its return type, and without the
 * namespaces that half of a PyTorch program's kernels have (at::native, c10, std,
 * unnamed ones) and the pointers to operands of its elementwise kernels
 * (std::array<char*, 3ul>), wherever they stand: "void at::native::f<c10::Half>(int)" is
 * "f<Half>". Any text may be given; what is no name of C++ stays as it is. To be
 * freed by the caller; NULL: no memory.
 */
char *kc_plain_name(const char *name);

/* As kc_shorten_middle() (format.h), but of a name for which there is no room, the plain name, or the middle left out
 * of that. Returns `out`. */
char *kc_shorten_name(const char *name, size_t width, char *out, size_t size);

#endif
