/*
 * Which library a thread began in, of threads that we have not made. The C library notes the function that a thread
 * begins with in its control block, above the thread's stack. What is looked for in that is the same on every machine:
 * the thread's id, then the list of robust mutexes that the thread holds, which is empty (glibc, nptl/descr.h).
 */
#include "ending.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define STACK_LOOKED_AT (256u << 10)
#define BLOCK_WORDS 512 /* what is looked at behind the list: the rest of the block and more */

/* What a control block holds of an empty list: its last element and its first are the list itself. */
enum { ID_WORD, LAST_WORD, FIRST_WORD, LIST_WORDS };

/* 0: it runs at this moment, or it is not told. */
static uintptr_t stack_pointer_of(uint32_t thread)
{
	char path[64], text[256], *last;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%u/syscall", thread);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = 0;
	if (!(last = strrchr(text, ' '))) /* the program counter */
		return 0;
	*last = 0;
	last = strrchr(text, ' ');
	return last ? strtoull(last, NULL, 16) : 0;
}

/* The thread may end, and its stack with it. Returns how many words were read. */
static size_t read_words(uintptr_t from, uintptr_t *words, size_t count)
{
	struct iovec here = {words, count * sizeof(*words)};
	struct iovec there[STACK_LOOKED_AT / 4096 + 1];
	size_t pages = 0;
	ssize_t n;

	for (uintptr_t at = from; at < from + here.iov_len; pages++) {
		uintptr_t next = (at | 4095) + 1;

		there[pages] = (struct iovec){(void *)at, next - at};
		at = next;
	}
	/* The process as such has no memory any more: its first thread has ended. */
	n = process_vm_readv((pid_t)kc__thread_id(&kc__thread), &here, 1, there, pages, 0);
	return n < 0 ? 0 : (size_t)n / sizeof(*words);
}

static bool lies_in(uintptr_t address, const void *library)
{
	Dl_info info;

	return dladdr((const void *)address, &info) && info.dli_fbase == library;
}

static bool is_list(uint32_t thread, const uintptr_t *words, uintptr_t at)
{
	uintptr_t list = at + FIRST_WORD * sizeof(*words);

	return (uint32_t)words[ID_WORD] == thread && words[LAST_WORD] == list && words[FIRST_WORD] == list;
}

bool kc__block_names(uint32_t thread, const uintptr_t *words, size_t count, uintptr_t from, const void *library)
{
	size_t list = 0, end;

	while (list + LIST_WORDS < count && !is_list(thread, words + list, from + list * sizeof(*words)))
		list++;
	if (list + LIST_WORDS >= count)
		return false;
	end = count - list < BLOCK_WORDS ? count : list + BLOCK_WORDS;
	for (size_t i = list + LIST_WORDS; i < end; i++)
		if (lies_in(words[i], library))
			return true;
	return false;
}

bool kc__thread_began_in(uint32_t thread, const void *library)
{
	uintptr_t from = stack_pointer_of(thread) & ~(uintptr_t)(sizeof(uintptr_t) - 1);
	uintptr_t *words = from ? malloc(STACK_LOOKED_AT) : NULL;
	size_t count = words ? read_words(from, words, STACK_LOOKED_AT / sizeof(*words)) : 0;
	bool found = kc__block_names(thread, words, count, from, library);

	free(words);
	return found;
}
