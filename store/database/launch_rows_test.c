/* Launches are inserted many at a time, in any order, and none of them twice. */
#include "internal.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <math.h>

#define LAUNCHES 1000

static int set_up(void **state)
{
	struct kc_journal_header h = make_header(1, "a");
	struct scratch_store *f = make_scratch_store();
	uint64_t index = 1000000;
	int64_t process;

	assert_int_equal(kc_store_process(f->store, &h, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
	put_device_and_streams(f->store, &index, 0);
	assert_int_equal(kc_store_commit(f->store), 0);
	*state = f;
	return 0;
}

/* Launch i takes 100 + i ns. */
static void put(struct kc_store *s, uint64_t i)
{
	struct kc_slot slot = make_launch(i, 0, 1000, 100, 100 + (int64_t)i);

	assert_int_equal(kc_store_slot(s, &slot), 0);
}

static void put_range(struct kc_store *s, uint64_t first, uint64_t end)
{
	for (uint64_t i = first; i < end; i++)
		put(s, i);
}

static void check_sums(struct kc_store *s, int64_t launches)
{
	int64_t ns = 100 * launches + launches * (launches - 1) / 2;

	assert_int_equal(number_of(s, "SELECT count(*) FROM launch_row"), launches);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch_row WHERE measured_span = 100 + (id & 1048575)"),
			 launches);
	assert_int_equal(number_of(s, "SELECT count FROM ledger WHERE item = 'launches'"), launches);
	assert_int_equal(number_of(s, "SELECT count FROM ledger WHERE item = 'matched'"), launches);
	assert_int_equal(number_of(s, "SELECT sum(launches) FROM rollup"), launches);
	assert_int_equal(number_of(s, "SELECT CAST(sum(measured_ns) AS INTEGER) FROM rollup"), ns);
}

/* 128 at a time: seven times while they are put, once more at the end. */
static void many_launches_take_few_statements(void **state)
{
	struct kc_store *s = ((struct scratch_store *)*state)->store;

	assert_int_equal(kc_store_begin(s), 0);
	put_range(s, 0, LAUNCHES);
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(sqlite3_stmt_status(kc__statement(s, KC__LAUNCH), SQLITE_STMTSTATUS_RUN, 0), 8);
	check_sums(s, LAUNCHES);
}

/* 7 and 1,000 have no common factor, so multiples of 7 modulo 1,000 are all numbers below. */
static void launches_come_in_any_order(void **state)
{
	struct kc_store *s = ((struct scratch_store *)*state)->store;

	assert_int_equal(kc_store_begin(s), 0);
	for (uint64_t i = 0; i < LAUNCHES; i++)
		put(s, i * 7 % LAUNCHES);
	assert_int_equal(kc_store_commit(s), 0);
	check_sums(s, LAUNCHES);
}

static void launches_that_come_again_change_nothing(void **state)
{
	struct kc_store *s = ((struct scratch_store *)*state)->store;

	assert_int_equal(kc_store_begin(s), 0);
	put_range(s, 0, 300);
	put_range(s, 250, 300); /* while the first still wait */
	put_range(s, 0, 50);    /* when they do not any more */
	assert_int_equal(kc_store_commit(s), 0);
	check_sums(s, 300);
	assert_int_equal(kc_store_begin(s), 0);
	for (uint64_t i = LAUNCHES; i-- > 0;)
		put(s, i);
	assert_int_equal(kc_store_commit(s), 0);
	check_sums(s, LAUNCHES);
}

static void the_first_of_two_with_one_number_is_stored(void **state)
{
	struct kc_store *s = ((struct scratch_store *)*state)->store;
	struct kc_slot first = make_launch(5, 0, 1000, 100, 111), second = make_launch(5, 0, 1000, 100, 222);

	assert_int_equal(kc_store_begin(s), 0);
	assert_int_equal(kc_store_slot(s, &first), 0);
	put(s, 6);
	assert_int_equal(kc_store_slot(s, &second), 0);
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(number_of(s, "SELECT measured_span FROM launch_row WHERE id & 1048575 = 5"), 111);
	assert_int_equal(number_of(s, "SELECT CAST(sum(measured_ns) AS INTEGER) FROM rollup"), 111 + 106);
}

static void a_rollback_forgets_launches_that_wait(void **state)
{
	struct kc_store *s = ((struct scratch_store *)*state)->store;

	assert_int_equal(kc_store_begin(s), 0);
	put_range(s, 0, 300);
	kc_store_rollback(s);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch_row"), 0);
	assert_int_equal(kc_store_begin(s), 0);
	put_range(s, 0, 10);
	assert_int_equal(kc_store_commit(s), 0);
	check_sums(s, 10);
}

static void outside_of_a_transaction_no_launch_waits(void **state)
{
	struct kc_store *s = ((struct scratch_store *)*state)->store;

	put(s, 0);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch_row"), 1);
	put(s, 1);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch_row"), 2);
}

/* A database must not put rows of its own in place of ours, nor read ours. */
static void no_table_or_view_of_the_database_is_mistaken_for_it(void **state)
{
	struct kc_store *s = ((struct scratch_store *)*state)->store;

	assert_int_equal(sqlite3_exec(s->db,
				      "CREATE TABLE kc_launches AS SELECT * FROM launch_row;"
				      "INSERT INTO kc_launches(id) VALUES(1), (2), (3)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(kc_store_begin(s), 0);
	put(s, 0);
	assert_int_not_equal(kc_store_commit(s), 0);
	kc_store_rollback(s);
	assert_int_equal(number_of(s, "SELECT count(*) FROM launch_row"), 0);
	assert_int_equal(sqlite3_exec(s->db, "DROP TABLE kc_launches; CREATE VIEW v AS SELECT * FROM kc_launches()",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(kc_store_begin(s), 0);
	put(s, 0);
	assert_int_not_equal(sqlite3_exec(s->db, "SELECT * FROM v", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(kc_store_commit(s), 0);
	check_sums(s, 1);
}

/* As a damaged journal has. The two solo launches took 200 ns, so the measured slowdowns are 1.5; that of one predicted
 * slowdown of 1 is wrong by a third. */
static void a_slowdown_that_is_no_number_counts_as_none(void **state)
{
	const float none[] = {NAN, INFINITY, -INFINITY, 3e38f};
	struct kc_store *s = ((struct scratch_store *)*state)->store;
	struct kc_slot slot;

	assert_int_equal(kc_store_begin(s), 0);
	for (uint64_t i = 0; i < 2; i++) {
		slot = make_launch(i, 0, 1000, 100, 200);
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	for (uint64_t i = 0; i < 4; i++) {
		slot = make_launch(2 + i, 0, 1000000, 100, 300);
		slot.launch.overlap = KC_OVERLAP_BEHIND;
		slot.launch.slowdown = slot.launch.slowdown_waves = none[i];
		assert_int_equal(kc_store_slot(s, &slot), 0);
	}
	assert_int_equal(kc_store_commit(s), 0);
	assert_int_equal(number_of(s, "SELECT sum(launches) FROM rollup"), 6);
	assert_int_equal(number_of(s, "SELECT sum(slow_n) FROM rollup"), 4);
	/* The median is within 1 %. */
	assert_in_range(number_of(s, "SELECT round(1000 * sum(slow_error_sum)) FROM rollup"), 1306, 1360);
	assert_int_equal(number_of(s, "SELECT count(slowdown) FROM launch WHERE overlap = 'behind'"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, remove_scratch_store)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(many_launches_take_few_statements),
	    TEST(launches_come_in_any_order),
	    TEST(launches_that_come_again_change_nothing),
	    TEST(the_first_of_two_with_one_number_is_stored),
	    TEST(a_rollback_forgets_launches_that_wait),
	    TEST(outside_of_a_transaction_no_launch_waits),
	    TEST(a_slowdown_that_is_no_number_counts_as_none),
	    TEST(no_table_or_view_of_the_database_is_mistaken_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
