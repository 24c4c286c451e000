/* What was learned, kept and begun with again, is what it was. */
#include "past_testing.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

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
		assert_int_equal(a->shapes[i], b->shapes[i]);
	assert_memory_equal(a->engine.cells, b->engine.cells, kc_cells_bytes());
}

/* As entries are made in past_recall.c, from bytes. */
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
	kc_cells_take_over(p->engine.cells);
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
		p->shapes[program_shape[i]] = shape->measured;
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
	struct kc__checksum checksum = {0};

	kc__checksum_add(&checksum, bytes + KC__SNAPSHOT_CHECKED, size - KC__SNAPSHOT_CHECKED);
	((struct kc_snapshot_head *)bytes)->checksum = kc__checksum_end(&checksum);
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

/* Two kernels on two devices; the copy is changed, and its checksum made again. */
#define AS_IF(change, result)                                                                                          \
	do {                                                                                                           \
		memcpy(copy, bytes, size);                                                                             \
		change;                                                                                                \
		seal(copy, size);                                                                                      \
		if (kc_snapshot_open(&snapshot, copy, size) != (result))                                               \
			fail_msg("not as expected: %s", #change);                                                      \
	} while (0)
#define REFUSED(change) AS_IF(change, -EBADMSG)

static void what_does_not_fit_together_is_refused(void **state)
{
	struct program *first = program_new(&nothing, OTHER, 0xDEF, NULL);
	struct program *second = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	struct kc_snapshot snapshot;
	struct kc_snapshot_head *head;
	struct kc_snapshot_device *devices;
	struct kc_snapshot_kernel *kernels;
	struct kc_snapshot_key *keys;
	struct kc_snapshot_shape *shapes;
	struct kc_snapshot_variant *variants;
	uint8_t *bytes, *copy;
	size_t size;

	(void)state;
	second->code.mangled = "_Z5otherv";
	program_run(first, 50);
	program_run(second, 50);
	program_add(first, maker);
	program_add(second, maker);
	assert_int_equal(kc_snapshot_end(maker, NULL, first->engine.cells, (void **)&bytes, &size), 0);
	copy = malloc(size);
	head = (struct kc_snapshot_head *)copy;
	memcpy(copy, bytes, size);
	assert_int_equal(kc_snapshot_open(&snapshot, copy, size), 0);
	devices = (struct kc_snapshot_device *)(uintptr_t)snapshot.devices;
	kernels = (struct kc_snapshot_kernel *)(uintptr_t)snapshot.kernels;
	keys = (struct kc_snapshot_key *)(uintptr_t)snapshot.keys;
	shapes = (struct kc_snapshot_shape *)(uintptr_t)snapshot.shapes;
	variants = (struct kc_snapshot_variant *)(uintptr_t)snapshot.variants;
	AS_IF((void)0, 0);
	REFUSED(head->bytes += 8);
	REFUSED(head->magic[0]++);
	REFUSED(head->devices--);
	REFUSED(head->kernels--);
	REFUSED(head->keys--);
	REFUSED(head->shapes--);
	REFUSED(head->variants--);
	REFUSED(head->devices = UINT32_MAX);
	REFUSED(head->variants = UINT32_MAX);
	REFUSED(head->values_bytes += 8);
	REFUSED(head->cells_bytes += 8);
	REFUSED(memset(devices[1].uuid, 'x', sizeof(devices[1].uuid)));
	REFUSED(devices[0].learned.bytes = head->values_bytes + 1);
	REFUSED(devices[1].learned.at = head->values_bytes - devices[1].learned.bytes + 1);
	REFUSED(kernels[0].device = head->devices);
	REFUSED(kernels[1].device = head->devices);
	REFUSED(kernels[0].learned.at = head->values_bytes - kernels[0].learned.bytes + 1);
	REFUSED(kernels[1].arguments.at = head->values_bytes - kernels[1].arguments.bytes + 1);
	REFUSED(kernels[0].name = kernels[1].name + 1);
	AS_IF(kernels[0].name = kernels[1].name, 0);
	REFUSED(keys[0].kernel = head->kernels);
	REFUSED(keys[1].learned.at = head->values_bytes - keys[1].learned.bytes + 1);
	REFUSED(keys[0].name = keys[1].name + 1);
	AS_IF(keys[0].name = keys[1].name, 0);
	REFUSED(shapes[3].kernel = head->kernels);
	REFUSED(shapes[0].first++);
	REFUSED(shapes[0].count++);
	REFUSED(shapes[3].count++);
	REFUSED(shapes[3].count--);
	REFUSED(shapes[3].count = UINT32_MAX);
	REFUSED(shapes[2].name = shapes[3].name + 1);
	AS_IF(shapes[2].name = shapes[3].name, 0);
	REFUSED(variants[5].shape = head->shapes);
	REFUSED(variants[5].learned.at = head->values_bytes - variants[5].learned.bytes + 1);
	AS_IF(variants[5].learned.at = head->values_bytes - variants[5].learned.bytes, 0);
	REFUSED(variants[0].counted = KC_UNITS);
	AS_IF(variants[0].counted = KC_UNITS - 1, 0);
	REFUSED(variants[0].unit_ns = 0);
	REFUSED(variants[0].unit_ns = NAN);
	REFUSED(variants[0].unit_ns = 1e24);
	AS_IF(variants[0].unit_ns = 0.9e24, 0);
	AS_IF(variants[0].unit_ns = 1e-9, 0);
	free(copy);
	free(bytes);
	program_free(first);
	program_free(second);
}

/* In every place of a table, and names that are before, between and behind. */
static void records_are_found_by_name(void **state)
{
	enum { KERNELS = 9 };
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	char names[KERNELS][8];
	const struct kc_snapshot_key *key;
	const struct kc_snapshot_shape *shape;
	struct kc_snapshot s;
	void *bytes;
	size_t size;

	(void)state;
	program_run(p, 10);
	for (int i = 0; i < KERNELS; i++) {
		snprintf(names[i], sizeof(names[i]), "_Z1%cv", 'a' + i);
		p->code.mangled = names[i];
		program_add(p, maker);
	}
	assert_int_equal(kc_snapshot_end(maker, NULL, p->engine.cells, &bytes, &size), 0);
	assert_int_equal(kc_snapshot_open(&s, bytes, size), 0);
	assert_int_equal(s.head->kernels, KERNELS);
	for (int i = 0; i < KERNELS; i++) {
		uint64_t name = kc_snapshot_kernel_name(names[i]);

		assert_int_equal(kc_snapshot_kernels(&s, name)->name, name);
		key = kc_snapshot_keys(&s, kc_snapshot_key_name(names[i], &program_dims[0]));
		assert_non_null(key);
		assert_int_equal(s.kernels[key->kernel].name, name);
		for (int k = 0; k < PROGRAM_SHAPES; k++) {
			shape = kc_snapshot_shapes(&s, kc_launch_name(names[i], &program_dims[k], NULL));
			assert_non_null(shape);
			assert_int_equal(s.kernels[shape->kernel].name, name);
			assert_int_equal(shape->count, 2 - k); /* two sets of arguments, and none */
			for (uint32_t v = shape->first; v < shape->first + shape->count; v++)
				assert_ptr_equal(&s.shapes[s.variants[v].shape], shape);
			assert_true(k || s.variants[shape->first].name < s.variants[shape->first + 1].name);
		}
		assert_null(kc_snapshot_kernels(&s, name + 1));
		assert_null(kc_snapshot_kernels(&s, name - 1));
	}
	assert_null(kc_snapshot_kernels(&s, 0));
	assert_null(kc_snapshot_kernels(&s, UINT64_MAX));
	free(bytes);
	program_free(p);
}

/* Nothing of the process is in it, such as where its memory was. */
static void the_same_launches_make_the_same_bytes(void **state)
{
	struct program *programs[2];
	void *bytes[2];
	size_t sizes[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		programs[i] = program_new(&nothing, OWN, 0xABC, NULL);
		program_run(programs[i], 100);
		program_keep(programs[i], NULL, &bytes[i], &sizes[i]);
	}
	assert_int_equal(sizes[0], sizes[1]);
	assert_memory_equal(bytes[0], bytes[1], sizes[0]);
	for (int i = 0; i < 2; i++) {
		free(bytes[i]);
		program_free(programs[i]);
	}
}

/* As many builds of a kernel as there is room for, and more. */
static size_t keep_builds(uint32_t builds, const struct kc_snapshot *before, void **bytes)
{
	struct program *p = program_new(&nothing, OWN, 0, NULL);
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	size_t size;

	program_run(p, 30);
	for (uint32_t i = 0; i < builds; i++) {
		p->code.code_hash = i + 1;
		program_add(p, maker);
	}
	assert_int_equal(kc_snapshot_end(maker, before, NULL, bytes, &size), 0);
	program_free(p);
	return size;
}

/* 14 MiB for what this run has learned; what earlier ones have is added up to 8 MiB of all. */
static void there_is_only_so_much_room(void **state)
{
	const size_t mib = (size_t)1 << 20, one_more = 8192;
	struct kc_snapshot snapshot, after;
	void *bytes, *more;
	size_t size = keep_builds(20000, NULL, &bytes);

	(void)state;
	assert_in_range(size, 14 * mib, 14 * mib + one_more);
	assert_int_equal(kc_snapshot_open(&snapshot, bytes, size), 0);
	size = keep_builds(1, &snapshot, &more);
	assert_in_range(size, 8 * mib - one_more, 8 * mib + one_more);
	assert_int_equal(kc_snapshot_open(&after, more, size), 0);
	assert_in_range(after.head->variants, 0, snapshot.head->variants - 1000);
	free(bytes);
	free(more);
}

/* After 64 runs without it. */
static void what_is_not_met_any_longer_is_dropped(void **state)
{
	struct program *first = program_new(&nothing, OTHER, 0xDEF, NULL);
	struct program *second = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_snapshot before;
	uint32_t carried = 0;
	void *bytes, *next;
	size_t size;

	(void)state;
	program_run(first, 5);
	program_run(second, 5);
	program_keep(first, NULL, &bytes, &size);
	for (uint32_t runs = 1; runs <= 70; runs++) {
		assert_int_equal(kc_snapshot_open(&before, bytes, size), 0);
		program_keep(second, &before, &next, &size);
		free(bytes);
		bytes = next;
		assert_int_equal(kc_snapshot_open(&before, bytes, size), 0);
		if (before.head->kernels == 2)
			carried = runs;
	}
	assert_int_equal(carried, 64);
	assert_int_equal(before.head->kernels, 1);
	free(bytes);
	program_free(first);
	program_free(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_was_learned_is_there_again),
	    cmocka_unit_test(what_is_forgotten_is_as_new),
	    cmocka_unit_test(what_was_not_met_is_carried_over),
	    cmocka_unit_test(nothing_learned_is_nothing_kept),
	    cmocka_unit_test(a_damaged_one_is_refused),
	    cmocka_unit_test(numbers_that_cannot_be_are_not_taken),
	    cmocka_unit_test(what_does_not_fit_together_is_refused),
	    cmocka_unit_test(records_are_found_by_name),
	    cmocka_unit_test(the_same_launches_make_the_same_bytes),
	    cmocka_unit_test(there_is_only_so_much_room),
	    cmocka_unit_test(what_is_not_met_any_longer_is_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
