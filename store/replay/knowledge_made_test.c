/* What databases teach, and what several of them teach together. */
#include "knowledge_made.h"

#include "store/database/testing/test_rows.h"
#include "store/past/a100_testing.h"
#include "store/past/past.h"

#include <errno.h>
#include <math.h>

#define NAME "_Z1kv"
#define OFFSET_NS 500000 /* between launches, so that none meets another */

/* Launches of one kernel, all as long; in the second half of them the grid is wider. */
struct recording {
	uint32_t launches;
	int64_t ns, wide_ns; /* wide_ns 0: all are alike */
	const struct kc_device *device;
	const int64_t *each_ns; /* of each launch; NULL: as above */
	uint32_t given;         /* how many sets of arguments its launches have, in turn; 0: none is known */
};

static const struct kc_shape narrow = {.grid = {64, 1, 1}, .block = {256, 1, 1}};
static const struct kc_shape wide = {.grid = {6400, 1, 1}, .block = {256, 1, 1}};
static const struct kc_shape block = {.block = {256, 1, 1}};

static void put_launches(struct kc_store *s, uint64_t *index, const struct recording *r)
{
	for (uint32_t i = 0; i < r->launches; i++) {
		int is_wide = r->wide_ns && i >= r->launches / 2;
		int64_t ns = r->each_ns ? r->each_ns[i] : is_wide ? r->wide_ns : r->ns;
		struct kc_slot slot = make_launch((*index)++, 1, OFFSET_NS * (i + 1), 20000, ns);

		slot.launch.arguments = r->given ? 1 + i % r->given : 0;
		slot.launch.grid[0] = is_wide ? wide.grid[0] : narrow.grid[0];
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
}

static void put_arguments(struct kc_store *s, uint64_t *index, uint32_t id)
{
	struct {
		struct kc_arguments_entry entry;
		char text[24];
	} given = {.entry = {.id = id}};

	snprintf(given.text, sizeof(given.text), "p0 = %u", id);
	put_entry(s, index, KC_KIND_ARGUMENTS, &given, sizeof(given.entry) + strlen(given.text) + 1);
}

static struct kc_store *record(const char *folder, uint32_t number, const struct recording *r)
{
	struct kc_journal_header header = make_header(1, "a");
	struct kc_device_entry device = {.driver_version = 13000, .device = *r->device};
	uint64_t index = 0;
	struct kc_store *s;
	char path[300];
	int64_t process;

	snprintf(path, sizeof(path), "%s/%u.db", folder, number);
	assert_int_equal(kc_store_open(path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_device_and_streams(s, &index, 0);
	put_entry(s, &index, KC_KIND_DEVICE, &device, sizeof(device));
	put_kernel(s, &index, 1, NAME, "");
	for (uint32_t i = 1; i <= r->given; i++)
		put_arguments(s, &index, i);
	put_launches(s, &index, r);
	assert_int_equal(kc_store_commit(s), 0);
	return s;
}

/* What they teach together, one database each. To be freed with its head. */
static struct kc_knowledge learn(const struct recording *recordings, uint32_t count)
{
	struct kc_knowledge_made *made = kc_knowledge_made_new(0);
	struct kc_knowledge_left_out left_out = {0};
	char *folder = make_scratch(), why[200] = "";
	struct kc_knowledge knowledge;
	void *bytes;
	size_t length;

	assert_non_null(made);
	for (uint32_t i = 0; i < count; i++) {
		struct kc_store *s = record(folder, i, &recordings[i]);

		assert_int_equal(kc_knowledge_made_add(made, s), 0);
		kc_store_close(s);
	}
	assert_int_equal(kc_knowledge_made_bytes(made, &bytes, &length, &left_out), 0);
	assert_int_equal(kc_knowledge_check(bytes, length, &knowledge, why, sizeof(why)), 0);
	kc_knowledge_made_free(made);
	remove_scratch(folder);
	return knowledge;
}

static void leave(struct kc_knowledge *knowledge)
{
	free((void *)knowledge->head);
}

static const struct kc_knowledge_entry *entry_of(const struct kc_knowledge *knowledge, const struct kc_shape *shape)
{
	const struct kc_past_query query = {
	    .code = {.mangled = NAME, .code_hash = 0xABC, .registers = 32}, .uuid = "", .device = &a100, .dims = shape};
	int same;
	const struct kc_knowledge_entry *entry = kc_knowledge_find(knowledge, &query, &same);

	assert_non_null(entry);
	assert_int_equal(same, 1);
	return entry;
}

static void assert_near(double value, double wanted, double share)
{
	if (fabs(value - wanted) > share * fabs(wanted))
		fail_msg("%g is not within %g of %g", value, share, wanted);
}

static const struct recording few = {10, 20000, 0, &a100, NULL, 0}, many = {60, 40000, 0, &a100, NULL, 0};

/* λ is that with which the time is what was measured: launch_ns + unit_ns / λ. */
static void one_database_teaches_what_it_measured(void **state)
{
	struct kc_knowledge k = learn(&few, 1);
	const struct kc_knowledge_entry *entry = entry_of(&k, &narrow);

	(void)state;
	assert_int_equal(k.head->device_count, 1);
	assert_int_equal(k.head->kernel_count, 1);
	assert_int_equal(k.kernels[0].measured, few.launches);
	assert_int_equal(entry->whole, 1);
	assert_int_equal(entry->lambda.count, few.launches);
	assert_near(entry->launch_ns + entry->unit_ns * exp(-entry->lambda.log_value), 20000, 1e-3);
	assert_int_equal(entry_of(&k, &block)->whole, 0);
	/* of the kernel's launches, which are all of one shape: the same λ */
	assert_near(entry_of(&k, &block)->lambda.log_value, entry->lambda.log_value, 0.02);
	assert_int_equal(k.head->point_count, 1);
	assert_near(exp((double)k.points[0].log_ns), 20000, 1e-3);
	leave(&k);
}

/* Mean and mean square of all are the weighted means of both; the variance is what is between them. */
static void assert_pooled(const struct kc_knowledge_lambda *both, const struct kc_knowledge_lambda *a,
			  const struct kc_knowledge_lambda *b)
{
	double n = (double)a->count + b->count;
	double mean = (a->count * a->log_value + b->count * b->log_value) / n;
	double square = (a->count * (a->variance + a->log_value * a->log_value) +
			 b->count * (b->variance + b->log_value * b->log_value)) /
			n;

	assert_int_equal(both->count, a->count + b->count);
	assert_int_equal(both->spread_count, a->spread_count + b->spread_count);
	assert_near(both->log_value, mean, 1e-9);
	assert_near(both->variance, square - mean * mean, 1e-6);
	assert_true(both->weight == fmax(a->weight, b->weight)); /* as of one process: older measurements fade */
}

static void two_databases_are_pooled_by_their_measurements(void **state)
{
	const struct recording orders[2][2] = {{few, many}, {many, few}};
	struct kc_knowledge a = learn(&few, 1), b = learn(&many, 1);
	const struct kc_knowledge_entry *of_a = entry_of(&a, &narrow), *of_b = entry_of(&b, &narrow);

	(void)state;
	/* (40,000 - launch_ns) / (20,000 - launch_ns) times the work for each unit of λ */
	assert_near(of_a->lambda.log_value - of_b->lambda.log_value,
		    log((40000 - of_b->launch_ns) / (20000 - of_a->launch_ns)), 1e-3);
	assert_true(of_a->lambda.weight < of_b->lambda.weight);
	for (int i = 0; i < 2; i++) {
		struct kc_knowledge both = learn(orders[i], 2);

		assert_pooled(&entry_of(&both, &narrow)->lambda, &of_a->lambda, &of_b->lambda);
		assert_pooled(&entry_of(&both, &block)->lambda, &entry_of(&a, &block)->lambda,
			      &entry_of(&b, &block)->lambda);
		assert_pooled(&both.devices[0].lambda, &a.devices[0].lambda, &b.devices[0].lambda);
		assert_int_equal(both.head->device_count, 1);
		assert_int_equal(both.head->kernel_count, 1);
		assert_int_equal(both.kernels[0].measured, few.launches + many.launches);
		assert_int_equal(both.head->point_count, 1);
		leave(&both);
	}
	leave(&a);
	leave(&b);
}

/* λ of a launch shape is in units of its own work, that of a block shape the same number for any grid. */
static void each_launch_shape_has_its_own(void **state)
{
	const struct recording r = {20, 20000, 300000, &a100, NULL, 0};
	struct kc_knowledge k = learn(&r, 1);
	const struct kc_knowledge_entry *first = entry_of(&k, &narrow), *second = entry_of(&k, &wide);

	(void)state;
	assert_int_equal(first->lambda.count, 10);
	assert_int_equal(second->lambda.count, 10);
	assert_near(first->launch_ns + first->unit_ns * exp(-first->lambda.log_value), 20000, 1e-3);
	assert_near(second->launch_ns + second->unit_ns * exp(-second->lambda.log_value), 300000, 1e-3);
	assert_int_equal(k.head->entry_count, 3);
	assert_int_equal(k.head->point_count, 2);
	assert_int_equal(k.kernels[0].measured, 20);
	leave(&k);
}

/* How many measurements the file has of narrow launches with these arguments. */
static uint32_t count_given(const struct kc_knowledge *k, const char *arguments)
{
	uint64_t name = kc_launch_name(NAME, &narrow, arguments);

	for (uint32_t i = 0; i < k->head->entry_count; i++)
		if (k->entries[i].name == name)
			return k->entries[i].lambda.count;
	return 0;
}

/* Without arguments, a launch is taken to be like the only ones that are known. */
static void launches_are_told_apart_by_arguments(void **state)
{
	struct recording r = {12, 20000, 0, &a100, NULL, 1};
	struct kc_knowledge one = learn(&r, 1), two;

	(void)state;
	r.given = 2;
	two = learn(&r, 1);
	assert_int_equal(count_given(&one, "p0 = 1"), 12);
	assert_int_equal(count_given(&one, NULL), 12);
	assert_int_equal(count_given(&two, "p0 = 1"), 6);
	assert_int_equal(count_given(&two, "p0 = 2"), 6);
	assert_int_equal(count_given(&two, NULL), 0);
	leave(&one);
	leave(&two);
}

static void devices_are_told_apart(void **state)
{
	struct kc_device slower = a100;
	struct recording r[2] = {few, many};
	struct kc_knowledge k;

	(void)state;
	slower.clock_khz /= 2;
	r[1].device = &slower;
	k = learn(r, 2);
	assert_int_equal(k.head->device_count, 2);
	assert_int_equal(k.head->kernel_count, 2);
	assert_int_equal(k.head->entry_count, 4);
	assert_int_equal(entry_of(&k, &narrow)->lambda.count, few.launches);
	leave(&k);
}

static void nothing_measured_is_nothing_learned(void **state)
{
	const struct recording r = {3, 0, 0, &a100, NULL, 0};
	struct kc_knowledge_made *made = kc_knowledge_made_new(0);
	struct kc_knowledge_left_out left_out = {0};
	char *folder = make_scratch();
	struct kc_store *s = record(folder, 0, &r);
	void *bytes;
	size_t length;

	(void)state;
	assert_int_equal(kc_knowledge_made_add(made, s), 0);
	assert_int_equal(kc_knowledge_made_bytes(made, &bytes, &length, &left_out), -ENODATA);
	kc_knowledge_made_free(made);
	kc_store_close(s);
	remove_scratch(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_database_teaches_what_it_measured),
	    cmocka_unit_test(two_databases_are_pooled_by_their_measurements),
	    cmocka_unit_test(each_launch_shape_has_its_own),
	    cmocka_unit_test(launches_are_told_apart_by_arguments),
	    cmocka_unit_test(devices_are_told_apart),
	    cmocka_unit_test(nothing_measured_is_nothing_learned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
