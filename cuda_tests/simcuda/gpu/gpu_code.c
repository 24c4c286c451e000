/* The list of kernels and globals of an image, for every image format. */
#include "gpu_image.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS 4096

struct name {
	struct name *next;
	char text[];
};

static struct {
	pthread_mutex_t lock;
	struct name *bucket[BUCKETS];
} names = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const char *text, size_t length)
{
	uint64_t hash = 0xcbf29ce484222325ull; /* FNV-1a */
	size_t i;

	for (i = 0; i < length; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3ull;
	return hash;
}

/* Never freed: a record may name a kernel long after its module was unloaded. */
static char *intern(const char *text, size_t length)
{
	struct name **link = &names.bucket[hash_of(text, length) % BUCKETS], *name;

	pthread_mutex_lock(&names.lock);
	while ((name = *link) && (strncmp(name->text, text, length) || name->text[length]))
		link = &name->next;
	if (!name) {
		name = malloc(sizeof(*name) + length + 1);
		if (name) {
			memcpy(name->text, text, length);
			name->text[length] = '\0';
			name->next = NULL;
			*link = name;
		}
	}
	pthread_mutex_unlock(&names.lock);
	return name ? name->text : NULL;
}

struct sim_kernel *sim_code_add_kernel(struct sim_code *code, const char *name, size_t length)
{
	struct sim_kernel *more = realloc(code->kernel, (code->kernels + 1) * sizeof(*more)), *kernel;

	if (!more)
		return NULL;
	code->kernel = more;
	kernel = &more[code->kernels];
	memset(kernel, 0, sizeof(*kernel));
	kernel->magic = SIM_KERNEL;
	kernel->name = intern(name, length);
	kernel->name_hash = hash_of(name, length);
	if (!kernel->name)
		return NULL;
	code->kernels++;
	return kernel;
}

struct sim_global *sim_code_add_global(struct sim_code *code, const char *name, size_t length, uint64_t bytes)
{
	struct sim_global *more = realloc(code->global, (code->globals + 1) * sizeof(*more)), *global;

	if (!more)
		return NULL;
	code->global = more;
	global = &more[code->globals];
	memset(global, 0, sizeof(*global));
	global->name = intern(name, length);
	global->bytes = bytes;
	if (!global->name)
		return NULL;
	code->globals++;
	return global;
}

struct sim_kernel *sim_code_kernel(const struct sim_code *code, const char *name)
{
	uint32_t i;

	for (i = 0; i < code->kernels; i++)
		if (!strcmp(code->kernel[i].name, name))
			return &code->kernel[i];
	return NULL;
}

int sim_kernel_set_param(struct sim_kernel *kernel, uint32_t ordinal, uint32_t offset, uint32_t size)
{
	if (ordinal >= SIM_PARAMS_MAX)
		return 0;
	if (ordinal >= kernel->params) {
		struct sim_param *more = realloc(kernel->param, (ordinal + 1) * sizeof(*more));

		if (!more)
			return 0;
		memset(more + kernel->params, 0, (ordinal + 1 - kernel->params) * sizeof(*more));
		kernel->param = more;
		kernel->params = ordinal + 1;
	}
	kernel->param[ordinal].offset = offset;
	kernel->param[ordinal].size = size;
	return 1;
}

void sim_code_free(struct sim_code *code)
{
	uint32_t i;

	for (i = 0; i < code->kernels; i++)
		free(code->kernel[i].param);
	for (i = 0; i < code->globals; i++)
		free(code->global[i].initial);
	free(code->kernel);
	free(code->global);
	memset(code, 0, sizeof(*code));
}
