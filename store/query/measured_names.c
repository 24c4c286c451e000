#include "measured.h"
#include "kernel_form.h"
#include "told_apart.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kc_measured_kernel *kc_measured_kernel(const struct kc_measured_names *names, uint32_t kernel)
{
	return (const struct kc_measured_kernel *)names->kernels.at + kernel;
}

const struct kc_measured_shape *kc_measured_shape(const struct kc_measured_names *names, uint32_t shape)
{
	return (const struct kc_measured_shape *)names->shapes.at + shape;
}

void kc_measured_names_free(struct kc_measured_names *names)
{
	struct kc_measured_kernel *kernels = names->kernels.at;

	for (size_t i = 0; i < names->kernels.count; i++) {
		free(kernels[i].mangled);
		free(kernels[i].name);
	}
	free(kernels);
	free(names->shapes.at);
	free(names->kernel_places.at);
	free(names->forms.at);
	for (size_t i = 0; i < names->processes.count; i++)
		free(((char **)names->processes.at)[i]);
	free(names->processes.at);
	kc_intern_free(&names->process_ids);
	kc_intern_free(&names->form_ids);
	kc_intern_free(&names->kernel_ids);
	kc_intern_free(&names->shape_ids);
	kc_intern_free(&names->argument_ids);
	kc_intern_free(&names->model_ids);
	*names = (struct kc_measured_names){0};
}

int kc_measured_names_tell_apart(struct kc_measured_names *names)
{
	struct kc_measured_kernel *kernels = names->kernels.at;
	struct kc_namesake *all = calloc(names->kernels.count + 1, sizeof(*all));
	int rc;

	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < names->kernels.count; i++)
		all[i] = (struct kc_namesake){
		    &kernels[i].name, {strcmp(kernels[i].mangled, kernels[i].name) != 0 ? kernels[i].mangled : NULL}};
	rc = kc_tell_apart(all, names->kernels.count);
	free(all);
	return rc;
}

/* 0: no memory. */
static uint32_t add_kernel(struct kc_measured_names *names, const char *mangled, const char *name)
{
	struct kc_measured_kernel *kernel = kc__list_add(&names->kernels, sizeof(*kernel));

	if (!kernel)
		return 0;
	kernel->mangled = strdup(mangled);
	kernel->name = strdup(name);
	return kernel->mangled && kernel->name ? (uint32_t)names->kernels.count : 0;
}

/* Of a kernel whose readable name alone was known. */
static uint32_t know_symbol(struct kc_measured_names *names, uint32_t number, const char *mangled)
{
	struct kc_measured_kernel *kernel = (struct kc_measured_kernel *)names->kernels.at + number - 1;
	char *symbol = strdup(mangled);

	if (!symbol)
		return 0;
	free(kernel->mangled);
	kernel->mangled = symbol;
	return number;
}

/* The number of a form; 0: no memory. */
static uint32_t form_number(struct kc_measured_names *names, char kind, const char *text, size_t bytes)
{
	uint32_t number = kc_intern(&names->form_ids, kind, text, bytes);

	if (number > names->forms.count && !kc__list_add(&names->forms, sizeof(struct kc_measured_form)))
		return 0;
	return number;
}

static uint32_t either(uint32_t first, uint32_t second)
{
	return first ? first : second;
}

/* The kernel that has this name already, in another spelling. Notes the kernel under its forms, which gets the number
 * `next` if there is none. 0: no memory. */
static uint32_t same_kernel(struct kc_measured_names *names, const char *name, int is_symbol, uint32_t next)
{
	struct kc_kernel_form form;
	struct kc_measured_form *whole, *named;
	uint32_t whole_number, named_number, found, *first;

	kc_kernel_form(name, &form);
	whole_number = form_number(names, 'w', form.text, strlen(form.text));
	named_number = whole_number ? form_number(names, 'n', form.text, form.named) : 0;
	if (!named_number)
		return 0;
	whole = (struct kc_measured_form *)names->forms.at + whole_number - 1;
	named = (struct kc_measured_form *)names->forms.at + named_number - 1;
	if (form.is_generic) {
		found = either(either(named->symbol, named->text), either(named->generic, next));
		named->generic = either(named->generic, found);
		return found;
	}
	if (is_symbol && whole->symbol) /* several symbols may read the same */
		found = next;
	else
		found = either(either(whole->symbol, whole->text), either(named->symbol ? 0 : named->generic, next));
	first = is_symbol ? &whole->symbol : &whole->text;
	*first = either(*first, found);
	first = is_symbol ? &named->symbol : &named->text;
	*first = either(*first, found);
	return found;
}

static int place_kernel(struct kc_measured_names *names, const char *mangled, const char *name)
{
	uint32_t *place = kc__list_add(&names->kernel_places, sizeof(*place)), found;
	int is_symbol = !strncmp(mangled, "_Z", 2);

	if (!place)
		return -ENOMEM;
	found = same_kernel(names, name, is_symbol, (uint32_t)names->kernels.count + 1);
	if (found > names->kernels.count)
		found = add_kernel(names, mangled, name);
	else if (found && is_symbol)
		found = know_symbol(names, found, mangled);
	if (!found)
		return -ENOMEM;
	*place = found - 1;
	return 0;
}

int kc_measured_kernel_number(struct kc_measured_names *names, const char *mangled, const char *name, uint32_t *out)
{
	uint32_t number = kc_intern(&names->kernel_ids, 'k', mangled, strlen(mangled));
	int rc = number ? 0 : -ENOMEM;

	if (rc == 0 && number > names->kernel_places.count)
		rc = place_kernel(names, mangled, name);
	if (rc == 0)
		*out = ((const uint32_t *)names->kernel_places.at)[number - 1];
	return rc;
}

/* A new kernel with this name. name: taken; NULL: no memory. */
static int another_kernel(struct kc_measured_names *names, uint32_t kernel, char *name, uint32_t *out)
{
	char *mangled = name ? strdup(kc_measured_kernel(names, kernel)->mangled) : NULL;
	uint32_t number = mangled ? add_kernel(names, mangled, name) : 0;

	free(mangled);
	free(name);
	*out = number - 1;
	return number ? 0 : -ENOMEM;
}

int kc_measured_kernel_on(struct kc_measured_names *names, uint32_t kernel, uint32_t process, uint32_t *out)
{
	char *name = NULL;

	if (asprintf(&name, "%s on %s", kc_measured_kernel(names, kernel)->name,
		     process ? ((char *const *)names->processes.at)[process - 1] : "other processes") < 0)
		name = NULL;
	return another_kernel(names, kernel, name, out);
}

int kc_measured_kernel_was(struct kc_measured_names *names, uint32_t kernel, unsigned long number, uint32_t *out)
{
	char *name = NULL;

	if (asprintf(&name, "%s (was _%lu)", kc_measured_kernel(names, kernel)->name, number) < 0)
		name = NULL;
	return another_kernel(names, kernel, name, out);
}

int kc_measured_shape_number(struct kc_measured_names *names, const struct kc_measured_shape *shape, uint32_t *out)
{
	uint32_t number = kc_intern(&names->shape_ids, 's', shape, sizeof(*shape));
	struct kc_measured_shape *kept;

	if (!number)
		return -ENOMEM;
	if (number > names->shapes.count) {
		kept = kc__list_add(&names->shapes, sizeof(*kept));
		if (!kept)
			return -ENOMEM;
		*kept = *shape;
	}
	*out = number - 1;
	return 0;
}
