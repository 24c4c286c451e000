/*
 * Readable names of kernels: "scale(float*, int)" for "_Z5scalePfi". Only what
 * reads afterwards needs them: an application's driver, journal and database
 * know a kernel by its mangled name (Itanium C++ ABI, section 5.1).
 */
#ifndef KC_READABLE_H
#define KC_READABLE_H

#include <stddef.h>

#define KC_READABLE_BYTES 4096u /* of a readable name and its end; longer ones are cut */

/* Longer mangled names are left as they are. The longest of CUTLASS have 3 KiB. */
#define KC_MANGLED_BYTES 8192u

/*
 * Writes the readable form, or the name itself where it is not mangled, too long
 * or not to be understood; cut to size - 1 bytes. Returns 1 when it was
 * demangled, else 0. No allocation, and time that grows with the lengths.
 */
int kc_readable_name(const char *mangled, char *out, size_t size);

/* Where the list of parameters begins that a readable name ends with; its length: it has none. */
size_t kc_readable_parameters(const char *name);

#endif
