#include "run_blocks.h"

#include "tools/command.h"
#include "tools/input/launch_options.h"
#include "tools/system/database.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The library may count a launch with less effort: within 2 % of what is exact (predictor/code/counts.h). */
#define ALIKE 0.02
#define SAME_TIME 0.01 /* of two blocks, as a share of it: less than runs of one differ by */
#define GROUPS_TRIED 8u
#define NOTHING 1e-3 /* per thread: less is none */

const char *kc_run_answer_words(enum kc_run_answer answer)
{
	static const char *const words[] = {
#define X(constant, words) [KC_RUN_##constant] = words,
	    KC_RUN_ANSWERS(X)
#undef X
	};

	return words[answer];
}

/* --- code */

static int not_known(struct kc_run_kernel *kernel, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int not_known(struct kc_run_kernel *kernel, const char *format, ...)
{
	va_list rest;

	va_start(rest, format);
	vsnprintf(kernel->why, sizeof(kernel->why), format, rest);
	va_end(rest);
	kernel->answer = KC_RUN_UNKNOWN;
	return 0;
}

/* What the database says is not trusted: nothing is read but a file. */
static int is_file(const char *path)
{
	struct stat file;

	return *path == '/' && lstat(path, &file) == 0 && S_ISREG(file.st_mode);
}

static int is_alike(const struct kc_counts *recorded, const struct kc_counts *counts)
{
	for (uint32_t i = 0; i < KC_COUNTER_COUNT; i++)
		if (fabs(recorded->of[i] - counts->of[i]) > ALIKE * fmax(recorded->of[i], counts->of[i]) + NOTHING)
			return 0;
	return 1;
}

/* In the order in which the launch is asked: the parameters are known once the kernel was read. */
static int read_code(struct kc_run_kernel *kernel, struct kc_explanation *explanation, struct kc_explain_launch *launch)
{
	struct kc_explained explained;
	char why[KC_EXPLAIN_WHY_BYTES], *arguments = NULL;
	int rc = kc_explain_kernel(explanation, 0, &explained, why, sizeof(why));

	if (rc == 0 && explained.param_count)
		kernel->arguments = kc_run_arguments(kernel->code.arguments, explained.params, explained.param_count);
	if (rc == 0 && kernel->arguments)
		arguments = strdup(kernel->arguments);
	if (rc == 0 && explained.param_count && !arguments)
		rc = -ENOMEM;
	kernel->freedom = explained.blocks;
	kc_explained_free(&explained);
	if (rc == 0 && kc_launch_arguments(arguments, launch) == 0) {
		launch->given = 1;
		rc = kc_explain_kernel(explanation, 0, &explained, why, sizeof(why));
		if (rc == 0 && explained.counted != 1)
			not_known(kernel, "its work could not be counted");
		else if (rc == 0 && !is_alike(&kernel->demand.counts, &explained.counts))
			not_known(kernel, "the code in %s does other work than the run recorded", explanation->path);
		kc_explained_free(&explained);
	}
	free(arguments);
	return rc == 0 || rc == -ENOMEM ? rc : not_known(kernel, "%s", why);
}

static int find_code(struct kc_run_kernel *kernel, const char *path)
{
	struct kc_explain_launch launch = {.dynamic_shared_bytes = kernel->code.shape.dynamic_shared_bytes};
	struct kc_explanation explanation = {.path = path, .device = &kernel->demand.device, .launch = &launch};
	char why[KC_EXPLAIN_WHY_BYTES];
	int rc;

	memcpy(launch.grid, kernel->code.shape.grid, sizeof(launch.grid));
	memcpy(launch.block, kernel->code.shape.block, sizeof(launch.block));
	explanation.lambda = KC_LAMBDA_NOT_LEARNED;
	rc = kc_explain_read(&explanation, kernel->code.mangled, why, sizeof(why));
	if (rc == -ENOENT)
		rc = not_known(kernel, "%s has no code of it: --code FILE tells where it is", path);
	else if (rc < 0 && rc != -ENOMEM)
		rc = not_known(kernel, "%s", why);
	else if (rc == 0)
		rc = read_code(kernel, &explanation, &launch);
	kc_explain_free(&explanation);
	return rc;
}

/* --- blocks */

/* Blocks are told by increasing times. Of those that are expected to take the same the one with the narrowest range is
 * named. */
static void name_block(struct kc_run_kernel *kernel, uint32_t place, double *last_ns)
{
	const struct kc_variant *at = kernel->variants.at, *variant = &at[place];
	uint32_t *last = &kernel->named[kernel->named_count ? kernel->named_count - 1 : 0];

	if (kernel->named_count && variant->ns <= (1 + SAME_TIME) * *last_ns) {
		*last = variant->deviation < at[*last].deviation ? place : *last;
	} else if (kernel->named_count < KC_RUN_BLOCKS_NAMED) {
		kernel->named[kernel->named_count++] = place;
		*last_ns = variant->ns;
	}
}

static void name_blocks(struct kc_run_kernel *kernel)
{
	const struct kc_variants *v = &kernel->variants;
	double own_ns = v->at[0].measured_ns, last_ns = 0;
	int may_be_faster = 0;

	for (uint32_t i = 0; i < kernel->ranking.count; i++) {
		const struct kc_variant *variant = &v->at[kernel->ranking.order[i]];

		if (!isnan(variant->measured_ns) || variant->state != KC_VARIANT_ESTIMATED)
			continue;
		may_be_faster |= variant->low_ns < own_ns;
		if (variant->ns <= (1 - KC_RUN_LEAST_GAIN) * own_ns)
			name_block(kernel, kernel->ranking.order[i], &last_ns);
	}
	kernel->answer = !may_be_faster ? KC_RUN_KEEP : KC_RUN_CANNOT_TELL;
	if (kernel->named_count && v->at[kernel->named[0]].high_ns < own_ns)
		kernel->answer = KC_RUN_FASTER;
}

int kc_run_answer(struct kc_run_kernel *kernel)
{
	int rc = kc_variants_estimate(&kernel->variants);

	if (rc < 0)
		return rc;
	if (kernel->variants.at[0].state != KC_VARIANT_ESTIMATED)
		return not_known(kernel, "%s", kernel->variants.at[0].why);
	kernel->variants.at[0].measured_ns = kernel->of.solo_ns;
	rc = kc_variants_rank(&kernel->variants, &kernel->ranking);
	if (rc == 0)
		name_blocks(kernel);
	return rc;
}

static int try_blocks(struct kc_run_kernel *kernel, const char *path)
{
	struct kc_explain_launch launch = {.given = 1, .dynamic_shared_bytes = kernel->code.shape.dynamic_shared_bytes};
	const struct kc_blocks_asked asked = {
	    .path = path,
	    .kernel = kernel->code.mangled,
	    .arguments = kernel->arguments,
	    .launch = &launch,
	    .freedom = &kernel->freedom,
	};

	memcpy(launch.grid, kernel->code.shape.grid, sizeof(launch.grid));
	memcpy(launch.block, kernel->code.shape.block, sizeof(launch.block));
	kernel->variants.device = kernel->demand.device;
	kernel->variants.resources = &kernel->code.resources;
	if (kc_variants_blocks(&kernel->variants, &asked) < 0)
		return -ENOMEM;
	if (kernel->variants.count == 1 && *kernel->freedom.why)
		return not_known(kernel, "other blocks would do other work: %s", kernel->freedom.why);
	return kc_run_answer(kernel);
}

/* --- the kernels of a run */

static int tell(struct kc_store *store, struct kc_run_kernel *kernel, const char *code)
{
	int rc = kc_launch_demand(store, kernel->of.launch, NULL, &kernel->demand);

	kernel->answer = KC_RUN_UNKNOWN;
	if (rc == -ENODATA)
		return not_known(kernel, "its GPU is not known");
	if (rc == 0)
		rc = kc_launch_code(store, kernel->of.launch, &kernel->code);
	if (rc < 0)
		return rc;
	if (!kernel->of.alone)
		return not_known(kernel, "no such launch ran alone");
	if (!kernel->demand.is_counted)
		return not_known(kernel,
				 *kernel->code.state ? "the run did not count its work; its code: %s"
						     : "the run did not count its work%s",
				 kernel->code.state);
	if (!code && !is_file(kernel->code.path))
		return not_known(kernel, "its code is not where it was%s%s: --code FILE tells where it is",
				 *kernel->code.module ? ", in " : "", kernel->code.module);
	rc = find_code(kernel, code ? code : kernel->code.path);
	if (rc < 0 || *kernel->why)
		return rc;
	return try_blocks(kernel, code ? code : kernel->code.path);
}

/* The group of a kernel's launches that took most time after one that took so much; NULL: there is none. */
static const struct kc_launch_group *next_group(const struct kc_launch_groups *g, uint32_t kernel, double below_ns)
{
	const struct kc_launch_group *next = NULL;

	for (size_t i = 0; i < g->count; i++)
		if (g->at[i].kernel == kernel && g->at[i].time_ns < below_ns &&
		    (!next || g->at[i].time_ns > next->time_ns))
			next = &g->at[i];
	return next;
}

/* As launches whose work the run counted, where there are any: of the first ones it may know neither work nor
 * arguments. 0 or -errno. */
static int choose_counted(struct kc_run_blocks *run, const struct kc_launch_groups *g, struct kc_run_kernel *kernel)
{
	const struct kc_launch_group *group = next_group(g, kernel->of.kernel, INFINITY);
	struct kc_group_kernel of = kernel->of;
	int rc = 0;

	for (unsigned i = 0; group && i < GROUPS_TRIED; i++) {
		kc_launch_groups_take(&run->side, g, group, &of);
		rc = kc_launch_demand(run->side.store, of.launch, NULL, &kernel->demand);
		if (rc == 0 && kernel->demand.is_counted) {
			kernel->of = of;
			return 0;
		}
		if (rc < 0 && rc != -ENODATA)
			return rc;
		group = next_group(g, kernel->of.kernel, group->time_ns);
	}
	return 0;
}

static int choose_kernels(struct kc_run_blocks *run, unsigned most)
{
	struct kc_launch_groups groups = {0};
	struct kc_group_kernel *all = NULL;
	size_t n = 0;
	int rc = kc_launch_groups_of(&run->side, &run->names, &groups);

	if (rc == 0)
		rc = kc_launch_groups_kernels(&run->side, &groups, &all, &n);
	run->count = (unsigned)(n < most ? n : most);
	run->other_kernels = n - run->count;
	for (size_t i = 0; i < n; i++)
		if (i < run->count)
			run->kernels[i].of = all[i];
		else
			run->other_share += all[i].share;
	for (unsigned i = 0; rc == 0 && i < run->count; i++)
		rc = choose_counted(run, &groups, &run->kernels[i]);
	free(all);
	kc_launch_groups_free(&groups);
	return rc;
}

int kc_run_blocks(struct kc_run_blocks *run, const struct kc_run_blocks_asked *asked)
{
	int status = kc_side_select(&run->side, asked->run), rc;

	if (status == KC_EXIT_OK)
		status = kc_side_read(&run->side, NULL, 1, &run->names);
	if (status != KC_EXIT_OK)
		return status;
	rc = kc_measured_names_tell_apart(&run->names);
	if (rc == 0)
		rc = choose_kernels(run, asked->most);
	for (unsigned i = 0; rc == 0 && i < run->count; i++)
		rc = tell(run->side.store, &run->kernels[i], asked->code);
	if (rc == -ENOMEM)
		kc_error("%s", strerror(ENOMEM));
	else if (rc < 0)
		kc_database_unreadable(run->side.path, rc);
	return rc < 0 ? KC_EXIT_FAILED : KC_EXIT_OK;
}

void kc_run_blocks_free(struct kc_run_blocks *run)
{
	for (unsigned i = 0; i < run->count; i++) {
		struct kc_run_kernel *kernel = &run->kernels[i];

		kc_launch_code_free(&kernel->code);
		kc_variant_ranking_free(&kernel->ranking);
		kc_variants_free(&kernel->variants);
		free(kernel->arguments);
	}
	kc_side_close(&run->side);
	kc_measured_names_free(&run->names);
}
