#include "items.h"

#include "store/common/ids/intern.h"
#include "store/database/schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct reading {
	const struct kc_slow_runs *runs;
	struct kc_intern processes; /* (run, process) */
	struct kc_intern parts;     /* (process, GPU) */
	struct kc_intern histories; /* (process, kernel) */
	struct kc_intern sizes;     /* (shape, arguments) */
	struct kc_intern alikes;    /* (shape, arguments) */
	struct kc__list size_of;    /* uint32_t: by the numbers of alikes, less 1 */
	uint32_t (*latest)[2];      /* by stream */
	/* of the launch before, as most are of the same process and GPU */
	int64_t row;
	uint32_t device, process, part;
};

/* Sets process; part is 0 where it is yet to be numbered. */
static int enter_part(struct reading *r, size_t run_number, int64_t row, uint32_t device)
{
	const int64_t key[] = {(int64_t)run_number, row};

	if (r->process && r->row == row && r->device == device)
		return 0;
	r->row = row;
	r->device = device;
	r->process = kc_intern(&r->processes, 'p', key, sizeof(key));
	r->part = 0;
	return r->process ? 0 : -ENOMEM;
}

static uint32_t part_number(struct reading *r)
{
	const uint32_t key[] = {r->process, r->device};

	if (!r->part)
		r->part = kc_intern(&r->parts, 'g', key, sizeof(key));
	return r->part;
}

/* The number of a size, whatever model of GPU it ran on. 0: no memory. */
static uint32_t size_number(struct reading *r, const struct kc_measured_launch *launch, uint32_t alike)
{
	struct kc_measured_shape shape = *kc_measured_shape(r->runs->names, launch->shape);
	uint32_t *size;

	if (alike > r->size_of.count) {
		size = kc__list_add(&r->size_of, sizeof(*size));
		if (!size)
			return 0;
		shape.model = 0;
		*size =
		    kc_intern_two(&r->sizes, 'z', &shape, sizeof(shape), &launch->arguments, sizeof(launch->arguments));
	}
	return ((const uint32_t *)r->size_of.at)[alike - 1];
}

static int add_item(struct kc__slow_items *m, struct reading *r, const struct kc_measured_launch *launch,
		    struct kc__slow_item **out)
{
	const uint32_t alike_key[] = {launch->shape, launch->arguments};
	uint32_t alike = kc_intern(&r->alikes, 'a', alike_key, sizeof(alike_key)),
		 size = alike ? size_number(r, launch, alike) : 0;

	*out = size && part_number(r) ? kc__list_add(&m->list, sizeof(**out)) : NULL;
	if (!*out)
		return -ENOMEM;
	(*out)->alike = alike;
	(*out)->size = size;
	(*out)->part = r->part;
	return 0;
}

static int add_launch(struct kc__slow_items *m, struct reading *r, const struct kc_measured_run *run, size_t run_number,
		      size_t i)
{
	const struct kc_measured_launch *launch = (const struct kc_measured_launch *)run->launches.at + i;
	const struct kc_measured_moment *moment = (const struct kc_measured_moment *)run->moments.at + i;
	int rc = enter_part(r, run_number, moment->id >> KC_SEQUENCE_BITS, moment->device);
	const uint32_t key[] = {r->process, kc_measured_shape(r->runs->names, launch->shape)->kernel};
	uint32_t *before = r->latest[launch->stream], had = r->histories.count,
		 history = rc == 0 ? kc_intern(&r->histories, 'f', key, sizeof(key)) : 0;
	int first = r->histories.count > had, earlier = run != r->runs->run;
	struct kc__slow_item *item;

	if (!history)
		return -ENOMEM;
	if (launch->ns > 0) {
		rc = add_item(m, r, launch, &item);
		if (rc < 0)
			return rc;
		*item = (struct kc__slow_item){
		    .log = log((double)launch->ns),
		    .shape = launch->shape,
		    .arguments = launch->arguments,
		    .place = (uint32_t)i,
		    .before = {before[0], before[1]},
		    .process = r->process,
		    .part = item->part,
		    .run = (uint32_t)run_number,
		    .size = item->size,
		    .alike = item->alike,
		    .history = history,
		    .flags = (uint8_t)((launch->overlap == KC_OVERLAP_NONE && !first ? KC__QUIET : 0) |
				       (earlier ? KC__EARLIER : 0) | (first ? 0 : KC__LATER)),
		    .company = launch->overlap != KC_OVERLAP_NONE && launch->overlap != KC_OVERLAP_UNKNOWN,
		    .first = (uint8_t)first,
		};
	}
	before[1] = before[0];
	before[0] = launch->shape + 1;
	return 0;
}

static int add_run(struct kc__slow_items *m, struct reading *r, const struct kc_measured_run *run, size_t run_number)
{
	int rc = 0;

	r->process = 0;
	r->latest = calloc((size_t)run->streams + 1, sizeof(*r->latest));
	if (!r->latest)
		return -ENOMEM;
	for (size_t i = 0; rc == 0 && i < run->launches.count; i++)
		rc = add_launch(m, r, run, run_number, i);
	free(r->latest);
	return rc;
}

int kc__slow_items(const struct kc_slow_runs *runs, struct kc__slow_items *m)
{
	struct reading r = {.runs = runs};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < runs->earlier_count; i++)
		rc = add_run(m, &r, runs->earlier + i, i);
	m->this_first = m->list.count;
	if (rc == 0)
		rc = add_run(m, &r, runs->run, runs->earlier_count);
	m->sizes = r.sizes.count;
	m->histories = r.histories.count;
	kc_intern_free(&r.processes);
	kc_intern_free(&r.parts);
	kc_intern_free(&r.histories);
	kc_intern_free(&r.sizes);
	kc_intern_free(&r.alikes);
	free(r.size_of.at);
	return rc;
}
