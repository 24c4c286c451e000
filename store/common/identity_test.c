#include "identity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct kc_shape dims = {.grid = {4, 2, 1}, .block = {256, 1, 1}, .dynamic_shared_bytes = 1024};

static void each_part_tells_launches_apart(void **state)
{
	struct kc_shape turned = {.grid = {2, 4, 1}, .block = {256, 1, 1}, .dynamic_shared_bytes = 1024};
	struct kc_shape shared = {.grid = {4, 2, 1}, .block = {256, 1, 1}};
	uint64_t name = kc_launch_name("_Z1av", &dims, "p0 = 1");

	(void)state;
	assert_true(name == kc_launch_name("_Z1av", &dims, "p0 = 1"));
	assert_false(name == kc_launch_name("_Z1bv", &dims, "p0 = 1"));
	assert_false(name == kc_launch_name("_Z1av", &turned, "p0 = 1"));
	assert_false(name == kc_launch_name("_Z1av", &shared, "p0 = 1"));
	assert_false(name == kc_launch_name("_Z1av", &dims, "p0 = 2"));
	assert_true(kc_launch_name("_Z1av", &dims, NULL) == kc_launch_name("_Z1av", &dims, ""));
}

static void versions_and_devices_have_identities_of_their_own(void **state)
{
	struct kc_code_identity code = {.mangled = "_Z1av", .code_hash = 7, .registers = 32}, other = code;
	uint64_t identity = kc_launch_identity(1, &code, "00ff");

	(void)state;
	assert_true(identity == kc_launch_identity(1, &other, "00ff"));
	assert_false(identity == kc_launch_identity(1, &code, "00fe"));
	assert_false(identity == kc_launch_identity(2, &code, "00ff"));
	other.code_hash = 8;
	assert_false(identity == kc_launch_identity(1, &other, "00ff"));
	other = code;
	other.static_shared_bytes = 32;
	assert_false(identity == kc_launch_identity(1, &other, "00ff"));
	assert_false(identity == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_part_tells_launches_apart),
	    cmocka_unit_test(versions_and_devices_have_identities_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
