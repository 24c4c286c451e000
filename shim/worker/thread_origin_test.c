/* The C library's own control block of a thread, as it is on this machine. */
#include "ending.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

__thread struct kc__thread kc__thread;

uint32_t kc__thread_id(struct kc__thread *t)
{
	(void)t;
	return (uint32_t)syscall(SYS_gettid);
}

static const void *library_of(const void *function)
{
	Dl_info info;

	assert_true(dladdr(function, &info));
	return info.dli_fbase;
}

enum { STACK_BYTES = 1 << 20 }; /* of the thread that is looked at */

struct answers {
	bool own, other, of_other_id;
};

/* AddressSanitizer allows nobody to read what lies between variables. */
__attribute__((no_sanitize_address)) static void copy(uintptr_t *to, const volatile uintptr_t *from, size_t words)
{
	for (size_t i = 0; i < words; i++)
		to[i] = from[i];
}

/* Looks at its own stack from here on up to the end of its mapping, which the control block is in. */
static void *look(void *arg)
{
	struct answers *answers = arg;
	static uintptr_t words[STACK_BYTES / sizeof(uintptr_t)];
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);
	uint32_t thread = kc__thread_id(NULL);
	size_t stack_bytes, count;
	pthread_attr_t attributes;
	void *stack;

	pthread_getattr_np(pthread_self(), &attributes);
	pthread_attr_getstack(&attributes, &stack, &stack_bytes);
	pthread_attr_destroy(&attributes);
	count = ((uintptr_t)stack + stack_bytes - here) / sizeof(uintptr_t);
	assert_in_range(count, 1, sizeof(words) / sizeof(*words));
	copy(words, (const uintptr_t *)here, count);
	answers->own = kc__block_names(thread, words, count, here, library_of((const void *)look));
	answers->other = kc__block_names(thread, words, count, here, library_of((const void *)deflate));
	answers->of_other_id = kc__block_names(thread + 1, words, count, here, library_of((const void *)look));
	return NULL;
}

static void a_thread_began_in_the_library_of_its_function(void **state)
{
	struct answers answers = {0};
	pthread_attr_t small;
	pthread_t thread;

	(void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("skipped: a sanitizer's runtime begins threads with a function of its own\n");
	skip();
#endif
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	assert_int_equal(pthread_create(&thread, &small, look, &answers), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&small);
	assert_true(answers.own);
	assert_false(answers.other);
	assert_false(answers.of_other_id);
}

/* A thread 7 whose block is at 0x1000: its list is empty, or has an element, or is cut off. */
static void a_block_is_known_by_its_empty_list(void **state)
{
	uintptr_t function = (uintptr_t)a_block_is_known_by_its_empty_list;
	uintptr_t words[] = {0, 7, 0x1018, 0x1018, (uintptr_t)-32, 0, function, 0};
	const void *own = library_of((const void *)look);

	(void)state;
	assert_true(kc__block_names(7, words, 8, 0x1000, own));
	assert_false(kc__block_names(8, words, 8, 0x1000, own));
	assert_false(kc__block_names(7, words, 8, 0x1008, own));
	assert_false(kc__block_names(7, words, 6, 0x1000, own));
	assert_false(kc__block_names(7, words, 3, 0x1000, own));
	assert_false(kc__block_names(7, words, 0, 0x1000, own));
	words[3] = 0x2000;
	assert_false(kc__block_names(7, words, 8, 0x1000, own));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_thread_began_in_the_library_of_its_function),
	    cmocka_unit_test(a_block_is_known_by_its_empty_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
