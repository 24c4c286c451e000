/* The files of an installation, found from the running executable. */
#ifndef KC_LIBRARY_H
#define KC_LIBRARY_H

#include <stddef.h>

/* The path of this executable: 0 or -errno. */
int kc_library_self(char *out, size_t size);

/* libkerncast.so, looked for beside the executable, then in ../lib and ../lib/x86_64-linux-gnu (or that of this
 * processor). 0; -ENOENT with the first of these places in out. */
int kc_library_find(char *out, size_t size);

/* libkerncast-audit.so, in the same folder. 0; -ENOENT with its expected place in out. */
int kc_library_find_audit(char *out, size_t size);

#endif
