#include "experiment.h"

#include "predictor/papers/bsp.h"
#include "predictor/solo/curve.h"
#include "predictor/solo/forecast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAPER "Amaris, Cordeiro, Goldman, de Camargo, HiPC 2015"

/*
 * Of section V: "within 0.8 to 1.2 times the measured"; on a single board, errors "always below 5%" of matrix products,
 * of the subarray "in nearly all cases".
 */
#define RATIO_LOW 0.8
#define RATIO_HIGH 1.2
#define SINGLE_BOARD_ERROR 0.05

#define BLOCK 256u
#define SUBARRAY_BLOCK 128u /* 32 blocks of 128 in the paper */
#define ROUNDS 5u
#define FITTED_SIDE 1024u        /* λ comes from this size of a matrix */
#define FITTED_LENGTH (1u << 22) /* and this length of a sequence */

static const char *const products[] = {"matmul_uncoalesced", "matmul_coalesced", "matmul_tiled_uncoalesced",
				       "matmul_tiled_coalesced"};
#define PRODUCTS (sizeof(products) / sizeof(*products))

static uint32_t plan_sizes(struct kc_step *steps, uint32_t count, const char *algorithm, uint32_t block,
			   const uint32_t *sizes, uint32_t size_count)
{
	for (uint32_t i = 0; i < size_count; i++)
		steps[count++] = (struct kc_step){
		    .program = "bsp", .algorithm = algorithm, .size = sizes[i], .block = block, .repeat = ROUNDS};
	return count;
}

static uint32_t plan(enum kc_plan plan, struct kc_step steps[static KC_STEPS])
{
	static const uint32_t sides[] = {512, 1024, 2048, 256, 4096, 8192};
	static const uint32_t lengths[] = {1u << 20, 1u << 22, 1u << 24, 1u << 26, 1u << 28};
	uint32_t count = 0;

	for (uint32_t i = 0; i < PRODUCTS; i++)
		count = plan_sizes(steps, count, products[i], BLOCK, sides, plan == KC_PLAN_FULL ? 6 : 3);
	return plan_sizes(steps, count, "subarray", SUBARRAY_BLOCK, lengths, plan == KC_PLAN_FULL ? 5 : 3);
}

/* Of a round, the first kernel takes almost all of the time. */
struct sized {
	const struct kc_observed *observed;
	double measured_ns, unit_ns; /* Equation 3 with λ = 1 */
	struct kc_curve_point work;  /* the same launch for kerncast's law of sizes */
	int fitted;
};

static int work_of(const struct kc_observations *evidence, const struct kc_observed_launch *launch,
		   struct kc_work *work)
{
	struct kc_shape shape = {.dynamic_shared_bytes = launch->dynamic_shared_bytes};

	memcpy(shape.grid, launch->grid, sizeof(shape.grid));
	memcpy(shape.block, launch->block, sizeof(shape.block));
	return kc_work_init(work, &evidence->device, &launch->resources, &shape, 0);
}

static struct sized size_of(const struct kc_observations *evidence, const struct kc_program_code *code,
			    const struct kc_observed *observed)
{
	const struct kc_bsp_machine machine = kc_bsp_machine_of(&evidence->device);
	struct sized sized = {.observed = observed, .unit_ns = NAN, .measured_ns = NAN};
	uint64_t n = observed->step->size;
	struct kc_bsp_kernel kernel;
	struct kc_counts counts;
	struct kc_work work;

	if (!kc_observed_round(observed) || kc_program_counts(code, &observed->launches[0], &n, 1, &counts) < 0)
		return sized;
	kernel = kc_bsp_kernel_of(&evidence->device, &counts);
	sized.measured_ns = kc_observed_median_ns(observed, 0);
	sized.unit_ns = kc_bsp_ns(&machine, &kernel, 1);
	if (work_of(evidence, observed->launches, &work) == 0)
		sized.work = kc_curve_point(&evidence->device, &counts, &work, sized.measured_ns);
	sized.fitted = n == FITTED_SIDE || n == FITTED_LENGTH;
	return sized;
}

static const struct sized *fitted_size(const struct sized *sizes, uint32_t count, const char *algorithm)
{
	for (uint32_t i = 0; i < count; i++)
		if (sizes[i].fitted && strcmp(sizes[i].observed->step->algorithm, algorithm) == 0)
			return &sizes[i];
	return NULL;
}

static double by_lambda(const struct sized *fitted, const struct sized *size)
{
	return size->unit_ns / (fitted->unit_ns / fitted->measured_ns);
}

/* predictor/solo/curve.h, given the one size and no other device. */
static double by_law(const struct kc_observations *evidence, const struct sized *fitted, const struct sized *size)
{
	struct kc_curve curve = kc_curve_of(&evidence->device);

	curve.points = &fitted->work;
	curve.count = 1;
	return size->work.work_cycles > 0 && fitted->work.work_cycles > 0
		   ? kc_curve_predict(&kc_curve_law_default, &curve, &size->work)
		   : NAN;
}

static void add_sizes(const struct kc_observations *evidence, const struct sized *sizes, struct kc_finding *lambda,
		      struct kc_finding *law)
{
	for (uint32_t i = 0; i < evidence->step_count; i++) {
		const char *algorithm = sizes[i].observed->step->algorithm;
		const struct sized *fitted = fitted_size(sizes, evidence->step_count, algorithm);
		struct kc_finding *findings[] = {lambda, law};

		for (unsigned f = 0; f < 2; f++) {
			struct kc_point *point = kc_finding_point(findings[f], algorithm);

			point->x = sizes[i].observed->step->size;
			point->measured = sizes[i].measured_ns;
			point->known = sizes[i].fitted;
			if (fitted)
				point->predicted =
				    f ? by_law(evidence, fitted, &sizes[i]) : by_lambda(fitted, &sizes[i]);
		}
	}
}

static void judge(const struct kc_observations *evidence, struct kc_finding *finding)
{
	struct kc_program_code *code = kc_program_code_read(evidence, "bsp");
	struct kc_finding law = {0};
	struct sized sizes[KC_STEPS];

	snprintf(finding->note, sizeof(finding->note),
		 "Counts from the programs' code; one λ per kernel, from %u x %u elements or %u.", FITTED_SIDE,
		 FITTED_SIDE, FITTED_LENGTH);
	kc_program_code_tell(code, evidence, "bsp", finding);
	for (uint32_t i = 0; i < evidence->step_count; i++)
		sizes[i] = size_of(evidence, code, &evidence->steps[i]);
	kc_program_code_free(code);
	add_sizes(evidence, sizes, finding, &law);
	kc_claim_ratios(kc_finding_claim(finding, "λ from one size: predicted / measured at others",
					 "Equation 3, section V", "0.8 to 1.2"),
			finding, RATIO_LOW, RATIO_HIGH);
	kc_claim_ratios(kc_finding_claim(finding, "on a single board, the same",
					 "section V: errors below 5 % (subarray: nearly always)", "0.95 to 1.05"),
			finding, 1 - SINGLE_BOARD_ERROR, 1 + SINGLE_BOARD_ERROR);
	kc_claim_ratios(kc_finding_claim(finding, "kerncast's law of sizes from the same one size",
					 "predictor/solo/curve.h", "here: 0.8 to 1.2"),
			&law, RATIO_LOW, RATIO_HIGH);
	kc_finding_free(&law);
}

const struct kc_experiment kc_experiment_bsp = {
    .name = "bsp",
    .title = "BSP with λ: matrix multiplication and maximum subarray over sizes",
    .paper = PAPER,
    .figure = KC_FIGURE_TIMES,
    .plan = plan,
    .judge = judge,
};

/* --- learning curve */

#define LEARNING_ROUNDS 40u

static uint32_t plan_learning(enum kc_plan plan, struct kc_step steps[static KC_STEPS])
{
	static const char *const algorithms[] = {"matmul_uncoalesced", "matmul_coalesced", "matmul_tiled_uncoalesced",
						 "matmul_tiled_coalesced", "subarray"};
	uint32_t count = 0;

	(void)plan; /* the number of measurements counts here, not their size */
	for (; count < sizeof(algorithms) / sizeof(*algorithms); count++) {
		int is_product = count < PRODUCTS;

		steps[count] = (struct kc_step){.program = "bsp",
						.algorithm = algorithms[count],
						.size = is_product ? FITTED_SIDE : FITTED_LENGTH,
						.block = is_product ? BLOCK : SUBARRAY_BLOCK,
						.repeat = LEARNING_ROUNDS};
	}
	return count;
}

/* One launch predicted from a number of launches before it, and learned from afterwards. */
struct lesson {
	double lambda, error;
};

/* Returns how many; lessons[n] was predicted from n measurements, n ≥ 1. */
static uint32_t learn(const struct kc_observations *evidence, const struct kc_observed *observed,
		      struct lesson *lessons)
{
	uint32_t each = kc_observed_round(observed), known = 0;
	struct kc_lambda device, shape;
	struct kc_work work;

	if (!each || work_of(evidence, observed->launches, &work) < 0)
		return 0;
	kc_lambda_init(&device, NULL);
	kc_lambda_init(&shape, &device);
	for (uint32_t i = 0; i < observed->launch_count; i += each) {
		const struct kc_belief belief = kc_lambda_belief(&shape, 1);
		double measured_ns = observed->launches[i].measured_ns;

		if (!(measured_ns > 0))
			continue;
		lessons[known].lambda = exp(belief.log_lambda);
		lessons[known].error =
		    kc_error_of((double)kc_forecast_solo(&work, &belief, NULL, NULL).ns, measured_ns);
		known++;
		kc_lambda_learn(&shape, &work, (int64_t)measured_ns, 0, 1);
	}
	return known;
}

struct learned {
	double drift, error_sum;
	uint32_t kernels, predictions;
};

static void add_curve(struct kc_finding *finding, const char *series, const struct lesson *lessons, uint32_t count,
		      struct learned *learned)
{
	for (uint32_t known = 1; known < count; known++) {
		struct kc_point *point = kc_finding_point(finding, series);

		point->x = known;
		point->measured = lessons[known].error;
		point->predicted = lessons[known].lambda / lessons[count - 1].lambda;
		learned->error_sum += lessons[known].error;
		learned->predictions++;
	}
	if (count < 2)
		return;
	learned->drift = fmax(learned->drift, fabs(lessons[1].lambda / lessons[count - 1].lambda - 1));
	learned->kernels++;
}

static void judge_learning(const struct kc_observations *evidence, struct kc_finding *finding)
{
	struct learned learned = {0};
	struct kc_claim *claim;

	snprintf(finding->note, sizeof(finding->note),
		 "Recorded launches predicted again, each knowing exactly those before it of the same kernel.");
	for (uint32_t i = 0; i < evidence->step_count; i++) {
		struct lesson lessons[LEARNING_ROUNDS];
		uint32_t count = learn(evidence, &evidence->steps[i], lessons);

		add_curve(finding, evidence->steps[i].step->algorithm, lessons, count, &learned);
	}
	claim = kc_finding_claim(finding, "λ from one measurement: how far it moves afterwards, at most",
				 "kerncast's; section V takes λ from one measurement", "here: 5 %");
	kc_claim_at_most(claim, learned.drift, SINGLE_BOARD_ERROR, learned.kernels);
	claim = kc_finding_claim(finding, "mean error, one measurement or more known", "section V", "below 5 %");
	kc_claim_at_most(claim, learned.predictions ? learned.error_sum / learned.predictions : NAN, SINGLE_BOARD_ERROR,
			 learned.predictions);
}

const struct kc_experiment kc_experiment_lambda = {
    .name = "lambda",
    .title = "how λ settles with the number of measurements",
    .paper = PAPER,
    .figure = KC_FIGURE_LEARNING,
    .plan = plan_learning,
    .judge = judge_learning,
};
