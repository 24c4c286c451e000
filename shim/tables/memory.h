/* Memory of ours, and what an application's stack has no room for. */
#ifndef KC_SHIM_TABLES_MEMORY_H
#define KC_SHIM_TABLES_MEMORY_H

#include "shim/shim.h"

#include <unistd.h>

/* Whether the process may still map what recording can need (256 MiB). Where it may not (RLIMIT_AS), recording would
 * take the last of it: an allocation that cannot fail, such as a library's thread-local data, then ends the process. */
bool kc__memory_is_left(void);
void *kc__map(size_t bytes); /* zeroed pages; NULL: no memory */
/* Zeroed, for what points to memory of the heap; NULL: no memory. */
void *kc__map_root(size_t bytes);
void kc__unmap_root(void *p, size_t bytes);

/* Memory that grows with what the application does, divided into shares. Any thread may take some, in whole pages. */
#define KC__SHARED_BYTES ((size_t)18 << 20)
enum kc__share {
	KC__SHARE_ENTRIES, /* of the tables, and what they point to */
	KC__SHARE_BUFFERS, /* CUPTI's */
	KC__SHARE_CODE,    /* copies of it, formulas, and what reading takes */
	KC__SHARES,
};
static inline size_t kc__whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}
bool kc__share_take(enum kc__share share, size_t bytes); /* false: the share has less left than that */
void kc__share_give(enum kc__share share, size_t bytes);
size_t kc__share_left(enum kc__share share);
bool kc__share_has_own(enum kc__share share); /* of what it has for itself, some is not taken */
void kc__shares_begin(void);                  /* nothing is taken */

/* room.c: beyond the stack of the application's thread */
#define KC__ROOM_BYTES (20u << 10)
/* Memory for a moment, not cleared; NULL: there is none. At the first time, and where several threads have some at
 * once, it is mapped. */
void *kc__room_take(void);
void kc__room_give(void *room); /* may be NULL */
/* A path as a thread with another working folder finds it: itself, or made in out; NULL: it is too long, or the folder
 * is gone. */
const char *kc__absolute_path(const char *path, char *out, size_t size);
int kc__deep_begin(void); /* 0 or -errno */
/* tables_lock held. Calculates on a stack of ours, with the application's signals blocked. Neither the driver nor the
 * loader may be called from there. */
void kc__deep(void (*work)(void *arg), void *arg);

#endif
