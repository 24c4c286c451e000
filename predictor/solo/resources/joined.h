/* How the times of resources add up: inside this folder. */
#ifndef KC_JOINED_H
#define KC_JOINED_H

#include "resources.h"

/* Of all resources, where those that are one way to memory count as one. */
double kc__sum_of_squares(const struct kc_resource_times *times);

#endif
