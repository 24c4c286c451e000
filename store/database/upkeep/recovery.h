/*
 * Imports what processes left because they were killed, or could not store
 * everything before they exited: every journal beside a database whose process
 * has ended is drained into the database and deleted. This is safe at any time,
 * in several processes at once, and again after it was itself killed.
 */
#ifndef KC_RECOVER_H
#define KC_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kc_recovered {
	uint64_t processes;           /* whose journals were imported and deleted */
	uint64_t killed;              /* how many of them were killed; the others had exited */
	uint64_t launches, transfers; /* that these journals held and that were not marked as stored */
	uint32_t alive;               /* journals that were left alone because their processes live */
	uint32_t not_known;           /* the same, because it is not known whether their processes live */
	uint32_t busy;                /* journals that another recoverer is importing */
	uint32_t unreadable;          /* unreadable journals and those of other users: kept; why names them */
};

/*
 * force: imports and deletes also where it is not known whether the process
 * lives. If it does, what it records from then on is lost.
 * database: its path; if it does not exist and there is something to import, it
 * is made. Returns 0, or -errno of the database or its directory: why says what
 * to do, and journals that were not imported are kept. On 0, why names
 * unreadable journals, or is empty.
 */
int kc_recover(const char *database, bool force, struct kc_recovered *out, char *why, size_t why_size);

#endif
