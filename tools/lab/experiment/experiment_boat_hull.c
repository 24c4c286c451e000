#include "experiment.h"

#include "predictor/math/median.h"

#include <math.h>
#include <string.h>

#define BLOCK 256u
#define ROUNDS 10u
#define SIDE 1024u
#define LARGE_SIDE 4096u
#define PIXEL_BYTES 4.0
#define SIDE_OF_DCT 8
#define SIDE_OF_TILE 4
#define BINS 256
#define MAXIMUM_SHARE 4.0 /* Table 4: the maximum is over 262,144 elements of an image of 1,024 x 1,024 */

/* Errors in the conclusion and Table 5: the total; kernels (2 and 7 %); transfers. */
#define TOTAL_ERROR 0.08
#define KERNELS_ERROR 0.07
#define TRANSFERS_ERROR 0.11

/* A row of Table 1 with its letters filled in for an image of side x side. */
struct primitive {
	const char *name; /* of the program's algorithm, or of a kernel of the case study */
	enum kc_boathull_class class;
	double width, height; /* A and B over the side */
	int side, bins;       /* U = V; C */
	double complexity;    /* f */
	enum kc_known fma, coalesced;
};

/*
 * f is counted by hand in image.cuh: 1 where an element is touched once; 7 a
 * neighbour in two dimensions (two clamps of two comparisons, an index, the
 * operation), as the paper's erosion needs too, 5 in one; of the cosine transform
 * 16 fused multiply-adds a pixel. The printed row of enlarge counts from the image
 * that comes out.
 */
static const struct primitive primitives[] = {
    {"binarize", KC_BOATHULL_ELEMENT, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"mirror", KC_BOATHULL_UNORDERED, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_NOT_KNOWN},
    {"project_x", KC_BOATHULL_ROW_TO_ELEMENT, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_NOT_KNOWN},
    {"project_y", KC_BOATHULL_ROW_TO_ELEMENT, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"scale_down", KC_BOATHULL_TILE_TO_ELEMENT, 1, 1, SIDE_OF_TILE, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"dct", KC_BOATHULL_TILE_TO_TILE, 1, 1, SIDE_OF_DCT, 0, 32, KC_KNOWN_YES, KC_KNOWN_YES},
    {"enlarge", KC_BOATHULL_ELEMENT_TO_TILE, SIDE_OF_TILE, SIDE_OF_TILE, SIDE_OF_TILE, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"convolve_2d", KC_BOATHULL_NEIGHBOURHOOD_2D, 1, 1, 5, 0, 7, KC_KNOWN_NO, KC_KNOWN_YES},
    {"convolve_1d", KC_BOATHULL_NEIGHBOURHOOD_1D, 1, 1, 7, 0, 5, KC_KNOWN_NO, KC_KNOWN_YES},
    {"image_sum", KC_BOATHULL_TO_ONE, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"image_histogram", KC_BOATHULL_TO_SHARED, 1, 1, 1, BINS, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"difference", KC_BOATHULL_TWO_ELEMENTS, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
};
#define PRIMITIVES (sizeof(primitives) / sizeof(*primitives))

/* Table 4, in the order in which they are launched. */
static const struct primitive case_study[] = {
    {"histogram", KC_BOATHULL_TO_SHARED, 1, 1, 1, BINS, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"maximum", KC_BOATHULL_TO_ONE, 1, 1 / MAXIMUM_SHARE, 1, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"threshold", KC_BOATHULL_ELEMENT, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
    {"erode", KC_BOATHULL_NEIGHBOURHOOD_2D, 1, 1, 7, 0, 7, KC_KNOWN_NO, KC_KNOWN_YES},
    {"X-projection", KC_BOATHULL_ROW_TO_ELEMENT, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_NOT_KNOWN},
    {"Y-projection", KC_BOATHULL_ROW_TO_ELEMENT, 1, 1, 1, 0, 1, KC_KNOWN_NO, KC_KNOWN_YES},
};
#define CASE_KERNELS (sizeof(case_study) / sizeof(*case_study))

static uint32_t plan(enum kc_plan plan, struct kc_step steps[static KC_STEPS])
{
	uint32_t count = 0;

	steps[count++] = (struct kc_step){.program = KC_CALIBRATION};
	steps[count++] = (struct kc_step){
	    .program = "boat_hull", .algorithm = "case_study", .size = SIDE, .block = BLOCK, .repeat = ROUNDS};
	for (unsigned i = 0; i < PRIMITIVES; i++)
		steps[count++] = (struct kc_step){.program = "boat_hull",
						  .algorithm = primitives[i].name,
						  .size = plan == KC_PLAN_FULL ? LARGE_SIDE : SIDE,
						  .block = BLOCK,
						  .repeat = ROUNDS};
	return count;
}

static struct kc_boathull_work work_of(const struct primitive *p, double side)
{
	const struct kc_boathull_size size = {.a = side * p->width,
					      .b = side * p->height,
					      .u = p->side,
					      .v = p->class == KC_BOATHULL_NEIGHBOURHOOD_1D ? 1 : p->side,
					      .bins = p->bins,
					      .element_bytes = PIXEL_BYTES};
	struct kc_boathull_work work;

	kc_boathull_work(p->class, &size, &work);
	return work;
}

static struct kc_boathull_time time_of(const struct kc_boathull_machine *machine, const struct primitive *p,
				       double side)
{
	const struct kc_boathull_work work = work_of(p, side);

	return kc_boathull_ns(machine, &work, p->complexity, (struct kc_boathull_use){p->fma, p->coalesced});
}

/* Measured rates are preferred to those of the data sheet. */
static struct kc_boathull_machine machine_of(const struct kc_observations *evidence)
{
	struct kc_boathull_machine machine = kc_boathull_machine_of(&evidence->device);
	const struct kc_rates *rates = &evidence->rates;

	if (rates->flops_per_s > 0)
		machine.compute_gflops = rates->flops_per_s / 1e9;
	if (rates->copy_bytes_per_s > 0)
		machine.coalesced_gbps = rates->copy_bytes_per_s / 1e9;
	if (rates->scattered_bytes_per_s > 0)
		machine.uncoalesced_gbps = rates->scattered_bytes_per_s / 1e9;
	if (rates->bus_bytes_per_s > 0)
		machine.bus_gbps = rates->bus_bytes_per_s / 1e9;
	return machine;
}

/* --- primitives: points of the hull, times over the bytes they move */

static void add_primitive(const struct kc_observed *observed, const struct primitive *p, struct kc_finding *finding)
{
	const struct kc_boathull_work work = work_of(p, observed->step->size);
	struct kc_boathull_time time = time_of(&finding->machine, p, observed->step->size);
	double bytes = work.coalesced_bytes + work.uncoalesced_bytes;
	struct kc_point *point;

	point = kc_finding_point(finding, p->name);
	point->x = work.work_units * (p->complexity * work.modifier + work.offset) / bytes;
	point->measured = kc_observed_round_ns(observed) / bytes;
	point->low = time.low_ns / bytes;
	point->high = time.high_ns / bytes;
}

/* --- the case study */

struct sums {
	double measured_ns, low_ns, high_ns;
};

static double middle(const struct sums *sums)
{
	return (sums->low_ns + sums->high_ns) / 2;
}

static struct sums sum_kernels(const struct kc_boathull_machine *machine, const struct kc_observed *observed)
{
	struct sums sums = {.measured_ns = kc_observed_round_ns(observed)};

	for (unsigned i = 0; i < CASE_KERNELS; i++) {
		struct kc_boathull_time time = time_of(machine, &case_study[i], observed->step->size);

		sums.low_ns += time.low_ns;
		sums.high_ns += time.high_ns;
	}
	return sums;
}

/* Median of the copies of this kind and size. */
static double median_copy(const struct kc_observed *observed, const char *kind, uint64_t bytes)
{
	double values[4 * ROUNDS];
	uint32_t count = 0;

	for (uint32_t i = 0; i < observed->copy_count && count < sizeof(values) / sizeof(*values); i++) {
		const struct kc_observed_copy *copy = &observed->copies[i];

		if (copy->bytes == bytes && strcmp(copy->kind, kind) == 0 && copy->measured_ns > 0)
			values[count++] = copy->measured_ns;
	}
	return kc_median(values, count);
}

/* The image in, two projections out. */
static struct sums sum_transfers(const struct kc_boathull_machine *machine, const struct kc_observed *observed)
{
	double side = observed->step->size, image = side * side * PIXEL_BYTES, row = side * PIXEL_BYTES;
	struct sums sums;

	sums.measured_ns =
	    median_copy(observed, "HtoD", (uint64_t)image) + 2 * median_copy(observed, "DtoH", (uint64_t)row);
	sums.low_ns = sums.high_ns = (image + 2 * row) / machine->bus_gbps;
	return sums;
}

static void claim_sums(struct kc_finding *finding, const char *what, const char *paper, const struct sums *sums,
		       double limit)
{
	struct kc_claim *claim = kc_finding_claim(finding, what, "Table 5, middle of the range", paper);

	kc_claim_at_most(claim, kc_error_of(middle(sums), sums->measured_ns), limit, sums->measured_ns > 0);
	if (sums->measured_ns > 0)
		snprintf(claim->why, sizeof(claim->why), "%.3g to %.3g ms predicted, %.3g ms measured",
			 sums->low_ns / 1e6, sums->high_ns / 1e6, sums->measured_ns / 1e6);
}

static void claim_case(const struct kc_observed *observed, struct kc_finding *finding)
{
	struct sums kernels = {NAN, NAN, NAN}, transfers = kernels, total;

	if (observed && kc_observed_round(observed) == CASE_KERNELS) {
		kernels = sum_kernels(&finding->machine, observed);
		transfers = sum_transfers(&finding->machine, observed);
	}
	total = (struct sums){kernels.measured_ns + transfers.measured_ns, kernels.low_ns + transfers.low_ns,
			      kernels.high_ns + transfers.high_ns};
	claim_sums(finding, "case study, in all", "within 8 %", &total, TOTAL_ERROR);
	claim_sums(finding, "case study, kernels", "2 % and 7 %", &kernels, KERNELS_ERROR);
	claim_sums(finding, "case study, transfers", "11 %", &transfers, TRANSFERS_ERROR);
}

static void judge(const struct kc_observations *evidence, struct kc_finding *finding)
{
	const struct kc_observed *study = NULL;

	finding->machine = machine_of(evidence);
	for (uint32_t i = 0; i < evidence->step_count; i++) {
		const struct kc_observed *observed = &evidence->steps[i];

		if (!observed->step->algorithm)
			continue;
		if (strcmp(observed->step->algorithm, "case_study") == 0)
			study = observed;
		for (unsigned k = 0; k < PRIMITIVES; k++)
			if (strcmp(observed->step->algorithm, primitives[k].name) == 0)
				add_primitive(observed, &primitives[k], finding);
	}
	claim_case(study, finding);
	kc_claim_within(kc_finding_claim(finding, "primitives of the eleven classes within their predicted range",
					 "Table 1, section 4.2", "ranges"),
			finding);
	snprintf(finding->note, sizeof(finding->note),
		 "Work by Table 1, rates by kerncast calibrate: %.4g GFLOP/s, %.4g and %.4g GB/s, bus %.4g GB/s.",
		 finding->machine.compute_gflops, finding->machine.coalesced_gbps, finding->machine.uncoalesced_gbps,
		 finding->machine.bus_gbps);
}

const struct kc_experiment kc_experiment_boat_hull = {
    .name = "boat_hull",
    .title = "boat hull: eleven classes of image primitives, and the case study with its transfers",
    .paper = "Nugteren, Corporaal, \"The boat hull model\", CF 2012",
    .figure = KC_FIGURE_HULL,
    .plan = plan,
    .judge = judge,
};
