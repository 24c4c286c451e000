/*
 * The entry point of NVTX: each library that contains NVTX looks, at its first range, for the library that
 * NVTX_INJECTION64_PATH names, and calls InitializeInjectionNvtx2() with tables of its own, in which the tool puts its
 * functions. So it is called once for each such library, at any time, from any thread; in NVTX's own entry points the
 * loader's lock is not held.
 *
 * NVTX loads us where the variable was inherited and LD_PRELOAD was not, too. Nothing is recorded there, so its ranges
 * are refused, and NVTX does without a tool.
 */
#include "shim/tables/ranges.h"
#include "inject.h"
#include "nvtx_abi.h"

#include <stdlib.h>
#include <string.h>

KC_EXPORT int InitializeInjectionNvtx2(kc__nvtx_export_tables tables);

/* Handles that NVTX's users get are numbers, in the form of addresses that nobody has: of a domain its number, from 1;
 * of a registered text that of its label. */
static uint32_t domain_of(const void *handle)
{
	uintptr_t domain = (uintptr_t)handle;

	return domain < KC__RANGE_DOMAINS_MAX ? (uint32_t)domain : 0;
}

static const void *handle_of(struct kc__label label)
{
	return (const void *)(uintptr_t)((uint64_t)label.step << 20 | label.name);
}

static struct kc__label registered(uint32_t domain, const void *handle)
{
	uint64_t number = (uintptr_t)handle, name = number & 0xfffff;

	if (!number || name >= KC__RANGE_NAMES_MAX)
		return kc__range_label(domain, "");
	return (struct kc__label){.name = (uint32_t)name, .step = (int64_t)(number >> 20)};
}
_Static_assert(KC__RANGE_NAMES_MAX <= 0xfffff, "a name fits below a step");

/* In UTF-8, and cut where there is no more room; wchar_t is a code point. */
static const char *narrow(const wchar_t *wide, char out[KC__RANGE_NAME_BYTES + 1])
{
	char *at = out;

	for (; wide && *wide && at < out + KC__RANGE_NAME_BYTES - 3; wide++) {
		uint32_t c = (uint32_t)*wide;

		if (c < 0x80) {
			*at++ = (char)c;
		} else if (c < 0x800) {
			*at++ = (char)(0xc0 | c >> 6);
			*at++ = (char)(0x80 | (c & 0x3f));
		} else if (c < 0x10000) {
			*at++ = (char)(0xe0 | c >> 12);
			*at++ = (char)(0x80 | (c >> 6 & 0x3f));
			*at++ = (char)(0x80 | (c & 0x3f));
		} else {
			*at++ = (char)(0xf0 | (c >> 18 & 7));
			*at++ = (char)(0x80 | (c >> 12 & 0x3f));
			*at++ = (char)(0x80 | (c >> 6 & 0x3f));
			*at++ = (char)(0x80 | (c & 0x3f));
		}
	}
	*at = 0;
	return out;
}

static struct kc__label label_of_wide(uint32_t domain, const wchar_t *wide)
{
	char text[KC__RANGE_NAME_BYTES + 1];

	return kc__range_label(domain, narrow(wide, text));
}

static struct kc__label label_of(uint32_t domain, const struct kc__nvtx_attributes *a)
{
	if (!a || a->size < sizeof(*a))
		return kc__range_label(domain, "");
	switch (a->message_type) {
	case KC__NVTX_TEXT:
		return kc__range_label(domain, a->message.text);
	case KC__NVTX_WIDE_TEXT:
		return label_of_wide(domain, a->message.wide_text);
	case KC__NVTX_REGISTERED:
		return registered(domain, a->message.registered);
	default:
		return kc__range_label(domain, "");
	}
}

/* --- what NVTX calls: of the program's domain */

static int push(const char *text)
{
	return kc__range_push(0, kc__range_label(0, text));
}

static int push_wide(const wchar_t *text)
{
	return kc__range_push(0, label_of_wide(0, text));
}

static int push_with(const struct kc__nvtx_attributes *a)
{
	return kc__range_push(0, label_of(0, a));
}

static int pop(void)
{
	return kc__range_pop(0);
}

static uint64_t start(const char *text)
{
	return kc__range_start(kc__range_label(0, text));
}

static uint64_t start_wide(const wchar_t *text)
{
	return kc__range_start(label_of_wide(0, text));
}

static uint64_t start_with(const struct kc__nvtx_attributes *a)
{
	return kc__range_start(label_of(0, a));
}

/* --- of any domain; NULL: of the program's */

static int push_in(const void *domain, const struct kc__nvtx_attributes *a)
{
	return kc__range_push(domain_of(domain), label_of(domain_of(domain), a));
}

static int pop_in(const void *domain)
{
	return kc__range_pop(domain_of(domain));
}

static uint64_t start_in(const void *domain, const struct kc__nvtx_attributes *a)
{
	return kc__range_start(label_of(domain_of(domain), a));
}

static void end_in(const void *domain, uint64_t id)
{
	(void)domain;
	kc__range_end(id);
}

static const void *register_text(const void *domain, const char *text)
{
	return handle_of(kc__range_label(domain_of(domain), text));
}

static const void *register_wide(const void *domain, const wchar_t *text)
{
	return handle_of(label_of_wide(domain_of(domain), text));
}

static const void *create(const char *name)
{
	return (const void *)(uintptr_t)kc__range_domain(name);
}

static const void *create_wide(const wchar_t *name)
{
	char text[KC__RANGE_NAME_BYTES + 1];

	return create(narrow(name, text));
}

#define ENTRY(place, function) [place] = (kc__nvtx_function)(void *)(function)
static const kc__nvtx_function core[] = {
    ENTRY(KC__NVTX_RANGE_START_EX, start_with), ENTRY(KC__NVTX_RANGE_START_A, start),
    ENTRY(KC__NVTX_RANGE_START_W, start_wide),  ENTRY(KC__NVTX_RANGE_END, kc__range_end),
    ENTRY(KC__NVTX_RANGE_PUSH_EX, push_with),   ENTRY(KC__NVTX_RANGE_PUSH_A, push),
    ENTRY(KC__NVTX_RANGE_PUSH_W, push_wide),    ENTRY(KC__NVTX_RANGE_POP, pop),
};
static const kc__nvtx_function core2[] = {
    ENTRY(KC__NVTX_DOMAIN_RANGE_START_EX, start_in),
    ENTRY(KC__NVTX_DOMAIN_RANGE_END, end_in),
    ENTRY(KC__NVTX_DOMAIN_RANGE_PUSH_EX, push_in),
    ENTRY(KC__NVTX_DOMAIN_RANGE_POP, pop_in),
    ENTRY(KC__NVTX_DOMAIN_REGISTER_STRING_A, register_text),
    ENTRY(KC__NVTX_DOMAIN_REGISTER_STRING_W, register_wide),
    ENTRY(KC__NVTX_DOMAIN_CREATE_A, create),
    ENTRY(KC__NVTX_DOMAIN_CREATE_W, create_wide),
};

/* Tables of other versions may have fewer places. */
static void fill(const struct kc__nvtx_callbacks *callbacks, int module, const kc__nvtx_function *functions,
		 size_t count)
{
	kc__nvtx_function **table = NULL;
	unsigned size = 0;

	if (!callbacks->table_of(module, &table, &size) || !table)
		return;
	for (size_t i = 1; i < count && i < size; i++)
		if (functions[i] && table[i])
			*table[i] = functions[i];
}

static bool is_injected_later(void)
{
	const char *driver = getenv("CUDA_INJECTION64_PATH"), *nvtx = getenv("NVTX_INJECTION64_PATH");

	return driver && nvtx && !strcmp(driver, nvtx);
}

int InitializeInjectionNvtx2(kc__nvtx_export_tables tables)
{
	const struct kc__nvtx_callbacks *callbacks = tables ? tables(KC__NVTX_ETID_CALLBACKS) : NULL;

	if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || kc__shim.options.disable ||
	    !(kc__is_preloaded() || kc__injected() || is_injected_later()))
		return 0;
	fill(callbacks, KC__NVTX_CORE, core, sizeof(core) / sizeof(*core));
	fill(callbacks, KC__NVTX_CORE2, core2, sizeof(core2) / sizeof(*core2));
	return 1;
}
