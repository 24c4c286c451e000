/* The end of a process whose first thread has ended (ending.c), and whose the threads are that are left. */
#ifndef KC_SHIM_ENDING_H
#define KC_SHIM_ENDING_H

#include "shim/shim.h"

void kc__ending_begin(void);          /* thread of the application */
void kc__ending_look(int64_t now_ns); /* worker */
void kc__ending_forget(void);         /* fork child */
void kc__ending_not_for(void); /* the process does not go on for the thread that calls this, a permanent one of ours */

/* thread_origin.c: whether the first function of the thread is one of the library's, given by its base address. false:
 * also where that is not known, as while the thread runs. */
bool kc__thread_began_in(uint32_t thread, const void *library);
/* The same of memory that has been read: so many words, which were at `from`. */
bool kc__block_names(uint32_t thread, const uintptr_t *words, size_t count, uintptr_t from, const void *library);

#endif
