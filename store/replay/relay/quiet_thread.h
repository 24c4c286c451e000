/* Threads that a command has beside its own. */
#ifndef KC_QUIET_THREAD_H
#define KC_QUIET_THREAD_H

#include <pthread.h>

/* As pthread_create(), in which no signal is handled, as they are for the thread that was there, and with a stack of
 * 1 MiB. 0 or an error number. */
int kc_quiet_thread(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
