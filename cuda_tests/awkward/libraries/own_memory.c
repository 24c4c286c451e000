/*
 * Preloaded before libkerncast.so: measures how much memory that library takes. It knows what the library, SQLite in it
 * included, gets from the C library by the address that the call returns to, and asks the kernel which pages are
 * resident. A thread looks every 20 ms; at the exit the peak of each kind, in KiB, goes to the file OWN_MEMORY:
 *
 *	total    all of it; the lines that follow are the peaks of its parts
 *	journal  pages of the journal's file
 *	mapped   other mappings
 *	heap     malloc(), and whatever else is resident in arenas that the library takes memory from
 *	data     the library's own variables
 *	at N     mapped by the call that returns to offset N of the library, when total was highest
 */
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { RANGES_MAX = 1 << 16, SITES_MAX = 256, ARENAS_MAX = 256, PAGE = 4096, SAMPLE_NS = 20000000 };
#define ARENA_BYTES ((uintptr_t)64 << 20) /* glibc's HEAP_MAX_SIZE: arenas of threads are aligned to it */
#define IS_MMAPPED 2u                     /* glibc's flags in the word before an allocation */
#define NON_MAIN_ARENA 4u
#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t n, size_t bytes);
extern void *__libc_realloc(void *p, size_t bytes);
extern void __libc_free(void *p);

enum kind { TOTAL, JOURNAL, MAPPED, HEAP, DATA, KINDS };
static const char *const kind_names[KINDS] = {"total", "journal", "mapped", "heap", "data"};

struct range {
	uintptr_t at;
	size_t bytes;
	uintptr_t site;
	enum kind kind;
};

struct site {
	uintptr_t at;
	size_t bytes, peak_bytes;
};

static struct {
	uintptr_t base, text, text_end, data, data_end; /* of libkerncast.so */
	pthread_mutex_t lock;
	struct range ranges[RANGES_MAX];
	uint32_t range_count;
	_Atomic uintptr_t arenas[ARENAS_MAX];
	_Atomic size_t live_bytes; /* outside those arenas */
	struct site sites[SITES_MAX];
	size_t bytes[KINDS], peak_bytes[KINDS];
	int pagemap;
} own = {.lock = PTHREAD_MUTEX_INITIALIZER, .pagemap = -1};

static bool is_ours(const void *caller)
{
	return (uintptr_t)caller - own.text < own.text_end - own.text;
}

/* The heap */

static void arena_of(uintptr_t at)
{
	uintptr_t base = at & ~(ARENA_BYTES - 1);

	for (int i = 0; i < ARENAS_MAX; i++) {
		uintptr_t none = 0;

		if (atomic_load(&own.arenas[i]) == base || atomic_compare_exchange_strong(&own.arenas[i], &none, base))
			return;
	}
}

static size_t flags_of(const void *p)
{
	return ((const size_t *)p)[-1];
}

static void *allocated(void *p, const void *caller)
{
	if (!p || !is_ours(caller))
		return p;
	if ((flags_of(p) & (NON_MAIN_ARENA | IS_MMAPPED)) == NON_MAIN_ARENA)
		arena_of((uintptr_t)p);
	else
		atomic_fetch_add(&own.live_bytes, malloc_usable_size(p));
	return p;
}

static void freed(const void *p, const void *caller)
{
	if (p && is_ours(caller) && (flags_of(p) & (NON_MAIN_ARENA | IS_MMAPPED)) != NON_MAIN_ARENA)
		atomic_fetch_sub(&own.live_bytes, malloc_usable_size((void *)p));
}

EXPORT void *malloc(size_t bytes)
{
	return allocated(__libc_malloc(bytes), __builtin_return_address(0));
}

EXPORT void *calloc(size_t n, size_t bytes)
{
	return allocated(__libc_calloc(n, bytes), __builtin_return_address(0));
}

EXPORT void *realloc(void *p, size_t bytes)
{
	freed(p, __builtin_return_address(0));
	return allocated(__libc_realloc(p, bytes), __builtin_return_address(0));
}

EXPORT void free(void *p)
{
	freed(p, __builtin_return_address(0));
	__libc_free(p);
}

EXPORT char *strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = allocated(__libc_malloc(bytes), __builtin_return_address(0));

	return copy ? memcpy(copy, text, bytes) : NULL;
}

/* Mappings */

static bool is_journal(int fd)
{
	char link[64], path[4096];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	n = fd < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
	if (n < 4)
		return false;
	return !memcmp(path + n - 4, ".kcj", 4);
}

static void *map(void *at, size_t bytes, int protection, int flags, int fd, off_t offset, const void *caller)
{
	void *p = (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);

	if (p == MAP_FAILED || !is_ours(caller))
		return p;
	pthread_mutex_lock(&own.lock);
	if (own.range_count < RANGES_MAX)
		own.ranges[own.range_count++] = (struct range){(uintptr_t)p, (bytes + PAGE - 1) & ~(size_t)(PAGE - 1),
							       (uintptr_t)caller, is_journal(fd) ? JOURNAL : MAPPED};
	pthread_mutex_unlock(&own.lock);
	return p;
}

EXPORT void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(at, bytes, protection, flags, fd, offset, __builtin_return_address(0));
}

EXPORT void *mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	return map(at, bytes, protection, flags, fd, offset, __builtin_return_address(0));
}

EXPORT int munmap(void *at, size_t bytes)
{
	pthread_mutex_lock(&own.lock);
	for (uint32_t i = 0; i < own.range_count; i++)
		if (own.ranges[i].at == (uintptr_t)at) {
			own.ranges[i] = own.ranges[--own.range_count];
			break;
		}
	pthread_mutex_unlock(&own.lock);
	return (int)syscall(SYS_munmap, at, bytes);
}

/* Measuring */

static size_t resident(uintptr_t at, uintptr_t end)
{
	uint64_t pages[512];
	size_t bytes = 0;

	while (at < end) {
		size_t n = (end - at) / PAGE < 512 ? (end - at) / PAGE : 512;
		ssize_t got = pread(own.pagemap, pages, n * sizeof(pages[0]), (off_t)(at / PAGE * sizeof(pages[0])));

		if (got <= 0)
			break;
		for (size_t i = 0; i < (size_t)got / sizeof(pages[0]); i++)
			bytes += pages[i] >> 63 ? PAGE : 0;
		at += n * PAGE;
	}
	return bytes;
}

static void add_site(uintptr_t at, size_t bytes)
{
	for (int i = 0; i < SITES_MAX; i++)
		if (!own.sites[i].at || own.sites[i].at == at) {
			own.sites[i].at = at;
			own.sites[i].bytes += bytes;
			return;
		}
}

static void measure(void)
{
	size_t *bytes = own.bytes;

	memset(bytes, 0, sizeof(own.bytes));
	for (int i = 0; i < SITES_MAX; i++)
		own.sites[i].bytes = 0;
	pthread_mutex_lock(&own.lock);
	for (uint32_t i = 0; i < own.range_count; i++) {
		const struct range *range = &own.ranges[i];
		size_t n = resident(range->at, range->at + range->bytes);

		bytes[range->kind] += n;
		add_site(range->site, n);
	}
	pthread_mutex_unlock(&own.lock);
	bytes[HEAP] = atomic_load(&own.live_bytes);
	for (int i = 0; i < ARENAS_MAX && atomic_load(&own.arenas[i]); i++)
		bytes[HEAP] += resident(own.arenas[i], own.arenas[i] + ARENA_BYTES);
	bytes[DATA] = resident(own.data, own.data_end);
	for (int i = JOURNAL; i < KINDS; i++)
		bytes[TOTAL] += bytes[i];
	for (int i = 0; i < SITES_MAX && bytes[TOTAL] > own.peak_bytes[TOTAL]; i++)
		own.sites[i].peak_bytes = own.sites[i].bytes;
	for (int i = 0; i < KINDS; i++)
		if (bytes[i] > own.peak_bytes[i])
			own.peak_bytes[i] = bytes[i];
}

static _Noreturn void *sample(void *unused)
{
	const struct timespec pause = {0, SAMPLE_NS};

	(void)unused;
	for (;;) {
		measure();
		nanosleep(&pause, NULL);
	}
}

static int find_library(struct dl_phdr_info *object, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	if (!strstr(object->dlpi_name, "/libkerncast.so"))
		return 0;
	own.base = object->dlpi_addr;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t start = (object->dlpi_addr + segment->p_vaddr) & ~(uintptr_t)(PAGE - 1);
		uintptr_t end =
		    (object->dlpi_addr + segment->p_vaddr + segment->p_memsz + PAGE - 1) & ~(uintptr_t)(PAGE - 1);

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X)) {
			own.text = start;
			own.text_end = end;
		} else if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W)) {
			own.data = start;
			own.data_end = end;
		}
	}
	return 1;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;

	if (!getenv("OWN_MEMORY"))
		return;
	dl_iterate_phdr(find_library, NULL);
	own.pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (own.pagemap >= 0)
		pthread_create(&thread, NULL, sample, NULL);
}

__attribute__((destructor)) static void write_peaks(void)
{
	FILE *out = own.text && own.pagemap >= 0 ? fopen(getenv("OWN_MEMORY"), "w") : NULL;

	if (!out)
		return;
	for (int i = 0; i < KINDS; i++)
		fprintf(out, "%s %zu\n", kind_names[i], own.peak_bytes[i] >> 10);
	for (int i = 0; i < SITES_MAX && own.sites[i].at; i++)
		fprintf(out, "at %#lx %zu\n", own.sites[i].at - own.base, own.sites[i].peak_bytes >> 10);
	fclose(out);
}
