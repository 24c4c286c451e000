/* Files of knowledge: every check refuses what it is for, and what is found in a sound one. */
#include "knowledge_testing.h"

#include <sys/stat.h>
#include <unistd.h>

#define ARGUMENTS "p0 = 5"

static void a_sound_file_is_taken(void **state)
{
	struct file f;

	(void)state;
	make(&f);
	assert_int_equal(check(&f, FILE_BYTES), 0);
	f.kernel.text = 0; /* without names */
	seal(&f);
	assert_int_equal(check(&f, FILE_BYTES), 0);
}

static void what_is_no_such_file_is_refused(void **state)
{
	struct file f;

	(void)state;
	make(&f);
	for (size_t length = 0; length < FILE_BYTES; length++)
		assert_int_equal(check(&f, length), -EBADMSG);
	assert_int_equal(check(&f, FILE_BYTES + 1), -EBADMSG);
	f.head.magic[0] ^= 1;
	seal(&f);
	assert_int_equal(check(&f, FILE_BYTES), -EBADMSG);
	make(&f);
	f.head.version++;
	seal(&f);
	assert_int_equal(check(&f, FILE_BYTES), -EPROTO);
}

/* Any bit: FNV-1a is a permutation of the hash for each byte, so no single one can be missed. */
static void every_changed_byte_is_noticed(void **state)
{
	struct file f;

	(void)state;
	make(&f);
	for (size_t i = 0; i < FILE_BYTES; i++) {
		((unsigned char *)&f)[i] ^= 0x10;
		assert_true(check(&f, FILE_BYTES) < 0);
		((unsigned char *)&f)[i] ^= 0x10;
	}
	assert_int_equal(check(&f, FILE_BYTES), 0);
}

static void counts_and_places_beyond_the_tables_are_refused(void **state)
{
	(void)state;
	REFUSED(f.head.bytes++);
	REFUSED(f.head.device_count = UINT32_MAX);
	REFUSED(f.head.kernel_count = 0x05555556);
	REFUSED(f.head.entry_count = 3);
	REFUSED(f.head.point_count = 0);
	REFUSED(f.head.text_bytes--);
	REFUSED(f.kernel.device = 1);
	REFUSED(f.kernel.first_point = 1);
	REFUSED(f.kernel.first_point = UINT32_MAX);
	REFUSED(f.kernel.point_count = KC_SCALING_POINTS + 1);
	REFUSED(f.kernel.text = sizeof(f.text));
	REFUSED(f.kernel.text = 2);
	REFUSED(f.text[0] = 'x');
	REFUSED(f.text[sizeof(f.text) - 1] = 'x');
	REFUSED(f.entries[1].kernel = 1);
	REFUSED(f.entries[0].whole = 2);
	REFUSED(memset(f.device.name, 'x', sizeof(f.device.name)));
	REFUSED(f.entries[0].name = f.entries[1].name + 1);
}

static void numbers_that_cannot_be_are_refused(void **state)
{
	(void)state;
	REFUSED(f.device.sm_count = 0);
	REFUSED(f.device.cores_per_sm = 0);
	REFUSED(f.device.clock_khz = 0);
	REFUSED(f.device.simulated = 2);
	REFUSED(f.device.lambda.log_value = NAN);
	REFUSED(f.entries[0].lambda.count = 0);
	REFUSED(f.entries[0].lambda.count = UINT32_MAX);
	REFUSED(f.entries[0].lambda.spread_count = UINT32_MAX);
	REFUSED(f.entries[0].lambda.log_value = NAN);
	REFUSED(f.entries[0].lambda.log_value = -INFINITY);
	REFUSED(f.entries[0].lambda.log_value = 41);
	REFUSED(f.entries[1].lambda.variance = -1e-9);
	REFUSED(f.entries[1].lambda.variance = INFINITY);
	REFUSED(f.entries[1].lambda.weight = 0);
	REFUSED(f.entries[1].lambda.weight = NAN);
	REFUSED(f.entries[0].unit_ns = 0);
	REFUSED(f.entries[0].unit_ns = INFINITY);
	REFUSED(f.entries[0].launch_ns = -1);
	REFUSED(f.entries[0].launch_ns = NAN);
	REFUSED(f.point.size.log_waves = NAN);
	REFUSED(f.point.size.log_threads = -1);
	REFUSED(f.point.size.log_grid[2] = 1e30f);
	REFUSED(f.point.size.log_guess_ns = NAN);
	REFUSED(f.point.size.log_guess_ns = -1);
	REFUSED(f.point.log_ns = INFINITY);
	REFUSED(f.point.count = 0);
}

static void numbers_at_their_limits_are_taken_and_those_beyond_are_not(void **state)
{
	(void)state;
	TAKEN(f.device.simulated = 1);
	TAKEN(f.kernel.text = 0);
	TAKEN(f.entries[0].lambda.log_value = 40);
	TAKEN(f.entries[0].lambda.log_value = -40);
	REFUSED(f.entries[0].lambda.log_value = 40.01);
	REFUSED(f.entries[0].lambda.log_value = -40.01);
	TAKEN(f.entries[0].lambda.variance = 0);
	TAKEN(f.entries[0].lambda.variance = 100);
	REFUSED(f.entries[0].lambda.variance = 100.1);
	TAKEN(f.entries[0].lambda.weight = 1e-9);
	TAKEN(f.entries[0].lambda.weight = 1e6);
	REFUSED(f.entries[0].lambda.weight = 1.01e6);
	TAKEN(f.entries[0].lambda.count = UINT32_MAX / 2);
	REFUSED(f.entries[0].lambda.count = UINT32_MAX / 2 + 1);
	TAKEN(f.entries[0].lambda.count = 1);
	TAKEN(f.entries[0].lambda.spread_count = UINT32_MAX / 2);
	REFUSED(f.entries[0].lambda.spread_count = UINT32_MAX / 2 + 1);
	TAKEN(f.entries[0].unit_ns = 1e-6);
	REFUSED(f.entries[0].unit_ns = 0.9e-6);
	TAKEN(f.entries[0].unit_ns = 2.6e15);
	REFUSED(f.entries[0].unit_ns = 2.7e15);
	TAKEN(f.entries[0].launch_ns = 0);
	TAKEN(f.entries[0].launch_ns = 2.6e15);
	REFUSED(f.entries[0].launch_ns = 2.7e15);
	TAKEN(f.point.size.log_waves = 0);
	TAKEN(f.point.size.log_waves = 100);
	REFUSED(f.point.size.log_waves = 100.1f);
	REFUSED(f.point.size.log_grid[0] = 100.1f);
	REFUSED(f.point.size.log_grid[1] = 100.1f);
	TAKEN(f.point.size.log_guess_ns = 0);
	TAKEN(f.point.size.log_guess_ns = 36);
	REFUSED(f.point.size.log_guess_ns = 36.1f);
	TAKEN(f.point.log_ns = 36);
	REFUSED(f.point.log_ns = 36.1f);
	TAKEN(f.point.count = 1);
}

/* A search looks at all that have one name. */
static void too_many_alike_are_refused(void **state)
{
	enum { MANY = KC_KNOWLEDGE_ALIKE_MAX + 1 };
	struct {
		struct kc_knowledge_head head;
		struct kc_knowledge_device device;
		struct kc_knowledge_kernel kernels[MANY];
	} *f = calloc(1, sizeof(*f));
	struct kc_knowledge knowledge = {0};
	struct file one;
	char why[200];

	(void)state;
	make(&one);
	f->head = one.head;
	f->device = one.device;
	f->head.entry_count = f->head.point_count = f->head.text_bytes = 0;
	for (uint32_t count = MANY - 1; count <= MANY; count++) {
		f->head.kernel_count = count;
		f->head.bytes = sizeof(*f) - (MANY - count) * sizeof(f->kernels[0]);
		f->head.checksum = kc_knowledge_checksum(f, f->head.bytes);
		assert_int_equal(kc_knowledge_check(f, f->head.bytes, &knowledge, why, sizeof(why)),
				 count < MANY ? 0 : -EBADMSG);
	}
	free(f);
}

/* The file on disk */

struct fixture {
	char folder[40], path[60];
};

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	assert_non_null(x);
	strcpy(x->folder, "/tmp/kerncast-XXXXXX");
	assert_non_null(mkdtemp(x->folder));
	snprintf(x->path, sizeof(x->path), "%s/a.prior", x->folder);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	unlink(x->path);
	rmdir(x->folder);
	free(x);
	return 0;
}

static void put_file(const char *path, size_t length)
{
	FILE *to = fopen(path, "w");
	struct file f;

	make(&f);
	assert_int_equal(fwrite(&f, 1, length, to), length);
	fclose(to);
	chmod(path, 0644);
}

static char why[200]; /* the last one was not opened */

static int open_as(const char *path)
{
	struct kc_knowledge *knowledge;
	int rc = kc_knowledge_open(path, &knowledge, why, sizeof(why));

	assert_true((rc == 0) == (knowledge != NULL) && (rc == 0) == (why[0] == 0));
	kc_knowledge_free(knowledge);
	return rc;
}

static void only_a_file_of_ones_own_is_opened(void **state)
{
	const struct fixture *x = *state;
	char link[80];

	put_file(x->path, FILE_BYTES);
	assert_int_equal(open_as(x->path), 0);
	chmod(x->path, 0664);
	assert_int_equal(open_as(x->path), -EPERM);
	assert_string_equal(why, "others may write to it; chmod go-w makes it yours alone");
	chmod(x->path, 0646);
	assert_int_equal(open_as(x->path), -EPERM);
	chmod(x->path, 0600);
	snprintf(link, sizeof(link), "%s/link", x->folder);
	assert_int_equal(symlink(x->path, link), 0);
	assert_int_equal(open_as(link), -ELOOP);
	assert_string_equal(why, "it is a symbolic link");
	unlink(link);
	assert_int_equal(mkfifo(link, 0600), 0);
	assert_int_equal(open_as(link), -EPERM); /* and does not wait */
	unlink(link);
	assert_int_equal(open_as(x->folder), -EPERM);
	assert_int_equal(open_as(link), -ENOENT);
	assert_string_equal(why, strerror(ENOENT));
	if (geteuid() == 0) {
		assert_int_equal(chown(x->path, 65534, 65534), 0);
		assert_int_equal(open_as(x->path), -EPERM);
	}
}

static void a_file_that_is_too_long_or_cut_off_is_refused(void **state)
{
	const struct fixture *x = *state;

	put_file(x->path, FILE_BYTES - 1);
	assert_int_equal(open_as(x->path), -EBADMSG);
	put_file(x->path, 0);
	assert_int_equal(open_as(x->path), -EBADMSG);
	put_file(x->path, FILE_BYTES);
	assert_int_equal(truncate(x->path, (off_t)KC_KNOWLEDGE_BYTES_MAX + 1), 0);
	assert_int_equal(open_as(x->path), -EPERM);
}

/* It is a copy that is in use. */
static void a_file_may_be_cut_off_afterwards(void **state)
{
	const struct fixture *x = *state;
	struct kc_knowledge *knowledge;

	put_file(x->path, FILE_BYTES);
	assert_int_equal(kc_knowledge_open(x->path, &knowledge, why, sizeof(why)), 0);
	assert_int_equal(truncate(x->path, 0), 0);
	assert_non_null(kc_knowledge_device(knowledge, &a100));
	kc_knowledge_free(knowledge);
}

/* What is found */

/* 2: the same, 1: related, 0: nothing */
static int kin(const struct kc_knowledge *k, const struct kc_past_query *query)
{
	int same;
	const struct kc_knowledge_entry *found = kc_knowledge_find(k, query, &same);

	return found ? 1 + same : 0;
}

static void launches_are_found_by_name_and_gpu(void **state)
{
	struct kc_device a10 = a100, h100 = a100, simulated = a100, slower = a100;
	struct kc_past_query query = query_of(&a100, &program_dims[0]);
	struct kc_knowledge k = {0};
	struct file f;
	int same;

	(void)state;
	make(&f);
	assert_int_equal(kc_knowledge_check(&f, FILE_BYTES, &k, why, sizeof(why)), 0);
	assert_int_equal(kin(&k, &query), 2);
	assert_true(kc_knowledge_find(&k, &query, &same)->whole);
	query.dims = &block;
	assert_int_equal(kin(&k, &query), 2);
	assert_false(kc_knowledge_find(&k, &query, &same)->whole);
	query.dims = &(struct kc_shape){.grid = {65, 1, 1}, .block = {256, 1, 1}};
	assert_int_equal(kin(&k, &query), 0);
	query = query_of(&a100, &program_dims[0]);
	query.arguments = ARGUMENTS;
	assert_int_equal(kin(&k, &query), 0);
	query = query_of(&a100, &program_dims[0]);
	query.code.code_hash++;
	assert_int_equal(kin(&k, &query), 1);
	a10.cc_minor = 6;
	query = query_of(&a10, &program_dims[0]);
	assert_int_equal(kin(&k, &query), 1);
	slower.clock_khz = 1000000;
	query = query_of(&slower, &program_dims[0]);
	assert_int_equal(kin(&k, &query), 1);
	slower.clock_khz = 1410000 * 0.985; /* 1.5 % less is what drivers differ by; 2.5 % is another model */
	query = query_of(&slower, &program_dims[0]);
	assert_int_equal(kin(&k, &query), 2);
	slower.clock_khz = 1410000 * 0.975;
	query = query_of(&slower, &program_dims[0]);
	assert_int_equal(kin(&k, &query), 1);
	h100.cc_major = 9;
	query = query_of(&h100, &program_dims[0]);
	assert_int_equal(kin(&k, &query), 0);
	simulated.simulated = 1;
	query = query_of(&simulated, &program_dims[0]);
	assert_int_equal(kin(&k, &query), 0);
	assert_int_equal(kin(NULL, &query), 0);
	assert_null(kc_knowledge_device(&k, &simulated));
	assert_null(kc_knowledge_kernel(&k, &query.code, &a10));
	assert_non_null(kc_knowledge_kernel(&k, &query.code, &a100));
}

/* λ = 1/2 of 2,000 ns and 750 ns that do not scale: 4,750 ns, whatever the nominal work is here. */
static void a_known_launch_is_predicted_and_still_first_seen(void **state)
{
	struct kc_prediction_request prospect;
	struct kc_knowledge k = {0};
	struct world w;
	struct file f;

	(void)state;
	make(&f);
	assert_int_equal(kc_knowledge_check(&f, FILE_BYTES, &k, why, sizeof(why)), 0);
	meet(&w, &k, &a100);
	kc_engine_ask(&w.engine, &w.variant, NULL, &prospect);
	assert_in_range(prospect.solo.ns, 4749, 4750);
	assert_int_equal(prospect.solo.model, KC_MODEL_BSP_SHAPE);
	assert_int_equal(prospect.novelty, KC_FIRST_SEEN);
	assert_true(w.key.learned.levels[KC_UNIT_NOMINAL].lambda.log_value == log(0.25));
	assert_true(w.device.learned.levels[KC_UNIT_NOMINAL].lambda.log_value == 1);
	assert_int_equal(w.kernel.learned.scaling.count, 1);
	assert_int_equal(w.kernel.learned.scaling.points[0].count, 1); /* of 20 there */
	meet(&w, NULL, &a100);
	assert_int_equal(w.variant.learned.level.lambda.count, 0);
}

static double weight_here(double weight_there)
{
	struct kc_knowledge k = {0};
	struct world w;
	struct file f;

	make(&f);
	f.entries[0].lambda.weight = f.entries[1].lambda.weight = weight_there;
	seal(&f);
	assert_int_equal(kc_knowledge_check(&f, FILE_BYTES, &k, why, sizeof(why)), 0);
	meet(&w, &k, &a100);
	return w.variant.learned.level.lambda.weight;
}

/* So that the first ones here have as much to say as all of those. */
static void what_others_measured_of_a_launch_shape_counts_as_one_measurement(void **state)
{
	(void)state;
	assert_true(weight_here(8) == 1);
	assert_true(weight_here(1.5) == 1);
	assert_true(weight_here(0.25) == 0.25);
}

/* On a GPU of the same architecture with half the clock, λ is the same number and the nominal work takes twice as
 * long. */
static void on_a_related_gpu_times_scale(void **state)
{
	struct kc_device half = a100;
	struct kc_prediction_request prospect;
	struct kc_knowledge k = {0};
	struct world w;
	struct file f;
	double full_ns;

	(void)state;
	make(&f);
	assert_int_equal(kc_knowledge_check(&f, FILE_BYTES, &k, why, sizeof(why)), 0);
	half.clock_khz /= 2;
	meet(&w, &k, &a100);
	full_ns = w.variant.work.unit_ns / 0.5;
	meet(&w, &k, &half);
	kc_engine_ask(&w.engine, &w.variant, NULL, &prospect);
	assert_true(fabs((double)prospect.solo.ns - (w.variant.work.launch_ns + 2 * full_ns)) < 2);
	assert_int_equal(w.device.learned.levels[KC_UNIT_NOMINAL].lambda.count, 0);
	assert_int_equal(w.kernel.learned.scaling.count, 0);
}

int main(void)
{
#define ON_DISK(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_sound_file_is_taken),
	    cmocka_unit_test(what_is_no_such_file_is_refused),
	    cmocka_unit_test(every_changed_byte_is_noticed),
	    cmocka_unit_test(counts_and_places_beyond_the_tables_are_refused),
	    cmocka_unit_test(numbers_that_cannot_be_are_refused),
	    cmocka_unit_test(numbers_at_their_limits_are_taken_and_those_beyond_are_not),
	    cmocka_unit_test(too_many_alike_are_refused),
	    ON_DISK(only_a_file_of_ones_own_is_opened),
	    ON_DISK(a_file_that_is_too_long_or_cut_off_is_refused),
	    ON_DISK(a_file_may_be_cut_off_afterwards),
	    cmocka_unit_test(launches_are_found_by_name_and_gpu),
	    cmocka_unit_test(a_known_launch_is_predicted_and_still_first_seen),
	    cmocka_unit_test(what_others_measured_of_a_launch_shape_counts_as_one_measurement),
	    cmocka_unit_test(on_a_related_gpu_times_scale),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
