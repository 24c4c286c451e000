/* Texts of kernels, out of a database in which anything may stand. */
#include "past_texts.h"
#include "store/database/internal.h"
#include "store/database/testing/test_rows.h"

static const char insert[] = "INSERT INTO kernel(id, mangled, name, module, code_hash, registers, static_shared_bytes) "
			     "VALUES(%u, %s, 'k', %u, %s, 1, 1);"
			     "INSERT INTO process_kernel VALUES(%lld, %u, %u);"
			     "INSERT INTO kernel_text VALUES(%u, %s, %s, zeroblob(%u))";

struct fixture {
	struct kc_store *s;
	char *folder;
	int64_t process;
	uint32_t kernels;
	struct kc__past_texts texts;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct kc_journal_header header = make_header(1, "a");

	f->folder = make_scratch();
	f->s = open_scratch(f->folder);
	assert_int_equal(kc_store_process(f->s, &header, &f->process), 0);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	kc__past_texts_free(&f->texts);
	kc_store_close(f->s);
	remove_scratch(f->folder);
	free(f);
	return 0;
}

/* A kernel of this process and its text; values as SQL. */
static void put(struct fixture *f, const char *mangled, const char *hash, const char *architecture, const char *bytes,
		uint32_t packed_bytes)
{
	uint32_t id = ++f->kernels;
	char sql[1000];

	snprintf(sql, sizeof(sql), insert, id, mangled, id, hash, (long long)f->process, id, id, id, architecture,
		 bytes, packed_bytes);
	do_sql(f->s, sql);
}

static size_t added(struct fixture *f)
{
	assert_int_equal(kc__past_texts_add(f->s, f->process, &f->texts), 0);
	return f->texts.count;
}

static void a_text_is_found_by_name_and_code_and_architecture(void **state)
{
	struct fixture *f = *state;
	const struct kc_past_text *text;

	put(f, "'a'", "7", "80", "1000", 100);
	put(f, "'a'", "8", "80", "2000", 200);
	put(f, "'a'", "7", "90", "3000", 300);
	put(f, "'b'", "7", "80", "4000", 400);
	put(f, "'b'", "7", "80", "5000", 500); /* known already, of another module */
	assert_int_equal(added(f), 4);
	assert_int_equal(f->texts.bytes, 1000);
	text = kc__past_texts_find(&f->texts, "a", 8, 80);
	assert_int_equal(text->bytes, 2000);
	assert_int_equal(text->packed_bytes, 200);
	assert_string_equal(text->mangled, "a");
	assert_int_equal(kc__past_texts_find(&f->texts, "a", 7, 80)->bytes, 1000);
	assert_int_equal(kc__past_texts_find(&f->texts, "a", 7, 90)->bytes, 3000);
	assert_int_equal(kc__past_texts_find(&f->texts, "b", 7, 80)->bytes, 4000);
	assert_null(kc__past_texts_find(&f->texts, "b", 8, 80));
	assert_null(kc__past_texts_find(&f->texts, "c", 7, 80));
	assert_int_equal(added(f), 4); /* all are known */
}

static void of_this_process_alone(void **state)
{
	struct fixture *f = *state;

	put(f, "'a'", "7", "80", "1000", 100);
	f->process++;
	assert_int_equal(added(f), 0);
	put(f, "'b'", "7", "80", "1000", 100);
	assert_int_equal(added(f), 1);
	assert_non_null(kc__past_texts_find(&f->texts, "b", 7, 80));
}

static void what_cannot_be_is_left_out(void **state)
{
	struct fixture *f = *state;

	put(f, "'a'", "0", "80", "1000", 100);
	put(f, "'b'", "7", "0", "1000", 100);
	put(f, "'c'", "7", "-80", "1000", 100);
	put(f, "'d'", "7", "4294967296", "1000", 100);
	put(f, "'e'", "7", "80", "0", 100);
	put(f, "'f'", "7", "80", "-1", 100);
	put(f, "'g'", "7", "80", "524289", 100); /* half a MiB, and one */
	put(f, "'h'", "7", "80", "1000", (64 << 10) + 1);
	put(f, "'i'", "7", "80", "1000", 0);
	assert_int_equal(added(f), 0);
	put(f, "'j'", "7", "4294967295", "524288", 64 << 10);
	put(f, "'k'", "7", "1", "1", 1);
	assert_int_equal(added(f), 2);
}

/* 2 MiB: 32 of the longest, and none beyond that but what still fits. */
static void texts_have_so_much_room(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (uint32_t i = 0; i < 31; i++) {
		snprintf(name, sizeof(name), "'k%u'", i);
		put(f, name, "7", "80", "1000", 64 << 10);
	}
	put(f, "'nearly'", "7", "80", "1000", (64 << 10) - 10);
	assert_int_equal(added(f), 32);
	put(f, "'too much'", "7", "80", "1000", 11);
	assert_int_equal(added(f), 32);
	put(f, "'the rest'", "7", "80", "1000", 10);
	assert_int_equal(added(f), 33);
	assert_int_equal(f->texts.bytes, KC_PAST_TEXTS_BYTES);
}

static void no_more_than_1024_are_kept(void **state)
{
	struct fixture *f = *state;
	char name[16];

	do_sql(f->s, "BEGIN");
	for (uint32_t i = 0; i < 1030; i++) {
		snprintf(name, sizeof(name), "'k%u'", i);
		put(f, name, "7", "80", "1000", 10);
	}
	do_sql(f->s, "COMMIT");
	assert_int_equal(added(f), 1024);
	assert_non_null(kc__past_texts_find(&f->texts, "k1023", 7, 80));
	assert_non_null(kc__past_texts_find(&f->texts, "k0", 7, 80));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(a_text_is_found_by_name_and_code_and_architecture),
	    TEST(of_this_process_alone),
	    TEST(what_cannot_be_is_left_out),
	    TEST(texts_have_so_much_room),
	    TEST(no_more_than_1024_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
