/*
 * How long kernels with so many threads usually take, whatever they do: what a guess
 * that rests on the device's λ alone is held to. λ gives every thread the same work,
 * so such a guess is proportional to the threads. But kernels of many threads do less
 * in each, and where the kernels known so far were slow, others of 80 µs were
 * predicted to take more than a minute.
 */
#ifndef KC_USUAL_H
#define KC_USUAL_H

#include "predictor/solo/forecast.h"

#include <stdint.h>

/* In ns, > 0: 5 µs for 32,768 threads, 2^0.35 times as long for twice as many, and a tenth of the nominal work. */
double kc_usual_ns(const struct kc_work *work);

/* Moves a guess towards what is usual, the more the further it is away, so that it is never more than a factor of 5
 * away. How far it was moved is how far off it may be: its interval becomes no narrower than that, up to a factor of 27
 * either way. */
void kc_usual_bound(const struct kc_work *work, struct kc_solo *solo);

#endif
