#include "made_code.h"
#include "shim/tables/tables_testing.h"
#include "shim/entry/real.h"
#include "shim/tables/memory.h"

#include <stdio.h>

#define PIECES 16

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

static int begin_kept(void **state)
{
	if (begin(state))
		return -1;
	atomic_store(&kc__shim.ours, 1);
	atomic_store(&kc__shim.stage, KC__ON);
	kc__made_begin();
	return 0;
}

static int end_kept(void **state)
{
	kc__made_drop();
	kc__made_forget();
	atomic_store(&kc__shim.stage, KC__OFF);
	return end(state);
}

static struct kc__made *made_of(const char *ptx, size_t bytes)
{
	struct kc__made *made = kc__made_room(bytes);

	if (made)
		memcpy(made->text, ptx, strlen(ptx));
	return made;
}

/* How many pieces of PTX are known of the cubin; the first is `first`. */
static uint32_t known(const char *cubin, const char *first)
{
	struct kc_image_piece pieces[PIECES];
	uint32_t count = kc__made_hold(cubin, strlen(cubin), pieces, PIECES);

	if (count && first)
		assert_memory_equal(pieces[0].bytes, first, strlen(first));
	if (count)
		kc__made_release(false);
	return count;
}

static void by_the_cubins_bytes(void **state)
{
	struct kc_image_piece pieces[PIECES];

	(void)state;
	kc__made_cubin(made_of("one", 3), "cubin 1", 7);
	kc__made_cubin(made_of("two", 3), "cubin 2", 7);
	assert_int_equal(known("cubin 1", "one"), 1);
	assert_int_equal(known("cubin 2", "two"), 1);
	assert_int_equal(known("cubin 3", NULL), 0);
	assert_int_equal(known("cubin", NULL), 0);
	assert_int_equal(kc__made_hold("cubin 1", 7, pieces, PIECES), 1);
	assert_int_equal(pieces[0].length, 3);
	kc__made_release(true);
	assert_int_equal(known("cubin 1", NULL), 0);
	assert_int_equal(known("cubin 2", "two"), 1);
}

static void the_same_cubin_again(void **state)
{
	(void)state;
	kc__made_cubin(made_of("one", 3), "cubin", 5);
	kc__made_cubin(made_of("one", 3), "cubin", 5);
	assert_int_equal(known("cubin", "one"), 1);
}

static void inputs_of_linkers(void **state)
{
	int first, second;

	(void)state;
	kc__made_input(made_of("one", 3), KC__MADE_PTX, &first);
	kc__made_input(made_of("other", 5), KC__MADE_PTX, &second);
	kc__made_input(made_of("two", 3), KC__MADE_PTX, &first);
	assert_int_equal(known("cubin", NULL), 0);
	kc__made_linked(&first, "cubin", 5);
	assert_int_equal(known("cubin", "one"), 2);
	kc__made_linker_gone(&first);
	assert_int_equal(known("cubin", "one"), 2);
	kc__made_linker_gone(&second);
	kc__made_linked(&second, "other", 5);
	assert_int_equal(known("other", NULL), 0);
}

/* In the order in which they were added, and once. */
static void lto_ir_of_linkers(void **state)
{
	struct kc__made *taken;
	int linker, other;

	(void)state;
	kc__made_input(made_of("-lto", 5), KC__MADE_OPTIONS, &linker);
	kc__made_input(made_of("one", 3), KC__MADE_LTO_IR, &linker);
	kc__made_input(made_of("ptx", 3), KC__MADE_PTX, &linker);
	kc__made_input(made_of("two", 3), KC__MADE_LTO_IR, &linker);
	kc__made_input(made_of("one", 3), KC__MADE_LTO_IR, &other);
	taken = kc__made_take_inputs(&linker);
	for (const char *const *text = (const char *[]){"-lto", "one", "two", NULL}; *text; text++) {
		struct kc__made *next = taken->next;

		assert_string_equal(taken->text, *text);
		kc__made_give(taken);
		taken = next;
	}
	assert_null(taken);
	assert_null(kc__made_take_inputs(&linker));
	assert_null(kc__made_take_inputs(&other));
	kc__made_linked(&linker, "cubin", 5);
	assert_int_equal(known("cubin", "ptx"), 1);
}

static void unknown_inputs_of_linkers(void **state)
{
	int linker;

	(void)state;
	kc__made_input(made_of("-lto", 5), KC__MADE_OPTIONS, &linker);
	kc__made_input(made_of("one", 3), KC__MADE_LTO_IR, &linker);
	kc__made_incomplete(&linker);
	assert_null(kc__made_take_inputs(&linker));
	kc__made_linked(&linker, "cubin", 5);
	assert_int_equal(known("cubin", NULL), 0);
	kc__made_linker_gone(&linker);
}

/* 64 KiB and what describes them take 17 pages, so that 2 MiB, 512 pages, hold 30 of 40. */
static void the_oldest_goes_first(void **state)
{
	char cubin[16];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(cubin, sizeof(cubin), "cubin %02d", i);
		kc__made_cubin(made_of("", 64 << 10), cubin, strlen(cubin));
	}
	for (int i = 0; i < 40; i++) {
		snprintf(cubin, sizeof(cubin), "cubin %02d", i);
		assert_int_equal(known(cubin, NULL), i >= 10);
	}
	assert_null(kc__made_room(KC__MADE_BYTES));
	assert_int_equal(known("cubin 39", NULL), 1);
}

static void memory_is_given_back(void **state)
{
	size_t left_bytes = kc__share_left(KC__SHARE_CODE);
	int linker;

	(void)state;
	kc__made_cubin(made_of("one", 5000), "cubin", 5);
	kc__made_input(made_of("two", 3), KC__MADE_PTX, &linker);
	kc__made_give(made_of("three", 5));
	assert_int_equal(kc__share_left(KC__SHARE_CODE), left_bytes - 3 * KC__PAGE_BYTES);
	kc__made_drop();
	assert_int_equal(kc__share_left(KC__SHARE_CODE), left_bytes);
}

static void before_recording_begins(void **state)
{
	size_t left_bytes;

	(void)state;
	kc__made_forget();
	atomic_store(&kc__shim.stage, KC__OFF);
	left_bytes = kc__share_left(KC__SHARE_CODE);
	kc__made_cubin(made_of("one", 3), "cubin", 5);
	assert_int_equal(kc__share_left(KC__SHARE_CODE), left_bytes);
	kc__made_begin();
	assert_int_equal(kc__share_left(KC__SHARE_CODE), left_bytes - KC__PAGE_BYTES);
	assert_int_equal(known("cubin", "one"), 1);
}

/* One is compiled, and one linked, while recording begins. */
static void recording_begins_meanwhile(void **state)
{
	struct kc__made *compiled, *linked;
	size_t left_bytes;
	int linker;

	(void)state;
	kc__made_forget();
	atomic_store(&kc__shim.stage, KC__OFF);
	left_bytes = kc__share_left(KC__SHARE_CODE);
	compiled = made_of("one", 3);
	linked = made_of("two", 3);
	kc__made_begin();
	kc__made_cubin(compiled, "cubin", 5);
	kc__made_input(linked, KC__MADE_PTX, &linker);
	assert_int_equal(kc__share_left(KC__SHARE_CODE), left_bytes - 2 * KC__PAGE_BYTES);
	kc__made_drop();
	assert_int_equal(kc__share_left(KC__SHARE_CODE), left_bytes);
	atomic_store(&kc__shim.stage, KC__ON);
}

static void nothing_where_nothing_is_recorded(void **state)
{
	(void)state;
	atomic_store(&kc__shim.stage, KC__DISABLED);
	assert_false(kc__made_is_kept());
	assert_null(kc__made_room(1));
	atomic_store(&kc__shim.stage, KC__OFF); /* a child in which no handler has run */
	atomic_store(&kc__shim.ours, 0);
	assert_false(kc__made_is_kept());
}

/* Threads that compile, link and load: each finds its own, or nothing where the others' have taken its place. */
static void *compile_and_load(void *arg)
{
	char cubin[16], text[32];

	for (int i = 0; i < 300; i++) {
		struct kc_image_piece pieces[PIECES];
		uint32_t count;

		snprintf(cubin, sizeof(cubin), "%s %d", (const char *)arg, i % 50);
		snprintf(text, sizeof(text), "text of %s", cubin);
		if (i % 2) {
			kc__made_cubin(made_of(text, 30000), cubin, strlen(cubin));
		} else {
			kc__made_input(made_of(text, 30000), KC__MADE_PTX, arg);
			kc__made_linked(arg, cubin, strlen(cubin));
			kc__made_linker_gone(arg);
		}
		count = kc__made_hold(cubin, strlen(cubin), pieces, PIECES);
		if (count && memcmp(pieces[0].bytes, text, strlen(text)) != 0)
			return arg;
		if (count)
			kc__made_release(i % 3);
	}
	return NULL;
}

static void threads_beside_each_other(void **state)
{
	static char names[4][2] = {"a", "b", "c", "d"};
	size_t left_bytes = kc__share_left(KC__SHARE_CODE);
	pthread_t threads[4];
	void *wrong;

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, compile_and_load, names[i]), 0);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
	assert_true(kc__share_left(KC__SHARE_CODE) >= left_bytes - KC__MADE_BYTES);
	kc__made_drop();
	assert_int_equal(kc__share_left(KC__SHARE_CODE), left_bytes);
}

#define KEPT(name) cmocka_unit_test_setup_teardown(name, begin_kept, end_kept)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    KEPT(by_the_cubins_bytes),       KEPT(the_same_cubin_again),       KEPT(inputs_of_linkers),
	    KEPT(lto_ir_of_linkers),         KEPT(unknown_inputs_of_linkers),  KEPT(the_oldest_goes_first),
	    KEPT(memory_is_given_back),      KEPT(before_recording_begins),    KEPT(nothing_where_nothing_is_recorded),
	    KEPT(threads_beside_each_other), KEPT(recording_begins_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
