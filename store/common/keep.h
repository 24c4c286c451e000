/* What a database is to keep of its runs. */
#ifndef KC_KEEP_H
#define KC_KEEP_H

#include <stdint.h>

struct kc_keep { /* 0: no such rule; a run that one of them does not keep goes */
	int64_t age_ns;
	uint64_t runs;
	uint64_t bytes;
};

/* Adds a rule: "30d" (any time of kc_parse_duration()), "20" (runs) or "2G" (a size with K, M or G). 0 or -EINVAL. */
int kc_parse_keep(const char *text, struct kc_keep *keep);

#endif
