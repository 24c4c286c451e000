/* Names that are the same, of kernels that are not: what tells these apart is put behind them. */
#ifndef KC_TOLD_APART_H
#define KC_TOLD_APART_H

#include <stddef.h>

#define KC_TRAITS 6u

struct kc_namesake {
	char **name; /* to be freed; "scale(int) [a.so, 40 registers]" takes its place if another has it, too */
	char *traits[KC_TRAITS]; /* those in front go before the others; NULL: there is none */
};

/* Of traits, those are told that are needed. 0 or -ENOMEM. */
int kc_tell_apart(struct kc_namesake *all, size_t count);

#endif
