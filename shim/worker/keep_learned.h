/*
 * What the process has learned is written to the database now and then, and at its
 * end: the next run begins with it. On the worker thread, which learns.
 */
#ifndef KC_SHIM_KEEP_LEARNED_H
#define KC_SHIM_KEEP_LEARNED_H

#include "shim/shim.h"

void kc__keep_learned_begin(int64_t now_ns);
/* Writes it if it is time, and if anything was learned since. */
void kc__keep_learned_step(int64_t now_ns);
/* Writes it if anything was learned since. */
void kc__keep_learned_last(void);

#endif
