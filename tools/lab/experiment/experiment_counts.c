#include "experiment.h"
#include "tools/explain/explain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EFFORT 2000000u           /* steps of evaluation for one launch, about 20 ms; beyond, it is sampled */
#define APART ((uint64_t)1 << 32) /* bytes between what two pointers point to */
#define ARGUMENTS 16u

struct kc_program_code {
	struct kc_explanation explanation;
	struct kc_explain_launch none;
	struct kc_explained *kernels; /* all of them */
	char path[PATH_MAX + 64];
};

static int read_kernels(struct kc_program_code *code)
{
	struct kc_explanation *explanation = &code->explanation;
	char why[KC_EXPLAIN_WHY_BYTES];
	int rc = kc_explain_read(explanation, NULL, why, sizeof(why));

	if (rc == 0)
		code->kernels = calloc(explanation->kernel_count, sizeof(*code->kernels));
	if (rc == 0 && !code->kernels)
		rc = -ENOMEM;
	for (uint32_t i = 0; rc == 0 && i < explanation->kernel_count; i++)
		rc = kc_explain_kernel(explanation, i, &code->kernels[i], why, sizeof(why));
	return rc;
}

struct kc_program_code *kc_program_code_read(const struct kc_observations *evidence, const char *program)
{
	struct kc_program_code *code = calloc(1, sizeof(*code));

	if (!code)
		return NULL;
	snprintf(code->path, sizeof(code->path), "%s/%s%s", evidence->programs, program,
		 evidence->simulated ? "-sim" : "");
	code->explanation.path = code->path;
	code->explanation.launch = &code->none;
	if (read_kernels(code) == 0)
		return code;
	kc_program_code_free(code);
	return NULL;
}

void kc_program_code_tell(const struct kc_program_code *code, const struct kc_observations *evidence,
			  const char *program, struct kc_finding *finding)
{
	size_t used = strlen(finding->note);

	if (code || !evidence->step_count)
		return;
	finding->uncounted = 1;
	snprintf(finding->note + used, sizeof(finding->note) - used, " The code of %s cannot be read: no counts.",
		 program);
}

void kc_program_code_free(struct kc_program_code *code)
{
	if (!code)
		return;
	for (uint32_t i = 0; code->kernels && i < code->explanation.kernel_count; i++)
		kc_explained_free(&code->kernels[i]);
	free(code->kernels);
	kc_explain_free(&code->explanation);
	free(code);
}

static const struct kc_explained *find(const struct kc_program_code *code, const char *kernel)
{
	for (uint32_t i = 0; i < code->explanation.kernel_count; i++)
		if (strcmp(code->kernels[i].entry->name, kernel) == 0)
			return &code->kernels[i];
	return NULL;
}

/* Parameters of 64 bits are pointers in these programs' kernels. */
static void set_arguments(const struct kc_explained *kernel, const uint64_t *numbers, uint32_t number_count,
			  struct kc_cost_argument *arguments)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < kernel->param_count && i < ARGUMENTS; i++) {
		int is_pointer = kernel->params[i].bytes == sizeof(uint64_t) && !kernel->params[i].is_array;

		if (is_pointer)
			arguments[i] = (struct kc_cost_argument){.value = (i + 1) * APART, .known = 1};
		else if (next < number_count)
			arguments[i] = (struct kc_cost_argument){.value = numbers[next++], .known = 1};
	}
}

int kc_program_counts(const struct kc_program_code *code, const struct kc_observed_launch *observed,
		      const uint64_t *numbers, uint32_t number_count, struct kc_counts *counts)
{
	const struct kc_explained *kernel = code ? find(code, observed->kernel) : NULL;
	struct kc_cost_argument arguments[ARGUMENTS] = {0};
	struct kc_cost_launch launch = {
	    .dynamic_shared_bytes = observed->dynamic_shared_bytes,
	    .arguments = arguments,
	};

	if (!kernel || !kernel->cost)
		return -ENOENT;
	launch.argument_count = kernel->param_count < ARGUMENTS ? kernel->param_count : ARGUMENTS;
	memcpy(launch.grid, observed->grid, sizeof(launch.grid));
	memcpy(launch.block, observed->block, sizeof(launch.block));
	set_arguments(kernel, numbers, number_count, arguments);
	return kc_cost_evaluate(kernel->cost, &launch, EFFORT, counts);
}
