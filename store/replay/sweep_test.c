#include "sweep.h"
#include "store/database/testing/test_rows.h"

#include <errno.h>
#include <math.h>
#include <sqlite3.h>

/* Vectors of length 1 at a right angle. */
static const struct kc_stored_basis of_two_columns = {
    .basis = {.columns = 2, .components = 2, .values = {1.5, 0.5}, .vectors = {{0.6, 0.8}, {0.8, -0.6}}},
    .threads = {64, 128},
    .k = 1,
    .rows = 5,
    .kernels = 2,
    .error = NAN,
};

static void nothing_is_stored_at_first(void **state)
{
	char *folder = make_scratch();
	struct kc_store *s = open_scratch(folder);
	struct kc_stored_basis basis;
	struct kc_sweeps *sweeps;

	(void)state;
	assert_int_equal(kc_sweeps_read(s, &sweeps), 0);
	assert_int_equal(sweeps->kernel_count, 0);
	kc_sweeps_free(sweeps);
	assert_int_equal(kc_sweeps_collect(s, &sweeps), 0);
	assert_int_equal(sweeps->point_count, 0);
	kc_sweeps_free(sweeps);
	assert_int_equal(kc_stored_basis_read(s, &basis), -ENOENT);
	kc_store_close(s);
	remove_scratch(folder);
}

/* Two kernels, three points, a basis of two columns: as it was, and replaced as a whole. */
static void what_is_stored_is_read_again(void **state)
{
	char *folder = make_scratch(), a[] = "a", b[] = "b", m[] = "m";
	struct kc_sweep_kernel kernels[2] = {{0, m, a}, {0, m, b}};
	struct kc_sweep_point points[3] = {
	    {.kernel = 0, .device = 1, .block = {8, 8, 1}, .size = 100, .ns = 2.5, .launches = 3, .registers = 20},
	    {.kernel = 1, .device = 1, .block = {32, 1, 1}, .size = 100, .ns = 7, .launches = 1, .blocks_per_sm = 4},
	    {.kernel = 1, .device = 2, .block = {64, 2, 1}, .size = 0.5, .ns = 9, .launches = 2, .shared_bytes = 48},
	};
	struct kc_sweeps sweeps = {kernels, points, 2, 3, 1}, *read;
	struct kc_stored_basis again;
	struct kc_store *s = open_scratch(folder);

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(kc_sweeps_store(s, &sweeps, &of_two_columns), 0);
	assert_int_equal(kc_sweeps_read(s, &read), 0);
	assert_int_equal(read->kernel_count, 2);
	assert_int_equal(read->point_count, 3);
	assert_int_equal(read->simulated, 1);
	assert_string_equal(read->kernels[1].name, "b");
	assert_memory_equal(read->points, points, sizeof(points));
	kc_sweeps_free(read);
	assert_int_equal(kc_stored_basis_read(s, &again), 0);
	assert_int_equal(again.basis.columns, 2);
	assert_int_equal(again.basis.components, 2);
	assert_int_equal(again.threads[1], 128);
	assert_int_equal(again.k, 1);
	assert_int_equal(again.rows, 5);
	assert_true(isnan(again.error));
	for (int i = 0; i < 2; i++)
		assert_memory_equal(again.basis.vectors[i], of_two_columns.basis.vectors[i], 2 * sizeof(double));
	assert_memory_equal(again.basis.values, of_two_columns.basis.values, 2 * sizeof(double));
	assert_int_equal(kc_sweeps_store(s, &sweeps, NULL), 0);
	assert_int_equal(kc_stored_basis_read(s, &again), -ENOENT);
	kc_store_close(s);
	remove_scratch(folder);
}

static void a_damaged_basis_is_refused(void **state)
{
	static const char *const damages[] = {
	    "UPDATE basis_training SET k = 3",
	    "UPDATE basis_training SET k = -1",
	    "UPDATE basis SET component = 33 WHERE component = 2",
	    "UPDATE basis SET component = 0 WHERE component = 1",
	    "UPDATE basis SET component = -9223372036854775808 WHERE component = 1",
	};
	char *folder = make_scratch();
	struct kc_sweeps none = {0};
	struct kc_store *s = open_scratch(folder);

	(void)state;
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		struct kc_stored_basis read;

		assert_int_equal(kc_sweeps_store(s, &none, &of_two_columns), 0);
		assert_int_equal(kc_stored_basis_read(s, &read), 0);
		do_sql(s, damages[i]);
		assert_int_equal(kc_stored_basis_read(s, &read), -EBADMSG);
	}
	kc_store_close(s);
	remove_scratch(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(nothing_is_stored_at_first),
	    cmocka_unit_test(what_is_stored_is_read_again),
	    cmocka_unit_test(a_damaged_basis_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
