#include "replay_internal.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_PENDING 256u

int kc__pending_push(struct kc__pending *p, int64_t known_ns, uint32_t op)
{
	size_t i = p->count;

	if (i == p->capacity) {
		size_t capacity = i ? 2 * i : FIRST_PENDING;
		struct kc__awaited_op *grown = realloc(p->at, capacity * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		p->at = grown;
		p->capacity = capacity;
	}
	p->count++;
	for (; i && p->at[(i - 1) / 2].known_ns > known_ns; i = (i - 1) / 2)
		p->at[i] = p->at[(i - 1) / 2];
	p->at[i] = (struct kc__awaited_op){known_ns, op};
	return 0;
}

uint32_t kc__pending_pop(struct kc__pending *p)
{
	struct kc__awaited_op top = p->at[0], last = p->at[--p->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < p->count) {
		if (child + 1 < p->count && p->at[child + 1].known_ns < p->at[child].known_ns)
			child++;
		if (p->at[child].known_ns >= last.known_ns)
			break;
		p->at[i] = p->at[child];
		i = child;
	}
	p->at[i] = last;
	return top.op;
}
