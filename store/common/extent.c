#include "extent.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_NS 86400000000000ll
#define DAYS_MAX 100000 /* 8.64e18 ns, which 64 bits hold */

static const struct {
	const char *name;
	int64_t ns;
} units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {"m", 60000000000}, {"h", 3600000000000}, {"d", DAY_NS}};

static int parse(const char *text, unsigned long long *value, const char **unit)
{
	char *end;

	if (!text || !isdigit((unsigned char)text[0]))
		return -EINVAL;
	errno = 0;
	*value = strtoull(text, &end, 10);
	*unit = end;
	return errno || !*value ? -EINVAL : 0;
}

static int scale(unsigned long long value, const char *unit, int64_t *ns)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(unit, units[i].name))
			continue;
		if (value > (unsigned long long)(DAYS_MAX * DAY_NS / units[i].ns))
			return -EINVAL;
		*ns = (int64_t)value * units[i].ns;
		return 0;
	}
	return -EINVAL;
}

int kc_parse_duration(const char *text, int64_t *ns)
{
	unsigned long long value;
	const char *unit;
	int rc = parse(text, &value, &unit);

	return rc ? rc : scale(value, unit, ns);
}

int kc_parse_extent(const char *text, struct kc_extent *extent)
{
	unsigned long long value;
	const char *unit;
	int rc = parse(text, &value, &unit);

	*extent = (struct kc_extent){0};
	if (rc)
		return rc;
	if (*unit)
		return scale(value, unit, &extent->ns);
	if (value > INT64_MAX)
		return -EINVAL;
	extent->launches = value;
	return 0;
}
