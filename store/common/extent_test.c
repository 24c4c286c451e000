#include "extent.h"
#include "keep.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void durations(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
	    {"500ms", 500000000},  {"30s", 30000000000},   {"5m", 300000000000},
	    {"2h", 7200000000000}, {"1d", 86400000000000}, {"100000d", 8640000000000000000},
	};
	static const char *const bad[] = {"",     "5",  "s",    "0s",  "-1s",     " 1s",
					  "1.5h", "1S", "1sec", "1 s", "100001d", "9999999999h"};
	int64_t ns;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(kc_parse_duration(rows[i].text, &ns), 0);
		assert_int_equal(ns, rows[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(kc_parse_duration(bad[i], &ns), -EINVAL);
}

static void times_or_launches(void **state)
{
	static const char *const bad[] = {"", "0", "soon", "10x", "9223372036854775808", "99999999999999999999"};
	struct kc_extent extent;

	(void)state;
	assert_int_equal(kc_parse_extent("1000", &extent), 0);
	assert_int_equal(extent.launches, 1000);
	assert_int_equal(extent.ns, 0);
	assert_int_equal(kc_parse_extent("10s", &extent), 0);
	assert_int_equal(extent.launches, 0);
	assert_int_equal(extent.ns, 10000000000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(kc_parse_extent(bad[i], &extent), -EINVAL);
}

static void what_to_keep(void **state)
{
	static const char *const bad[] = {"", "0", "0d", "0K", "2g", "2GB", "1.5d", "K", "G2"};
	struct kc_keep keep = {0};

	(void)state;
	assert_int_equal(kc_parse_keep("30d", &keep), 0);
	assert_int_equal(kc_parse_keep("20", &keep), 0);
	assert_int_equal(kc_parse_keep("2G", &keep), 0);
	assert_int_equal(keep.age_ns, 2592000000000000);
	assert_int_equal(keep.runs, 20);
	assert_int_equal(keep.bytes, 2147483648);
	for (int i = 0; i < 2; i++) { /* of two rules of a kind the stricter one, in either order */
		assert_int_equal(kc_parse_keep(i ? "10d" : "40d", &keep), 0);
		assert_int_equal(kc_parse_keep(i ? "5" : "30", &keep), 0);
		assert_int_equal(kc_parse_keep(i ? "1G" : "3G", &keep), 0);
		assert_int_equal(keep.age_ns, (i ? 10 : 30) * 86400000000000);
		assert_int_equal(keep.runs, i ? 5 : 20);
		assert_int_equal(keep.bytes, (i ? 1 : 2) * 1073741824ll);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(kc_parse_keep(bad[i], &keep), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(durations),
	    cmocka_unit_test(times_or_launches),
	    cmocka_unit_test(what_to_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
