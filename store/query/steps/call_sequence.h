/*
 * The launches and copies of a process in the order of their calls, for finding
 * what repeats.
 *
 *   kc_call    one call: when, and whether it copies
 *   kc_calls   all of a process, with the number of what each is; `places` lists
 *              where each number stands
 */
#ifndef KC_CALL_SEQUENCE_H
#define KC_CALL_SEQUENCE_H

#include <stddef.h>
#include <stdint.h>

enum kc_call_kind { KC_CALL_LAUNCH, KC_CALL_FROM_HOST, KC_CALL_TO_HOST, KC_CALL_OTHER_COPY };

struct kc_call {
	int64_t ns;   /* of the call; they do not fall, and are less than 2^62 from 0 */
	uint8_t kind; /* enum kc_call_kind */
};

struct kc_calls {
	const struct kc_call *at;
	const uint32_t *id;   /* what each call is: calls alike have one number, less than `ids` */
	const uint32_t *name; /* likewise, less than `names`, whatever the launch shape */
	uint32_t count, ids, names;
	uint32_t *first;  /* ids + 1: where those of a number begin in `places` */
	uint32_t *places; /* count: indices of calls, by number, then by index */
};

/* Makes `first` and `places` of the rest. 0 or -ENOMEM. Free them with kc_calls_free(). */
int kc_calls_index(struct kc_calls *calls);
void kc_calls_free(struct kc_calls *calls);

static inline uint32_t kc_calls_of(const struct kc_calls *calls, uint32_t id)
{
	return calls->first[id + 1] - calls->first[id];
}

#endif
