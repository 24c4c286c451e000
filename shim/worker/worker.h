/* The worker. */
#ifndef KC_SHIM_WORKER_WORKER_H
#define KC_SHIM_WORKER_WORKER_H

#include "shim/shim.h"

/* Starts the thread, which holds the journal and waits for kc__worker_begin(). */
int kc__worker_start(void);
void kc__worker_begin(void); /* it is known by now whether CUPTI measures */
void kc__worker_wake(void);  /* any thread */
/* The two phases of the exit. COLLECT: takes CUPTI's last records; nothing is measured from then on. END: stores
 * everything and closes the journal. */
enum kc__request { KC__NOTHING, KC__COLLECT, KC__END };
/* Waits for *left_ns at most, and subtracts the time that it waited. Returns KC_MESSAGE_NONE if the phase is done,
 * else the message to say: then the worker goes on as long as the process lives. */
enum kc_message_code kc__worker_finish(enum kc__request request, int64_t *left_ns);
void kc__worker_forget(void); /* fork child */

#endif
