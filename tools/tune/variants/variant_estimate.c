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

/* What was evaluated in part tells nothing of single threads. */
static double accesses_of(const struct kc_counts *counts)
{
	if (counts->sampled)
		return NAN;
	return (counts->of[KC_COUNT_OF_LD_GLOBAL] + counts->of[KC_COUNT_OF_ST_GLOBAL] +
		counts->of[KC_COUNT_OF_ATOMICS]) *
	       counts->threads;
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
	variant->threads = (uint64_t)kernel->counts.threads;
	variant->accesses = accesses_of(&kernel->counts);
	variant->times = kernel->times;
	variant->occupancy = occupancy_of(&v->device, variant);
	return 0;
}

/* The code of the variant before, as the next one may be of it, too. */
struct opened {
	struct kc_explanation explanation;
	struct kc_explain_launch launch;
	char *path;
	const char *file, *kernel; /* as written; NULL: nothing is open, no kernel is named */
	int rc;                    /* of kc_explain_read() */
	char why[WHY_BYTES];
};

static int explain(struct kc_variants *v, struct kc_variant *variant, struct opened *o)
{
	struct kc_explained kernel;
	char why[WHY_BYTES];
	int rc;

	if (o->rc < 0)
		return give_up(v, variant, KC_VARIANT_UNKNOWN, o->why);
	if (o->explanation.kernel_count > 1) {
		snprintf(why, sizeof(why), "%s has %u kernels: the column kernel tells which", o->path,
			 o->explanation.kernel_count);
		return give_up(v, variant, KC_VARIANT_UNKNOWN, why);
	}
	rc = kc_explain_kernel(&o->explanation, 0, &kernel, why, sizeof(why));
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

static int is_same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static void close_code(struct opened *o)
{
	kc_explain_free(&o->explanation);
	free(o->path);
	o->path = NULL;
	o->file = NULL;
}

/* 0 or -ENOMEM; what else is wrong is in o->why. */
static int open_code(const struct kc_variants *v, const struct kc_variant *variant, struct opened *o)
{
	if (o->file && is_same(o->file, variant->file) && is_same(o->kernel, variant->kernel))
		return 0;
	close_code(o);
	o->path = path_of(v, variant->file);
	if (!o->path)
		return -ENOMEM;
	o->file = variant->file;
	o->kernel = variant->kernel;
	o->explanation = (struct kc_explanation){
	    .path = o->path,
	    .device = &v->device,
	    .launch = &o->launch,
	    .resources = v->resources,
	    .lambda = KC_LAMBDA_NOT_LEARNED,
	};
	o->rc = kc_explain_read(&o->explanation, o->kernel, o->why, sizeof(o->why));
	return o->rc == -ENOMEM ? -ENOMEM : 0;
}

static int estimate(struct kc_variants *v, struct kc_variant *variant, struct opened *o)
{
	char *arguments = variant->arguments ? strdup(variant->arguments) : NULL;
	int rc = arguments || !variant->arguments ? open_code(v, variant, o) : -ENOMEM;

	o->launch = (struct kc_explain_launch){.given = 1, .dynamic_shared_bytes = variant->dynamic_shared_bytes};
	memcpy(o->launch.grid, variant->grid, sizeof(o->launch.grid));
	memcpy(o->launch.block, variant->block, sizeof(o->launch.block));
	if (rc == 0)
		rc = kc_launch_arguments(arguments, &o->launch) < 0
			 ? give_up(v, variant, KC_VARIANT_UNKNOWN, "it has more arguments than a kernel can")
			 : explain(v, variant, o);
	free(arguments);
	return rc;
}

/* Of block shapes, the first of which is that of the launch: threads beyond its own that load or store something do
 * what the launch does not. */
static void leave_out_others(struct kc_variants *v)
{
	const struct kc_variant *own = &v->at[0];

	for (uint32_t i = 1; i < v->count && own->state == KC_VARIANT_ESTIMATED; i++) {
		struct kc_variant *variant = &v->at[i];

		if (variant->state == KC_VARIANT_ESTIMATED && variant->threads > own->threads &&
		    !(variant->accesses <= own->accesses)) {
			variant->state = KC_VARIANT_UNKNOWN;
			variant->why = "more threads than the launch had would access memory";
		}
	}
}

int kc_variants_estimate(struct kc_variants *v)
{
	struct opened *o = calloc(1, sizeof(*o));
	struct kc_progress progress;
	int rc = o ? 0 : -ENOMEM;

	kc_progress_begin(&progress, v->path, "estimated", v->count);
	for (uint32_t i = 0; rc == 0 && i < v->count; i++) {
		rc = estimate(v, &v->at[i], o);
		kc_progress(&progress, i + 1);
	}
	kc_progress_end(&progress);
	if (rc == 0 && v->assumed)
		leave_out_others(v);
	if (o)
		close_code(o);
	free(o);
	return rc;
}
