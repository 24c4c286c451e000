#include "journals.h"

#include "store/common/remote.h"

#include <dirent.h>
#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".kcj"

static int is_journal_of(const char *name, const char *database)
{
	size_t n = strlen(database), length = strlen(name);

	return length > n + 1 + strlen(SUFFIX) && memcmp(name, database, n) == 0 && name[n] == '.' &&
	       strcmp(name + length - strlen(SUFFIX), SUFFIX) == 0;
}

static int count_launch(const struct kc_slot *slot, void *arg)
{
	struct kc_journal_found *found = arg;

	if (slot->kind == KC_KIND_LAUNCH && atomic_load(&slot->state) != KC_SLOT_STORED)
		found->launches++;
	if (slot->kind == KC_KIND_GRAPH_LAUNCH && atomic_load(&slot->state) < KC_SLOT_FINAL && !slot->graph_launch.made)
		found->launches += slot->graph_launch.kernels; /* not made yet */
	return 0;
}

static void copy_command(const struct kc_journal_header *header, struct kc_journal_found *found)
{
	size_t n = header->command_line_bytes;

	if (n >= sizeof(found->command))
		n = sizeof(found->command) - 1;
	memcpy(found->command, header->command_line, n);
	while (n > 0 && !found->command[n - 1])
		n--;
	for (size_t i = 0; i < n; i++)
		found->command[i] = found->command[i] ? found->command[i] : ' ';
	found->command[n] = '\0';
}

static void look_into(struct kc_journal_found *found, int count_launches)
{
	struct kc_journal_file *file;

	int rc = kc_journal_open(found->path, &file);

	if (rc < 0) {
		found->unreadable = 1;
		found->foreign = rc == -EPERM;
		return;
	}
	found->pid = kc_journal_file_header(file)->pid;
	snprintf(found->run, sizeof(found->run), "%.*s", (int)sizeof(found->run) - 1,
		 kc_journal_file_header(file)->run_token);
	copy_command(kc_journal_file_header(file), found);
	found->life = kc_journal_file_life(file);
	if (count_launches)
		kc_journal_file_each(file, count_launch, found);
	kc_journal_file_close(file);
}

static int add(struct kc_journals *journals, const char *folder, const char *name)
{
	struct kc_journal_found *at = reallocarray(journals->at, journals->count + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	journals->at = at;
	at += journals->count;
	*at = (struct kc_journal_found){0};
	if (asprintf(&at->path, "%s/%s", folder, name) < 0)
		return -ENOMEM;
	journals->count++;
	return 0;
}

static int find_at(const char *base, struct kc_journals *out)
{
	const char *slash = strrchr(base, '/');
	char folder[PATH_MAX], name[PATH_MAX];
	struct dirent *entry;
	DIR *dir;
	int rc = 0;

	snprintf(name, sizeof(name), "%s", base);
	snprintf(folder, sizeof(folder), "%s", dirname(name));
	dir = opendir(folder);
	if (!dir)
		return -errno;
	while (rc == 0 && (entry = readdir(dir))) {
		if (is_journal_of(entry->d_name, slash ? slash + 1 : base))
			rc = add(out, folder, entry->d_name);
	}
	closedir(dir);
	return rc;
}

int kc_journals_find(const char *database, int count_launches, struct kc_journals *out)
{
	int rc, places = kc_is_remote(database) ? KC_JOURNAL_PLACES : 1;
	char base[PATH_MAX];

	*out = (struct kc_journals){0};
	rc = find_at(database, out);
	for (int place = 1; place < places && rc == 0; place++) {
		if (kc_journal_base(database, place, base, sizeof(base)))
			rc = find_at(base, out);
		if (rc == -ENOENT) /* a machine need not have each of the local folders */
			rc = 0;
	}
	for (size_t i = 0; i < out->count; i++)
		look_into(out->at + i, count_launches);
	return rc;
}

void kc_journals_free(struct kc_journals *journals)
{
	for (size_t i = 0; i < journals->count; i++)
		free(journals->at[i].path);
	free(journals->at);
	*journals = (struct kc_journals){0};
}
