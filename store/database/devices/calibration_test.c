/* Which calibration is found, and what happens where there is none. */
#include "calibration.h"
#include "store/query/query.h"
#include "store/database/store.h"

#include <math.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define FIRST_UUID "000102030405060708090a0b0c0d0e0f"
#define SECOND_UUID "ff000000000000000000000000000000"
static const uint8_t first_uuid[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, second_uuid[16] = {0xff},
		     third_uuid[16] = {1};

struct fixture {
	char path[64];
	struct kc_store *store;
	sqlite3 *db;
};

static void add_device(sqlite3 *db, int id, const char *uuid, const char *name)
{
	char *sql = sqlite3_mprintf("INSERT INTO device(id, uuid, driver_version, name, simulated)"
				    " VALUES(%d, %Q, 13000, %Q, %d)",
				    id, uuid, name, !strncmp(name, "Simulated", 9));

	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_free(sql);
}

static void add_calibration(sqlite3 *db, int device, int time_ns, const char *overhead_ns)
{
	char *sql = sqlite3_mprintf("INSERT INTO calibration(device, time_unix_ns, launch_overhead_ns, launch_gap_ns,"
				    " repeats, simulated) SELECT %d, %d, %s, 700.5, 100, simulated FROM device"
				    " WHERE id = %d",
				    device, time_ns, overhead_ns, device);

	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_free(sql);
}

/* Two H100s, a simulated one, and a device of another kind; the newest rows are not the last ones. */
static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct kc_store *s;
	char why[256];

	strcpy(f->path, "/tmp/kc-calibration-XXXXXX");
	close(mkstemp(f->path));
	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, why, sizeof(why)), 0);
	add_device(kc_store_db(s), 1, FIRST_UUID, "NVIDIA H100 80GB HBM3");
	add_device(kc_store_db(s), 2, SECOND_UUID, "NVIDIA H100 80GB HBM3");
	add_device(kc_store_db(s), 3, FIRST_UUID, "Simulated NVIDIA H100 80GB HBM3");
	add_device(kc_store_db(s), 4, SECOND_UUID, "NVIDIA H200");
	add_calibration(kc_store_db(s), 1, 30, "4000");
	add_calibration(kc_store_db(s), 1, 20, "5000");
	add_calibration(kc_store_db(s), 2, 10, "6000");
	add_calibration(kc_store_db(s), 3, 40, "7000");
	add_calibration(kc_store_db(s), 4, 50, "NULL");
	kc_store_close(s);
	assert_int_equal(kc_store_open(f->path, KC_STORE_READ, &f->store, NULL, 0), 0);
	f->db = kc_store_db(f->store);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	char path[80];

	kc_store_close(f->store);
	unlink(f->path);
	snprintf(path, sizeof(path), "%s-wal", f->path);
	unlink(path);
	snprintf(path, sizeof(path), "%s-shm", f->path);
	unlink(path);
	free(f);
	return 0;
}

/* 0: there is none. */
static double overhead_ns(const struct fixture *f, const char *name, const uint8_t *uuid)
{
	const struct kc_calibrated self = {name, uuid};
	struct kc_calibration found;
	int rc = kc_calibration_find(f->db, &self, &found);

	assert_in_range(rc, 0, 1);
	return rc ? found.launch_overhead_ns : 0;
}

static void of_this_very_device(void **state)
{
	struct fixture *f = *state;

	assert_float_equal(overhead_ns(f, "NVIDIA H100 80GB HBM3", first_uuid), 4000, 0);
	assert_float_equal(overhead_ns(f, "NVIDIA H100 80GB HBM3", second_uuid), 6000, 0);
	assert_float_equal(overhead_ns(f, "NVIDIA H100 80GB HBM3", third_uuid), 0, 0);
	assert_float_equal(overhead_ns(f, "Simulated NVIDIA H100 80GB HBM3", first_uuid), 7000, 0);
	assert_float_equal(overhead_ns(f, "NVIDIA A100-SXM4-40GB", first_uuid), 0, 0);
}

/* A stand-in tells nothing of the hardware that it stands for. */
static void by_name(void **state)
{
	struct fixture *f = *state;

	assert_float_equal(overhead_ns(f, "NVIDIA H100 80GB HBM3", NULL), 4000, 0);
	assert_float_equal(overhead_ns(f, "h100", NULL), 4000, 0);
	assert_float_equal(overhead_ns(f, "Simulated NVIDIA H100 80GB HBM3", NULL), 7000, 0);
	assert_float_equal(overhead_ns(f, "k40", NULL), 0, 0);
	assert_float_equal(overhead_ns(f, "", NULL), 0, 0);
}

static void what_was_not_measured_is_not_a_number(void **state)
{
	struct fixture *f = *state;
	const struct kc_calibrated self = {"NVIDIA H200", second_uuid};
	struct kc_calibration found;

	assert_int_equal(kc_calibration_find(f->db, &self, &found), 1);
	assert_true(isnan(found.launch_overhead_ns) && isnan(found.flops_per_s));
	assert_float_equal(found.launch_gap_ns, 700.5, 0);
}

/* The models' copy of it, in the device's row. */
static void devices_keep_what_was_measured(void **state)
{
	struct fixture *f = *state;
	struct kc_device_row *rows;
	struct kc_store *s;
	size_t count;
	char why[256];

	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &s, why, sizeof(why)), 0);
	assert_int_equal(sqlite3_exec(kc_store_db(s),
				      "UPDATE device SET empty_kernel_ns = 800, copy_bytes_per_s = 3000000000000,"
				      " flops_per_s = 60000000000000 WHERE id = 1",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(kc_query_devices(s, &rows, &count), 0);
	assert_int_equal(count, 4);
	assert_int_equal(rows[0].device.empty_kernel_ns, 800);
	assert_int_equal(rows[0].device.copy_bytes_per_s, 3000000000000);
	assert_int_equal(rows[0].device.flops_per_s, 60000000000000);
	assert_int_equal(rows[0].identified, 1);
	assert_int_equal(rows[1].device.copy_bytes_per_s, 0);
	free(rows);
	kc_store_close(s);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(of_this_very_device),
	    TEST(by_name),
	    TEST(what_was_not_measured_is_not_a_number),
	    TEST(devices_keep_what_was_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
