#include "import_about.h"
#include "tools/input/decimal.h"
#include "tools/input/device_spec.h"
#include "tools/input/files/json_stream.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *key, *ours;
} device_keys[] = {
    {"name", "name"},
    {"totalGlobalMem", "memory_bytes"},
    {"computeMajor", "cc_major"},
    {"computeMinor", "cc_minor"},
    {"maxThreadsPerBlock", "max_threads_per_block"},
    {"maxThreadsPerMultiprocessor", "max_threads_per_sm"},
    {"regsPerBlock", "registers_per_block"},
    {"regsPerMultiprocessor", "registers_per_sm"},
    {"warpSize", "warp_size"},
    {"sharedMemPerBlock", "shared_per_block_bytes"},
    {"sharedMemPerMultiprocessor", "shared_per_sm_bytes"},
    {"sharedMemPerBlockOptin", "shared_per_block_optin_bytes"},
    {"numSms", "sm_count"},
};

static int same(const char *name, const char *at, size_t bytes)
{
	return strlen(name) == bytes && !memcmp(name, at, bytes);
}

static void copy_text(char *out, size_t size, const char *at, size_t bytes)
{
	if (bytes >= size)
		bytes = size - 1;
	for (size_t i = 0; i < bytes; i++)
		out[i] = at[i] == KC_JSON_ODD ? ' ' : at[i];
	out[bytes] = '\0';
}

static int read_number(const char *at, size_t bytes, int64_t *out)
{
	char text[64];

	copy_text(text, sizeof(text), at, bytes);
	return kc_decimal_times(text, 1, out);
}

void kc_import_about_begin_device(struct kc_import_about *about)
{
	memset(&about->device, 0, sizeof(about->device));
	about->device_id = -1;
}

void kc_import_about_device_key(struct kc_import_about *about, const char *at, size_t bytes)
{
	about->is_id = same("id", at, bytes);
	about->device_key = NULL;
	for (size_t i = 0; i < sizeof(device_keys) / sizeof(*device_keys); i++) {
		if (same(device_keys[i].key, at, bytes))
			about->device_key = device_keys[i].ours;
	}
}

void kc_import_about_device(struct kc_import_about *about, const char *at, size_t bytes)
{
	struct kc_device *device = &about->device.device;
	char text[sizeof(device->name)];

	copy_text(text, sizeof(text), at, bytes);
	if (about->is_id && read_number(at, bytes, &about->device_id))
		about->device_id = -1;
	if (about->device_key && !strcmp(about->device_key, "name"))
		snprintf(device->name, sizeof(device->name), "%s", text);
	else if (about->device_key)
		kc_device_set(device, about->device_key, text); /* fields that it rejects stay unknown */
}

void kc_import_about_process_key(struct kc_import_about *about, const char *at, size_t bytes)
{
	about->is_rank = same("rank", at, bytes);
	about->is_world_size = same("world_size", at, bytes);
}

void kc_import_about_process(struct kc_import_about *about, const char *at, size_t bytes)
{
	int64_t value;

	if (about->is_rank)
		snprintf(about->rank, sizeof(about->rank), "rank %.*s", (int)(bytes < 20 ? bytes : 20), at);
	else if (about->is_world_size && !read_number(at, bytes, &value) && value > 0 && value <= KC_WORLD_MOST)
		about->world_size = (uint32_t)value;
}
