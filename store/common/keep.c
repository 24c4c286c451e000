#include "keep.h"
#include "extent.h"
#include "options.h"

#include <errno.h>
#include <string.h>

int kc_parse_keep(const char *text, struct kc_keep *keep)
{
	struct kc_extent extent;
	uint64_t bytes;

	if (kc_parse_extent(text, &extent) == 0) {
		if (extent.ns)
			keep->age_ns = extent.ns;
		else
			keep->runs = extent.launches;
		return 0;
	}
	if (!text[0] || !strchr("KMG", text[strlen(text) - 1]) || kc_parse_bytes(text, &bytes) || !bytes)
		return -EINVAL;
	keep->bytes = bytes;
	return 0;
}
