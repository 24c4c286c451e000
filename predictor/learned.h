/*
 * What was learned and comes from a file: whether it is anything that learning could
 * have made. Somebody may have changed the file, and predictions are made of it in
 * somebody's program: numbers are finite and no larger than durations can make them,
 * and counts and places are within their arrays.
 */
#ifndef KC_LEARNED_H
#define KC_LEARNED_H

#include "engine.h"

/* 1: possible. Pointers are not looked at, nor is what is published: recalling makes these anew. */
int kc_device_learned_is_possible(const struct kc_device_learned *learned);
int kc_kernel_learned_is_possible(const struct kc_kernel_learned *learned);
int kc_key_learned_is_possible(const struct kc_key_learned *learned);
int kc_variant_learned_is_possible(const struct kc_variant_learned *learned);
int kc_arguments_fit_is_possible(const struct kc_arguments_fit *fit);

#endif
