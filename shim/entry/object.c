/*
 * A symbol of one loaded object, found in the object's own tables. dlsym() cannot
 * be used while the loader is in the middle of its work, nor for an object that is
 * loaded only as a dependency of another. It is used in all other cases.
 *
 * Nor can strcmp() and its like be called, where the first look-up of the process comes here: it may be that of a
 * library that has functions of these names, as a sanitizer's runtime, and looks for the real ones.
 */
#include "shim/shim.h"
#include "lookup.h"

#include <dlfcn.h>
#include <link.h>

/* Of addresses that the loader fills in: of functions that are called, and of whatever else. */
#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT };
#endif

struct tables {
	const ElfW(Sym) * symbols;
	const char *names;
	const uint32_t *hash, *gnu_hash;
};

/* On most architectures the loader has made the addresses absolute. */
static const void *at(const struct link_map *object, ElfW(Addr) address)
{
	return (const void *)(address < object->l_addr ? address + object->l_addr : address);
}

static void find_tables(const struct link_map *object, struct tables *t)
{
	*t = (struct tables){0};
	for (const ElfW(Dyn) *d = object->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			t->symbols = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			t->names = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_HASH)
			t->hash = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_GNU_HASH)
			t->gnu_hash = at(object, d->d_un.d_ptr);
	}
}

bool kc__same_name(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static bool is(const struct tables *t, uint32_t i, const char *name)
{
	const ElfW(Sym) *s = &t->symbols[i];

	return s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
	       kc__same_name(t->names + s->st_name, name);
}

/* DT_GNU_HASH: number of buckets, first symbol, words of the filter, its shift; the filter;
 * the buckets; a hash for each symbol, whose lowest bit marks the end of its bucket's chain. */
static uint32_t find_gnu(const struct tables *t, const char *name)
{
	uint32_t buckets = t->gnu_hash[0], first = t->gnu_hash[1], hash = 5381, i;
	const uint32_t *bucket = t->gnu_hash + 4 + t->gnu_hash[2] * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chain = bucket + buckets;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	i = buckets ? bucket[hash % buckets] : 0;
	if (i < first)
		return 0;
	for (;; i++) {
		if ((chain[i - first] | 1) == (hash | 1) && is(t, i, name))
			return i;
		if (chain[i - first] & 1)
			return 0;
	}
}

/* DT_HASH: its second word is the number of symbols. */
static uint32_t find_any(const struct tables *t, const char *name)
{
	for (uint32_t i = 1; i < t->hash[1]; i++)
		if (is(t, i, name))
			return i;
	return 0;
}

struct link_map *kc__object_of(const void *address)
{
	struct link_map *object = NULL;
	Dl_info info;

	return dladdr1(address, &info, (void **)&object, RTLD_DL_LINKMAP) ? object : NULL;
}

bool kc__in_our_object(const void *address)
{
	Dl_info theirs, ours;

	return dladdr(address, &theirs) && dladdr((const void *)kc__callers_symbol, &ours) &&
	       theirs.dli_fbase == ours.dli_fbase;
}

void *kc__callers_symbol(const void *caller, const char *name)
{
	Dl_info info;
	void *module, *address = NULL;

	if (!dladdr(caller, &info) || !info.dli_fname[0] || !(module = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
		return NULL;
	address = kc__real_dlsym(module, name);
	dlclose(module);
	/* What is preloaded counts as a dependency of the program itself. */
	return address && !kc__in_our_object(address) ? address : NULL;
}

bool kc__object_calls(const struct link_map *object, const char *name)
{
	struct tables t;
	uint32_t end;

	find_tables(object, &t);
	if (!t.symbols || !t.names)
		return false;
	/* What it does not define stands before all that is in the first of these. */
	end = t.gnu_hash ? t.gnu_hash[1] : t.hash ? t.hash[1] : 0;
	for (uint32_t i = 1; i < end; i++)
		if (t.symbols[i].st_shndx == SHN_UNDEF && kc__same_name(t.names + t.symbols[i].st_name, name))
			return true;
	return false;
}

static bool any_bound(const struct link_map *object, const ElfW(Rela) * from, size_t bytes,
		      bool (*is)(const char *name, const void *address))
{
	struct tables t;

	find_tables(object, &t);
	for (size_t i = 0; t.symbols && t.names && i < bytes / sizeof(*from); i++) {
		uint32_t type = (uint32_t)ELF64_R_TYPE(from[i].r_info);

		if ((type == JUMP_SLOT || type == GLOB_DAT) &&
		    is(t.names + t.symbols[ELF64_R_SYM(from[i].r_info)].st_name,
		       *(void *const *)(object->l_addr + from[i].r_offset)))
			return true;
	}
	return false;
}

bool kc__object_is_bound(const struct link_map *object, bool (*is)(const char *name, const void *address))
{
	const ElfW(Rela) *calls = NULL, *addresses = NULL;
	size_t calls_bytes = 0, addresses_bytes = 0;

	for (const ElfW(Dyn) *d = object->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_JMPREL)
			calls = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			calls_bytes = d->d_un.d_val;
		else if (d->d_tag == DT_RELA)
			addresses = at(object, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			addresses_bytes = d->d_un.d_val;
	}
	return any_bound(object, calls, calls ? calls_bytes : 0, is) ||
	       any_bound(object, addresses, addresses ? addresses_bytes : 0, is);
}

void *kc__object_symbol(const struct link_map *object, const char *name)
{
	struct tables t;
	uint32_t i = 0;

	find_tables(object, &t);
	if (t.symbols && t.names)
		i = t.gnu_hash ? find_gnu(&t, name) : t.hash ? find_any(&t, name) : 0;
	return i ? (void *)(object->l_addr + t.symbols[i].st_value) : NULL;
}
