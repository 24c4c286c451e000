#include "renumbered.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OLD, NEW, SIDES };
enum pass { BY_CODE, BY_REGISTERS, BY_SHAPES, PASSES };

/* A kernel with a number in its name, on one side. */
struct numbered {
	uint32_t kernel, base; /* base: number of the name without its number */
	unsigned long number;
	uint64_t marks[PASSES]; /* what is the same for the same kernel; 0: not known */
	int side;
	struct numbered *same; /* of the other side; NULL: not found yet */
};

struct matching {
	struct kc_measured_names *names;
	struct kc_intern bases;
	struct kc__list numbered; /* struct numbered */
	uint32_t *to[SIDES];      /* by kernel: what it becomes */
};

/* Where the number is in a name: its length, and *at; 0: there is none. */
static size_t number_in(const char *name, const char **at)
{
	const char *fused = strncmp(name, "triton_", 7) ? NULL : strstr(name, "_fused_");
	size_t found = 0;

	for (const char *p = fused; p && (p = strchr(p + 1, '_'));) {
		size_t length = strspn(p + 1, "0123456789");

		if (length && (!p[1 + length] || !strncmp(p + 1 + length, "_0d", 3))) {
			*at = p + 1;
			found = length;
		}
	}
	return found;
}

static int add_kernels(struct matching *m, int side)
{
	for (uint32_t i = 0; i < m->names->kernels.count; i++) {
		const char *name = kc_measured_kernel(m->names, i)->name, *at;
		size_t length = number_in(name, &at);
		struct numbered *numbered;

		m->to[side][i] = i;
		if (!length)
			continue;
		numbered = kc__list_add(&m->numbered, sizeof(*numbered));
		if (!numbered)
			return -ENOMEM;
		*numbered = (struct numbered){.kernel = i, .number = strtoul(at, NULL, 10), .side = side};
		numbered->base =
		    kc_intern_two(&m->bases, 'b', name, (size_t)(at - name), at + length, strlen(at + length));
		if (!numbered->base)
			return -ENOMEM;
	}
	return 0;
}

static uint64_t mark(const void *at, size_t bytes)
{
	return kc_fnv(KC_FNV_OFFSET, at, bytes) | 1;
}

/* 1: it is met for the first time; 0: it was met before; -ENOMEM. */
static int is_first(struct kc_intern *met, char kind, const void *at, size_t bytes)
{
	uint32_t count = met->count, number = kc_intern(met, kind, at, bytes);

	return number ? number > count : -ENOMEM;
}

/* Marks of what a side launched. by_kernel: its numbered kernels, NULL for all others; met: of pairs. 0 or -ENOMEM. */
static int mark_run(const struct kc_measured_names *names, const struct kc_measured_run *run,
		    struct numbered **by_kernel, struct kc_intern *met)
{
	for (size_t i = 0; i < run->codes.count; i++) {
		const struct kc_measured_code *code = (const struct kc_measured_code *)run->codes.at + i;
		const struct kc_measured_shape *shape = kc_measured_shape(names, code->shape);
		struct numbered *of = by_kernel[shape->kernel];
		const uint64_t pieces[] = {shape->kernel, (uint64_t)code->hash};
		const uint32_t sizes[] = {shape->kernel, code->registers, code->static_shared_bytes};
		const uint32_t launched[] = {
		    shape->kernel,   shape->grid[0],  shape->grid[1],  shape->grid[2],
		    shape->block[0], shape->block[1], shape->block[2], shape->dynamic_shared_bytes};
		int of_code, of_sizes, of_launched;

		if (!of)
			continue;
		of_code = code->hash ? is_first(met, 'c', pieces, sizeof(pieces)) : 0;
		of_sizes = is_first(met, 'r', sizes, sizeof(sizes));
		of_launched = is_first(met, 's', launched, sizeof(launched));
		if (of_code < 0 || of_sizes < 0 || of_launched < 0)
			return -ENOMEM;
		if (of_code)
			of->marks[BY_CODE] += mark(pieces + 1, sizeof(*pieces));
		if (of_sizes)
			of->marks[BY_REGISTERS] += mark(sizes + 1, sizeof(sizes) - sizeof(*sizes));
		if (of_launched) {
			uint64_t of_shape = mark(launched + 1, sizeof(launched) - sizeof(*launched));

			of->marks[BY_REGISTERS] += of_shape;
			of->marks[BY_SHAPES] += of_shape;
		}
	}
	return 0;
}

static int mark_side(struct matching *m, int side, const struct kc_measured_run *runs, size_t count)
{
	struct numbered **by_kernel = calloc(m->names->kernels.count + 1, sizeof(struct numbered *));
	struct numbered *numbered = m->numbered.at;
	struct kc_intern met = {0};
	int rc = by_kernel ? 0 : -ENOMEM;

	for (size_t i = 0; rc == 0 && i < m->numbered.count; i++)
		if (numbered[i].side == side)
			by_kernel[numbered[i].kernel] = numbered + i;
	for (size_t r = 0; rc == 0 && r < count; r++)
		rc = mark_run(m->names, runs + r, by_kernel, &met);
	kc_intern_free(&met);
	free(by_kernel);
	return rc;
}

static int by_mark(const void *a, const void *b, void *pass)
{
	const struct numbered *x = *(struct numbered *const *)a, *y = *(struct numbered *const *)b;
	uint64_t of_x = x->marks[*(enum pass *)pass], of_y = y->marks[*(enum pass *)pass];

	if (x->base != y->base)
		return x->base < y->base ? -1 : 1;
	if (of_x != of_y)
		return of_x < of_y ? -1 : 1;
	if (x->side != y->side)
		return x->side - y->side;
	return x->number < y->number ? -1 : x->number > y->number;
}

static void pair(struct numbered *old, struct numbered *new)
{
	old->same = new;
	new->same = old;
}

/* olds, then news, each by number. */
static void match_group(struct numbered **olds, size_t old_count, struct numbered **news, size_t new_count)
{
	for (size_t i = 0; old_count != new_count && i < old_count; i++)
		for (size_t k = 0; k < new_count; k++)
			if (news[k]->kernel == olds[i]->kernel)
				pair(olds[i], news[k]);
	for (size_t i = 0, k = 0; i < old_count && k < new_count;) {
		if (olds[i]->same)
			i++;
		else if (news[k]->same)
			k++;
		else
			pair(olds[i], news[k]);
	}
}

static int match(struct matching *m, enum pass pass)
{
	struct numbered **order = calloc(m->numbered.count + 1, sizeof(struct numbered *)), *all = m->numbered.at;
	size_t n = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < m->numbered.count; i++)
		if (all[i].marks[pass] && !all[i].same)
			order[n++] = all + i;
	qsort_r(order, n, sizeof(*order), by_mark, &pass);
	for (size_t first = 0, middle, end; first < n; first = end) {
		for (end = first, middle = first; end < n && order[end]->base == order[first]->base &&
						  order[end]->marks[pass] == order[first]->marks[pass];
		     end++)
			middle += order[end]->side == OLD;
		match_group(order + first, middle - first, order + middle, end - middle);
	}
	free(order);
	return 0;
}

/* Kernels that have another number become new ones of the names. */
static int name_pairs(struct matching *m)
{
	const struct numbered *all = m->numbered.at;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < m->numbered.count; i++) {
		const struct numbered *old = all + i, *new = old->same;

		if (old->side != OLD || !new || new->kernel == old->kernel)
			continue;
		rc = kc_measured_kernel_was(m->names, new->kernel, old->number, m->to[NEW] + new->kernel);
		m->to[OLD][old->kernel] = m->to[NEW][new->kernel];
	}
	return rc;
}

static int rename_launches(struct matching *m, int side, struct kc_measured_run *run)
{
	struct kc_measured_launch *launches = run->launches.at;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < run->launches.count; i++) {
		struct kc_measured_shape shape = *kc_measured_shape(m->names, launches[i].shape);
		uint32_t to = m->to[side][shape.kernel];

		if (to == shape.kernel)
			continue;
		shape.kernel = to;
		rc = kc_measured_shape_number(m->names, &shape, &launches[i].shape);
	}
	return rc;
}

int kc_measured_renumber(struct kc_measured_names *names, struct kc_measured_run *old, size_t old_count,
			 struct kc_measured_run *new)
{
	struct matching m = {.names = names,
			     .to = {calloc(names->kernels.count + 1, sizeof(uint32_t)),
				    calloc(names->kernels.count + 1, sizeof(uint32_t))}};
	int rc = m.to[OLD] && m.to[NEW] ? 0 : -ENOMEM;

	for (int side = 0; rc == 0 && side < SIDES; side++)
		rc = add_kernels(&m, side);
	if (rc == 0 && m.numbered.count) {
		rc = mark_side(&m, OLD, old, old_count);
		rc = rc ? rc : mark_side(&m, NEW, new, 1);
		for (enum pass pass = 0; rc == 0 && pass < PASSES; pass++)
			rc = match(&m, pass);
		rc = rc ? rc : name_pairs(&m);
		for (size_t r = 0; rc == 0 && r < old_count; r++)
			rc = rename_launches(&m, OLD, old + r);
		rc = rc ? rc : rename_launches(&m, NEW, new);
	}
	kc_intern_free(&m.bases);
	free(m.numbered.at);
	free(m.to[OLD]);
	free(m.to[NEW]);
	return rc;
}
