/*
 * An audit module (LD_AUDIT, rtld-audit(7)): the loader reports every binding in
 * every namespace to it. That includes those which LD_PRELOAD does not reach, of
 * objects opened with RTLD_DEEPBIND or by dlmopen(), and their dlsym() calls. What
 * binds to the driver is bound to libkerncast.so's hook instead; everything else
 * is left as it is.
 *
 * This runs in a namespace of its own, within the loader, before anything is
 * initialised: it needs no library, not even the C library.
 */
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

/* What an object is, in the low bits of its link_map's address, which are 0. */
enum {
	OURS = 1,    /* libkerncast.so */
	DRIVER = 2,  /* libcuda.so */
	APART = 4,   /* in a namespace of its own */
	PAST_US = 8, /* it was bound to the C library's dlsym, not to ours */
	MARKS = 15,
};

/* kerncast_route(): libkerncast.so looks it up when it is ready, which the loader reports. */
static void *(*route)(const char *symbol, void *address, struct link_map *base_driver);
static struct link_map *base_driver;

static bool begins(const char *text, const char *with)
{
	while (*with)
		if (*text++ != *with++)
			return false;
	return true;
}

static bool equal(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static const char *file_name(const char *path)
{
	const char *name = path;

	for (; *path; path++)
		if (*path == '/')
			name = path + 1;
	return name;
}

EXPORT unsigned la_version(unsigned version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT unsigned la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	const char *name = file_name(map->l_name);
	uintptr_t marks = namespace == LM_ID_BASE ? 0 : APART;

	if (equal(name, "libkerncast.so"))
		marks |= OURS;
	else if (begins(name, "libcuda.so"))
		marks |= DRIVER;
	if (marks == DRIVER)
		base_driver = map;
	*cookie = (uintptr_t)map | marks;
	/* The libraries that define dlsym, before and since glibc 2.34. */
	if ((marks & (OURS | DRIVER)) || equal(name, "libc.so.6") || equal(name, "libdl.so.2"))
		return LA_FLG_BINDTO | LA_FLG_BINDFROM;
	return LA_FLG_BINDFROM;
}

EXPORT unsigned la_objclose(uintptr_t *cookie)
{
	if ((*cookie & ~(uintptr_t)MARKS) == (uintptr_t)base_driver)
		base_driver = NULL;
	return 0;
}

/*
 * Whether this binding bypasses the preloaded hooks. Where the caller's dlsym is
 * ours, it has answered already, or was asked with RTLD_NEXT by a library between
 * us and the driver, which must get the driver.
 */
static bool gets_past(uintptr_t from, uintptr_t to, unsigned flags)
{
	if (!(to & DRIVER) || (from & OURS) || ((from ^ to) & ~(uintptr_t)MARKS) == 0)
		return false;
	return !(flags & LA_SYMB_DLSYM) || (from & (APART | PAST_US));
}

EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
			      const char *name)
{
	void *address = (void *)symbol->st_value, *answer = address;

	(void)index;
	/* What looks for it by another dlsym has one of its own, and is asked by ours: it must find the driver. */
	if (name[0] == 'd' && equal(name, "dlsym") && !(*to & OURS) && !(*flags & LA_SYMB_DLSYM))
		__atomic_fetch_or(from, PAST_US, __ATOMIC_RELAXED);
	else if (name[0] == 'k' && (*from & OURS) && !(*from & APART) && equal(name, "kerncast_route"))
		__atomic_store_n(&route, (void *(*)(const char *, void *, struct link_map *))address, __ATOMIC_RELEASE);
	else if (name[0] == 'c' && name[1] == 'u' && __atomic_load_n(&route, __ATOMIC_ACQUIRE) &&
		 (gets_past(*from, *to, *flags) || ((*to & (OURS | APART)) == OURS && !(*from & OURS))))
		answer = route(name, address, base_driver);
	return (uintptr_t)answer;
}
