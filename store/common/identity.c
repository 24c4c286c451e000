#include "identity.h"

#include "store/common/ids/intern.h"

#include <string.h>

/* With its end: the same text cut elsewhere is another one. */
static uint64_t add_text(uint64_t hash, const char *text)
{
	return kc_fnv(hash, text, strlen(text) + 1);
}

static uint64_t add_number(uint64_t hash, uint64_t number)
{
	return kc_fnv(hash, &number, sizeof(number));
}

uint64_t kc_launch_name(const char *mangled, const struct kc_shape *dims, const char *arguments)
{
	uint64_t hash = add_text(KC_FNV_OFFSET, mangled);

	for (int i = 0; i < 3; i++)
		hash = add_number(hash, (uint64_t)dims->grid[i] << 32 | dims->block[i]);
	hash = add_number(hash, dims->dynamic_shared_bytes);
	return add_text(hash, arguments ? arguments : "");
}

uint64_t kc_launch_identity(uint64_t launch_name, const struct kc_code_identity *code, const char *device)
{
	uint64_t hash = add_text(launch_name, device);

	hash = add_number(hash, code->code_hash);
	hash = add_number(hash, (uint64_t)code->registers << 32 | code->static_shared_bytes);
	return hash ? hash : 1;
}
