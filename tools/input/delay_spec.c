#include "delay_spec.h"
#include "kernel_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int batch_of(const char *text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return *end || errno || *out < 1 || *out > UINT32_MAX ? -EINVAL : 0;
}

int kc_delay_spec(const char *text, struct kc_replay_delay *out)
{
	const char *comma = strchr(text, ',');
	size_t length = comma ? (size_t)(comma - text) : strlen(text);
	char time[32];

	*out = (struct kc_replay_delay){.batch = 1};
	if (length >= sizeof(time) || (comma && batch_of(comma + 1, &out->batch) < 0))
		return -EINVAL;
	snprintf(time, sizeof(time), "%.*s", (int)length, text);
	return strcmp(time, "0") ? kc_time_ns(time, &out->ns) : 0;
}
