/* Sectors, lines and passes of random addresses, as their definitions have them: sectors of 32 bytes that any lane
 * touches, the same on average over alignments, lines of 128 bytes; words of the bank that has most of them. */
#include "memory.h"
#include "predictor/math/random_testing.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 20000, FIRST = 1 << 20 };

/* Pieces of so many bytes that the lanes of `mask` touch, all addresses moved by `by` bytes. */
static uint32_t pieces(const struct kc_lanes *address, uint32_t mask, const uint8_t bytes[KC_WARP_LANES], uint32_t by,
		       uint32_t piece_bytes)
{
	uint32_t count = 0;
	int64_t met[KC_WARP_LANES * 16];

	for (uint32_t lane = 0; lane < KC_WARP_LANES; lane++)
		for (uint32_t byte = 0; mask >> lane & 1 && byte < bytes[lane]; byte++) {
			int64_t piece = (kc__lane(address, lane) + by + byte) / piece_bytes;
			uint32_t n = 0;

			while (n < count && met[n] != piece)
				n++;
			if (n == count)
				met[count++] = piece;
		}
	return count;
}

static double mean_sectors(const struct kc_lanes *address, uint32_t mask, const uint8_t bytes[KC_WARP_LANES],
			   uint32_t apart)
{
	double sum = 0;

	for (uint32_t by = 0; by < KC_SECTOR_BYTES; by += apart)
		sum += pieces(address, mask, bytes, by, KC_SECTOR_BYTES);
	return sum * apart / KC_SECTOR_BYTES;
}

/* Parts of the warp are served one after another; in each, the words of a bank. */
static uint32_t passes(const struct kc_lanes *address, uint32_t mask, uint32_t bytes)
{
	uint32_t words = bytes / 4 ? bytes / 4 : 1, lanes = KC_WARP_LANES / words, sum = 0;

	for (uint32_t first = 0; first < KC_WARP_LANES; first += lanes) {
		uint32_t most = 0;

		for (uint32_t bank = 0; bank < 32; bank++) {
			int64_t met[KC_WARP_LANES * 4];
			uint32_t count = 0;

			for (uint32_t lane = first; lane < first + lanes; lane++)
				for (uint32_t word = 0; mask >> lane & 1 && word < words; word++) {
					int64_t at = kc__lane(address, lane) / 4 + word;
					uint32_t n = 0;

					while (n < count && met[n] != at)
						n++;
					if (at % 32 == bank && n == count)
						met[count++] = at;
				}
			most = count > most ? count : most;
		}
		sum += most;
	}
	return sum;
}

/* Few different steps, so that lanes meet each other often. */
static int64_t some_step(uint32_t bytes)
{
	static const int64_t steps[] = {0, 1, 2, 4, 8, 16, 20, 32, 36, 64, 128, 256};

	return steps[random_below(sizeof(steps) / sizeof(*steps))] * bytes * (random_below(4) ? 1 : -1);
}

/* All the same, a row or rows that are a plane, or any. Where the warp is one row there is no step to the next. */
static struct kc_lanes some_lanes(uint32_t bytes)
{
	struct kc_lanes lanes;
	uint32_t is_any = random_below(4) == 0, is_row = random_below(2);

	memset(&lanes, 0, sizeof(lanes));
	lanes.known = KC_ALL_LANES;
	lanes.row_log2 = (uint8_t)(is_row ? 5 : random_below(5));
	lanes.column_step = lanes.row_log2 ? some_step(bytes) : 0;
	lanes.row_step = is_row ? 0 : some_step(bytes);
	lanes.uniform = !is_any && !lanes.column_step && !lanes.row_step;
	lanes.plane = !is_any && !lanes.uniform;
	for (uint32_t i = 0; i < KC_WARP_LANES; i++)
		lanes.v[i] = FIRST + (int64_t)(random_below(64) * bytes);
	return lanes;
}

/* All lanes, some next to each other, or any; one at least. */
static uint32_t some_mask(void)
{
	uint32_t first = random_below(KC_WARP_LANES), count = 1 + random_below(KC_WARP_LANES - first);

	switch (random_below(3)) {
	case 0:
		return KC_ALL_LANES;
	case 1:
		return (uint32_t)(((UINT64_C(1) << count) - 1) << first);
	default:
		return 1u << first | random_below(1u << 31);
	}
}

static void sectors_and_lines(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t bytes = 1u << random_below(5), mask = some_mask(), apart = 4u << random_below(4);
		const struct kc_lanes address = some_lanes(bytes);
		uint8_t of[KC_WARP_LANES];

		memset(of, (int)bytes, sizeof(of));
		assert_int_equal(kc__sectors(&address, mask, bytes), pieces(&address, mask, of, 0, KC_SECTOR_BYTES));
		assert_int_equal(kc__lines(&address, mask, bytes), pieces(&address, mask, of, 0, 128));
		assert_float_equal(kc__mean_sectors(&address, mask, bytes, apart),
				   mean_sectors(&address, mask, of, apart), 1e-6);
		for (uint32_t lane = 0; lane < KC_WARP_LANES; lane++)
			of[lane] = (uint8_t)(1 + random_below(bytes));
		assert_int_equal(kc__uneven_sectors(&address, mask, of),
				 pieces(&address, mask, of, 0, KC_SECTOR_BYTES));
	}
}

static void passes_of_banks(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t bytes = 4u << random_below(3), mask = some_mask();
		const struct kc_lanes address = some_lanes(bytes);

		assert_int_equal(kc__passes(&address, mask, bytes, 0), passes(&address, mask, bytes));
	}
}

/* Bytes next to each other in a row: one sector, and one more for each byte behind the first in 32 of them. For all of
 * 32 alignments this is exact in a plane alone. */
static void alignments_of_single_bytes(void **state)
{
	struct kc_lanes row = some_lanes(1);

	(void)state;
	row.uniform = 0;
	row.plane = 1;
	row.row_log2 = 5;
	row.column_step = 1;
	for (uint32_t count = 1; count < KC_WARP_LANES; count++)
		for (uint32_t first = 0; first + count <= KC_WARP_LANES; first += 3)
			assert_float_equal(kc__mean_sectors(&row, ((1u << count) - 1) << first, 1, 1),
					   1 + (count - 1) / 32.0, 1e-9);
	assert_float_equal(kc__mean_sectors(&row, KC_ALL_LANES, 1, 1), 1 + 31 / 32.0, 1e-9);
}

/* Lanes whose addresses are not known touch sectors of their own, together a line, and conflict with no other. */
static void addresses_that_are_not_known(void **state)
{
	struct kc_lanes address = some_lanes(4);
	uint8_t of[KC_WARP_LANES];

	(void)state;
	memset(of, 16, sizeof(of));
	address.uniform = 1;
	address.plane = 0;
	address.v[0] = FIRST;
	address.known = 0xff;
	assert_int_equal(kc__sectors(&address, 0xfff, 4), 1 + 4);
	assert_int_equal(kc__lines(&address, 0xfff, 4), 1 + 1);
	assert_int_equal(kc__uneven_sectors(&address, 0xfff, of), 1 + 4);
	assert_int_equal(kc__passes(&address, 0xfff, 4, 0), 1);
	assert_int_equal(kc__sectors(&address, 0xf00, 4), 4);
	assert_int_equal(kc__lines(&address, 0xf00, 4), 1);
	assert_int_equal(kc__passes(&address, 0xf00, 4, 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sectors_and_lines),
	    cmocka_unit_test(passes_of_banks),
	    cmocka_unit_test(alignments_of_single_bytes),
	    cmocka_unit_test(addresses_that_are_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
