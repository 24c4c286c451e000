/*
 * What a launch of a real driver leaves of the caller's caches: with SIMCUDA_EVICT=N, each launch in null mode goes
 * through N KiB of data and as much code. With 32, which empties a first-level cache of 32 KiB, kerncast 9c52ab2 adds
 * to a launch what it was measured to add on an H100 and an H200 (cuda_tests/results/README.md); with warm caches, a
 * third of it.
 */
#include "cuda_tests/simcuda/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LINE 64u
#define KIB 1024u
#define KIB_MAX 4096u

static struct {
	size_t bytes; /* of each of: */
	uint8_t *data;
	void (*code)(void);
} evict;

/* A jump to the next line in each of them, a return in the last one. */
static void write_code(uint8_t *at, size_t bytes)
{
	memset(at, 0x90, bytes);
	for (size_t i = 0; i + LINE < bytes; i += LINE) {
		at[i] = 0xeb;
		at[i + 1] = LINE - 2;
	}
	at[bytes - LINE] = 0xc3;
}

void sim_evict_init(void)
{
	const char *text = getenv("SIMCUDA_EVICT");
	size_t bytes = text ? strtoul(text, NULL, 10) * KIB : 0;
	void *data, *code;

	if (!bytes || bytes > KIB_MAX * KIB)
		return;
	data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED || code == MAP_FAILED)
		return;
	write_code(code, bytes);
	if (mprotect(code, bytes, PROT_READ | PROT_EXEC))
		return;
	evict.data = data;
	evict.code = (void (*)(void))code;
	evict.bytes = bytes;
}

void sim_evict(void)
{
	if (!evict.bytes)
		return;
	for (size_t i = 0; i < evict.bytes; i += LINE)
		evict.data[i]++;
	evict.code();
}
