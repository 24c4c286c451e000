#include "database.h"
#include "command.h"

#include "store/options.h"
#include "store/recover.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHY_BYTES 512u

const char *kc_database_path(const char *given, char *path, size_t size)
{
	static struct kc_options options; /* static for size */
	char why[WHY_BYTES];

	if (!given) {
		kc_options_read(&options, why, sizeof(why)); /* another option's nonsense is not ours to say */
		given = options.db;
	}
	snprintf(path, size, "%s", given);
	return path;
}

const char *kc_database_shown(const char *path)
{
	char *folder = getcwd(NULL, 0);
	size_t n = folder ? strlen(folder) : 0;

	if (n > 1 && strncmp(path, folder, n) == 0 && path[n] == '/')
		path += n + 1;
	free(folder);
	return path;
}

static const char *journals(uint32_t n)
{
	return n == 1 ? "journal" : "journals";
}

/* Without write access a report is still worth having: what could not be
 * brought in is said, not fatal. */
static void bring_in(const char *path)
{
	struct kc_recovered recovered = {0};
	char why[WHY_BYTES] = "";
	int rc = kc_recover(path, &recovered, why, sizeof(why));

	if (recovered.processes)
		kc_error("brought in %llu launches that %llu killed process%s had left in %s",
			 (unsigned long long)recovered.launches, (unsigned long long)recovered.processes,
			 recovered.processes == 1 ? "" : "es", journals((uint32_t)recovered.processes));
	if (recovered.unreadable)
		kc_error("%u %s beside %s cannot be read and stay where they are: %s", recovered.unreadable,
			 journals(recovered.unreadable), path, why);
	else if (rc < 0 && rc != -ENOENT)
		kc_error("journals of killed processes beside %s were left as they are: %s", path,
			 *why ? why : strerror(-rc));
}

struct kc_store *kc_database_read(const char *path)
{
	struct kc_store *store = NULL;
	char why[WHY_BYTES] = "";
	int rc;

	bring_in(path);
	rc = kc_store_open(path, KC_STORE_READ, &store, why, sizeof(why));
	if (rc == 0)
		return store;
	if (*why)
		kc_error("%s", why);
	else
		kc_error("%s: %s", path, strerror(-rc));
	return NULL;
}

void kc_database_unreadable(const char *path, int rc)
{
	if (rc == -EBADMSG)
		kc_error("%s is damaged: read what is left with `sqlite3 %s .recover`, and record into another file",
			 path, path);
	else
		kc_error("%s cannot be read: %s", path, strerror(-rc));
}
