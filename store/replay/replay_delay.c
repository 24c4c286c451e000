#include "replay_internal.h"

#include <errno.h>
#include <stdlib.h>

static int by_end(const void *a, const void *b)
{
	const struct kc__op *const *x = a, *const *y = b;

	return ((*x)->end_ns > (*y)->end_ns) - ((*x)->end_ns < (*y)->end_ns);
}

static int64_t later(int64_t ns, int64_t delay_ns)
{
	return ns < INT64_MAX - delay_ns ? ns + delay_ns : INT64_MAX;
}

/* Those of a batch become known together, after the last of them has ended; those of a batch that never fills, when
 * the process ends. */
static void set_batches(struct kc__op **ended, size_t count, const struct kc_replay_delay *delay)
{
	for (size_t i = 0; i < count; i++) {
		size_t last = i / delay->batch * delay->batch + (delay->batch - 1);

		ended[i]->known_ns = last < count ? later(ended[last]->end_ns, delay->ns) : INT64_MAX;
	}
}

int kc__delays_set(struct kc__ops *ops, const struct kc_replay_delay *delay)
{
	struct kc__op **ended;
	size_t count = 0;

	for (size_t i = 0; i < ops->count; i++)
		ops->at[i].known_ns = later(ops->at[i].end_ns, delay->ns);
	if (delay->batch <= 1)
		return 0;
	ended = malloc((ops->count + 1) * sizeof(struct kc__op *));
	if (!ended)
		return -ENOMEM;
	for (size_t i = 0; i < ops->count; i++)
		if (ops->at[i].end_ns)
			ended[count++] = &ops->at[i];
	qsort(ended, count, sizeof(struct kc__op *), by_end);
	set_batches(ended, count, delay);
	free(ended);
	return 0;
}
