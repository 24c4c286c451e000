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

#include <string.h>

struct handle {
	uint64_t key[1];
	const char *_Atomic name;
	struct kc__code *_Atomic code;
	_Atomic uint32_t form; /* enum kc__form */
};

static struct handle *find_handle(const void *handle)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)handle};

	return handle ? kc__find(&kc__shim.handles, key, 1) : NULL;
}

/* tables_lock held. NULL: there is no room. */
static struct handle *make_handle(const void *handle)
{
	uint64_t key[1] = {(uint64_t)(uintptr_t)handle};
	struct handle *h = find_handle(handle);

	if (!h && (h = kc__fresh(&kc__shim.handles, sizeof(*h), key, 1)))
		kc__insert(&kc__shim.handles, h, 1);
	return h;
}

struct kc__code *kc__handle_code(const void *handle)
{
	const struct handle *h = find_handle(handle);

	return h ? atomic_load_explicit(&h->code, memory_order_acquire) : NULL;
}

void kc__handle_code_set(const void *handle, struct kc__code *code)
{
	struct handle *h = make_handle(handle);

	if (h)
		atomic_store_explicit(&h->code, code, memory_order_release);
}

void kc__handle_gone(const void *handle)
{
	struct handle *h = find_handle(handle);

	if (h)
		atomic_store_explicit(&h->code, NULL, memory_order_release);
}

enum kc__form kc__handle_form(const void *handle)
{
	const struct handle *h = find_handle(handle);

	return h ? (enum kc__form)atomic_load_explicit(&h->form, memory_order_acquire) : KC__FORM_UNKNOWN;
}

/* tables_lock held. An address that has come to be a handle of the other form is not the kernel it was. */
static void set_form(struct handle *h, enum kc__form form)
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
	struct handle *h;

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
	const struct handle *h = find_handle(handle);

	return h ? atomic_load_explicit(&h->name, memory_order_acquire) : NULL;
}

/* tables_lock held. */
static void set_name(struct handle *h, const char *name)
{
	const char *known = atomic_load_explicit(&h->name, memory_order_relaxed);

	if (!known || strcmp(known, name))
		atomic_store_explicit(&h->name, kc__keep_text(name), memory_order_release);
}

void kc__handle_named(const void *handle, enum kc__form form, const char *name, const void *container)
{
	bool driver_tells = kc__driver_symbol("cuFuncGetName") != NULL; /* 12.3 and later */
	struct handle *h;

	if (!handle)
		return;
	pthread_mutex_lock(&kc__shim.tables_lock);
	h = make_handle(handle);
	if (h) {
		set_form(h, form);
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
