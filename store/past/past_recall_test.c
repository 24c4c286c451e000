/* Which of what is known a launch is predicted from: the past of its program, a file of `kerncast learn`. */
#include "knowledge_testing.h"
#include "past_kept_testing.h"

/* What a launch of this variant is first taken for. */
static enum kc_model model_of(const struct kc_past *past, const char *uuid, uint64_t code_hash, uint32_t cc_major,
			      uint32_t cc_minor, enum kc_novelty *novelty)
{
	const struct kc_beginning from = {.past = past};
	struct program *p = program_new(&nothing, uuid, code_hash, NULL);
	struct kc_past_query query = program_query(p, 2);
	struct kc_solo solo;

	p->info.cc_major = cc_major;
	p->info.cc_minor = cc_minor;
	query.device = &p->info;
	kc_past_make_kernel(&from, &p->code, uuid, &p->device, &p->kernel);
	kc_past_recall_shape(&from, &query, &p->shapes[1]);
	kc_past_make_variant(&from, &query, program_memory, p, &p->variants[2]);
	solo = solo_of(p, 2, novelty);
	program_free(p);
	return solo.model;
}

static void related_launches_are_told_from_the_same(void **state)
{
	enum kc_novelty novelty;
	struct kc_past *past;

	run(*state);
	past = load(*state);
	assert_int_equal(model_of(past, OWN, 0xABC, 8, 0, &novelty), KC_MODEL_BSP_SHAPE);
	assert_int_equal(novelty, KC_REPEATED);
	assert_int_equal(model_of(past, OWN, 0xABD, 8, 0, &novelty), KC_MODEL_BSP_SHAPE);
	assert_int_equal(novelty, KC_FIRST_SEEN);
	assert_int_equal(model_of(past, OTHER, 0xABC, 8, 6, &novelty), KC_MODEL_BSP_SHAPE);
	assert_int_equal(novelty, KC_FIRST_SEEN);
	assert_int_not_equal(model_of(past, OTHER, 0xABC, 9, 0, &novelty), KC_MODEL_BSP_SHAPE);
	kc_past_free(past);
}

/* A file in which launches of shape 1 of this code take 4,750 ns: λ = 1/2 of 2,000 ns, and 750 ns that do not scale. */
static struct kc_knowledge file_of(struct file *f, uint64_t code_hash)
{
	struct kc_knowledge knowledge = {0};
	char why[200];

	make(f);
	f->kernel.code_hash = code_hash;
	put_entries(f, entry_of(&program_dims[1], log(0.5)), entry_of(&block, log(0.25)));
	seal(f);
	assert_int_equal(kc_knowledge_check(f, FILE_BYTES, &knowledge, why, sizeof(why)), 0);
	return knowledge;
}

/* What a launch of shape 1 of this code is taken for, by both. */
static int64_t taken_for(const struct kc_past *past, const struct kc_knowledge *knowledge, const char *uuid,
			 uint64_t code_hash)
{
	const struct kc_beginning from = {.past = past, .knowledge = knowledge};
	struct program *p = program_new(&nothing, uuid, code_hash, NULL);
	struct kc_past_query query = program_query(p, 2);
	enum kc_novelty novelty;
	int64_t ns;

	kc_past_make_variant(&from, &query, program_memory, p, &p->variants[2]);
	ns = solo_of(p, 2, &novelty).ns;
	program_free(p);
	return ns;
}

/* Own launches of the same code before the file's, these before own ones of other code, those before the file's of
 * other code. Here they took 30 µs. */
static void the_past_and_a_file_are_chosen_from(void **state)
{
	struct kc_knowledge knowledge;
	struct kc_past *past;
	struct file f;

	run(*state);
	past = load(*state);
	knowledge = file_of(&f, 0xABC);
	assert_in_range(taken_for(past, &knowledge, OWN, 0xABC), 28000, 32000);
	assert_in_range(taken_for(NULL, &knowledge, OWN, 0xABC), 4749, 4751);
	knowledge = file_of(&f, 0xABD);
	assert_in_range(taken_for(past, &knowledge, OWN, 0xABD), 4749, 4751);
	assert_in_range(taken_for(past, &knowledge, OWN, 0xABE), 28000, 32000);
	assert_in_range(taken_for(past, NULL, OWN, 0xABE), 28000, 32000);
	kc_past_free(past);
}

enum { LEARNED = 5 };

/* What five programs learned, in one: two builds of the kernel here, and there, and a third one there alone. */
static const struct {
	const char *uuid;
	uint64_t code_hash;
	int64_t ns;
} learned[LEARNED] = {
    {OWN, 0xABC, 10000}, {OWN, 0xABD, 80000}, {OTHER, 0xABC, 10500}, {OTHER, 0xABD, 84000}, {OTHER, 0xABE, 900000},
};

static struct kc_past *past_of_five(const struct fixture *f, struct program *programs[LEARNED])
{
	struct kc_journal_header header = make_header(1, "a");
	const struct kc_snapshot_carried carried = {.others_since = INT64_MAX};
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	struct kc_store *s;
	int64_t process;

	for (uint32_t i = 0; i < LEARNED; i++) {
		programs[i] = program_new(&nothing, learned[i].uuid, learned[i].code_hash, NULL);
		for (uint32_t n = 0; n < 20; n++)
			program_launch(programs[i], 2, learned[i].ns);
		program_add(programs[i], maker);
	}
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_snapshot_store(s, &carried, maker), 0);
	kc_store_close(s);
	return load(f);
}

/* λ of the block shape of this code on this GPU, as it is first taken to be. */
static double key_lambda(const struct kc_past *past, const char *uuid, uint64_t code_hash, uint32_t *count)
{
	const struct kc_beginning from = {.past = past};
	struct program *p = program_new(&nothing, uuid, code_hash, NULL);
	const struct kc_past_query query = program_query(p, 2);
	const struct kc_lambda *lambda = &p->key.learned.levels[KC_UNIT_NOMINAL].lambda;
	double log_value;

	kc_past_make_key(&from, &query, &p->kernel, &p->key);
	log_value = lambda->log_value;
	*count = lambda->count;
	program_free(p);
	return log_value;
}

/* The same GPU before the same code, that before anything else of a GPU of the same architecture. */
static void the_closest_launches_are_gone_by(void **state)
{
#define THIRD "0d000000000000000000000000000000"
	struct program *programs[LEARNED];
	struct kc_past *past = past_of_five(*state, programs);
	uint32_t count;

	for (uint32_t i = 0; i < LEARNED; i++) {
		const struct kc_lambda *lambda = &programs[i]->key.learned.levels[KC_UNIT_NOMINAL].lambda;

		assert_in_range(taken_for(past, NULL, learned[i].uuid, learned[i].code_hash), learned[i].ns * 0.98,
				learned[i].ns * 1.02);
		assert_true(key_lambda(past, learned[i].uuid, learned[i].code_hash, &count) == lambda->log_value);
		assert_int_equal(count, lambda->count);
	}
	assert_in_range(taken_for(past, NULL, THIRD, 0xABC), 9800, 10800);
	assert_in_range(taken_for(past, NULL, THIRD, 0xABD), 78000, 86000);
	assert_in_range(taken_for(past, NULL, THIRD, 0xABE), 880000, 920000);
	assert_in_range(taken_for(past, NULL, OWN, 0xABE), 9800, 82000);
	assert_true(fabs(key_lambda(past, THIRD, 0xABE, &count) -
			 programs[4]->key.learned.levels[KC_UNIT_NOMINAL].lambda.log_value) < 1e-9);
	assert_true(key_lambda(past, OWN, 0xABE, &count) >
		    programs[4]->key.learned.levels[KC_UNIT_NOMINAL].lambda.log_value + 1);
	kc_past_free(past);
	for (uint32_t i = 0; i < LEARNED; i++)
		program_free(programs[i]);
}

static uint32_t measured_with(const struct kc_past *past, uint32_t variant, const char *arguments)
{
	const struct kc_beginning from = {.past = past};
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_past_query query = program_query(p, variant);
	uint32_t measured;

	query.arguments = arguments;
	kc_past_make_variant(&from, &query, program_memory, p, &p->variants[variant]);
	measured = p->variants[variant].learned.measured;
	program_free(p);
	return measured;
}

static void arguments_tell_launches_apart(void **state)
{
	struct kc_past *past;

	run(*state);
	past = load(*state);
	assert_int_equal(measured_with(past, 0, "p0 = 5"), 20);
	assert_int_equal(measured_with(past, 0, "p0 = 6"), 20);
	assert_int_equal(measured_with(past, 0, "p0 = 7"), 0);
	assert_int_equal(measured_with(past, 0, NULL), 0); /* not known, and there are two */
	assert_int_equal(measured_with(past, 2, NULL), 20);
	kc_past_free(past);
}

static void arguments_not_known_are_taken_for_the_only_ones(void **state)
{
	struct program *p = program_new(&nothing, OWN, 0xABC, NULL);
	struct kc_past *past;

	for (uint32_t i = 0; i < 5; i++)
		program_launch(p, 0, 20000);
	keep(*state, p, 1);
	program_free(p);
	past = load(*state);
	assert_int_equal(measured_with(past, 0, NULL), 5);
	kc_past_free(past);
}

/* Of so many builds of a kernel, and launches of each, the first 4,096 are looked at. */
static void a_launch_waits_for_no_more_than_4096_of_one_name(void **state)
{
	enum { BUILDS = 4100, LOOKED_AT = 4096 };
	struct program *p = program_new(&nothing, OWN, 0, NULL), *again = program_new(&nothing, OWN, 0, NULL);
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	struct kc_journal_header header = make_header(1, "a");
	const struct kc_snapshot_carried carried = {.others_since = INT64_MAX};
	const struct fixture *f = *state;
	struct kc_beginning from = {NULL, NULL};
	uint32_t kernels = 0, shapes = 0;
	struct kc_past *past;
	struct kc_store *s;
	int64_t process;

	program_launch(p, 2, 20000);
	for (p->code.code_hash = 1; p->code.code_hash <= BUILDS; p->code.code_hash++)
		program_add(p, maker);
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, NULL, 0), 0);
	assert_int_equal(kc_store_process(s, &header, &process), 0);
	assert_int_equal(kc_snapshot_store(s, &carried, maker), 0);
	kc_store_close(s);
	past = load(f);
	from.past = past;
	assert_int_equal(kc_past_snapshot(past)->head->kernels, BUILDS);
	for (again->code.code_hash = 1; again->code.code_hash <= BUILDS; again->code.code_hash++) {
		const struct kc_past_query query = program_query(again, 2);

		again->kernel.learned.measured = 0;
		again->shapes[1] = 0;
		kc_past_make_kernel(&from, &again->code, OWN, &again->device, &again->kernel);
		kc_past_recall_shape(&from, &query, &again->shapes[1]);
		kernels += again->kernel.learned.measured == 1;
		shapes += again->shapes[1] == 1;
	}
	assert_int_equal(kernels, LOOKED_AT);
	assert_int_equal(shapes, LOOKED_AT);
	kc_past_free(past);
	program_free(p);
	program_free(again);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(related_launches_are_told_from_the_same),
	    TEST(the_past_and_a_file_are_chosen_from),
	    TEST(the_closest_launches_are_gone_by),
	    TEST(arguments_tell_launches_apart),
	    TEST(arguments_not_known_are_taken_for_the_only_ones),
	    TEST(a_launch_waits_for_no_more_than_4096_of_one_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
