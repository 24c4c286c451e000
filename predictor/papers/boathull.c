#include "boathull.h"

#include "predictor/device/units.h"

#include <errno.h>
#include <math.h>

/* Table 1, column o: operations of a thread that are not f. */
#define OFFSET_ELEMENT 16.0
#define OFFSET_TWO_ELEMENTS 32.0
#define OFFSET_STAGED 64.0 /* what goes through on-chip memory first */
#define OFFSET_TILE 4.0    /* per element of the tile */

#define NO_FMA 2.0         /* c1 / c0 */
#define FMA_OPERATIONS 2.0 /* a fused multiply-add */

const char *kc_boathull_class_name(uint32_t boathull_class)
{
	static const char *const names[] = {
#define X(constant, text) text,
	    KC_BOATHULL_CLASSES(X)
#undef X
	};

	return boathull_class < KC_BOATHULL_NONE ? names[boathull_class] : "none";
}

/* w, m, o and the elements of d, c, u. */
struct row {
	double w, m, o, d, c, u;
};

static struct row per_element(double elements, double m, double o, double data)
{
	return (struct row){elements, m, o, data, data, 0};
}

static struct row per_tile(const struct kc_boathull_size *s)
{
	double m = s->u * s->v, data = 2 * s->a * s->b;

	return (struct row){s->a / s->u * s->b / s->v, m, OFFSET_TILE * m, data, data, 0};
}

static struct row row_of(enum kc_boathull_class class, const struct kc_boathull_size *s)
{
	double n = s->a * s->b;
	struct row row;

	switch (class) {
	case KC_BOATHULL_ROW_TO_ELEMENT:
		return (struct row){s->a, s->b, OFFSET_TILE * s->b, n + s->a, n + s->a, 0};
	case KC_BOATHULL_TILE_TO_ELEMENT:
	case KC_BOATHULL_ELEMENT_TO_TILE:
		return per_tile(s);
	case KC_BOATHULL_TILE_TO_TILE:
		row = per_tile(s);
		row.c = row.u = n;
		return row;
	case KC_BOATHULL_NEIGHBOURHOOD_2D:
		return per_element(n, s->u * s->v, OFFSET_STAGED, 2 * n);
	case KC_BOATHULL_NEIGHBOURHOOD_1D:
		return per_element(n, s->u, OFFSET_STAGED, 2 * n);
	case KC_BOATHULL_TO_ONE:
		return (struct row){n, 1, OFFSET_ELEMENT, n + 1, n, 1};
	case KC_BOATHULL_TO_SHARED:
		return (struct row){n, 1, OFFSET_STAGED, n + s->bins, s->bins, n};
	case KC_BOATHULL_TWO_ELEMENTS:
		return per_element(n, 1, OFFSET_TWO_ELEMENTS, 3 * n);
	default:
		return per_element(n, 1, OFFSET_ELEMENT, 2 * n);
	}
}

int kc_boathull_work(enum kc_boathull_class class, const struct kc_boathull_size *size, struct kc_boathull_work *work)
{
	struct row row;

	if ((unsigned)class >= KC_BOATHULL_NONE)
		return -EINVAL;
	row = row_of(class, size);
	*work = (struct kc_boathull_work){
	    .work_units = row.w,
	    .modifier = row.m,
	    .offset = row.o,
	    .data_bytes = row.d * size->element_bytes,
	    .coalesced_bytes = row.c * size->element_bytes,
	    .uncoalesced_bytes = row.u * size->element_bytes,
	    .may_scatter = class == KC_BOATHULL_UNORDERED || class == KC_BOATHULL_ROW_TO_ELEMENT,
	};
	return 0;
}

/* Operations divided by GFLOP/s, and bytes divided by GB/s, are nanoseconds. */
struct kc_boathull_time kc_boathull_ns(const struct kc_boathull_machine *machine, const struct kc_boathull_work *work,
				       double complexity, struct kc_boathull_use use)
{
	double c0 = work->work_units * (complexity * work->modifier + work->offset) / machine->compute_gflops;
	double c1 = NO_FMA * c0;
	double m0 =
	    work->coalesced_bytes / machine->coalesced_gbps + work->uncoalesced_bytes / machine->uncoalesced_gbps;
	double m1 = work->may_scatter ? work->data_bytes / machine->uncoalesced_gbps : m0;

	return (struct kc_boathull_time){
	    .low_ns = fmax(use.fma == KC_KNOWN_NO ? c1 : c0, use.coalesced == KC_KNOWN_NO ? m1 : m0),
	    .high_ns = fmax(use.fma == KC_KNOWN_YES ? c0 : c1, use.coalesced == KC_KNOWN_YES ? m0 : m1),
	    .transfer_ns = machine->bus_gbps > 0 ? work->data_bytes / machine->bus_gbps : 0,
	};
}

struct kc_boathull_machine kc_boathull_machine_of(const struct kc_device *device)
{
	double gbps = (double)device->memory_bytes_per_s / 1e9;
	double flops = device->flops_per_s ? (double)device->flops_per_s : kc_device_peak_flops(device);

	return (struct kc_boathull_machine){
	    .compute_gflops = flops / 1e9,
	    .coalesced_gbps =
		device->copy_bytes_per_s ? (double)device->copy_bytes_per_s / 1e9 : KC_BOATHULL_COALESCED_SHARE * gbps,
	    .uncoalesced_gbps = KC_BOATHULL_UNCOALESCED_SHARE * gbps,
	};
}

/* --- the class of a kernel that was counted */

#define DENSE 1.5  /* sectors over those that the bytes need: coalesced up to here, */
#define SPARSE 4.0 /* scattered from here on */
#define ONE 0.5    /* counts are rounded to whole numbers within this, as the last block may be partly empty */
#define NEIGHBOURS_MAX 256.0      /* a 16 × 16 window; more loads are no filter but, for example, a matrix product */
#define FEW (1.5 / KC_WARP_LANES) /* stores per thread where one thread in a warp stores, or fewer */

static enum kc_known is_coalesced(const struct kc_counts *counts)
{
	const double *n = counts->of;
	double bytes = n[KC_COUNT_OF_BYTES_LOADED] + n[KC_COUNT_OF_BYTES_STORED];
	double least = fmax(n[KC_COUNT_OF_REQUESTS], bytes / KC_SECTOR_BYTES);

	if (!(least > 0))
		return KC_NOT_KNOWN;
	if (n[KC_COUNT_OF_SECTORS] <= DENSE * least)
		return KC_KNOWN_YES;
	return n[KC_COUNT_OF_SECTORS] >= SPARSE * least ? KC_KNOWN_NO : KC_NOT_KNOWN;
}

static enum kc_known uses_fma(const struct kc_counts *counts)
{
	const double *n = counts->of;
	double separate = n[KC_COUNT_OF_ADD] + n[KC_COUNT_OF_MUL];

	if (n[KC_COUNT_OF_FMA] > separate)
		return KC_KNOWN_YES;
	return n[KC_COUNT_OF_FMA] > 0 ? KC_NOT_KNOWN : KC_KNOWN_NO;
}

static int is_about(double count, double whole)
{
	return fabs(count - whole) < ONE;
}

static enum kc_boathull_class class_of(const struct kc_counts *counts, enum kc_known coalesced)
{
	double loads = counts->of[KC_COUNT_OF_LD_GLOBAL], stores = counts->of[KC_COUNT_OF_ST_GLOBAL];

	if (loads < ONE)
		return KC_BOATHULL_NONE;
	if (is_about(loads, 1) && counts->of[KC_COUNT_OF_ATOMICS] >= ONE)
		return KC_BOATHULL_TO_SHARED;
	if (is_about(loads, 1) && stores < FEW)
		return KC_BOATHULL_TO_ONE;
	if (is_about(loads, 1) && is_about(stores, 1))
		return coalesced == KC_KNOWN_YES ? KC_BOATHULL_ELEMENT : KC_BOATHULL_UNORDERED;
	if (is_about(loads, 1) && stores > 1)
		return KC_BOATHULL_ELEMENT_TO_TILE;
	if (is_about(loads, 2) && is_about(stores, 1))
		return KC_BOATHULL_TWO_ELEMENTS;
	if (is_about(stores, 1) && coalesced == KC_KNOWN_NO)
		return KC_BOATHULL_ROW_TO_ELEMENT;
	if (is_about(stores, 1))
		return loads <= NEIGHBOURS_MAX ? KC_BOATHULL_NEIGHBOURHOOD_1D : KC_BOATHULL_NONE;
	return is_about(stores, loads) ? KC_BOATHULL_TILE_TO_TILE : KC_BOATHULL_NONE;
}

/* A thread is a work unit. */
static struct kc_boathull_size size_of(enum kc_boathull_class class, const struct kc_counts *counts)
{
	const double *n = counts->of;
	double loads = n[KC_COUNT_OF_LD_GLOBAL];
	struct kc_boathull_size size = {
	    .a = counts->threads, .b = 1, .u = 1, .v = 1, .element_bytes = n[KC_COUNT_OF_BYTES_LOADED] / loads};

	switch (class) {
	case KC_BOATHULL_ROW_TO_ELEMENT:
		size.b = loads;
		break;
	case KC_BOATHULL_TILE_TO_TILE:
		size.a *= loads;
		size.u = loads;
		break;
	case KC_BOATHULL_ELEMENT_TO_TILE:
		size.a *= n[KC_COUNT_OF_ST_GLOBAL];
		size.u = n[KC_COUNT_OF_ST_GLOBAL];
		break;
	case KC_BOATHULL_NEIGHBOURHOOD_1D:
		size.u = loads;
		break;
	default:
		break;
	}
	return size;
}

struct kc_boathull_kernel kc_boathull_kernel_of(const struct kc_counts *counts)
{
	const double *n = counts->of;
	struct kc_boathull_kernel kernel = {.use = {uses_fma(counts), is_coalesced(counts)}};
	double operations =
	    FMA_OPERATIONS * n[KC_COUNT_OF_FMA] + n[KC_COUNT_OF_ADD] + n[KC_COUNT_OF_MUL] + n[KC_COUNT_OF_SPECIAL];
	struct kc_boathull_work work;

	kernel.class = class_of(counts, kernel.use.coalesced);
	if (kernel.class == KC_BOATHULL_NONE)
		return kernel;
	kernel.size = size_of(kernel.class, counts);
	kc_boathull_work(kernel.class, &kernel.size, &work);
	kernel.complexity = fmax(operations / work.modifier, 1);
	return kernel;
}
