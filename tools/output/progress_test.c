#include "progress.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What func() prints on stderr while that is no terminal. */
static void said(void (*func)(void), char *out, size_t size)
{
	FILE *file = tmpfile();
	int kept = dup(STDERR_FILENO);
	size_t length;

	assert_non_null(file);
	fflush(stderr);
	dup2(fileno(file), STDERR_FILENO);
	func();
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	rewind(file);
	length = fread(out, 1, size - 1, file);
	out[length] = '\0';
	fclose(file);
}

static void quick(void)
{
	struct kc_progress progress;

	kc_progress_begin(&progress, "t.json", "read", 100);
	for (uint64_t i = 0; i <= 100; i++)
		kc_progress(&progress, i);
	kc_progress_end(&progress);
}

static void slow(void)
{
	struct kc_progress progress;

	kc_progress_begin(&progress, "t.json", "read", 200);
	progress.next_ns = 0; /* some seconds later */
	kc_progress(&progress, 50);
	kc_progress(&progress, 60); /* too soon */
	kc_progress_next(&progress, "stored", 10);
	progress.next_ns = 0;
	kc_progress(&progress, 11); /* counted too few */
	kc_progress_end(&progress);
}

/* Nobody knows how much it is. */
static void unending(void)
{
	struct kc_progress progress;

	kc_progress_begin(&progress, "t.db", "replayed", 0);
	progress.begin_ns -= INT64_C(12300000000);
	progress.next_ns = 0;
	kc_progress(&progress, 0);
	kc_progress_end(&progress);
}

static void lines(void **state)
{
	char text[256];

	(void)state;
	said(quick, text, sizeof(text));
	assert_string_equal(text, "");
	said(slow, text, sizeof(text));
	assert_string_equal(text, "t.json: 25 % read\nt.json: 100 % stored\n");
	said(unending, text, sizeof(text));
	assert_string_equal(text, "t.db: replayed for 12 s\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(lines)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
