#include "snapshot.h"

#include "predictor/learned.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <string.h>

#define MEANING 2u /* raised where what is learned changes its meaning and no struct its size */
#define UNIT_NS_MAX 1e24

_Static_assert(sizeof(struct kc_device_learned) % 8 == 0 && sizeof(struct kc_kernel_learned) % 8 == 0 &&
		   sizeof(struct kc_key_learned) % 8 == 0 && sizeof(struct kc_variant_learned) % 8 == 0 &&
		   sizeof(struct kc_arguments_fit) % 8 == 0,
	       "values are whole words");
_Static_assert(sizeof(struct kc_snapshot_head) % 8 == 0 && sizeof(struct kc_snapshot_device) % 8 == 0 &&
		   sizeof(struct kc_snapshot_kernel) % 8 == 0 && sizeof(struct kc_snapshot_key) % 8 == 0 &&
		   sizeof(struct kc_snapshot_shape) % 8 == 0 && sizeof(struct kc_snapshot_variant) % 8 == 0,
	       "tables are aligned");

#define PRIME UINT64_C(0x9E3779B97F4A7C15)

/* As many as every processor has in a register: with more, gcc keeps the sums in memory. */
typedef uint64_t vector __attribute__((vector_size(2 * sizeof(uint64_t)), aligned(sizeof(uint64_t)), may_alias));
#define VECTORS (KC__CHECKSUM_PIECE / sizeof(vector))

/* Sums and sums of sums, as Fletcher's (IEEE Transactions on Communications 30, 1982), of words in lanes. */
static void add_pieces(struct kc__checksum *checksum, const vector *at, size_t pieces)
{
	vector sums[VECTORS], sums_of_sums[VECTORS];

	memcpy(sums, checksum->sums, sizeof(sums));
	memcpy(sums_of_sums, checksum->sums_of_sums, sizeof(sums_of_sums));
	for (const vector *end = at + pieces * VECTORS; at < end; at += VECTORS) {
#pragma GCC unroll 4
		for (size_t i = 0; i < VECTORS; i++) {
			sums[i] += at[i];
			sums_of_sums[i] += sums[i];
		}
	}
	memcpy(checksum->sums, sums, sizeof(sums));
	memcpy(checksum->sums_of_sums, sums_of_sums, sizeof(sums_of_sums));
}

void kc__checksum_add(struct kc__checksum *checksum, const void *bytes, size_t size)
{
	size_t pieces = size / KC__CHECKSUM_PIECE, rest = size % KC__CHECKSUM_PIECE;
	uint64_t last[KC__CHECKSUM_LANES] = {0};

	add_pieces(checksum, bytes, pieces);
	if (rest) {
		memcpy(last, (const uint8_t *)bytes + pieces * KC__CHECKSUM_PIECE, rest);
		add_pieces(checksum, (const vector *)last, 1);
	}
	checksum->bytes += size;
}

/* FNV's step. */
static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * PRIME;
	return sum ^ sum >> 32;
}

uint64_t kc__checksum_end(const struct kc__checksum *checksum)
{
	uint64_t sum = mix(1, checksum->bytes);

	for (int i = 0; i < KC__CHECKSUM_LANES; i++)
		sum = mix(mix(sum, checksum->sums[i]), checksum->sums_of_sums[i]);
	return sum;
}

static uint64_t checksum_of(const void *bytes, size_t size)
{
	struct kc__checksum checksum = {0};

	kc__checksum_add(&checksum, bytes, size);
	return kc__checksum_end(&checksum);
}

void kc__snapshot_seal(struct kc_snapshot_head *head)
{
	head->checksum = checksum_of((const uint8_t *)head + KC__SNAPSHOT_CHECKED, head->bytes - KC__SNAPSHOT_CHECKED);
}

uint64_t kc_snapshot_layout(void)
{
	const uint64_t parts[] = {MEANING,
				  sizeof(struct kc_device_learned),
				  sizeof(struct kc_kernel_learned),
				  sizeof(struct kc_key_learned),
				  sizeof(struct kc_variant_learned),
				  sizeof(struct kc_arguments_fit),
				  sizeof(struct kc_snapshot_device),
				  sizeof(struct kc_snapshot_kernel),
				  sizeof(struct kc_snapshot_key),
				  sizeof(struct kc_snapshot_shape),
				  sizeof(struct kc_snapshot_variant),
				  offsetof(struct kc_device_learned, experience),
				  offsetof(struct kc_device_learned, rivals),
				  offsetof(struct kc_kernel_learned, scaling),
				  offsetof(struct kc_key_learned, sizes),
				  offsetof(struct kc_variant_learned, range),
				  sizeof(struct kc_lambda),
				  sizeof(struct kc_contention),
				  sizeof(struct kc_standing),
				  sizeof(struct kc_margins),
				  KC_CONTEXT_KINDS,
				  kc_cells_layout(),
				  KC_ESTIMATORS,
				  KC_FAMILIES};

	return checksum_of(parts, sizeof(parts));
}

/* 0 at the end of what there is. */
static const void *table(const uint8_t **at, size_t *left, uint32_t count, size_t record)
{
	const uint8_t *begin = *at;

	if (count > *left / record)
		return NULL;
	*at += count * record;
	*left -= count * record;
	return begin;
}

static int find_tables(struct kc_snapshot *s, size_t size)
{
	const struct kc_snapshot_head *head = s->head;
	const uint8_t *at = (const uint8_t *)(head + 1);
	size_t left = size - sizeof(*head);

	s->devices = table(&at, &left, head->devices, sizeof(*s->devices));
	s->kernels = s->devices ? table(&at, &left, head->kernels, sizeof(*s->kernels)) : NULL;
	s->keys = s->kernels ? table(&at, &left, head->keys, sizeof(*s->keys)) : NULL;
	s->shapes = s->keys ? table(&at, &left, head->shapes, sizeof(*s->shapes)) : NULL;
	s->variants = s->shapes ? table(&at, &left, head->variants, sizeof(*s->variants)) : NULL;
	s->values = s->variants ? at : NULL;
	s->cells = s->values ? at + kc__snapshot_padded(head->values_bytes) : NULL;
	return s->cells && left == kc__snapshot_padded(head->values_bytes) + kc__snapshot_padded(head->cells_bytes)
		   ? 0
		   : -EBADMSG;
}

static int is_value(const struct kc_snapshot *s, const struct kc_snapshot_value *value)
{
	return value->bytes <= s->head->values_bytes && value->at <= s->head->values_bytes - value->bytes;
}

static int check_kernels(const struct kc_snapshot *s)
{
	int all = 1;

	for (uint32_t i = 0; i < s->head->devices; i++)
		all &=
		    is_value(s, &s->devices[i].learned) && s->devices[i].uuid[sizeof(s->devices[i].uuid) - 1] == '\0';
	for (uint32_t i = 0; i < s->head->kernels; i++) {
		const struct kc_snapshot_kernel *kernel = &s->kernels[i];

		all &= kernel->device < s->head->devices && is_value(s, &kernel->learned) &&
		       is_value(s, &kernel->arguments) && (!i || kernel[-1].name <= kernel->name);
	}
	for (uint32_t i = 0; i < s->head->keys; i++) {
		const struct kc_snapshot_key *key = &s->keys[i];

		all &=
		    key->kernel < s->head->kernels && is_value(s, &key->learned) && (!i || key[-1].name <= key->name);
	}
	return all ? 0 : -EBADMSG;
}

static int check_shapes(const struct kc_snapshot *s)
{
	uint32_t next = 0;
	int all = 1;

	for (uint32_t i = 0; i < s->head->shapes; i++) {
		const struct kc_snapshot_shape *shape = &s->shapes[i];

		all &= shape->kernel < s->head->kernels && shape->first == next &&
		       shape->count <= s->head->variants - next && (!i || shape[-1].name <= shape->name);
		next += all ? shape->count : 0;
	}
	for (uint32_t i = 0; i < s->head->variants; i++)
		all &= s->variants[i].shape < s->head->shapes && is_value(s, &s->variants[i].learned) &&
		       s->variants[i].counted < KC_UNITS && s->variants[i].unit_ns > 0 &&
		       s->variants[i].unit_ns < UNIT_NS_MAX;
	return all && next == s->head->variants ? 0 : -EBADMSG;
}

int kc__snapshot_open(struct kc_snapshot *s, const void *bytes, size_t size, uint64_t checksum)
{
	const struct kc_snapshot_head *head = bytes;
	int rc;

	*s = (struct kc_snapshot){.head = head};
	if (size < sizeof(*head) || size % 8 || memcmp(head->magic, KC_SNAPSHOT_MAGIC, sizeof(head->magic)) ||
	    head->bytes != size || size > KC_SNAPSHOT_BYTES_MAX)
		return -EBADMSG;
	if (head->layout != kc_snapshot_layout())
		return -ESTALE;
	if (head->checksum != checksum)
		return -EBADMSG;
	rc = find_tables(s, size);
	if (rc == 0)
		rc = check_kernels(s);
	return rc ? rc : check_shapes(s);
}

int kc_snapshot_open(struct kc_snapshot *s, const void *bytes, size_t size)
{
	uint64_t checksum = 0;

	if (size >= sizeof(*s->head) && size <= KC_SNAPSHOT_BYTES_MAX)
		checksum = checksum_of((const uint8_t *)bytes + KC__SNAPSHOT_CHECKED, size - KC__SNAPSHOT_CHECKED);
	return kc__snapshot_open(s, bytes, size, checksum);
}

static uint64_t name_at(const void *row)
{
	uint64_t name;

	memcpy(&name, row, sizeof(name));
	return name;
}

/* Records begin with their name and are in the order of names. The first one of this name. */
static const void *find(const void *records, uint32_t count, size_t record, uint64_t name)
{
	const uint8_t *all = records, *found;

	found = all + record * KC_FIRST(i, count, name_at(all + i * record) >= name);
	return found < all + record * count && name_at(found) == name ? found : NULL;
}

const struct kc_snapshot_kernel *kc_snapshot_kernels(const struct kc_snapshot *s, uint64_t name)
{
	return find(s->kernels, s->head->kernels, sizeof(*s->kernels), name);
}

const struct kc_snapshot_key *kc_snapshot_keys(const struct kc_snapshot *s, uint64_t name)
{
	return find(s->keys, s->head->keys, sizeof(*s->keys), name);
}

const struct kc_snapshot_shape *kc_snapshot_shapes(const struct kc_snapshot *s, uint64_t name)
{
	return find(s->shapes, s->head->shapes, sizeof(*s->shapes), name);
}

static int decode(const struct kc_snapshot *s, const struct kc_snapshot_value *value, void *out, size_t bytes)
{
	return value->bytes && kc__value_decode(s->values + value->at, value->bytes, out, bytes) == 0;
}

int kc_snapshot_device(const struct kc_snapshot *s, const char *uuid, struct kc_device_learned *out)
{
	for (uint32_t i = 0; i < s->head->devices; i++)
		if (!strcmp(s->devices[i].uuid, uuid))
			return decode(s, &s->devices[i].learned, out, sizeof(*out)) &&
			       kc_device_learned_is_possible(out);
	return 0;
}

int kc_snapshot_kernel(const struct kc_snapshot *s, const struct kc_snapshot_kernel *at, struct kc_kernel_learned *out)
{
	return decode(s, &at->learned, out, sizeof(*out)) && kc_kernel_learned_is_possible(out);
}

int kc_snapshot_arguments(const struct kc_snapshot *s, const struct kc_snapshot_kernel *at,
			  struct kc_arguments_fit *out)
{
	return decode(s, &at->arguments, out, sizeof(*out)) && kc_arguments_fit_is_possible(out);
}

int kc_snapshot_key(const struct kc_snapshot *s, const struct kc_snapshot_key *at, struct kc_key_learned *out)
{
	return decode(s, &at->learned, out, sizeof(*out)) && kc_key_learned_is_possible(out);
}

int kc_snapshot_variant(const struct kc_snapshot *s, const struct kc_snapshot_variant *at,
			struct kc_variant_learned *out)
{
	return decode(s, &at->learned, out, sizeof(*out)) && kc_variant_learned_is_possible(out);
}

uint64_t kc_snapshot_kernel_name(const char *mangled)
{
	static const struct kc_shape none = {0};

	return kc_launch_name(mangled, &none, NULL);
}

uint64_t kc_snapshot_key_name(const char *mangled, const struct kc_shape *dims)
{
	struct kc_shape block = *dims;

	memset(block.grid, 0, sizeof(block.grid));
	return kc_launch_name(mangled, &block, NULL);
}
