#include "call_sequence.h"

#include <errno.h>
#include <stdlib.h>

int kc_calls_index(struct kc_calls *calls)
{
	calls->first = calloc((size_t)calls->ids + 2, sizeof(*calls->first));
	calls->places = calloc((size_t)calls->count + 1, sizeof(*calls->places));
	if (!calls->first || !calls->places) {
		kc_calls_free(calls);
		return -ENOMEM;
	}
	/* Counted two places ahead, so that filling in moves each beginning to where it belongs. */
	for (uint32_t i = 0; i < calls->count; i++)
		calls->first[calls->id[i] + 2]++;
	for (uint32_t id = 1; id <= calls->ids; id++)
		calls->first[id] += calls->first[id - 1];
	for (uint32_t i = 0; i < calls->count; i++)
		calls->places[calls->first[calls->id[i] + 1]++] = i;
	return 0;
}

void kc_calls_free(struct kc_calls *calls)
{
	free(calls->first);
	free(calls->places);
	calls->first = calls->places = NULL;
}
