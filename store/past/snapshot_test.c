/* What was learned, kept and begun with again, is what it was. */
#include "past_testing.h"

#include <errno.h>
#include <math.h>

static const struct kc_beginning nothing = {NULL, NULL};

/* Without what leads to other entries, and what follows from λ. */
static struct kc_learned bare(const struct kc_learned *level)
{
	struct kc_learned copy = *level;

	copy.lambda.parent = NULL;
	copy.last.state = 0;
	memset(&copy.published, 0, sizeof(copy.published));
	return copy;
}

static void assert_level(const struct kc_learned *a, const struct kc_learned *b)
{
	struct kc_learned x = bare(a), y = bare(b);

	assert_memory_equal(&x, &y, sizeof(x));
}

static void assert_device(const struct kc_device_learned *a, const struct kc_device_learned *b)
{
	struct kc_device_learned x = *a, y = *b;

	for (int unit = 0; unit < KC_UNITS; unit++) {
		x.levels[unit] = bare(&x.levels[unit]);
		y.levels[unit] = bare(&y.levels[unit]);
	}
	x.experience.cells = y.experience.cells = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
}

static void assert_kernel(const struct kc_kernel_learned *a, const struct kc_kernel_learned *b)
{
	struct kc_kernel_learned x = *a, y = *b;

	x.experience.standing.parent = y.experience.standing.parent = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
}

static void assert_key(const struct kc_key_learned *a, const struct kc_key_learned *b)
{
	for (int unit = 0; unit < KC_UNITS; unit++)
		assert_level(&a->levels[unit], &b->levels[unit]);
	assert_memory_equal(&a->sizes, &b->sizes, sizeof(a->sizes));
}

static void assert_variant(const struct kc_variant_learned *a, const struct kc_variant_learned *b)
{
	struct kc_variant_learned x = *a, y = *b;

	x.level = bare(&x.level);
	y.level = bare(&y.level);
	x.contention.parent = y.contention.parent = NULL;
	assert_memory_equal(&x, &y, sizeof(x));
}

static void assert_program(const struct program *a, const struct program *b)
{
	assert_device(&a->device.learned, &b->device.learned);
	assert_kernel(&a->kernel.learned, &b->kernel.learned);
	assert_key(&a->key.learned, &b->key.learned);
	assert_memory_equal(&a->fit, &b->fit, sizeof(a->fit));
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++)
		assert_variant(&a->variants[i].learned, &b->variants[i].learned);
	for (uint32_t i = 0; i < PROGRAM_SHAPES; i++)
		assert_int_equal(a->shapes[i].measured, b->shapes[i].measured);
	assert_memory_equal(a->engine.cells, b->engine.cells, kc_cells_bytes());
}

/* As kc_past_recall_*() does, from bytes. */
static void recall(struct program *p, const struct kc_snapshot *s)
{
	const struct kc_snapshot_kernel *kernel = kc_snapshot_kernels(s, kc_snapshot_kernel_name(p->code.mangled));
	const struct kc_snapshot_key *key =
	    kc_snapshot_keys(s, kc_snapshot_key_name(p->code.mangled, &program_dims[0]));
	struct kc_device_learned device;
	struct kc_kernel_learned of_kernel;
	struct kc_key_learned of_key;

	assert_true(kernel && key);
	assert_true(kc_snapshot_device(s, p->uuid, &device));
	kc_engine_recall_device(&p->engine, &p->device, &device);
	assert_true(kc_snapshot_kernel(s, kernel, &of_kernel));
	kc_engine_recall_kernel(&p->kernel, &of_kernel);
	kc_snapshot_arguments(s, kernel, &p->fit);
	assert_true(kc_snapshot_key(s, key, &of_key));
	kc_engine_recall_key(&p->key, &of_key);
	assert_int_equal(kc_cells_load(p->engine.cells, s->cells, s->head->cells_bytes), 0);
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++) {
		const struct kc_past_query query = program_query(p, i);
		const struct kc_snapshot_shape *shape =
		    kc_snapshot_shapes(s, kc_launch_name(p->code.mangled, query.dims, NULL));
		uint64_t name = kc_launch_name(p->code.mangled, query.dims, query.arguments);
		uint32_t at = shape ? shape->first : 0;
		struct kc_variant_learned learned;

		assert_non_null(shape);
		while (s->variants[at].name != name)
			assert_true(++at < shape->first + shape->count);
		assert_true(kc_snapshot_variant(s, &s->variants[at], &learned));
		kc_engine_recall_variant(&p->variants[i], &learned, &p->variants[i].work);
		p->shapes[program_shape[i]].measured = shape->measured;
	}
}

static void assert_predictions(struct program *a, struct program *b)
{
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++) {
		struct kc_prediction_request x, y;

		kc_engine_ask(&a->engine, &a->variants[i], NULL, &x);
		kc_engine_ask(&b->engine, &b->variants[i], NULL, &y);
		assert_int_equal(x.novelty, y.novelty);
		assert_int_equal(x.solo.ns, y.solo.ns);
		assert_int_equal(x.solo.low_ns, y.solo.low_ns);
		assert_int_equal(x.solo.high_ns, y.solo.high_ns);
		assert_int_equal(x.measured, y.measured);
	}
}

/* What is of a moment, and is not kept from one run to the next. */
static void take_the_moment(struct program *p, const struct program *from)
{
	p->history = from->history;
	p->now_ns = from->now_ns;
	memcpy(p->timeline, from->timeline, kc_timeline_size());
	atomic_store(&p->engine.events, atomic_load(&from->engine.events));
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++) {
		p->variants[i].outstanding = from->variants[i].outstanding;
		p->variants[i].lesson_rest = from->variants[i].lesson_rest;
		p->variants[i].lesson = from->variants[i].lesson;
		p->variants[i].guess = from->variants[i].guess;
	}
}

static const struct kc_counts counts = {.of = {[KC_COUNT_OF_FMA] = 400}, .threads = 16384, .exact = 1};

static void what_was_learned_is_there_again(void **state)
{
	(void)state;
	for (int counted = 0; counted < 2; counted++) {
		struct program *p = program_new(&nothing, OWN, 0xABC, counted ? &counts : NULL);
		struct program *again = program_new(&nothing, OWN, 0xABC, counted ? &counts : NULL);
		struct kc_snapshot snapshot;
		void *bytes;
		size_t size;

		program_run(p, 1000);
		program_keep(p, NULL, &bytes, &size);
		assert_int_equal(kc_snapshot_open(&snapshot, bytes, size), 0);
		recall(again, &snapshot);
		assert_program(p, again);
		assert_predictions(p, again);
		take_the_moment(again, p);
		program_run(p, 100);
		program_run(again, 100);
		assert_program(p, again); /* it goes on as if nothing had been between */
		free(bytes);
		program_free(p);
		program_free(again);
	}
}

/* What is forgotten, by assignment, is as new. */
static void what_is_forgotten_is_as_new(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL), *fresh = program_new(&nothing, OWN, 0xABC, NULL);

	(void)state;
	program_run(p, 1000);
	kc_engine_recall_device(&p->engine, &p->device, &fresh->device.learned);
	kc_engine_recall_kernel(&p->kernel, &fresh->kernel.learned);
	kc_engine_recall_key(&p->key, &fresh->key.learned);
	for (uint32_t i = 0; i < PROGRAM_VARIANTS; i++)
		kc_engine_recall_variant(&p->variants[i], &fresh->variants[i].learned, &p->variants[i].work);
	p->fit = fresh->fit;
	memset(p->shapes, 0, sizeof(p->shapes));
	memset(p->engine.cells, 0, kc_cells_bytes());
	kc_cells_init(p->engine.cells);
	assert_program(p, fresh);
	assert_predictions(p, fresh);
	program_free(p);
	program_free(fresh);
}

/* Two programs of one snapshot: another kernel, on another device. */
static void what_was_not_met_is_carried_over(void **state)
{
	struct program *first = program_new(&nothing, OTHER, 0xDEF, NULL);
	struct program *second = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_snapshot before, both;
	void *bytes, *more;
	size_t size, more_size;

	(void)state;
	program_run(first, 50);
	program_keep(first, NULL, &bytes, &size);
	assert_int_equal(kc_snapshot_open(&before, bytes, size), 0);
	program_run(second, 50);
	program_keep(second, &before, &more, &more_size);
	assert_int_equal(kc_snapshot_open(&both, more, more_size), 0);
	assert_int_equal(both.head->devices, 2);
	assert_int_equal(both.head->kernels, 2);
	assert_int_equal(both.head->keys, 2);
	assert_int_equal(both.head->shapes, 4);
	assert_int_equal(both.head->variants, 6);
	for (uint32_t i = 0; i < 6; i++) {
		struct kc_variant_learned learned;

		assert_true(kc_snapshot_variant(&both, &both.variants[i], &learned));
		assert_in_range(learned.measured, 50 / 3, 50 / 3 + 1);
	}
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(both.kernels[i].unmet, both.kernels[i].code_hash == 0xDEF);
	free(bytes);
	free(more);
	program_free(first);
	program_free(second);
}

static void nothing_learned_is_nothing_kept(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	void *bytes;
	size_t size;

	(void)state;
	program_keep(p, NULL, &bytes, &size);
	assert_null(bytes);
	program_free(p);
}

static void a_damaged_one_is_refused(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_snapshot snapshot;
	uint8_t *bytes;
	size_t size;

	(void)state;
	program_run(p, 20);
	program_keep(p, NULL, (void **)&bytes, &size);
	for (size_t at = 0; at < size; at += 8 + at / 97 * 8) {
		int rc;

		bytes[at] ^= 0x10;
		rc = kc_snapshot_open(&snapshot, bytes, size);
		assert_true(rc == -EBADMSG || rc == -ESTALE);
		bytes[at] ^= 0x10;
	}
	for (size_t length = 0; length < size; length += 8)
		assert_int_equal(kc_snapshot_open(&snapshot, bytes, length), -EBADMSG);
	assert_int_equal(kc_snapshot_open(&snapshot, bytes, size), 0);
	((struct kc_snapshot_head *)bytes)->layout++;
	assert_int_equal(kc_snapshot_open(&snapshot, bytes, size), -ESTALE);
	free(bytes);
	program_free(p);
}

static void seal(uint8_t *bytes, size_t size)
{
	const size_t behind = offsetof(struct kc_snapshot_head, bytes);

	((struct kc_snapshot_head *)bytes)->checksum = kc__snapshot_checksum(bytes + behind, size - behind);
}

/* Whoever changes one may make its checksum again: what is then taken is possible all the same. */
static void numbers_that_cannot_be_are_not_taken(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_snapshot snapshot;
	uint8_t *bytes, *changed;
	size_t size;

	(void)state;
	program_run(p, 60);
	program_keep(p, NULL, (void **)&bytes, &size);
	changed = malloc(size);
	for (size_t at = sizeof(struct kc_snapshot_head); at < size; at += 4) {
		struct kc_variant_learned variant;
		struct kc_kernel_learned kernel;
		struct kc_key_learned key;

		memcpy(changed, bytes, size);
		memset(changed + at, 0xff, 4);
		seal(changed, size);
		if (kc_snapshot_open(&snapshot, changed, size))
			continue;
		for (uint32_t i = 0; i < snapshot.head->variants; i++)
			if (kc_snapshot_variant(&snapshot, &snapshot.variants[i], &variant))
				assert_true(isfinite(variant.level.lambda.log_value));
		if (kc_snapshot_kernel(&snapshot, snapshot.kernels, &kernel))
			assert_true(kernel.scaling.count <= KC_SCALING_POINTS &&
				    kernel.scaling.last < KC_SCALING_POINTS);
		if (kc_snapshot_key(&snapshot, snapshot.keys, &key))
			assert_true(key.sizes.count <= KC_SIZES);
	}
	free(changed);
	free(bytes);
	program_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_learned_is_there_again),  cmocka_unit_test(what_is_forgotten_is_as_new),
	    cmocka_unit_test(what_was_not_met_is_carried_over), cmocka_unit_test(nothing_learned_is_nothing_kept),
	    cmocka_unit_test(a_damaged_one_is_refused),         cmocka_unit_test(numbers_that_cannot_be_are_not_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
