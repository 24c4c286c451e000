/* System calls that fail from now on, in this process and all that come after it. */
#ifndef DENY_H
#define DENY_H

#include <stdio.h>

/* "openat:EPERM" or "openat:ENOSYS". 0; -1: no such call or error, or the kernel refused; says which on standard error.
 */
int deny(const char *what);

/* Prints the names that deny() knows, one per line. */
void deny_list(FILE *to);

#endif
