/*
 * Block sizes of five kernels, timed by others on six GPUs (traces/solo_bsp): from what one block took, how well the
 * others are told, and what is lost by the one that is named first.
 *
 * The code is that of our own kernels of the same algorithms (cuda_tests/explain); launches, registers and times are
 * the recorded programs'. Of 8 x 8, 16 x 16 and 32 x 32 threads, or 64, 256 and 1,024, on Tesla K40 4 x 4 too, each in
 * turn is that of the run; an answer is judged among those that were timed. Lost is the time beyond that of the fastest
 * of them, of the block that is named first, or of the run's own where none is, beside 256 threads and the blocks of
 * the highest occupancy (their mean).
 *
 * Nothing was chosen on these recordings, but that a gain of 2 % is named (on the GPUs to choose on, where it
 * changes 0.1 points). As last seen (every eighth size), on GPUs to choose on, 295 answers: lost
 * 6.4 % by the first named, 20.4 % by 256 threads, 38.5 % by the highest occupancy; 95.6 % of times in their ranges; of
 * 86 that were told to be faster 3 were not. On GPUs to report on, 150 answers: 2.6, 16.2 and 34.6 %; 98.3 %; none
 * of 33.
 */
#include "run_blocks.h"

#include "cuda_tests/traces/trace_row.h"
#include "predictor/device/device.h"

#include <math.h>
#include <stdio.h>

enum { GPUS = 6, PROBLEMS_MAX = 4096, SHAPES_MAX = 8, EACH = 8 /* sizes: every so many */ };

static const struct {
	const char *file, *device;
	int is_reported;
} gpus[GPUS] = {{"GTX-680", "gtx680", 0}, {"Tesla-K20", "k20", 0}, {"Tesla-K40", "k40", 0},
		{"GTX-980", "gtx980", 0}, {"Titan", "titan", 1},   {"GTX-970", "gtx970", 1}};

static const struct {
	const char *module, *file, *kernel;
} applications[] = {
    {"vectorAdd", "simple.ptx", "_Z10vector_addPKfS0_Pfi"},
    {"matrix_sum_coalesced", "simple.ptx", "_Z10matrix_sumPKfS0_Pfi"},
    {"matrix_sum_normal", "simple.ptx", "_Z22matrix_sum_uncoalescedPKfS0_Pfi"},
    {"matMul_gpu", "matmul.ptx", "matmul_naive_coalesced"},
    {"matMul_gpu_uncoalesced", "matmul.ptx", "matmul_naive_uncoalesced"},
};
enum { APPLICATIONS = sizeof(applications) / sizeof(applications[0]) };

struct timed {
	struct kc_shape shape;
	struct kc_resources resources;
	double ns;
};

/* One size of one kernel on one GPU. */
struct problem {
	int gpu, application;
	long n;
	struct timed timed[SHAPES_MAX];
	unsigned count;
};

struct figures {
	double lost, lost_256, lost_occupancy;
	unsigned answers, in_range, others, faster, not_faster, cannot_tell, keep;
};

/* --- recordings */

static struct problem problems[PROBLEMS_MAX];
static int problem_count;

static struct problem *problem_of(int gpu, int application, long n)
{
	for (int i = problem_count - 1; i >= 0; i--)
		if (problems[i].gpu == gpu && problems[i].application == application && problems[i].n == n)
			return &problems[i];
	assert_true(problem_count < PROBLEMS_MAX);
	problems[problem_count] = (struct problem){.gpu = gpu, .application = application, .n = n};
	return &problems[problem_count++];
}

static void read_line(int gpu, char *line)
{
	struct kc_trace_row row = {0};
	struct problem *problem;
	int application = 0;

	kc_trace_read(line, &row);
	while (application < APPLICATIONS && strcmp(applications[application].module, row.fields[KC_TRACE_MODULE]) != 0)
		application++;
	if (application == APPLICATIONS)
		return;
	problem = problem_of(gpu, application, atol(row.fields[KC_TRACE_ARGS]));
	assert_true(problem->count < SHAPES_MAX);
	problem->timed[problem->count++] = (struct timed){row.shape, row.resources, (double)row.duration_ns};
}

static int load(const char *folder)
{
	char name[64], line[KC_TRACE_LINE_BYTES];

	problem_count = 0;
	for (int gpu = 0; gpu < GPUS; gpu++) {
		FILE *pipe;

		snprintf(name, sizeof(name), "traces/solo_bsp/%s.csv.gz", gpus[gpu].file);
		pipe = kc_open_recorded(folder, name);
		if (!pipe)
			return 0;
		assert_non_null(fgets(line, sizeof(line), pipe));
		while (fgets(line, sizeof(line), pipe))
			read_line(gpu, line);
		pclose(pipe);
	}
	return 1;
}

/* --- answers */

static const struct timed *timed_with(const struct problem *problem, const uint32_t block[3])
{
	for (unsigned i = 0; i < problem->count; i++)
		if (memcmp(problem->timed[i].shape.block, block, 3 * sizeof(*block)) == 0)
			return &problem->timed[i];
	return NULL;
}

static uint32_t threads_of(const struct timed *timed)
{
	return timed->shape.block[0] * timed->shape.block[1] * timed->shape.block[2];
}

/* Only blocks that were timed; that of the run stays the first. */
static void keep_timed(struct kc_variants *v, const struct problem *problem)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < v->count; i++)
		if (timed_with(problem, v->at[i].block))
			v->at[kept++] = v->at[i];
	v->count = kept;
}

static void ask(const struct problem *problem, const struct timed *own, struct kc_run_kernel *kernel)
{
	static char path[4096], arguments[128];
	struct kc_explain_launch launch = {.given = 1};
	const struct kc_blocks_asked asked = {
	    .path = path,
	    .kernel = applications[problem->application].kernel,
	    .arguments = arguments,
	    .launch = &launch,
	};

	snprintf(path, sizeof(path), "%s/%s", KC_EXPLAIN, applications[problem->application].file);
	snprintf(arguments, sizeof(arguments), "0x100000000,0x200000000,0x300000000,%ld", problem->n);
	memcpy(launch.grid, own->shape.grid, sizeof(launch.grid));
	memcpy(launch.block, own->shape.block, sizeof(launch.block));
	*kernel = (struct kc_run_kernel){.of.solo_ns = own->ns};
	kernel->variants.device = *kc_device_builtin(gpus[problem->gpu].device);
	kernel->variants.resources = &own->resources;
	assert_int_equal(kc_variants_blocks(&kernel->variants, &asked), 0);
	keep_timed(&kernel->variants, problem);
	assert_int_equal(kc_run_answer(kernel), 0);
	assert_int_not_equal(kernel->answer, KC_RUN_UNKNOWN);
}

static double best_of(const struct problem *problem)
{
	double best = INFINITY;

	for (unsigned i = 0; i < problem->count; i++)
		best = fmin(best, problem->timed[i].ns);
	return best;
}

static double lost_by_256(const struct problem *problem)
{
	for (unsigned i = 0; i < problem->count; i++)
		if (threads_of(&problem->timed[i]) == 256)
			return problem->timed[i].ns / best_of(problem) - 1;
	fail_msg("no block of 256 threads");
	return NAN;
}

static double lost_by_occupancy(const struct problem *problem, const struct kc_variants *v)
{
	double most = 0, sum = 0;
	unsigned n = 0;

	for (uint32_t i = 0; i < v->count; i++)
		most = fmax(most, v->at[i].occupancy);
	for (uint32_t i = 0; i < v->count; i++)
		if (v->at[i].occupancy > most - 1e-9) {
			sum += timed_with(problem, v->at[i].block)->ns;
			n++;
		}
	return sum / n / best_of(problem) - 1;
}

static void judge(const struct problem *problem, const struct timed *own, struct figures *f)
{
	struct kc_run_kernel kernel;
	const struct timed *first = own;

	ask(problem, own, &kernel);
	for (uint32_t i = 1; i < kernel.variants.count; i++) {
		const struct kc_variant *variant = &kernel.variants.at[i];
		double ns = timed_with(problem, variant->block)->ns;

		f->others++;
		f->in_range += ns >= variant->low_ns && ns <= variant->high_ns;
		if (variant->high_ns < own->ns) {
			f->faster++;
			f->not_faster += !(ns < own->ns);
		}
	}
	if (kernel.named_count)
		first = timed_with(problem, kernel.variants.at[kernel.named[0]].block);
	f->lost += first->ns / best_of(problem) - 1;
	f->lost_256 += lost_by_256(problem);
	f->lost_occupancy += lost_by_occupancy(problem, &kernel.variants);
	f->cannot_tell += kernel.answer == KC_RUN_CANNOT_TELL;
	f->keep += kernel.answer == KC_RUN_KEEP;
	f->answers++;
	kc_variant_ranking_free(&kernel.ranking);
	kc_variants_free(&kernel.variants);
}

static void add(struct figures *to, const struct figures *f)
{
	to->lost += f->lost;
	to->lost_256 += f->lost_256;
	to->lost_occupancy += f->lost_occupancy;
	to->answers += f->answers;
	to->in_range += f->in_range;
	to->others += f->others;
	to->faster += f->faster;
	to->not_faster += f->not_faster;
	to->cannot_tell += f->cannot_tell;
	to->keep += f->keep;
}

static void print(const char *what, const struct figures *f)
{
	printf("%-24s %4u answers: lost %5.1f %%, by 256 threads %5.1f %%, by occupancy %5.1f %%; in range %5.1f %%; "
	       "%u told "
	       "faster, %u were not; cannot tell %u, keep %u\n",
	       what, f->answers, 100 * f->lost / f->answers, 100 * f->lost_256 / f->answers,
	       100 * f->lost_occupancy / f->answers, 100.0 * f->in_range / f->others, f->faster, f->not_faster,
	       f->cannot_tell, f->keep);
}

static struct figures figures_of(int is_reported)
{
	struct figures all = {0}, of[APPLICATIONS] = {{0}};
	int seen[GPUS][APPLICATIONS] = {{0}};

	for (int i = 0; i < problem_count; i++) {
		const struct problem *p = &problems[i];

		if (p->count < 3 || gpus[p->gpu].is_reported != is_reported || seen[p->gpu][p->application]++ % EACH)
			continue;
		for (unsigned own = 0; own < p->count; own++)
			judge(p, &p->timed[own], &of[p->application]);
	}
	for (int a = 0; a < APPLICATIONS; a++) {
		print(applications[a].module, &of[a]);
		add(&all, &of[a]);
	}
	print(is_reported ? "to report on" : "to choose on", &all);
	return all;
}

static void check(const char *folder)
{
	if (!load(folder))
		return;
	for (int is_reported = 0; is_reported < 2; is_reported++) {
		struct figures f = figures_of(is_reported);

		assert_true(f.answers >= 30);
		assert_true(f.lost <= 0.5 * fmin(f.lost_256, f.lost_occupancy));
		assert_true(f.in_range >= 0.85 * f.others);
		assert_true(f.not_faster <= 0.05 * f.faster);
	}
}

static void blocks_are_named(void **state)
{
	(void)state;
	check(KC_REDUCED_DATA);
}

static void blocks_are_named_on_full_recordings(void **state)
{
	(void)state;
	check(kc_full_data());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(blocks_are_named),
	    cmocka_unit_test(blocks_are_named_on_full_recordings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
