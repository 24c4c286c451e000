#include "explain.h"

#include "predictor/code/features/features.h"
#include "store/query/readable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMULA_BYTES ((size_t)64 << 20)

/* The module may be freed before the kernel. */
static int copy_params(struct kc_explained *kernel, const struct kc_ptx_function *function)
{
	kernel->params = calloc(function->param_count ? function->param_count : 1, sizeof(*kernel->params));
	if (!kernel->params)
		return -ENOMEM;
	kernel->param_count = function->param_count;
	for (uint32_t i = 0; i < function->param_count; i++) {
		kernel->params[i] = function->params[i];
		kernel->params[i].name = NULL;
	}
	return 0;
}

static void read_formula(struct kc_explained *kernel, const struct kc_ptx_module *ptx,
			 const struct kc_ptx_function *function)
{
	int rc = kc_cost_read(&kernel->cost, ptx, function, FORMULA_BYTES, &kernel->refusal);

	if (rc == 0)
		rc = kc_cost_tell(kernel->cost, &kernel->story);
	if (rc == 0)
		return;
	kc__explain_no_memory(&kernel->refusal, rc);
	kc_cost_free(kernel->cost);
	kernel->cost = NULL;
}

/* PTX for another architecture, of other lines of the source than the machine code for the device. */
static int is_other_code(struct kc_explained *kernel, const struct kc_ptx_module *ptx,
			 const struct kc_ptx_function *function)
{
	const struct kc_explain_entry *entry = kernel->entry;
	const char *differs = NULL;

	if (entry->unit->ptx_is_other && entry->code && !entry->code_is_foreign) {
		struct kc_features code = kc_features_of_code(entry->code);

		differs = kc_features_differ(ptx, function, &code, entry->code->static_shared_bytes);
	}
	if (differs)
		kc__refuse(&kernel->refusal, function->offset, "%s", differs);
	return differs != NULL;
}

/* The file may have changed since its kernels were found. */
static int read_ptx(struct kc_explanation *explanation, struct kc_explained *kernel)
{
	const struct kc_explain_entry *entry = kernel->entry;
	const struct kc_ptx_function *function;
	int rc = kc__explain_parse(explanation, entry->unit, &kernel->refusal);

	if (rc < 0)
		return rc;
	if (entry->function >= explanation->ptx.function_count)
		return -EBADMSG;
	function = &explanation->ptx.functions[entry->function];
	if (strcmp(function->name, entry->name) != 0)
		return -EBADMSG;
	rc = copy_params(kernel, function);
	if (rc == 0)
		rc = kc_block_freedom(&explanation->ptx, function, &kernel->blocks);
	if (rc < 0)
		return rc;
	kernel->ptx_target = explanation->ptx.target;
	if (!is_other_code(kernel, &explanation->ptx, function))
		read_formula(kernel, &explanation->ptx, function);
	return 0;
}

static int read_arguments(const struct kc_explained *kernel, const struct kc_explain_launch *launch,
			  struct kc_cost_argument *arguments, char *why, size_t why_size)
{
	char reason[256];

	if (launch->argument_count > kernel->param_count) {
		snprintf(why, why_size, "%s has %u parameters, not %u", kernel->readable, kernel->param_count,
			 launch->argument_count);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < launch->argument_count; i++) {
		const struct kc_ptx_param *param = &kernel->params[i];
		int rc = kc_explain_argument(launch->arguments[i], param, &arguments[i], reason, sizeof(reason));

		if (rc == 0)
			continue;
		snprintf(why, why_size, "p%u of %s (%s, %u bytes): %s", i, kernel->readable, kc_explain_type(param),
			 param->bytes, rc == -EINVAL ? reason : strerror(-rc));
		return rc;
	}
	return 0;
}

static int count_kernel(struct kc_explained *kernel, const struct kc_explain_launch *asked, char *why, size_t why_size)
{
	struct kc_cost_argument arguments[KC_EXPLAIN_ARGUMENTS] = {0};
	struct kc_cost_launch launch = {
	    .dynamic_shared_bytes = asked->dynamic_shared_bytes,
	    .arguments = arguments,
	    .argument_count = asked->argument_count,
	};
	int rc = read_arguments(kernel, asked, arguments, why, why_size);

	memcpy(launch.grid, asked->grid, sizeof(launch.grid));
	memcpy(launch.block, asked->block, sizeof(launch.block));
	if (rc == 0) {
		int counted = kc_cost_evaluate(kernel->cost, &launch, KC_COST_EFFORT_EXACT, &kernel->counts);

		kernel->counted = counted == 0 ? 1 : counted;
	}
	for (uint32_t i = 0; i < asked->argument_count; i++)
		kc_explain_argument_free(&arguments[i]);
	return rc;
}

/* Registers and a thread's own memory are those of the machine code, if it is for the device. */
static void time_kernel(const struct kc_explanation *explanation, struct kc_explained *kernel)
{
	const struct kc_explain_launch *asked = explanation->launch;
	const struct kc_cubin_kernel *code = kernel->entry->code;
	struct kc_counted_launch launch = {
	    .resources.static_shared_bytes = kc_cost_static_shared_bytes(kernel->cost),
	    .shape.dynamic_shared_bytes = asked->dynamic_shared_bytes,
	    .counts = kernel->counts,
	};
	int rc;

	memcpy(launch.shape.grid, asked->grid, sizeof(launch.shape.grid));
	memcpy(launch.shape.block, asked->block, sizeof(launch.shape.block));
	if (explanation->resources) {
		launch.resources = *explanation->resources;
	} else if (code && !kernel->entry->unit->foreign) {
		launch.resources.registers = code->registers;
		launch.resources.local_bytes = code->local_bytes;
	}
	rc = kc_launch_times(explanation->device, &launch, explanation->lambda, &kernel->times, kernel->untimed,
			     sizeof(kernel->untimed));
	kernel->timed = rc == 0 ? 1 : rc;
}

int kc_explain_kernel(struct kc_explanation *explanation, uint32_t i, struct kc_explained *kernel, char *why,
		      size_t why_size)
{
	char readable[KC_READABLE_BYTES];
	int rc = 0;

	*kernel = (struct kc_explained){.entry = explanation->entries[i]};
	kc_readable_name(kernel->entry->name, readable, sizeof(readable));
	kernel->readable = strdup(readable);
	if (!kernel->readable)
		rc = -ENOMEM;
	else if (kernel->entry->has_ptx)
		rc = read_ptx(explanation, kernel);
	if (rc < 0) {
		snprintf(why, why_size, "%s: %s", explanation->path,
			 rc == -EBADMSG ? "the file changed while it was read" : strerror(-rc));
		return rc;
	}
	if (kernel->cost && explanation->launch->given)
		rc = count_kernel(kernel, explanation->launch, why, why_size);
	if (kernel->counted == 1 && explanation->device)
		time_kernel(explanation, kernel);
	return rc;
}

void kc_explained_free(struct kc_explained *kernel)
{
	if (kernel->cost)
		kc_cost_story_free(&kernel->story);
	kc_cost_free(kernel->cost);
	free(kernel->params);
	free(kernel->readable);
	*kernel = (struct kc_explained){0};
}
