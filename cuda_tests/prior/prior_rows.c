/*
 * What the prior's trees ask of launches, for training: a line of standard input for each launch, in it the device's
 * name, grid, block, registers, static and dynamic shared memory and the kernel's name, between tabs. A line of
 * standard output for each: the family, the device's speed, the traits, and the name's words with blanks between them.
 * Of a launch that does not fit: a dash.
 */
#include "predictor/prior/prior.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USUAL_DEVICE "v100" /* where a name tells none, as in replays */

enum { GRID, BLOCK = GRID + 3, REGISTERS = BLOCK + 3, STATIC_SHARED, DYNAMIC_SHARED, NUMBERS };

struct row {
	struct kc_device device;
	struct kc_resources resources;
	struct kc_shape shape;
	char *name;
};

static int read_row(char *line, struct row *row)
{
	const struct kc_device *device = kc_device_builtin_meant(strsep(&line, "\t"));
	uint32_t numbers[NUMBERS];

	for (int i = 0; i < NUMBERS; i++) {
		const char *text = strsep(&line, "\t");

		if (!text)
			return -EINVAL;
		numbers[i] = (uint32_t)strtoul(text, NULL, 10);
	}
	if (!line)
		return -EINVAL;
	row->name = line;
	row->device = device ? *device : *kc_device_builtin(USUAL_DEVICE);
	kc_device_complete(&row->device);
	row->resources =
	    (struct kc_resources){.registers = numbers[REGISTERS], .static_shared_bytes = numbers[STATIC_SHARED]};
	row->shape = (struct kc_shape){.dynamic_shared_bytes = numbers[DYNAMIC_SHARED]};
	memcpy(row->shape.grid, numbers + GRID, sizeof(row->shape.grid));
	memcpy(row->shape.block, numbers + BLOCK, sizeof(row->shape.block));
	return 0;
}

/* A launch of a trace ran, so one that does not fit is brought to the device's limits. */
static int work_of(struct row *row, struct kc_work *work)
{
	int rc = kc_work_init(work, &row->device, &row->resources, &row->shape, 0);

	if (rc != -ERANGE)
		return rc;
	kc_work_clamp(&row->device, &row->resources, &row->shape);
	return kc_work_init(work, &row->device, &row->resources, &row->shape, 0);
}

static void print_row(const struct row *row, const struct kc_work *work)
{
	struct kc_name_traits name;
	float traits[KC_TRAITS];
	struct kc_words words;

	kc_name_read(&name, row->name);
	kc_launch_traits(traits, &row->device, work, &row->shape, &name);
	printf("%d\t%.17g", (int)name.family, kc_prior_speed(&row->device));
	for (int i = 0; i < KC_TRAITS; i++)
		printf("\t%.9g", (double)traits[i]);
	putchar('\t');
	kc_words_of(row->name, &words);
	for (uint32_t i = 0; i < words.count; i++)
		printf("%s%.*s", i ? " " : "", words.place[i].size, row->name + words.place[i].at);
	putchar('\n');
}

int main(void)
{
	struct kc_work work;
	char *line = NULL;
	size_t room = 0;
	struct row row;

	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "\n")] = 0;
		if (read_row(line, &row) || work_of(&row, &work))
			puts("-");
		else
			print_row(&row, &work);
	}
	free(line);
	return ferror(stdout) || fflush(stdout);
}
