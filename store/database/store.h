/*
 * Writing the database. One struct kc_store is used by one thread. In an application that is recorded, its
 * descriptors are not the application's (shim/worker/files.c), so nobody else closes them. A drain is
 *
 *   kc_store_begin -> kc_store_slot for each slot in index order
 *                  -> kc_store_commit -> the caller marks its slots STORED
 *
 * Launches are inserted many at a time: by kc_store_slot when enough wait, the rest by kc_store_commit.
 *
 * and is the same for the live worker and for recovery, so a row does not depend
 * on how it came. (process, sequence) is the key of a row, so storing a slot
 * twice changes nothing.
 */
#ifndef KC_STORE_H
#define KC_STORE_H

#include "store/journal/journal.h"

#include <stddef.h>
#include <stdint.h>

struct kc_store;

enum kc_store_mode {
	KC_STORE_WRITE, /* create or migrate, WAL, mode 0600 */
	KC_STORE_READ,  /* must exist; a newer schema is refused */
	KC_STORE_PEEK,  /* kc_store_peek() */
};

/* What reading may take; zeros: any amount. */
struct kc_store_bound {
	int64_t until_ns;     /* CLOCK_MONOTONIC */
	int64_t processor_ns; /* of the thread that reads, from its beginning */
	size_t bytes;         /* of what is made from the rows; SQLite's cache, 2 MB, is not counted */
};

/*
 * Returns 0 or negative errno (-EACCES, -ENOSPC, -EROFS, -ENOTDIR, -EISDIR, -ENOENT;
 * -ENODEV: no regular file; -ENOLINK: a link to none; -EBADMSG: not a kerncast database, or corrupt;
 * -EPROTO: of a newer version; -ESTALE: KC_STORE_READ of an older one that may not be written; -ENODATA: KC_STORE_READ
 * of an empty file; -EBUSY: locked by another process for too long). why (may be NULL) gets a sentence that names the
 * cure.
 */
int kc_store_open(const char *path, enum kc_store_mode mode, struct kc_store **out, char *why, size_t why_size);
/* Opens for reading by a program that is just starting: does not wait for other processes and changes nothing. An older
 * schema is refused as well (-ESTALE), and so is a -wal so long that reading it would take seconds (-EFBIG). -ETIME:
 * the time is up. */
int kc_store_peek(const char *path, const struct kc_store_bound *bound, struct kc_store **out, char *why,
		  size_t why_size);
void kc_store_close(struct kc_store *s);
/* What SQLite's ATTACH takes to open the database as it is open here. Freed with sqlite3_free(). NULL: no memory. */
char *kc_store_attachable(const struct kc_store *s);

/* Closes a database and removes it if it holds no process. */
void kc_store_discard(struct kc_store *s);

/* 0, also where nothing is at path; -EISDIR, -ENODEV: no file is there, nor can one be made. Asks for the type alone.
 */
int kc_store_place(const char *path, char *why, size_t why_size);

/* 0: the files of a database that nobody has named are the user's or root's, and no other user can write them, or there
 * are none; -EPERM: it is not to be used, for the reason in why (may be NULL); -ENAMETOOLONG. */
int kc_store_own(const char *path, char *why, size_t why_size);

/* Whether a program can record into path: 0, or what kc_store_open() would return. Leaves no file behind and does not
 * wait. */
int kc_store_try(const char *path, char *why, size_t why_size);

/* The sqlite3 * for readers in this folder and for tools. */
struct sqlite3 *kc_store_db(struct kc_store *s);

enum kc_store_hold {
	KC_STORE_HELD,  /* the files are those at the path (same device and inode) */
	KC_STORE_MOVED, /* the files were moved, deleted or replaced: kc_store_settle() */
};
enum kc_store_hold kc_store_hold(const struct kc_store *s);
int kc_store_intact(const struct kc_store *s); /* 1: KC_STORE_HELD */

/* For a store that is KC_STORE_MOVED: copies its -wal into the file, wherever that is now. 0: a new database can be
 * opened at the path, and kc_store_carry() copies into it what later rows refer to; -EBUSY: another process has made a
 * database there that shares files with this one; -EEXIST: the database is still there and its -wal is not, so this
 * store must be abandoned first. */
int kc_store_settle(struct kc_store *s);
/* Copies the process's devices, kernels, streams, messages, events and counted work, and counts in the ledger how many
 * of its launches are in from and not in to ("elsewhere"). kc_store_process() was called for both. 0 or -errno. */
int kc_store_carry(struct kc_store *from, struct kc_store *to);

/* Closes s. Writes, locks and deletes nothing. */
void kc_store_abandon(struct kc_store *s);
/* The same in a forked child, which has none of the parent's descriptors: closes nothing either. */
void kc_store_leave_to_parent(struct kc_store *s);

/* To be asked in a child of fork(), before anything else of the store: 1 if another thread of the parent was using a
 * store at that moment. SQLite's locks are then never released in the child, and every function of the store may wait
 * for ever: none is to be called, stores are left as they are. Delay forks with pthread_atfork where a child needs
 * one. */
int kc_store_forked_inside(void);

/* Finds or makes the run and process rows of a header and sets *process_row. 0 or
 * -errno. Idempotent. Slots that are stored from now on belong to this process, so it
 * must not be called for another process between begin and commit. */
int kc_store_process(struct kc_store *s, const struct kc_journal_header *h, int64_t *process_row);

/* -EBUSY: other processes held the lock for 10 s; nothing is lost, try again. */
int kc_store_begin(struct kc_store *s);
/* Stores a slot of any kind of the current process. Unknown kinds and torn entries
 * are skipped, and a message counts them. 0 or -errno (-ENOSPC: the disk is full);
 * after an error the caller rolls the transaction back. */
int kc_store_slot(struct kc_store *s, const struct kc_slot *slot);
int kc_store_commit(struct kc_store *s);
void kc_store_rollback(struct kc_store *s);

/* Writes the counters of the header into `ledger`, and how the process ended: "exit",
 * "killed" (its journal was found after its death), or "" while it runs. For every
 * drain, inside or outside of its transaction. */
int kc_store_process_end(struct kc_store *s, const struct kc_journal_header *h, const char *how);
/* The same for a process that has ended, when all of its journal is stored: what was in its memory alone and is in no
 * row counts as dropped. */
int kc_store_process_gone(struct kc_store *s, const struct kc_journal_header *h, const char *how);

#endif
