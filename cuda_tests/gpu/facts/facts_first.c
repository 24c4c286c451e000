/*
 * Launches the kernels that a file lists, each once without a wait, so that nothing has been measured yet, and
 * then each a few times more. A line of the file:
 *
 *	PTX-FILE KERNEL GRID-X Y Z BLOCK-X Y Z SHARED-BYTES ARGUMENT...
 *
 * KERNEL is mangled. An argument: b0 to b3 a buffer of 64 MiB of zeros, i an integer, f a float, as in i5 and f0.5.
 *
 *   module   a PTX file that was loaded
 *   listed   a line: a kernel and how it is launched
 */
#include "facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BUFFERS = 4,
	BUFFER_BYTES = 64 << 20,
	ARGUMENTS_MAX = 8,
	MODULES_MAX = 8,
	LISTED_MAX = 32,
	AGAIN = 4,
	TEXT_MAX = 1 << 20,
	SHAPE = 7,    /* grid, block, shared memory */
	LIMIT_S = 25, /* a process that takes longer hangs */
};

struct module {
	char path[512];
	CUmodule module;
};

struct listed {
	CUfunction function;
	unsigned shape[SHAPE];
	union argument {
		CUdeviceptr pointer;
		int integer;
		float number;
	} arguments[ARGUMENTS_MAX];
};

static struct {
	struct module modules[MODULES_MAX];
	struct listed listed[LISTED_MAX];
	int module_count, listed_count;
	CUdeviceptr buffers[BUFFERS];
} first;

static CUmodule load(const char *path)
{
	static char text[TEXT_MAX];
	struct module *m = first.modules;
	FILE *file;
	size_t bytes;

	for (; m < first.modules + first.module_count; m++)
		if (!strcmp(path, m->path))
			return m->module;
	file = fopen(path, "r");
	bytes = file ? fread(text, 1, TEXT_MAX - 1, file) : 0;
	if (!bytes || first.module_count == MODULES_MAX)
		facts_give_up(path, "cannot be read");
	fclose(file);
	text[bytes] = '\0';
	snprintf(m->path, sizeof(m->path), "%s", path);
	FACTS_CALL(cuModuleLoadData, &m->module, text);
	first.module_count++;
	return m->module;
}

static bool read_argument(const char *text, union argument *argument)
{
	switch (*text) {
	case 'b':
		argument->pointer = first.buffers[strtoul(text + 1, NULL, 10) % BUFFERS];
		return true;
	case 'i':
		argument->integer = (int)strtol(text + 1, NULL, 10);
		return true;
	case 'f':
		argument->number = strtof(text + 1, NULL);
		return true;
	}
	return false;
}

static void read_line(char *line)
{
	char *rest, *path = strtok_r(line, " \n", &rest), *name = strtok_r(NULL, " \n", &rest), *word;
	struct listed *l = &first.listed[first.listed_count];
	int count = 0;

	if (!path || !name || first.listed_count == LISTED_MAX)
		facts_give_up("first", "a line that is none, or too many");
	for (int i = 0; i < SHAPE; i++) {
		word = strtok_r(NULL, " \n", &rest);
		l->shape[i] = word ? (unsigned)strtoul(word, NULL, 10) : 0;
	}
	while ((word = strtok_r(NULL, " \n", &rest)))
		if (count == ARGUMENTS_MAX || !read_argument(word, &l->arguments[count++]))
			facts_give_up(name, "an argument that is none");
	FACTS_CALL(cuModuleGetFunction, &l->function, load(path), name);
	first.listed_count++;
}

static void launch_all(void)
{
	for (int i = 0; i < first.listed_count; i++) {
		struct listed *l = &first.listed[i];
		void *pointers[ARGUMENTS_MAX];

		for (int j = 0; j < ARGUMENTS_MAX; j++)
			pointers[j] = &l->arguments[j];
		FACTS_CALL(cuLaunchKernel, l->function, l->shape[0], l->shape[1], l->shape[2], l->shape[3], l->shape[4],
			   l->shape[5], l->shape[6], NULL, pointers, NULL);
	}
	FACTS_CALL(cuCtxSynchronize);
}

void facts_first(const struct facts_options *options)
{
	FILE *list = options->file ? fopen(options->file, "r") : NULL;
	char line[1024];

	alarm(LIMIT_S);
	if (!list)
		facts_give_up("first", "no --file that can be read");
	facts_driver_start();
	facts_context();
	for (int i = 0; i < BUFFERS; i++) {
		FACTS_CALL(cuMemAlloc_v2, &first.buffers[i], BUFFER_BYTES);
		FACTS_CALL(cuMemsetD8_v2, first.buffers[i], 0, BUFFER_BYTES);
	}
	while (fgets(line, sizeof(line), list))
		read_line(line);
	fclose(list);
	for (int i = 0; i <= AGAIN; i++)
		launch_all();
	facts_value("launches", "%d", (1 + AGAIN) * first.listed_count);
}
