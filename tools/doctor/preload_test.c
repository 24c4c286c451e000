#include "inspect.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define OURS "/opt/lib/libkerncast.so"

static void expect(const char *existing, const char *sanitizer, const char *value)
{
	char out[256];

	assert_int_equal(kc_preload_value(existing, OURS, sanitizer, out, sizeof(out)), 0);
	assert_string_equal(out, value);
}

static void test_what_is_there_stays_behind_ours(void **state)
{
	(void)state;
	expect(NULL, "", OURS);
	expect("", "", OURS);
	expect("/a/liba.so", "", OURS ":/a/liba.so");
	expect("liba.so libb.so::libc.so", "", OURS ":liba.so:libb.so:libc.so");
	expect(" : ", "", OURS);
}

static void test_ours_is_added_once(void **state)
{
	(void)state;
	expect(OURS, "", OURS);
	expect("liba.so:" OURS, "", OURS ":liba.so");
	expect(OURS "x", "", OURS ":" OURS "x");
}

/* A sanitizer's runtime refuses to start behind another library. */
static void test_sanitizers_come_first(void **state)
{
	(void)state;
	expect("liba.so:/usr/lib/libasan.so.8", "", "/usr/lib/libasan.so.8:" OURS ":liba.so");
	expect(NULL, "libasan.so.8", "libasan.so.8:" OURS);
	expect("libtsan.so.2", "libtsan.so.2", "libtsan.so.2:" OURS);
}

static void test_what_cannot_be_said_is_refused(void **state)
{
	char out[32];

	(void)state;
	assert_int_equal(kc_preload_value(NULL, "/a b/lib.so", "", out, sizeof(out)), -EINVAL);
	assert_int_equal(kc_preload_value(NULL, "/a:b/lib.so", "", out, sizeof(out)), -EINVAL);
	assert_int_equal(kc_preload_value("/a/rather/long/name.so", "/lib.so", "", out, 20), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_what_is_there_stays_behind_ours),
	    cmocka_unit_test(test_ours_is_added_once),
	    cmocka_unit_test(test_sanitizers_come_first),
	    cmocka_unit_test(test_what_cannot_be_said_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
