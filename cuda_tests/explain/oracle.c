#include "oracle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANES 32
#define BANKS 32
#define BANK_BYTES 4
#define SECTOR_BYTES 32
#define PIECES_MAX (LANES * 16 / BANK_BYTES) /* an access has at most 16 bytes */
#define APART 4096                           /* between lanes of unknown address */

struct access {
	int kind, line;
	int64_t key, address;
	unsigned bytes;
};

void note(struct walk *walk, enum access_kind kind, int line, int64_t key, int64_t address, unsigned bytes)
{
	if (walk->count == walk->capacity) {
		walk->capacity = walk->capacity ? 2 * walk->capacity : 4096;
		walk->accesses = realloc(walk->accesses, walk->capacity * sizeof(*walk->accesses));
		if (!walk->accesses)
			abort();
	}
	walk->accesses[walk->count++] = (struct access){kind, line, key, address, bytes};
}

int64_t somewhere(const struct walk *walk)
{
	return (int64_t)walk->lane * APART;
}

static int by_request(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* The distinct pieces of `size` bytes that the lanes of a request touch, in ascending order. */
static size_t distinct_pieces(const struct access *lanes, size_t count, int64_t size, int64_t pieces[PIECES_MAX])
{
	size_t all = 0, distinct = 0;

	for (size_t i = 0; i < count; i++) {
		for (int64_t at = lanes[i].address / size; at <= (lanes[i].address + lanes[i].bytes - 1) / size; at++)
			pieces[all++] = at;
	}
	qsort(pieces, all, sizeof(*pieces), by_value);
	for (size_t i = 0; i < all; i++) {
		if (i == 0 || pieces[i] != pieces[i - 1])
			pieces[distinct++] = pieces[i];
	}
	return distinct;
}

/* Each bank serves one word per pass; lanes that access the same word share it. */
static unsigned passes_of_part(const struct access *lanes, size_t count)
{
	int64_t words[PIECES_MAX] = {0};
	size_t distinct = distinct_pieces(lanes, count, BANK_BYTES, words);
	unsigned of_bank[BANKS] = {0}, most = 0;

	for (size_t i = 0; i < distinct; i++) {
		unsigned busy = ++of_bank[words[i] % BANKS];

		most = busy > most ? busy : most;
	}
	return most;
}

/* Accesses of 8 bytes are served in halves of a warp, those of 16 in quarters. Where neighbours load from the same
 * address, what returns to the registers is packed, and it takes half as often (NVIDIA's developer forum, 77228, on
 * LDS.128: 2 requests in place of 4). */
static unsigned bank_passes(const struct access *lanes, size_t count)
{
	size_t parts = lanes->bytes > BANK_BYTES ? lanes->bytes / BANK_BYTES : 1, in_part;
	unsigned passes = 0;
	int are_pairs = lanes->kind == SHARED_LOAD && parts > 1 && count % 2 == 0;

	for (size_t i = 0; are_pairs && i < count; i += 2)
		are_pairs = lanes[i].address == lanes[i + 1].address;
	in_part = LANES / (are_pairs ? parts / 2 : parts);
	for (size_t i = 0; i < count; i += in_part)
		passes += passes_of_part(lanes + i, count - i < in_part ? count - i : in_part);
	return passes;
}

static void count_lanes(struct expected *sums, const struct access *lanes, size_t count)
{
	double bytes = (double)count * lanes->bytes;

	switch (lanes->kind) {
	case LOAD:
		sums->ld_global += (double)count;
		sums->bytes_loaded += bytes;
		break;
	case STORE:
		sums->st_global += (double)count;
		sums->bytes_stored += bytes;
		break;
	case SHARED_LOAD:
		sums->ld_shared += (double)count;
		break;
	case SHARED_STORE:
		sums->st_shared += (double)count;
		break;
	default:
		sums->atomics += (double)count;
	}
}

static void count_request(struct expected *sums, const struct access *lanes, size_t count)
{
	int64_t sectors[PIECES_MAX] = {0};

	count_lanes(sums, lanes, count);
	if (lanes->kind == SHARED_LOAD || lanes->kind == SHARED_STORE) {
		sums->shared_requests++;
		sums->shared_passes += bank_passes(lanes, count);
	} else if (lanes->kind != SHARED_ATOMIC) {
		sums->requests++;
		sums->sectors += (double)distinct_pieces(lanes, count, SECTOR_BYTES, sectors);
	}
}

static void count_warp(struct walk *walk)
{
	size_t begin = 0;

	if (!walk->count)
		return;
	qsort(walk->accesses, walk->count, sizeof(*walk->accesses), by_request);
	for (size_t i = 1; i <= walk->count; i++) {
		if (i < walk->count && by_request(&walk->accesses[i], &walk->accesses[begin]) == 0)
			continue;
		count_request(&walk->sums, walk->accesses + begin, i - begin);
		begin = i;
	}
	walk->count = 0;
}

static void walk_block(const struct subject *subject, struct walk *walk)
{
	const uint32_t *block = walk->shape->block;
	uint32_t threads = block[0] * block[1] * block[2];

	for (uint32_t t = 0; t < threads; t++) {
		walk->tid[0] = t % block[0];
		walk->tid[1] = t / block[0] % block[1];
		walk->tid[2] = t / (block[0] * block[1]);
		walk->lane = t % LANES;
		subject->thread(walk);
		if (walk->lane == LANES - 1 || t == threads - 1)
			count_warp(walk);
	}
}

void walk_launch(const struct subject *subject, const struct shape *shape, struct expected *walked)
{
	struct walk walk = {.shape = shape};

	for (walk.ctaid[2] = 0; walk.ctaid[2] < shape->grid[2]; walk.ctaid[2]++) {
		for (walk.ctaid[1] = 0; walk.ctaid[1] < shape->grid[1]; walk.ctaid[1]++) {
			for (walk.ctaid[0] = 0; walk.ctaid[0] < shape->grid[0]; walk.ctaid[0]++)
				walk_block(subject, &walk);
		}
	}
	free(walk.accesses);
	*walked = walk.sums;
}

int64_t blocks_for(int64_t count, int64_t each)
{
	return (count + each - 1) / each;
}

double blocks_of(const struct shape *shape)
{
	return (double)shape->grid[0] * shape->grid[1] * shape->grid[2];
}

double threads_of(const struct shape *shape)
{
	return blocks_of(shape) * shape->block[0] * shape->block[1] * shape->block[2];
}

int64_t global_x(const struct walk *walk)
{
	return (int64_t)walk->ctaid[0] * walk->shape->block[0] + walk->tid[0];
}

int64_t global_y(const struct walk *walk)
{
	return (int64_t)walk->ctaid[1] * walk->shape->block[1] + walk->tid[1];
}

unsigned log2_of(uint32_t power)
{
	return (unsigned)__builtin_ctz(power);
}
