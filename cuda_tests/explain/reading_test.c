/*
 * How long reading takes, in processor time of this thread: a kernel in at most
 * 2 ms, a module of 5 MB in at most 1 s. The shortest of several tries counts,
 * since the machine may be busy with others.
 */
#include "predictor/code/cost.h"
#include "predictor/code/ptx/ptx.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define KERNEL_MOST_S 2e-3
#define MODULE_MOST_S 1.0
#define MODULE_BYTES ((size_t)5 << 20)
#define MEMORY_BYTES ((size_t)1 << 30)
#define TRIES 5

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INSTRUMENTED 1
#else
#define INSTRUMENTED 0
#endif

struct text {
	char *bytes;
	size_t length;
};

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Reads a file in the folder of this program. */
static struct text read_beside(const char *name)
{
	struct text text = {0};
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 64);
	FILE *file;

	assert_true(length > 0);
	path[length] = '\0';
	snprintf(strrchr(path, '/') + 1, 64, "%s", name);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	text.length = (size_t)ftell(file);
	text.bytes = malloc(text.length + 1);
	assert_non_null(text.bytes);
	rewind(file);
	assert_int_equal(fread(text.bytes, 1, text.length, file), text.length);
	text.bytes[text.length] = '\0';
	fclose(file);
	return text;
}

static unsigned read_formulas(const struct kc_ptx_module *module)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < module->function_count; i++) {
		struct kc_cost *cost = NULL;

		if (!module->functions[i].is_entry)
			continue;
		assert_int_equal(kc_cost_read(&cost, module, &module->functions[i], MEMORY_BYTES, NULL), 0);
		kc_cost_free(cost);
		count++;
	}
	return count;
}

/* Seconds for parsing the text and building the formulas of its kernels. *kernels: their number. */
static double read_text(const char *bytes, size_t length, unsigned *kernels)
{
	double begin = now_s();
	struct kc_ptx_module module;
	struct kc_refusal refusal = {0};
	int rc = kc_ptx_parse(&module, bytes, length, MEMORY_BYTES, &refusal);

	if (rc < 0)
		fail_msg("at byte %zu: %s", refusal.offset, refusal.reason);
	*kernels = read_formulas(&module);
	kc_ptx_free(&module);
	return now_s() - begin;
}

static double best_of(const struct text *text, unsigned *kernels)
{
	double best = 1e9;

	for (unsigned i = 0; i < TRIES; i++) {
		double seconds = read_text(text->bytes, text->length, kernels);

		best = seconds < best ? seconds : best;
	}
	return best;
}

/* Each kernel of simple.cu separately: the head of the module and the text of one function. */
static void test_kernel(void **state)
{
	struct text text = read_beside("simple.ptx"), one;
	char *head_end = strstr(text.bytes, ".visible"), *begin, *end;
	double worst = 0;
	unsigned kernels;

	(void)state;
	assert_non_null(head_end);
	one.bytes = malloc(text.length + 1);
	assert_non_null(one.bytes);
	for (begin = head_end; (begin = strstr(begin, ".visible .entry")); begin = end) {
		double seconds;

		end = strstr(begin, "\n}");
		assert_non_null(end);
		end += strlen("\n}");
		one.length = (size_t)sprintf(one.bytes, "%.*s%.*s\n", (int)(head_end - text.bytes), text.bytes,
					     (int)(end - begin), begin);
		seconds = best_of(&one, &kernels);
		assert_int_equal(kernels, 1);
		worst = seconds > worst ? seconds : worst;
	}
	print_message("# | a kernel of simple.cu: at most %.3f ms (budget 2 ms)\n", worst * 1e3);
	assert_true(worst > 0);
	assert_true(INSTRUMENTED || worst <= KERNEL_MOST_S);
	free(one.bytes);
	free(text.bytes);
}

/* simple.ptx repeated up to 5 MB, each time with other names. */
static void test_module(void **state)
{
	struct text text = read_beside("simple.ptx"), big = {0};
	char *body = strstr(text.bytes, ".visible");
	double seconds;
	unsigned kernels;

	(void)state;
	assert_non_null(body);
	big.bytes = malloc(MODULE_BYTES + 2 * text.length);
	assert_non_null(big.bytes);
	big.length = (size_t)(body - text.bytes);
	memcpy(big.bytes, text.bytes, big.length);
	for (unsigned copy = 0; big.length < MODULE_BYTES; copy++) {
		size_t from = big.length;

		big.length += (size_t)sprintf(big.bytes + big.length, "%s\n", body);
		for (char *name = big.bytes + from; (name = strstr(name, "_Z")); name += 2) {
			static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
			const unsigned count = sizeof(letters) - 1;

			name[0] = letters[copy % count]; /* still unique, as two letters differ between the copies */
			name[1] = letters[copy / count % count];
		}
	}
	big.bytes[big.length] = '\0';
	seconds = best_of(&big, &kernels);
	print_message("# | a module of %zu bytes, %u kernels: %.3f s (budget 1 s)\n", big.length, kernels, seconds);
	assert_true(kernels > 100);
	assert_true(INSTRUMENTED || seconds <= MODULE_MOST_S);
	free(big.bytes);
	free(text.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_kernel), cmocka_unit_test(test_module)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
