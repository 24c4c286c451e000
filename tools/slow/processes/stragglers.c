#include "stragglers.h"

#include "store/query/measured.h"
#include "store/query/query.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdlib.h>

int kc_slow_straggler_add(struct kc_slow_stragglers *stragglers, uint32_t kernel,
			  const struct kc_slow_process *launches)
{
	const uint32_t key[] = {launches->process, launches->device};
	uint32_t number = kc_intern(&stragglers->ids, 'p', key, sizeof(key));
	const uint32_t kernel_key[] = {number, kernel};
	uint32_t kernels = stragglers->kernels.count;
	struct kc_slow_process *to;

	if (!number || !kc_intern(&stragglers->kernels, 'k', kernel_key, sizeof(kernel_key)) ||
	    (number > stragglers->list.count && !kc__list_add(&stragglers->list, sizeof(*to))))
		return -ENOMEM;
	to = (struct kc_slow_process *)stragglers->list.at + number - 1;
	to->process = launches->process;
	to->device = launches->device;
	to->launch = launches->launch;
	to->others = launches->others;
	to->is_whole = launches->is_whole;
	if (to->launches == 0 || launches->since_ns < to->since_ns)
		to->since_ns = launches->since_ns;
	to->launches += launches->launches;
	to->kernels += stragglers->kernels.count - kernels;
	to->took_ns += launches->took_ns;
	to->lost_ns += launches->lost_ns;
	return 0;
}

KC_ORDER(by_cost, struct kc_slow_process, KC_BY(y->lost_ns + y->waited_ns, x->lost_ns + x->waited_ns))

void kc_slow_stragglers_sort(struct kc_slow_stragglers *stragglers)
{
	if (stragglers->list.count)
		qsort(stragglers->list.at, stragglers->list.count, sizeof(struct kc_slow_process), by_cost);
}

void kc_slow_straggler_name(struct kc_store *s, int64_t run, const struct kc_slow_process *straggler,
			    struct kc_slow_straggler_names *out)
{
	const struct kc_selection this = {run, run};
	struct kc_measured_origin origin;

	if (kc_process_name(s, straggler->process, &out->pid, out->process) != 0)
		*out->process = '\0';
	if (kc_measured_origin(s, straggler->launch, &origin) != 0 ||
	    kc_gpu_name(s, &this, origin.device, out->gpu) != 0)
		*out->gpu = '\0';
}

void kc_slow_stragglers_free(struct kc_slow_stragglers *stragglers)
{
	free(stragglers->list.at);
	kc_intern_free(&stragglers->ids);
	kc_intern_free(&stragglers->kernels);
}
