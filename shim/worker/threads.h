/* Threads of ours. */
#ifndef KC_SHIM_WORKER_THREADS_H
#define KC_SHIM_WORKER_THREADS_H

#include "shim/shim.h"

/* files.c */
/* A thread of ours with a descriptor table and a file-system state of its own. 0; -errno: the kernel grants none, or
 * there can be no thread. */
int kc__make_files_thread(pthread_t *thread, void *(*fn)(void *arg), void *arg);
/* Two threads that do what they are asked for, until the process ends or the second call. 0 or -errno. */
int kc__files_begin(void);
void kc__files_end(void);
int kc__application_begin(void);
void kc__application_end(void);
/* Does the work on the one whose descriptors are ours, and waits for it; where it has not begun, on one that ends with
 * the work. Nothing but short work while the application launches, as launching threads may
 * wait for it; no lock may be taken that a caller may hold. SQLite needs more stack than a thread of the application
 * may have, and makes files grow, which past RLIMIT_FSIZE raises a signal in the thread that does it. 0; -errno: there
 * can be no such thread, and nothing was done. */
int kc__files_do(void (*work)(void *arg), void *arg);
/* The same with the application's descriptors: on this thread, if it has them. */
void kc__application_do(void (*work)(void *arg), void *arg);
void kc__application_has_lines(void); /* kc__say_waiting() is to be called there */
void kc__files_forget(void);          /* fork child */

/* threads.c */
/* A thread of ours, with the descriptors of its maker. 0 or -errno. */
int kc__make_thread(pthread_t *thread, void *(*fn)(void *), void *arg);
/* Does the work on a thread of ours, unless this is one, and waits for it. 0; -errno: there is no thread, nothing was
 * done. */
int kc__on_own_thread(void (*work)(void *arg), void *arg);
/* The same, always on a new thread, for work that needs the loader. -EDEADLK: the loader's lock is not to be had, as
 * this thread may hold it; nothing was done. kc__shim.start_lock held. */
int kc__on_loading_thread(void (*work)(void *arg), void *arg);

#endif
