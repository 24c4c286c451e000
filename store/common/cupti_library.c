#include "cupti_library.h"
#include "loaded.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MAJOR_OLDEST = 11, MAJOR_NEWEST = 13, NAME_BYTES = 32 }; /* CUDA's; a driver may be newer */

const char *kc_cupti_place_text(enum kc_cupti_place place)
{
	static const char *const texts[] = {
	    [KC_CUPTI_CHOSEN] = "chosen by KERNCAST_CUPTI",
	    [KC_CUPTI_LOADED] = "loaded by the program",
	    [KC_CUPTI_BESIDE] = "beside the program's CUDA libraries",
	    [KC_CUPTI_PACKAGES] = "among the program's Python packages",
	    [KC_CUPTI_LOADER] = "in the loader's path",
	    [KC_CUPTI_TOOLKIT] = "in the toolkit's folder",
	};

	return texts[place];
}

/* "libcupti.so.13"; the SONAME has the major version alone since CUDA 12.0. */
static void name_of(int major, char *name)
{
	snprintf(name, NAME_BYTES, major == MAJOR_OLDEST ? "libcupti.so.%d.8" : "libcupti.so.%d", major);
}

/* Folders */

static void add_folder(struct kc_cupti_folders *folders, enum kc_cupti_place place, const char *root, size_t length,
		       const char *below)
{
	char path[KC_CUPTI_PATH_BYTES];

	if (length + strlen(below) >= sizeof(path) || folders->count == KC_CUPTI_FOLDERS_MAX)
		return;
	snprintf(path, sizeof(path), "%.*s%s", (int)length, root, below);
	for (int i = 0; i < folders->count; i++)
		if (!strcmp(folders->at[i].path, path))
			return;
	strcpy(folders->at[folders->count].path, path);
	folders->at[folders->count++].place = place;
}

/* Where the wheels nvidia-cuda-cupti (13) and nvidia-cuda-cupti-cu12 put it. root: up to where packages begin. */
static void add_packages(struct kc_cupti_folders *folders, const char *root, size_t length, const char *below)
{
	static const char *const wheels[] = {"nvidia/cu13/lib", "nvidia/cuda_cupti/lib"};
	char path[64];

	for (size_t i = 0; i < sizeof(wheels) / sizeof(*wheels); i++) {
		snprintf(path, sizeof(path), "%s%s", below, wheels[i]);
		add_folder(folders, KC_CUPTI_PACKAGES, root, length, path);
	}
}

void kc_cupti_add_object(struct kc_cupti_folders *folders, const char *path)
{
	static const char *const packages[] = {"/site-packages/", "/dist-packages/"};
	const char *name = strrchr(path, '/'), *at;

	if (!name || *path != '/')
		return;
	if (!strncmp(name, "/libcudart.so", 13) || !strncmp(name, "/libnvrtc.so", 12)) {
		add_folder(folders, KC_CUPTI_BESIDE, path, (size_t)(name - path), "");
		add_folder(folders, KC_CUPTI_BESIDE, path, (size_t)(name - path), "/../extras/CUPTI/lib64");
	}
	for (size_t i = 0; i < sizeof(packages) / sizeof(*packages); i++)
		if ((at = strstr(path, packages[i])))
			add_packages(folders, path, (size_t)(at - path) + strlen(packages[i]), "");
	/* Python's own modules, which are loaded even where no package has brought a library yet */
	if ((at = strstr(path, "/lib-dynload/")))
		add_packages(folders, path, (size_t)(at - path), "/site-packages/");
}

static int on_object(struct dl_phdr_info *info, size_t size, void *folders)
{
	(void)size;
	kc_cupti_add_object(folders, info->dlpi_name);
	return 0;
}

/* Versions */

/* 0: it does not tell */
static uint32_t version_of(void *library)
{
	int (*get_version)(uint32_t *) = (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion");
	uint32_t version = 0;

	return get_version && get_version(&version) == 0 ? version : 0;
}

/* A copy that is only asked must not stay: the next that needs its SONAME would get it. */
static uint32_t version_at(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	uint32_t version = library ? version_of(library) : 0;

	if (library)
		dlclose(library);
	return version;
}

/* A search, and the copies that its caller has refused. */
struct search {
	struct kc_cupti_folders folders;
	bool (*accepts)(void *library);
	struct {
		dev_t device;
		ino_t file;
	} refused[KC_CUPTI_FOLDERS_MAX];
	int refused_count;
};

static bool is_refused(const struct search *search, const struct stat *file)
{
	for (int i = 0; i < search->refused_count; i++)
		if (search->refused[i].device == file->st_dev && search->refused[i].file == file->st_ino)
			return true;
	return false;
}

/* A handle that is accepted, or NULL. */
static void *ask(struct search *search, void *library)
{
	struct link_map *map;
	struct stat file;
	bool known;

	if (!library || !search->accepts)
		return library;
	known = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && stat(map->l_name, &file) == 0;
	if (!(known && is_refused(search, &file)) && search->accepts(library))
		return library;
	if (known && search->refused_count < KC_CUPTI_FOLDERS_MAX && !is_refused(search, &file)) {
		search->refused[search->refused_count].device = file.st_dev;
		search->refused[search->refused_count++].file = file.st_ino;
	}
	dlclose(library);
	return NULL;
}

static void *open_at(struct search *search, const char *path)
{
	return ask(search, dlopen(path, RTLD_LAZY | RTLD_LOCAL));
}

/* The newest of a major version that is not refused; copies are opened only to compare them. "": none. */
static void find_newest(const struct search *search, int major, char *best, enum kc_cupti_place *place)
{
	char path[KC_CUPTI_PATH_BYTES + NAME_BYTES], name[NAME_BYTES];
	uint32_t version, best_version = 0;
	struct stat file, best_file = {0};

	*best = '\0';
	name_of(major, name);
	for (int i = 0; i < search->folders.count; i++) {
		snprintf(path, sizeof(path), "%s/%s", search->folders.at[i].path, name);
		if (stat(path, &file) || is_refused(search, &file) ||
		    (*best && file.st_dev == best_file.st_dev && file.st_ino == best_file.st_ino))
			continue;
		if (*best && !best_version)
			best_version = version_at(best);
		version = *best ? version_at(path) : 0;
		if (*best && version <= best_version)
			continue;
		strcpy(best, path);
		best_file = file;
		best_version = version;
		*place = search->folders.at[i].place;
	}
}

/* Opening */

static void *open_newest(struct search *search, int major, enum kc_cupti_place *place)
{
	char best[KC_CUPTI_PATH_BYTES + NAME_BYTES];
	void *library = NULL;
	int refused;

	do {
		refused = search->refused_count;
		find_newest(search, major, best, place);
		if (*best)
			library = open_at(search, best);
	} while (!library && search->refused_count > refused);
	return library;
}

static void *open_beside(struct search *search, int newest, int oldest, enum kc_cupti_place *place)
{
	void *library = NULL;

	for (int major = newest; !library && major >= oldest; major--)
		library = open_newest(search, major, place);
	return library;
}

/* By the name alone the loader finds a copy that is loaded, so one that was refused hides those in its path. */
static void *open_hidden(struct search *search, const char *name)
{
	Dl_serinfo size, *folders = NULL;
	void *library = NULL, *program = search->refused_count ? dlopen(NULL, RTLD_LAZY) : NULL;
	char path[KC_CUPTI_PATH_BYTES];

	if (program && dlinfo(program, RTLD_DI_SERINFOSIZE, &size) == 0 && (folders = malloc(size.dls_size))) {
		*folders = size;
		if (dlinfo(program, RTLD_DI_SERINFO, folders) < 0)
			folders->dls_cnt = 0;
	}
	for (unsigned i = 0; !library && folders && i < folders->dls_cnt; i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/%s", folders->dls_serpath[i].dls_name, name) <
		    sizeof(path))
			library = open_at(search, path);
	free(folders);
	if (program)
		dlclose(program);
	return library;
}

/* The toolkit's folders, or one "" for the loader's path. */
static void *open_in(struct search *search, const char *const *folders, int count, const char *name)
{
	char path[128];
	void *library = NULL;

	for (int i = 0; !library && i < count; i++) {
		snprintf(path, sizeof(path), "%s%s", folders[i], name);
		library = open_at(search, path);
		if (!library && !*folders[i])
			library = open_hidden(search, name);
	}
	return library;
}

static void *open_installed(struct search *search, int newest, int oldest, enum kc_cupti_place *place)
{
	static const struct {
		enum kc_cupti_place place;
		int count;
		const char *folders[2];
	} places[] = {
	    {KC_CUPTI_LOADER, 1, {""}},
	    {KC_CUPTI_TOOLKIT, 2, {"/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"}},
	};
	char name[NAME_BYTES];
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof(places) / sizeof(*places); i++) {
		*place = places[i].place;
		for (int major = newest; !library && major >= oldest; major--) {
			name_of(major, name);
			library = open_in(search, places[i].folders, places[i].count, name);
		}
	}
	return library;
}

void *kc_cupti_loaded(void)
{
	char name[NAME_BYTES];
	void *library = NULL;

	for (int major = MAJOR_NEWEST; !library && major >= MAJOR_OLDEST; major--) {
		name_of(major, name);
		library = kc_loaded(name);
	}
	return library ? library : kc_loaded("libcupti.so");
}

static void *open_any(struct search *search, int major, enum kc_cupti_place *place)
{
	void *library;

	dl_iterate_phdr(on_object, &search->folders);
	library = open_beside(search, major, MAJOR_OLDEST, place);
	if (!library)
		library = open_installed(search, major, MAJOR_OLDEST, place);
	if (!library)
		library = open_beside(search, MAJOR_NEWEST, major + 1, place);
	if (!library)
		library = open_installed(search, MAJOR_NEWEST, major + 1, place);
	if (!library) {
		*place = KC_CUPTI_LOADER;
		library = open_at(search, "libcupti.so");
	}
	return library;
}

void *kc_cupti_open(const char *chosen, int driver_version, bool (*accepts)(void *library), enum kc_cupti_place *place)
{
	int major = driver_version ? driver_version / 1000 : MAJOR_NEWEST; /* cuDriverGetVersion: 1000 * major + ... */
	struct search *search = calloc(1, sizeof(*search));                /* too large for a small stack */
	void *library;

	if (!search)
		return NULL;
	search->accepts = accepts;
	*place = *chosen ? KC_CUPTI_CHOSEN : KC_CUPTI_LOADED;
	library = *chosen ? open_at(search, chosen) : ask(search, kc_cupti_loaded());
	if (!library && !*chosen)
		library = open_any(search, major, place);
	free(search);
	return library;
}
