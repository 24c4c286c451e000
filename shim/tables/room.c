/*
 * Room beyond the stack of the application's thread, which may be a fiber's or a
 * coroutine's of 16 KiB: memory for a moment, and a stack for deep calculations.
 */
#include "shim/shim.h"
#include "memory.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STACK_BYTES (256u << 10) /* counting a launch from its kernel's code takes 70 to 100 KiB */

/* call_on.S. end: of the stack, the highest address. */
__attribute__((visibility("hidden"))) void kc__call_on(void *end, void (*work)(void *arg), void *arg);

static void *_Atomic spare; /* given back last */

static struct { /* tables_lock */
	char *stack;
	sigset_t blocked, before;
} deep;

static void *map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

void *kc__room_take(void)
{
	void *room = atomic_exchange(&spare, NULL);

	return room ? room : map(KC__ROOM_BYTES);
}

void kc__room_give(void *room)
{
	room = room ? atomic_exchange(&spare, room) : NULL;
	if (room)
		munmap(room, KC__ROOM_BYTES);
}

const char *kc__absolute_path(const char *path, char *out, size_t size)
{
	size_t length;

	if (path[0] == '/')
		return path;
	if (!getcwd(out, size))
		return NULL;
	length = strlen(out);
	if (length + 1 + strlen(path) + 1 > size)
		return NULL;
	out[length] = '/';
	strcpy(out + length + 1, path);
	return out;
}

/* A handler that runs on this stack would find it too small, or not to be its thread's (a garbage collector's does).
 * Signals that the calculation itself raises are not blocked: the kernel would end the process without its handler. */
static void choose_signals(sigset_t *blocked)
{
	static const int raised[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

	sigfillset(blocked);
	for (size_t i = 0; i < sizeof(raised) / sizeof(*raised); i++)
		sigdelset(blocked, raised[i]);
}

int kc__deep_begin(void)
{
	if (deep.stack)
		return 0;
	deep.stack = map(KC__WHOLE_PAGES_BYTES + STACK_BYTES);
	if (!deep.stack)
		return -ENOMEM;
	mprotect(deep.stack, KC__WHOLE_PAGES_BYTES, PROT_NONE);
	choose_signals(&deep.blocked);
	return 0;
}

void kc__deep(void (*work)(void *arg), void *arg)
{
	pthread_sigmask(SIG_SETMASK, &deep.blocked, &deep.before);
	kc__call_on(deep.stack + KC__WHOLE_PAGES_BYTES + STACK_BYTES, work, arg);
	pthread_sigmask(SIG_SETMASK, &deep.before, NULL);
}
