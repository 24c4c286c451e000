#include "refusal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

int kc__refuse(struct kc_refusal *refusal, size_t offset, const char *format, ...)
{
	va_list args;

	if (!refusal)
		return -EBADMSG;
	refusal->offset = offset;
	va_start(args, format);
	vsnprintf(refusal->reason, sizeof(refusal->reason), format, args);
	va_end(args);
	return -EBADMSG;
}
