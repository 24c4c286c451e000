/*
 * Says where the driver's functions lead, as a program finds them: for each name, by
 * dlsym() and by cuGetProcAddress in both of its ABIs, over versions and flags, before
 * and after cuInit. One line per look-up, of four columns separated by blanks:
 *
 *	LOOK-UP RESULT FILE SYMBOL
 *
 * FILE and SYMBOL tell which function the address is: the library's file name without
 * what follows ".so", and the symbol at exactly that address ("?": none is there).
 *
 *	addresses NAME...     symbols that the driver exports
 */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* cuda.h's macros would turn these names of the older ABI into those of the newest. */
#undef cuGetProcAddress

typedef CUresult (*resolver_v1)(const char *name, void **address, int version, cuuint64_t flags);
typedef CUresult (*resolver_v2)(const char *name, void **address, int version, cuuint64_t flags,
				CUdriverProcAddressQueryResult *status);

enum { NAME_MAX_BYTES = 128 };

/* Each introduced ABIs or twins of hooked names, or is the newest of its major version. */
static const int versions[] = {2000,  3020,  4000,  6050,  7000,  8000,  9000,  10000, 11000, 11030, 11040,
			       11060, 11080, 12000, 12020, 12040, 12050, 12080, 12090, 13000, 13010, 13050};
static const cuuint64_t flags[] = {CU_GET_PROC_ADDRESS_DEFAULT, CU_GET_PROC_ADDRESS_LEGACY_STREAM,
				   CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};

static const char *when = "before";

static void print_address(const char *how, const char *name, int result, const void *address)
{
	Dl_info info = {0};
	const char *file = "?";
	int length;

	if (!address || !dladdr(address, &info)) {
		printf("%s:%s:%s %d - -\n", when, how, name, result);
		return;
	}
	if (info.dli_fname)
		file = strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : info.dli_fname;
	length = strstr(file, ".so") ? (int)(strstr(file, ".so") - file) : (int)strlen(file);
	printf("%s:%s:%s %d %.*s %s\n", when, how, name, result, length, file,
	       info.dli_sname && info.dli_saddr == address ? info.dli_sname : "?");
}

/* A name as the resolver takes it: without ABI and per-thread twin. */
static void base_name(const char *symbol, char *name)
{
	static const char *const endings[] = {"_ptsz", "_ptds", "_v2", "_v3"};

	snprintf(name, NAME_MAX_BYTES, "%s", symbol);
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t length = strlen(name), ending = strlen(endings[i]);

		if (length > ending && !strcmp(name + length - ending, endings[i]))
			name[length - ending] = '\0';
	}
}

static void ask(const char *name, resolver_v1 v1, resolver_v2 v2)
{
	for (size_t v = 0; v < sizeof(versions) / sizeof(*versions); v++)
		for (size_t f = 0; f < sizeof(flags) / sizeof(*flags); f++) {
			CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
			void *address = NULL;
			char how[64];
			int result;

			if (v1) {
				snprintf(how, sizeof(how), "proc:%d:%d", versions[v], (int)flags[f]);
				result = (int)v1(name, &address, versions[v], flags[f]);
				print_address(how, name, result, address);
			}
			address = NULL;
			if (v2) {
				result = (int)v2(name, &address, versions[v], flags[f], &status);
				snprintf(how, sizeof(how), "proc_v2:%d:%d:status=%d", versions[v], (int)flags[f],
					 (int)status);
				print_address(how, name, result, address);
			}
		}
}

/* Whether a symbol before this one is another ABI or twin of its name. */
static int is_asked(const char *name, int before, char **symbols)
{
	char earlier[NAME_MAX_BYTES];

	for (int i = 0; i < before; i++) {
		base_name(symbols[i], earlier);
		if (!strcmp(earlier, name))
			return 1;
	}
	return 0;
}

static void look_up_all(void *driver, int count, char **symbols)
{
	resolver_v1 v1 = (resolver_v1)dlsym(driver, "cuGetProcAddress");
	resolver_v2 v2 = (resolver_v2)dlsym(driver, "cuGetProcAddress_v2");

	for (int i = 0; i < count; i++) {
		char name[NAME_MAX_BYTES];

		print_address("dlsym", symbols[i], 0, dlsym(driver, symbols[i]));
		print_address("default", symbols[i], 0, dlsym(RTLD_DEFAULT, symbols[i]));
		base_name(symbols[i], name);
		if (!is_asked(name, i, symbols))
			ask(name, v1, v2);
	}
}

int main(int argc, char **argv)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	CUresult (*init)(unsigned) = driver ? (CUresult(*)(unsigned))dlsym(driver, "cuInit") : NULL;

	if (!init) {
		printf("%s\n", dlerror());
		return 2;
	}
	look_up_all(driver, argc - 1, argv + 1);
	printf("cuInit %d - -\n", (int)init(0));
	when = "after";
	look_up_all(driver, argc - 1, argv + 1);
	return 0;
}
