#include "pairs.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

int kc_slow_pair_add(struct kc_slow_pairs *pairs, uint32_t kernel, uint32_t other, double lost_ns)
{
	const uint32_t key[] = {kernel, other};
	uint32_t number = kc_intern(&pairs->ids, 'p', key, sizeof(key));
	struct kc_slow_pair *pair;

	if (!number || (number > pairs->list.count && !kc__list_add(&pairs->list, sizeof(*pair))))
		return -ENOMEM;
	pair = (struct kc_slow_pair *)pairs->list.at + number - 1;
	pair->kernel = kernel;
	pair->other = other;
	pair->launches++;
	pair->lost_ns += lost_ns;
	return 0;
}

KC_ORDER(by_kernel_and_loss, struct kc_slow_pair, KC_UP(kernel) ?: KC_DOWN(lost_ns))

void kc_slow_pairs_sort(struct kc_slow_pairs *pairs)
{
	if (pairs->list.count)
		qsort(pairs->list.at, pairs->list.count, sizeof(struct kc_slow_pair), by_kernel_and_loss);
}

const struct kc_slow_pair *kc_slow_pairs_of(const struct kc_slow_pairs *pairs, uint32_t kernel, size_t *count)
{
	const struct kc_slow_pair *at = pairs->list.at;
	size_t first = KC_FIRST(i, pairs->list.count, at[i].kernel >= kernel);

	*count = KC_FIRST(i, pairs->list.count, at[i].kernel > kernel) - first;
	return *count ? at + first : NULL;
}

void kc_slow_pairs_free(struct kc_slow_pairs *pairs)
{
	free(pairs->list.at);
	kc_intern_free(&pairs->ids);
}
