#include "relay.h"
#include "quiet_thread.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#define BLOCKS 16u
/* In all, what some ten milliseconds of work need: on a busy machine, each thread waits that long for its turn. */
#define BLOCK_BYTES ((size_t)128 << 10)

struct kc_relay {
	size_t record_bytes, per_block;
	int (*take)(void *record, void *arg);
	void *arg;
	char *records; /* of all blocks */
	size_t filled; /* records in the block that is being filled */
	int is_alone;  /* there is no other thread */
	pthread_t thread;
	pthread_mutex_t lock;
	/* Under the lock: */
	pthread_cond_t changed;
	size_t counts[BLOCKS];
	uint64_t given, taken; /* blocks */
	int is_over, error;
};

static char *block_of(const struct kc_relay *relay, uint64_t number)
{
	return relay->records + number % BLOCKS * relay->per_block * relay->record_bytes;
}

static int take_block(const struct kc_relay *relay, uint64_t number, size_t count)
{
	char *record = block_of(relay, number);
	int rc = 0;

	for (size_t i = 0; i < count && rc == 0; i++, record += relay->record_bytes)
		rc = relay->take(record, relay->arg);
	return rc;
}

static void *run(void *arg)
{
	struct kc_relay *relay = arg;

	pthread_mutex_lock(&relay->lock);
	for (;;) {
		size_t count;
		int rc = relay->error;

		while (relay->given == relay->taken && !relay->is_over)
			pthread_cond_wait(&relay->changed, &relay->lock);
		if (relay->is_over)
			break;
		count = relay->counts[relay->taken % BLOCKS];
		pthread_mutex_unlock(&relay->lock);
		if (rc == 0)
			rc = take_block(relay, relay->taken, count);
		pthread_mutex_lock(&relay->lock);
		relay->error = rc;
		relay->taken++;
		pthread_cond_signal(&relay->changed);
	}
	pthread_mutex_unlock(&relay->lock);
	return NULL;
}

struct kc_relay *kc_relay_new(size_t record_bytes, int (*take)(void *record, void *arg), void *arg)
{
	struct kc_relay *relay = calloc(1, sizeof(*relay));

	if (!relay)
		return NULL;
	relay->record_bytes = record_bytes;
	relay->per_block = BLOCK_BYTES / record_bytes + 1;
	relay->take = take;
	relay->arg = arg;
	relay->records = calloc(BLOCKS * relay->per_block, record_bytes);
	if (!relay->records) {
		free(relay);
		return NULL;
	}
	pthread_mutex_init(&relay->lock, NULL);
	pthread_cond_init(&relay->changed, NULL);
	relay->is_alone = kc_quiet_thread(&relay->thread, run, relay) != 0;
	return relay;
}

void *kc_relay_room(struct kc_relay *relay)
{
	return block_of(relay, relay->given) + relay->filled * relay->record_bytes;
}

/* Waits until no more than `most` blocks are left to be taken. */
static int hand_over(struct kc_relay *relay, uint64_t most)
{
	int rc;

	pthread_mutex_lock(&relay->lock);
	if (relay->filled) {
		relay->counts[relay->given % BLOCKS] = relay->filled;
		relay->given++;
		relay->filled = 0;
		pthread_cond_signal(&relay->changed);
	}
	while (relay->given - relay->taken > most)
		pthread_cond_wait(&relay->changed, &relay->lock);
	rc = relay->error;
	pthread_mutex_unlock(&relay->lock);
	return rc;
}

int kc_relay_give(struct kc_relay *relay)
{
	if (relay->is_alone) {
		if (relay->error == 0)
			relay->error = relay->take(kc_relay_room(relay), relay->arg);
		return relay->error;
	}
	return ++relay->filled == relay->per_block ? hand_over(relay, BLOCKS - 1) : 0;
}

int kc_relay_wait(struct kc_relay *relay)
{
	return relay->is_alone ? relay->error : hand_over(relay, 0);
}

void kc_relay_free(struct kc_relay *relay)
{
	if (!relay)
		return;
	if (!relay->is_alone) {
		pthread_mutex_lock(&relay->lock);
		relay->is_over = 1;
		pthread_cond_signal(&relay->changed);
		pthread_mutex_unlock(&relay->lock);
		pthread_join(relay->thread, NULL);
	}
	pthread_cond_destroy(&relay->changed);
	pthread_mutex_destroy(&relay->lock);
	free(relay->records);
	free(relay);
}
