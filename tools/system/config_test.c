#include "config.h"

#include "store/common/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LARGEST_BYTES 65536 /* config.h promises to read no longer file than a few options need */

static char path[] = "/tmp/kerncast-config-XXXXXX";
static char why[512];

static int apply(const void *text, size_t bytes)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, bytes, file), bytes);
	assert_int_equal(fclose(file), 0);
	why[0] = 0;
	return kc_config_apply(path, why, sizeof(why));
}

static int apply_text(const char *text)
{
	return apply(text, strlen(text));
}

static int begin(void **state)
{
	(void)state;
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++)
		unsetenv(kc_option_info(i)->env);
	assert_int_equal(chmod(path, 0600), 0);
	return 0;
}

static void sets_what_is_not_set(void **state)
{
	(void)state;
	setenv("KERNCAST_MEASURE", "off", 1);
	setenv("KERNCAST_KEEP", "", 1);
	assert_int_equal(apply_text("# mine\n\n  output =  /data/k 1.db \t\r\nmeasure=kernels\nkeep=20\nquiet = on"),
			 0);
	assert_string_equal(why, "");
	assert_string_equal(getenv("KERNCAST_DB"), "/data/k 1.db");
	assert_string_equal(getenv("KERNCAST_MEASURE"), "off"); /* the environment goes before the file */
	assert_string_equal(getenv("KERNCAST_KEEP"), "20");     /* an empty variable is one that is not set */
	assert_string_equal(getenv("KERNCAST_QUIET"), "on");
	assert_null(getenv("KERNCAST_CUPTI"));
}

static void a_value_keeps_its_signs(void **state)
{
	(void)state;
	assert_int_equal(apply_text("kernel = ^_Z5scale|a=b # c\n"), 0);
	assert_string_equal(getenv("KERNCAST_KERNEL"), "^_Z5scale|a=b # c");
}

static void no_file_is_no_error(void **state)
{
	(void)state;
	assert_int_equal(kc_config_apply("/nowhere/kerncast.conf", why, sizeof(why)), 0);
}

/* Each with what its message must say; a line before it, that is right, sets nothing either. */
static void a_wrong_line_is_named(void **state)
{
	static const char *const lines[][2] = {
	    {"measure = all", "line 3: measure is set in line 1 already"},
	    {"measur = all", "line 3: unknown key \"measur\""},
	    {"KERNCAST_DB = x.db", "line 3: unknown key \"KERNCAST_DB\""},
	    {"run = mine", "line 3: unknown key \"run\""},
	    {"disable = 1", "line 3: unknown key \"disable\""},
	    {"= all", "line 3: unknown key \"\""},
	    {"fresh", "line 3: expected \"key = value\""},
	    {"fresh = maybe", "line 3: fresh takes 0 or 1, not \"maybe\""},
	    {"flush = -1", "line 3: flush takes MS, not \"-1\""},
	    {"kernel = (", "line 3: kernel takes REGEX, not \"(\""},
	    {"caches =", "line 3: caches takes on|off, not \"\""},
	};
	char text[200];

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		snprintf(text, sizeof(text), "measure = kernels\n#\n%s\nquiet = 1\n", lines[i][0]);
		assert_int_equal(apply_text(text), -EINVAL);
		if (!strstr(why, lines[i][1]))
			fail_msg("%s: %s", lines[i][0], why);
		assert_non_null(strstr(why, path));
		assert_null(getenv("KERNCAST_MEASURE"));
	}
}

static void what_others_can_write_is_not_read(void **state)
{
	static const mode_t modes[] = {0620, 0602, 0666};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(apply_text("quiet = 1\n"), -EPERM);
		assert_non_null(strstr(why, "chmod go-w"));
	}
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(apply_text("quiet = 1\n"), 0);
	assert_int_equal(kc_config_apply("/dev/null", why, sizeof(why)), -EPERM);
	assert_int_equal(kc_config_apply("/", why, sizeof(why)), -EPERM);
}

static void what_another_user_owns_is_not_read(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("skipped: only root can give a file away\n");
		skip();
	}
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(apply_text("quiet = 1\n"), -EPERM);
	assert_non_null(strstr(why, "another user"));
	assert_int_equal(chown(path, 0, 0), 0);
}

static void a_long_or_binary_file_is_refused(void **state)
{
	char *text = malloc(LARGEST_BYTES + 1);

	(void)state;
	assert_non_null(text);
	memset(text, '#', LARGEST_BYTES + 1);
	assert_int_equal(apply(text, LARGEST_BYTES), 0);
	assert_int_equal(apply(text, LARGEST_BYTES + 1), -EPERM);
	free(text);
	assert_int_equal(apply("quiet = 1\0\n", 11), -EINVAL);
	assert_null(getenv("KERNCAST_QUIET"));
}

static void is_where_the_user_keeps_such_files(void **state)
{
	char out[64];

	(void)state;
	unsetenv("KERNCAST_CONFIG");
	setenv("HOME", "/home/ada", 1);
	unsetenv("XDG_CONFIG_HOME");
	assert_int_equal(kc_config_path(out, sizeof(out)), 0);
	assert_string_equal(out, "/home/ada/.config/kerncast.conf");
	setenv("XDG_CONFIG_HOME", "not/absolute", 1); /* "should consider the path invalid and ignore it" */
	assert_int_equal(kc_config_path(out, sizeof(out)), 0);
	assert_string_equal(out, "/home/ada/.config/kerncast.conf");
	setenv("XDG_CONFIG_HOME", "/etc/ada", 1);
	assert_int_equal(kc_config_path(out, sizeof(out)), 0);
	assert_string_equal(out, "/etc/ada/kerncast.conf");
	assert_int_equal(kc_config_path(out, 10), -ENAMETOOLONG);
	setenv("KERNCAST_CONFIG", "./here.conf", 1);
	assert_int_equal(kc_config_path(out, sizeof(out)), 0);
	assert_string_equal(out, "./here.conf");
	setenv("KERNCAST_CONFIG", "", 1);
	assert_int_equal(kc_config_path(out, sizeof(out)), -ENOENT);
	unsetenv("KERNCAST_CONFIG");
	unsetenv("HOME");
	unsetenv("XDG_CONFIG_HOME");
	assert_int_equal(kc_config_path(out, sizeof(out)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(sets_what_is_not_set, begin),
	    cmocka_unit_test_setup(a_value_keeps_its_signs, begin),
	    cmocka_unit_test_setup(no_file_is_no_error, begin),
	    cmocka_unit_test_setup(a_wrong_line_is_named, begin),
	    cmocka_unit_test_setup(what_others_can_write_is_not_read, begin),
	    cmocka_unit_test_setup(what_another_user_owns_is_not_read, begin),
	    cmocka_unit_test_setup(a_long_or_binary_file_is_refused, begin),
	    cmocka_unit_test_setup(is_where_the_user_keeps_such_files, begin),
	};
	int fd = mkstemp(path), failed;

	if (fd < 0)
		return 1;
	close(fd);
	failed = cmocka_run_group_tests_name("config", tests, NULL, NULL);
	unlink(path);
	return failed;
}
