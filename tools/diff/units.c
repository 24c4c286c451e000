#include "units.h"

#include "predictor/math/hash.h"
#include "predictor/math/median.h"
#include "predictor/math/order.h"
#include "store/journal/journal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNIT_LEAST 2u    /* launches of each side */
#define CELL_LAUNCHES 2u /* of the side that has fewer */
#define CLIP_TAIL 0.1    /* share of launches above the scatter, and below */
#define CLIP_LEAST 0.05  /* what is this far outside of it, of the logarithm, is not far */

/* What is known while units are made. */
struct making {
	const struct kc_measured_names *names;
	const struct kc_diff_input *inputs;
	struct kc_diff_units *out;
	uint64_t *hashes;    /* by shape; NULL: no side is a baseline */
	uint8_t *positioned; /* by shape: 1: some of its launches are compared by their positions */
	uint8_t *argued;     /* by shape: 1 << side: the arguments of some of its launches there are known */
	struct kc_intern keys;
};

static struct kc_diff_item *items_of(const struct kc_diff_units *units, int side)
{
	return units->items[side].at;
}

static const struct kc_measured_launch *launches_of(const struct kc_measured_run *run)
{
	return run->launches.at;
}

static void note_shapes(struct making *m)
{
	for (int side = 0; side < KC_SIDES; side++) {
		const struct kc_diff_input *input = m->inputs + side;

		for (size_t r = 0; r < input->count; r++)
			for (size_t i = 0; i < input->runs[r].launches.count; i++)
				m->out->sides_of[launches_of(input->runs + r)[i].shape] |= (uint8_t)(1 << side);
		for (size_t i = 0; input->baseline && i < input->baseline->count; i++)
			m->out->sides_of[((const struct kc_diff_item *)input->baseline->at)[i].shape] |=
			    (uint8_t)(1 << side);
	}
}

enum kc_diff_company kc_diff_company_of(uint8_t overlap)
{
	if (overlap == KC_OVERLAP_UNKNOWN)
		return KC_COMPANY_UNKNOWN;
	return overlap == KC_OVERLAP_NONE ? KC_COMPANY_NONE : KC_COMPANY_SOME;
}

uint64_t kc_diff_shape_hash(const struct kc_measured_names *names, uint32_t shape)
{
	const struct kc_measured_shape *of = kc_measured_shape(names, shape);
	const char *mangled = kc_measured_kernel(names, of->kernel)->mangled;
	uint64_t hash = kc_fnv(KC_FNV_OFFSET, mangled, strlen(mangled));

	hash = kc_fnv(hash, of->grid, sizeof(of->grid));
	hash = kc_fnv(hash, of->block, sizeof(of->block));
	return kc_fnv(hash, &of->dynamic_shared_bytes, sizeof(of->dynamic_shared_bytes));
}

uint32_t kc_diff_position(uint64_t latest, uint64_t second)
{
	uint64_t hash = kc_fnv(kc_fnv(KC_FNV_OFFSET, &latest, sizeof(latest)), &second, sizeof(second));

	return 1 + (uint32_t)(hash % UINT16_MAX);
}

/* Beside a baseline, any launch counts for the positions of those after it. */
static int counts(const struct making *m, uint32_t shape)
{
	return m->hashes || m->out->sides_of[shape] == (1 << KC_OLD | 1 << KC_NEW);
}

/* latest: as in kc_diff_item.before */
static uint32_t position_of(const struct making *m, const uint32_t *latest)
{
	return kc_diff_position(latest[0] ? m->hashes[latest[0] - 1] : 0, latest[1] ? m->hashes[latest[1] - 1] : 0);
}

/* latest: by stream, what came before on it. */
static int add_run(struct making *m, int side, size_t number, uint32_t (*latest)[2])
{
	const struct kc_measured_run *run = m->inputs[side].runs + number;

	for (size_t i = 0; i < run->launches.count; i++) {
		const struct kc_measured_launch *launch = launches_of(run) + i;
		uint32_t *before = latest[launch->stream];

		if (launch->ns > 0) {
			struct kc_diff_item *item = kc__list_add(&m->out->items[side], sizeof(*item));

			if (!item)
				return -ENOMEM;
			*item = (struct kc_diff_item){
			    .ns = (double)launch->ns,
			    .log = log((double)launch->ns),
			    .at = (float)i / (float)run->launches.count,
			    .count = 1,
			    .shape = launch->shape,
			    .arguments = m->hashes ? 0 : launch->arguments,
			    .before = {m->hashes ? position_of(m, before) : before[0], m->hashes ? 0 : before[1]},
			    .run = (uint16_t)number,
			    .company = (uint8_t)kc_diff_company_of(launch->overlap)};
		}
		if (counts(m, launch->shape)) {
			before[1] = before[0];
			before[0] = launch->shape + 1;
		}
	}
	return 0;
}

static int add_items(struct making *m, int side)
{
	const struct kc_diff_input *input = m->inputs + side;
	int rc = 0;

	for (size_t r = 0; rc == 0 && r < input->count; r++) {
		uint32_t(*latest)[2] = calloc((size_t)input->runs[r].streams + 1, sizeof(*latest));

		rc = latest ? add_run(m, side, r, latest) : -ENOMEM;
		free(latest);
	}
	for (size_t i = 0; rc == 0 && input->baseline && i < input->baseline->count; i++) {
		struct kc_diff_item *item = kc__list_add(&m->out->items[side], sizeof(*item));

		if (!item)
			rc = -ENOMEM;
		else
			*item = ((const struct kc_diff_item *)input->baseline->at)[i];
	}
	for (size_t i = 0; i < m->out->items[side].count; i++) {
		struct kc_diff_item *item = items_of(m->out, side) + i;

		item->unit = KC_DIFF_NOWHERE;
		m->argued[item->shape] |= (uint8_t)((item->arguments != 0) << side);
	}
	return rc;
}

/* Arguments that one side alone knows, as a live run beside a trace, tell nothing about what to compare. */
static void forget_arguments(struct making *m)
{
	for (int side = 0; side < KC_SIDES; side++) {
		struct kc_diff_item *items = items_of(m->out, side);

		for (size_t i = 0; i < m->out->items[side].count; i++) {
			uint8_t *argued = m->argued + items[i].shape;

			if (*argued != (1 << KC_OLD | 1 << KC_NEW))
				items[i].arguments = *argued = 0;
		}
	}
}

/* What a position consists of. From DEPTH_ARGUMENTS on, only for shapes that have no launch in any unit yet. */
enum depth { DEPTH_NONE, DEPTH_ARGUMENTS, DEPTH_ONE, DEPTH_TWO };

/* Puts the items that are in no unit yet into one by their position at this depth. */
static int number_items(struct making *m, enum depth depth)
{
	for (int side = 0; side < KC_SIDES; side++) {
		struct kc_diff_item *items = items_of(m->out, side);

		for (size_t i = 0; i < m->out->items[side].count; i++) {
			struct kc_diff_item *item = items + i;
			const uint32_t key[] = {depth,
						item->company,
						item->shape,
						depth >= DEPTH_ARGUMENTS ? item->arguments : 0,
						depth >= DEPTH_ONE ? item->before[0] : 0,
						depth >= DEPTH_TWO ? item->before[1] : 0};
			uint32_t number;

			if (item->unit != KC_DIFF_NOWHERE || (depth <= DEPTH_ARGUMENTS && m->positioned[item->shape]))
				continue;
			number = kc_intern(&m->keys, 'u', key, sizeof(key));
			if (!number)
				return -ENOMEM;
			item->unit = number - 1;
		}
	}
	return 0;
}

/* Takes items out again whose units have too few launches on one side. Units below `first` are of an earlier depth. */
static int keep_units(struct making *m, uint32_t first)
{
	uint32_t(*launches)[KC_SIDES] = calloc((size_t)m->keys.count - first + 1, sizeof(*launches));

	if (!launches)
		return -ENOMEM;
	for (int pass = 0; pass < 2; pass++) {
		for (int side = 0; side < KC_SIDES; side++) {
			struct kc_diff_item *items = items_of(m->out, side);

			for (size_t i = 0; i < m->out->items[side].count; i++) {
				uint32_t unit = items[i].unit, *n;

				if (unit == KC_DIFF_NOWHERE || unit < first)
					continue;
				n = launches[unit - first];
				if (pass == 0)
					n[side] += items[i].count;
				else if (n[KC_OLD] < UNIT_LEAST || n[KC_NEW] < UNIT_LEAST)
					items[i].unit = KC_DIFF_NOWHERE;
				else if (items[i].arguments || !m->argued[items[i].shape])
					m->positioned[items[i].shape] = 1;
			}
		}
	}
	free(launches);
	return 0;
}

struct place {
	uint32_t kernel, shape, unit;
};

KC_ORDER(by_kernel_and_shape, struct place, KC_UP(kernel) ?: KC_UP(shape) ?: KC_UP(unit))

/* Gives units their final numbers, by kernel and shape, without those that are empty. */
static int sort_units(struct making *m)
{
	struct place *places = calloc((size_t)m->keys.count + 1, sizeof(*places));
	uint32_t *numbers = calloc((size_t)m->keys.count + 1, sizeof(*numbers)), count = 0;

	m->out->at = calloc((size_t)m->keys.count + 1, sizeof(*m->out->at));
	if (!places || !numbers || !m->out->at) {
		free(places);
		free(numbers);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->out->items[KC_NEW].count; i++) {
		const struct kc_diff_item *item = items_of(m->out, KC_NEW) + i;

		if (item->unit == KC_DIFF_NOWHERE || numbers[item->unit])
			continue;
		numbers[item->unit] = 1;
		places[count++] =
		    (struct place){kc_measured_shape(m->names, item->shape)->kernel, item->shape, item->unit};
	}
	qsort(places, count, sizeof(*places), by_kernel_and_shape);
	for (uint32_t i = 0; i < count; i++) {
		m->out->at[i] = (struct kc_diff_unit){.kernel = places[i].kernel, .shape = places[i].shape};
		numbers[places[i].unit] = i;
	}
	m->out->count = count;
	for (int side = 0; side < KC_SIDES; side++)
		for (size_t i = 0; i < m->out->items[side].count; i++) {
			struct kc_diff_item *item = items_of(m->out, side) + i;

			if (item->unit != KC_DIFF_NOWHERE) {
				item->unit = numbers[item->unit];
				m->out->at[item->unit].count[side]++;
			}
		}
	free(places);
	free(numbers);
	return 0;
}

static int order_items(struct kc_diff_units *units, int side)
{
	uint32_t first = 0;

	for (size_t u = 0; u < units->count; u++) {
		units->at[u].first[side] = first;
		first += units->at[u].count[side];
		units->at[u].count[side] = 0;
	}
	units->order[side] = calloc((size_t)first + 1, sizeof(*units->order[side]));
	units->cell_of[side] = calloc((size_t)first + 1, sizeof(*units->cell_of[side]));
	if (!units->order[side] || !units->cell_of[side])
		return -ENOMEM;
	for (size_t i = 0; i < units->items[side].count; i++) {
		uint32_t u = items_of(units, side)[i].unit;

		if (u != KC_DIFF_NOWHERE)
			units->order[side][units->at[u].first[side] + units->at[u].count[side]++] = (uint32_t)i;
	}
	return 0;
}

/* --- clipping */

void kc_diff_scatter(double *values, size_t n, double *low, double *high)
{
	double beyond;

	kc_sort(values, n);
	*low = values[(size_t)(CLIP_TAIL * (double)(n - 1))];
	*high = values[(size_t)ceil((1 - CLIP_TAIL) * (double)(n - 1))];
	beyond = fmax(*high - *low, CLIP_LEAST);
	*low -= beyond;
	*high += beyond;
}

static double log_of(const struct kc_diff_units *units, int side, uint32_t place)
{
	return items_of(units, side)[units->order[side][place]].log;
}

static double median_of(const struct kc_diff_units *units, const struct kc_diff_unit *unit, int side, double *values)
{
	uint32_t n = unit->count[side];

	for (uint32_t i = 0; i < n; i++)
		values[i] = log_of(units, side, unit->first[side] + i);
	return kc_median(values, n);
}

/* Units first to last - 1 are a kernel's. scatter, values: room for all of its items. */
static void clip_kernel(struct kc_diff_units *units, size_t first, size_t last, double (*centers)[KC_SIDES],
			double *scatter, double *values)
{
	double low, high;
	size_t n = 0;

	for (size_t u = first; u < last; u++)
		for (int side = 0; side < KC_SIDES; side++) {
			const struct kc_diff_unit *unit = units->at + u;

			centers[u][side] = median_of(units, unit, side, values);
			for (uint32_t i = 0; i < unit->count[side]; i++)
				scatter[n++] = log_of(units, side, unit->first[side] + i) - centers[u][side];
		}
	kc_diff_scatter(scatter, n, &low, &high);
	for (size_t u = first; u < last; u++)
		for (int side = 0; side < KC_SIDES; side++)
			for (uint32_t i = 0; i < units->at[u].count[side]; i++) {
				struct kc_diff_item *item =
				    items_of(units, side) + units->order[side][units->at[u].first[side] + i];

				item->log = fmin(fmax(item->log, centers[u][side] + low), centers[u][side] + high);
			}
}

static int clip(struct kc_diff_units *units)
{
	size_t most = units->items[KC_OLD].count + units->items[KC_NEW].count + 1;
	double(*centers)[KC_SIDES] = calloc(units->count + 1, sizeof(*centers));
	double *scatter = calloc(most, sizeof(*scatter)), *values = calloc(most, sizeof(*values));
	int rc = centers && scatter && values ? 0 : -ENOMEM;

	for (size_t first = 0, last; rc == 0 && first < units->count; first = last) {
		for (last = first + 1; last < units->count && units->at[last].kernel == units->at[first].kernel;)
			last++;
		clip_kernel(units, first, last, centers, scatter, values);
	}
	free(centers);
	free(scatter);
	free(values);
	return rc;
}

/* --- cells */

/* As many cells as the side with fewer launches fills. A baseline's items are cells already. */
static uint32_t cells_of(const struct making *m, const struct kc_diff_unit *unit)
{
	uint32_t least = UINT32_MAX;

	for (int side = 0; side < KC_SIDES; side++) {
		const struct kc_diff_input *input = m->inputs + side;
		uint32_t n = unit->count[side];

		n /= input->baseline ? 1 : CELL_LAUNCHES * (uint32_t)input->count;
		if (n < least)
			least = n;
	}
	return least ? least : 1;
}

/* Items of one run that a unit has, one after the other. */
static uint32_t of_the_same_run(const struct kc_diff_units *units, int side, uint32_t place, uint32_t end)
{
	uint16_t run = items_of(units, side)[units->order[side][place]].run;
	uint32_t n = 1;

	while (place + n < end && items_of(units, side)[units->order[side][place + n]].run == run)
		n++;
	return n;
}

static void fill_cells(struct kc_diff_units *units, struct kc_diff_unit *unit, int side)
{
	uint32_t end = unit->first[side] + unit->count[side], n;

	for (uint32_t place = unit->first[side]; place < end; place += n) {
		n = of_the_same_run(units, side, place, end);
		for (uint32_t i = 0; i < n; i++) {
			const struct kc_diff_item *item = items_of(units, side) + units->order[side][place + i];
			uint32_t number = unit->first_cell + (uint32_t)((uint64_t)i * unit->cells / n);
			struct kc_diff_cell *cell = units->cells + number;

			units->cell_of[side][place + i] = number;
			cell->launches[side] += item->count;
			cell->log[side] += item->log * item->count;
			cell->ns[side] += exp(item->log) * item->count;
			cell->at += (double)item->at * item->count;
		}
	}
}

static int make_cells(struct making *m)
{
	struct kc_diff_units *units = m->out;

	for (size_t u = 0; u < units->count; u++) {
		units->at[u].first_cell = (uint32_t)units->cell_count;
		units->at[u].cells = cells_of(m, units->at + u);
		units->cell_count += units->at[u].cells;
	}
	units->cells = calloc(units->cell_count + 1, sizeof(*units->cells));
	if (!units->cells)
		return -ENOMEM;
	for (size_t u = 0; u < units->count; u++)
		for (int side = 0; side < KC_SIDES; side++)
			fill_cells(units, units->at + u, side);
	for (size_t u = 0; u < units->count; u++)
		for (uint32_t i = 0; i < units->at[u].cells; i++) {
			struct kc_diff_cell *cell = units->cells + units->at[u].first_cell + i;

			cell->unit = (uint32_t)u;
			cell->at /= fmax(cell->launches[KC_OLD] + cell->launches[KC_NEW], 1);
			for (int side = 0; side < KC_SIDES; side++) {
				cell->log[side] /= fmax(cell->launches[side], 1);
				cell->ns[side] /= fmax(cell->launches[side], 1);
				if (m->hashes)
					cell->ns[side] = exp(cell->log[side]);
			}
		}
	return 0;
}

int kc_diff_units_make(const struct kc_measured_names *names, const struct kc_diff_input inputs[KC_SIDES],
		       struct kc_diff_units *out)
{
	struct making m = {.names = names, .inputs = inputs, .out = out};
	enum depth depth = inputs[KC_OLD].baseline ? DEPTH_ONE : DEPTH_TWO;
	int rc;

	*out = (struct kc_diff_units){0};
	out->sides_of = calloc(names->shapes.count + 1, 1);
	m.positioned = calloc(names->shapes.count + 1, 1);
	m.argued = calloc(names->shapes.count + 1, 1);
	m.hashes = inputs[KC_OLD].baseline ? calloc(names->shapes.count + 1, sizeof(*m.hashes)) : NULL;
	rc = out->sides_of && m.positioned && m.argued && (m.hashes || !inputs[KC_OLD].baseline) ? 0 : -ENOMEM;
	if (rc == 0)
		note_shapes(&m);
	for (uint32_t i = 0; rc == 0 && m.hashes && i < names->shapes.count; i++)
		m.hashes[i] = kc_diff_shape_hash(names, i);
	for (int side = 0; rc == 0 && side < KC_SIDES; side++)
		rc = add_items(&m, side);
	if (rc == 0)
		forget_arguments(&m);
	for (;; depth--) {
		uint32_t first = m.keys.count;

		if (rc == 0)
			rc = number_items(&m, depth);
		if (rc == 0)
			rc = keep_units(&m, first);
		if (depth == DEPTH_NONE)
			break;
	}
	if (rc == 0)
		rc = sort_units(&m);
	for (int side = 0; rc == 0 && side < KC_SIDES; side++)
		rc = order_items(out, side);
	if (rc == 0)
		rc = clip(out);
	if (rc == 0)
		rc = make_cells(&m);
	free(m.hashes);
	free(m.positioned);
	free(m.argued);
	kc_intern_free(&m.keys);
	return rc;
}

enum kc_diff_company kc_diff_unit_company(const struct kc_diff_units *units, const struct kc_diff_unit *unit)
{
	return items_of(units, KC_NEW)[units->order[KC_NEW][unit->first[KC_NEW]]].company;
}

void kc_diff_units_free(struct kc_diff_units *units)
{
	for (int side = 0; side < KC_SIDES; side++) {
		free(units->items[side].at);
		free(units->order[side]);
		free(units->cell_of[side]);
	}
	free(units->sides_of);
	free(units->at);
	free(units->cells);
	*units = (struct kc_diff_units){0};
}
