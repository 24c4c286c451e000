#include "journal.h"
#include "predictor/code/cost.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { ASSUMED_MAX = 255 };

/* The numbers behind those of the counters, in this order: a double, or a flag of one byte. */
static const struct {
	size_t at, bytes;
} further[] = {
#define MEMBER(name)                                                                                                   \
	{                                                                                                              \
		offsetof(struct kc_counts, name), sizeof(((struct kc_counts *)NULL)->name)                             \
	}
    MEMBER(least_sectors),
    MEMBER(scattered_sectors),
    MEMBER(least_passes),
    MEMBER(threads),
    MEMBER(active_share),
    MEMBER(exact),
    MEMBER(sampled),
    MEMBER(assumed),
    MEMBER(other_architecture),
    MEMBER(longest_warp),
    MEMBER(distinct_loaded_bytes),
    MEMBER(distinct_stored_bytes),
    MEMBER(distinct_atomics),
    MEMBER(unsure_share),
    MEMBER(chain_cycles),
    MEMBER(chain_far),
    MEMBER(chain_near),
    MEMBER(contended),
    MEMBER(wide_conversions),
    MEMBER(scattered_local),
    MEMBER(lines),
    MEMBER(longest_cycles),
    MEMBER(longest_far),
    MEMBER(longest_near),
    MEMBER(block_loaded_bytes),
    MEMBER(constant_requests),
    MEMBER(chain_common),
    MEMBER(longest_common),
    MEMBER(accesses_local),
};
enum { FURTHER_NUMBERS = sizeof(further) / sizeof(*further) };
_Static_assert(KC_WORK_NUMBERS == KC_COUNTER_COUNT + FURTHER_NUMBERS, "all of struct kc_counts");

void kc_work_numbers(const struct kc_counts *counts, double numbers[KC_WORK_NUMBERS])
{
	memcpy(numbers, counts->of, sizeof(counts->of));
	for (size_t i = 0; i < FURTHER_NUMBERS; i++) {
		const void *member = (const char *)counts + further[i].at;

		numbers[KC_COUNTER_COUNT + i] =
		    further[i].bytes == 1 ? *(const uint8_t *)member : *(const double *)member;
	}
}

static int are_possible(const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(numbers[i]) || numbers[i] < 0)
			return 0;
	return 1;
}

int kc_work_counts(const double *numbers, size_t count, struct kc_counts *counts)
{
	if (count > KC_WORK_NUMBERS)
		count = KC_WORK_NUMBERS;
	if (count < KC_WORK_NUMBERS_MIN || !are_possible(numbers, count))
		return -EINVAL;
	*counts = (struct kc_counts){0};
	memcpy(counts->of, numbers, sizeof(counts->of));
	for (size_t i = 0; KC_COUNTER_COUNT + i < count; i++) {
		void *member = (char *)counts + further[i].at;
		double number = numbers[KC_COUNTER_COUNT + i];

		if (further[i].bytes > 1)
			*(double *)member = number;
		else if (further[i].at != offsetof(struct kc_counts, assumed))
			*(uint8_t *)member = number != 0;
		else
			*(uint8_t *)member = number <= ASSUMED_MAX ? (uint8_t)number : KC_ASSUMED_UNTOLD;
	}
	return 0;
}
