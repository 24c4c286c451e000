/*
 * Memory from the system, and the shares of what grows with what the application does: KC__SHARED_BYTES of all that the
 * library may take (README.md). Each share has some of it for itself, and takes more as long as the others leave it.
 */
#include "shim/shim.h"
#include "memory.h"

#include <sys/mman.h>

#define MIB ((size_t)1 << 20)
#define SHARE_BITS 20 /* for a share's pages in one word */
#define SHARE_MASK ((UINT64_C(1) << SHARE_BITS) - 1)
_Static_assert(KC__SHARES *SHARE_BITS <= 64 && KC__SHARED_BYTES / KC__PAGE_BYTES <= SHARE_MASK, "they fit into a word");

static const size_t own_bytes[KC__SHARES] = {
    [KC__SHARE_ENTRIES] = 4 * MIB,
    [KC__SHARE_BUFFERS] = 5 * MIB,
    [KC__SHARE_CODE] = 3 * MIB,
};

static _Atomic uint64_t shares; /* pages that are taken */

/* The tables and buffers, the database's cache, the worker's stack and the part of the heap that the C library sets
 * aside for it, and what CUPTI needs. */
#define NEEDED_BYTES (256 * MIB)

bool kc__memory_is_left(void)
{
	void *p = mmap(NULL, NEEDED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	munmap(p, NEEDED_BYTES);
	return true;
}

void *kc__map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Of LeakSanitizer, where the application has it: it would report heap memory that only these pages point to. */
extern void __lsan_register_root_region(const void *at, size_t bytes) __attribute__((weak));
extern void __lsan_unregister_root_region(const void *at, size_t bytes) __attribute__((weak));

void *kc__map_root(size_t bytes)
{
	void *p = kc__map(bytes);

	if (p && __lsan_register_root_region)
		__lsan_register_root_region(p, bytes);
	return p;
}

void kc__unmap_root(void *p, size_t bytes)
{
	if (__lsan_unregister_root_region)
		__lsan_unregister_root_region(p, bytes);
	munmap(p, bytes);
}

static size_t pages_of(size_t bytes)
{
	return (bytes + KC__PAGE_BYTES - 1) / KC__PAGE_BYTES;
}

static size_t taken_pages(uint64_t all, enum kc__share share)
{
	return all >> share * SHARE_BITS & SHARE_MASK;
}

/* All pages that the share may have while the others have theirs. */
static size_t most_pages(uint64_t all, enum kc__share share)
{
	size_t pages = KC__SHARED_BYTES / KC__PAGE_BYTES;

	for (enum kc__share other = 0; other < KC__SHARES; other++) {
		size_t own = pages_of(own_bytes[other]), taken = taken_pages(all, other);

		if (other != share)
			pages -= taken > own ? taken : own;
	}
	return pages;
}

bool kc__share_take(enum kc__share share, size_t bytes)
{
	uint64_t all = atomic_load_explicit(&shares, memory_order_relaxed), pages = pages_of(bytes);

	do
		if (taken_pages(all, share) + pages > most_pages(all, share))
			return false;
	while (!atomic_compare_exchange_weak(&shares, &all, all + (pages << share * SHARE_BITS)));
	return true;
}

void kc__share_give(enum kc__share share, size_t bytes)
{
	atomic_fetch_sub(&shares, (uint64_t)pages_of(bytes) << share * SHARE_BITS);
}

size_t kc__share_left(enum kc__share share)
{
	uint64_t all = atomic_load_explicit(&shares, memory_order_relaxed);

	return (most_pages(all, share) - taken_pages(all, share)) * KC__PAGE_BYTES;
}

bool kc__share_has_own(enum kc__share share)
{
	return taken_pages(atomic_load_explicit(&shares, memory_order_relaxed), share) < pages_of(own_bytes[share]);
}

void kc__shares_begin(void)
{
	atomic_store(&shares, 0);
}
