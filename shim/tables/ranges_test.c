/* Ranges: what is open on a thread, and what of it is in the journal. */
#include "tables_testing.h"
#include "shim/entry/real.h"
#include "ranges.h"

#include <pthread.h>

void *kc__driver_symbol(const char *symbol)
{
	(void)symbol;
	return NULL;
}

static struct {
	uint32_t parent;
	char name[400];
} scopes[KC__RANGE_SCOPES_MAX];
static struct kc_step_entry steps[8];
static int step_count;

static void read_entry(const struct kc_slot *slot, const void *payload)
{
	const struct kc_scope_entry *scope = payload;

	if (slot->kind == KC_KIND_STEP) {
		memcpy(&steps[step_count++ % 8], payload, sizeof(*steps));
		return;
	}
	assert_int_equal(slot->kind, KC_KIND_SCOPE);
	assert_int_equal(scope->kind, KC_SCOPE_RANGE);
	assert_true(scope->id > 0 && scope->id < KC__RANGE_SCOPES_MAX && scope->parent < scope->id);
	scopes[scope->id].parent = scope->parent;
	snprintf(scopes[scope->id].name, sizeof(scopes[0].name), "%s", (const char *)(scope + 1));
}

static void read_journal(void)
{
	struct kc_assembler assembler = {0};
	const void *payload;
	size_t bytes;

	memset(scopes, 0, sizeof(scopes));
	step_count = 0;
	for (uint64_t i = kc_journal_first(kc__shim.journal); i < kc_journal_claimed(kc__shim.journal); i++)
		if (kc_assemble(&assembler, kc_journal_at(kc__shim.journal, i), &payload, &bytes) == 1)
			read_entry(kc_journal_at(kc__shim.journal, i), payload);
	free(assembler.buffer);
}

/* "outer > inner" */
static void add_text(char *text, uint32_t scope)
{
	if (scopes[scope].parent) {
		add_text(text, scopes[scope].parent);
		strcat(text, " > ");
	}
	strcat(text, scopes[scope].name);
}

static const char *in(uint32_t scope)
{
	static char text[(sizeof(scopes[0].name) + 3) * KC__RANGE_DEPTH_MAX];

	read_journal();
	text[0] = 0;
	if (scope)
		add_text(text, scope);
	return text;
}

static const char *now(void)
{
	return in(kc__scope_of(&kc__thread));
}

static int push(const char *name)
{
	return kc__range_push(0, kc__range_label(0, name));
}

static uint32_t next_thread = 1;

static int begin_ranges(void **state)
{
	if (begin(state))
		return -1;
	kc__shim.ours = 1;
	kc__shim.stage = KC__ON;
	kc__ranges_forget();
	kc__thread.id = next_thread++;
	kc__ranges_begin();
	return 0;
}

static int end_ranges(void **state)
{
	kc__shim.stage = KC__OFF;
	return end(state);
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_ranges, end_ranges)

static void a_launch_is_in_what_is_open_on_its_thread(void **state)
{
	(void)state;
	assert_int_equal(kc__scope_of(&kc__thread), 0);
	assert_int_equal(kc__range_pop(0), -1);
	assert_int_equal(push("outer"), 0);
	assert_int_equal(push("inner"), 1);
	assert_string_equal(now(), "outer > inner");
	assert_int_equal(kc__range_pop(0), 1);
	assert_string_equal(now(), "outer");
	push("inner");
	push("outer");
	assert_string_equal(now(), "outer > inner > outer");
	for (int i = 0; i < 3; i++)
		kc__range_pop(0);
	assert_string_equal(now(), "");
	assert_int_equal(kc__range_pop(0), -1);
}

static void what_is_alike_is_one_scope(void **state)
{
	uint32_t scope;

	(void)state;
	push("alike");
	scope = kc__scope_of(&kc__thread);
	kc__range_pop(0);
	push("alike");
	assert_int_equal(kc__scope_of(&kc__thread), scope);
	kc__range_pop(0);
}

static void what_tells_one_call_from_another_is_no_part_of_a_name(void **state)
{
	static const struct {
		const char *text, *name;
	} table[] = {
	    {"aten::mm, seq = 12, op_id = 7", "aten::mm"},
	    {"aten::mm, op_id = 123456", "aten::mm"},
	    {"aten::mm, op_id = 3, sizes = [[2, 3], [3, 4]]", "aten::mm"},
	    {"a, b, seq = 1", "a, b"},
	    {"a, seq = none", "a, seq = none"},
	    {", op_id = 1", ""},
	    {"", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		push(table[i].text);
		assert_string_equal(now(), table[i].name);
		kc__range_pop(0);
	}
	push(NULL);
	assert_string_equal(now(), "");
	assert_int_not_equal(kc__scope_of(&kc__thread), 0);
	kc__range_pop(0);
}

static void a_long_name_is_cut_between_characters(void **state)
{
	char name[400], wanted[400];

	(void)state;
	memset(name, 'n', sizeof(name));
	memcpy(name + 254, "\303\274", 2); /* ü at bytes 254 and 255: only one of them has room */
	name[399] = 0;
	snprintf(wanted, sizeof(wanted), "%.254s", name);
	push(name);
	assert_string_equal(now(), wanted);
	kc__range_pop(0);
}

static void a_domain_has_ranges_of_its_own(void **state)
{
	uint32_t a = kc__range_domain("A"), b = kc__range_domain("B");

	(void)state;
	assert_int_not_equal(a, b);
	assert_int_equal(kc__range_domain("A"), a);
	assert_int_equal(kc__range_domain(NULL), 0);
	assert_int_equal(kc__range_domain(""), 0);
	assert_int_equal(kc__range_push(a, kc__range_label(a, "x")), 0);
	assert_int_equal(kc__range_push(b, kc__range_label(b, "x")), 0);
	assert_int_equal(kc__range_push(a, kc__range_label(a, "y")), 1);
	assert_string_equal(now(), "A:x > B:x > A:y");
	assert_int_equal(kc__range_pop(b), 0);
	assert_string_equal(now(), "A:x > A:y");
	assert_int_equal(kc__range_pop(b), -1);
	kc__range_pop(a);
	kc__range_pop(a);
	assert_string_equal(now(), "");
}

static void *end_elsewhere(void *id)
{
	kc__thread.id = 1000;
	kc__range_end(*(uint64_t *)id);
	return NULL;
}

static void a_range_that_is_started_ends_by_its_id_in_any_thread(void **state)
{
	uint64_t first = kc__range_start(kc__range_label(0, "first")), second;
	pthread_t thread;

	(void)state;
	second = kc__range_start(kc__range_label(0, "second"));
	push("pushed");
	assert_string_equal(now(), "first > second > pushed");
	assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, &first), 0);
	pthread_join(thread, NULL);
	assert_string_equal(now(), "second > pushed");
	kc__range_end(first); /* once more */
	kc__range_end(0);
	kc__range_end(UINT64_MAX);
	kc__range_end(second ^ (UINT64_C(1) << 40)); /* of a thread that there is not */
	assert_string_equal(now(), "second > pushed");
	kc__range_pop(0);
	assert_int_equal(kc__range_pop(0), -1); /* it was not pushed */
	kc__range_end(second);
	assert_string_equal(now(), "");
}

static void what_is_deeper_than_there_is_room_for_counts_as_what_is_around_it(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < KC__RANGE_DEPTH_MAX; i++)
		push("deep");
	assert_int_equal(push("deeper"), KC__RANGE_DEPTH_MAX);
	assert_int_equal(push("deeper"), KC__RANGE_DEPTH_MAX + 1);
	assert_null(strstr(now(), "deeper"));
	assert_int_equal(kc__range_pop(0), KC__RANGE_DEPTH_MAX + 1);
	for (uint32_t i = 0; i < KC__RANGE_DEPTH_MAX; i++)
		kc__range_pop(0);
	assert_string_equal(now(), "deep");
	kc__range_pop(0);
	assert_string_equal(now(), "");
}

static void a_step_of_the_profiler_is_no_scope(void **state)
{
	(void)state;
	push("outer");
	push("ProfilerStep#12");
	assert_string_equal(now(), "outer");
	push("inner");
	assert_string_equal(now(), "outer > inner");
	kc__range_pop(0);
	kc__range_pop(0);
	read_journal();
	assert_int_equal(step_count, 1);
	assert_int_equal(steps[0].number, 12);
	assert_int_equal(steps[0].start_ns, 1000); /* kc__now_ns() of this test */
	push("ProfilerStep#x");
	assert_string_equal(now(), "outer > ProfilerStep#x");
	kc__range_pop(0);
	kc__range_pop(0);
}

static void what_was_open_before_recording_is_declared_as_it_begins(void **state)
{
	(void)state;
	kc__shim.stage = KC__OFF;
	kc__ranges_forget();
	push("early outer");
	push("early inner");
	kc__ranges_begin();
	kc__shim.stage = KC__ON;
	assert_string_equal(now(), "early outer > early inner");
	kc__range_pop(0);
	kc__range_pop(0);
}

/* The thread that called fork() is the only one left in the child. */
static void a_child_goes_on_in_what_its_thread_was_in(void **state)
{
	struct kc__range_stack *other;

	(void)state;
	kc__thread.id = 5001;
	kc__thread.ranges = NULL;
	push("of another thread");
	other = kc__thread.ranges;
	kc__thread.id = 5002;
	kc__thread.ranges = NULL;
	push("kept");
	kc__thread = (struct kc__thread){.ranges = kc__thread.ranges};
	kc__ranges_forget();
	kc__ranges_begin();
	assert_string_equal(now(), "kept");
	assert_int_equal(other->thread, 0);
	kc__range_pop(0);
	assert_string_equal(now(), "");
}

static void a_thread_does_not_begin_in_what_another_of_its_id_has_left(void **state)
{
	struct kc__range_stack *left;

	(void)state;
	push("left open");
	left = kc__thread.ranges;
	kc__thread = (struct kc__thread){.id = kc__thread.id};
	assert_int_equal(kc__range_pop(0), -1);
	push("new");
	assert_ptr_equal(kc__thread.ranges, left);
	assert_string_equal(now(), "new");
	kc__range_pop(0);
}

/* They leave a range open each; their ids are larger than any that the kernel gives. Then all live. */
static void threads_that_have_ended_make_room_for_others(void **state)
{
	struct kc__range_stack *first = NULL;

	(void)state;
	for (uint32_t i = 0; i < 2 * KC__RANGE_STACKS_MAX; i++) {
		kc__thread = (struct kc__thread){.id = (1u << 24) + i};
		assert_int_equal(push("of one of many"), 0);
		if (!first || kc__thread.ranges < first)
			first = kc__thread.ranges;
	}
	assert_string_equal(now(), "of one of many");
	for (uint32_t i = 0; i < KC__RANGE_STACKS_MAX; i++)
		first[i].thread = (uint32_t)getpid();
	kc__thread = (struct kc__thread){.id = 1u << 25};
	assert_int_equal(push("without room"), -1);
	assert_int_equal(kc__scope_of(&kc__thread), 0);
	assert_int_equal(kc__range_pop(0), -1);
	kc__ranges_forget();
}

static void a_process_that_is_not_ours_is_left_alone(void **state)
{
	(void)state;
	kc__shim.ours = 0; /* as after _Fork() */
	assert_int_equal(push("nobody's"), -1);
	assert_int_equal(kc__range_start(kc__range_label(0, "nobody's")), 0);
	kc__shim.ours = 1;
}

/* The last test: names are kept for the process's life. */
static void names_without_room_are_others_and_counted(void **state)
{
	_Atomic uint64_t *count = &kc__shim.header->counters[KC_COUNT_RANGES_OTHERS];
	char name[64];
	int i;

	(void)state;
	for (i = 0; i < 100000 && !*count; i++) {
		snprintf(name, sizeof(name), "number %d", i);
		push(name);
		kc__range_pop(0);
	}
	assert_in_range(i, 30000, 65536);
	kc__ranges_say_full();
	assert_string_equal(said[0], "65,536 names of ranges; launches in further ones are told of \"(others)\"");
	push("one more");
	push("and what is within it"); /* for which there is room of its own */
	assert_int_equal(*count, 2);
	assert_string_equal(now(), "(others) > and what is within it");
	kc__range_pop(0);
	push("number 7"); /* a name that is known */
	assert_string_equal(now(), "(others) > number 7");
	kc__range_pop(0);
	kc__range_pop(0);
	assert_string_equal(now(), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_launch_is_in_what_is_open_on_its_thread),
	    TEST(what_is_alike_is_one_scope),
	    TEST(what_tells_one_call_from_another_is_no_part_of_a_name),
	    TEST(a_long_name_is_cut_between_characters),
	    TEST(a_domain_has_ranges_of_its_own),
	    TEST(a_range_that_is_started_ends_by_its_id_in_any_thread),
	    TEST(what_is_deeper_than_there_is_room_for_counts_as_what_is_around_it),
	    TEST(a_step_of_the_profiler_is_no_scope),
	    TEST(what_was_open_before_recording_is_declared_as_it_begins),
	    TEST(a_child_goes_on_in_what_its_thread_was_in),
	    TEST(a_thread_does_not_begin_in_what_another_of_its_id_has_left),
	    TEST(threads_that_have_ended_make_room_for_others),
	    TEST(a_process_that_is_not_ours_is_left_alone),
	    TEST(names_without_room_are_others_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
