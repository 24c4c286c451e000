/* What people type for a device, and which devices they may mean. */
#include "device.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static unsigned place_of(const char *alias)
{
	unsigned i = 0;

	while (kc_device_builtin_at(i) && strcmp(kc_device_builtin_alias(i), alias))
		i++;
	assert_non_null(kc_device_builtin_at(i));
	return i;
}

/* Whole words and numbers, unless what follows makes it another model: a 4090 D is no 4090, an L40S no L40. */
static void a_name_is_matched_by_its_parts(void **state)
{
	static const struct {
		const char *alias, *typed;
		enum kc_device_match match;
	} cases[] = {
	    {"rtx4090", "rtx4090", KC_MATCH_WHOLE},
	    {"rtx4090", "RTX 4090", KC_MATCH_WHOLE},
	    {"rtx4090", "NVIDIA GeForce RTX 4090", KC_MATCH_WHOLE},
	    {"rtx4090", "geforce rtx-4090", KC_MATCH_WHOLE},
	    {"rtx4090", "4090", KC_MATCH_PARTS},
	    {"rtx4090", "rtx", KC_MATCH_PARTS},
	    {"rtx4090", "rtx 40", KC_MATCH_LETTERS},
	    {"rtx4090", "090", KC_MATCH_LETTERS},
	    {"rtx4090", "tx", KC_MATCH_LETTERS},
	    {"rtx4090", "4091", KC_MATCH_NONE},
	    {"rtx4090", "geforce", KC_MATCH_NONE},
	    {"rtx4090", "nvidia", KC_MATCH_NONE},
	    {"rtx4090", "nvidiartx4090", KC_MATCH_NONE},
	    {"rtx4090", "", KC_MATCH_NONE},
	    {"rtx4090", " -_", KC_MATCH_NONE},
	    {"rtx4090d", "4090", KC_MATCH_LETTERS},
	    {"rtx4090d", "4090d", KC_MATCH_PARTS},
	    {"rtx4090d", "RTX 4090 D", KC_MATCH_WHOLE},
	    {"rtx4090-laptop", "4090", KC_MATCH_LETTERS},
	    {"rtx4090-laptop", "4090 laptop", KC_MATCH_PARTS},
	    {"rtx4070", "4070", KC_MATCH_PARTS},
	    {"rtx4070super", "4070", KC_MATCH_LETTERS},
	    {"rtx4070ti", "4070", KC_MATCH_LETTERS},
	    {"rtx4070ti", "4070 Ti", KC_MATCH_PARTS},
	    {"rtx4070ti-super", "4070 Ti", KC_MATCH_LETTERS},
	    {"rtx4070ti-super", "4070 ti super", KC_MATCH_PARTS},
	    {"gtx1080", "1080", KC_MATCH_PARTS},
	    {"gtx1080ti", "1080", KC_MATCH_LETTERS},
	    {"a10", "a10", KC_MATCH_WHOLE},
	    {"a100", "a10", KC_MATCH_LETTERS},
	    {"a100", "a100", KC_MATCH_WHOLE},
	    {"a1000", "a100", KC_MATCH_LETTERS},
	    {"a100-80gb", "a100", KC_MATCH_PARTS},
	    {"a100-80gb", "a100-80", KC_MATCH_PARTS},
	    {"a100-80gb", "a100-8", KC_MATCH_LETTERS},
	    {"l40", "l40", KC_MATCH_WHOLE},
	    {"l40s", "l40", KC_MATCH_LETTERS},
	    {"h100", "h100 80gb", KC_MATCH_NAME_PARTS},
	    {"h100", "80gb hbm3", KC_MATCH_NAME_PARTS},
	    {"h100", "100", KC_MATCH_PARTS},
	    {"k40", "tesla k40", KC_MATCH_WHOLE},
	    {"k40", "40", KC_MATCH_PARTS},
	};

	(void)state;
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		enum kc_device_match match = kc_device_builtin_match(place_of(cases[n].alias), cases[n].typed);

		if (match != cases[n].match)
			print_message("%s typed as \"%s\"\n", cases[n].alias, cases[n].typed);
		assert_int_equal(match, cases[n].match);
	}
}

/* Of a name of any length no more than its first letters are looked at. */
static void long_names(void **state)
{
	char typed[200] = "";

	(void)state;
	for (size_t length = 0; length + 1 < sizeof(typed); length++) {
		typed[length] = 'x';
		assert_int_equal(kc_device_builtin_match(place_of("rtx4090"), typed),
				 length ? KC_MATCH_NONE : KC_MATCH_LETTERS);
		assert_null(kc_device_builtin_meant(typed));
		assert_int_equal(kc_device_is_foreign(typed), 0);
	}
	assert_int_equal(kc_device_builtin_match(1000000, "4090"), KC_MATCH_NONE);
}

/* Each is itself, by its short name and by its full one, whatever stands between the words. */
static void every_device_is_itself(void **state)
{
	(void)state;
	for (unsigned i = 0; kc_device_builtin_at(i); i++) {
		const struct kc_device *device = kc_device_builtin_at(i);

		assert_int_equal(kc_device_builtin_match(i, kc_device_builtin_alias(i)), KC_MATCH_WHOLE);
		assert_int_equal(kc_device_builtin_match(i, device->name), KC_MATCH_WHOLE);
		assert_ptr_equal(kc_device_builtin(kc_device_builtin_alias(i)), device);
		assert_ptr_equal(kc_device_builtin_meant(kc_device_builtin_alias(i)), device);
	}
	assert_null(kc_device_builtin("rtx409"));
	assert_null(kc_device_builtin(""));
}

/* As names are in traces and in what drivers say. */
static void what_is_meant(void **state)
{
	static const struct {
		const char *name, *alias; /* NULL: none */
	} cases[] = {
	    {"NVIDIA GeForce RTX 4090", "rtx4090"},
	    {"RTX4090", "rtx4090"},
	    {"rtx_4090_run3", "rtx4090"},
	    {"results on a 4090", "rtx4090"},
	    {"4090 of mine", "rtx4090"},
	    {"on my 1080", "gtx1080"},
	    {"first gt640", "gt640"},
	    {"gt 640 of old", "gt640"},
	    {"a 4070 Ti SUPER", "rtx4070ti-super"},
	    {"4090 in a laptop", NULL},
	    {"Tesla V100-SXM2-16GB", "v100"},
	    {"Tesla K40c", "k40"},
	    {"Tesla K40m", "k40"},
	    {"Tesla K40x", NULL},
	    {"GeForce GTX 980 Ti", "gtx980ti"},
	    {"GeForce GTX 980 Ti SUPER", NULL},
	    {"NVIDIA L40S-48Q", "l40s"},
	    {"NVIDIA GeForce RTX 3060 Ti", "rtx3060ti"},
	    {"GeForce RTX 2080 with Max-Q Design", NULL},
	    {"GeForce RTX 5199", NULL},
	    {"AMD Instinct MI300X", NULL},
	    {"gfx942", NULL},
	    {"A100 of AMD", NULL},
	    {"", NULL},
	};

	(void)state;
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		const struct kc_device *device = kc_device_builtin_meant(cases[n].name);
		const struct kc_device *meant = cases[n].alias ? kc_device_builtin(cases[n].alias) : NULL;

		if (device != meant)
			print_message("\"%s\": %s, not %s\n", cases[n].name, device ? device->name : "none",
				      meant ? meant->name : "none");
		assert_ptr_equal(device, meant);
	}
}

static void devices_of_other_makers(void **state)
{
	static const struct {
		const char *name;
		int is_foreign;
	} cases[] = {
	    {"AMD Radeon", 1}, {"gfx90a", 1},        {"gfx9", 0},          {"gfx", 0},           {"mi250x", 1},
	    {"mi", 0},         {"mid 100", 0},       {"ascend910", 1},     {"Intel(R) Data", 1}, {"Apple M3", 1},
	    {"xpu:0", 1},      {"NVIDIA by AMD", 0}, {"AMD by NVIDIA", 1}, {"radeons", 0},       {"Tesla V100", 0},
	    {"", 0},           {"privateuse1:0", 1}, {"biren", 1},         {"MI3 00", 0},
	};

	(void)state;
	for (size_t n = 0; n < sizeof(cases) / sizeof(*cases); n++)
		assert_int_equal(kc_device_is_foreign(cases[n].name), cases[n].is_foreign);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_name_is_matched_by_its_parts), cmocka_unit_test(long_names),
	    cmocka_unit_test(every_device_is_itself),         cmocka_unit_test(what_is_meant),
	    cmocka_unit_test(devices_of_other_makers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
