#include "variants.h"

#include "predictor/device/occupancy.h"
#include "tools/explain/explain.h"
#include "tools/input/launch_options.h"
#include "tools/output/progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_BYTES 1024u

static int give_up(struct kc_variants *v, struct kc_variant *variant, enum kc_variant_state state, const char *why)
{
	variant->state = state;
	variant->why = kc_arena_text(&v->arena, why, strlen(why));
	return variant->why ? 0 : -ENOMEM;
}

/* Warps that an SM holds of the launch, of those that it can. */
static double occupancy_of(const struct kc_device *device, const struct kc_variant *variant)
{
	uint32_t threads = variant->block[0] * variant->block[1] * variant->block[2],
		 warps = (threads + device->warp_size - 1) / device->warp_size;
	double most = kc_sm_limits(device).of[KC_SM_WARPS];

	return most > 0 ? variant->times.work.blocks_per_sm * (double)warps / most : NAN;
}

static int take(struct kc_variants *v, struct kc_variant *variant, const struct kc_explained *kernel)
{
	char why[KC_EXPLAIN_WHY_BYTES];

	if (kernel->entry->code && !kernel->entry->code_is_foreign) {
		variant->registers = kernel->entry->code->registers;
		variant->local_bytes = kernel->entry->code->local_bytes;
	}
	if (kernel->timed == -ERANGE)
		return give_up(v, variant, KC_VARIANT_CANNOT_RUN, kernel->untimed);
	if (kernel->timed != 1) {
		snprintf(why, sizeof(why), "its work is not known");
		kc_explain_refusal(kernel, why);
		return give_up(v, variant, KC_VARIANT_UNKNOWN, why);
	}
	variant->state = KC_VARIANT_ESTIMATED;
	variant->times = kernel->times;
	variant->occupancy = occupancy_of(&v->device, variant);
	return 0;
}

static int explain(struct kc_variants *v, struct kc_variant *variant, struct kc_explanation *explanation)
{
	struct kc_explained kernel;
	char why[WHY_BYTES];
	int rc = kc_explain_read(explanation, variant->kernel, why, sizeof(why));

	if (rc < 0)
		return rc == -ENOMEM ? rc : give_up(v, variant, KC_VARIANT_UNKNOWN, why);
	if (explanation->kernel_count > 1) {
		snprintf(why, sizeof(why), "%s has %u kernels: the column kernel tells which", explanation->path,
			 explanation->kernel_count);
		return give_up(v, variant, KC_VARIANT_UNKNOWN, why);
	}
	rc = kc_explain_kernel(explanation, 0, &kernel, why, sizeof(why));
	if (rc == 0)
		rc = take(v, variant, &kernel);
	else if (rc != -ENOMEM)
		rc = give_up(v, variant, KC_VARIANT_UNKNOWN, why);
	kc_explained_free(&kernel);
	return rc;
}

/* Files are named as seen from the list. */
static char *path_of(const struct kc_variants *v, const char *file)
{
	const char *slash = strrchr(v->path, '/');
	char *path = NULL;

	if (*file == '/' || !slash)
		return strdup(file);
	return asprintf(&path, "%.*s%s", (int)(slash + 1 - v->path), v->path, file) < 0 ? NULL : path;
}

static int estimate(struct kc_variants *v, struct kc_variant *variant)
{
	struct kc_explain_launch launch = {.given = 1, .dynamic_shared_bytes = variant->dynamic_shared_bytes};
	struct kc_explanation explanation = {.device = &v->device, .launch = &launch, .lambda = KC_LAMBDA_NOT_LEARNED};
	char *path = path_of(v, variant->file), *arguments = variant->arguments ? strdup(variant->arguments) : NULL;
	int rc = -ENOMEM;

	memcpy(launch.grid, variant->grid, sizeof(launch.grid));
	memcpy(launch.block, variant->block, sizeof(launch.block));
	explanation.path = path;
	if (path && (arguments || !variant->arguments)) {
		rc = kc_launch_arguments(arguments, &launch);
		rc = rc < 0 ? give_up(v, variant, KC_VARIANT_UNKNOWN, "it has more arguments than a kernel can")
			    : explain(v, variant, &explanation);
	}
	kc_explain_free(&explanation);
	free(arguments);
	free(path);
	return rc;
}

int kc_variants_estimate(struct kc_variants *v)
{
	struct kc_progress progress;
	int rc = 0;

	kc_progress_begin(&progress, v->path, "estimated", v->count);
	for (uint32_t i = 0; rc == 0 && i < v->count; i++) {
		rc = estimate(v, &v->at[i]);
		kc_progress(&progress, i + 1);
	}
	kc_progress_end(&progress);
	return rc;
}
