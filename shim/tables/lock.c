#include "lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRIES 100 /* before it sleeps: longer than the lock is held as a rule */

static void pause_shortly(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void futex(struct kc__lock *lock, int operation, uint32_t value)
{
	int saved_errno = errno;

	syscall(SYS_futex, &lock->state, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
	errno = saved_errno;
}

__attribute__((cold)) void kc__lock_wait(struct kc__lock *lock)
{
	for (int i = 0; i < TRIES; i++) {
		pause_shortly();
		if (atomic_load_explicit(&lock->state, memory_order_relaxed) == KC__LOCK_FREE && kc__lock_try(lock))
			return;
	}
	while (atomic_exchange_explicit(&lock->state, KC__LOCK_AWAITED, memory_order_acquire) != KC__LOCK_FREE)
		futex(lock, FUTEX_WAIT, KC__LOCK_AWAITED);
}

__attribute__((cold)) void kc__lock_wake(struct kc__lock *lock)
{
	futex(lock, FUTEX_WAKE, 1);
}
