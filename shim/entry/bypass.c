/*
 * What went past us. A library that is opened with RTLD_DEEPBIND or by dlmopen() is bound to the driver, or to the
 * C library's dlsym, whatever is preloaded: then nothing is seen of it, and this is all that tells.
 */
#include "shim/shim.h"
#include "inject.h"
#include "real.h"
#include "lookup.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

struct namespaces { /* struct r_debug_extended of glibc 2.35 and later, where r_version is 2 */
	struct r_debug base;
	struct namespaces *next;
};

static const struct namespaces *first_namespace(const struct link_map *program)
{
	for (const ElfW(Dyn) *d = program->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_DEBUG)
			return (const struct namespaces *)d->d_un.d_ptr;
	return NULL;
}

static const struct link_map *driver_in(const struct link_map *object)
{
	const char *name;

	for (; object; object = object->l_next) {
		name = strrchr(object->l_name, '/');
		if (!strncmp(name ? name + 1 : object->l_name, "libcuda.so", 10))
			return object;
	}
	return NULL;
}

static bool is_past_us(const char *name, const void *address)
{
	return strcmp(name, "dlsym") ? name[0] == 'c' && kc__hook_by_symbol(name) >= 0 &&
					   kc__object_of(address) == driver_in(kc__program())
				     : address == (void *)kc__real_dlsym;
}

/* Where nothing is bound past us, the program has just not used what it is linked with. */
static bool is_bypassed_here(const struct link_map *program)
{
	if (!driver_in(program))
		return false;
	for (const struct link_map *object = program; object; object = object->l_next)
		if (object != kc__object_of((const void *)kc__say_bypassed) && object != driver_in(program) &&
		    kc__object_is_bound(object, is_past_us))
			return true;
	return false;
}

static bool is_bypassed_apart(const struct link_map *program)
{
	const struct namespaces *n = program ? first_namespace(program) : NULL;

	for (; n && n->base.r_version > 1; n = n->next)
		if (n->base.r_map != program && driver_in(n->base.r_map))
			return true;
	return false;
}

static bool is_audited(void)
{
	const char *audit = getenv("LD_AUDIT");

	return audit && strstr(audit, "libkerncast-audit.so");
}

void kc__say_bypassed(void)
{
	const struct link_map *program = kc__program();

	if (kc__is_preloaded() && !kc__driver_reached() && !is_audited() &&
	    (is_bypassed_here(program) || is_bypassed_apart(program)))
		kc__say(KC_MESSAGE_BYPASSED, NULL);
}
