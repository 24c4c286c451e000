/* What a launch does while something is learned. */
#include "launch.h"
#include "shim/code/early.h"
#include "shim/code/variants.h"
#include "shim/entry/real.h"
#include "shim/tables/functions.h"
#include "shim/tables/streams.h"
#include "shim/tables/tables_testing.h"
#include "shim/worker/windows.h"

/* ---- The rest of the library ---- */

void *_Atomic kc__real[KC_HOOK_COUNT];

void *kc__real_slow(enum kc_hook hook)
{
	(void)hook;
	return NULL;
}

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

void kc__start(bool late)
{
	(void)late;
}

bool kc__exit_allows(void)
{
	return true;
}

void kc__count_after_end(uint64_t launches)
{
	(void)launches;
}

void kc__passed_over(uint64_t kernels, uint64_t records)
{
	(void)kernels;
	(void)records;
}

void kc__say_journal_full(void)
{
}

void kc__windows_take_share(struct kc_launch *launch)
{
	(void)launch;
}

bool kc__selection_skips(struct kc__kernel *kernel)
{
	(void)kernel;
	return false;
}

bool kc__selection_takes(uint64_t kernels, uint64_t records)
{
	(void)kernels;
	(void)records;
	return true;
}

struct kc__function *kc__function_of(CUfunction f, struct kc__device *device)
{
	(void)f;
	(void)device;
	return NULL;
}

struct kc__stream *kc__stream_on(CUstream stream, bool per_thread, struct kc__device **device)
{
	(void)stream;
	(void)per_thread;
	*device = NULL;
	return NULL;
}

bool kc__cig_capturing(CUstream stream, bool per_thread)
{
	(void)stream;
	(void)per_thread;
	return false;
}

void kc__cancel(struct kc__stream *stream, const struct kc_slot *slot, uint32_t ticket)
{
	(void)stream;
	(void)slot;
	(void)ticket;
}

bool kc__early_made(struct kc__variant *variant, int64_t predicted_at_ns)
{
	(void)variant;
	(void)predicted_at_ns;
	return true;
}

/* The launch shape as it is made before the kernel's code has been read, and afterwards. */
static struct kc__variant without_code, with_code;
static bool code_read;
static uint32_t looked_up;

/* The real one asks the driver, which may wait for whatever holds the lock. */
struct kc__variant *kc__variant_of(struct kc__kernel *kernel, CUfunction f, const struct kc_shape *dims,
				   const struct kc__given *given)
{
	(void)kernel;
	(void)f;
	(void)dims;
	(void)given;
	assert_int_equal(pthread_mutex_trylock(&kc__shim.learning), 0);
	pthread_mutex_unlock(&kc__shim.learning);
	looked_up++;
	return &with_code;
}

/* The code is read, in another thread, once it has been asked so often. Something is learned all the time. */
static uint32_t asked, read_before;

bool kc__variant_is_outdated(const struct kc__variant *variant)
{
	kc_engine_event(&kc__shim.engine);
	code_read |= ++asked == read_before;
	return variant == &without_code && code_read;
}

/* ---- Tests ---- */

static struct kc__kernel kernel;

static void make_variant(struct kc__variant *variant, struct kc_engine_key *key, uint32_t id)
{
	static _Atomic uint32_t shape;
	static const struct kc_resources resources = {.registers = 16};
	static const struct kc_shape dims = {.grid = {20, 1, 1}, .block = {32, 1, 1}};

	*variant = (struct kc__variant){.kernel = &kernel, .id = id};
	assert_int_equal(kc_engine_variant_init(&variant->engine, key, &shape, &resources, &dims, 0), 0);
}

/* At whatever moment that is, it is a launch with that code, and the driver is asked while others may learn. */
static void code_that_is_read_meanwhile_is_used(void **state)
{
	static struct kc_engine_key key;
	static const struct kc_shape dims = {.grid = {20, 1, 1}, .block = {32, 1, 1}};
	struct kc__device *device = &kc__shim.devices[0];
	struct kc__stream stream = {.device = device, .id = 1};
	struct kc__known known = {device, &stream, &kernel, &without_code, KC_PREDICTED, NULL, NULL, false};
	struct kc_launch launch;

	(void)state;
	pthread_mutex_init(&kc__shim.learning, NULL);
	device->answers = calloc(1, kc_estimate_cache_bytes());
	assert_non_null(device->answers);
	kc_engine_device_init(&kc__shim.engine, &device->engine, &device->info);
	kernel = (struct kc__kernel){.id = 1, .device = device};
	kc_engine_kernel_init(&kernel.engine, &device->engine, "kernel");
	kc_engine_key_init(&key, &kernel.engine);
	for (read_before = 1; read_before <= 3; read_before++) {
		make_variant(&without_code, &key, 1);
		make_variant(&with_code, &key, 2);
		code_read = false;
		asked = looked_up = 0;
		kc__record(&launch, &known, KC_API_LAUNCH_KERNEL, &dims);
		assert_true(looked_up > 0);
		assert_int_equal(launch.variant, with_code.id);
	}
	free(device->answers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(code_that_is_read_meanwhile_is_used)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
