#include "pace.h"

#include <stdbool.h>

#define READ_BYTES ((size_t)512 << 10) /* in a turn: about 2,500 records ... */
#define READ_LEAST_BYTES ((size_t)128 << 10)
#define BACKLOG_SLOTS (512u << 10) /* ... or half as many, if more than so many slots are not stored, ... */
#define RECORD_BYTES 216           /* of a kernel, in CUDA 13.0 */
#define SHARE 10                   /* ... and at last the records of one slot in so many, ... */
#define DUE_MOST 10000             /* ... without those that have been due for long */

static size_t by_backlog(uint64_t not_stored)
{
	size_t bytes = READ_BYTES;

	for (uint64_t backlog = BACKLOG_SLOTS; bytes > READ_LEAST_BYTES && not_stored > backlog; backlog *= 2)
		bytes /= 2;
	return bytes;
}

static void add_due(struct kc__pace *pace, uint64_t slots, uint64_t matched)
{
	const int64_t most = DUE_MOST * SHARE;

	pace->due += (int64_t)(slots - pace->slots) - SHARE * (int64_t)(matched - pace->matched);
	pace->due = pace->due > most ? most : pace->due < -most ? -most : pace->due;
	pace->slots = slots;
	pace->matched = matched;
}

size_t kc__pace(struct kc__pace *pace, uint64_t not_stored, uint64_t slots, uint64_t matched)
{
	bool none_made = slots == pace->slots; /* no more records will come than have come */
	size_t bytes = by_backlog(not_stored), due;

	add_due(pace, slots, matched);
	due = pace->due > 0 ? (size_t)pace->due * RECORD_BYTES / SHARE : 0;
	if (none_made)
		return bytes;
	return bytes == READ_LEAST_BYTES || due > bytes ? due : bytes;
}
