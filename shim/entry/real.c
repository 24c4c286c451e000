/*
 * Which real function each hook calls, and which hook replaces an address that
 * the driver's resolvers answer with. Addresses are looked up in a table of what
 * libcuda exports, which tells ABI version and per-thread twin for certain. For an
 * address that is not in it, the hook is chosen by the name that was asked for; or
 * the address is left alone, where it may be of an ABI without a hook. Both are
 * counted.
 */
#include "shim/shim.h"
#include "real.h"
#include "lookup.h"
#include "shim/tables/memory.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

struct hook_info {
	const char *symbol, *name;
	int version;
	bool twin;
	void *ours;
};

#define HOOK_INFO(symbol, name, version, twin) {#symbol, #name, version, twin, (void *)symbol},
static const struct hook_info hooks[KC_HOOK_COUNT] = {KC_HOOKS(HOOK_INFO)};

void *_Atomic kc__real[KC_HOOK_COUNT];

enum { ADDRESS_SLOTS = 1024, NAME_SLOTS = 512 };
_Static_assert(KC_HOOK_COUNT * 2 < NAME_SLOTS, "room for every name at half load");
_Static_assert(KC_HOOK_COUNT * 2 * sizeof(void *) <= KC__ROOM_BYTES, "too large for a stack");

static struct {
	pthread_mutex_t lock;
	_Atomic int ready;       /* exported addresses are in the table */
	void *driver;            /* a handle */
	void *_Atomic own_init;  /* the driver's, whatever the hook calls */
	struct link_map *object; /* instead of it, where we know the driver from a binding */
	bool apart;              /* that one is in a namespace of its own (dlmopen) */
	struct {
		void *_Atomic address;
		_Atomic int hook;
	} addresses[ADDRESS_SLOTS];
	_Atomic uint16_t names[NAME_SLOTS]; /* hook + 1 */
	_Atomic int names_ready;
} real = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint32_t hash_name(const char *s)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	while (*s)
		h = (h ^ (unsigned char)*s++) * 16777619u;
	return h;
}

/* Filling the table twice at once writes the same values. */
static void names_fill(void)
{
	for (int i = 0; i < KC_HOOK_COUNT; i++) {
		uint32_t at = hash_name(hooks[i].symbol) % NAME_SLOTS;
		uint16_t there;

		while ((there = atomic_load_explicit(&real.names[at], memory_order_relaxed)) && there != i + 1)
			at = (at + 1) % NAME_SLOTS;
		atomic_store_explicit(&real.names[at], (uint16_t)(i + 1), memory_order_relaxed);
	}
	atomic_store_explicit(&real.names_ready, 1, memory_order_release);
}

int kc__hook_by_symbol(const char *symbol)
{
	uint32_t at = hash_name(symbol) % NAME_SLOTS;
	uint16_t hook;

	if (!atomic_load_explicit(&real.names_ready, memory_order_acquire))
		names_fill();
	while ((hook = atomic_load_explicit(&real.names[at], memory_order_relaxed))) {
		if (!strcmp(hooks[hook - 1].symbol, symbol))
			return hook - 1;
		at = (at + 1) % NAME_SLOTS;
	}
	return -1;
}

int kc__is_ours(const void *address)
{
	for (int i = 0; address && i < KC_HOOK_COUNT; i++)
		if (hooks[i].ours == address)
			return 1;
	return 0;
}

static int hook_by_address(const void *address)
{
	uint32_t at = (uint32_t)(((uintptr_t)address * 0x9E3779B97F4A7C15u) >> 54);
	void *there;

	while ((there = atomic_load_explicit(&real.addresses[at].address, memory_order_acquire))) {
		if (there == address)
			return atomic_load_explicit(&real.addresses[at].hook, memory_order_relaxed);
		at = (at + 1) % ADDRESS_SLOTS;
	}
	return -1;
}

/* real.lock held. */
static void learn_address(void *address, int hook)
{
	uint32_t at = (uint32_t)(((uintptr_t)address * 0x9E3779B97F4A7C15u) >> 54);

	for (int probes = 0; probes < ADDRESS_SLOTS - 1; probes++) {
		void *there = atomic_load_explicit(&real.addresses[at].address, memory_order_relaxed);

		if (there == address)
			return;
		if (!there) {
			atomic_store_explicit(&real.addresses[at].hook, hook, memory_order_relaxed);
			atomic_store_explicit(&real.addresses[at].address, address, memory_order_release);
			return;
		}
		at = (at + 1) % ADDRESS_SLOTS;
	}
}

/* If our look-up fails, the application's dlerror() must not report it. */
static void *look_up(void *handle, const char *symbol)
{
	void *address = (kc__real_dlsym ? kc__real_dlsym : kc__dlsym_find_real())(handle, symbol);

	if (!address)
		dlerror();
	return kc__is_ours(address) ? NULL : address;
}

/* real.lock held. */
static bool learn_driver(void *const *next, void *const *exported)
{
	atomic_store_explicit(&real.own_init,
			      exported[KC_HOOK_cuInit] ? exported[KC_HOOK_cuInit] : next[KC_HOOK_cuInit],
			      memory_order_relaxed);
	for (int i = 0; i < KC_HOOK_COUNT; i++) {
		void *none = NULL;

		if (exported[i])
			learn_address(exported[i], i);
		if (next[i])
			learn_address(next[i], i);
		if (next[i] || exported[i])
			atomic_compare_exchange_strong(&kc__real[i], &none, next[i] ? next[i] : exported[i]);
	}
	return next[KC_HOOK_cuInit] || exported[KC_HOOK_cuInit];
}

/* next: room for twice KC_HOOK_COUNT addresses. */
static void take_into(void **next, void *driver, struct link_map *object, bool apart)
{
	void **exported = next + KC_HOOK_COUNT;

	for (int i = 0; i < KC_HOOK_COUNT; i++) {
		next[i] = apart ? NULL : look_up(RTLD_NEXT, hooks[i].symbol);
		exported[i] = object   ? kc__object_symbol(object, hooks[i].symbol)
			      : driver ? look_up(driver, hooks[i].symbol)
				       : NULL;
	}
	pthread_mutex_lock(&real.lock);
	if (!atomic_load_explicit(&real.ready, memory_order_relaxed) && learn_driver(next, exported)) {
		real.driver = driver;
		real.object = object;
		real.apart = apart;
		atomic_store_explicit(&real.ready, 1, memory_order_release);
	}
	pthread_mutex_unlock(&real.lock);
}

/* Where no memory can be mapped: the application's calls depend on the driver's functions. */
static __attribute__((noinline)) void take_on_stack(void *driver, struct link_map *object, bool apart)
{
	void *next[2 * KC_HOOK_COUNT];

	take_into(next, driver, object, apart);
}

/*
 * Notes the driver's functions, and what else follows us in the loader's order:
 * another interposing library, which is then called first, as without us. Nothing
 * follows where the driver is in a namespace of its own. The loader is asked before
 * the lock is taken: a library's constructor may come here with the loader's own
 * lock held.
 */
static bool driver_take(void *driver, struct link_map *object, bool apart)
{
	void **room = kc__room_take();

	if (room)
		take_into(room, driver, object, apart);
	else
		take_on_stack(driver, object, apart);
	kc__room_give(room);
	return atomic_load_explicit(&real.ready, memory_order_acquire);
}

/* Finds the driver as the application has loaded it. hint: a handle that the application used. */
static bool driver_find(void *hint)
{
	void *driver;

	if (atomic_load_explicit(&real.ready, memory_order_acquire))
		return true;
	driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
	if (!driver)
		dlerror();
	if (!driver && hint && look_up(hint, "cuInit"))
		driver = hint;
	return driver_take(driver, NULL, false);
}

static CUresult CUDAAPI not_there(void)
{
	return KC__NOT_THERE;
}

void *kc__real_slow(enum kc_hook hook)
{
	void *found;

	driver_find(NULL);
	found = atomic_load_explicit(&kc__real[hook], memory_order_relaxed);
	return found ? found : (void *)not_there;
}

void *kc__driver_symbol(const char *symbol)
{
	int hook = kc__hook_by_symbol(symbol);

	if (!driver_find(NULL))
		return NULL;
	if (hook >= 0)
		return atomic_load_explicit(&kc__real[hook], memory_order_relaxed);
	if (real.object)
		return kc__object_symbol(real.object, symbol);
	return look_up(real.driver ? real.driver : RTLD_NEXT, symbol);
}

static void count(enum kc_counter counter, _Atomic uint64_t *before_journal)
{
	bool recorded = kc__shim.ours && kc__shim.header;

	atomic_fetch_add_explicit(recorded ? &kc__shim.header->counters[counter] : before_journal, 1,
				  memory_order_relaxed);
}

static void *route_by_name(int hook, void *address)
{
	void *none = NULL;

	pthread_mutex_lock(&real.lock);
	learn_address(address, hook);
	atomic_compare_exchange_strong(&kc__real[hook], &none, address);
	pthread_mutex_unlock(&real.lock);
	count(KC_COUNT_ROUTED_BY_NAME, &kc__shim.routed_by_name);
	return hooks[hook].ours;
}

/* Another library may export a driver's name for purposes of its own (a tool that
 * forwards calls, a stub): only what comes from the driver's file is hooked. */
static bool from_driver(const void *address)
{
	Dl_info theirs, drivers;
	void *init = atomic_load_explicit(&real.own_init, memory_order_relaxed);

	return init && dladdr(address, &theirs) && dladdr(init, &drivers) && theirs.dli_fbase == drivers.dli_fbase;
}

static struct link_map *object_and_namespace(const void *address, bool *apart)
{
	struct link_map *map = kc__object_of(address);
	Lmid_t namespace;

	if (!map || dlinfo(map, RTLD_DI_LMID, &namespace))
		return NULL;
	*apart = namespace != LM_ID_BASE;
	return map;
}

bool kc__is_drivers(const void *address, void *handle)
{
	driver_find(handle);
	return kc__is_ours(address) || from_driver(address);
}

/*
 * Another preloaded library answers in the driver's place, for programs that find the driver's functions as this one
 * does. Its function is what the hook calls from now on, instead of the driver's own. Where it calls the driver's by
 * its name, that call is bound to the hook: it is left as it is, and comes to the hook by itself.
 */
static void *route_through(int hook, void *address)
{
	bool apart, routed;
	struct link_map *object = object_and_namespace(address, &apart);
	void *called;

	if (!object || kc__object_calls(object, hooks[hook].symbol))
		return address;
	pthread_mutex_lock(&real.lock);
	called = atomic_load_explicit(&kc__real[hook], memory_order_relaxed);
	routed = !called || called == address || from_driver(called);
	if (routed) {
		learn_address(address, hook);
		atomic_store_explicit(&kc__real[hook], address, memory_order_relaxed);
	}
	pthread_mutex_unlock(&real.lock);
	if (!routed)
		count(KC_COUNT_LEFT_UNHOOKED, &kc__shim.left_unhooked);
	return routed ? hooks[hook].ours : address;
}

static void *route_by_address(const char *symbol, void *address)
{
	int hook = hook_by_address(address);

	if (hook >= 0)
		return hooks[hook].ours;
	hook = kc__hook_by_symbol(symbol);
	return hook >= 0 && from_driver(address) ? route_by_name(hook, address) : address;
}

void *kc__route_symbol(const char *symbol, void *handle, void *address)
{
	void *routed;

	if (!address || kc__is_ours(address))
		return address;
	driver_find(handle);
	routed = route_by_address(symbol, address);
	if (routed == address && kc__hook_by_symbol(symbol) >= 0 && kc__dlsym_interposed(handle, symbol))
		return route_through(kc__hook_by_symbol(symbol), address);
	return routed;
}

bool kc__driver_reached(void)
{
	return atomic_load_explicit(&real.ready, memory_order_acquire);
}

bool kc__driver_apart(void)
{
	return atomic_load_explicit(&real.ready, memory_order_acquire) && real.apart;
}

bool kc__apart(void)
{
	bool apart = false;

	return object_and_namespace((const void *)kc__apart, &apart) && apart;
}

/*
 * One driver is watched in a process: the one in the base namespace where there is
 * one, as its callers are bound to our hooks already; else the first that is used.
 * If that is in a namespace of its own, later callers in the base namespace get
 * their own driver.
 */
void *kc__route_binding(const char *symbol, void *address, struct link_map *base_driver)
{
	bool apart = false;
	struct link_map *object;
	void *direct;

	if (kc__hook_by_symbol(symbol) < 0)
		return address;
	if (kc__is_ours(address)) {
		direct = base_driver && kc__driver_apart() ? kc__object_symbol(base_driver, symbol) : NULL;
		return direct ? direct : address;
	}
	object = object_and_namespace(address, &apart);
	if (object && !atomic_load_explicit(&real.ready, memory_order_acquire)) {
		if (apart && base_driver)
			driver_take(NULL, base_driver, false);
		else
			driver_take(NULL, object, apart);
	}
	if (!atomic_load_explicit(&real.ready, memory_order_acquire))
		return address;
	if (hook_by_address(address) < 0 && !from_driver(address))
		atomic_store_explicit(&kc__shim.second_driver, 1, memory_order_relaxed);
	return route_by_address(symbol, address);
}

/* The hook with this name, the variant asked for, and the newest ABI the
 * version allows. Names without a per-thread twin have one variant for all. */
static int hook_by_request(const char *name, int version, bool per_thread)
{
	int best = -1, best_any = -1;

	for (int i = 0; i < KC_HOOK_COUNT; i++) {
		if (strcmp(hooks[i].name, name) || hooks[i].version > version)
			continue;
		if (hooks[i].twin == per_thread && (best < 0 || hooks[i].version >= hooks[best].version))
			best = i;
		if (!hooks[i].twin && (best_any < 0 || hooks[i].version >= hooks[best_any].version))
			best_any = i;
	}
	return best >= 0 ? best : best_any;
}

static bool is_exported(const void *address)
{
	Dl_info at;

	return dladdr(address, &at) && at.dli_sname && at.dli_saddr == address;
}

/*
 * Whether an answer to this request has the ABI of the hook's real function. What
 * is exported under another name than the hook's has another ABI, and what is
 * asked for in a later version than the table of hooks covers may have one.
 */
static bool speaks_for(int hook, int version, const void *address)
{
	bool apart;
	struct link_map *object = object_and_namespace(address, &apart);

	if (object && kc__object_symbol(object, hooks[hook].symbol) == address)
		return true;
	return version <= KC_HOOKS_CUDA_VERSION && !is_exported(address);
}

void *kc__route_proc(const char *name, int version, bool per_thread, void *address)
{
	int hook;

	if (!address || kc__is_ours(address))
		return address;
	driver_find(NULL);
	hook = hook_by_address(address);
	if (hook >= 0)
		return hooks[hook].ours;
	hook = name ? hook_by_request(name, version, per_thread) : -1;
	if (hook < 0)
		return address;
	if (speaks_for(hook, version, address))
		return from_driver(address) ? route_by_name(hook, address) : route_through(hook, address);
	count(KC_COUNT_LEFT_UNHOOKED, &kc__shim.left_unhooked);
	return address;
}
