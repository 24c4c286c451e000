/*
 * What is known of the driver's handles: the code behind a module or a library, and of a kernel's handle its form, its
 * name where the driver does not tell, and its code.
 *
 * A kernel has handles of two forms: a CUkernel is a library's, a CUfunction is its part of one context or a module's
 * kernel. cuda.h lets a CUkernel take the place of a CUfunction in launches and cuOccupancy*, but each form has query
 * functions of its own.
 */
#include "handles.h"
#include "tables.h"
#include "shim/entry/real.h"
#include "functions.h"

#include <string.h>

struct kc__handle {
	uint64_t key[1];
	const char *_Atomic name;
	struct kc__code *_Atomic code;
	_Atomic uint32_t form; /* enum kc__form */
	/* Of a module or library its kernels, of a CUkernel its CUfunctions; tables_lock. */
	struct kc__handle *container, *first;
	struct kc__handle *next; /* of the same container; or free */
};

static struct kc__handle *find_handle(const void *handle)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)handle};

	return handle ? kc__find(&kc__shim.handles, key, 1) : NULL;
}

/* tables_lock held. NULL: there is no room. */
static struct kc__handle *fresh(const uint64_t *key)
{
	struct kc__handle *h = kc__shim.free_handles;

	if (!h)
		return kc__fresh(&kc__shim.handles, sizeof(*h), key, 1);
	kc__shim.free_handles = h->next;
	atomic_store_explicit(&h->name, NULL, memory_order_relaxed);
	atomic_store_explicit(&h->code, NULL, memory_order_relaxed);
	atomic_store_explicit(&h->form, KC__FORM_UNKNOWN, memory_order_relaxed);
	kc__set_key(h->key, key, 1);
	return h;
}

/* tables_lock held. NULL: there is no room. */
static struct kc__handle *make_handle(const void *handle)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)handle};
	struct kc__handle *h = find_handle(handle);

	if (!h && handle && (h = fresh(key)))
		kc__insert(&kc__shim.handles, h, 1);
	return h;
}

/* tables_lock held. */
static void take_out(struct kc__handle *h)
{
	struct kc__handle **link = h->container ? &h->container->first : NULL;

	while (link && *link != h)
		link = &(*link)->next;
	if (link)
		*link = h->next;
	h->container = NULL;
}

/* tables_lock held. container: NULL: it is not known. */
static void put_into(struct kc__handle *h, struct kc__handle *container)
{
	if (h->container == container || h == container)
		return;
	take_out(h);
	h->container = container;
	if (!container)
		return;
	h->next = container->first;
	container->first = h;
}

/* tables_lock held. With all that came out of it. */
static void give_back(struct kc__handle *h)
{
	while (h->first)
		give_back(h->first);
	take_out(h);
	kc__function_gone((CUfunction)(uintptr_t)h->key[0]);
	kc__remove(&kc__shim.handles, h, 1);
	kc__let_go(&kc__shim.handles);
	h->next = kc__shim.free_handles;
	kc__shim.free_handles = h;
}

struct kc__code *kc__handle_code(const void *handle)
{
	const struct kc__handle *h = find_handle(handle);

	return h ? atomic_load_explicit(&h->code, memory_order_acquire) : NULL;
}

void kc__handle_code_set(const void *handle, struct kc__code *code)
{
	struct kc__handle *h = make_handle(handle);

	if (h)
		atomic_store_explicit(&h->code, code, memory_order_release);
}

void kc__handle_gone(const void *handle)
{
	struct kc__handle *h;

	pthread_mutex_lock(&kc__shim.tables_lock);
	h = find_handle(handle);
	if (h)
		give_back(h);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

enum kc__form kc__handle_form(const void *handle)
{
	const struct kc__handle *h = find_handle(handle);

	return h ? (enum kc__form)atomic_load_explicit(&h->form, memory_order_acquire) : KC__FORM_UNKNOWN;
}

/* tables_lock held. An address that has come to be a handle of the other form is not the kernel it was. */
static void set_form(struct kc__handle *h, enum kc__form form)
{
	enum kc__form before = (enum kc__form)atomic_load_explicit(&h->form, memory_order_relaxed);

	if (before != KC__FORM_UNKNOWN && before != form) {
		atomic_store_explicit(&h->name, NULL, memory_order_relaxed);
		atomic_store_explicit(&h->code, NULL, memory_order_relaxed);
	}
	atomic_store_explicit(&h->form, form, memory_order_release);
}

void kc__handle_form_set(const void *handle, enum kc__form form)
{
	struct kc__handle *h;

	if (kc__handle_form(handle) == form)
		return;
	pthread_mutex_lock(&kc__shim.tables_lock);
	h = make_handle(handle);
	if (h)
		set_form(h, form);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

const char *kc__handle_name(const void *handle)
{
	const struct kc__handle *h = find_handle(handle);

	return h ? atomic_load_explicit(&h->name, memory_order_acquire) : NULL;
}

/* tables_lock held. */
static void set_name(struct kc__handle *h, const char *name)
{
	const char *known = atomic_load_explicit(&h->name, memory_order_relaxed);

	if (!known || strcmp(known, name))
		atomic_store_explicit(&h->name, kc__keep_text(name), memory_order_release);
}

void kc__handle_named(const void *handle, enum kc__form form, const char *name, const void *container)
{
	bool driver_tells = kc__driver_symbol("cuFuncGetName") != NULL; /* 12.3 and later */
	struct kc__handle *h;

	if (!handle)
		return;
	pthread_mutex_lock(&kc__shim.tables_lock);
	h = make_handle(handle);
	if (h) {
		set_form(h, form);
		put_into(h, make_handle(container));
		atomic_store_explicit(&h->code, kc__handle_code(container), memory_order_release);
		if (name && !driver_tells)
			set_name(h, name);
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* The library is asked for while the CUkernel is certain to be one: its handle may be another's later. */
static const void *library_of(const void *kernel)
{
	__auto_type get = KC_ASK(cuKernelGetLibrary);
	CUlibrary library;

	return get && get(&library, (CUkernel)kernel) == CUDA_SUCCESS ? library : NULL;
}

void kc__handle_function(const void *function, const void *kernel)
{
	if (kc__handle_form(kernel) != KC__FORM_KERNEL || !kc__handle_code(kernel))
		kc__handle_named(kernel, KC__FORM_KERNEL, NULL, library_of(kernel));
	kc__handle_named(function, KC__FORM_FUNCTION, kc__handle_name(kernel), kernel);
}
