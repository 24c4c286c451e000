#include "journal_internal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The kernel's robust futex list (Documentation/locking/robust-futex-ABI.rst): when a thread ends, however that comes
 * about, the kernel goes through the list that the thread has registered and sets FUTEX_OWNER_DIED in each word that
 * holds the thread's id. Head and entry of the list are in our own memory; in the file there is only the word, at
 * futex_offset from the entry. A child has no list, whatever it inherits of the mapping.
 */

static void point_at_header(struct kc_journal *j)
{
	long offset = (long)((uintptr_t)&j->header->holder - (uintptr_t)&j->list_entry);

	__atomic_store_n(&j->list_head.futex_offset, offset, __ATOMIC_RELEASE);
	atomic_store(&j->header->holder, j->holder);
}

int kc_journal_hold(struct kc_journal *j)
{
	j->list_entry.next = &j->list_head.list;
	j->list_head.list.next = &j->list_entry;
	point_at_header(j);
	if (syscall(SYS_set_robust_list, &j->list_head, sizeof(j->list_head)))
		return -errno;
	j->holder = (uint32_t)syscall(SYS_gettid);
	point_at_header(j);
	return 0;
}

void kc__journal_hold_on(struct kc_journal *j)
{
	if (j->holder)
		point_at_header(j);
}
