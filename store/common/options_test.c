#include "message.h"
#include "options.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static int clear(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++)
		unsetenv(kc_option_info(i)->env);
	return 0;
}

static void defaults(void **state)
{
	struct kc_options o;
	char why[200], here[512], db[600];

	(void)state;
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), 0);
	assert_string_equal(why, "");
	assert_non_null(getcwd(here, sizeof(here)));
	snprintf(db, sizeof(db), "%s/kerncast.db", here);
	assert_string_equal(o.db, db);
	assert_int_equal(o.measure, KC_MEASURE_ALL);
	assert_int_equal(o.journal_max_bytes, 1073741824);
	assert_int_equal(o.flush_ms, 5000);
	assert_false(o.quiet);
	assert_false(o.disable);
	assert_string_equal(o.kernel, "");
	assert_int_equal(o.every, 1);
	assert_int_equal(o.after.ns | (int64_t)o.after.launches | o.lasting.ns | (int64_t)o.lasting.launches, 0);
	assert_string_equal(o.gate, "");
	assert_int_equal(o.toggle, 0);
	assert_int_equal(o.keep.age_ns | (int64_t)(o.keep.runs | o.keep.bytes), 0);
}

static void all_set(void **state)
{
	struct kc_options o;
	char why[200];

	(void)state;
	setenv("KERNCAST_DB", "/var/lib/k.db", 1);
	setenv("KERNCAST_MEASURE", "kernels", 1);
	setenv("KERNCAST_JOURNAL_MAX", "64M", 1);
	setenv("KERNCAST_FLUSH_MS", "100", 1);
	setenv("KERNCAST_CUPTI", "/opt/libcupti.so", 1);
	setenv("KERNCAST_QUIET", "1", 1);
	setenv("KERNCAST_RUN", "r-1", 1);
	setenv("KERNCAST_DISABLE", "yes", 1);
	setenv("KERNCAST_KERNEL", "gemm|^_Z5saxpy", 1);
	setenv("KERNCAST_EVERY", "100", 1);
	setenv("KERNCAST_AFTER", "5m", 1);
	setenv("KERNCAST_FOR", "2000", 1);
	setenv("KERNCAST_WHILE", "/run/record", 1);
	setenv("KERNCAST_SIGNAL", "USR2", 1);
	setenv("KERNCAST_KEEP", "20", 1);
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), 0);
	assert_string_equal(o.db, "/var/lib/k.db");
	assert_int_equal(o.measure, KC_MEASURE_KERNELS);
	assert_int_equal(o.journal_max_bytes, 67108864);
	assert_int_equal(o.flush_ms, 100);
	assert_string_equal(o.cupti, "/opt/libcupti.so");
	assert_true(o.quiet);
	assert_string_equal(o.run, "r-1");
	assert_true(o.disable);
	assert_string_equal(o.kernel, "gemm|^_Z5saxpy");
	assert_int_equal(o.every, 100);
	assert_int_equal(o.after.ns, 300000000000);
	assert_int_equal(o.lasting.launches, 2000);
	assert_string_equal(o.gate, "/run/record");
	assert_int_equal(o.toggle, SIGUSR2);
	assert_int_equal(o.keep.runs, 20);
}

static void nonsense_keeps_the_default_and_is_named(void **state)
{
	struct kc_options o;
	char why[200];

	(void)state;
	setenv("KERNCAST_MEASURE", "some", 1);
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), -EINVAL);
	assert_int_equal(o.measure, KC_MEASURE_ALL);
	assert_string_equal(
	    why, "invalid value for KERNCAST_MEASURE: \"some\" (expected all|kernels|adaptive|off); using all");
	unsetenv("KERNCAST_MEASURE");
	setenv("KERNCAST_FLUSH_MS", "5s", 1);
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), -EINVAL);
	assert_int_equal(o.flush_ms, 5000);
	setenv("KERNCAST_FLUSH_MS", "", 1);
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), 0);
}

static void graphs_as_one_do_not_go_with_windows(void **state)
{
	struct kc_options o;
	char why[200];

	(void)state;
	setenv("KERNCAST_GRAPHS", "whole", 1);
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), 0);
	assert_int_equal(o.graphs, KC_GRAPHS_WHOLE);
	setenv("KERNCAST_MEASURE", "adaptive", 1);
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), -EINVAL);
	assert_string_equal(why, kc_option_whole_adaptive);
	assert_int_equal(o.graphs, KC_GRAPHS_NODES);
	assert_int_equal(o.measure, KC_MEASURE_ADAPTIVE);
	setenv("KERNCAST_GRAPHS", "some", 1);
	unsetenv("KERNCAST_MEASURE");
	assert_int_equal(kc_options_read(&o, why, sizeof(why)), -EINVAL);
	assert_int_equal(o.graphs, KC_GRAPHS_NODES);
}

static void a_value_by_itself(void **state)
{
	static const struct {
		enum kc_option option;
		const char *text;
		int rc;
	} rows[] = {
	    {KC_OPTION_measure, "kernels", 0},      {KC_OPTION_measure, "foo", -EINVAL},
	    {KC_OPTION_measure, "", -EINVAL},       {KC_OPTION_flush_ms, "100", 0},
	    {KC_OPTION_flush_ms, "5s", -EINVAL},    {KC_OPTION_journal_max, "1G", 0},
	    {KC_OPTION_journal_max, "1X", -EINVAL}, {KC_OPTION_quiet, "on", 0},
	    {KC_OPTION_quiet, "maybe", -EINVAL},    {KC_OPTION_kernel, "^a(b|c)$", 0},
	    {KC_OPTION_kernel, "(", -EINVAL},       {KC_OPTION_every, "0", -EINVAL},
	    {KC_OPTION_every, "5s", -EINVAL},       {KC_OPTION_after, "0", -EINVAL},
	    {KC_OPTION_lasting, "10s", 0},          {KC_OPTION_toggle, "KILL", -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(kc_option_check(rows[i].option, rows[i].text), rows[i].rc);
}

static void a_long_expression_is_refused_before_it_is_compiled(void **state)
{
	enum { DEPTH = 60000 };
	static char text[2 * DEPTH + 2];

	(void)state;
	memset(text, '(', DEPTH);
	text[DEPTH] = 'a';
	memset(text + DEPTH + 1, ')', DEPTH);
	assert_int_equal(kc_option_check(KC_OPTION_kernel, text), -EINVAL);
}

static void sizes(void **state)
{
	static const char *const bad[] = {"", "K", "-1", " 1", "1KB", "1.5G", "99999999999999999999", "17179869184G"};
	uint64_t bytes;

	(void)state;
	assert_int_equal(kc_parse_bytes("123", &bytes), 0);
	assert_int_equal(bytes, 123);
	assert_int_equal(kc_parse_bytes("64k", &bytes), 0);
	assert_int_equal(bytes, 65536);
	assert_int_equal(kc_parse_bytes("17179869183G", &bytes), 0); /* 2^34 - 1 */
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(kc_parse_bytes(bad[i], &bytes), -EINVAL);
}

static void messages(void **state)
{
	(void)state;
	assert_string_equal(kc_message_name(KC_MESSAGE_NO_CUPTI), "NO_CUPTI");
	assert_int_equal(kc_message_severity(KC_MESSAGE_JOURNAL_FULL), 2);
	assert_non_null(strstr(kc_message_text(KC_MESSAGE_NO_GPU), "no GPU"));
	assert_string_equal(kc_message_name(KC_MESSAGE_COUNT), "UNKNOWN");
	for (uint32_t i = 1; i < KC_MESSAGE_COUNT; i++)
		assert_true(kc_message_text(i)[0] != 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(defaults, clear),
	    cmocka_unit_test_setup(all_set, clear),
	    cmocka_unit_test_setup(nonsense_keeps_the_default_and_is_named, clear),
	    cmocka_unit_test_setup(graphs_as_one_do_not_go_with_windows, clear),
	    cmocka_unit_test(a_value_by_itself),
	    cmocka_unit_test(a_long_expression_is_refused_before_it_is_compiled),
	    cmocka_unit_test(sizes),
	    cmocka_unit_test(messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
