#include "knowledge.h"

#include "predictor/math/hash.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char kc_knowledge_magic[8] = "kclearn";

_Static_assert(sizeof(struct kc_knowledge_head) == 56 && sizeof(struct kc_knowledge_device) == 160 &&
		   sizeof(struct kc_knowledge_kernel) == 48 && sizeof(struct kc_knowledge_entry) == 64 &&
		   sizeof(struct kc_scaling_point) == 32,
	       "the file's layout: another one is another version");

/* Wider than anything that a GPU can do: λ from e^-40 to e^40, work and durations up to a month. */
#define LOG_LAMBDA_MAX 40.0
#define VARIANCE_MAX 100.0
#define WEIGHT_MAX 1e6
#define NS_MAX 2.6e15
#define UNIT_LEAST_NS 1e-6
#define LOG_SIZE_MAX 100.0f
#define LOG_NS_MAX 36.0f /* a month */

struct check {
	struct kc_knowledge *k;
	char *why;
	size_t why_size;
};

static int refuse(const struct check *check, const char *what)
{
	snprintf(check->why, check->why_size, "it is damaged (%s)", what);
	return -EBADMSG;
}

uint64_t kc_knowledge_checksum(const void *bytes, size_t length)
{
	static const char zeros[sizeof(uint64_t)];
	size_t at = offsetof(struct kc_knowledge_head, checksum), after = at + sizeof(uint64_t);
	uint64_t hash = kc_fnv(KC_FNV_OFFSET, bytes, at);

	hash = kc_fnv(hash, zeros, sizeof(zeros));
	return kc_fnv(hash, (const char *)bytes + after, length - after);
}

static uint64_t bytes_of(const struct kc_knowledge_head *head)
{
	return sizeof(*head) + (uint64_t)head->device_count * sizeof(struct kc_knowledge_device) +
	       (uint64_t)head->kernel_count * sizeof(struct kc_knowledge_kernel) +
	       (uint64_t)head->entry_count * sizeof(struct kc_knowledge_entry) +
	       (uint64_t)head->point_count * sizeof(struct kc_scaling_point) + head->text_bytes;
}

static int check_head(const struct check *check, const void *bytes, size_t length)
{
	const struct kc_knowledge_head *head = bytes;

	if (length < sizeof(*head) || memcmp(head->magic, kc_knowledge_magic, sizeof(head->magic)) != 0) {
		snprintf(check->why, check->why_size, "kerncast learn has not written it");
		return -EBADMSG;
	}
	if (head->version != KC_KNOWLEDGE_VERSION) {
		snprintf(check->why, check->why_size,
			 "it is of version %u, not %u; write it again with this kerncast learn", head->version,
			 KC_KNOWLEDGE_VERSION);
		return -EPROTO;
	}
	if (head->bytes != length || bytes_of(head) != length || length > KC_KNOWLEDGE_BYTES_MAX)
		return refuse(check, "its length");
	if (head->checksum != kc_knowledge_checksum(bytes, length))
		return refuse(check, "its checksum");
	return 0;
}

static void set_tables(struct kc_knowledge *k, const void *bytes)
{
	const char *at = bytes;

	k->head = bytes;
	k->devices = (const void *)(at += sizeof(*k->head));
	k->kernels = (const void *)(at += k->head->device_count * sizeof(*k->devices));
	k->entries = (const void *)(at += k->head->kernel_count * sizeof(*k->kernels));
	k->points = (const void *)(at += k->head->entry_count * sizeof(*k->entries));
	k->text = at + k->head->point_count * sizeof(*k->points);
}

/* A comparison with NAN is false. */
static int within(double value, double least, double most)
{
	return value >= least && value <= most;
}

static int is_lambda(const struct kc_knowledge_lambda *l)
{
	return within(l->log_value, -LOG_LAMBDA_MAX, LOG_LAMBDA_MAX) && within(l->variance, 0, VARIANCE_MAX) &&
	       l->weight > 0 && l->weight <= WEIGHT_MAX && l->count <= KC_KNOWLEDGE_COUNT_MAX &&
	       l->spread_count <= KC_KNOWLEDGE_COUNT_MAX;
}

static int check_devices(const struct check *check)
{
	for (uint32_t i = 0; i < check->k->head->device_count; i++) {
		const struct kc_knowledge_device *d = &check->k->devices[i];

		if (!memchr(d->name, 0, sizeof(d->name)) || !d->sm_count || !d->cores_per_sm || !d->clock_khz ||
		    d->simulated > 1)
			return refuse(check, "a GPU");
		if (d->lambda.count && !is_lambda(&d->lambda))
			return refuse(check, "what it says of a GPU");
	}
	return 0;
}

/* Sorted, and not too many alike. *alike: how many had this name before. */
static int in_order(uint64_t before, uint64_t name, uint32_t i, uint32_t *alike)
{
	*alike = i && before == name ? *alike + 1 : 0;
	return (!i || before <= name) && *alike < KC_KNOWLEDGE_ALIKE_MAX;
}

/* A kernel's name is that of its hash. No two kernels share one, so that all of them are not longer than the table:
 * *left is what of it is not named yet. */
static int is_named(const struct kc_knowledge *k, const struct kc_knowledge_kernel *kernel, uint32_t *left)
{
	static const struct kc_shape none = {0};
	size_t length;

	if (!kernel->text)
		return 1;
	if (kernel->text >= k->head->text_bytes)
		return 0;
	length = strlen(k->text + kernel->text) + 1;
	if (length > *left)
		return 0;
	*left -= (uint32_t)length;
	return kc_launch_name(k->text + kernel->text, &none, NULL) == kernel->name;
}

static int check_kernels(const struct check *check)
{
	const struct kc_knowledge *k = check->k;
	uint32_t alike = 0, left = k->head->text_bytes;

	for (uint32_t i = 0; i < k->head->kernel_count; i++) {
		const struct kc_knowledge_kernel *kernel = &k->kernels[i];

		if (!in_order(i ? kernel[-1].name : 0, kernel->name, i, &alike))
			return refuse(check, "the order of kernels");
		if (kernel->device >= k->head->device_count || kernel->point_count > KC_SCALING_POINTS ||
		    (uint64_t)kernel->first_point + kernel->point_count > k->head->point_count)
			return refuse(check, "a kernel");
		if (!is_named(k, kernel, &left))
			return refuse(check, "the name of a kernel");
	}
	return 0;
}

static int check_entries(const struct check *check)
{
	const struct kc_knowledge *k = check->k;
	uint32_t alike = 0;

	for (uint32_t i = 0; i < k->head->entry_count; i++) {
		const struct kc_knowledge_entry *entry = &k->entries[i];

		if (!in_order(i ? entry[-1].name : 0, entry->name, i, &alike))
			return refuse(check, "the order of launch shapes");
		if (entry->kernel >= k->head->kernel_count || entry->whole > 1 || !entry->lambda.count ||
		    !is_lambda(&entry->lambda) || !within(entry->unit_ns, UNIT_LEAST_NS, NS_MAX) ||
		    !within(entry->launch_ns, 0, NS_MAX))
			return refuse(check, "what it says of a launch shape");
	}
	return 0;
}

static int is_size(float value)
{
	return value >= 0 && value <= LOG_SIZE_MAX;
}

static int is_log_ns(float value)
{
	return value >= 0 && value <= LOG_NS_MAX;
}

static int check_points(const struct check *check)
{
	for (uint32_t i = 0; i < check->k->head->point_count; i++) {
		const struct kc_scaling_point *p = &check->k->points[i];
		const float *grid = p->size.log_grid;

		if (!is_size(p->size.log_waves) || !is_size(p->size.log_threads) || !is_size(grid[0]) ||
		    !is_size(grid[1]) || !is_size(grid[2]) || !is_log_ns(p->size.log_guess_ns) ||
		    !is_log_ns(p->log_ns) || !p->count)
			return refuse(check, "a measured size");
	}
	return 0;
}

int kc_knowledge_check(const void *bytes, size_t length, struct kc_knowledge *k, char *why, size_t why_size)
{
	const struct check check = {k, why, why_size};
	int rc = check_head(&check, bytes, length);

	if (rc)
		return rc;
	set_tables(k, bytes);
	if (k->head->text_bytes && (k->text[0] || k->text[k->head->text_bytes - 1]))
		return refuse(&check, "the names");
	rc = check_devices(&check);
	if (rc == 0)
		rc = check_kernels(&check);
	if (rc == 0)
		rc = check_entries(&check);
	if (rc == 0)
		rc = check_points(&check);
	return rc;
}
