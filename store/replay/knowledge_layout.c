#include "knowledge_layout.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GONE UINT32_MAX

static struct kc__made_kernel *kernels_of(const struct kc_knowledge_made *made)
{
	return made->kernels.at;
}

static struct kc__made_entry *entries_of(const struct kc_knowledge_made *made)
{
	return made->entries.at;
}

/* The order of kernels and entries is that of their names, and beyond that the same whatever was read first. */
KC_ORDER(by_kernel, struct kc__made_kernel, KC_UP(row.name) ?: KC_UP(row.code_hash) ?: KC_UP(row.registers) ?:
	 KC_UP(row.static_shared_bytes) ?: KC_UP(row.device))

KC_ORDER(by_name, struct kc__made_entry, KC_UP(row.name) ?: KC_UP(row.kernel))

/* Blocks before launch shapes, as they say something about more launches. */
KC_ORDER(by_use, struct kc__made_entry, KC_UP(row.whole) ?: KC_DOWN(row.lambda.count) ?: by_name(a, b))

static void remove_entries_of_gone(struct kc_knowledge_made *made, const uint32_t *moved,
				   struct kc_knowledge_left_out *left_out)
{
	struct kc__made_entry *entries = entries_of(made);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < made->entries.count; i++) {
		uint32_t kernel = moved[entries[i].row.kernel];

		if (kernel == GONE)
			continue;
		entries[kept] = entries[i];
		entries[kept++].row.kernel = kernel;
	}
	left_out->no_room += made->entries.count - kept;
	made->entries.count = kept;
}

/* Kernels in their order; of one name no more than a file may hold. */
static int sort_kernels(struct kc_knowledge_made *made, struct kc_knowledge_left_out *left_out)
{
	struct kc__made_kernel *kernels = kernels_of(made);
	uint32_t *moved = malloc(made->kernels.count * sizeof(*moved));
	uint32_t kept = 0, alike = 0;

	if (!moved)
		return -ENOMEM;
	qsort(kernels, made->kernels.count, sizeof(*kernels), by_kernel);
	for (uint32_t i = 0; i < made->kernels.count; i++) {
		struct kc__made_kernel kernel = kernels[i];

		alike = kept && kernels[kept - 1].row.name == kernel.row.name ? alike + 1 : 0;
		if (alike >= KC_KNOWLEDGE_ALIKE_MAX) {
			moved[kernel.place] = GONE;
			free(kernel.mangled);
			continue;
		}
		moved[kernel.place] = kept;
		kernels[kept++] = kernel;
	}
	made->kernels.count = kept;
	remove_entries_of_gone(made, moved, left_out);
	free(moved);
	return 0;
}

/* A launch shape with one set of arguments is found without them as well; with several, it is not. */
static int name_given(struct kc_knowledge_made *made)
{
	struct kc__made_entry *entries =
	    realloc(made->entries.at, ((size_t)made->entries.count + made->given.count + 1) * sizeof(*entries));
	const struct kc__made_given *given = made->given.at;

	if (!entries)
		return -ENOMEM;
	made->entries.at = entries;
	for (uint32_t i = 0; i < made->given.count; i++) {
		const uint64_t key[] = {given[i].name, given[i].kernel};
		uint32_t before = made->entry_names.count;
		uint32_t number = kc_intern(&made->entry_names, 0, key, sizeof(key));
		uint32_t place = number - 1;

		if (!number)
			return -ENOMEM;
		if (made->entry_names.count != before) {
			place = made->entries.count++;
			entries[place] = entries[given[i].entry];
		} else if (!given[i].several) {
			entries[place] = entries[given[i].entry];
		}
		entries[place].row.name = given[i].name;
		if (given[i].several)
			entries[place].row.lambda.count = 0;
	}
	return 0;
}

static void remove_empty(struct kc_knowledge_made *made)
{
	struct kc__made_entry *entries = entries_of(made);
	uint32_t kept = 0;

	for (uint32_t i = 0; i < made->entries.count; i++)
		if (entries[i].row.lambda.count)
			entries[kept++] = entries[i];
	made->entries.count = kept;
}

/* Bytes without entries. Also places the kernels' points and names. */
static size_t place_the_rest(struct kc_knowledge_made *made, struct kc_knowledge_head *head)
{
	struct kc__made_kernel *kernels = kernels_of(made);

	head->device_count = made->devices.count;
	head->kernel_count = made->kernels.count;
	head->text_bytes = made->anonymous ? 0 : 1;
	for (uint32_t i = 0; i < made->kernels.count; i++) {
		struct kc_knowledge_kernel *row = &kernels[i].row;

		row->first_point = head->point_count;
		row->point_count = kernels[i].sizes.count;
		head->point_count += row->point_count;
		if (made->anonymous)
			continue;
		row->text = head->text_bytes;
		head->text_bytes += (uint32_t)strlen(kernels[i].mangled) + 1;
	}
	return sizeof(*head) + head->device_count * sizeof(struct kc_knowledge_device) +
	       head->kernel_count * sizeof(struct kc_knowledge_kernel) +
	       head->point_count * sizeof(struct kc_scaling_point) + head->text_bytes;
}

static char *put(char *at, const void *row, size_t bytes)
{
	memcpy(at, row, bytes);
	return at + bytes;
}

static void fill(const struct kc_knowledge_made *made, const struct kc_knowledge_head *head, char *bytes)
{
	const struct kc__made_kernel *kernels = kernels_of(made);
	const struct kc__made_entry *entries = entries_of(made);
	char *at = put(bytes, head, sizeof(*head));
	uint64_t checksum;

	at = put(at, made->devices.at, head->device_count * sizeof(struct kc_knowledge_device));
	for (uint32_t i = 0; i < head->kernel_count; i++)
		at = put(at, &kernels[i].row, sizeof(kernels[i].row));
	for (uint32_t i = 0; i < head->entry_count; i++)
		at = put(at, &entries[i].row, sizeof(entries[i].row));
	for (uint32_t i = 0; i < head->kernel_count; i++)
		at = put(at, kernels[i].sizes.points, kernels[i].sizes.count * sizeof(struct kc_scaling_point));
	if (head->text_bytes)
		at = put(at, "", 1);
	for (uint32_t i = 0; i < head->kernel_count && head->text_bytes; i++)
		at = put(at, kernels[i].mangled, strlen(kernels[i].mangled) + 1);
	checksum = kc_knowledge_checksum(bytes, (size_t)head->bytes);
	memcpy(bytes + offsetof(struct kc_knowledge_head, checksum), &checksum, sizeof(checksum));
}

static int lay_out(struct kc_knowledge_made *made, void **bytes, size_t *length, struct kc_knowledge_left_out *left_out)
{
	struct kc_knowledge_head head = {.version = KC_KNOWLEDGE_VERSION, .anonymous = made->anonymous != 0};
	size_t rest = place_the_rest(made, &head), room;
	struct kc_knowledge check;
	char why[100];

	memcpy(head.magic, kc_knowledge_magic, sizeof(head.magic));
	if (rest > KC_KNOWLEDGE_BYTES_MAX)
		return -EFBIG;
	room = (KC_KNOWLEDGE_BYTES_MAX - rest) / sizeof(struct kc_knowledge_entry);
	if (made->entries.count > room) {
		qsort(made->entries.at, made->entries.count, sizeof(struct kc__made_entry), by_use);
		left_out->no_room += made->entries.count - room;
		made->entries.count = (uint32_t)room;
	}
	qsort(made->entries.at, made->entries.count, sizeof(struct kc__made_entry), by_name);
	head.entry_count = made->entries.count;
	*length = rest + head.entry_count * sizeof(struct kc_knowledge_entry);
	head.bytes = *length;
	*bytes = malloc(*length);
	if (!*bytes)
		return -ENOMEM;
	fill(made, &head, *bytes);
	return kc_knowledge_check(*bytes, *length, &check, why, sizeof(why));
}

int kc_knowledge_made_bytes(struct kc_knowledge_made *made, void **bytes, size_t *length,
			    struct kc_knowledge_left_out *left_out)
{
	int rc = made->error;

	*bytes = NULL;
	*left_out = (struct kc_knowledge_left_out){.unknown_gpu = made->unknown_gpu, .foreign_gpu = made->foreign_gpu};
	if (rc == 0 && !made->entries.count)
		rc = -ENODATA;
	if (rc == 0)
		rc = name_given(made);
	if (rc == 0) {
		remove_empty(made);
		rc = sort_kernels(made, left_out);
	}
	if (rc == 0)
		rc = lay_out(made, bytes, length, left_out);
	if (rc) {
		free(*bytes);
		*bytes = NULL;
	}
	return rc;
}
