/* How long something lasts: a time, or a number of launches. */
#ifndef KC_EXTENT_H
#define KC_EXTENT_H

#include <stdint.h>

struct kc_extent { /* all zeros: none */
	int64_t ns;
	uint64_t launches;
};

/* Reads "200us", "500ms", "30s", "5m", "2h" or "30d". 0; -EINVAL: it is no such time, is 0, or is longer than 100,000
 * days. */
int kc_parse_duration(const char *text, int64_t *ns);
/* The same, or a number of launches without a unit. */
int kc_parse_extent(const char *text, struct kc_extent *extent);

#endif
