/* Where a process's journal is, and entries that take several slots of it: for who writes them and who reads them. */
#include "journal.h"
#include "store/common/remote.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The most parts that kc_journal_put() makes of one entry. */
#define PARTS_MAX 1024u

static int forget_parts(struct kc_assembler *a, int rc)
{
	a->used = 0;
	a->expected = 0;
	return rc;
}

static int reserve(struct kc_assembler *a, size_t bytes)
{
	uint8_t *buffer;

	if (bytes <= a->capacity)
		return 0;
	buffer = realloc(a->buffer, bytes);
	if (!buffer)
		return -ENOMEM;
	a->buffer = buffer;
	a->capacity = bytes;
	return 0;
}

int kc_assemble(struct kc_assembler *a, const struct kc_slot *slot, const void **payload, size_t *bytes)
{
	const struct kc_part *part = &slot->part;
	size_t room = sizeof(part->payload);
	int is_last = part->index + 1 == part->count;

	if (part->index == 0) {
		a->used = 0;
		a->expected = part->count;
		a->next_index = slot->index;
	}
	if (part->count == 0 || part->count > PARTS_MAX || part->count != a->expected || slot->index != a->next_index ||
	    a->used != part->index * room || part->bytes > room || (!is_last && part->bytes != room))
		return forget_parts(a, -EBADMSG);
	if (reserve(a, part->count * room))
		return forget_parts(a, -ENOMEM);
	memcpy(a->buffer + a->used, part->payload, part->bytes);
	a->used += part->bytes;
	a->next_index++;
	if (!is_last)
		return 0;
	*payload = a->buffer;
	*bytes = a->used;
	return forget_parts(a, 1);
}

void kc_assembler_free(struct kc_assembler *a)
{
	free(a->buffer);
	memset(a, 0, sizeof(*a));
}

/* The first folder that is local and takes files. */
static int place_of(const char *database)
{
	char base[PATH_MAX];
	char *slash;

	for (int i = 1; kc_is_remote(database) && i < KC_JOURNAL_PLACES; i++) {
		if (!kc_journal_base(database, i, base, sizeof(base)) || kc_is_remote(base))
			continue;
		slash = strrchr(base, '/');
		*slash = 0;
		if (access(base, W_OK | X_OK) == 0)
			return i;
	}
	return 0;
}

int kc_journal_path(const char *database, uint32_t pid, uint64_t pid_start, char *out, size_t size)
{
	char base[PATH_MAX];
	int n;

	if (!kc_journal_base(database, place_of(database), base, sizeof(base)))
		return -ENAMETOOLONG;
	n = snprintf(out, size, "%s.%u-%llu.kcj", base, pid, (unsigned long long)pid_start);
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
