#include "journal.h"
#include "predictor/code/cost.h"

#include <errno.h>
#include <math.h>
#include <string.h>

enum { FURTHER_NUMBERS = 28, ASSUMED_MAX = 255 };
_Static_assert(KC_WORK_NUMBERS == KC_COUNTER_COUNT + FURTHER_NUMBERS, "all of struct kc_counts");

void kc_work_numbers(const struct kc_counts *counts, double numbers[KC_WORK_NUMBERS])
{
	const double further[FURTHER_NUMBERS] = {
	    counts->least_sectors,
	    counts->scattered_sectors,
	    counts->least_passes,
	    counts->threads,
	    counts->active_share,
	    counts->exact,
	    counts->sampled,
	    counts->assumed,
	    counts->other_architecture,
	    counts->longest_warp,
	    counts->distinct_loaded_bytes,
	    counts->distinct_stored_bytes,
	    counts->distinct_atomics,
	    counts->unsure_share,
	    counts->chain_cycles,
	    counts->chain_far,
	    counts->chain_near,
	    counts->contended,
	    counts->wide_conversions,
	    counts->scattered_local,
	    counts->lines,
	    counts->longest_cycles,
	    counts->longest_far,
	    counts->longest_near,
	    counts->block_loaded_bytes,
	    counts->constant_requests,
	    counts->chain_common,
	    counts->longest_common,
	};

	memcpy(numbers, counts->of, sizeof(counts->of));
	memcpy(numbers + KC_COUNTER_COUNT, further, sizeof(further));
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
	const double *further = numbers + KC_COUNTER_COUNT;

	if (count > KC_WORK_NUMBERS)
		count = KC_WORK_NUMBERS;
	if (count < KC_WORK_NUMBERS_MIN || !are_possible(numbers, count))
		return -EINVAL;
	*counts = (struct kc_counts){
	    .least_sectors = further[0],
	    .scattered_sectors = further[1],
	    .least_passes = further[2],
	    .threads = further[3],
	    .active_share = further[4],
	    .exact = further[5] != 0,
	    .sampled = further[6] != 0,
	    .assumed = further[7] <= ASSUMED_MAX ? (uint8_t)further[7] : KC_ASSUMED_UNTOLD,
	    .other_architecture = count > KC_COUNTER_COUNT + 8 && further[8] != 0,
	    .longest_warp = count > KC_COUNTER_COUNT + 9 ? further[9] : 0,
	    .distinct_loaded_bytes = count > KC_COUNTER_COUNT + 10 ? further[10] : 0,
	    .distinct_stored_bytes = count > KC_COUNTER_COUNT + 11 ? further[11] : 0,
	    .distinct_atomics = count > KC_COUNTER_COUNT + 12 ? further[12] : 0,
	    .unsure_share = count > KC_COUNTER_COUNT + 13 ? further[13] : 0,
	    .chain_cycles = count > KC_COUNTER_COUNT + 14 ? further[14] : 0,
	    .chain_far = count > KC_COUNTER_COUNT + 15 ? further[15] : 0,
	    .chain_near = count > KC_COUNTER_COUNT + 16 ? further[16] : 0,
	    .contended = count > KC_COUNTER_COUNT + 17 ? further[17] : 0,
	    .wide_conversions = count > KC_COUNTER_COUNT + 18 ? further[18] : 0,
	    .scattered_local = count > KC_COUNTER_COUNT + 19 ? further[19] : 0,
	    .lines = count > KC_COUNTER_COUNT + 20 ? further[20] : 0,
	    .longest_cycles = count > KC_COUNTER_COUNT + 21 ? further[21] : 0,
	    .longest_far = count > KC_COUNTER_COUNT + 22 ? further[22] : 0,
	    .longest_near = count > KC_COUNTER_COUNT + 23 ? further[23] : 0,
	    .block_loaded_bytes = count > KC_COUNTER_COUNT + 24 ? further[24] : 0,
	    .constant_requests = count > KC_COUNTER_COUNT + 25 ? further[25] : 0,
	    .chain_common = count > KC_COUNTER_COUNT + 26 ? further[26] : 0,
	    .longest_common = count > KC_COUNTER_COUNT + 27 ? further[27] : 0,
	};
	memcpy(counts->of, numbers, sizeof(counts->of));
	return 0;
}
