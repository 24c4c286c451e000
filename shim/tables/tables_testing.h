/* What the tests of the tables share: a library that is not preloaded, with one device and a driver of the test's. */
#ifndef KC_SHIM_TABLES_TESTING_H
#define KC_SHIM_TABLES_TESTING_H

#include "tables.h"

#include "store/journal/journal_testing.h"

struct kc__state kc__shim = {.tables_lock = PTHREAD_MUTEX_INITIALIZER};
__thread struct kc__thread kc__thread __attribute__((tls_model("initial-exec")));
static char said[4][256]; /* the last four messages' details, the newest first */

int64_t kc__now_ns(void)
{
	return 1000;
}

uint32_t kc__thread_id(struct kc__thread *t)
{
	return t->id;
}

void kc__say_again(enum kc_message_code code, const char *detail)
{
	assert_int_equal(code, KC_MESSAGE_TABLE_FULL);
	memmove(said[1], said[0], sizeof(said) - sizeof(said[0]));
	snprintf(said[0], sizeof(said[0]), "%s", detail ? detail : "");
}

static int begin(void **state)
{
	struct kc__device *device = &kc__shim.devices[0];

	if (setup(state))
		return -1;
	memset(said, 0, sizeof(said));
	memset(kc__shim.devices, 0, sizeof(kc__shim.devices));
	kc__shim.stream_count = 0;
	kc__thread = (struct kc__thread){0};
	kc__shim.journal = create(16 * MIB);
	kc__shim.header = kc_journal_header(kc__shim.journal);
	device->timeline = calloc(1, kc_timeline_size());
	if (!device->timeline || kc__tables_init())
		return -1;
	device->info = *kc_device_builtin("a100");
	kc_timeline_init(device->timeline, &device->info);
	device->lock = (struct kc__lock){0};
	device->known = 1;
	kc__shim.device_count = 1;
	return 0;
}

static int end(void **state)
{
	free(kc__shim.devices[0].timeline);
	finish(kc__shim.journal, 1);
	return teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

#endif
