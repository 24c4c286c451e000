/*
 * Hands records from one thread to another that works on them, in their order: what a replay is judged by, and what a
 * trace is written with, need nothing but what was handed over, and keep a second core busy.
 *
 *   kc_relay   blocks of records. One is filled while those before it are worked on; when none is free, the thread that
 *              hands over waits, so that memory is bounded.
 *
 * Where no thread can be had, each record is worked on when it is handed over.
 */
#ifndef KC_RELAY_H
#define KC_RELAY_H

#include <stddef.h>

struct kc_relay;

/* take works on a record in the other thread, in which no signal is handled, and returns 0 or -errno: after an error no
 * other record is taken. NULL: no memory. */
struct kc_relay *kc_relay_new(size_t record_bytes, int (*take)(void *record, void *arg), void *arg);
/* Where the next record is to be put: bytes of an earlier one. */
void *kc_relay_room(struct kc_relay *relay);
/* The record is there. 0, or the error of an earlier one. */
int kc_relay_give(struct kc_relay *relay);
/* Waits until all that was given is taken, after which the other thread touches nothing. 0 or the first error. */
int kc_relay_wait(struct kc_relay *relay);
/* What was given and is not taken yet is dropped. relay: may be NULL. */
void kc_relay_free(struct kc_relay *relay);

#endif
