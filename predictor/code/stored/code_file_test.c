/* Files that may have been named by somebody else, and what tells that their bytes are others. */
#include "code_file.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define LARGE_BYTES (300u << 10) /* more than is hashed as a whole */

static char folder[32];

static const char *in_folder(const char *name)
{
	static char path[2][64];
	static int next;

	next = !next;
	snprintf(path[next], sizeof(path[next]), "%s/%s", folder, name);
	return path[next];
}

static int set_up(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/kc-code-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static void write_file(const char *name, const void *bytes, size_t length)
{
	FILE *file = fopen(in_folder(name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static int opens(const char *path, uint64_t offset, uint64_t length)
{
	struct kc_code_file file;
	int rc = kc_code_file_open(&file, path, offset, length);

	if (rc == 0)
		close(file.fd);
	return rc;
}

static uint64_t hash_of(const char *name, uint64_t offset, uint64_t length)
{
	struct kc_code_file file;
	uint64_t hash;

	assert_int_equal(kc_code_file_open(&file, in_folder(name), offset, length), 0);
	assert_int_equal(kc_code_file_hash(&file, &hash), 0);
	close(file.fd);
	return hash;
}

static void only_regular_files_are_opened(void **state)
{
	(void)state;
	write_file("code", "0123456789", 10);
	assert_int_equal(opens(in_folder("code"), 0, 10), 0);
	assert_int_equal(symlink(in_folder("code"), in_folder("link")), 0);
	assert_int_equal(mkfifo(in_folder("pipe"), 0600), 0);
	assert_int_equal(opens(in_folder("link"), 0, 10), -EINVAL);
	assert_int_equal(opens(in_folder("pipe"), 0, 10), -EINVAL);
	assert_int_equal(opens(folder, 0, 0), -EINVAL);
	assert_int_equal(opens("/dev/zero", 0, 10), -EINVAL);
	assert_int_equal(opens("code", 0, 10), -EINVAL);
	assert_int_equal(opens("", 0, 10), -EINVAL);
	assert_int_equal(opens(in_folder("none"), 0, 10), -ENOENT);
}

static void a_part_must_be_within_the_file(void **state)
{
	(void)state;
	write_file("code", "0123456789", 10);
	assert_int_equal(opens(in_folder("code"), 4, 6), 0);
	assert_int_equal(opens(in_folder("code"), 5, 6), -ESTALE);
	assert_int_equal(opens(in_folder("code"), 0, 11), -ESTALE);
	assert_int_equal(opens(in_folder("code"), UINT64_MAX, 2), -ESTALE);
	assert_int_equal(opens(in_folder("code"), 2, UINT64_MAX), -ESTALE);
}

static void reading_stays_within_the_part(void **state)
{
	struct kc_code_file file;
	char bytes[8] = "";

	(void)state;
	write_file("code", "0123456789", 10);
	assert_int_equal(kc_code_file_open(&file, in_folder("code"), 2, 5), 0);
	assert_int_equal(kc_code_file_read(&file, 1, bytes, 4), 0);
	assert_string_equal(bytes, "3456");
	assert_int_equal(kc_code_file_read(&file, 2, bytes, 4), -EIO);
	assert_int_equal(kc_code_file_read(&file, 6, bytes, 0), -EIO);
	assert_int_equal(kc_code_file_read(&file, UINT64_MAX, bytes, 4), -EIO);
	assert_int_equal(truncate(in_folder("code"), 4), 0);
	assert_int_equal(kc_code_file_read(&file, 1, bytes, 4), -EIO);
	close(file.fd);
}

static void a_small_part_is_hashed_as_a_whole(void **state)
{
	char text[5000];
	uint64_t hash;

	(void)state;
	memset(text, 'a', sizeof(text));
	write_file("code", text, sizeof(text));
	hash = hash_of("code", 10, 4900);
	text[9] = 'b'; /* in front of the part */
	text[4910] = 'b';
	write_file("other", text, sizeof(text));
	assert_true(hash_of("other", 10, 4900) == hash);
	for (size_t at = 10; at < 4910; at += 4899) { /* its first and its last byte */
		text[at] = 'b';
		write_file("other", text, sizeof(text));
		assert_true(hash_of("other", 10, 4900) != hash);
		text[at] = 'a';
	}
	assert_true(hash_of("code", 10, 4899) != hash);
}

static void of_a_large_part_the_ends_and_what_lies_between_are_hashed(void **state)
{
	char *text = calloc(1, LARGE_BYTES);
	uint64_t hash;

	(void)state;
	assert_non_null(text);
	write_file("code", text, LARGE_BYTES);
	hash = hash_of("code", 0, LARGE_BYTES);
	for (int i = 0; i < 3; i++) {
		size_t at[] = {0, LARGE_BYTES / 2, LARGE_BYTES - 2048};

		memset(text + at[i], 1, 2048);
		write_file("other", text, LARGE_BYTES);
		assert_true(hash_of("other", 0, LARGE_BYTES) != hash);
		memset(text + at[i], 0, 2048);
	}
	assert_true(hash_of("code", 0, LARGE_BYTES - 1) != hash);
	free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(only_regular_files_are_opened),
	    TEST(a_part_must_be_within_the_file),
	    TEST(reading_stays_within_the_part),
	    TEST(a_small_part_is_hashed_as_a_whole),
	    TEST(of_a_large_part_the_ends_and_what_lies_between_are_hashed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
