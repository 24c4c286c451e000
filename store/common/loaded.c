#include "loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

/* A file's name may have more of the version behind the SONAME. */
static int has_name(struct dl_phdr_info *object, size_t size, void *soname)
{
	const char *slash = strrchr(object->dlpi_name, '/'), *name = slash ? slash + 1 : object->dlpi_name;

	(void)size;
	return strncmp(name, soname, strlen(soname)) == 0;
}

void *kc_loaded(const char *soname)
{
	return dl_iterate_phdr(has_name, (void *)soname) ? dlopen(soname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
}
