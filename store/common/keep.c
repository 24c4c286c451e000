#include "keep.h"
#include "extent.h"
#include "options.h"

#include <errno.h>
#include <string.h>

/* Of two rules of a kind the stricter one decides. */
static void tighten(uint64_t *rule, uint64_t value)
{
	if (!*rule || value < *rule)
		*rule = value;
}

int kc_parse_keep(const char *text, struct kc_keep *keep)
{
	struct kc_extent extent;
	uint64_t bytes;

	if (kc_parse_extent(text, &extent) == 0) {
		if (!extent.ns)
			tighten(&keep->runs, extent.launches);
		else if (!keep->age_ns || extent.ns < keep->age_ns)
			keep->age_ns = extent.ns;
		return 0;
	}
	if (!text[0] || !strchr("KMG", text[strlen(text) - 1]) || kc_parse_bytes(text, &bytes) || !bytes)
		return -EINVAL;
	tighten(&keep->bytes, bytes);
	return 0;
}
