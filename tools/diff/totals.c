#include "totals.h"

#include <errno.h>
#include <stdlib.h>

struct side_sum {
	double launches, ns;
};

struct shape_sum {
	struct side_sum of[KC_SIDES][KC_COMPANIES];
	struct side_sum compared[KC_SIDES][KC_COMPANIES];
	double more_ns; /* by more or fewer of the launches that are compared, at OLD's durations */
};

struct adding {
	const struct kc_measured_names *names;
	const struct kc_diff_units *units;
	struct shape_sum *sums; /* by shape */
	struct kc_diff *out;
};

static const struct kc_diff_item *items_of(const struct kc_diff_units *units, int side)
{
	return units->items[side].at;
}

static struct side_sum sum_of(const struct side_sum *companies)
{
	struct side_sum sum = {0};

	for (int i = 0; i < KC_COMPANIES; i++) {
		sum.launches += companies[i].launches;
		sum.ns += companies[i].ns;
	}
	return sum;
}

/* What it cost that other launches were overlapped, at OLD's durations. */
static double company_cost(const struct shape_sum *shape, double old_mean)
{
	double ns = 0;

	for (int i = 0; i < KC_COMPANIES; i++) {
		const struct side_sum *was = shape->of[KC_OLD] + i, *is = shape->of[KC_NEW] + i;
		double mean = was->launches > 0  ? was->ns / was->launches
			      : is->launches > 0 ? is->ns / is->launches
						 : 0;

		ns += is->launches * (mean - old_mean);
	}
	return ns;
}

static double more_cost(struct side_sum old, struct side_sum new)
{
	if (old.launches <= 0 || new.launches <= 0)
		return new.ns - old.ns;
	return (new.launches - old.launches) * old.ns / old.launches;
}

static struct side_sum less(struct side_sum all, struct side_sum some)
{
	struct side_sum rest = {all.launches - some.launches, all.ns - some.ns};

	/* Means over runs or steps are not exact. */
	return rest.launches > 1e-9 * all.launches ? rest : (struct side_sum){0};
}

/* Parts of the difference that a shape makes which have other reasons than its launches' durations. */
static void explain_sum(const struct shape_sum *shape, struct kc_diff_kernel *kernel)
{
	struct side_sum old = sum_of(shape->of[KC_OLD]), new = sum_of(shape->of[KC_NEW]);
	double company = 0;

	if (old.launches > 0 && new.launches > 0)
		company = company_cost(shape, old.ns / old.launches);
	kernel->company_ns += company;
	kernel->sizes_ns += old.launches > 0 ? (new.launches - old.launches) * old.ns / old.launches : new.ns;
	kernel->mix_ns += shape->more_ns - company;
	for (int i = 0; i < KC_COMPANIES; i++)
		kernel->mix_ns += more_cost(less(shape->of[KC_OLD][i], shape->compared[KC_OLD][i]),
					    less(shape->of[KC_NEW][i], shape->compared[KC_NEW][i]));
}

/* Of what a side launched, what is told: per run or step. */
static struct side_sum mean(const struct adding *c, int side, struct side_sum sum)
{
	return (struct side_sum){sum.launches / c->out->of[side], sum.ns / c->out->of[side]};
}

static struct side_sum sum_of_unit(const struct adding *c, const struct kc_diff_unit *unit, int side)
{
	struct side_sum sum = {0};

	for (uint32_t i = unit->first[side]; i < unit->first[side] + unit->count[side]; i++) {
		const struct kc_diff_item *item = items_of(c->units, side) + c->units->order[side][i];

		sum.launches += item->count;
		sum.ns += item->ns * item->count;
	}
	return mean(c, side, sum);
}

static void add_up_units(const struct adding *c)
{
	for (size_t u = 0; u < c->units->count; u++) {
		const struct kc_diff_unit *unit = c->units->at + u;
		struct shape_sum *shape = c->sums + unit->shape;
		enum kc_diff_company company = kc_diff_unit_company(c->units, unit);
		struct side_sum sums[KC_SIDES];

		for (int side = 0; side < KC_SIDES; side++) {
			sums[side] = sum_of_unit(c, unit, side);
			shape->compared[side][company].launches += sums[side].launches;
			shape->compared[side][company].ns += sums[side].ns;
		}
		shape->more_ns += more_cost(sums[KC_OLD], sums[KC_NEW]);
	}
}

/* Divides what more or fewer launches of each shape cost. */
static void divide_mix(struct kc_diff_kernel *kernel)
{
	double old = kernel->launches[KC_OLD], new = kernel->launches[KC_NEW];

	if (old > 0 && new > 0)
		kernel->count_ns = (new - old) * kernel->total_ns[KC_OLD] / old;
	else
		kernel->sizes_ns = 0;
	kernel->sizes_ns -= kernel->count_ns;
}

static void add_up(const struct adding *c)
{
	for (int side = 0; side < KC_SIDES; side++) {
		for (size_t i = 0; i < c->units->items[side].count; i++) {
			const struct kc_diff_item *item = items_of(c->units, side) + i;
			struct side_sum *sum = &c->sums[item->shape].of[side][item->company];

			sum->launches += item->count;
			sum->ns += item->ns * item->count;
		}
		for (uint32_t i = 0; i < c->names->shapes.count; i++)
			for (int company = 0; company < KC_COMPANIES; company++)
				c->sums[i].of[side][company] = mean(c, side, c->sums[i].of[side][company]);
	}
	add_up_units(c);
	for (uint32_t shape = 0; shape < c->names->shapes.count; shape++) {
		struct kc_diff_kernel *kernel = c->out->kernels + kc_measured_shape(c->names, shape)->kernel;

		explain_sum(c->sums + shape, kernel);
		for (int side = 0; side < KC_SIDES; side++) {
			struct side_sum sum = sum_of(c->sums[shape].of[side]);

			kernel->launches[side] += sum.launches;
			kernel->total_ns[side] += sum.ns;
			c->out->total_ns[side] += sum.ns;
		}
	}
	for (size_t i = 0; i < c->out->count; i++)
		divide_mix(c->out->kernels + i);
}

int kc_diff_add_up(const struct kc_measured_names *names, const struct kc_diff_units *units, struct kc_diff *out)
{
	struct adding a = {names, units, calloc(names->shapes.count + 1, sizeof(*a.sums)), out};

	if (!a.sums)
		return -ENOMEM;
	add_up(&a);
	free(a.sums);
	return 0;
}
