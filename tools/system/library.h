/* Where the rest of an installation is, seen from the executable that runs. */
#ifndef KC_LIBRARY_H
#define KC_LIBRARY_H

#include <stddef.h>

/* The path of this executable: 0 or -errno. */
int kc_library_self(char *out, size_t size);

/* libkerncast.so: beside the executable, then ../lib, then
 * ../lib/x86_64-linux-gnu (or this processor's). 0, or -ENOENT with the first
 * place that was looked at in out. */
int kc_library_find(char *out, size_t size);

/* libkerncast-audit.so, which lies beside the former: likewise. */
int kc_library_find_audit(char *out, size_t size);

#endif
