#include "device_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_BYTES 512

static const struct field {
	const char *name;
	size_t offset, bytes;
} fields[] = {
#define FIELD(name)                                                                                                    \
	{                                                                                                              \
#name, offsetof(struct kc_device, name), sizeof(((struct kc_device *)0)->name)                         \
	}
    FIELD(cc_major),
    FIELD(cc_minor),
    FIELD(sm_count),
    FIELD(cores_per_sm),
    FIELD(warp_size),
    FIELD(clock_khz),
    FIELD(memory_clock_khz),
    FIELD(memory_bus_bits),
    FIELD(memory_bytes_per_s),
    FIELD(memory_bytes),
    FIELD(l2_bytes),
    FIELD(max_threads_per_block),
    FIELD(max_threads_per_sm),
    FIELD(max_blocks_per_sm),
    FIELD(registers_per_sm),
    FIELD(registers_per_block),
    FIELD(shared_per_sm_bytes),
    FIELD(shared_per_block_bytes),
    FIELD(shared_per_block_optin_bytes),
    FIELD(shared_reserved_per_block_bytes),
    FIELD(copy_engines),
    FIELD(hardware_queues),
    FIELD(launch_overhead_ns),
    FIELD(launch_gap_ns),
    FIELD(empty_kernel_ns),
    FIELD(copy_bytes_per_s),
    FIELD(flops_per_s),
#undef FIELD
};
enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

const char *kc_device_field(const struct kc_device *device, unsigned i, uint64_t *value)
{
	uint32_t narrow;

	if (i >= FIELDS)
		return NULL;
	if (fields[i].bytes == sizeof(*value)) {
		memcpy(value, (const char *)device + fields[i].offset, sizeof(*value));
	} else {
		memcpy(&narrow, (const char *)device + fields[i].offset, sizeof(narrow));
		*value = narrow;
	}
	return fields[i].name;
}

void kc_device_overlay(struct kc_device *device, const struct kc_device *over)
{
	uint64_t value;

	for (unsigned i = 0; kc_device_field(over, i, &value); i++) {
		if (value)
			memcpy((char *)device + fields[i].offset, (const char *)over + fields[i].offset,
			       fields[i].bytes);
	}
}

static int set_number(struct kc_device *device, const struct field *field, const char *text)
{
	char *end;
	uint64_t value;
	uint32_t narrow;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno)
		return -EINVAL;
	if (field->bytes == sizeof(value)) {
		memcpy((char *)device + field->offset, &value, sizeof(value));
		return 0;
	}
	narrow = (uint32_t)value;
	if (narrow != value)
		return -EINVAL;
	memcpy((char *)device + field->offset, &narrow, sizeof(narrow));
	return 0;
}

int kc_device_set(struct kc_device *device, const char *key, const char *value)
{
	if (!strcmp(key, "name")) {
		snprintf(device->name, sizeof(device->name), "%s", value);
		return 0;
	}
	for (unsigned i = 0; i < FIELDS; i++) {
		if (!strcmp(key, fields[i].name))
			return set_number(device, &fields[i], value);
	}
	return -ENOENT;
}

static char *trim(char *text)
{
	char *end;

	while (isspace((unsigned char)*text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static int begin_like(struct kc_device *device, const char *name)
{
	const struct kc_device *builtin = kc_device_builtin(name);

	if (!builtin)
		return -EINVAL;
	*device = *builtin;
	return 0;
}

/* Sets the field that a line names; skips comments and empty lines. 0 or -errno. */
static int read_line(struct kc_device *device, char *line)
{
	char *key, *value;

	line[strcspn(line, "#\n")] = '\0';
	key = trim(line);
	if (!*key)
		return 0;
	value = strchr(key, '=');
	if (!value)
		return -EINVAL;
	*value++ = '\0';
	key = trim(key);
	value = trim(value);
	return strcmp(key, "like") == 0 ? begin_like(device, value) : kc_device_set(device, key, value);
}

static int read_spec(FILE *file, const char *path, struct kc_device *device, char *why, size_t why_size)
{
	char line[LINE_BYTES], shown[LINE_BYTES];

	for (unsigned number = 1; fgets(line, sizeof(line), file); number++) {
		int rc;

		snprintf(shown, sizeof(shown), "%s", line);
		shown[strcspn(shown, "\n")] = '\0';
		rc = read_line(device, line);
		if (!rc)
			continue;
		snprintf(why, why_size, "%s:%u: %s: %s", path, number,
			 rc == -ENOENT ? "a device has no such attribute" : "not `attribute=number` (or `like=name`)",
			 shown);
		return -EINVAL;
	}
	if (ferror(file)) {
		snprintf(why, why_size, "%s cannot be read: %s", path, strerror(errno));
		return -EIO;
	}
	if (!device->sm_count || !device->cc_major) {
		snprintf(why, why_size, "%s: give sm_count and cc_major, or like= with a built-in device", path);
		return -EINVAL;
	}
	kc_device_complete(device);
	return 0;
}

/* The built-in devices that fit a name best. */
struct fitting {
	enum kc_device_match match;
	const struct kc_device *device; /* the first of them */
	unsigned count;
	char names[192]; /* "a100 or a100-80gb", as many as are named */
};

#define NAMED_MOST 8u /* more names do not help */

static void add_fitting(struct fitting *fitting, unsigned i)
{
	size_t used = strlen(fitting->names);

	if (!fitting->count)
		fitting->device = kc_device_builtin_at(i);
	if (fitting->count++ < NAMED_MOST)
		snprintf(fitting->names + used, sizeof(fitting->names) - used, "%s%s", used ? " or " : "",
			 kc_device_builtin_alias(i));
}

/* " or 3 more"; empty: all are named. */
static void not_named(const struct fitting *fitting, char *text, size_t size)
{
	*text = '\0';
	if (fitting->count > NAMED_MOST)
		snprintf(text, size, " or %u more", fitting->count - NAMED_MOST);
}

static void find_fitting(const char *what, struct fitting *fitting)
{
	const struct kc_device *meant = kc_device_builtin_meant(what);

	*fitting = (struct fitting){.match = KC_MATCH_NONE};
	for (unsigned i = 0; kc_device_builtin_at(i); i++) {
		enum kc_device_match match = kc_device_builtin_match(i, what);

		if (match > fitting->match)
			*fitting = (struct fitting){.match = match};
		if (match && match == fitting->match)
			add_fitting(fitting, i);
	}
	for (unsigned i = 0; !fitting->match && kc_device_builtin_at(i); i++) {
		if (kc_device_builtin_at(i) == meant)
			add_fitting(fitting, i);
	}
}

/* A name that is neither exactly a built-in device's nor a file. */
static int find_typed(const char *what, struct kc_device *device, char *why, size_t why_size)
{
	struct fitting fitting;
	char more[32];

	find_fitting(what, &fitting);
	if (fitting.match >= KC_MATCH_NAME_PARTS && fitting.count == 1) {
		*device = *fitting.device;
		kc_device_complete(device);
		return 0;
	}
	not_named(&fitting, more, sizeof(more));
	if (fitting.match >= KC_MATCH_NAME_PARTS)
		snprintf(why, why_size, "device \"%s\" is ambiguous: %s%s", what, fitting.names, more);
	else
		snprintf(
		    why, why_size,
		    "unknown device \"%s\"%s%s%s%s (kerncast devices lists names; a file of attributes also works)",
		    what, fitting.count ? "; did you mean " : "", fitting.names, more, fitting.count ? "?" : "");
	return -ENOENT;
}

int kc_device_spec(const char *what, struct kc_device *device, char *why, size_t why_size)
{
	const struct kc_device *builtin = kc_device_builtin(what);
	FILE *file;
	int rc;

	if (builtin) {
		*device = *builtin;
		kc_device_complete(device);
		return 0;
	}
	file = fopen(what, "re");
	if (!file) {
		rc = -errno;
		if (rc == -ENOENT && !strchr(what, '/'))
			return find_typed(what, device, why, why_size);
		snprintf(why, why_size, "%s cannot be read: %s", what, strerror(-rc));
		return rc;
	}
	*device = (struct kc_device){0};
	snprintf(device->name, sizeof(device->name), "%s", what);
	rc = read_spec(file, what, device, why, why_size);
	fclose(file);
	return rc;
}
