#include "layer_spec.h"

#include "predictor/experience/outlook.h"

#include <errno.h>
#include <string.h>

static const char *const names[KC_LAYERS] = {
    [KC_LAYER_LAMBDA] = "lambda",   [KC_LAYER_SIZES] = "sizes",           [KC_LAYER_CONTEXTS] = "contexts",
    [KC_LAYER_MIX] = "mix",         [KC_LAYER_CONTENTION] = "contention", [KC_LAYER_PLACEMENT] = "placement",
    [KC_LAYER_MARGINS] = "margins", [KC_LAYER_PRIOR] = "prior",
};

const char *kc_layer_name(uint32_t layer)
{
	return names[layer];
}

static uint32_t bit_of(const char *text, size_t length)
{
	for (uint32_t i = 0; i < KC_LAYERS; i++)
		if (strlen(names[i]) == length && !strncmp(text, names[i], length))
			return 1u << i;
	return 0;
}

int kc_layer_spec(const char *text, uint32_t *out)
{
	for (*out = 0;; text++) {
		size_t length = strcspn(text, ",");
		uint32_t bit = bit_of(text, length);

		if (!bit)
			return -EINVAL;
		*out |= bit;
		text += length;
		if (!*text)
			return 0;
	}
}
