#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cupti_library.h"

static struct kc_cupti_folders folders;

static int begin(void **state)
{
	(void)state;
	folders.count = 0;
	return 0;
}

static void has(int i, const char *path, enum kc_cupti_place place)
{
	assert_true(i < folders.count);
	assert_string_equal(folders.at[i].path, path);
	assert_int_equal(folders.at[i].place, place);
}

/* Toolkits have CUPTI beside the runtime, or in extras/CUPTI. */
static void test_beside_the_runtime(void **state)
{
	(void)state;
	kc_cupti_add_object(&folders, "/usr/local/cuda-12.4/lib64/libcudart.so.12");
	kc_cupti_add_object(&folders, "/opt/cuda/lib64/libnvrtc.so.13.0.88");
	assert_int_equal(folders.count, 4);
	has(0, "/usr/local/cuda-12.4/lib64", KC_CUPTI_BESIDE);
	has(1, "/usr/local/cuda-12.4/lib64/../extras/CUPTI/lib64", KC_CUPTI_BESIDE);
	has(2, "/opt/cuda/lib64", KC_CUPTI_BESIDE);
	has(3, "/opt/cuda/lib64/../extras/CUPTI/lib64", KC_CUPTI_BESIDE);
}

/* The wheels nvidia-cuda-cupti 13.0 and nvidia-cuda-cupti-cu12 12.8 have it in these folders. */
static void test_among_python_packages(void **state)
{
	(void)state;
	kc_cupti_add_object(&folders, "/venv/lib/python3.12/site-packages/cupy/_core/core.so");
	kc_cupti_add_object(&folders, "/venv/lib/python3.12/site-packages/numpy/core.so");
	kc_cupti_add_object(&folders, "/usr/local/lib/python3.12/dist-packages/jaxlib/xla.so");
	kc_cupti_add_object(&folders, "/conda/lib/python3.11/lib-dynload/_struct.so");
	assert_int_equal(folders.count, 6);
	has(0, "/venv/lib/python3.12/site-packages/nvidia/cu13/lib", KC_CUPTI_PACKAGES);
	has(1, "/venv/lib/python3.12/site-packages/nvidia/cuda_cupti/lib", KC_CUPTI_PACKAGES);
	has(2, "/usr/local/lib/python3.12/dist-packages/nvidia/cu13/lib", KC_CUPTI_PACKAGES);
	has(3, "/usr/local/lib/python3.12/dist-packages/nvidia/cuda_cupti/lib", KC_CUPTI_PACKAGES);
	has(4, "/conda/lib/python3.11/site-packages/nvidia/cu13/lib", KC_CUPTI_PACKAGES);
	has(5, "/conda/lib/python3.11/site-packages/nvidia/cuda_cupti/lib", KC_CUPTI_PACKAGES);
}

static void test_other_objects_tell_nothing(void **state)
{
	(void)state;
	kc_cupti_add_object(&folders, "");
	kc_cupti_add_object(&folders, "linux-vdso.so.1");
	kc_cupti_add_object(&folders, "/lib/x86_64-linux-gnu/libc.so.6");
	kc_cupti_add_object(&folders, "relative/site-packages/x.so");
	assert_int_equal(folders.count, 0);
}

static void test_is_bounded(void **state)
{
	char path[2 * KC_CUPTI_PATH_BYTES];

	(void)state;
	memset(path, 'x', sizeof(path));
	memcpy(path, "/", 1);
	strcpy(path + sizeof(path) - 40, "/site-packages/cupy/core.so");
	kc_cupti_add_object(&folders, path);
	assert_int_equal(folders.count, 0);
	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/%d/site-packages/x.so", i);
		kc_cupti_add_object(&folders, path);
	}
	assert_int_equal(folders.count, KC_CUPTI_FOLDERS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_beside_the_runtime, begin),
	    cmocka_unit_test_setup(test_among_python_packages, begin),
	    cmocka_unit_test_setup(test_other_objects_tell_nothing, begin),
	    cmocka_unit_test_setup(test_is_bounded, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
