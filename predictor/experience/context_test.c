#include "context.h"
#include "context_testing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { STREAM, OTHER, THIRD };

static void add(struct kc_history *h, uint64_t identity)
{
	kc_history_add(h, identity, STREAM, 0);
}

/* What a launch of `identity` would see after these. */
static uint64_t after(const uint64_t *launches, uint32_t count, uint64_t identity)
{
	struct kc_history h;

	kc_history_init(&h, 0);
	for (uint32_t i = 0; i < count; i++)
		add(&h, launches[i]);
	return context_in(&h, identity, STREAM, 0);
}

static uint32_t part_after(const uint64_t *launches, uint32_t count, enum kc_context_kind kind)
{
	return kc_context_part(after(launches, count, 99), kind);
}

#define COUNT(a) (uint32_t)(sizeof(a) / sizeof((a)[0]))

/* A context of n launches is the same whatever came before those, and another where one of them, or their order, is. */
static void windows(void **state)
{
	static const struct {
		enum kc_context_kind kind;
		uint32_t launches;
	} table[] = {{KC_CONTEXT_LAST_1, 1}, {KC_CONTEXT_LAST_2, 2}, {KC_CONTEXT_LAST_8, 8}, {KC_CONTEXT_LAST_32, 32}};
	uint64_t one[80], two[80];

	(void)state;
	for (uint32_t row = 0; row < COUNT(table); row++) {
		uint32_t n = table[row].launches;

		for (uint32_t i = 0; i < 80; i++) {
			one[i] = 1 + i % 7;
			two[i] = i < 80 - n ? 20 + i % 5 : one[i];
		}
		assert_int_equal(part_after(one, 80, table[row].kind), part_after(two, 80, table[row].kind));
		two[80 - n] = 50;
		assert_int_not_equal(part_after(one, 80, table[row].kind), part_after(two, 80, table[row].kind));
		if (n == 1)
			continue;
		two[80 - n] = one[81 - n];
		two[81 - n] = one[80 - n];
		assert_int_not_equal(part_after(one, 80, table[row].kind), part_after(two, 80, table[row].kind));
	}
}

static void the_shape_alone_has_one_context(void **state)
{
	static const uint64_t some[] = {1, 2, 3}, others[] = {4, 5};

	(void)state;
	assert_int_equal(part_after(some, COUNT(some), KC_CONTEXT_SHAPE), 0);
	assert_int_equal(part_after(others, COUNT(others), KC_CONTEXT_SHAPE), 0);
}

/* Launched last 1, 2, 3, 4, 7, 8, 16, 31, 32 launches ago: powers of two. */
static void since(void **state)
{
	static const uint32_t table[][2] = {{1, 1}, {2, 2},  {3, 2},  {4, 3},  {7, 3},
					    {8, 4}, {15, 4}, {16, 5}, {31, 5}, {32, 6}};

	(void)state;
	for (uint32_t row = 0; row < COUNT(table); row++) {
		struct kc_history h;

		kc_history_init(&h, 0);
		for (uint32_t i = 0; i < 40; i++)
			add(&h, 7);
		add(&h, 99);
		for (uint32_t i = 1; i < table[row][0]; i++)
			add(&h, 7);
		assert_int_equal(kc_context_part(context_in(&h, 99, STREAM, 0), KC_CONTEXT_SINCE), table[row][1]);
	}
}

static uint32_t company_of(const struct kc_history *h, uint32_t stream, int64_t now_ns)
{
	return kc_context_part(context_in(h, 99, stream, now_ns), KC_CONTEXT_CONCURRENT);
}

/* What runs in other streams when the launch can start, whichever streams those are. */
static void concurrent(void **state)
{
	struct kc_history nobody, one, same, other, finished;

	(void)state;
	kc_history_init(&nobody, 0);
	one = same = other = finished = nobody;
	kc_history_add(&one, 5, OTHER, 1000);
	kc_history_add(&same, 5, THIRD, 1000);
	kc_history_add(&other, 6, OTHER, 1000);
	kc_history_add(&finished, 5, OTHER, 100);
	/* The last launch is the same in all, so that only the concurrent launches differ. */
	kc_history_add(&nobody, 7, STREAM, 200);
	kc_history_add(&one, 7, STREAM, 200);
	kc_history_add(&same, 7, STREAM, 200);
	kc_history_add(&other, 7, STREAM, 200);
	kc_history_add(&finished, 7, STREAM, 200);
	assert_int_equal(company_of(&one, STREAM, 0), company_of(&same, STREAM, 0));
	assert_int_not_equal(company_of(&one, STREAM, 0), company_of(&other, STREAM, 0));
	assert_int_not_equal(company_of(&one, STREAM, 0), company_of(&nobody, STREAM, 0));
	/* The other one has ended before this stream's last launch has. */
	assert_int_equal(company_of(&finished, STREAM, 0), company_of(&nobody, STREAM, 0));
	/* Everything has ended. */
	assert_int_equal(company_of(&one, STREAM, 1000), company_of(&nobody, STREAM, 1000));
}

/* Of 1,000 launches before, fewer than 5 in 2,048 values: about 1,000 · 999 / 2 / 2,048 = 244 pairs collide. */
static void parts_are_spread_and_leave_bits_free(void **state)
{
	static uint32_t seen[1u << KC_CONTEXT_PART_BITS];
	uint32_t most = 0;

	(void)state;
	for (uint64_t i = 1; i <= 1000; i++) {
		uint64_t context = after(&i, 1, 99);
		uint32_t part = kc_context_part(context, KC_CONTEXT_LAST_1);

		assert_int_equal(context >> KC_CONTEXT_FREE_SHIFT, 0);
		seen[part]++;
		most = seen[part] > most ? seen[part] : most;
	}
	assert_true(most <= 5);
}

static void any_stream_number(void **state)
{
	struct kc_history h;

	(void)state;
	kc_history_init(&h, 0);
	kc_history_add(&h, 5, UINT32_MAX, INT64_MAX);
	kc_history_add(&h, 6, 1000000, INT64_MIN);
	context_in(&h, 5, UINT32_MAX, INT64_MIN);
	assert_int_equal(h.stream_count, KC_HISTORY_STREAMS);
}

/* The first 8 launches are told from all others, and from one another. */
static void starts(void **state)
{
	uint8_t seen[KC_CONTEXT_START_PARTS] = {0};
	struct kc_history h, joined;

	(void)state;
	kc_history_init(&h, 0);
	kc_history_init(&joined, 1);
	for (uint32_t i = 0; i < 80; i++) {
		uint64_t context = context_in(&h, 7, STREAM, 0);

		assert_int_equal(kc_context_is_start(context), i < 8);
		if (i < 8)
			assert_int_equal(seen[kc_context_part(context, KC_CONTEXT_LAST_32)]++, 0);
		assert_int_equal(kc_context_is_start(context_in(&joined, 7, STREAM, 0)), 0);
		add(&h, 7);
		add(&joined, 7);
	}
	assert_int_equal(context_in(&h, 7, STREAM, 0), context_in(&joined, 7, STREAM, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(windows),
	    cmocka_unit_test(the_shape_alone_has_one_context),
	    cmocka_unit_test(since),
	    cmocka_unit_test(concurrent),
	    cmocka_unit_test(parts_are_spread_and_leave_bits_free),
	    cmocka_unit_test(any_stream_number),
	    cmocka_unit_test(starts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
