/* What is typed on the command line of `kerncast slowdown`. */
#include "delay_spec.h"
#include "device_spec.h"
#include "kernel_spec.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void kernels(void **state)
{
	static const struct {
		const char *text;
		uint32_t blocks, threads, registers, shared_bytes;
		int64_t time_ns;
	} good[] = {
	    {"blocks=110,threads=256,smem=1024", 110, 256, 0, 1024, 0},
	    {"threads=1,blocks=4294967295,regs=16,time=1.5ms", UINT32_MAX, 1, 16, 0, 1500000},
	    {"blocks=1,threads=1,time=12us", 1, 1, 0, 0, 12000},
	    {"blocks=1,threads=1,time=12µs", 1, 1, 0, 0, 12000},
	    {"blocks=1,threads=1,time=7ns", 1, 1, 0, 0, 7},
	    {"blocks=1,threads=1,time=2s", 1, 1, 0, 0, 2000000000},
	    {"blocks=1,threads=1,smem=48K,cluster=1", 1, 1, 0, 49152, 0},
	};
	static const char *const bad[] = {
	    "",
	    "blocks=1",
	    "threads=1",
	    "blocks=0,threads=1",
	    "blocks=1,threads=-1",
	    "blocks=1,threads=1x",
	    "blocks=4294967296,threads=1",
	    "blocks=1,threads=1,colour=2",
	    "blocks=1,threads=1,time=5",
	    "blocks=1,threads=1,time=0ms",
	    "blocks=1,threads=1,time=-1ms",
	    "blocks=1,threads=1,time=nanms",
	    "blocks=1,,threads=1",
	    "blocks=1,threads=1,",
	    "blocks=1,threads=1,blocks=2",
	    "blocks=1,threads=1,smem=1Q",
	    "blocks=1,threads=1,smem=4G",
	};
	struct kc_kernel_spec spec;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(kc_kernel_spec(good[i].text, &spec, why, sizeof(why)), 0);
		assert_int_equal(spec.blocks, good[i].blocks);
		assert_int_equal(spec.threads, good[i].threads);
		assert_int_equal(spec.registers, good[i].registers);
		assert_int_equal(spec.shared_bytes, good[i].shared_bytes);
		assert_int_equal(spec.time_ns, good[i].time_ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		why[0] = '\0';
		assert_int_equal(kc_kernel_spec(bad[i], &spec, why, sizeof(why)), -EINVAL);
		assert_true(why[0] != '\0');
	}
}

static void delays(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
		uint64_t batch;
	} good[] = {
	    {"0", 0, 1},
	    {"0,3", 0, 3},
	    {"10ms", 10000000, 1},
	    {"1.5us,512", 1500, 512},
	    {"2s,4294967295", 2000000000, UINT32_MAX},
	};
	static const char *const bad[] = {
	    "",
	    ",",
	    ",3",
	    "5",
	    "-1ms",
	    "0ms",
	    "10 min",
	    "10ms,",
	    "10ms,0",
	    "10ms,-1",
	    "10ms,4294967296",
	    "10ms,3,3",
	    "10ms,3x",
	    "10ms,+3",
	    "9999999999999999999999999999999999s",
	};
	struct kc_replay_delay delay;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		assert_int_equal(kc_delay_spec(good[i].text, &delay), 0);
		assert_int_equal(delay.ns, good[i].ns);
		assert_int_equal(delay.batch, good[i].batch);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(kc_delay_spec(bad[i], &delay), -EINVAL);
}

/* Limits of compute capability 3.5: 1,024 threads, 48 KiB and 65,536 registers per block. */
static void what_cannot_run_is_named(void **state)
{
	static const struct {
		const char *text, *part;
	} rows[] = {
	    {"blocks=1,threads=1025", "1025 threads"},
	    {"blocks=1,threads=32,smem=49153", "49153 bytes"},
	    {"blocks=1,threads=1024,regs=65", "66560 registers"},
	    {"blocks=1,threads=32,regs=256", "256 registers per thread, but the device allows 255"},
	    {"blocks=2,threads=32,cluster=2", "2 blocks per cluster, but the device allows 1"},
	};
	struct kc_kernel_spec spec;
	struct kc_work work;
	char why[256];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(kc_kernel_spec(rows[i].text, &spec, why, sizeof(why)), 0);
		assert_int_equal(kc_kernel_spec_work(&spec, kc_device_builtin("k40"), &work, why, sizeof(why)),
				 -ERANGE);
		assert_non_null(strstr(why, rows[i].part));
	}
	assert_int_equal(kc_kernel_spec("blocks=1,threads=1024,regs=64,smem=49152", &spec, why, sizeof(why)), 0);
	assert_int_equal(kc_kernel_spec_work(&spec, kc_device_builtin("k40"), &work, why, sizeof(why)), 0);
}

static int read_file(const char *text, struct kc_device *device, char *why, size_t why_size)
{
	char path[] = "/tmp/kc-spec-XXXXXX";
	int fd = mkstemp(path), rc;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	rc = kc_device_spec(path, device, why, why_size);
	unlink(path);
	return rc;
}

static void device_files(void **state)
{
	struct kc_kernel_spec spec;
	struct kc_device device;
	struct kc_work work;
	char why[512];

	(void)state;
	assert_int_equal(read_file("# a board\nname = Mine\nsm_count=16\ncc_major=3 # Kepler\ncc_minor=5\n"
				   "shared_per_sm_bytes=4096\n",
				   &device, why, sizeof(why)),
			 0);
	assert_string_equal(device.name, "Mine");
	assert_int_equal(device.sm_count, 16);
	assert_int_equal(device.shared_per_sm_bytes, 4096);
	assert_int_equal(device.max_threads_per_sm, 2048); /* of 3.5 */
	assert_int_equal(read_file("like=k40\nsm_count=30\n", &device, why, sizeof(why)), 0);
	assert_int_equal(device.sm_count, 30);
	assert_int_equal(device.cc_minor, 5);
	assert_int_equal(read_file("like=k40\nsms=30\n", &device, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, ":2:"));
	assert_int_equal(read_file("like=k40\nsm_count=many\n", &device, why, sizeof(why)), -EINVAL);
	assert_int_equal(read_file("like=nosuch\n", &device, why, sizeof(why)), -EINVAL);
	assert_int_equal(read_file("sm_count=3\n", &device, why, sizeof(why)), -EINVAL);
	assert_int_equal(read_file("like=k40\nsm_count=99999999999\n", &device, why, sizeof(why)), -EINVAL);
	assert_int_equal(kc_device_spec("K40", &device, why, sizeof(why)), 0);
	assert_int_equal(device.sm_count, 15);
	assert_int_equal(kc_device_spec("/nowhere/at/all", &device, why, sizeof(why)), -ENOENT);
	assert_int_equal(kc_device_spec("/", &device, why, sizeof(why)), -EIO);
	assert_non_null(strstr(why, strerror(EISDIR)));
	/* More than there is: refused or worked out, but no crash. */
	assert_int_equal(read_file("like=k40\nsm_count=2147483648\n", &device, why, sizeof(why)), 0);
	assert_int_equal(kc_kernel_spec("blocks=4294967295,threads=752", &spec, why, sizeof(why)), 0);
	assert_int_equal(kc_kernel_spec_work(&spec, &device, &work, why, sizeof(why)), 0);
	assert_int_equal(work.grid.waves, 1);
}

/* Names as people type them. What is another board, with other figures, is never taken in its place. */
static void device_names(void **state)
{
	static const struct {
		const char *typed, *alias; /* NULL: refused */
		const char *said;
	} rows[] = {
	    {"GTX 1080 Ti", "gtx1080ti", NULL},
	    {"4090", "rtx4090", NULL},
	    {"RTX 4090", "rtx4090", NULL},
	    {"NVIDIA GeForce RTX-4090", "rtx4090", NULL},
	    {"Tesla_T4", "t4", NULL},
	    {"a100", "a100", NULL},
	    {"a100-80", "a100-80gb", NULL},
	    {"A100 80 GB", "a100-80gb", NULL},
	    {"NVIDIA A100-SXM4-80GB", "a100-80gb", NULL},
	    {"h100 pcie", "h100-pcie", NULL},
	    {"h100", "h100", NULL},
	    {"h100 80gb", "h100", NULL},
	    {"RTX A6000", "a6000", NULL},
	    {"titan x", "titanx", NULL},
	    {"3060 laptop", "rtx3060-laptop", NULL},
	    {"3060", "rtx3060", NULL},
	    {"3060 ti", "rtx3060ti", NULL},
	    {"1080", "gtx1080", NULL},
	    {"l40", "l40", NULL},
	    {"a10", "a10", NULL},
	    {"GTX 980 Ti", "gtx980ti", NULL},
	    {"v100 32gb", "v100-32gb", NULL},
	    {"Quadro RTX 4000", "quadro-rtx4000", NULL},
	    {"RTX 4000 Ada", "rtx4000-ada", NULL},
	    {"RTX PRO 6000", "rtx-pro6000", NULL},
	    {"agx orin", "agx-orin", NULL},
	    {"gh200", "gh200", NULL},
	    {"v100-sxm2", NULL, "device \"v100-sxm2\" is ambiguous: v100 or v100-32gb"},
	    {"80gb", NULL, "device \"80gb\" is ambiguous: a100-80gb or a100-pcie-80gb"},
	    {"sxm4", NULL, "is ambiguous: a100 or a100-80gb or a800"},
	    {"RTX 4000", NULL, "is ambiguous: quadro-rtx4000 or rtx4000-ada-sff or rtx4000-ada"},
	    {"RTX 6000", NULL, "is ambiguous: quadro-rtx6000 or rtx6000-ada"},
	    {"4000", NULL, "is ambiguous: quadro-k4000 or quadro-m4000 or quadro-p4000 or"},
	    {"orin", NULL, "is ambiguous: orin-nano or"},
	    {"laptop", NULL, " or 3 more"},
	    {"060", NULL, "did you mean "},
	    {"h20 141gb", NULL, "did you mean h20?"},
	    {"voodoo", NULL, "a file of attributes also works"},
	    {"nvidia", NULL, "unknown device \"nvidia\" ("},
	    {"", NULL, "unknown device"},
	    {"-", NULL, "unknown device"},
	};
	struct kc_device device;
	char why[512];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int rc = kc_device_spec(rows[i].typed, &device, why, sizeof(why));

		print_message("# %s: %s\n", rows[i].typed, rc ? why : device.name);
		assert_int_equal(rc, rows[i].alias ? 0 : -ENOENT);
		if (rows[i].alias)
			assert_string_equal(device.name, kc_device_builtin(rows[i].alias)->name);
		else
			assert_non_null(strstr(why, rows[i].said));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kernels),      cmocka_unit_test(delays),       cmocka_unit_test(what_cannot_run_is_named),
	    cmocka_unit_test(device_files), cmocka_unit_test(device_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
