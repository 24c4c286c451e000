#include "past_testing.h"
#include "store/database/test_rows.h"

#include <errno.h>
#include <math.h>
#include <time.h>

#define LAUNCHES 80u
#define DURATION_NS 20000

static const uint8_t own_uuid[KC_UUID_BYTES] = {0x0a};
#define OWN "0a000000000000000000000000000000"
#define OTHER "0b000000000000000000000000000000"

struct fixture {
	char *directory;
	char path[300];
};

static void put_a100(struct kc_store *s, uint64_t *index)
{
	struct kc_device_entry entry = {.driver_version = 13000, .device = a100};
	struct kc_stream_entry stream = {.id = 1, .kind = 2};

	memcpy(entry.uuid, own_uuid, sizeof(own_uuid));
	put_entry(s, index, KC_KIND_DEVICE, &entry, sizeof(entry));
	put_entry(s, index, KC_KIND_STREAM, &stream, sizeof(stream));
}

static void put_arguments(struct kc_store *s, uint64_t *index, uint32_t id, const char *text)
{
	struct kc_arguments_entry entry = {.id = id};
	char payload[sizeof(entry) + 16];

	memcpy(payload, &entry, sizeof(entry));
	strcpy(payload + sizeof(entry), text);
	put_entry(s, index, KC_KIND_ARGUMENTS, payload, sizeof(entry) + strlen(text) + 1);
}

#define BY_TURNS UINT32_MAX
#define LATER (UINT32_MAX - 1)

static uint32_t arguments_of(uint32_t launch, uint32_t arguments)
{
	if (arguments == LATER)
		return launch < LAUNCHES / 2 ? 0 : 1;
	return arguments == BY_TURNS ? 1 + launch % 2 : arguments;
}

/* A process on one device, with one kernel; a transaction is open. */
static struct kc_store *begin_recording(const char *path, uint64_t *index)
{
	struct kc_journal_header header = make_header(1, "a");
	struct kc_store *s;
	int64_t process;

	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_a100(s, index);
	put_kernel(s, index, 1, "_Z1kv", "");
	return s;
}

/* Half a millisecond apart: each alone. The first half takes early_ns, the second DURATION_NS.
 * arguments: 0: not known, 1, 2, both BY_TURNS, or 1 LATER and not known before. */
static void record(const char *path, int64_t early_ns, uint32_t arguments)
{
	uint64_t index = 0;
	struct kc_store *s = begin_recording(path, &index);

	put_arguments(s, &index, 1, "p0 = 5");
	put_arguments(s, &index, 2, "p0 = 6");
	for (uint32_t i = 0; i < LAUNCHES; i++) {
		int64_t ns = i < LAUNCHES / 2 ? early_ns : DURATION_NS;
		struct kc_slot slot = make_launch(index++, 1, 500000 * (int64_t)(i + 1), ns, ns);

		slot.launch.arguments = arguments_of(i, arguments);
		slot.launch.blocks_per_sm = 8;
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	assert_int_equal(kc_store_commit(s), 0);
	kc_store_close(s);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	snprintf(f->path, sizeof(f->path), "%s/past.db", f->directory);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	remove_scratch(f->directory);
	free(f);
	return 0;
}

static struct kc_past *load(const struct fixture *f, uint64_t launches_max)
{
	const struct kc_past_options options = {.executable = "/usr/bin/app", .launches_max = launches_max};
	struct kc_past *past;

	assert_int_equal(kc_past_load(f->path, &options, &past, NULL, 0), 0);
	return past;
}

static struct kc_past_query query_of(uint64_t code_hash, const char *uuid, const struct kc_device *device)
{
	return (struct kc_past_query){
	    .code = {.mangled = "_Z1kv", .code_hash = code_hash, .registers = 32},
	    .uuid = uuid,
	    .device = device,
	    .dims = &dims,
	};
}

static int64_t believed_ns(const struct kc_past_shape *shape)
{
	struct kc_belief belief = kc_lambda_belief(shape->lambda, 0);

	return kc_forecast_solo(shape->work, &belief, NULL, NULL).ns;
}

static void the_same_launch_is_known(void **state)
{
	struct kc_past_query query = query_of(0xABC, OWN, &a100);
	struct kc_shape block = {.block = {256, 1, 1}};
	const struct kc_engine_device *device;
	struct kc_past_shape shape;
	struct kc_past *past;

	record(((struct fixture *)*state)->path, DURATION_NS, 0);
	past = load(*state, 1000);
	kc_past_shape(past, &query, &shape);
	assert_int_equal(shape.kin, KC_PAST_SAME);
	assert_int_equal(shape.variant->learned.measured, LAUNCHES);
	assert_int_equal(shape.variant->learned.solos, LAUNCHES);
	assert_in_range(believed_ns(&shape), DURATION_NS - 2, DURATION_NS + 2);
	query.dims = &block;
	kc_past_shape(past, &query, &shape);
	assert_int_equal(shape.kin, KC_PAST_SAME);
	assert_non_null(kc_past_kernel(past, &query.code, OWN));
	assert_int_equal(kc_past_kernel(past, &query.code, OWN)->learned.measured, LAUNCHES);
	assert_int_equal(kc_past_measured(past, &query.code, OWN, query.dims), LAUNCHES);
	device = kc_past_device(past, OWN);
	assert_non_null(device);
	assert_true(device->learned.levels[KC_UNIT_NOMINAL].lambda.count > 0);
	assert_null(kc_past_device(past, OTHER));
	kc_past_free(past);
}

static enum kc_past_kin kin_of(const struct kc_past *past, const struct kc_past_query *query)
{
	struct kc_past_shape shape;

	kc_past_shape(past, query, &shape);
	return shape.kin;
}

static void related_launches_are_told_from_the_same(void **state)
{
	struct kc_device a10 = a100, h100 = a100;
	struct kc_past_query other_code = query_of(0xABD, OWN, &a100), other_device, newer, elsewhere;
	struct kc_past *past;

	record(((struct fixture *)*state)->path, DURATION_NS, 0);
	past = load(*state, 1000);
	a10.cc_minor = 6;
	h100.cc_major = 9;
	other_device = query_of(0xABC, OTHER, &a10);
	newer = query_of(0xABC, OTHER, &h100);
	elsewhere = query_of(0xABC, OWN, &a100);
	elsewhere.dims = &(struct kc_shape){.grid = {65, 1, 1}, .block = {256, 1, 1}};
	assert_int_equal(kin_of(past, &other_code), KC_PAST_RELATED);
	assert_int_equal(kin_of(past, &other_device), KC_PAST_RELATED);
	assert_int_equal(kin_of(past, &newer), KC_PAST_NONE);
	assert_int_equal(kin_of(past, &elsewhere), KC_PAST_NONE);
	assert_int_equal(kin_of(NULL, &other_code), KC_PAST_NONE);
	kc_past_free(past);
}

/* Changing phase takes some launches, and the new one is there at once without the old. */
static void the_newest_launches_count(void **state)
{
	struct kc_past_query query = query_of(0xABC, OWN, &a100);
	struct kc_past_shape shape;
	struct kc_past *past;

	record(((struct fixture *)*state)->path, 3 * DURATION_NS, 0);
	past = load(*state, LAUNCHES / 2);
	kc_past_shape(past, &query, &shape);
	assert_int_equal(shape.variant->learned.measured,
			 LAUNCHES / 2 - LAUNCHES / 16); /* an eighth is the beginning: no launch yet */
	assert_in_range(believed_ns(&shape), DURATION_NS - 2, DURATION_NS + 2);
	kc_past_free(past);
}

/* ns of the launch after so many of a run, by contexts alone */
static double known_after(const struct kc_past *past, const struct kc_past_shape *shape, uint32_t launches)
{
	struct kc_name name = {shape->variant->name.launch, shape->variant->name.launch};
	const struct kc_engine_device *device = kc_past_device(past, OWN);
	struct kc_context_estimate recall;
	struct kc_history h;

	kc_history_init(&h, 0);
	for (uint32_t i = 0; i < launches; i++)
		kc_history_add(&h, shape->variant->name.launch, 0, 0);
	assert_non_null(device);
	kc_cells_estimate(device->learned.experience.cells, &name,
			  kc_history_context(&h, shape->variant->name.launch, 0, 0), &recall);
	assert_int_not_equal(recall.known, 0);
	return exp((double)recall.log_ns);
}

/* Of a long run the beginning counts as well, and the newest launches are not taken for it. */
static void how_a_long_run_began_is_known(void **state)
{
	struct kc_past_query query = query_of(0xABC, OWN, &a100);
	struct kc_past_shape shape;
	struct kc_past *past;

	record(((struct fixture *)*state)->path, 3 * DURATION_NS, 0);
	past = load(*state, 64); /* the first 8 entries, of which 2 are launches, and the last 56 */
	kc_past_shape(past, &query, &shape);
	assert_int_equal(shape.variant->learned.measured, 58);
	for (uint32_t launches = 0; launches < 2; launches++)
		assert_in_range(known_after(past, &shape, launches), 3 * DURATION_NS - 10, 3 * DURATION_NS + 10);
	assert_in_range(known_after(past, &shape, 2), 0.9 * DURATION_NS, 2 * DURATION_NS);
	kc_past_free(past);
}

static void arguments_tell_launches_apart(void **state)
{
	struct kc_past_query query = query_of(0xABC, OWN, &a100);
	struct kc_past *past;

	record(((struct fixture *)*state)->path, DURATION_NS, 1);
	past = load(*state, 1000);
	query.arguments = "p0 = 5";
	assert_int_equal(kin_of(past, &query), KC_PAST_SAME);
	query.arguments = "p0 = 6";
	assert_int_equal(kin_of(past, &query), KC_PAST_NONE);
	query.arguments = NULL; /* not known: there is one set of them alone */
	assert_int_equal(kin_of(past, &query), KC_PAST_SAME);
	kc_past_free(past);
}

/* Of the beginning of a long run, which is replayed by itself, they may not be known. */
static void launches_without_arguments_are_no_other_set(void **state)
{
	struct kc_past_query query = query_of(0xABC, OWN, &a100);
	struct kc_past *past;

	record(((struct fixture *)*state)->path, DURATION_NS, LATER);
	past = load(*state, 64);
	assert_int_equal(kin_of(past, &query), KC_PAST_SAME);
	kc_past_free(past);
}

static void unknown_arguments_are_not_guessed_among_several(void **state)
{
	struct kc_past_query query = query_of(0xABC, OWN, &a100);
	struct kc_past *past;

	record(((struct fixture *)*state)->path, DURATION_NS, BY_TURNS);
	past = load(*state, 1000);
	assert_int_equal(kin_of(past, &query), KC_PAST_NONE);
	query.arguments = "p0 = 5";
	assert_int_equal(kin_of(past, &query), KC_PAST_SAME);
	query.arguments = "p0 = 6";
	assert_int_equal(kin_of(past, &query), KC_PAST_SAME);
	kc_past_free(past);
}

static void no_past_is_no_error_of_its_own(void **state)
{
	const struct kc_past_options other = {.executable = "/usr/bin/other", .launches_max = 1000};
	struct fixture *f = *state;
	struct kc_past *past;
	FILE *file;

	assert_int_equal(kc_past_load(f->path, &other, &past, NULL, 0), -ENODATA); /* no file */
	assert_int_equal(access(f->path, F_OK), -1);
	record(f->path, DURATION_NS, 0);
	assert_int_equal(kc_past_load(f->path, &other, &past, NULL, 0), -ENODATA);
	assert_null(past);
	file = fopen(f->path, "w");
	fputs("no database", file);
	fclose(file);
	assert_true(kc_past_load(f->path, &other, &past, NULL, 0) < 0);
}

/* No two launches have the same shape and arguments, which takes the most memory. */
static void record_many(const char *path, uint32_t launches)
{
	uint64_t index = 0;
	struct kc_store *s = begin_recording(path, &index);

	for (uint32_t i = 1; i <= launches; i++) {
		struct kc_slot slot;
		char text[16];

		snprintf(text, sizeof(text), "p0 = %u", i);
		put_arguments(s, &index, i, text);
		slot = make_launch(index++, 1, 500000 * (int64_t)i, DURATION_NS, DURATION_NS);
		slot.launch.arguments = i;
		slot.launch.grid[0] = i;
		slot.launch.blocks_per_sm = 8;
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	assert_int_equal(kc_store_commit(s), 0);
	kc_store_close(s);
}

/* first: sequence number of the first launch that was loaded. */
static int load_within(const char *path, struct kc_store_bound bound, uint64_t *first, char why[static 200])
{
	const struct kc_past_options options = {.executable = "/usr/bin/app", .launches_max = 16384, .bound = bound};
	struct kc_past_entry part = {0};
	struct kc_past *past;
	int rc = kc_past_load(path, &options, &past, why, 200);

	assert_true((past != NULL) == (rc == 0));
	for (uint32_t place = 0; kc_past_part(past, place, &part); place++)
		*first = part.first_sequence;
	kc_past_free(past);
	return rc;
}

#define BYTES(n) ((struct kc_store_bound){.bytes = (n)})

static void loading_ends_at_its_bounds(void **state)
{
	const char *path = ((struct fixture *)*state)->path;
	char why[200] = "";
	uint64_t first = 0;

	record_many(path, 8000); /* entries of arguments are between them: sequence numbers up to 16,000 */
	assert_int_equal(load_within(path, BYTES(64 << 20), &first, why), 0);
	assert_int_equal(first, 0);
	/* Each takes two launch shapes of 1 KB and its row of 256 bytes, so 4 MiB hold less than 2,048 of them. */
	assert_int_equal(load_within(path, BYTES(4 << 20), &first, why), 0);
	assert_in_range(first, 16000 - 16384 / 4, 16000);
	assert_int_equal(load_within(path, BYTES(256 << 10), &first, why), -ENOMEM);
	assert_non_null(strstr(why, "it needs more memory than"));
	assert_int_equal(load_within(path, (struct kc_store_bound){.until_ns = 1}, &first, why), -ETIME);
	assert_non_null(strstr(why, "takes too long"));
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#define SECOND_NS INT64_C(1000000000)

/* 16,000 kernels that all take a second: to find which overlap takes seconds. All are known only after the last. */
static void loading_ends_in_time_where_everything_overlaps(void **state)
{
	const char *path = ((struct fixture *)*state)->path;
	struct kc_store_bound bound = {.until_ns = clock_ns(CLOCK_MONOTONIC) + 100 * SECOND_NS};
	uint64_t index = 0, first;
	struct kc_store *s = begin_recording(path, &index);
	struct kc_slot slot;
	int64_t begun_ns;
	char why[200] = "";

	for (uint32_t i = 0; i < 16000; i++) {
		slot = make_launch(index++, 1, 1000 * (int64_t)i, SECOND_NS, SECOND_NS);
		slot.launch.blocks_per_sm = 8;
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	assert_int_equal(kc_store_commit(s), 0);
	kc_store_close(s);
	begun_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bound.processor_ns = begun_ns + SECOND_NS / 10;
	assert_int_equal(load_within(path, bound, &first, why), -ETIME);
	assert_true(clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns < SECOND_NS / 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(the_same_launch_is_known),
	    TEST(related_launches_are_told_from_the_same),
	    TEST(the_newest_launches_count),
	    TEST(how_a_long_run_began_is_known),
	    TEST(arguments_tell_launches_apart),
	    TEST(launches_without_arguments_are_no_other_set),
	    TEST(unknown_arguments_are_not_guessed_among_several),
	    TEST(no_past_is_no_error_of_its_own),
	    TEST(loading_ends_at_its_bounds),
	    TEST(loading_ends_in_time_where_everything_overlaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
