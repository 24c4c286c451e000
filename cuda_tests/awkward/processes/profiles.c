/*
 * A program that profiles its own kernels for some of the time, or ends CUPTI.
 *
 *	profiles HOW...    100 launches, then for each HOW a profile of 100 and 100 launches more
 *
 * The profile ends by
 *	finalize	cuptiFinalize() in a callback, which takes a while longer, as PyTorch's profiler does
 *	unsubscribe	disabling what was enabled, and cuptiUnsubscribe()
 *	nothing		there is none: cuptiFinalize() all the same
 *
 * Launches of the nth hundred have n blocks. Prints how many kernels each profile had.
 */
#include "cuda_tests/awkward/awkward.h"

#include <cupti.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

enum { LAUNCHES = 100, CALLBACK_MS = 200, SETTLE_MS = 600 };

static CUpti_SubscriberHandle subscriber;
static bool ends;
static int kernels;

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000l}, NULL);
}

static void CUPTIAPI on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	(void)domain;
	(void)id;
	if (user != &kernels || !ends || ((const CUpti_CallbackData *)data)->callbackSite != CUPTI_API_EXIT)
		return;
	ends = false;
	printf("finalize %d, ", cuptiFinalize());
	sleep_ms(CALLBACK_MS);
}

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *bytes, size_t *records_max)
{
	*bytes = 65536;
	*buffer = aligned_alloc(64, *bytes);
	*records_max = 0;
}

static void CUPTIAPI count_kernels(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)bytes;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
		kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
	free(buffer);
}

static void launch(struct awkward *a)
{
	static unsigned blocks;

	blocks++;
	for (int i = 0; i < LAUNCHES; i++)
		CHECK(awkward_launch(a, NULL, blocks));
	CHECK(cuCtxSynchronize());
}

static void profile(struct awkward *a, bool finalizes)
{
	static bool registered;

	kernels = 0;
	if (cuptiSubscribe(&subscriber, on_call, &kernels) ||
	    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize))
		exit(4);
	if (!registered && cuptiActivityRegisterCallbacks(give_buffer, count_kernels))
		exit(4);
	registered = true; /* the stand-in keeps them */
	if (cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL))
		exit(4);
	launch(a);
	cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	ends = finalizes;
	if (finalizes)
		CHECK(cuCtxSynchronize());
	else
		printf("unsubscribe %d, ", cuptiUnsubscribe(subscriber));
	printf("kernels %d\n", kernels);
}

int main(int argc, char **argv)
{
	struct awkward a;

	awkward_start(&a);
	launch(&a);
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "nothing"))
			printf("finalize %d\n", cuptiFinalize());
		else
			profile(&a, !strcmp(argv[i], "finalize"));
		sleep_ms(SETTLE_MS);
		launch(&a);
	}
	return 0;
}
