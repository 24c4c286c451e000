#include "by_process.h"

#include "predictor/prior/kernel_name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BOTH_SIDES (1 << KC_OLD | 1 << KC_NEW)

struct dividing {
	struct kc_measured_names *names;
	const struct kc_diff_input *inputs;
	struct kc_diff_by_process *out;
	uint8_t *sides;         /* by process: bits KC_OLD and KC_NEW: it launched kernels there */
	uint32_t *seen;         /* by kernel: the process that was met first, plus 1; 0: none yet */
	uint8_t *is_divided;    /* by kernel */
	struct kc_intern pairs; /* of a kernel and a process: a number less 1 is the place in parts */
};

static struct kc_measured_launch *launches_of(const struct kc_measured_run *run)
{
	return run->launches.at;
}

/* 0: one of the others. */
static uint32_t process_of(const struct dividing *d, const struct kc_measured_launch *launch)
{
	return d->sides[launch->process] == BOTH_SIDES ? launch->process : 0;
}

static void note_processes(struct dividing *d)
{
	for (int side = 0; side < KC_SIDES; side++)
		for (size_t r = 0; r < d->inputs[side].count; r++) {
			const struct kc_measured_run *run = d->inputs[side].runs + r;

			for (size_t i = 0; i < run->launches.count; i++)
				d->sides[launches_of(run)[i].process] |= (uint8_t)(1 << side);
		}
	d->sides[0] = 0;
}

/* Returns how many are divided: those that several processes launched. */
static size_t choose_kernels(struct dividing *d)
{
	size_t n = 0;

	for (int side = 0; side < KC_SIDES; side++)
		for (size_t r = 0; r < d->inputs[side].count; r++) {
			const struct kc_measured_run *run = d->inputs[side].runs + r;

			for (size_t i = 0; i < run->launches.count; i++) {
				const struct kc_measured_launch *launch = launches_of(run) + i;
				uint32_t kernel = kc_measured_shape(d->names, launch->shape)->kernel;
				uint32_t process = process_of(d, launch) + 1;

				if (launch->ns <= 0 || d->is_divided[kernel])
					continue;
				if (!d->seen[kernel])
					d->seen[kernel] = process;
				d->is_divided[kernel] = d->seen[kernel] != process;
				n += d->is_divided[kernel];
			}
		}
	return n;
}

static int part_of(struct dividing *d, uint32_t kernel, uint32_t process, uint32_t *out)
{
	const uint32_t key[] = {kernel, process};
	uint32_t number = kc_intern(&d->pairs, 'k', key, sizeof(key));
	struct kc_diff_part *part;

	if (!number)
		return -ENOMEM;
	*out = d->out->first + number - 1;
	if (number <= d->out->parts.count)
		return 0;
	part = kc__list_add(&d->out->parts, sizeof(*part));
	if (!part)
		return -ENOMEM;
	*part = (struct kc_diff_part){kernel, process};
	return kc_measured_kernel_on(d->names, kernel, process, out);
}

static int divide(struct dividing *d, struct kc_measured_launch *launch)
{
	struct kc_measured_shape shape = *kc_measured_shape(d->names, launch->shape);
	int rc;

	if (!d->is_divided[shape.kernel])
		return 0;
	rc = part_of(d, shape.kernel, process_of(d, launch), &shape.kernel);
	return rc == 0 ? kc_measured_shape_number(d->names, &shape, &launch->shape) : rc;
}

/* out->count: of those that were copied. */
static int copy_runs(const struct kc_diff_input inputs[KC_SIDES], struct kc_diff_by_process *out)
{
	out->runs = calloc(inputs[KC_OLD].count + inputs[KC_NEW].count + 1, sizeof(*out->runs));
	if (!out->runs)
		return -ENOMEM;
	for (int side = 0; side < KC_SIDES; side++) {
		out->inputs[side] =
		    (struct kc_diff_input){out->runs + out->count, inputs[side].count, NULL, inputs[side].steps};
		for (size_t r = 0; r < inputs[side].count; r++) {
			const struct kc_measured_run *run = inputs[side].runs + r;
			size_t bytes = run->launches.count * sizeof(struct kc_measured_launch);
			void *copy = malloc(bytes + 1);

			if (!copy)
				return -ENOMEM;
			if (bytes)
				memcpy(copy, run->launches.at, bytes);
			out->runs[out->count] = *run;
			out->runs[out->count++].launches.at = copy;
		}
	}
	return 0;
}

struct kc_diff_part kc_diff_part_of(const struct kc_diff_by_process *by_process, uint32_t kernel)
{
	const struct kc_diff_part *parts = by_process->parts.at;

	return kernel < by_process->first ? (struct kc_diff_part){kernel, 0} : parts[kernel - by_process->first];
}

int kc_diff_is_collective(const char *name)
{
	struct kc_name_traits traits;

	kc_name_read(&traits, name);
	return traits.family == KC_FAMILY_WAITING;
}

int kc_diff_by_process(struct kc_measured_names *names, const struct kc_diff_input inputs[KC_SIDES],
		       struct kc_diff_by_process *out)
{
	struct dividing d = {
	    .names = names,
	    .inputs = inputs,
	    .out = out,
	    .sides = calloc(names->processes.count + 1, sizeof(*d.sides)),
	    .seen = calloc(names->kernels.count + 1, sizeof(*d.seen)),
	    .is_divided = calloc(names->kernels.count + 1, sizeof(*d.is_divided)),
	};
	int rc = d.sides && d.seen && d.is_divided ? 0 : -ENOMEM;

	*out = (struct kc_diff_by_process){.first = (uint32_t)names->kernels.count};
	if (rc == 0)
		note_processes(&d);
	if (rc == 0 && choose_kernels(&d)) {
		rc = copy_runs(inputs, out);
		for (size_t r = 0; rc == 0 && r < out->count; r++)
			for (size_t i = 0; rc == 0 && i < out->runs[r].launches.count; i++)
				rc = divide(&d, launches_of(out->runs + r) + i);
	}
	free(d.sides);
	free(d.seen);
	free(d.is_divided);
	kc_intern_free(&d.pairs);
	return rc;
}

void kc_diff_by_process_free(struct kc_diff_by_process *by_process)
{
	for (size_t r = 0; r < by_process->count; r++)
		free(by_process->runs[r].launches.at);
	free(by_process->runs);
	free(by_process->parts.at);
	*by_process = (struct kc_diff_by_process){0};
}
