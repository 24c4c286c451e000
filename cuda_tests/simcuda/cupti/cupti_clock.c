#include <time.h>

#include "cupti_private.h"

enum {
	TRIES = 16,
	STEP_NS = 1000, /* a clock that differs by more has been set; it was not misread */
};

/* Bounds of how far the record clock is ahead of the device's, from one pair of readings. */
struct window {
	int64_t low_ns, high_ns;
};

uint64_t cupti__now(void)
{
	CUpti_TimestampCallbackFunc callback = cupti__self.clock.callback;
	struct timespec now;

	if (callback)
		return callback();
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct window narrowest_window(void)
{
	struct window best = {INT64_MIN / 2, INT64_MAX / 2};

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = cupti__self.driver.now_ns();
		uint64_t record = cupti__now();
		uint64_t after = cupti__self.driver.now_ns();
		struct window window = {(int64_t)(record - after), (int64_t)(record - before)};

		if (window.high_ns - window.low_ns < best.high_ns - best.low_ns)
			best = window;
	}
	return best;
}

/*
 * The offset stays as it is while it explains the readings to within a
 * microsecond, so that records keep their order and lengths. 0 wins where it is
 * possible: the client's clock is then the device's own.
 */
void cupti__adjust_clock(bool fresh)
{
	struct window window = narrowest_window();
	int64_t offset = cupti__self.clock.offset_ns;

	if (!fresh && offset >= window.low_ns - STEP_NS && offset <= window.high_ns + STEP_NS)
		return;
	offset = window.low_ns + (window.high_ns - window.low_ns) / 2;
	if (window.low_ns <= 0 && window.high_ns >= 0)
		offset = 0;
	cupti__self.clock.offset_ns = offset;
}

uint64_t cupti__timestamp(uint64_t device_ns)
{
	return device_ns ? device_ns + (uint64_t)cupti__self.clock.offset_ns : CUPTI_TIMESTAMP_UNKNOWN;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc callback)
{
	CUptiResult result;

	if (!callback)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	result = cupti__attach();
	if (result)
		return cupti__result(result);
	cupti__self.clock.callback = callback;
	cupti__adjust_clock(true);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *timestamp)
{
	if (!timestamp)
		return cupti__result(CUPTI_ERROR_INVALID_PARAMETER);
	*timestamp = cupti__now();
	return CUPTI_SUCCESS;
}
