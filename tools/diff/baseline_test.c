#include "baseline.h"
#include "diff_testing.h"

#include <errno.h>
#include <unistd.h>

#define SHAPE "{\"shape\": [1, 1, 1, 32, 1, 1, 0], \"units\": [[1, 1, 4, 1000, 0]]}"

static char folder[] = "/tmp/kc-baseline-XXXXXX", path[64];

static void write_file(struct made *m)
{
	FILE *to = fopen(path, "w");

	assert_non_null(to);
	assert_int_equal(kc_baseline_write(&m->names, m->runs, "run 1 of x.db", to), 0);
	assert_int_equal(fclose(to), 0);
}

static void read_file(struct kc_measured_names *names, struct kc_baseline *out)
{
	char why[256];

	assert_int_equal(kc_baseline_read(path, names, out, why, sizeof(why)), 0);
}

static const struct kc_diff_item *item_in(const struct kc_baseline *baseline, size_t i)
{
	assert_true(i < baseline->items.count);
	return (const struct kc_diff_item *)baseline->items.at + i;
}

static long size_of_file(void)
{
	FILE *from = fopen(path, "r");
	long size;

	fseek(from, 0, SEEK_END);
	size = ftell(from);
	fclose(from);
	return size;
}

static int read_it(void)
{
	struct kc_measured_names names = {0};
	struct kc_baseline baseline;
	char why[256] = "";
	int rc = kc_baseline_read(path, &names, &baseline, why, sizeof(why));
	assert_true(rc == 0 || *why);
	kc_baseline_free(&baseline);
	kc_measured_names_free(&names);
	return rc;
}

static int read_text(const char *text)
{
	FILE *to = fopen(path, "w");

	fputs(text, to);
	fclose(to);
	return read_it();
}

/* 16 launches of 10 us and 16 of 20 us after them: eight parts of four launches, the first four 1/3 below the mean. */
static void what_is_written_is_read(void **state)
{
	struct made m = {0};
	struct kc_measured_names names = {0};
	struct kc_baseline baseline;
	const struct kc_diff_item *items;

	(void)state;
	for (int i = 0; i < 34; i++)
		launch(&m, 0, "k", i < 18 ? 10000 : 20000);
	write_file(&m);
	read_file(&names, &baseline);
	assert_string_equal(baseline.source, "run 1 of x.db");
	assert_int_equal(names.kernels.count, 1);
	assert_string_equal(kc_measured_kernel(&names, 0)->name, "k");
	assert_int_equal(kc_measured_shape(&names, 0)->block[0], 128);
	/* Of the two first launches, none and one came before: units of one part each. */
	assert_int_equal(baseline.items.count, 10);
	items = baseline.items.at;
	for (int i = 0, part = 0; i < 10; i++)
		if (items[i].count > 1) {
			assert_int_equal(items[i].count, 4);
			assert_int_equal(items[i].company, KC_COMPANY_NONE);
			assert_true(near(items[i].ns, 15000, 0.5));
			assert_true(near(exp(items[i].log), part < 4 ? 10000 : 20000, 2));
			assert_true(near(items[i].at, (part + 0.5) / 8, 1e-6));
			part++;
		}
	kc_baseline_free(&baseline);
	kc_measured_names_free(&names);
	made_free(&m);
}

/* Of the run, "_Z4keptv" is known; "_Z1fv" is in the baseline alone, which does not keep its mangled name. */
static void kernels_can_be_chosen(void **state)
{
	static const struct {
		const char *kernel;
		size_t items;
	} cases[] = {{"^_Z4keptv$", 1}, {"kept|f", 2}, {"^readable f$", 1}, {"^[0-9a-f]{16}$", 0}, {"nothing", 0}};
	static const char text[] =
	    "{\"schema\": \"kerncast.baseline/1\", \"source\": \"s\", \"devices\": \"d\", \"simulated\": false,"
	    " \"kernels\": [{\"id\": \"%016llx\", \"name\": \"readable kept\", \"shapes\": [" SHAPE "]},"
	    " {\"id\": \"0123456789abcdef\", \"name\": \"readable f\", \"shapes\": [" SHAPE "]}],"
	    " \"others\": {\"ids\": [], \"ns\": 0}}";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kc_measured_names names = {0};
		struct kc_filter_choice choice = {0};
		struct kc_baseline baseline;
		FILE *to = fopen(path, "w");
		char why[256];
		uint32_t number;

		fprintf(to, text, (unsigned long long)kc_fnv(KC_FNV_OFFSET, "_Z4keptv", strlen("_Z4keptv")));
		fclose(to);
		assert_int_equal(kc_measured_kernel_number(&names, "_Z4keptv", "readable kept", &number), 0);
		assert_int_equal(kc_baseline_read(path, &names, &baseline, why, sizeof(why)), 0);
		assert_int_equal(kc_filter_regex(&choice.kernel, cases[i].kernel, why, sizeof(why)), 0);
		assert_int_equal(kc_baseline_choose(&baseline, &names, &choice), 0);
		assert_int_equal(baseline.items.count, cases[i].items);
		kc_filter_choice_free(&choice);
		kc_baseline_free(&baseline);
		kc_measured_names_free(&names);
	}
}

/* 32 launches of 10 us but one of 1 ms, which is moved to 5 % (of the logarithm) above the others: a part of four is
 * 1.25 % above them. The mean stays what it was, (31 * 10 us + 1 ms) / 32. */
static void outliers_are_clipped(void **state)
{
	struct made m = {0};
	struct kc_measured_names names = {0};
	struct kc_baseline baseline;
	size_t parts = 0, longer = 0;

	(void)state;
	for (int i = 0; i < 34; i++)
		launch(&m, 0, "k", i == 20 ? 1000000 : 10000);
	write_file(&m);
	read_file(&names, &baseline);
	for (size_t i = 0; i < baseline.items.count; i++) {
		const struct kc_diff_item *item = item_in(&baseline, i);
		int is_longer = item->log > log(10050);

		if (item->count == 1) /* the first two launches */
			continue;
		assert_true(near(item->ns, (31 * 10000 + 1000000) / 32.0, 0.5));
		assert_true(near(exp(item->log), is_longer ? 10000 * exp(0.05 / 4) : 10000, 5));
		longer += (size_t)is_longer;
		parts++;
	}
	assert_int_equal(parts, 8);
	assert_int_equal(longer, 1);
	kc_baseline_free(&baseline);
	kc_measured_names_free(&names);
	made_free(&m);
}

/* Ten launches in eight parts, as they are in eight cells: launch i in part 8 i / 10, without its fraction. */
static void parts_are_as_cells(void **state)
{
	static const uint32_t counts[8] = {2, 1, 1, 1, 2, 1, 1, 1};
	struct made m = {0};
	struct kc_baseline baseline;
	size_t part = 0;

	(void)state;
	launch_times(&m, 0, 12, "k");
	write_file(&m);
	read_file(&m.names, &baseline);
	for (size_t i = 0; i < baseline.items.count; i++) {
		const uint64_t k = kc_diff_shape_hash(&m.names, 0);

		if (item_in(&baseline, i)->before[0] == kc_diff_position(k, k))
			assert_int_equal(item_in(&baseline, i)->count, counts[part++]);
	}
	assert_int_equal(part, 8);
	kc_baseline_free(&baseline);
	made_free(&m);
}

/* a is not measured, and k overlaps it: nothing is known of a but that k comes after it, and before that after k. */
static void company_and_position_are_kept(void **state)
{
	struct made m = {0};
	struct kc_baseline baseline;
	size_t found = 0;

	(void)state;
	for (int i = 0; i < 9; i++) {
		launch(&m, 0, "k", 10000)->overlap = KC_OVERLAP_BEHIND;
		launch(&m, 0, "a", 0);
	}
	m.runs[0].simulated = 1;
	write_file(&m);
	read_file(&m.names, &baseline);
	assert_true(baseline.simulated);
	for (size_t i = 0; i < baseline.items.count; i++) {
		uint64_t a = kc_diff_shape_hash(&m.names, shape_of(&m, "a", 1));
		uint64_t k = kc_diff_shape_hash(&m.names, shape_of(&m, "k", 1));

		assert_int_equal(item_in(&baseline, i)->shape, shape_of(&m, "k", 1));
		assert_int_equal(item_in(&baseline, i)->company, KC_COMPANY_SOME);
		found += item_in(&baseline, i)->before[0] == kc_diff_position(a, k);
	}
	assert_int_equal(found, 8);
	kc_baseline_free(&baseline);
	made_free(&m);
}

/* 99 letters and one of two bytes are 101 bytes, of which 100 fit. */
static void names_are_cut_between_characters(void **state)
{
	struct made m = {0};
	struct kc_measured_names names = {0};
	struct kc_baseline baseline;
	char name[102];

	(void)state;
	memset(name, 'x', 99);
	strcpy(name + 99, "\xc3\xa9");
	launch(&m, 0, name, 10000);
	write_file(&m);
	read_file(&names, &baseline);
	name[99] = '\0';
	assert_string_equal(kc_measured_kernel(&names, 0)->name, name);
	kc_baseline_free(&baseline);
	kc_measured_names_free(&names);
	made_free(&m);
}

/* The same kernel 20 % slower is found against the file as it is against the run. */
static void a_baseline_stands_for_a_run(void **state)
{
	struct made m = {0};
	struct kc_baseline baseline;
	struct kc_diff d;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 60; i++) {
			launch(&m, run, "same", 10000 * (1 + 0.01 * normal()));
			launch(&m, run, "slow", 10000 * (run ? 1.2 : 1) * (1 + 0.01 * normal()));
		}
	write_file(&m);
	read_file(&m.names, &baseline);
	compare_parts(&m, &baseline.items, 1, &d);
	assert_int_equal(reported(&d), 1);
	assert_int_equal(kernel_named(&m, &d, "slow")->what, KC_DIFF_SLOWER);
	assert_true(
	    near(kernel_named(&m, &d, "slow")->estimate.ns[KC_NEW] / kernel_named(&m, &d, "slow")->estimate.ns[KC_OLD],
		 1.2, 0.01));
	kc_diff_free(&d);
	kc_baseline_free(&baseline);
	made_free(&m);
}

/* 400 kernels with long names do not fit. What does not is named by number, and taken out of NEW. They come in one
 * order and in the reverse, in which they take 30 % longer. */
static void it_stays_small(void **state)
{
	struct made m = {0};
	struct kc_baseline baseline;
	char name[300];
	const struct kc_measured_launch *launches;
	struct kc_diff d;
	size_t left_out = 0;
	double left_ns = 0, all_ns = 0;

	(void)state;
	for (int run = 0; run < 2; run++)
		for (int i = 0; i < 10; i++)
			for (int k = 0; k < 400; k++) {
				int number = i % 2 ? 399 - k : k;

				snprintf(name, sizeof(name), "%0250d", number);
				launch(&m, run, name, (1000 + number) * (i % 2 ? 1.3 : 1));
			}
	write_file(&m);
	/* Beside the kernels: 20 bytes for each of the others, and the rest of the document. */
	assert_in_range(size_of_file(), KC_BASELINE_BYTES - 1000, KC_BASELINE_BYTES + 400 * 20 + 500);
	read_file(&m.names, &baseline);
	assert_in_range(baseline.other_count, 300, 380);
	assert_int_equal(kc_baseline_leave_out(&baseline, &m.names, m.runs + 1), 0);
	launches = m.runs[1].launches.at;
	for (size_t i = 0; i < m.runs[1].launches.count; i++) {
		left_out += launches[i].ns == 0;
		left_ns += (double)launches[i].ns;
		all_ns += (double)((const struct kc_measured_launch *)m.runs[0].launches.at)[i].ns;
	}
	assert_int_equal(left_out, 10 * baseline.other_count);
	assert_true(near(left_ns + baseline.other_ns, all_ns, 1e-3));
	/* In the first round, from the one that takes least to the one that takes most: those that take most fit. */
	assert_true(launches[0].ns == 0 && launches[399].ns > 0);
	/* Those that are left are where they were: the same run again has not changed, to 1 in 10,000. */
	compare_parts(&m, &baseline.items, 1, &d);
	assert_int_equal(d.compared, 400 - baseline.other_count);
	for (size_t i = 0; i < d.count; i++)
		assert_true(near(d.kernels[i].estimate.log_change, 0, 2e-4));
	kc_diff_free(&d);
	kc_baseline_free(&baseline);
	made_free(&m);
}

#define DOCUMENT(unit)                                                                                                 \
	"{\"schema\": \"kerncast.baseline/1\", \"source\": \"x\", \"devices\": \"d\", \"simulated\": false, "          \
	"\"kernels\": [{\"id\": \"1\","                                                                                \
	" \"name\": \"k\", \"shapes\": [{\"shape\": [1,1,1,32,1,1,0], \"units\": [" unit                               \
	"]}]}], \"others\": {\"ns\": 0, \"ids\": []}}"

static void damaged_files_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_text(DOCUMENT("[1,5,10,1000,0,1,-1]")), 0);
	assert_int_equal(read_text(""), -EINVAL);
	assert_int_equal(read_text("{}"), -EINVAL);
	assert_int_equal(read_text("{\"schema\": \"kerncast.report/1\"}"), -EINVAL);
	assert_int_equal(read_text(DOCUMENT("[1,5,10,1000]")), -EINVAL);                  /* no part */
	assert_int_equal(read_text(DOCUMENT("[1,5,2,1000,0,0,0]")), -EINVAL);             /* more parts than launches */
	assert_int_equal(read_text(DOCUMENT("[3,5,10,1000,0]")), -EINVAL);                /* company */
	assert_int_equal(read_text(DOCUMENT("[1,70000,10,1000,0]")), -EINVAL);            /* position */
	assert_int_equal(read_text(DOCUMENT("[1,5,10,0,0]")), -EINVAL);                   /* 0 ns */
	assert_int_equal(read_text(DOCUMENT("[1,5,10,1000,-10000]")), -EINVAL);           /* a part of 0 ns */
	assert_int_equal(read_text(DOCUMENT("[1,5,99999999999,1000,0]")), -EINVAL);       /* launches */
	assert_int_equal(read_text(DOCUMENT("[1,5,10,9000000000000000000,0]")), -EINVAL); /* 285 years */
	assert_int_equal(read_text(DOCUMENT("[1,5,-1,1000,0]")), -EINVAL);
	assert_int_equal(read_text(DOCUMENT("\"x\"")), -EINVAL);
	assert_int_equal(read_text(DOCUMENT("")), -EINVAL); /* no unit */
	assert_int_equal(read_text(DOCUMENT("[1,5,10,1000,0.5]")), -EINVAL);
	assert_int_equal(read_text(DOCUMENT("[1,5,10,1000,\"0\"]")), -EINVAL);
}

/* A document with so many times the same kernel, or the same unit of eight parts, and with so many blanks before it. */
static int read_many(int kernels, int units, size_t blanks)
{
	FILE *to = fopen(path, "w");

	fprintf(to, "%*s{\"schema\": \"kerncast.baseline/1\", \"source\": \"x\", \"devices\": \"d\", \"kernels\": [",
		(int)blanks, "");
	for (int k = 0; k < kernels; k++) {
		fprintf(to,
			"%s{\"id\": \"%x\", \"name\": \"k\", \"shapes\": [{\"shape\": [1,1,1,32,1,1,0], \"units\": [",
			k ? "," : "", k);
		for (int u = 0; u < units; u++)
			fprintf(to, "%s[1,5,8,1000,0,0,0,0,0,0,0,0]", u ? "," : "");
		fputs("]}]}", to);
	}
	fputs("], \"others\": {\"ns\": 0, \"ids\": []}}", to);
	fclose(to);
	return read_it();
}

static void large_files_are_refused(void **state)
{
	(void)state;
	assert_int_equal(read_many(1024, 1, 0), 0);
	assert_int_equal(read_many(1025, 1, 0), -EINVAL);
	assert_int_equal(read_many(1, 8192, 0), 0); /* 65,536 parts */
	assert_int_equal(read_many(1, 8193, 0), -EINVAL);
	assert_int_equal(read_many(1, 1, 1000000), 0);
	assert_int_equal(read_many(1, 1, 1 << 20), -EINVAL);
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/b.json", folder);
	return 0;
}

static int clean_up(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_written_is_read),       cmocka_unit_test(kernels_can_be_chosen),
	    cmocka_unit_test(outliers_are_clipped),          cmocka_unit_test(parts_are_as_cells),
	    cmocka_unit_test(company_and_position_are_kept), cmocka_unit_test(names_are_cut_between_characters),
	    cmocka_unit_test(a_baseline_stands_for_a_run),   cmocka_unit_test(it_stays_small),
	    cmocka_unit_test(damaged_files_are_refused),     cmocka_unit_test(large_files_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, clean_up);
}
