/*
 * The thread that reads kernels' code, and launches that wait for it.
 *
 * A kernel that is launched for the first time is read next, and its launch waits for
 * that: for --wait-for-code at most, and all launches of a process together, and its
 * cuInit, for KC__WAITS times as long. A launching thread waits for a number in memory, with no
 * lock of ours held and for a bounded time, so that nothing can hold it for longer:
 * no lock of the application's or the loader's, and no thread that has ended.
 * Between launches, what is loaded is read ahead (foresee.h).
 */
#ifndef KC_SHIM_READER_H
#define KC_SHIM_READER_H

#include "shim/shim.h"

#define KC__WAITS 20

int kc__reader_start(void);      /* 0 or -errno. Until recording begins, code is read ahead alone */
void kc__reader_stop(void);      /* recording does not begin: the thread ends, if there is one */
void kc__reader_finish(void);    /* worker, as the process ends: returns when the reader is done for good */
void kc__reader_forget(void);    /* fork child */
void kc__reader_call(void);      /* any thread: there is something to read */
bool kc__reader_is_ending(void); /* reader: it is to come to an end */
/* A launching thread: as kc__reader_call, but without a system call. The worker wakes the reader in its next round. */
void kc__reader_want(void);
void kc__reader_remind(void);

/* A launch of a kernel whose code has not been read. Returns when it has been, or when the time is up. */
void kc__reader_await(struct kc__kernel *kernel);
/* cuInit: returns when the program's own code has been read ahead, or when half of the time for all launches is up. */
void kc__reader_await_program(void);
void kc__reader_program_read(void); /* reader: it has, or is not read ahead */
/* Reader: kernel->reading_done has been set. */
void kc__reader_answer(struct kc__kernel *kernel);
/* Launches that wait at present, of any kernel. */
uint32_t kc__reader_awaited(void);

#endif
