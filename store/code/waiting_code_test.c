/*
 * Kernels whose code nobody has read, in a database written as the library writes it, and what the next command makes
 * of them. Each thread of a kernel kN runs N + 1 additions of floating-point numbers.
 */
#include "waiting_code.h"
#include "store/database/internal.h"
#include "store/database/testing/test_rows.h"

#include "store/past/past.h"

#include "predictor/code/stored/code_file.h"
#include "predictor/code/stored/packed_text.h"
#include "predictor/code/ptx/ptx.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define NOBODY 65534
#define HASH UINT64_C(0xABC) /* of put_kernel() */
#define PREFIX "some bytes in front of it"

struct fixture {
	char *directory;
	char path[256], code[256];
	struct kc_store *store;
	uint64_t index;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	f->directory = make_scratch();
	snprintf(f->path, sizeof(f->path), "%s/k.db", f->directory);
	snprintf(f->code, sizeof(f->code), "%s/code", f->directory);
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

/* A file with PTX of `kernels` kernels behind PREFIX, for this architecture. */
static void write_code(const struct fixture *f, const char *architecture, int kernels)
{
	FILE *file = fopen(f->code, "w");

	assert_non_null(file);
	fprintf(file, PREFIX ".version 8.0\n.target %s\n.address_size 64\n", architecture);
	for (int k = 0; k < kernels; k++) {
		fprintf(file, ".visible .entry k%d(.param .u64 p0)\n{\n.reg .f32 %%f<4>;\n.shared .b8 s[64];\n", k);
		for (int i = 0; i <= k; i++)
			fprintf(file, "add.f32 %%f1, %%f2, %%f3;\n");
		fprintf(file, "ret;\n}\n");
	}
	fclose(file);
}

static void begin(struct fixture *f)
{
	struct kc_journal_header header = make_header(42, "run-a");
	int64_t process;

	assert_int_equal(kc_store_open(f->path, KC_STORE_WRITE, &f->store, NULL, 0), 0);
	assert_int_equal(kc_store_process(f->store, &header, &process), 0);
	assert_int_equal(kc_store_begin(f->store), 0);
}

static void end(struct fixture *f)
{
	assert_int_equal(kc_store_commit(f->store), 0);
	kc_store_close(f->store);
}

static void put_place(struct fixture *f, const char *path, uint64_t offset, uint64_t length, uint64_t hash)
{
	struct {
		struct kc_code_place_entry entry;
		char path[256];
	} place = {{.code_hash = HASH, .offset = offset, .length = length, .hash = hash, .pieces = 1}, ""};

	snprintf(place.path, sizeof(place.path), "%s", path);
	put_entry(f->store, &f->index, KC_KIND_CODE_PLACE, &place, sizeof(place.entry) + strlen(path) + 1);
}

static void put_code(struct fixture *f, uint32_t kernel, enum kc_code_state state, const char *text)
{
	struct {
		struct kc_code_entry entry;
		char text[256];
	} code = {{.kernel = kernel, .state = (uint16_t)state}, ""};

	snprintf(code.text, sizeof(code.text), "%s", text);
	put_entry(f->store, &f->index, KC_KIND_CODE, &code, sizeof(code.entry) + strlen(text) + 1);
}

/* Launched on a device of compute capability 8.0. */
static void put_launched(struct fixture *f, int kernels)
{
	struct kc_device_entry device = {.driver_version = 13000,
					 .device = {.name = "Test device", .sm_count = 15, .cc_major = 8}};

	put_entry(f->store, &f->index, KC_KIND_DEVICE, &device, sizeof(device));
	for (int k = 0; k < kernels; k++) {
		struct kc_slot launch;
		char name[16];

		snprintf(name, sizeof(name), "k%d", k);
		put_kernel(f->store, &f->index, (uint32_t)k + 1, name, "/app");
		launch = make_launch(f->index++, (uint32_t)k + 1, 1000, 100, 100);
		assert_int_equal(kc_store_slot(f->store, &launch), 0);
	}
}

/* What a process leaves that launches these kernels and reads none. */
static void record(struct fixture *f, int kernels)
{
	struct kc_code_file file;
	struct stat st;
	uint64_t hash;

	assert_int_equal(stat(f->code, &st), 0);
	assert_int_equal(kc_code_file_open(&file, f->code, strlen(PREFIX), (uint64_t)st.st_size - strlen(PREFIX)), 0);
	assert_int_equal(kc_code_file_hash(&file, &hash), 0);
	close(file.fd);
	begin(f);
	put_launched(f, kernels);
	put_place(f, f->code, file.offset, file.length, hash);
	end(f);
}

static void write_and_record(struct fixture *f, int kernels)
{
	write_code(f, "sm_80", kernels);
	record(f, kernels);
}

static struct kc_waiting_code read_for(const struct fixture *f, int64_t limit_ns)
{
	struct kc_waiting_code code;
	struct kc_store *s;

	assert_int_equal(kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0), 0);
	assert_int_equal(kc_waiting_code_read(s, limit_ns, &code), 0);
	assert_int_equal(sqlite3_exec(kc_store_db(s), "DELETE FROM kernel", NULL, NULL, NULL), SQLITE_READONLY);
	kc_store_close(s);
	return code;
}

static struct kc_waiting_code read_all(const struct fixture *f)
{
	return read_for(f, KC_WAITING_CODE_NS);
}

static void change(const struct fixture *f, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void expect(const struct fixture *f, const char *sql, const char *text)
{
	sqlite3_stmt *row;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(row), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(row, 0), text);
	sqlite3_finalize(row);
	sqlite3_close(db);
}

#define CODES "SELECT group_concat(code, ', ') FROM (SELECT code FROM kernel ORDER BY id)"
#define FORMULAS                                                                                                       \
	"SELECT group_concat(coalesce(cost_formula, '-'), ', ') FROM (SELECT cost_formula FROM kernel ORDER BY id)"

static void what_was_not_read_is_read_by_the_next_command(void **state)
{
	struct fixture *f = *state;
	struct kc_waiting_code code;

	write_and_record(f, 3);
	expect(f, CODES, "waits, waits, waits");
	code = read_all(f);
	assert_int_equal(code.read, 3);
	assert_int_equal(code.left, 0);
	expect(f, CODES, "read, read, read");
	expect(f, FORMULAS, "add = 1; control = 1, add = 2; control = 1, add = 3; control = 1");
	code = read_all(f);
	assert_int_equal(code.read, 0);
}

/* The next run reads the kernel alone: it is not the first in its module. */
static void the_code_of_a_kernel_is_kept_for_the_next_run(void **state)
{
	const struct kc_past_options options = {.executable = "/usr/bin/app"};
	struct fixture *f = *state;
	const struct kc_past_text *text;
	struct kc_ptx_module module;
	struct kc_past *past;
	char *ptx;

	write_and_record(f, 3);
	read_all(f);
	assert_int_equal(kc_past_load(f->path, &options, &past, NULL, 0), 0);
	assert_null(kc_past_text(past, "k1", HASH, 90)); /* it was launched on another device */
	assert_null(kc_past_text(past, "k1", HASH + 1, 80));
	assert_null(kc_past_text(past, "k9", HASH, 80));
	text = kc_past_text(past, "k1", HASH, 80);
	assert_non_null(text);
	ptx = kc_text_unpack(text->packed, text->packed_bytes, text->bytes);
	assert_non_null(ptx);
	assert_int_equal(kc_ptx_parse(&module, ptx, text->bytes, 1 << 20, NULL), 0);
	assert_int_equal(module.function_count, 1);
	assert_non_null(kc_ptx_find(&module, "k1"));
	kc_ptx_free(&module);
	free(ptx);
	kc_past_free(past);
	change(f, "INSERT INTO learned VALUES(1, 1, 1, zeroblob(200))"); /* which the text does not rest on */
	assert_int_equal(kc_past_load(f->path, &options, &past, NULL, 0), -EBADMSG);
	assert_non_null(kc_past_text(past, "k1", HASH, 80));
	kc_past_free(past);
}

static void without_time_each_command_reads_one_the_newest_first(void **state)
{
	static const char *const after[] = {"waits, waits, read", "waits, read, read", "read, read, read"};
	struct fixture *f = *state;

	write_and_record(f, 3);
	for (uint32_t i = 0; i < 3; i++) {
		struct kc_waiting_code code = read_for(f, 0);

		assert_int_equal(code.read, 1);
		assert_int_equal(code.left, 2 - i);
		expect(f, CODES, after[i]);
	}
}

static void a_later_run_that_reads_nothing_leaves_what_is_known(void **state)
{
	struct fixture *f = *state;

	write_and_record(f, 2);
	read_all(f);
	begin(f);
	put_launched(f, 2);
	put_code(f, 1, KC_CODE_WAITS, "");
	put_code(f, 2, KC_CODE_NO_PTX, KC_CODE_CUBIN_ALONE);
	end(f);
	expect(f, CODES, "read, read");
	expect(f, FORMULAS, "add = 1; control = 1, add = 2; control = 1");
	begin(f);
	put_launched(f, 1);
	put_code(f, 1, KC_CODE_READ, "");
	end(f);
	expect(f, CODES, "read, read");
	expect(f, FORMULAS, "add = 1; control = 1, add = 2; control = 1");
}

static void what_a_process_has_found_out_is_not_waited_for(void **state)
{
	struct fixture *f = *state;

	write_and_record(f, 2);
	begin(f);
	put_launched(f, 2);
	put_code(f, 1, KC_CODE_REFUSED, "offset 1: what");
	put_code(f, 1, KC_CODE_WAITS, "");
	end(f);
	expect(f, CODES, "refused: offset 1: what, waits");
	assert_int_equal(read_all(f).read, 1);
	expect(f, CODES, "refused: offset 1: what, read");
}

static void code_that_changed_is_not_read_until_it_is_back(void **state)
{
	struct fixture *f = *state;
	char aside[300];

	write_and_record(f, 1);
	snprintf(aside, sizeof(aside), "%s.aside", f->code);
	assert_int_equal(rename(f->code, aside), 0);
	assert_int_equal(read_all(f).read, 0);
	write_code(f, "sm_75", 1); /* of the same length */
	assert_int_equal(read_all(f).read, 0);
	assert_int_equal(unlink(f->code), 0);
	assert_int_equal(symlink(aside, f->code), 0);
	assert_int_equal(read_all(f).read, 0);
	expect(f, CODES, "waits");
	assert_int_equal(rename(aside, f->code), 0);
	assert_int_equal(read_all(f).read, 1);
}

static void ptx_for_another_architecture_says_so(void **state)
{
	struct fixture *f = *state;

	write_code(f, "sm_90", 2);
	record(f, 2);
	change(f, "UPDATE kernel SET static_shared_bytes = 64 WHERE mangled = 'k0'"); /* as s takes; k1: 0 */
	assert_int_equal(read_all(f).read, 1);
	expect(f, "SELECT code FROM kernel WHERE mangled = 'k0'", "read from compute_90");
	expect(f,
	       "SELECT code LIKE 'refused: offset %: the code for the device takes another amount of shared memory'"
	       " FROM kernel WHERE mangled = 'k1'",
	       "1");
}

static void what_the_code_lacks_is_said_and_not_looked_for_again(void **state)
{
	struct fixture *f = *state;

	write_code(f, "sm_80", 1);
	record(f, 2);
	assert_int_equal(read_all(f).read, 1);
	expect(f, CODES, "read, no PTX");
}

static void places_that_no_process_has_written_do_no_harm(void **state)
{
	static const char *const changes[] = {
	    "UPDATE code_place SET path = '/dev/zero'",
	    "UPDATE code_place SET path = '/proc/self/mem'",
	    "UPDATE code_place SET path = rtrim(path, 'code')",
	    "UPDATE code_place SET path = 'code'",
	    "UPDATE code_place SET path = x'00'",
	    "UPDATE code_place SET path = printf('/%.*c', 100000, 'x')",
	    "UPDATE code_place SET offset = -1",
	    "UPDATE code_place SET offset = 9223372036854775807",
	    "UPDATE code_place SET length = 0",
	    "UPDATE code_place SET length = -1",
	    "UPDATE code_place SET length = 'long'",
	    "UPDATE code_place SET length = 9223372036854775807",
	    "UPDATE code_place SET hash = hash + 1",
	    "UPDATE code_place SET pieces = 2",
	    "UPDATE code_place SET pieces = 0",
	    "INSERT INTO code_place WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)"
	    " SELECT code_hash, i, 101, path, offset, length, hash FROM code_place, n",
	    "DELETE FROM shape",
	    "UPDATE shape SET device = 99",
	    "UPDATE kernel SET code_hash = 1",
	};
	struct fixture *f = *state;

	write_and_record(f, 1);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		char kept[1200];

		snprintf(kept, sizeof(kept), "cp '%s' '%s.kept'", f->path, f->path);
		assert_int_equal(system(kept), 0);
		change(f, changes[i]);
		assert_int_equal(read_all(f).read, 0);
		expect(f, CODES, "waits");
		snprintf(kept, sizeof(kept), "mv '%s.kept' '%s'; rm -f '%s-wal' '%s-shm'", f->path, f->path, f->path,
			 f->path);
		assert_int_equal(system(kept), 0);
	}
	change(f, "UPDATE kernel SET mangled = x'ff00', registers = NULL WHERE 0;"
		  "UPDATE device SET cc_major = -1, cc_minor = 1e300");
	read_all(f);
	change(f, "UPDATE kernel SET code = 'waits', mangled = x'ff00'");
	read_all(f);
	expect(f, CODES, "no PTX");
}

static int try_as_nobody(struct fixture *f)
{
	struct kc_waiting_code code;
	struct kc_store *s;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 9;
	if (kc_store_open(f->path, KC_STORE_READ, &s, NULL, 0))
		return 1;
	if (kc_waiting_code_read(s, KC_WAITING_CODE_NS, &code) != -EACCES || code.read)
		return 2;
	kc_store_close(s);
	return 0;
}

static void where_nothing_can_be_stored_nothing_is_read(void **state)
{
	struct fixture *f = *state;
	int status;
	pid_t child;

	if (getuid() != 0)
		skip();
	write_and_record(f, 1);
	assert_int_equal(chmod(f->directory, 0755) | chmod(f->path, 0644), 0);
	child = fork();
	if (child == 0)
		_exit(try_as_nobody(f));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	expect(f, CODES, "waits");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(what_was_not_read_is_read_by_the_next_command),
	    TEST(the_code_of_a_kernel_is_kept_for_the_next_run),
	    TEST(without_time_each_command_reads_one_the_newest_first),
	    TEST(a_later_run_that_reads_nothing_leaves_what_is_known),
	    TEST(what_a_process_has_found_out_is_not_waited_for),
	    TEST(code_that_changed_is_not_read_until_it_is_back),
	    TEST(ptx_for_another_architecture_says_so),
	    TEST(what_the_code_lacks_is_said_and_not_looked_for_again),
	    TEST(places_that_no_process_has_written_do_no_harm),
	    TEST(where_nothing_can_be_stored_nothing_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
