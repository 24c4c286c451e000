/*
 * Which library a thread began in, of threads that we have not made. The C library notes the function that a thread
 * begins with in its control block, which begins with its own address, above the thread's stack.
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
#define BLOCK_WORDS 512 /* what is read of a control block: a page, where its stack has been allocated with it */
#define SELF_WORD 2     /* tcbhead_t: the address again */

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

static bool block_names(const uintptr_t *block, size_t words, const void *library)
{
	for (size_t i = SELF_WORD + 1; i < words && i < BLOCK_WORDS; i++)
		if (lies_in(block[i], library))
			return true;
	return false;
}

bool kc__thread_began_in(uint32_t thread, const void *library)
{
	uintptr_t from = stack_pointer_of(thread) & ~(uintptr_t)(sizeof(uintptr_t) - 1);
	uintptr_t *words = from ? malloc(STACK_LOOKED_AT) : NULL;
	size_t count = words ? read_words(from, words, STACK_LOOKED_AT / sizeof(*words)) : 0;
	bool found = false;

	for (size_t i = 0; i + SELF_WORD < count && !found; i++) {
		uintptr_t at = from + i * sizeof(*words);

		if (words[i] == at && words[i + SELF_WORD] == at) {
			found = block_names(words + i, count - i, library);
			break;
		}
	}
	free(words);
	return found;
}
