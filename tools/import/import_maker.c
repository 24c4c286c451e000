#include "import_maker.h"
#include "tools/command.h"

#include <stdio.h>
#include <string.h>

#define AMD_WARP_SIZE 64u /* a wavefront of AMD's data centre GPUs; NVIDIA's warps have 32 threads */

static const char amd[] = "AMD GPU";

static const struct {
	const char *begins, *unnamed;
	int is_unordered;
} calls[] = {
    {"hip", amd, 0},
    {"xpu_", "Intel XPU", 1},
    {"mtia_", "MTIA", 0},
    {"privateuse1_", "privateuse1 device", 0},
};

int kc_import_maker_is_call(const char *category, size_t bytes)
{
	static const char *const endings[] = {"_runtime", "_driver"};

	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t length = strlen(endings[i]);

		if (bytes > length && !memcmp(category + bytes - length, endings[i], length))
			return 1;
	}
	return 0;
}

void kc_import_maker_call(struct kc_import_maker *maker, const char *text, size_t bytes)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (bytes < strlen(calls[i].begins) || memcmp(text, calls[i].begins, strlen(calls[i].begins)) != 0)
			continue;
		maker->unnamed = calls[i].unnamed;
		maker->is_unordered |= calls[i].is_unordered;
	}
}

void kc_import_maker_device(struct kc_import_maker *maker, int64_t ordinal, struct kc_device *device)
{
	struct kc_device kept = {.memory_bytes = device->memory_bytes};

	if (device->warp_size == AMD_WARP_SIZE && !kc_device_is_foreign(device->name))
		snprintf(device->name, sizeof(device->name), "%s", amd);
	if (!kc_device_is_foreign(device->name))
		return;
	snprintf(kept.name, sizeof(kept.name), "%s", device->name);
	*device = kept;
	if (!*maker->name)
		memcpy(maker->name, device->name, sizeof(maker->name));
	if (ordinal >= 0 && ordinal < KC_MAKER_ORDINALS)
		maker->described[ordinal] = 1;
}

void kc_import_maker_used(struct kc_import_maker *maker, int64_t ordinal)
{
	if (ordinal >= 0 && ordinal < KC_MAKER_ORDINALS)
		maker->used[ordinal] = 1;
}

const char *kc_import_maker_name(const struct kc_import_maker *maker)
{
	return *maker->name ? maker->name : maker->unnamed;
}

int64_t kc_import_maker_missing(const struct kc_import_maker *maker, int64_t ordinal)
{
	for (; ordinal < KC_MAKER_ORDINALS; ordinal++) {
		if (maker->used[ordinal] && !maker->described[ordinal])
			return ordinal;
	}
	return -1;
}

int kc_import_maker_tell(const struct kc_import_maker *maker, struct kc_importer *importer, const char *path)
{
	const char *name = kc_import_maker_name(maker);
	struct kc_trace_device said = {.device = {.name = ""}};

	if (!name)
		return 0;
	snprintf(said.device.name, sizeof(said.device.name), "%s", name);
	for (int64_t i = -1; (i = kc_import_maker_missing(maker, i + 1)) >= 0;)
		kc_importer_device(importer, i, &said);
	kc_error("%s: %s is not an NVIDIA GPU: what ran on it can be reported and compared, and is not predicted", path,
		 name);
	return 1;
}
