#include "knowledge.h"

#include "predictor/math/hash.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char kc_knowledge_magic[8] = "kclearn";

_Static_assert(sizeof(struct kc_knowledge_head) == 64 && sizeof(struct kc_knowledge_device) == 160 &&
		   sizeof(struct kc_knowledge_kernel) == 48 && sizeof(struct kc_knowledge_entry) == 64 &&
		   sizeof(struct kc_scaling_point) == 32 && sizeof(struct kc_knowledge_trees) == 64 &&
		   KC_PRIOR_LEAVES == 16,
	       "the file's layout: another one is another version");

/* Wider than anything that a GPU can do: λ from e^-40 to e^40, work and durations up to a month. */
#define LOG_LAMBDA_MAX 40.0
#define VARIANCE_MAX 100.0
#define WEIGHT_MAX 1e6
#define NS_MAX 2.6e15
#define UNIT_LEAST_NS 1e-6
#define LOG_SIZE_MAX 100.0f
#define LOG_NS_MAX 36.0f  /* a month */
#define LOG_MORE_MAX 20.0 /* what all trees together may add */
#define TREE_BYTES (KC_PRIOR_NODES * sizeof(uint32_t) + KC_PRIOR_LEAVES * sizeof(int16_t))

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
	       (uint64_t)head->point_count * sizeof(struct kc_scaling_point) +
	       (head->tree_count ? sizeof(struct kc_knowledge_trees) : 0) + head->tree_count * (uint64_t)TREE_BYTES +
	       head->limit_count * (uint64_t)sizeof(float) + head->text_bytes;
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

static const char *set_trees(struct kc_knowledge *k, const char *at)
{
	const uint32_t trees = k->head->tree_count;

	k->trained = (const void *)at;
	k->trees = (struct kc_prior_trees){
	    .limits_at = k->trained->limits_at, .count = trees, .base = k->trained->base, .leaf = k->trained->leaf};
	k->trees.limits = (const void *)(at += sizeof(*k->trained));
	k->trees.nodes = (const void *)(at += k->head->limit_count * sizeof(float));
	k->trees.leaves = (const void *)(at += (size_t)trees * KC_PRIOR_NODES * sizeof(uint32_t));
	return at + (size_t)trees * KC_PRIOR_LEAVES * sizeof(int16_t);
}

static void set_tables(struct kc_knowledge *k, const void *bytes)
{
	const char *at = bytes;

	k->head = bytes;
	k->devices = (const void *)(at += sizeof(*k->head));
	k->kernels = (const void *)(at += k->head->device_count * sizeof(*k->devices));
	k->entries = (const void *)(at += k->head->kernel_count * sizeof(*k->kernels));
	k->points = (const void *)(at += k->head->entry_count * sizeof(*k->entries));
	at += k->head->point_count * sizeof(*k->points);
	k->trained = NULL;
	if (k->head->tree_count)
		at = set_trees(k, at);
	k->text = at;
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

/* Ascending, so that a search ends where it belongs; bins are counted in a byte. */
static int are_limits(const uint16_t limits_at[KC_TRAITS + 1], const float *limits, uint32_t count)
{
	if (limits_at[0] || limits_at[KC_TRAITS] != count)
		return 0;
	for (uint32_t trait = 0; trait < KC_TRAITS; trait++) {
		uint32_t first = limits_at[trait], end = limits_at[trait + 1];

		if (end < first || end > count || end - first >= KC_PRIOR_BINS_MAX)
			return 0;
		for (uint32_t i = first; i < end; i++)
			if (!isfinite(limits[i]) || (i > first && !(limits[i - 1] < limits[i])))
				return 0;
	}
	return 1;
}

/* A leaf, or a node after `at`, which is then marked as one that can be reached. */
static int leads_on(uint32_t to, uint32_t at, uint32_t *reached)
{
	if (to & KC_PRIOR_LEAF_MARK)
		return (to & ~KC_PRIOR_LEAF_MARK) < KC_PRIOR_LEAVES;
	if (to <= at || to >= KC_PRIOR_NODES)
		return 0;
	*reached |= 1u << to;
	return 1;
}

/* Children come after their parents, so a walk ends, and one pass meets all nodes that can be reached. */
static int is_tree(const uint32_t nodes[KC_PRIOR_NODES])
{
	uint32_t reached = 1;

	for (uint32_t at = 0; at < KC_PRIOR_NODES; at++) {
		if (!(reached >> at & 1))
			continue;
		if (KC_PRIOR_ASKED(nodes[at]) >= KC_TRAITS + KC_PRIOR_WORDS ||
		    !leads_on(KC_PRIOR_LEFT(nodes[at]), at, &reached) ||
		    !leads_on(KC_PRIOR_RIGHT(nodes[at]), at, &reached))
			return 0;
	}
	return 1;
}

static int largest_leaf(const int16_t leaves[KC_PRIOR_LEAVES])
{
	int largest = 0;

	for (uint32_t i = 0; i < KC_PRIOR_LEAVES; i++) {
		int size = abs(leaves[i]);

		if (size > largest)
			largest = size;
	}
	return largest;
}

int kc_knowledge_trees_sound(const struct kc_knowledge_trees *trained, const struct kc_prior_trees *trees,
			     uint32_t limit_count)
{
	double most = fabs((double)trained->base);

	if (!trees->count || trees->count > KC_KNOWLEDGE_TREES_MAX || limit_count > KC_KNOWLEDGE_LIMITS_MAX ||
	    trained->simulated > 1 || !isfinite(trained->base) || !(trained->leaf > 0) || !isfinite(trained->leaf) ||
	    !are_limits(trained->limits_at, trees->limits, limit_count))
		return 0;
	for (uint32_t i = 0; i < trees->count; i++) {
		if (!is_tree(trees->nodes + (size_t)i * KC_PRIOR_NODES))
			return 0;
		most += (double)trained->leaf * largest_leaf(trees->leaves + (size_t)i * KC_PRIOR_LEAVES);
	}
	return most <= LOG_MORE_MAX;
}

static int check_trees(const struct check *check)
{
	const struct kc_knowledge *k = check->k;

	if (!k->trained)
		return k->head->limit_count ? refuse(check, "its trees") : 0;
	if (!kc_knowledge_trees_sound(k->trained, &k->trees, k->head->limit_count))
		return refuse(check, "its trees");
	if (k->trained->continues == kc_prior_identity())
		return 0;
	snprintf(check->why, check->why_size,
		 "its trees go on from others than are built in here; write it again with this kerncast learn");
	return -EPROTO;
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
	return rc ? rc : check_trees(&check);
}
