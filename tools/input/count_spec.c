#include "count_spec.h"

#include "predictor/device/units.h"
#include "store/common/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BYTES 4.0
#define COUNT_MAX 1e15 /* keeps products with threads and cycles far from overflow */

/* Keys beside the counters, and which counters were given. */
struct given {
	int is_beside; /* another kernel */
	uint8_t counter[KC_COUNTER_COUNT];
	double sectors_per_request; /* 0: not given */
	double bank_conflict_degree;
};

static int number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end == text || *end || !(*out >= 0) || *out > COUNT_MAX ? -EINVAL : 0;
}

static int bytes(const char *text, double *out)
{
	uint64_t value;

	if (kc_parse_bytes(text, &value) || (double)value > COUNT_MAX)
		return -EINVAL;
	*out = (double)value;
	return 0;
}

/* -ENOENT: no counter. */
static int set(struct kc_count_spec *spec, struct given *given, const char *key, const char *value)
{
	if (!strcmp(key, "sectors_per_request"))
		return number(value, &given->sectors_per_request);
	if (!strcmp(key, "bank_conflict_degree"))
		return number(value, &given->bank_conflict_degree);
	for (unsigned i = 0; i < KC_COUNTER_COUNT; i++) {
		if (strcmp(key, kc_cost_counter_name(i)))
			continue;
		given->counter[i] = 1;
		spec->has_counters = 1;
		return number(value, &spec->counts.of[i]);
	}
	return given->is_beside && !strcmp(key, "footprint") ? bytes(value, &spec->footprint_bytes) : -ENOENT;
}

static void fill(struct kc_count_spec *spec, const struct given *given, enum kc_cost_counter counter, double value)
{
	if (!given->counter[counter])
		spec->counts.of[counter] = value;
}

static void fill_what_follows(struct kc_count_spec *spec, const struct given *given)
{
	double *n = spec->counts.of;
	double shared, coalesced;

	fill(spec, given, KC_COUNT_OF_BYTES_LOADED, WORD_BYTES * n[KC_COUNT_OF_LD_GLOBAL]);
	fill(spec, given, KC_COUNT_OF_BYTES_STORED, WORD_BYTES * n[KC_COUNT_OF_ST_GLOBAL]);
	fill(spec, given, KC_COUNT_OF_REQUESTS,
	     (n[KC_COUNT_OF_LD_GLOBAL] + n[KC_COUNT_OF_ST_GLOBAL] + n[KC_COUNT_OF_ATOMICS] -
	      n[KC_COUNT_OF_ATOMICS_SHARED]) /
		 KC_WARP_LANES);
	coalesced = (n[KC_COUNT_OF_BYTES_LOADED] + n[KC_COUNT_OF_BYTES_STORED]) / KC_SECTOR_BYTES;
	fill(spec, given, KC_COUNT_OF_SECTORS,
	     given->sectors_per_request > 0 ? given->sectors_per_request * n[KC_COUNT_OF_REQUESTS]
					    : fmax(coalesced, n[KC_COUNT_OF_REQUESTS]));
	shared = n[KC_COUNT_OF_LD_SHARED] + n[KC_COUNT_OF_ST_SHARED] + n[KC_COUNT_OF_ATOMICS_SHARED];
	fill(spec, given, KC_COUNT_OF_SHARED_REQUESTS, shared / KC_WARP_LANES);
	fill(spec, given, KC_COUNT_OF_SHARED_PASSES,
	     fmax(given->bank_conflict_degree, 1) * n[KC_COUNT_OF_SHARED_REQUESTS]);
	spec->counts.threads = (double)spec->kernel.blocks * spec->kernel.threads;
	spec->counts.active_share = 1;
}

static int is_of_kernel(const struct given *given, const char *key)
{
	return !strcmp(key, "blocks") || !strcmp(key, "threads") || !strcmp(key, "regs") || !strcmp(key, "smem") ||
	       (given->is_beside && (!strcmp(key, "cluster") || !strcmp(key, "time")));
}

/* One key=value: sets a counter, or appends a key of the kernel itself to left. */
static int take(struct kc_count_spec *spec, struct given *given, const char *key, const char *value, char *left,
		char *why, size_t why_size)
{
	int rc = value ? set(spec, given, key, value) : -ENOENT;

	if (rc == -EINVAL)
		snprintf(why, why_size, "%s=%s: not a number from 0 to 1e15", key, value);
	if (rc != -ENOENT)
		return rc;
	if (!value || !is_of_kernel(given, key)) {
		snprintf(why, why_size,
			 "\"%s\": a kernel has blocks=, threads=, regs=, smem=%s and counters per thread, "
			 "such as fma=",
			 key, given->is_beside ? ", cluster=, time=, footprint=" : "");
		return -EINVAL;
	}
	sprintf(left + strlen(left), "%s%s=%s", *left ? "," : "", key, value);
	return 0;
}

/* Takes the counters out of `copy`; the rest describes the kernel itself. */
static int take_counters(struct kc_count_spec *spec, struct given *given, char *copy, char *left, char *why,
			 size_t why_size)
{
	char *rest = copy, *part;
	int rc = 0;

	*left = '\0';
	while (rc == 0 && (part = strsep(&rest, ","))) {
		char *value = strchr(part, '=');

		if (value)
			*value++ = '\0';
		rc = take(spec, given, part, value, left, why, why_size);
	}
	return rc;
}

static int read_spec(const char *text, int is_beside, struct kc_count_spec *out, char *why, size_t why_size)
{
	struct given given = {.is_beside = is_beside};
	char *copy = strdup(text), *left = malloc(strlen(text) + 1);
	int rc = copy && left ? 0 : -ENOMEM;

	*out = (struct kc_count_spec){.footprint_bytes = KC_FOOTPRINT_UNKNOWN};
	if (rc)
		snprintf(why, why_size, "%s", strerror(ENOMEM));
	else
		rc = take_counters(out, &given, copy, left, why, why_size);
	if (rc == 0)
		rc = kc_kernel_spec(left, &out->kernel, why, why_size);
	out->kernel.text = text;
	if (rc == 0)
		fill_what_follows(out, &given);
	free(left);
	free(copy);
	return rc;
}

int kc_count_spec(const char *text, struct kc_count_spec *out, char *why, size_t why_size)
{
	return read_spec(text, 0, out, why, why_size);
}

int kc_neighbour_spec(const char *text, struct kc_count_spec *out, char *why, size_t why_size)
{
	return read_spec(text, 1, out, why, why_size);
}
