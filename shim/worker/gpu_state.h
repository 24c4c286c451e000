/*
 * How the GPUs are while the process uses them: clock, power, why they are slowed down, other processes. NVIDIA's
 * management library tells, where it is; a thread of its own asks it now and then (--gpu-state), for GPUs that the
 * process has launched on, and nothing waits for it. It has the application's descriptors, as the library shares what
 * it has opened with the application's own use of it; but the library is loaded with descriptors of ours.
 */
#ifndef KC_SHIM_GPU_STATE_H
#define KC_SHIM_GPU_STATE_H

#include <stdint.h>

/* Where a thread of the application starts the worker. */
void kc__gpu_state_begin(void);
/* The process is about to exit: nothing is asked from now on, and an answer is waited for only a moment, which is taken
 * off *left_ns, what the exit may wait for yet, and is half of that at most. */
void kc__gpu_state_end(int64_t *left_ns);
/* Around a fork(): an answer is waited for only a moment and no other is asked for, as the child could not use the
 * library if one of its locks were held. */
void kc__gpu_state_fork_begins(void);
void kc__gpu_state_fork_ends(void); /* in the parent */
void kc__gpu_state_forget(void);    /* in the child */

#endif
