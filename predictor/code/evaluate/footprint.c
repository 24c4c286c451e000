#include "evaluate.h"
#include "memory.h"

#include <math.h>
#include <string.h>

/*
 * Distinct bytes of global memory. An address changes by a constant step in each
 * sum around it, or it is taken to be another one in each term. From the smallest
 * step on, a step that does not leave what was reached so far extends it, a larger
 * one repeats it elsewhere. Accesses whose extents overlap are one region, which
 * cannot have more sectors than its extent; what one access repeats of another is
 * known where they are some steps apart. It is an estimate: lanes and terms that a
 * branch leaves out count where others took it, and what lies at the edges of
 * overlapping accesses does not. Distinct is at most what is accessed.
 *
 * The same within one block, for what L1 keeps for its warps: what a loop comes back
 * to after more than L1 holds is loaded again. Of addresses that are not known, how
 * they differ between lanes tells what the warps of a block have in common.
 */
#define DIMENSIONS_MAX (KC_SUMS_MAX + 2)
#define REGIONS_MAX 24u

/* Of L1, for a block: half of the smallest, 128 KiB of 8.6, as shared memory and other blocks take from it. */
#define L1_BLOCK_BYTES 65536.0

struct dimension {
	int64_t step; /* bytes, at least 1 */
	double count;
};

struct extent {
	double first, end; /* addresses */
	double bytes, sectors;
	uint8_t scattered; /* a term has an address of its own: the extent is not known */
};

struct shape {
	struct dimension dimensions[DIMENSIONS_MAX];
	uint32_t count;
	double scattered; /* terms in which the address is another one */
};

struct region {
	struct extent extent;
	struct shape shape; /* of its first access */
	double first;       /* address of that */
	uint32_t loop;      /* in which that is */
};

struct regions {
	struct region all[REGIONS_MAX];
	uint32_t count;
	double others, other_bytes; /* sectors and bytes of accesses that are in none */
	uint8_t in_block;           /* of one block */
	uint8_t common;             /* only what all threads load alike */
};

static void add_dimension(struct shape *shape, struct extent *extent, int64_t step, double count)
{
	if (count <= 1 || !step)
		return;
	if (step < 0) {
		extent->first += (double)step * (count - 1);
		step = step == INT64_MIN ? INT64_MAX : -step;
	}
	shape->dimensions[shape->count++] = (struct dimension){step, count};
}

static void sort_dimensions(struct shape *shape)
{
	for (uint32_t i = 1; i < shape->count; i++) {
		struct dimension moved = shape->dimensions[i];
		uint32_t at = i;

		for (; at && shape->dimensions[at - 1].step > moved.step; at--)
			shape->dimensions[at] = shape->dimensions[at - 1];
		shape->dimensions[at] = moved;
	}
}

static double whole_sectors(double bytes)
{
	return ceil(bytes / KC_SECTOR_BYTES);
}

/* From one lane's access to those of all terms. */
static void extend(struct extent *extent, const struct shape *shape)
{
	double length = extent->end - extent->first;

	for (uint32_t i = 0; i < shape->count; i++) {
		double step = (double)shape->dimensions[i].step, count = shape->dimensions[i].count;
		double longer = length + step * (count - 1);

		extent->bytes = step <= length ? fmin(extent->bytes * count, longer) : extent->bytes * count;
		extent->sectors = step < KC_SECTOR_BYTES || step <= length
				      ? fmin(extent->sectors * count, whole_sectors(longer))
				      : extent->sectors * count;
		length = longer;
	}
	extent->end = extent->first + length;
	extent->bytes *= shape->scattered;
	extent->sectors *= shape->scattered;
	extent->scattered = shape->scattered > 1;
}

/* --- one access */

/* The lanes of a warp: as two dimensions, or as what they reach together. */
static void reach_of_lanes(const struct kc_lanes *address, uint32_t mask, uint32_t bytes, struct shape *shape,
			   struct extent *extent)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (uint32_t left = mask; left; left &= left - 1) {
		int64_t at = kc__lane(address, (uint32_t)__builtin_ctz(left));

		least = at < least ? at : least;
		most = at > most ? at : most;
	}
	extent->first = (double)least;
	extent->end = (double)least + bytes;
	extent->bytes = bytes;
	extent->sectors = whole_sectors(bytes);
	if (address->uniform)
		return;
	if (address->plane && mask == KC_ALL_LANES) {
		int64_t columns = (int64_t)1 << address->row_log2;

		add_dimension(shape, &(struct extent){0}, address->column_step, (double)columns);
		add_dimension(shape, &(struct extent){0}, address->row_step, (double)(KC_WARP_LANES / columns));
		return;
	}
	extent->end = (double)most + bytes;
	extent->bytes = fmin((double)bytes * kc__count_of(mask), extent->end - extent->first);
	extent->sectors = kc__sectors(address, mask, bytes);
}

int kc__is_computed_in(const struct kc_formula *f, uint32_t value, uint32_t loop)
{
	for (uint32_t l = f->values[value].loop; l != KC_NO_LOOP; l = f->cfg.loops[l].parent)
		if (l == loop)
			return 1;
	return 0;
}

static double threads_of_block(const struct kc_evaluation *e)
{
	return (double)e->launch->block[0] * e->launch->block[1] * e->launch->block[2];
}

static void add_loops(const struct kc_evaluation *e, uint32_t block, uint32_t base, int in_block, struct shape *shape,
		      struct extent *extent)
{
	const struct kc_lanes *address = kc__slot(e, base);
	const struct kc_cfg *cfg = &e->f->cfg;
	double inner =
	    extent->bytes * (address->uniform ? 1 : threads_of_block(e)); /* that the loops within went through */

	for (uint32_t l = cfg->blocks[block].loop; l != KC_NO_LOOP; l = cfg->loops[l].parent) {
		uint32_t c = KC_AXES + cfg->loops[l].depth;
		int steps = kc__is_computed_in(e->f, base, l) && (address->affine_in | address->unknown_in) >> c & 1;

		if (!steps && in_block && inner > L1_BLOCK_BYTES)
			shape->scattered *= fmax((double)e->trips[l], 1);
		if (steps)
			inner *= fmax((double)e->trips[l], 1);
		if (!kc__is_computed_in(e->f, base, l))
			continue;
		if (address->affine_in >> c & 1 && !e->f->loop_plans[l].stepwise)
			add_dimension(shape, extent, address->step[c], (double)e->trips[l]);
		else if (address->unknown_in >> c & 1 || e->f->loop_plans[l].stepwise)
			shape->scattered *= fmax((double)e->trips[l], 1);
	}
}

static void add_axes(const struct kc_evaluation *e, const struct kc_reach *reach, const struct kc_lanes *address,
		     int in_block, struct shape *shape, struct extent *extent)
{
	const uint32_t *block = e->launch->block, *count = e->warps.count;
	uint32_t warps = (block[0] * block[1] * block[2] + KC_WARP_LANES - 1) / KC_WARP_LANES;
	uint32_t apart = warps / (count[0] * count[1] * count[2]);

	for (uint32_t c = in_block ? KC_BLOCK_AXES : 0; c < KC_AXES; c++) {
		double terms = (double)reach->last[c] - reach->first[c] + 1;

		if (address->affine_in >> c & 1) {
			extent->first +=
			    (double)address->step[c] * ((double)reach->first[c] - (double)e->counters[c].at);
			add_dimension(shape, extent, address->step[c], terms);
		} else if (address->unknown_in >> c & 1) {
			shape->scattered *= terms;
		}
	}
	if (apart > 1 && address->plane && block[1] * block[2] == 1)
		add_dimension(shape, extent, (int64_t)(KC_WARP_LANES * (uint64_t)address->column_step), apart);
	else if (apart > 1 && !address->uniform) /* warps that are not alike were not surveyed */
		shape->scattered *= apart;
}

/* --- at addresses that are not known */

#define BASES_MAX 16u

static const struct kc_cost_buffer *given_buffer(const struct kc_evaluation *e, const struct kc_value *param)
{
	for (uint32_t n = 0; n < e->launch->buffer_count; n++) {
		const struct kc_cost_buffer *buffer = &e->launch->buffers[n];

		if (buffer->param == param->source[0] && (int64_t)buffer->offset_bytes == param->constant)
			return buffer;
	}
	return NULL;
}

enum leads { LEADS_UNDECIDED, LEADS_NOWHERE, LEADS_INTO, LEADS_APART };

/* A value that an address is computed from: it is in the buffer, it is no pointer that is known, or it may be either or
 * in another one. Undecided: by the parts so far that it goes round with in a loop. */
struct base {
	uint32_t value;
	enum leads leads;
	double first, bytes; /* of the buffer */
};

struct bases {
	struct base all[BASES_MAX];
	uint32_t count;
};

/* What the value is a sum or a choice of, so far as it may hold a pointer. */
static const uint32_t *parts_of(const struct kc_formula *f, const struct kc_value *v, uint32_t *count)
{
	const uint32_t *sources = v->op == KC_OP_PHI ? f->phi_sources + v->phi : v->source;

	*count = v->op == KC_OP_PHI ? f->cfg.blocks[v->block].in_count : v->count;
	if (v->op == KC_OP_SELECT) {
		--*count;
		return sources + 1;
	}
	if (v->op == KC_OP_SUB)
		*count = 1;
	else if (v->op != KC_OP_ADD && v->op != KC_OP_PHI && v->op != KC_OP_EXIT_VALUE)
		*count = 0;
	return sources;
}

static struct base *find_base(struct bases *bases, uint32_t value)
{
	for (uint32_t n = 0; n < bases->count; n++)
		if (bases->all[n].value == value)
			return &bases->all[n];
	return NULL;
}

/* The address and all that it is computed from. 0: there is no room for that. */
static int collect_bases(const struct kc_formula *f, uint32_t address, struct bases *bases)
{
	bases->all[0] = (struct base){.value = address};
	bases->count = 1;
	for (uint32_t n = 0; n < bases->count; n++) {
		uint32_t count;
		const uint32_t *parts = parts_of(f, &f->values[bases->all[n].value], &count);

		for (uint32_t i = 0; i < count; i++) {
			if (f->values[parts[i]].bits != 64 || find_base(bases, parts[i]))
				continue;
			if (bases->count == BASES_MAX)
				return 0;
			bases->all[bases->count++] = (struct base){.value = parts[i]};
		}
	}
	return 1;
}

static struct base sum_of(struct base a, struct base b)
{
	if (a.leads == LEADS_NOWHERE || b.leads == LEADS_APART)
		return b;
	if (b.leads == LEADS_NOWHERE || a.leads == LEADS_APART)
		return a;
	return (struct base){.leads = a.leads == LEADS_INTO && b.leads == LEADS_INTO ? LEADS_APART : LEADS_UNDECIDED};
}

static struct base choice_of(struct base a, struct base b)
{
	if (a.leads == LEADS_UNDECIDED)
		return b;
	if (b.leads == LEADS_UNDECIDED || (a.leads == b.leads && a.first == b.first && a.bytes == b.bytes))
		return a;
	return (struct base){.leads = LEADS_APART};
}

static struct base base_of(const struct kc_evaluation *e, struct bases *bases, uint32_t value)
{
	const struct kc_value *v = &e->f->values[value];
	const struct kc_cost_buffer *given = v->op == KC_OP_PARAM ? given_buffer(e, v) : NULL,
				    *buffer = given && !given->is_large ? given : NULL;
	int is_sum = v->op == KC_OP_ADD || v->op == KC_OP_SUB;
	struct base all = {.leads = is_sum ? LEADS_NOWHERE : LEADS_UNDECIDED};
	uint32_t count;
	const uint32_t *parts = parts_of(e->f, v, &count);

	if (v->op == KC_OP_POINTER)
		return (struct base){value, LEADS_INTO, (double)kc__variable_address(v), v->source[1]};
	if (buffer)
		return (struct base){value, LEADS_INTO, (double)buffer->first, (double)buffer->bytes};
	if (!count)
		return (struct base){.value = value, .leads = LEADS_NOWHERE};
	for (uint32_t n = 0; n < count; n++) {
		const struct base *known = find_base(bases, parts[n]);
		struct base part = known ? *known : (struct base){.leads = LEADS_NOWHERE};

		all = is_sum ? sum_of(all, part) : choice_of(all, part);
	}
	all.value = value;
	return all;
}

/* All of the one variable or buffer that the address lies in, whichever way it was computed. 0: it is not known. */
static int find_buffer(const struct kc_evaluation *e, uint32_t address, struct extent *extent)
{
	const struct base *found;
	struct bases bases;
	int changed = 1;

	if (!collect_bases(e->f, address, &bases))
		return 0;
	while (changed) { /* each base changes twice at most: to what its parts lead to, and to apart */
		changed = 0;
		for (uint32_t n = bases.count; n-- > 0;) {
			enum leads before = bases.all[n].leads;

			bases.all[n] = base_of(e, &bases, bases.all[n].value);
			changed |= bases.all[n].leads != before;
		}
	}
	found = &bases.all[0];
	extent->first = found->first;
	extent->bytes = found->bytes;
	extent->end = extent->first + extent->bytes;
	extent->sectors = whole_sectors(extent->bytes);
	return found->leads == LEADS_INTO;
}

double kc__buffer_bytes(const struct kc_evaluation *e, uint32_t address, double *first)
{
	struct bases bases;
	double least = 0;

	*first = 0;
	if (!e->launch->buffer_count || !collect_bases(e->f, address, &bases))
		return 0;
	for (uint32_t n = 0; n < bases.count; n++) {
		const struct kc_value *v = &e->f->values[bases.all[n].value];
		const struct kc_cost_buffer *buffer = v->op == KC_OP_PARAM ? given_buffer(e, v) : NULL;

		if (!buffer || (least && least <= (double)buffer->bytes))
			continue;
		least = (double)buffer->bytes;
		*first = (double)buffer->first;
	}
	return least;
}

/* Where addresses are not known: of a block, in each iteration others, by how they differ between lanes. */
static struct extent unknown_extent(const struct kc_evaluation *e, const struct kc_event *event, uint32_t block,
				    int in_block)
{
	const uint32_t *threads = e->launch->block;
	struct extent extent = {.bytes = INFINITY, .sectors = INFINITY, .scattered = 1};

	if (!in_block)
		return extent;
	if (event->alike & KC_ALIKE_APART)
		extent.sectors = threads_of_block(e) * event->bytes / KC_SECTOR_BYTES;
	else
		extent.sectors =
		    kc__near_sectors(event->alike, threads[0], (double)threads[1] * threads[2], event->bytes);
	for (uint32_t l = e->f->cfg.blocks[block].loop; l != KC_NO_LOOP; l = e->f->cfg.loops[l].parent)
		extent.sectors *= fmax((double)e->trips[l], 1);
	return extent;
}

/* 0: nothing was accessed. */
static int find_extent(const struct kc_evaluation *e, const struct kc_event *event, uint32_t block, int in_block,
		       struct shape *shape, struct extent *extent)
{
	const struct kc_reach *reach = &e->reach[block];
	int64_t offset;
	uint32_t base = kc__address_base(e->f, event->address, &offset);
	uint32_t mask = reach->lanes & (event->lanes < KC_WARP_LANES ? (1u << event->lanes) - 1 : KC_ALL_LANES);
	const struct kc_lanes *address = kc__slot(e, base);
	double length;

	*shape = (struct shape){.scattered = 1};
	mask &= e->warps.lanes;
	if (!mask)
		return 0;
	if ((e->at_launch && !e->f->values[base].surveyed) || mask & ~address->known) {
		*extent = (struct extent){.bytes = 0};
		if (!in_block && find_buffer(e, base, extent))
			return 1;
		shape->scattered = INFINITY;
		*extent = unknown_extent(e, event, block, in_block);
		return 1;
	}
	reach_of_lanes(address, mask, event->bytes, shape, extent);
	length = extent->end - extent->first;
	extent->first += (double)offset;
	add_loops(e, block, base, in_block, shape, extent);
	add_axes(e, reach, address, in_block, shape, extent);
	extent->end = extent->first + length;
	sort_dimensions(shape);
	extend(extent, shape);
	return 1;
}

/* --- regions */

/* 1: so far apart, all but a few of the accesses are the same. */
static int is_repeated(const struct shape *shape, double apart)
{
	if (!apart)
		return 1;
	for (uint32_t i = 0; i < shape->count; i++) {
		double terms = apart / (double)shape->dimensions[i].step;

		if (terms == floor(terms) && 2 * terms <= shape->dimensions[i].count)
			return 1;
	}
	return 0;
}

static void join(struct region *region, const struct extent *extent, const struct shape *shape)
{
	struct extent *all = &region->extent;
	int same = region->shape.count == shape->count &&
		   !memcmp(region->shape.dimensions, shape->dimensions, shape->count * sizeof(*shape->dimensions));
	double apart = fabs(extent->first - region->first);
	int repeated = same && is_repeated(shape, apart), beside = same && apart < KC_SECTOR_BYTES;
	double end = fmax(all->end, extent->end), first = fmin(all->first, extent->first);

	all->sectors += repeated || beside ? 0 : extent->sectors;
	all->bytes += repeated ? 0 : extent->bytes;
	all->first = first;
	all->end = end;
	all->sectors = fmin(all->sectors, ceil(end / KC_SECTOR_BYTES) - floor(first / KC_SECTOR_BYTES));
	all->bytes = fmin(all->bytes, end - first);
}

/* Of a block, what another loop went through is kept for this one if L1 holds it. */
static int is_kept(const struct regions *regions, const struct region *region, uint32_t loop)
{
	return !regions->in_block || region->loop == loop || region->extent.sectors * KC_SECTOR_BYTES <= L1_BLOCK_BYTES;
}

static void add_extent(struct regions *regions, const struct extent *extent, const struct shape *shape, uint32_t loop)
{
	struct region *found = NULL;

	for (uint32_t i = 0; i < regions->count && !extent->scattered; i++) {
		struct extent *all = &regions->all[i].extent;

		if (all->first <= extent->end && extent->first <= all->end &&
		    is_kept(regions, &regions->all[i], loop)) {
			found = &regions->all[i];
			break;
		}
	}
	if (found) {
		join(found, extent, shape);
	} else if (extent->scattered || regions->count == REGIONS_MAX) {
		regions->others += extent->sectors;
		regions->other_bytes += extent->bytes;
	} else {
		regions->all[regions->count++] =
		    (struct region){.extent = *extent, .shape = *shape, .first = extent->first, .loop = loop};
	}
}

static double sectors_of(const struct regions *regions)
{
	double sum = regions->others;

	for (uint32_t i = 0; i < regions->count; i++)
		sum += regions->all[i].extent.sectors;
	return sum;
}

static double bytes_of(const struct regions *regions)
{
	double sum = regions->other_bytes;

	for (uint32_t i = 0; i < regions->count; i++)
		sum += regions->all[i].extent.bytes;
	return sum;
}

/* 1: all threads of the launch access the same, or all lanes of a warp something that is not known. */
static int is_common(const struct kc_evaluation *e, const struct kc_event *event)
{
	int64_t offset;
	uint32_t base = kc__address_base(e->f, event->address, &offset);
	const struct kc_lanes *address = kc__slot(e, base);

	if ((e->at_launch && !e->f->values[base].surveyed) || !address->known)
		return !event->alike;
	return address->uniform && !((address->affine_in | address->unknown_in) & ((1u << KC_AXES) - 1));
}

/* Accesses that `counters` holds. Returns the bytes of an access; 0: there is none. */
static uint32_t gather(const struct kc_evaluation *e, const uint32_t counters[2], struct regions *regions)
{
	uint32_t bytes = 0;

	regions->count = 0;
	regions->others = regions->other_bytes = 0;
	for (uint32_t b = 0; b < e->f->cfg.block_count; b++) {
		const struct kc_block_plan *plan = &e->f->block_plans[b];

		for (uint32_t n = plan->event; n < plan->event + plan->event_count && e->reach[b].lanes; n++) {
			const struct kc_event *event = &e->f->events[n];
			struct extent extent;
			struct shape shape;

			if (event->counter != counters[0] && event->counter != counters[1])
				continue;
			if (event->kind != KC_EVENT_GLOBAL) {
				regions->others = INFINITY; /* a bulk copy, whose address is not in the formula */
				continue;
			}
			if (regions->common && !is_common(e, event))
				continue;
			if (!find_extent(e, event, b, regions->in_block, &shape, &extent))
				continue;
			add_extent(regions, &extent, &shape, e->f->cfg.blocks[b].loop);
			bytes = event->bytes;
		}
	}
	return bytes;
}

void kc__find_footprint(struct kc_evaluation *e, struct kc_footprint *footprint)
{
	static const uint32_t loads[] = {KC_COUNT_OF_LD_GLOBAL, KC_COUNT_OF_ATOMICS},
			      stores[] = {KC_COUNT_OF_ST_GLOBAL, KC_COUNT_OF_ATOMICS},
			      atomics[] = {KC_COUNT_OF_ATOMICS, KC_COUNT_OF_ATOMICS},
			      only_loads[] = {KC_COUNT_OF_LD_GLOBAL, KC_COUNT_OF_LD_GLOBAL};
	struct regions regions = {.in_block = 0};
	uint32_t bytes;

	*footprint = (struct kc_footprint){0};
	if (!e->f->cfg.block_count)
		return;
	e->warps = e->first_warps;
	e->steps = 0;
	kc__survey(e);
	if (e->steps > e->steps_max)
		return;
	gather(e, loads, &regions);
	footprint->loaded_bytes = sectors_of(&regions) * KC_SECTOR_BYTES;
	gather(e, stores, &regions);
	footprint->stored_bytes = sectors_of(&regions) * KC_SECTOR_BYTES;
	bytes = gather(e, atomics, &regions);
	footprint->atomics = bytes ? bytes_of(&regions) / bytes : 0;
	regions.in_block = 1;
	gather(e, only_loads, &regions);
	footprint->block_loaded_bytes = sectors_of(&regions) * KC_SECTOR_BYTES;
	regions = (struct regions){.common = 1};
	gather(e, only_loads, &regions);
	footprint->is_common_kept = sectors_of(&regions) * KC_SECTOR_BYTES <= L1_BLOCK_BYTES;
}
