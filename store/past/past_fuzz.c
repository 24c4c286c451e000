/*
 * A database that somebody has changed, inside a program that is just starting: the calibration of its device, and what
 * earlier runs taught, read within the limits of a start (shim/lifecycle.c, shim/tables/recall.c). The input: see
 * database_fuzzing.h.
 */
#include "first_launch_fuzzing.h"
#include "store/database/upkeep/database_fuzzing.h"
#include "store/database/devices/calibration.h"

#include <sanitizer/allocator_interface.h>
#include <time.h>

#define BYTES_MAX ((size_t)20 << 20)
#define UNTIL_NS INT64_C(1000000000)
#define PROCESSOR_NS INT64_C(200000000)
/* Between two looks at the clock, instrumented, and to free what was read. */
#define MORE_NS PROCESSOR_NS

static struct kc_fuzz_database sound;
static struct kc_fuzz_path database;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	database = kc_fuzz_path("k.db");
	kc_fuzz_sound_database(database.text, &sound);
	return 0;
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static struct kc_store_bound start_bound(void)
{
	return (struct kc_store_bound){.until_ns = clock_ns(CLOCK_MONOTONIC) + UNTIL_NS,
				       .processor_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + PROCESSOR_NS,
				       .bytes = BYTES_MAX};
}

static void calibrate(void)
{
	const struct kc_store_bound bound = start_bound();
	const struct kc_calibrated self = {.name = kc_device_builtin("a100")->name};
	struct kc_calibration measured;
	struct kc_device device = *kc_device_builtin("a100");
	struct kc_store *store;

	if (kc_store_peek(database.text, &bound, &store, NULL, 0))
		return;
	if (kc_calibration_find(kc_store_db(store), &self, &measured) > 0)
		kc_device_calibrate(&device, &measured);
	kc_store_close(store);
}

static void predict(const struct kc_past *past, const struct kc_device *info)
{
	const struct kc_beginning from = {.past = past};
	struct kc_past_query query = {.code = {.mangled = "_Z5scalePff", .code_hash = 0xABC, .registers = 32},
				      .uuid = KC_FUZZ_UUID,
				      .device = info,
				      .arguments = "p1 = 1000"};

	kc_fuzz_first_launch(&from, &query);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_fuzz_input input = {bytes, length};
	struct kc_past_options options = {.executable = KC_FUZZ_EXECUTABLE};
	size_t before;
	struct kc_past *past;
	struct kc_past_entry began_with;
	int64_t begun_ns;
	char why[400];

	kc_fuzz_changed_database(database.text, &sound, &input);
	calibrate();
	before = __sanitizer_get_current_allocated_bytes();
	options.bound = start_bound();
	begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	kc_past_load(database.text, &options, &past, why, sizeof(why));
	KC_FUZZ_MUST(clock_ns(CLOCK_THREAD_CPUTIME_ID) < begun_ns + PROCESSOR_NS + MORE_NS);
	KC_FUZZ_MUST(__sanitizer_get_current_allocated_bytes() < before + 2 * BYTES_MAX);
	KC_FUZZ_MUST(!kc_past_began_with(past, &began_with) || began_with.source);
	predict(past, kc_device_builtin("a100"));
	kc_past_free(past);
	return 0;
}
