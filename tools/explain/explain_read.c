#include "explain.h"

#include "store/query/readable.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Limits on the memory that a file can make this command use: for lists of what is in it, and for one piece of code at
 * a time. The largest modules in libraries need a quarter of that. */
#define LIST_BYTES ((size_t)256 << 20)
#define UNPACKED_BYTES ((size_t)256 << 20)
#define MODULE_BYTES ((size_t)512 << 20)

#define PTX_KINDS (1u << KC_IMAGE_PTX)
#define CODE_KINDS (1u << KC_IMAGE_CUBIN)
#define IDENTIFIER "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$"

struct gathering {
	struct kc_explanation *explanation;
	const char *wanted; /* kernel's name, NULL: all */
	void *by_name;      /* a tree of struct kc_explain_entry */
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
	int rc = kc_images_list(&explanation->images, explanation->map, explanation->map_bytes, LIST_BYTES, &refusal);

	if (rc == -ENOENT)
		snprintf(why, why_size, "%s has no GPU code in it", explanation->path);
	else if (rc < 0)
		snprintf(why, why_size, "%s cannot be read: at byte %zu: %s", explanation->path, refusal.offset,
			 refusal.reason[0] ? refusal.reason : strerror(-rc));
	return rc;
}

static const struct kc_image *oldest_code(const struct kc_images *images, uint32_t fatbin)
{
	const struct kc_image *found = NULL;

	for (uint32_t i = 0; i < images->count; i++) {
		const struct kc_image *image = &images->images[i];

		if (image->fatbin == fatbin && image->kind == KC_IMAGE_CUBIN && (!found || image->sm < found->sm))
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
		unit->code_image = oldest_code(images, fatbin);
	unit->ptx_is_other = !unit->ptx_image;
	if (!unit->ptx_image)
		unit->ptx_image = kc_images_choose_other(images, fatbin, major, minor);
}

void kc__explain_no_memory(struct kc_refusal *refusal, int rc)
{
	if (rc == -ENOMEM)
		snprintf(refusal->reason, sizeof(refusal->reason), "it takes too much memory");
}

/* What was read of the file is in the system's cache; this process need not hold it. */
static void let_go_of_file(const struct kc_explanation *explanation)
{
	madvise(explanation->map, explanation->map_bytes, MADV_DONTNEED);
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

/* Looks through the names in PTX, which is much faster than to parse it, and counts them. */
static int holds_wanted(const char *wanted, const struct kc_image *ptx, struct kc_explain_unit *unit)
{
	char name[KC_MANGLED_BYTES], readable[KC_READABLE_BYTES];
	const char *found;
	size_t at = 0, length;

	for (unit->ptx_function_count = 0; kc_ptx_next_entry(ptx->bytes, ptx->length, &at, &found, &length);
	     unit->ptx_function_count++) {
		if (length >= sizeof(name))
			return 1;
		memcpy(name, found, length);
		name[length] = '\0';
		kc_readable_name(name, readable, sizeof(readable));
		if (is_wanted(wanted, name, readable))
			return 1;
	}
	return 0;
}

/* wanted: a name that must be in it, or NULL. 0; 1: it is not, and nothing was parsed; -EBADMSG, -ENOMEM */
static int parse(struct kc_explanation *explanation, struct kc_explain_unit *unit, const char *wanted,
		 struct kc_refusal *refusal)
{
	struct kc_image image = *unit->ptx_image;
	struct kc_arena unpacked;
	int rc;

	explanation->parsed = NULL;
	kc_ptx_free(&explanation->ptx);
	kc_arena_init(&unpacked, UNPACKED_BYTES);
	rc = kc_image_unpack(&image, &unpacked, refusal);
	if (rc == 0 && wanted && !holds_wanted(wanted, &image, unit))
		rc = 1;
	if (rc == 0)
		rc = kc_ptx_parse(&explanation->ptx, image.bytes, image.length, MODULE_BYTES, refusal);
	kc_arena_free(&unpacked);
	let_go_of_file(explanation);
	kc__explain_no_memory(refusal, rc);
	if (rc == 0)
		explanation->parsed = unit;
	if (rc < 0)
		unit->ptx_function_count = 0;
	return rc;
}

int kc__explain_parse(struct kc_explanation *explanation, struct kc_explain_unit *unit, struct kc_refusal *refusal)
{
	return explanation->parsed == unit ? 0 : parse(explanation, unit, NULL, refusal);
}

/* A cubin has the names of its kernels as text. An identifier stands in the mangled name as it is; other names, such as
 * those with arguments, may not. */
static int may_hold_wanted(const char *wanted, const struct kc_image *code)
{
	size_t length = wanted ? strlen(wanted) : 0;

	if (!wanted || strspn(wanted, IDENTIFIER) < length)
		return 1;
	return memmem(code->bytes, code->length, wanted, length) != NULL;
}

static void read_code(const struct kc_explanation *explanation, struct kc_explain_unit *unit, const char *wanted)
{
	struct kc_image image = *unit->code_image;
	struct kc_arena unpacked;
	int rc;

	kc_arena_init(&unpacked, UNPACKED_BYTES);
	rc = kc_image_unpack(&image, &unpacked, &unit->refusal);
	if (rc == 0 && may_hold_wanted(wanted, &image))
		rc = kc_cubin_read(&unit->code, image.bytes, image.length, MODULE_BYTES, &unit->refusal);
	kc_arena_free(&unpacked);
	let_go_of_file(explanation);
	kc__explain_no_memory(&unit->refusal, rc);
}

KC_ORDER(compare_names, struct kc_explain_entry, strcmp(x->name, y->name))

static int add_entry(struct kc_explanation *explanation, const char *name, struct kc_explain_entry **entry)
{
	struct kc_arena *arena = &explanation->entries_arena;
	struct kc_explain_entry *added = kc_arena_take(arena, sizeof(*added));

	if (added)
		added->name = kc_arena_text(arena, name, strlen(name));
	if (!added || !added->name ||
	    kc_arena_grow(arena, &explanation->entries, &explanation->kernel_capacity, explanation->kernel_count,
			  sizeof(added)) < 0)
		return -ENOMEM;
	explanation->entries[explanation->kernel_count++] = *entry = added;
	return 0;
}

/* Finds or adds the kernel of that name; NULL in *entry: it was not asked for. 0, -ENOMEM */
static int entry_named(struct gathering *gathering, const char *name, struct kc_explain_entry **entry)
{
	struct kc_explain_entry wanted = {.name = name}, **node;
	char readable[KC_READABLE_BYTES];
	int rc;

	*entry = NULL;
	node = tfind(&wanted, &gathering->by_name, compare_names);
	if (node) {
		*entry = *node;
		return 0;
	}
	kc_readable_name(name, readable, sizeof(readable));
	if (!is_wanted(gathering->wanted, name, readable))
		return 0;
	rc = add_entry(gathering->explanation, name, entry);
	return rc < 0 || tsearch(*entry, &gathering->by_name, compare_names) ? rc : -ENOMEM;
}

static int gather_ptx(struct gathering *gathering, struct kc_explain_unit *unit)
{
	const struct kc_ptx_module *ptx = &gathering->explanation->ptx;
	int rc = 0;

	unit->ptx_function_count = ptx->function_count;
	for (uint32_t i = 0; rc == 0 && i < ptx->function_count; i++) {
		struct kc_explain_entry *entry = NULL;

		if (ptx->functions[i].is_entry && ptx->functions[i].has_body)
			rc = entry_named(gathering, ptx->functions[i].name, &entry);
		if (!entry || entry->has_ptx)
			continue;
		entry->has_ptx = 1;
		entry->function = i;
		entry->unit = unit;
	}
	return rc;
}

/* relocatable: code before nvlink, which is used only if there is none after it */
static int gather_code(struct gathering *gathering, struct kc_explain_unit *unit, int relocatable)
{
	int rc = 0;

	for (uint32_t i = 0; unit->code.relocatable == relocatable && rc == 0 && i < unit->code.kernel_count; i++) {
		struct kc_explain_entry *entry;

		rc = entry_named(gathering, unit->code.kernels[i].name, &entry);
		if (!entry || entry->code)
			continue;
		entry->code = &unit->code.kernels[i];
		entry->code_sm = unit->code.sm;
		entry->code_is_foreign = unit->foreign;
		entry->unit = entry->unit ? entry->unit : unit;
	}
	return rc;
}

static void keep(void *node)
{
	(void)node;
}

static int read_unit(struct gathering *gathering, uint32_t fatbin)
{
	struct kc_explanation *explanation = gathering->explanation;
	struct kc_explain_unit *unit = &explanation->units[fatbin];
	int rc = 0, parsed = -ENOENT;

	choose_images(explanation, fatbin, unit);
	if (unit->ptx_image)
		parsed = parse(explanation, unit, gathering->wanted, &unit->refusal);
	if (parsed == 0)
		rc = gather_ptx(gathering, unit);
	unit->passed_over = parsed == 1;
	if (unit->code_image)
		read_code(explanation, unit, gathering->wanted);
	return rc;
}

/* In the order in which they are printed: those with PTX first. */
static int gather(struct kc_explanation *explanation, const char *wanted)
{
	struct gathering gathering = {.explanation = explanation, .wanted = wanted};
	uint32_t count = explanation->images.fatbin_count;
	int rc = 0;

	explanation->units = calloc(count ? count : 1, sizeof(*explanation->units));
	if (!explanation->units)
		return -ENOMEM;
	kc_arena_init(&explanation->entries_arena, LIST_BYTES);
	choose_target(explanation);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = read_unit(&gathering, i);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = gather_code(&gathering, &explanation->units[i], 0);
	for (uint32_t i = 0; rc == 0 && i < count; i++)
		rc = gather_code(&gathering, &explanation->units[i], 1);
	tdestroy(gathering.by_name, keep);
	return rc;
}

/* A kernel that is missing may be in what cannot be read. */
static int nothing_found(struct kc_explanation *explanation, const char *wanted, char *why, size_t why_size)
{
	for (uint32_t i = 0; i < explanation->images.fatbin_count; i++) {
		struct kc_explain_unit *unit = &explanation->units[i];
		const struct kc_refusal *refusal = &unit->refusal;

		if (unit->passed_over && !refusal->reason[0])
			parse(explanation, unit, NULL, &unit->refusal);
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

const char *kc_explain_split(char *path)
{
	if (access(path, F_OK) == 0)
		return NULL;
	for (char *colon = strchr(path, ':'); colon; colon = strchr(colon + 1, ':')) {
		*colon = '\0';
		if (access(path, F_OK) == 0)
			return colon + 1;
		*colon = ':';
	}
	return NULL;
}

int kc_explain_read(struct kc_explanation *explanation, const char *kernel, char *why, size_t why_size)
{
	int rc = map_file(explanation, why, why_size);

	if (rc == 0)
		rc = read_images(explanation, why, why_size);
	if (rc < 0)
		return rc;
	rc = gather(explanation, kernel);
	if (rc < 0) {
		snprintf(why, why_size, "%s: %s", explanation->path, strerror(-rc));
		return rc;
	}
	return explanation->kernel_count ? 0 : nothing_found(explanation, kernel, why, why_size);
}

void kc_explain_free(struct kc_explanation *explanation)
{
	for (uint32_t i = 0; explanation->units && i < explanation->images.fatbin_count; i++)
		kc_cubin_free(&explanation->units[i].code);
	kc_ptx_free(&explanation->ptx);
	kc_arena_free(&explanation->entries_arena);
	free(explanation->units);
	kc_images_free(&explanation->images);
	if (explanation->map)
		munmap(explanation->map, explanation->map_bytes);
	explanation->map = NULL;
}
