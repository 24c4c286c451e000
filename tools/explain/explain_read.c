#include "tools/explain.h"

#include "store/query/readable.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limit on the memory that a file can make this command use. The largest libraries unpack to some hundred MiB. */
#define IMAGES_BYTES ((size_t)4 << 30)
#define MODULE_BYTES ((size_t)1 << 30)
#define FORMULA_BYTES ((size_t)64 << 20)

#define PTX_KINDS (1u << KC_IMAGE_PTX)
#define CODE_KINDS (1u << KC_IMAGE_CUBIN)

struct gathering {
	struct kc_explanation *explanation;
	const char *wanted; /* kernel's name, NULL: all */
	void *by_name;      /* a tree of struct kc_explained */
};

static int map_file(struct kc_explanation *explanation, char *why, size_t why_size)
{
	const char *path = explanation->path;
	struct stat st;
	int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) < 0)
		rc = -errno;
	else if (S_ISDIR(st.st_mode))
		rc = -EISDIR;
	else if (!S_ISREG(st.st_mode))
		rc = -EINVAL;
	if (rc == 0 && st.st_size > 0) {
		explanation->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		explanation->map_bytes = (size_t)st.st_size;
		if (explanation->map == MAP_FAILED) {
			rc = -errno;
			explanation->map = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	if (rc == 0 && explanation->map)
		return 0;
	snprintf(why, why_size, "%s %s%s", path, rc == 0 ? "is empty" : "cannot be read: ",
		 rc == 0         ? ""
		 : rc == -EINVAL ? "not a regular file"
				 : strerror(-rc));
	return rc ? rc : -ENOENT;
}

static int read_images(struct kc_explanation *explanation, char *why, size_t why_size)
{
	struct kc_refusal refusal = {0};
	int rc = kc_images_list(&explanation->images, explanation->map, explanation->map_bytes, IMAGES_BYTES, &refusal);

	if (rc == -ENOENT)
		snprintf(why, why_size, "%s has no GPU code in it", explanation->path);
	else if (rc < 0)
		snprintf(why, why_size, "%s cannot be read: at byte %zu: %s", explanation->path, refusal.offset,
			 refusal.reason[0] ? refusal.reason : strerror(-rc));
	return rc;
}

static const struct kc_image *extreme(const struct kc_images *images, uint32_t fatbin, int kind, int newest)
{
	const struct kc_image *found = NULL;

	for (uint32_t i = 0; i < images->count; i++) {
		const struct kc_image *image = &images->images[i];

		if (image->fatbin != fatbin || image->kind != kind)
			continue;
		if (!found || (newest ? image->sm > found->sm : image->sm < found->sm))
			found = image;
	}
	return found;
}

static void choose_target(struct kc_explanation *explanation)
{
	const struct kc_images *images = &explanation->images;

	if (explanation->device) {
		explanation->sm = explanation->device->cc_major * 10 + explanation->device->cc_minor;
		return;
	}
	for (uint32_t i = 0; i < images->count; i++) {
		if (images->images[i].sm > explanation->sm)
			explanation->sm = images->images[i].sm;
	}
}

/* All images of a fatbin come from the same source, so other PTX is used where that for the target is missing. */
static void choose_images(const struct kc_explanation *explanation, uint32_t fatbin, struct kc_explain_unit *unit)
{
	const struct kc_images *images = &explanation->images;
	uint32_t major = explanation->sm / 10, minor = explanation->sm % 10;

	unit->ptx_image = kc_images_choose(images, fatbin, major, minor, PTX_KINDS);
	unit->code_image = kc_images_choose(images, fatbin, major, minor, CODE_KINDS);
	unit->foreign = !unit->ptx_image && !unit->code_image;
	if (unit->foreign)
		unit->code_image = extreme(images, fatbin, KC_IMAGE_CUBIN, 0);
	if (!unit->ptx_image)
		unit->ptx_image = extreme(images, fatbin, KC_IMAGE_PTX, 0);
}

static void say_no_memory(struct kc_refusal *refusal, int rc)
{
	if (rc == -ENOMEM)
		snprintf(refusal->reason, sizeof(refusal->reason), "it takes too much memory");
}

/* 0 where there is nothing to unpack. */
static int unpack(struct kc_explanation *explanation, const struct kc_image *image, struct kc_refusal *refusal)
{
	struct kc_images *images = &explanation->images;

	return image ? kc_image_unpack(images, (uint32_t)(image - images->images), refusal) : 0;
}

static void read_ptx(struct kc_explanation *explanation, struct kc_explain_unit *unit)
{
	const struct kc_image *image = unit->ptx_image;
	int rc = unpack(explanation, image, &unit->refusal);

	if (rc == 0 && image)
		rc = kc_ptx_parse(&unit->ptx, image->bytes, image->length, MODULE_BYTES, &unit->refusal);
	say_no_memory(&unit->refusal, rc);
}

static void read_code(struct kc_explanation *explanation, struct kc_explain_unit *unit)
{
	const struct kc_image *image = unit->code_image;
	int rc = unpack(explanation, image, &unit->refusal);

	if (rc == 0 && image)
		rc = kc_cubin_read(&unit->code, image->bytes, image->length, MODULE_BYTES, &unit->refusal);
	say_no_memory(&unit->refusal, rc);
}

static int read_units(struct kc_explanation *explanation)
{
	uint32_t count = explanation->images.fatbin_count;

	explanation->units = calloc(count ? count : 1, sizeof(*explanation->units));
	if (!explanation->units)
		return -ENOMEM;
	choose_target(explanation);
	for (uint32_t i = 0; i < count; i++) {
		struct kc_explain_unit *unit = &explanation->units[i];

		choose_images(explanation, i, unit);
		read_ptx(explanation, unit);
		read_code(explanation, unit);
		explanation->kernel_capacity += unit->ptx.function_count + unit->code.kernel_count;
	}
	explanation->kernels = calloc(explanation->kernel_capacity + 1, sizeof(*explanation->kernels));
	return explanation->kernels ? 0 : -ENOMEM;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct kc_explained *)a)->name, ((const struct kc_explained *)b)->name);
}

/* "scale" names scale(float*, int), scale<float>(float*, int) and, as demanglers print it, void scale<...>(...). */
static int is_wanted(const char *wanted, const char *name, const char *readable)
{
	size_t length;

	if (!wanted || strcmp(wanted, name) == 0)
		return 1;
	length = strlen(wanted);
	if (strncmp(readable, "void ", strlen("void ")) == 0 && strncmp(wanted, "void ", strlen("void ")) != 0)
		readable += strlen("void ");
	return strncmp(readable, wanted, length) == 0 && strchr("(<", readable[length]);
}

/* Finds or adds the kernel of that name; NULL: it was not asked for, or there is no memory. */
static struct kc_explained *kernel_named(struct gathering *gathering, const char *name)
{
	struct kc_explanation *explanation = gathering->explanation;
	struct kc_explained *kernel = &explanation->kernels[explanation->kernel_count], **node;
	char readable[KC_READABLE_BYTES];

	kc_readable_name(name, readable, sizeof(readable));
	if (!is_wanted(gathering->wanted, name, readable))
		return NULL;
	kernel->name = name;
	node = tsearch(kernel, &gathering->by_name, compare_names);
	if (!node || *node != kernel)
		return node ? *node : NULL;
	kernel->readable = strdup(readable);
	explanation->kernel_count++;
	return kernel;
}

static void gather_ptx(struct gathering *gathering, const struct kc_explain_unit *unit)
{
	for (uint32_t i = 0; i < unit->ptx.function_count; i++) {
		const struct kc_ptx_function *function = &unit->ptx.functions[i];
		struct kc_explained *kernel =
		    function->is_entry && function->has_body ? kernel_named(gathering, function->name) : NULL;

		if (!kernel || kernel->function)
			continue;
		kernel->function = function;
		kernel->unit = unit;
	}
}

/* relocatable: code before nvlink, which is used only if there is none after it */
static void gather_code(struct gathering *gathering, const struct kc_explain_unit *unit, int relocatable)
{
	for (uint32_t i = 0; unit->code.relocatable == relocatable && i < unit->code.kernel_count; i++) {
		struct kc_explained *kernel = kernel_named(gathering, unit->code.kernels[i].name);

		if (!kernel || kernel->code)
			continue;
		kernel->code = &unit->code.kernels[i];
		kernel->code_sm = unit->code.sm;
		kernel->unit = kernel->unit ? kernel->unit : unit;
	}
}

static void keep(void *node)
{
	(void)node;
}

static void gather(struct kc_explanation *explanation, const char *wanted)
{
	struct gathering gathering = {.explanation = explanation, .wanted = wanted};

	for (uint32_t i = 0; i < explanation->images.fatbin_count; i++)
		gather_ptx(&gathering, &explanation->units[i]);
	for (uint32_t i = 0; i < explanation->images.fatbin_count; i++)
		gather_code(&gathering, &explanation->units[i], 0);
	for (uint32_t i = 0; i < explanation->images.fatbin_count; i++)
		gather_code(&gathering, &explanation->units[i], 1);
	tdestroy(gathering.by_name, keep);
}

static void read_formula(struct kc_explained *kernel)
{
	int rc;

	if (!kernel->function)
		return;
	rc = kc_cost_read(&kernel->cost, &kernel->unit->ptx, kernel->function, FORMULA_BYTES, &kernel->refusal);
	if (rc == 0)
		rc = kc_cost_tell(kernel->cost, &kernel->story);
	if (rc == 0)
		return;
	say_no_memory(&kernel->refusal, rc);
	kc_cost_free(kernel->cost);
	kernel->cost = NULL;
}

static int nothing_found(const struct kc_explanation *explanation, const char *wanted, char *why, size_t why_size)
{
	const struct kc_images *images = &explanation->images;

	for (uint32_t i = 0; i < images->fatbin_count; i++) {
		const struct kc_refusal *refusal = &explanation->units[i].refusal;

		if (!refusal->reason[0])
			continue;
		snprintf(why, why_size, "%s: the code cannot be read: at byte %zu of the PTX or cubin: %s",
			 explanation->path, refusal->offset, refusal->reason);
		return -EBADMSG;
	}
	if (wanted)
		snprintf(why, why_size, "%s has no kernel called %s; without --kernel all are shown", explanation->path,
			 wanted);
	else
		snprintf(why, why_size, "%s has GPU code, but no kernel in it", explanation->path);
	return -ENOENT;
}

int kc_explain_read(struct kc_explanation *explanation, const char *kernel, char *why, size_t why_size)
{
	int rc = map_file(explanation, why, why_size);

	if (rc == 0)
		rc = read_images(explanation, why, why_size);
	if (rc < 0)
		return rc;
	rc = read_units(explanation);
	if (rc < 0) {
		snprintf(why, why_size, "%s: %s", explanation->path, strerror(-rc));
		return rc;
	}
	gather(explanation, kernel);
	if (!explanation->kernel_count)
		return nothing_found(explanation, kernel, why, why_size);
	for (uint32_t i = 0; i < explanation->kernel_count; i++)
		read_formula(&explanation->kernels[i]);
	return 0;
}

static int read_arguments(const struct kc_explained *kernel, const struct kc_explain_launch *launch,
			  struct kc_cost_argument *arguments, char *why, size_t why_size)
{
	char reason[256];

	if (launch->argument_count > kernel->function->param_count) {
		snprintf(why, why_size, "%s has %u parameters, not %u", kernel->readable, kernel->function->param_count,
			 launch->argument_count);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < launch->argument_count; i++) {
		const struct kc_ptx_param *param = &kernel->function->params[i];
		int rc = kc_explain_argument(launch->arguments[i], param, &arguments[i], reason, sizeof(reason));

		if (rc == 0)
			continue;
		snprintf(why, why_size, "p%u of %s (%s, %u bytes): %s", i, kernel->readable, kc_explain_type(param),
			 param->bytes, rc == -EINVAL ? reason : strerror(-rc));
		return rc;
	}
	return 0;
}

static int count_kernel(struct kc_explained *kernel, const struct kc_explain_launch *asked, char *why, size_t why_size)
{
	struct kc_cost_argument arguments[KC_EXPLAIN_ARGUMENTS] = {0};
	struct kc_cost_launch launch = {
	    .dynamic_shared_bytes = asked->dynamic_shared_bytes,
	    .arguments = arguments,
	    .argument_count = asked->argument_count,
	};
	int rc = read_arguments(kernel, asked, arguments, why, why_size);

	memcpy(launch.grid, asked->grid, sizeof(launch.grid));
	memcpy(launch.block, asked->block, sizeof(launch.block));
	if (rc == 0) {
		int counted = kc_cost_evaluate(kernel->cost, &launch, KC_COST_EFFORT_EXACT, &kernel->counts);

		kernel->counted = counted == 0 ? 1 : counted;
	}
	for (uint32_t i = 0; i < asked->argument_count; i++)
		kc_explain_argument_free(&arguments[i]);
	return rc;
}

/* Registers and shared memory are those of the machine code, if it is for the device. */
static void time_kernel(const struct kc_explanation *explanation, struct kc_explained *kernel)
{
	const struct kc_explain_launch *asked = explanation->launch;
	struct kc_counted_launch launch = {
	    .resources.static_shared_bytes = kc_cost_static_shared_bytes(kernel->cost),
	    .shape.dynamic_shared_bytes = asked->dynamic_shared_bytes,
	    .counts = kernel->counts,
	};
	int rc;

	memcpy(launch.shape.grid, asked->grid, sizeof(launch.shape.grid));
	memcpy(launch.shape.block, asked->block, sizeof(launch.shape.block));
	if (kernel->code && !kernel->unit->foreign)
		launch.resources.registers = kernel->code->registers;
	rc = kc_launch_times(explanation->device, &launch, explanation->lambda, &kernel->times, kernel->untimed,
			     sizeof(kernel->untimed));
	kernel->timed = rc == 0 ? 1 : rc;
}

int kc_explain_count(struct kc_explanation *explanation, char *why, size_t why_size)
{
	int rc = 0;

	for (uint32_t i = 0; rc == 0 && i < explanation->kernel_count; i++) {
		struct kc_explained *kernel = &explanation->kernels[i];

		if (kernel->cost)
			rc = count_kernel(kernel, explanation->launch, why, why_size);
		if (kernel->counted == 1 && explanation->device)
			time_kernel(explanation, kernel);
	}
	return rc;
}

void kc_explain_free(struct kc_explanation *explanation)
{
	for (uint32_t i = 0; i < explanation->kernel_count; i++) {
		struct kc_explained *kernel = &explanation->kernels[i];

		if (kernel->cost)
			kc_cost_story_free(&kernel->story);
		kc_cost_free(kernel->cost);
		free(kernel->readable);
	}
	for (uint32_t i = 0; explanation->units && i < explanation->images.fatbin_count; i++) {
		kc_ptx_free(&explanation->units[i].ptx);
		kc_cubin_free(&explanation->units[i].code);
	}
	free(explanation->kernels);
	free(explanation->units);
	kc_images_free(&explanation->images);
	if (explanation->map)
		munmap(explanation->map, explanation->map_bytes);
	explanation->map = NULL;
}
