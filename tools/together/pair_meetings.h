/* Which kernels of a run were measured to run at the same time, and what that gained. */
#ifndef KC_PAIR_MEETINGS_H
#define KC_PAIR_MEETINGS_H

#include "pair_search.h"

/* Fills in how often the kernels of each pair ran at the same time on a GPU, and what they gained where they did so
 * beside no others. At most 4,096 launches after one are looked at. solo_ns: of each launch of the run by its place; 0:
 * not known. 0 or -ENOMEM. */
int kc_pair_meetings(struct kc_pair_search *search, const double *solo_ns);

#endif
