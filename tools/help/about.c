#include "tools/program.h"
#include "tools/system/library.h"

#include "store/common/cupti_library.h"
#include "store/common/options.h"
#include "store/common/version.h"
#include "store/database/schema.h"
#include "store/journal/journal.h"

#include "commit.h" /* made by the Makefile */

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>

#define CUPTI_AMONG "CUPTI      "

static void put_library(void)
{
	char library[PATH_MAX], why[2 * PATH_MAX];
	int rc = kc_library_find(library, sizeof(library));

	if (rc < 0)
		kc_library_refusal(rc, library, why, sizeof(why));
	printf("library    %s\n", rc < 0 ? why : library);
}

/* The copy that a program without CUDA libraries of its own would be measured with. */
static void put_cupti(void)
{
	static struct kc_options options; /* too large for the stack */
	int (*get_version)(uint32_t *);
	struct link_map *map = NULL;
	enum kc_cupti_place place;
	uint32_t version = 0;
	char why[512];
	void *library;

	fflush(stdout); /* whatever a library does when it is loaded */
	kc_options_read(&options, why, sizeof(why));
	library = kc_cupti_open(options.cupti, 0, NULL, &place);
	if (!library) {
		printf(CUPTI_AMONG "not found, so launches are predicted and not measured, unless the program brings "
				   "it\n");
		return;
	}
	get_version = (int (*)(uint32_t *))dlsym(library, "cuptiGetVersion");
	if (!get_version || get_version(&version) != 0)
		version = 0;
	dlinfo(library, RTLD_DI_LINKMAP, &map);
	printf(CUPTI_AMONG "%s (API version %u, %s)\n", map ? map->l_name : "?", version, kc_cupti_place_text(place));
}

int kc_library_print(void)
{
	char library[PATH_MAX], why[2 * PATH_MAX];
	int rc = kc_library_find(library, sizeof(library));

	if (rc < 0) {
		kc_library_refusal(rc, library, why, sizeof(why));
		kc_error("%s; build or install kerncast again", why);
		return KC_EXIT_FAILED;
	}
	printf("%s\n", library);
	return kc_output_finish();
}

void kc_version_print(void)
{
	printf("%s " KC_VERSION "\n"
	       "commit     " KC_COMMIT "\n"
	       "database   version %u, journal %u\n",
	       kc_program.name, (unsigned)KC_SCHEMA_VERSION, (unsigned)KC_JOURNAL_VERSION);
	put_library();
	put_cupti();
}
