/* The text of a file of PTX, for tests that read compiled kernels. */
#ifndef KC_PTX_FILE_TESTING_H
#define KC_PTX_FILE_TESTING_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Free the result. */
static inline char *read_ptx_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text;
	long bytes;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	bytes = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)bytes + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)bytes, file), bytes);
	fclose(file);
	return text;
}

#endif
