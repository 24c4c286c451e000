/* Reads any text as each of the values that people write: options and variables of the library (options.h), kernels,
 * counts, delays, layers and devices of the commands. */
#include "count_spec.h"
#include "decimal.h"
#include "delay_spec.h"
#include "device_spec.h"
#include "layer_spec.h"
#include "cuda_tests/fuzz/fuzzing.h"
#include "store/common/options.h"

static struct kc_fuzz_path file;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	file = kc_fuzz_path("device");
	return 0;
}

/* regcomp() copies what is repeated, each time anew, without limits: what an expression costs is for whoever writes it
 * to know. */
static int may_cost_much(enum kc_option option, const char *text)
{
	enum { SHORT = 64 };

	return option == KC_OPTION_kernel && (strpbrk(text, "+{") || strlen(text) > SHORT);
}

static void of_options(const char *text)
{
	struct kc_extent extent;
	struct kc_keep keep = {0};
	uint64_t bytes;
	int64_t ns;

	for (unsigned i = 0; i < KC_OPTION_COUNT; i++)
		if (!may_cost_much((enum kc_option)i, text))
			kc_option_check((enum kc_option)i, text);
	kc_parse_bytes(text, &bytes);
	if (kc_parse_duration(text, &ns) == 0)
		KC_FUZZ_MUST(ns > 0);
	if (kc_parse_extent(text, &extent) == 0)
		KC_FUZZ_MUST((extent.ns > 0) + (extent.launches > 0) == 1);
	if (kc_parse_keep(text, &keep) == 0)
		KC_FUZZ_MUST((keep.age_ns > 0) + (keep.runs > 0) + (keep.bytes > 0) == 1);
}

static void of_commands(const char *text)
{
	const struct kc_device *a100 = kc_device_builtin("a100");
	struct kc_count_spec counts;
	struct kc_replay_delay delay;
	struct kc_kernel_spec kernel;
	struct kc_work work;
	uint32_t layers;
	int64_t number;
	char why[256];

	kc_decimal_times(text, 1000, &number);
	kc_delay_spec(text, &delay);
	kc_layer_spec(text, &layers);
	kc_count_spec(text, &counts, why, sizeof(why));
	kc_neighbour_spec(text, &counts, why, sizeof(why));
	if (kc_kernel_spec(text, &kernel, why, sizeof(why)) == 0)
		kc_kernel_spec_work(&kernel, a100, &work, why, sizeof(why));
}

static void of_a_file(const char *text, size_t length)
{
	struct kc_device device;
	char why[256];

	kc_fuzz_write(file.text, text, length);
	kc_device_spec(file.text, &device, why, sizeof(why));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = malloc(length + 1);

	KC_FUZZ_MUST(text);
	memcpy(text, bytes, length);
	text[length] = '\0';
	of_options(text);
	of_commands(text);
	of_a_file(text, length);
	free(text);
	return 0;
}
