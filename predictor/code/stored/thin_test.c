/* What is refused, and why it says so. Fatbins are written by hand here: image_test.c reads those that nvcc makes. */
#include "thin.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ENTRY_BYTES 64u

struct __attribute__((packed)) header {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* of the entries */
};

struct file {
	char bytes[256];
	size_t readable; /* then it ends */
};

static int read_file(void *arg, uint64_t at, void *to, size_t length)
{
	const struct file *file = arg;

	if (at + length > file->readable)
		return -EIO;
	memcpy(to, file->bytes + at, length);
	return 0;
}

/* One entry, of PTX, with 16 bytes of text. */
static struct file fatbin(void)
{
	struct header header = {0xBA55ED50, 1, sizeof(header), ENTRY_BYTES + 16};
	struct file file = {.readable = sizeof(header) + ENTRY_BYTES + 16};
	uint16_t kind = 1, version = 0x101;
	uint32_t entry_bytes = ENTRY_BYTES;
	uint64_t bytes = 16;

	memcpy(file.bytes, &header, sizeof(header));
	memcpy(file.bytes + sizeof(header), &kind, sizeof(kind));
	memcpy(file.bytes + sizeof(header) + 2, &version, sizeof(version));
	memcpy(file.bytes + sizeof(header) + 4, &entry_bytes, sizeof(entry_bytes));
	memcpy(file.bytes + sizeof(header) + 8, &bytes, sizeof(bytes));
	return file;
}

static int thin(struct file *file, size_t length, size_t memory_bytes, struct kc_refusal *refusal)
{
	struct kc_thin_request request = {
	    .read = read_file, .arg = file, .length = length, .memory_bytes = memory_bytes};
	size_t got;
	void *bytes;
	int rc;

	*refusal = (struct kc_refusal){0};
	rc = kc_image_thin(&request, &bytes, &got, refusal);
	if (!rc)
		assert_memory_equal(bytes, file->bytes, got);
	free(bytes);
	return rc;
}

static void what_cannot_be_read_is_refused(void **state)
{
	struct kc_refusal refusal;
	struct file file = fatbin();
	size_t length = file.readable;

	(void)state;
	assert_int_equal(thin(&file, length, 4096, &refusal), 0);
	for (size_t readable = 0; readable < length; readable++) {
		file.readable = readable;
		assert_int_equal(thin(&file, length, 4096, &refusal), -EIO);
		assert_non_null(strstr(refusal.reason, "cannot be read"));
		assert_true(refusal.offset <= readable);
	}
	memset(&file, 'x', sizeof(file.bytes)); /* no fatbin: read as a whole */
	file.readable = 100;
	assert_int_equal(thin(&file, 200, 4096, &refusal), -EIO);
	assert_non_null(strstr(refusal.reason, "200 bytes cannot be read"));
}

static void what_is_larger_than_allowed_is_refused(void **state)
{
	struct kc_refusal refusal;
	struct file file = fatbin();

	(void)state;
	assert_int_equal(thin(&file, file.readable, file.readable - 1, &refusal), -ENOMEM);
	assert_non_null(strstr(refusal.reason, "needs 96 bytes, but only 95 are allowed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_cannot_be_read_is_refused),
	    cmocka_unit_test(what_is_larger_than_allowed_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
