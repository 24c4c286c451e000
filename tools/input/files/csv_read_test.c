#include "csv_read.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static struct kc_csv_reader *reader_of(const char *text, size_t bytes, int zipped)
{
	char path[] = "/tmp/kc-csv-XXXXXX";
	int fd = mkstemp(path);
	struct kc_csv_reader *reader;

	assert_true(fd >= 0);
	if (zipped) {
		gzFile file = gzdopen(fd, "wb");

		assert_int_equal(gzwrite(file, text, (unsigned)bytes), bytes);
		gzclose(file);
	} else {
		assert_int_equal(write(fd, text, bytes), bytes);
		close(fd);
	}
	assert_int_equal(kc_csv_open(path, &reader), 0);
	unlink(path);
	return reader;
}

/* RFC 4180, section 2, rules 1 to 7. */
static void records(void **state)
{
	static const char text[] = "a,b,c\r\n"
				   "1,,\"x, \"\"y\"\"\"\n"
				   "\n"
				   "\"two\r\nlines\",2,\n"
				   "last,3,4";
	static const struct {
		uint64_t line;
		const char *fields[3];
	} wanted[] = {
	    {1, {"a", "b", "c"}}, {2, {"1", "", "x, \"y\""}}, {4, {"two\r\nlines", "2", ""}}, {6, {"last", "3", "4"}}};

	(void)state;
	for (int zipped = 0; zipped < 2; zipped++) {
		struct kc_csv_reader *reader = reader_of(text, sizeof(text) - 1, zipped);
		struct kc_csv_record record;
		const char *why;

		for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
			assert_int_equal(kc_csv_next(reader, &record, &why), 1);
			assert_int_equal(record.line, wanted[i].line);
			assert_int_equal(record.count, 3);
			for (unsigned k = 0; k < 3; k++)
				assert_string_equal(record.fields[k], wanted[i].fields[k]);
		}
		assert_int_equal(kc_csv_next(reader, &record, &why), 0);
		assert_int_equal(kc_csv_next(reader, &record, &why), 0);
		kc_csv_close(reader);
	}
}

static void malformed_ones_are_passed_over(void **state)
{
	static const char text[] = "a\n\"x\"y\nb\"c\nd\n\"never closed\ne\n";
	static const struct {
		int rc;
		uint64_t line;
		const char *field;
	} wanted[] = {{1, 1, "a"}, {-EINVAL, 2, NULL}, {-EINVAL, 3, NULL},
		      {1, 4, "d"}, {-EINVAL, 5, NULL}, {1, 6, "e"}};
	struct kc_csv_reader *reader = reader_of(text, sizeof(text) - 1, 0);
	struct kc_csv_record record;
	const char *why;

	(void)state;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		assert_int_equal(kc_csv_next(reader, &record, &why), wanted[i].rc);
		assert_int_equal(record.line, wanted[i].line);
		if (wanted[i].field)
			assert_string_equal(record.fields[0], wanted[i].field);
	}
	assert_int_equal(kc_csv_next(reader, &record, &why), 0);
	kc_csv_close(reader);
}

/* Longer than the buffer: what fits is bounded, what does not is malformed, the rest comes. */
static void long_records(void **state)
{
	size_t fits = KC_CSV_RECORD_MAX - 8, bytes = 2 * fits + 3 * (size_t)KC_CSV_RECORD_MAX + 64;
	char *text = malloc(bytes), *to = text;
	struct kc_csv_reader *reader;
	struct kc_csv_record record;
	const char *why;

	(void)state;
	memset(to, 'x', fits);
	to[fits] = '\n';
	to += fits + 1;
	memset(to, 'y', 3 * (size_t)KC_CSV_RECORD_MAX);
	to += 3 * (size_t)KC_CSV_RECORD_MAX;
	to += sprintf(to, "\nz\n");
	reader = reader_of(text, (size_t)(to - text), 1);
	assert_int_equal(kc_csv_next(reader, &record, &why), 1);
	assert_int_equal(strlen(record.fields[0]), fits);
	assert_int_equal(kc_csv_next(reader, &record, &why), -EINVAL);
	assert_int_equal(record.line, 2);
	assert_int_equal(kc_csv_next(reader, &record, &why), 1);
	assert_int_equal(record.line, 3);
	assert_string_equal(record.fields[0], "z");
	assert_int_equal(kc_csv_next(reader, &record, &why), 0);
	kc_csv_close(reader);
	free(text);
}

static void lines_are_looked_at_first(void **state)
{
	static const char text[] = "\xEF\xBB\xBF==1== \"say\", it\n\n\"a b\",c\nlast";
	struct kc_csv_reader *reader = reader_of(text, sizeof(text) - 1, 0);
	struct kc_csv_record record;
	const char *why;
	char line[8];

	(void)state;
	for (int twice = 0; twice < 2; twice++) {
		assert_int_equal(kc_csv_peek(reader, line, sizeof(line)), 1);
		assert_string_equal(line, "==1== \"");
	}
	kc_csv_skip_line(reader);
	assert_int_equal(kc_csv_peek(reader, line, sizeof(line)), 1);
	assert_string_equal(line, "\"a b\",c");
	assert_int_equal(kc_csv_next(reader, &record, &why), 1);
	assert_int_equal(record.line, 3);
	assert_string_equal(record.fields[0], "a b");
	assert_int_equal(kc_csv_peek(reader, line, sizeof(line)), 1);
	assert_string_equal(line, "last");
	kc_csv_skip_line(reader);
	assert_int_equal(kc_csv_peek(reader, line, sizeof(line)), 0);
	assert_int_equal(kc_csv_next(reader, &record, &why), 0);
	kc_csv_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(records),
	    cmocka_unit_test(malformed_ones_are_passed_over),
	    cmocka_unit_test(long_records),
	    cmocka_unit_test(lines_are_looked_at_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
