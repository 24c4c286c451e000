/* The commands of kerncast-lab: what papers claim, and their models for themselves. */
#ifndef KC_LAB_H
#define KC_LAB_H

#include "tools/command.h"

extern const struct kc_command kc_command_basis;
extern const struct kc_command kc_command_experiment;

#endif
