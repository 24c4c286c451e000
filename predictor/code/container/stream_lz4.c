/*
 * LZ4's library unpacks a block only as a whole. A block refers back by 64 KiB at
 * most, so that much and what comes next is all that is kept. Source: LZ4 Block
 * Format Description.
 */
#include "stream.h"

#include <errno.h>

#include <stdlib.h>
#include <string.h>

#define HISTORY_BYTES ((size_t)64 << 10)
#define BUFFER_BYTES KC__LZ4_BYTES
_Static_assert(BUFFER_BYTES > 2 * HISTORY_BYTES, "what may be referred to, and as much again");
#define MATCH_MIN 4u
#define LONG_LENGTH 15u /* more bytes of the length follow */
#define LONGER 255u

struct unpacking {
	const unsigned char *in, *end;
	char *buffer;
	size_t given, filled; /* of the buffer; before `given` is what was given away and may be referred to */
	uint64_t got, most;
	kc_stream_take *take;
	void *arg;
};

static int give(struct unpacking *u)
{
	int rc = u->filled > u->given ? u->take(u->arg, u->buffer + u->given, u->filled - u->given) : 0;

	u->given = u->filled;
	if (u->filled <= HISTORY_BYTES)
		return rc;
	memmove(u->buffer, u->buffer + u->filled - HISTORY_BYTES, HISTORY_BYTES);
	u->given = u->filled = HISTORY_BYTES;
	return rc;
}

/* Room for some of `length` bytes: how many; 0, and *rc: `take` wants no more. */
static size_t room(struct unpacking *u, size_t length, int *rc)
{
	if (u->filled == BUFFER_BYTES)
		*rc = give(u);
	if (*rc)
		return 0;
	return length < BUFFER_BYTES - u->filled ? length : BUFFER_BYTES - u->filled;
}

static int put_literals(struct unpacking *u, size_t length)
{
	int rc = 0;
	size_t n;

	while (length && (n = room(u, length, &rc))) {
		memcpy(u->buffer + u->filled, u->in, n);
		u->in += n;
		u->filled += n;
		length -= n;
	}
	return rc;
}

static int put_match(struct unpacking *u, size_t distance, size_t length)
{
	int rc = 0;
	size_t n;

	while (length && (n = room(u, length, &rc))) {
		char *to = u->buffer + u->filled;
		const char *from = to - distance;

		if (distance >= n)
			memcpy(to, from, n);
		else
			for (size_t i = 0; i < n; i++)
				to[i] = from[i];
		u->filled += n;
		length -= n;
	}
	return rc;
}

/* A length of four bits, and what follows for a long one. 0: the block ends within it. */
static int read_length(struct unpacking *u, size_t *length)
{
	unsigned char more = LONGER;

	if (*length < LONG_LENGTH)
		return 1;
	while (more == LONGER) {
		if (u->in == u->end)
			return 0;
		more = *u->in++;
		*length += more;
	}
	return 1;
}

/* 1: there is more; 0: the block has ended; -EBADMSG, without a reason; or what `take` returned. */
static int next_sequence(struct unpacking *u)
{
	size_t literals, match, distance;
	int rc;

	if (u->in == u->end)
		return -EBADMSG;
	literals = *u->in >> 4;
	match = *u->in++ & 15;
	if (!read_length(u, &literals) || literals > (size_t)(u->end - u->in) || literals > u->most - u->got)
		return -EBADMSG;
	u->got += literals;
	rc = put_literals(u, literals);
	if (rc || u->in == u->end)
		return rc;
	if (u->end - u->in < 2)
		return -EBADMSG;
	distance = (size_t)u->in[0] | (size_t)u->in[1] << 8;
	u->in += 2;
	if (!read_length(u, &match) || !distance || distance > u->got || match + MATCH_MIN > u->most - u->got)
		return -EBADMSG;
	u->got += match + MATCH_MIN;
	rc = put_match(u, distance, match + MATCH_MIN);
	return rc ? rc : 1;
}

int kc__lz4_stream(const struct kc_fatbin_entry *entry, size_t memory_bytes, kc_stream_take *take, void *arg,
		   struct kc_refusal *refusal)
{
	const unsigned char *in = entry->payload.first;
	struct unpacking u = {
	    .in = in, .end = in + entry->payload.length, .most = entry->unpacked_bytes, .take = take, .arg = arg};
	int rc = 1;

	u.buffer = memory_bytes >= BUFFER_BYTES ? malloc(BUFFER_BYTES) : NULL;
	if (!u.buffer)
		return kc__stream_too_large(entry, BUFFER_BYTES, memory_bytes, refusal);
	while (rc > 0)
		rc = next_sequence(&u);
	rc = rc ? rc : give(&u);
	free(u.buffer);
	if (rc == -EBADMSG)
		return kc__refuse(refusal, entry->payload.offset, "LZ4: damaged or incomplete block");
	if (!rc && u.got != u.most)
		return kc__refuse(refusal, entry->payload.offset, "unpacks to %llu bytes instead of %llu",
				  (unsigned long long)u.got, (unsigned long long)u.most);
	return rc;
}
