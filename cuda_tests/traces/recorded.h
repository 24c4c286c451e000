/* Recorded measurements of GPUs: the reduced ones of this folder, which every checkout has, and the full ones. */
#ifndef KC_RECORDED_H
#define KC_RECORDED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KC_REDUCED_DATA "cuda_tests/traces" /* from the root of the repository, where tests run */

static inline const char *kc_full_data(void)
{
	const char *folder = getenv("KC_SHARED_DATA");

	return folder ? folder : "../shared/data";
}

/* NULL: there is no such file, and the test has said so. Closed with pclose(). */
static inline FILE *kc_open_recorded(const char *folder, const char *name)
{
	char path[512], command[600];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file) {
		printf("skipped: %s: no such file (KC_SHARED_DATA names the folder)\n", path);
		return NULL;
	}
	fclose(file);
	snprintf(command, sizeof(command), "gzip -dcf '%s'", path);
	return popen(command, "r");
}

#endif
