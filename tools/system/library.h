/* The files of an installation, found from the running executable. */
#ifndef KC_LIBRARY_H
#define KC_LIBRARY_H

#include <stddef.h>

/* The path of this executable: 0 or -errno. */
int kc_library_self(char *out, size_t size);

/* libkerncast.so, looked for beside the executable, then in ../lib/kerncast, ../lib and ../lib/x86_64-linux-gnu (or
 * that of this processor). 0; -ENOENT with the first of these places in out; -EPROTO: it is of another version. */
int kc_library_find(char *out, size_t size);
/* The variable that names the tool to which NVTX's ranges go. */
#define KC_NVTX_VARIABLE "NVTX_INJECTION64_PATH"
int kc_library_is(const char *path); /* 1: its file is called libkerncast.so */

/* Why it cannot be used; the cure is to install kerncast again. rc: < 0, and library: what kc_library_find() gave. */
void kc_library_refusal(int rc, const char *library, char *why, size_t size);

/* libkerncast-audit.so, in the same folder. 0; -ENOENT with its expected place in out. */
int kc_library_find_audit(char *out, size_t size);

#endif
