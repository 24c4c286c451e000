/* CUPTI's buffers in the GPU's memory, in which the device leaves the times of kernels, copies and memsets. */
#define KC_WITH_CUPTI
#include "cupti_client.h"
#include "measuring.h"

#include <stdio.h>

/* Of 3.2 MB and 100,000 records each, for each context. Ours in host memory bound what is in flight to less than one of
 * them, so they run out only where CUPTI does not use them again, as 13.0 does with graphs: by default it would take
 * 250 of them from the application then, github.com/parca-dev/parcagpu/issues/23. */
enum { BUFFERS_MOST = 16 };

/* So many records in a row without times are no accident. */
enum { TIMELESS_MANY = 1000 };

static struct {
	size_t theirs;     /* as many as CUPTI would take before; 0: it still does */
	uint32_t timeless; /* Worker: the last so many records have no times */
} device;

static bool get(CUpti_ActivityAttribute attribute, size_t *value)
{
	size_t bytes = sizeof(*value);

	return kc__cupti.get_attribute && kc__cupti.get_attribute(attribute, &bytes, value) == CUPTI_SUCCESS;
}

static bool set_most(size_t buffers)
{
	size_t bytes = sizeof(buffers);

	return kc__cupti.set_attribute &&
	       kc__cupti.set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &bytes, &buffers) == CUPTI_SUCCESS;
}

void kc__device_buffers_bound(void)
{
	size_t theirs;

	if (get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &theirs) && theirs > BUFFERS_MOST &&
	    set_most(BUFFERS_MOST))
		device.theirs = theirs;
}

/* Unless the application has chosen meanwhile. */
void kc__device_buffers_give_back(void)
{
	size_t now;

	if (device.theirs && get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &now) && now == BUFFERS_MOST)
		set_most(device.theirs);
	device.theirs = 0;
}

static void say_full(void)
{
	size_t buffers, bytes;
	char detail[64];

	if (get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &buffers) &&
	    get(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &bytes))
		snprintf(detail, sizeof(detail), "%zu of %.1f MB for each context", buffers, (double)bytes / 1e6);
	else
		detail[0] = 0;
	kc__say(KC_MESSAGE_DEVICE_BUFFERS, detail[0] ? detail : NULL);
}

void kc__device_buffers_look(const struct kc__record *record)
{
	device.timeless = record->start_ns ? 0 : device.timeless + 1;
	if (device.timeless == TIMELESS_MANY)
		say_full();
}
