/*
 * Which copy of CUPTI a process uses. A process may have several within reach, and whichever is loaded first serves
 * everything that asks for its SONAME later: a framework that is imported after us must find a copy that is not older
 * than its own. In this order:
 *
 *   what is loaded already; two copies in one process disturb each other
 *   what came with the CUDA libraries of the process: beside its libcudart or libnvrtc, or in its Python packages
 *   what the loader finds
 *   the toolkit's
 *
 * In each place a copy of the driver's CUDA major version comes first, then older ones ("a profiling tool based on an
 * older version of CUPTI can still operate with a more recent CUDA driver", CUPTI's documentation, 2.1). Copies of a
 * newer major version come last of all: they do not start. Nor does a copy for another kind of driver: where one cannot
 * be used, the next is tried.
 */
#ifndef KC_CUPTI_LIBRARY_H
#define KC_CUPTI_LIBRARY_H

#include <stdbool.h>

#define KC_CUPTI_FOLDERS_MAX 24
#define KC_CUPTI_PATH_BYTES 1024

enum kc_cupti_place {
	KC_CUPTI_CHOSEN,
	KC_CUPTI_LOADED,
	KC_CUPTI_BESIDE,
	KC_CUPTI_PACKAGES,
	KC_CUPTI_LOADER,
	KC_CUPTI_TOOLKIT,
};
const char *kc_cupti_place_text(enum kc_cupti_place place); /* "in the loader's path" */

/* Folders that came with CUDA libraries of the process. */
struct kc_cupti_folders {
	struct {
		char path[KC_CUPTI_PATH_BYTES];
		enum kc_cupti_place place;
	} at[KC_CUPTI_FOLDERS_MAX];
	int count;
};

/* What a loaded object says about where CUPTI may be. path: absolute. */
void kc_cupti_add_object(struct kc_cupti_folders *folders, const char *path);

/* A handle of dlopen(), NULL: none. chosen: the only path to use, "": none was chosen. driver_version: as
 * cuDriverGetVersion counts, 0: not known. accepts: whether a copy is of use, else the next one is opened; NULL: it
 * is. */
void *kc_cupti_open(const char *chosen, int driver_version, bool (*accepts)(void *library), enum kc_cupti_place *place);
/* Of a copy that is loaded already; NULL: none is. */
void *kc_cupti_loaded(void);

#endif
