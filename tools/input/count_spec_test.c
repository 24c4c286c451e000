/* What is typed on the command line of `kerncast predict`. */
#include "count_spec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct kc_count_spec read_spec(const char *text)
{
	struct kc_count_spec spec;
	char why[256] = "";

	if (kc_count_spec(text, &spec, why, sizeof(why)) < 0)
		fail_msg("%s: %s", text, why);
	return spec;
}

static void counters(void **state)
{
	struct kc_count_spec spec = read_spec("fma=1024,blocks=16,ld_shared=2.5,threads=256,regs=32,smem=2048");

	(void)state;
	assert_int_equal(spec.kernel.blocks, 16);
	assert_int_equal(spec.kernel.threads, 256);
	assert_int_equal(spec.kernel.registers, 32);
	assert_int_equal(spec.kernel.shared_bytes, 2048);
	assert_true(spec.counts.of[KC_COUNT_OF_FMA] == 1024);
	assert_true(spec.counts.of[KC_COUNT_OF_LD_SHARED] == 2.5);
	assert_true(spec.counts.threads == 4096);
}

/* A load of 4 bytes by 32 lanes is one request of 4 sectors. */
static void what_follows(void **state)
{
	const double *n;
	struct kc_count_spec spec = read_spec("blocks=1,threads=32,ld_global=2,st_global=1,ld_shared=8");

	(void)state;
	n = spec.counts.of;
	assert_true(n[KC_COUNT_OF_BYTES_LOADED] == 8 && n[KC_COUNT_OF_BYTES_STORED] == 4);
	assert_true(n[KC_COUNT_OF_REQUESTS] == 3 / 32.0 && n[KC_COUNT_OF_SECTORS] == 12 / 32.0);
	assert_true(n[KC_COUNT_OF_SHARED_REQUESTS] == 0.25 && n[KC_COUNT_OF_SHARED_PASSES] == 0.25);
	spec = read_spec("blocks=1,threads=32,ld_global=32,sectors_per_request=32,ld_shared=32,bank_conflict_degree=4");
	assert_true(n[KC_COUNT_OF_REQUESTS] == 1 && n[KC_COUNT_OF_SECTORS] == 32);
	assert_true(n[KC_COUNT_OF_SHARED_PASSES] == 4);
	spec = read_spec("blocks=1,threads=32,ld_global=1,bytes_loaded=16,sectors=7");
	assert_true(n[KC_COUNT_OF_BYTES_LOADED] == 16 && n[KC_COUNT_OF_SECTORS] == 7);
}

/* Beside another kernel; alone these keys are refused. */
static void beside_another(void **state)
{
	struct kc_count_spec spec;
	char why[256] = "";

	(void)state;
	assert_int_equal(
	    kc_neighbour_spec("blocks=8,threads=64,time=2ms,cluster=2,fma=3,footprint=48K", &spec, why, sizeof(why)),
	    0);
	assert_int_equal(spec.kernel.time_ns, 2000000);
	assert_int_equal(spec.kernel.cluster_blocks, 2);
	assert_true(spec.footprint_bytes == 49152 && spec.has_counters);
	assert_int_equal(kc_neighbour_spec("blocks=8,threads=64", &spec, why, sizeof(why)), 0);
	assert_true(spec.footprint_bytes == KC_FOOTPRINT_UNKNOWN && !spec.has_counters);
	assert_int_equal(kc_neighbour_spec("blocks=8,threads=64,footprint=-1", &spec, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "footprint=-1"));
	assert_int_equal(kc_neighbour_spec("blocks=8,threads=64,nosuch=1", &spec, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "footprint="));
	assert_int_equal(kc_count_spec("blocks=8,threads=64,time=2ms,fma=1", &spec, why, sizeof(why)), -EINVAL);
	assert_int_equal(kc_count_spec("blocks=8,threads=64,footprint=1,fma=1", &spec, why, sizeof(why)), -EINVAL);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
	    {"blocks=1,threads=1,fma=-1", "fma=-1"},
	    {"blocks=1,threads=1,fma=nan", "fma=nan"},
	    {"blocks=1,threads=1,fma=1x", "fma=1x"},
	    {"blocks=1,threads=1,fma", "\"fma\""},
	    {"blocks=1,threads=1,zip=1", "\"zip\""},
	    {"blocks=1,threads=1,time=1ms", "\"time\""},
	    {"blocks=0,threads=1,fma=1", "blocks="},
	    {"fma=1", "blocks="},
	    {"", "\"\""},
	    {"blocks=1,threads=1,fma=1e300", "1e300"},
	};
	struct kc_count_spec spec;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = '\0';
		assert_int_equal(kc_count_spec(bad[i].text, &spec, why, sizeof(why)), -EINVAL);
		if (!strstr(why, bad[i].why))
			fail_msg("%s: \"%s\" does not say %s", bad[i].text, why, bad[i].why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(counters),
	    cmocka_unit_test(what_follows),
	    cmocka_unit_test(beside_another),
	    cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
