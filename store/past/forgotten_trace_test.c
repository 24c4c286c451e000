/*
 * What is forgotten is as new, byte by byte: after the first 1,000 launches of kernels of recorded traces that
 * constants are chosen on (MANIFEST.csv), whatever those taught; and the same launches again are predicted as they were
 * at first.
 */
#include "past_testing.h"

#include "cuda_tests/traces/trace_row.h"

#include <stdio.h>

enum { LAUNCHES = 1000, ENTRIES_MAX = 1000 };

static const char *const chosen[] = {"hta_df_index_v100", "kineto_resnet50_autograd_nw0", "kineto_resnet50_v100_a",
				     "param_linear_2080ti"};

struct entry { /* of one launch shape, and the kernel and key that it was the first of, if it was */
	char *name;
	struct kc_shape dims;
	struct kc_engine_kernel kernel;
	struct kc_engine_key key;
	_Atomic uint32_t measured;
	struct kc_engine_variant variant;
};

struct recorded {
	struct entry *of;
	int64_t issued_ns, duration_ns;
};

struct run {
	struct kc_engine engine;
	struct kc_engine_device device;
	struct entry entries[ENTRIES_MAX];
	uint32_t entry_count, launch_count;
	struct recorded launches[LAUNCHES];
};

struct said {
	int64_t solo_ns, low_ns, high_ns, start_ns, end_ns;
};

static struct kc_engine_kernel *kernel_of(struct run *run, const char *name, struct kc_engine_kernel *own)
{
	for (uint32_t i = 0; i < run->entry_count; i++)
		if (!strcmp(run->entries[i].name, name))
			return run->entries[i].variant.kernel;
	kc_engine_kernel_init(own, &run->device, name);
	return own;
}

static struct kc_engine_key *key_of(struct run *run, const struct kc_engine_kernel *kernel, const struct kc_shape *dims,
				    struct kc_engine_key *own)
{
	for (uint32_t i = 0; i < run->entry_count; i++) {
		const struct entry *entry = &run->entries[i];

		if (entry->variant.kernel == kernel && !memcmp(entry->dims.block, dims->block, sizeof(dims->block)) &&
		    entry->dims.dynamic_shared_bytes == dims->dynamic_shared_bytes)
			return entry->variant.key;
	}
	kc_engine_key_init(own, (struct kc_engine_kernel *)kernel);
	return own;
}

/* NULL: the device cannot have it. */
static struct entry *entry_of(struct run *run, const char *name, const struct kc_shape *dims,
			      const struct kc_resources *resources)
{
	struct entry *entry = &run->entries[run->entry_count];
	struct kc_engine_kernel *kernel;
	uint64_t launch = kc_launch_name(name, dims, NULL);

	for (uint32_t i = 0; i < run->entry_count; i++)
		if (run->entries[i].variant.name.launch == launch)
			return &run->entries[i];
	assert_true(run->entry_count < ENTRIES_MAX);
	kernel = kernel_of(run, name, &entry->kernel);
	if (kc_engine_variant_init(&entry->variant, key_of(run, kernel, dims, &entry->key), &entry->measured, resources,
				   dims, 0)) {
		memset(entry, 0, sizeof(*entry));
		return NULL;
	}
	kc_engine_variant_name(&entry->variant, (struct kc_name){launch, launch});
	entry->dims = *dims;
	entry->name = strdup(name);
	run->entry_count++;
	return entry;
}

static void read_line(struct run *run, char *line)
{
	struct kc_trace_row row;
	struct recorded launch;

	kc_trace_read(line, &row);
	if (!kc_trace_is_kernel(&row))
		return;
	row.resources.max_threads_per_block = 1024;
	launch.duration_ns = row.duration_ns;
	launch.issued_ns = row.issued_ns;
	launch.of = entry_of(run, row.fields[KC_TRACE_NAME], &row.shape, &row.resources);
	if (launch.of && launch.duration_ns > 0)
		run->launches[run->launch_count++] = launch;
}

static struct run *load(const char *name)
{
	struct run *run = calloc(1, sizeof(*run));
	char path[128], line[KC_TRACE_LINE_BYTES];
	FILE *pipe;

	assert_non_null(run);
	run->engine.cells = calloc(1, kc_cells_bytes());
	assert_non_null(run->engine.cells);
	kc_cells_init(run->engine.cells);
	kc_engine_device_init(&run->engine, &run->device, &a100);
	snprintf(path, sizeof(path), "traces/pytorch/%s.csv.gz", name);
	pipe = kc_open_recorded(KC_REDUCED_DATA, path);
	assert_true(pipe && fgets(line, sizeof(line), pipe));
	while (run->launch_count < LAUNCHES && fgets(line, sizeof(line), pipe))
		read_line(run, line);
	pclose(pipe);
	assert_int_equal(run->launch_count, LAUNCHES);
	return run;
}

static void unload(struct run *run)
{
	for (uint32_t i = 0; i < run->entry_count; i++)
		free(run->entries[i].name);
	free(run->engine.cells);
	free(run);
}

/* Each is measured before the next one is made; one in three ran beside another one. */
static void launch_all(struct run *run, struct said said[LAUNCHES])
{
	struct kc_timeline *timeline = calloc(1, kc_timeline_size());
	struct kc_history *history = calloc(1, sizeof(*history));
	const struct kc_engine_stage stage = {.timeline = timeline, .history = history};
	const struct kc_load met = {{0.2f, 0.1f, 0}};

	assert_true(timeline && history);
	kc_timeline_init(timeline, &a100);
	kc_history_init(history, 0);
	for (uint32_t i = 0; i < run->launch_count; i++) {
		const struct recorded *recorded = &run->launches[i];
		struct kc_engine_variant *variant = &recorded->of->variant;
		struct kc_prediction_request request;
		struct kc_prediction prediction;
		struct kc_engine_launch launch;

		kc_engine_ask(&run->engine, variant, NULL, &request);
		kc_engine_predict(&request, &stage, 0, recorded->issued_ns, &prediction, &launch);
		said[i] = (struct said){launch.solo_ns, launch.solo_low_ns, launch.solo_high_ns,
					prediction.placement.start_ns, prediction.placement.end_ns};
		kc_engine_measured(&run->engine, variant, &launch, recorded->duration_ns);
		kc_engine_event(&run->engine);
		kc_engine_decided(&run->engine, variant, &launch, i % 3 == 2 ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE,
				  &met, recorded->duration_ns);
		kc_engine_event(&run->engine);
		kc_engine_copy_measured(&run->device, i % KC_ENGINE_COPY_KINDS, 1 << 20, recorded->duration_ns);
	}
	free(timeline);
	free(history);
}

/* By assignment, as entries are recalled: of what is new. What one launch leaves for a later one of the run ends with
 * the run. */
static void forget(struct run *run, const struct run *new)
{
	kc_engine_recall_device(&run->engine, &run->device, &new->device.learned);
	for (uint32_t i = 0; i < run->entry_count; i++) {
		struct entry *entry = &run->entries[i];
		const struct entry *as = &new->entries[i];

		if (entry->variant.kernel == &entry->kernel)
			kc_engine_recall_kernel(&entry->kernel, &as->kernel.learned);
		if (entry->variant.key == &entry->key)
			kc_engine_recall_key(&entry->key, &as->key.learned);
		entry->measured = 0;
		kc_engine_recall_variant(&entry->variant, &as->variant.learned, &as->variant.work);
	}
	memset(run->engine.cells, 0, kc_cells_bytes());
	kc_cells_init(run->engine.cells);
}

#define ASSERT_AS_NEW(now, new) assert_memory_equal(&(now), &(new), sizeof(now))

static void assert_as_new(const struct run *run, const struct run *new)
{
	ASSERT_AS_NEW(run->device.learned, new->device.learned);
	for (uint32_t i = 0; i < run->entry_count; i++) {
		const struct entry *now = &run->entries[i], *as = &new->entries[i];

		ASSERT_AS_NEW(now->kernel.learned, as->kernel.learned);
		ASSERT_AS_NEW(now->key.learned, as->key.learned);
		ASSERT_AS_NEW(now->variant.learned, as->variant.learned);
		ASSERT_AS_NEW(now->measured, as->measured);
	}
}

/* As it is made, with pointers to what it belongs to: nothing is learned yet. */
static struct run *copy_of(const struct run *run)
{
	struct run *copy = malloc(sizeof(*copy));

	assert_non_null(copy);
	memcpy(copy, run, sizeof(*copy));
	return copy;
}

static void what_is_forgotten_is_as_new(void **state)
{
	static struct said at_first[LAUNCHES], again[LAUNCHES];

	(void)state;
	for (size_t t = 0; t < sizeof(chosen) / sizeof(*chosen); t++) {
		struct run *run = load(chosen[t]), *new = copy_of(run);

		launch_all(run, at_first);
		assert_memory_not_equal(&run->device.learned, &new->device.learned, sizeof(new->device.learned));
		forget(run, new);
		assert_as_new(run, new);
		for (uint32_t i = 0; i < run->entry_count; i++)
			run->entries[i].variant = new->entries[i].variant;
		launch_all(run, again);
		assert_memory_equal(again, at_first, sizeof(again));
		unload(run);
		free(new);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_forgotten_is_as_new)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
