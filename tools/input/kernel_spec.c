#include "kernel_spec.h"

#include "store/common/options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NS 2.6e15         /* a month */
#define NOMINAL_CLOCK_KHZ 1000000 /* placement does not use the clock, so a device file may leave it out */

static int number(const char *text, uint32_t *out)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	*out = (uint32_t)value;
	return !isdigit((unsigned char)*text) || *end || errno || value > UINT32_MAX ? -EINVAL : 0;
}

static int bytes(const char *text, uint32_t *out)
{
	uint64_t value;

	if (!isdigit((unsigned char)*text) || kc_parse_bytes(text, &value) || value > UINT32_MAX)
		return -EINVAL;
	*out = (uint32_t)value;
	return 0;
}

int kc_time_ns(const char *text, int64_t *out)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"μs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value > 0))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(end, units[i].unit))
			continue;
		value *= units[i].ns;
		*out = llround(value);
		return value<LONGEST_NS && * out> 0 ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int set(struct kc_kernel_spec *spec, const char *key, const char *value)
{
	if (!strcmp(key, "blocks"))
		return number(value, &spec->blocks);
	if (!strcmp(key, "threads"))
		return number(value, &spec->threads);
	if (!strcmp(key, "regs"))
		return number(value, &spec->registers);
	if (!strcmp(key, "smem"))
		return bytes(value, &spec->shared_bytes);
	if (!strcmp(key, "cluster"))
		return number(value, &spec->cluster_blocks);
	return strcmp(key, "time") ? -ENOENT : kc_time_ns(value, &spec->time_ns);
}

static const char *expected(const char *key)
{
	if (!strcmp(key, "time"))
		return "not a time above 0 with a unit (ns, us, ms, s)";
	return strcmp(key, "smem") ? "not a whole number from 0 to 4294967295"
				   : "not a number of bytes, such as 1024 or 48K";
}

/* The key also occurs in the text before this part. */
static int is_repeated(const struct kc_kernel_spec *spec, const char *key, size_t before)
{
	size_t length = strlen(key);

	for (const char *at = spec->text; (size_t)(at - spec->text) < before; at += strcspn(at, ",") + 1) {
		if (!strncmp(at, key, length) && at[length] == '=')
			return 1;
	}
	return 0;
}

/* at: where the part begins in the text. */
static int set_part(struct kc_kernel_spec *spec, char *part, size_t at, char *why, size_t why_size)
{
	char *value = strchr(part, '=');
	int rc;

	if (value)
		*value++ = '\0';
	rc = value ? set(spec, part, value) : -ENOENT;
	if (!*part)
		snprintf(why, why_size, "\"%s\": nothing between two commas", spec->text);
	else if (rc == -ENOENT)
		snprintf(why, why_size,
			 "\"%s\" in %s: a kernel has blocks=, threads=, regs=, smem=, cluster= and time=", part,
			 spec->text);
	else if (rc)
		snprintf(why, why_size, "%s=%s in %s: %s", part, value, spec->text, expected(part));
	else if (is_repeated(spec, part, at))
		snprintf(why, why_size, "%s: %s= is there twice", spec->text, part);
	else
		return 0;
	return -EINVAL;
}

int kc_kernel_spec(const char *text, struct kc_kernel_spec *out, char *why, size_t why_size)
{
	char *copy = strdup(text), *rest = copy, *part;
	int rc = copy ? 0 : -ENOMEM;

	*out = (struct kc_kernel_spec){.text = text};
	while (rc == 0 && *text && (part = strsep(&rest, ",")))
		rc = set_part(out, part, (size_t)(part - copy), why, why_size);
	free(copy);
	if (rc == 0 && (!out->blocks || !out->threads)) {
		snprintf(why, why_size, "%s: blocks= and threads= must be given and be above 0",
			 *text ? text : "a kernel");
		rc = -EINVAL;
	}
	return rc;
}

static uint32_t shared_limit(const struct kc_device *device)
{
	return device->shared_per_block_optin_bytes > device->shared_per_block_bytes
		   ? device->shared_per_block_optin_bytes
		   : device->shared_per_block_bytes;
}

static void say_what_is_too_much(const struct kc_resources *resources, const struct kc_shape *shape,
				 const struct kc_device *device, char *why, size_t why_size)
{
	uint32_t threads = shape->block[0] * shape->block[1] * shape->block[2];
	uint64_t registers = (uint64_t)resources->registers * threads;
	uint64_t shared_bytes = (uint64_t)resources->static_shared_bytes + shape->dynamic_shared_bytes;

	if (threads > device->max_threads_per_block)
		snprintf(why, why_size, "%u threads per block, but the device allows %u", threads,
			 device->max_threads_per_block);
	else if (shared_bytes > shared_limit(device))
		snprintf(why, why_size, "%" PRIu64 " bytes of shared memory per block, but the device allows %u",
			 shared_bytes, shared_limit(device));
	else if (shape->cluster_blocks > kc_device_cluster_max(device->cc_major))
		snprintf(why, why_size, "%u blocks per cluster, but the device allows %u", shape->cluster_blocks,
			 kc_device_cluster_max(device->cc_major));
	else if (shape->cluster_blocks > 1 && shape->grid[0] % shape->cluster_blocks)
		snprintf(why, why_size, "%u blocks cannot be divided into clusters of %u", shape->grid[0],
			 shape->cluster_blocks);
	else if (resources->registers > kc_registers_max(device))
		snprintf(why, why_size, "%u registers per thread, but the device allows %u", resources->registers,
			 kc_registers_max(device));
	else if (registers > device->registers_per_block)
		snprintf(why, why_size, "%" PRIu64 " registers per block (%u per thread), but the device has %u",
			 registers, resources->registers, device->registers_per_block);
	else
		snprintf(why, why_size, "%u registers per thread are more than the device has for %u threads",
			 resources->registers, threads);
}

int kc_shape_work(const struct kc_resources *resources, const struct kc_shape *shape, const struct kc_device *device,
		  struct kc_work *work, char *why, size_t why_size)
{
	struct kc_device with_clock = *device;

	if (!with_clock.clock_khz)
		with_clock.clock_khz = NOMINAL_CLOCK_KHZ;
	if (kc_work_init(work, &with_clock, resources, shape, 0) == 0)
		return 0;
	say_what_is_too_much(resources, shape, device, why, why_size);
	return -ERANGE;
}

int kc_kernel_spec_work(const struct kc_kernel_spec *spec, const struct kc_device *device, struct kc_work *work,
			char *why, size_t why_size)
{
	struct kc_resources resources = {.registers = spec->registers, .static_shared_bytes = spec->shared_bytes};
	struct kc_shape shape = {
	    .grid = {spec->blocks, 1, 1}, .block = {spec->threads, 1, 1}, .cluster_blocks = spec->cluster_blocks};

	return kc_shape_work(&resources, &shape, device, work, why, why_size);
}
