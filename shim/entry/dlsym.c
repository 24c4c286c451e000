/*
 * The C side of dlsym_entry.S. Runs before constructors, inside any thread and
 * in programs that never touch CUDA: no allocation, no state but what is here,
 * and no strcmp() or other function that whoever looks up may have himself (object.c).
 *
 * Another preloaded library may have a dlsym of its own, as HAMi-core and nvshare have. Each look-up of the application
 * goes on to the dlsym that it would have reached without us: the first one behind us in the loader's order, whatever
 * version its name has, as any of glibc's is bound to. Ours has glibc's versions, by which such a library finds what is
 * behind itself: so we are asked where we are. Our own look-ups are the C library's.
 *
 * A library may take for the real dlsym one that is not behind itself but anywhere, and that is ours. Then each of the
 * two would call the other without end. A look-up that comes back to us before it is answered is the C library's.
 */
#include "shim/shim.h"
#include "c_library.h"
#include "real.h"
#include "lookup.h"
#include "profiler.h"
#include "shim/calls/compiler.h"

#include <dlfcn.h>
#include <link.h>

void *(*kc__real_dlsym)(void *, const char *);

__attribute__((visibility("hidden"))) void *(*kc__next_dlsym)(void *, const char *);
__attribute__((visibility("hidden"))) int kc__dlsym_wants(const char *name);
__attribute__((visibility("hidden"))) void *kc__dlsym_ours(void *handle, const char *name);
__attribute__((visibility("hidden"))) void *kc__dlsym_once(void *handle, const char *name);
__attribute__((visibility("hidden"))) void *kc__dlsym_once_entry(void *handle, const char *name);
__attribute__((visibility("hidden"))) void *(*kc__dlsym_first(void *handle, const char *name))(void *, const char *);

static struct {
	struct link_map *object; /* of kc__next_dlsym, NULL: the C library's */
	void *(*look_up)(void *, const char *);
	bool comes_back;
} other;

static const char probe[] = "kerncast_comes_back";

static bool is_c_library(const struct link_map *object)
{
	const char *name = object->l_name;

	for (const char *c = name; *c; c++)
		if (*c == '/')
			name = c + 1;
	return kc__same_name(name, "libc.so.6") || kc__same_name(name, "libdl.so.2"); /* before glibc 2.34 */
}

/* The first object from this one on with a dlsym. Of a program's own, the list has the order of look-ups. */
static struct link_map *with_dlsym(struct link_map *object)
{
	while (object && !kc__object_symbol(object, "dlsym"))
		object = object->l_next;
	return object;
}

struct link_map *kc__program(void)
{
	struct link_map *object = kc__object_of((const void *)kc__program);

	while (object && object->l_prev)
		object = object->l_prev;
	return object;
}

void *(*kc__dlsym_find_real(void))(void *, const char *)
{
	struct link_map *object;

	for (object = with_dlsym(kc__program()); object && !is_c_library(object);)
		object = with_dlsym(object->l_next);
	kc__real_dlsym = (void *(*)(void *, const char *))(
	    object ? kc__object_symbol(object, "dlsym") : dlvsym(RTLD_NEXT, "dlsym", KC__STRING(KC__GLIBC_FIRST)));
	return kc__real_dlsym;
}

/* Where the C library is not behind us, nobody's look-ups are bound to ours. */
static void find_other(struct link_map *ours)
{
	struct link_map *first = with_dlsym(ours->l_next), *object = first;

	while (object && !is_c_library(object))
		object = with_dlsym(object->l_next);
	if (!object || object == first)
		return;
	other.object = first;
	other.look_up = (void *(*)(void *, const char *))kc__object_symbol(first, "dlsym");
}

/* Behind a library with a dlsym of its own, look-ups come from that, which has asked for one of glibc's versions. */
static void find_other_by_version(void)
{
	static const char *const versions[] = KC__GLIBC_VERSIONS;
	void *found = NULL;

	for (size_t i = 0; !found && i < sizeof(versions) / sizeof(*versions); i++)
		found = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	if (!found || !kc__object_of(found) || is_c_library(kc__object_of(found)))
		return;
	other.object = kc__object_of(found);
	other.look_up = (void *(*)(void *, const char *))found;
}

/* The first look-up of the process, and those that it leads to. */
void *(*kc__dlsym_first(void *handle, const char *name))(void *, const char *)
{
	struct link_map *ours = kc__object_of((const void *)kc__dlsym_find_real);

	(void)handle;
	if (!kc__real_dlsym)
		kc__dlsym_find_real();
	if (kc__thread.probes_dlsym) {
		other.comes_back |= name && kc__same_name(name, probe);
		return kc__real_dlsym;
	}
	if (with_dlsym(kc__program()) == ours)
		find_other(ours);
	else
		find_other_by_version();
	if (other.object) {
		kc__thread.probes_dlsym = true;
		if (!other.look_up(kc__program(), probe))
			dlerror();
		kc__thread.probes_dlsym = false;
	}
	return kc__next_dlsym = !other.object      ? kc__real_dlsym
				: other.comes_back ? kc__dlsym_once_entry
						   : other.look_up;
}

static bool is_of_other(const void *caller)
{
	return other.object && kc__object_of(caller) == other.object;
}

/* Where the other library takes ours for the real one: what it asks is the C library's to answer. */
static void *ask_once(void *handle, const char *name, const void *caller)
{
	void *address;

	if (kc__thread.in_dlsym || is_of_other(caller))
		return kc__real_dlsym(handle, name);
	kc__thread.in_dlsym = true;
	address = other.look_up(handle, name);
	kc__thread.in_dlsym = false;
	return address;
}

void *kc__dlsym_once(void *handle, const char *name)
{
	return ask_once(handle, name, __builtin_return_address(0));
}

static void *ask_next(void *handle, const char *name, const void *caller)
{
	if (!kc__next_dlsym)
		kc__dlsym_first(handle, name);
	if (!kc__next_dlsym) /* this is the first look-up, still */
		return kc__real_dlsym(handle, name);
	return other.comes_back ? ask_once(handle, name, caller) : kc__next_dlsym(handle, name);
}

/* What such a library asks for itself is answered as it would be without us: its functions call what it gets, and our
 * hooks call its functions. */
static bool asked_by_other(const void *caller)
{
	return kc__thread.in_dlsym || kc__thread.probes_dlsym || is_of_other(caller);
}

/* RTLD_NEXT counts from the caller: compiled into a jump, this call would count as the application's. */
void *kc__dlsym_behind_us(const char *name)
{
	void *address = kc__real_dlsym(RTLD_NEXT, name);

	__asm__ volatile("" ::: "memory");
	return address;
}

bool kc__dlsym_interposed(void *handle, const char *name)
{
	void *without = NULL;

	if (!other.object)
		return false;
	without = handle == RTLD_DEFAULT ? kc__dlsym_behind_us(name) : kc__real_dlsym(handle, name);
	if (!without)
		dlerror();
	return without && kc__is_drivers(without, handle);
}

int kc__dlsym_wants(const char *name)
{
	return kc__hook_by_symbol(name) >= 0 || kc__profiler_function(name) >= 0 || kc__compiler_function(name) >= 0;
}

void *kc__found_without_us(const char *name, const void *caller)
{
	void *address;

	if (!kc__real_dlsym)
		kc__dlsym_find_real();
	address = kc__dlsym_behind_us(name);
	return address ? address : kc__callers_symbol(caller, name);
}

void *kc__dlsym_ours(void *handle, const char *name)
{
	void *address = ask_next(handle, name, __builtin_return_address(0));
	int function = kc__profiler_function(name), compiler = kc__compiler_function(name);

	if (asked_by_other(__builtin_return_address(0)))
		return address;
	if (function >= 0)
		return kc__profiler_route(function, address, __builtin_return_address(0));
	if (compiler >= 0)
		return kc__compiler_route(compiler, name, address, __builtin_return_address(0));
	if (!address) /* what this call does not find, one that counts as the caller's may */
		return other.comes_back ? NULL : kc__next_dlsym(handle, name);
	/* A global look-up finds our own export even where no driver is loaded, or one that only its own users can
	 * see (RTLD_LOCAL): answer as the loader would without us, with its error. Another library that looks in the
	 * whole process for what it is asked to find in the driver finds ours, too. */
	if (kc__is_ours(address) && !kc__dlsym_interposed(handle, name)) {
		if (!kc__found_without_us(name, __builtin_return_address(0)))
			return kc__dlsym_behind_us(name);
		dlerror();
	}
	if (atomic_load_explicit(&kc__shim.stage, memory_order_relaxed) == KC__DISABLED)
		return address;
	return kc__route_symbol(name, handle, address);
}
