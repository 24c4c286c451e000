/* The journals beside a database, before any is imported. */
#ifndef KC_JOURNALS_H
#define KC_JOURNALS_H

#include "store/journal/journal.h"

#include <stddef.h>
#include <stdint.h>

struct kc_journal_found {
	char *path;
	uint32_t pid;
	char command[128]; /* command line of its process, arguments separated by blanks */
	char run[64];      /* the token of its run */
	enum kc_life life;
	int unreadable;    /* not a journal, cut off, or... */
	int foreign;       /* ...of another user: not opened */
	uint64_t launches; /* launches in it that are not in the database yet */
};

struct kc_journals {
	struct kc_journal_found *at;
	size_t count;
};

/* count_launches: also count what is in them. 0; -errno: the folder cannot be read. */
int kc_journals_find(const char *database, int count_launches, struct kc_journals *out);
void kc_journals_free(struct kc_journals *journals);

#endif
