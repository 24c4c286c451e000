#include "basis_which.h"
#include "tools/command.h"

#include "predictor/math/median.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LISTED 12u /* in a message */
#define NEAREST 3u

/* --- text */

struct list { /* "a, b and 3 more" */
	char text[1024];
	size_t used;
	uint32_t count, left_out;
};

static void list_add(struct list *list, const char *text)
{
	int n;

	if (list->count == LISTED) {
		list->left_out++;
		return;
	}
	n = snprintf(list->text + list->used, sizeof(list->text) - list->used, "%s%s", list->count ? "; " : "", text);
	if (n < 0 || (size_t)n >= sizeof(list->text) - list->used) {
		list->text[list->used] = '\0';
		list->left_out++;
		return;
	}
	list->used += (size_t)n;
	list->count++;
}

static const char *list_text(struct list *list)
{
	if (list->left_out)
		snprintf(list->text + list->used, sizeof(list->text) - list->used, "; and %u more", list->left_out);
	return list->text;
}

char *kc_basis_block_text(const uint32_t block[3], char out[static KC_FORMAT_BYTES])
{
	if (block[2] > 1)
		snprintf(out, KC_FORMAT_BYTES, "%u,%u,%u", block[0], block[1], block[2]);
	else
		snprintf(out, KC_FORMAT_BYTES, "%u,%u", block[0], block[1]);
	return out;
}

char *kc_basis_size_text(double size, char out[static KC_FORMAT_BYTES])
{
	if (size < 1e15 && !(size < floor(size)) && !(size > floor(size)))
		return kc_format_count((uint64_t)size, out);
	snprintf(out, KC_FORMAT_BYTES, "%g", size);
	return out;
}

/* --- kernels */

/* Letters to change, insert or leave out until the text occurs in the name. */
static size_t distance(const char *text, const char *name)
{
	size_t length = strlen(text), *row = malloc((length + 1) * sizeof(*row)), best = length;

	if (!row)
		return length;
	for (size_t i = 0; i <= length; i++)
		row[i] = i;
	for (; *name; name++) {
		size_t diagonal = row[0];

		for (size_t i = 1; i <= length; i++) {
			int differs = tolower((unsigned char)text[i - 1]) != tolower((unsigned char)*name);
			size_t left = row[i - 1] + 1, up = row[i] + 1, changed = diagonal + (size_t)differs;

			diagonal = row[i];
			row[i] = left < up ? left : up;
			row[i] = changed < row[i] ? changed : row[i];
		}
		best = row[length] < best ? row[length] : best;
	}
	free(row);
	return best;
}

static void no_such_kernel(const struct kc_sweeps *sweeps, const char *text)
{
	size_t nearest[NEAREST], best = strlen(text) / 2, distances[NEAREST];
	uint32_t count = 0;
	struct list list = {.used = 0};

	for (size_t i = 0; i < sweeps->kernel_count; i++) {
		size_t away = distance(text, sweeps->kernels[i].name);
		uint32_t at = count < NEAREST ? count : NEAREST;

		if (away > best)
			continue;
		while (at && distances[at - 1] > away)
			at--;
		if (at == NEAREST)
			continue;
		count += count < NEAREST;
		memmove(&nearest[at + 1], &nearest[at], (count - at - 1) * sizeof(*nearest));
		memmove(&distances[at + 1], &distances[at], (count - at - 1) * sizeof(*distances));
		nearest[at] = i;
		distances[at] = away;
	}
	for (uint32_t i = 0; i < count; i++)
		list_add(&list, sweeps->kernels[nearest[i]].name);
	if (count)
		kc_error("no kernel measured with several block sizes has \"%s\" in its name; did you mean %s?", text,
			 list_text(&list));
	else
		kc_error(
		    "no kernel measured with several block sizes has \"%s\" in its name (`kerncast-lab basis train`"
		    " reads new launches, `kerncast-lab basis show` lists what is known)",
		    text);
}

int64_t kc_basis_find_kernel(const struct kc_sweeps *sweeps, const char *text)
{
	int64_t found = -1;
	uint32_t matches = 0;

	for (size_t i = 0; i < sweeps->kernel_count; i++) {
		const struct kc_sweep_kernel *k = &sweeps->kernels[i];

		if (!strcmp(k->name, text) || !strcmp(k->module, text))
			return (int64_t)i;
		if (strstr(k->name, text) || strstr(k->module, text)) {
			found = (int64_t)i;
			matches++;
		}
	}
	if (matches > 1)
		kc_error("\"%s\" occurs in %u kernels; `kerncast-lab basis show` lists them", text, matches);
	else if (!matches)
		no_such_kernel(sweeps, text);
	return matches == 1 ? found : -1;
}

/* --- devices */

int64_t kc_basis_find_device(const struct kc_basis_known *known, const char *text, struct kc_device *device)
{
	int64_t found = 0;

	for (size_t i = 0; i < known->device_count; i++) {
		if (!strcasestr(known->devices[i].device.name, text))
			continue;
		if (found) {
			kc_error("\"%s\" occurs in the names of several devices; `kerncast devices` lists them", text);
			return -1;
		}
		found = known->devices[i].id;
		*device = known->devices[i].device;
		kc_device_complete(device);
	}
	return found;
}

int kc_basis_choose_device(const struct kc_basis_known *known, uint32_t kernel, const char *text, int64_t *id,
			   struct kc_device *device)
{
	const char *name = known->sweeps->kernels[kernel].name;
	struct list list = {.used = 0};
	const struct kc_device_row *only = NULL;

	for (size_t i = 0; i < known->device_count; i++) {
		if (!kc_basis_launches(known->sweeps, kernel, known->devices[i].id))
			continue;
		only = &known->devices[i];
		list_add(&list, only->device.name);
	}
	if (!only) {
		kc_error("the database does not say on which device %s was measured", name);
		return KC_EXIT_FAILED;
	}
	if (!text && list.count + list.left_out > 1) {
		kc_error("%s was measured on several devices; choose one with --device: %s", name, list_text(&list));
		return KC_EXIT_USAGE;
	}
	*id = !text ? only->id : kc_basis_find_device(known, text, device);
	if (*id < 0)
		return KC_EXIT_FAILED;
	if (!text) {
		*device = only->device;
		kc_device_complete(device);
	} else if (!*id) {
		kc_error("the database has no device whose name contains \"%s\"; %s was measured on: %s", text, name,
			 list_text(&list));
		return KC_EXIT_FAILED;
	} else if (!kc_basis_launches(known->sweeps, kernel, *id)) {
		kc_error("%s was not measured on %s, but on: %s", name, device->name, list_text(&list));
		return KC_EXIT_FAILED;
	}
	return KC_EXIT_OK;
}

/* --- problems */

static int is_of(const struct kc_sweep_point *point, uint32_t kernel, int64_t device)
{
	return point->kernel == kernel && point->device == device;
}

uint64_t kc_basis_launches(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device)
{
	uint64_t launches = 0;

	for (size_t i = 0; i < sweeps->point_count; i++)
		if (is_of(&sweeps->points[i], kernel, device))
			launches += sweeps->points[i].launches;
	return launches;
}

/* Sizes of all blocks, ascending; freed by the caller. NULL: no memory, or none. */
static double *sizes_of(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device, size_t *count)
{
	double *sizes = malloc((sweeps->point_count + 1) * sizeof(*sizes));

	*count = 0;
	for (size_t i = 0; sizes && i < sweeps->point_count; i++)
		if (is_of(&sweeps->points[i], kernel, device))
			sizes[(*count)++] = sweeps->points[i].size;
	if (sizes)
		kc_sort(sizes, *count);
	return sizes;
}

double kc_basis_usual_size(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device)
{
	size_t count, most = 0;
	double *sizes = sizes_of(sweeps, kernel, device, &count), usual = 0;

	for (size_t from = 0, to; from < count; from = to) {
		for (to = from; to < count && !(sizes[to] > sizes[from]);)
			to++;
		if (to - from < most)
			continue;
		most = to - from;
		usual = sizes[from];
	}
	free(sizes);
	return usual;
}

void kc_basis_no_such_size(const struct kc_sweeps *sweeps, uint32_t kernel, int64_t device, const char *device_name,
			   double size)
{
	size_t count;
	double *sizes = sizes_of(sweeps, kernel, device, &count);
	struct list list = {.used = 0};
	char text[KC_FORMAT_BYTES];

	for (size_t i = 0; i < count; i++)
		if (!i || sizes[i] > sizes[i - 1])
			list_add(&list, kc_basis_size_text(sizes[i], text));
	kc_error("%s was not measured on %s at a size near %s; sizes measured: %s", sweeps->kernels[kernel].name,
		 device_name, kc_basis_size_text(size, text), list_text(&list));
	free(sizes);
}

static void list_blocks(struct list *list, const uint32_t (*blocks)[3], uint32_t count)
{
	char text[KC_FORMAT_BYTES];

	for (uint32_t i = 0; i < count; i++)
		list_add(list, kc_basis_block_text(blocks[i], text));
}

void kc_basis_no_such_block(const char *kernel, const char *device_name, const struct kc_basis_curve *measured,
			    const struct kc_basis_blocks *asked)
{
	struct list there = {.used = 0}, wanted = {.used = 0};

	for (uint32_t i = 0; i < measured->count; i++)
		list_blocks(&there, &measured->times[i].size.block, 1);
	list_blocks(&wanted, asked->block, asked->count);
	kc_error("%s was not measured on %s with blocks of %s; blocks measured: %s", kernel, device_name,
		 list_text(&wanted), list_text(&there));
}

static int dimensions(const uint32_t block[3])
{
	return block[2] > 1 ? 3 : block[1] > 1 ? 2 : 1;
}

static int is_repeated(const struct kc_sweeps *sweeps, size_t i)
{
	const struct kc_sweep_point *point = &sweeps->points[i];

	for (size_t before = 0; before < i; before++)
		if (sweeps->points[before].kernel == point->kernel &&
		    !memcmp(sweeps->points[before].block, point->block, sizeof(point->block)))
			return 1;
	return 0;
}

int kc_basis_has_dimensions(const struct kc_sweeps *sweeps, uint32_t kernel, const struct kc_basis_blocks *asked)
{
	unsigned launched = 0;

	for (size_t i = 0; i < sweeps->point_count; i++)
		if (sweeps->points[i].kernel == kernel)
			launched |= 1u << dimensions(sweeps->points[i].block);
	for (uint32_t i = 0; i < asked->count; i++) {
		struct list list = {.used = 0};
		char block[KC_FORMAT_BYTES];
		int has = dimensions(asked->block[i]);

		if (launched & 1u << has)
			continue;
		for (size_t p = 0; p < sweeps->point_count; p++)
			if (sweeps->points[p].kernel == kernel && !is_repeated(sweeps, p))
				list_blocks(&list, &sweeps->points[p].block, 1);
		kc_error("%s was never launched with a block of %d dimension%s such as %s; its blocks: %s",
			 sweeps->kernels[kernel].name, has, has == 1 ? "" : "s",
			 kc_basis_block_text(asked->block[i], block), list_text(&list));
		return 0;
	}
	return 1;
}
