/*
 * Importing what processes left, as they were killed or could not store all
 * before they exited: every journal beside a database whose process is gone is
 * drained into it and deleted. Safe to run at any
 * time, by several at once, and again after it was itself killed.
 */
#ifndef KC_RECOVER_H
#define KC_RECOVER_H

#include <stddef.h>
#include <stdint.h>

struct kc_recovered {
	uint64_t processes;           /* whose journals were imported and deleted */
	uint64_t killed;              /* of them; the others had exited */
	uint64_t launches, transfers; /* that were in them and not marked as stored */
	uint32_t alive;               /* journals left alone: their processes live */
	uint32_t busy;                /* left to another recoverer at work on them */
	uint32_t unreadable;          /* or of another user: kept; why names them */
};

/*
 * database: its path; it is made when there is something to import and it
 * does not exist. 0; -errno of the database or its directory (why says what to
 * do; journals not imported are kept). why is empty where there is nothing to
 * say; on 0 it names unreadable journals.
 */
int kc_recover(const char *database, struct kc_recovered *out, char *why, size_t why_size);

#endif
