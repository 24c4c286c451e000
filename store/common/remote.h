/*
 * File systems that may stop to answer while a program runs: those of the network, and FUSE. A page of a mapped file
 * that cannot be had any more is a SIGBUS, and locks of other hosts may not be seen. So a database there is a file per
 * host, without a write-ahead log, whose index is mapped, and journals are in a local folder.
 */
#ifndef KC_REMOTE_H
#define KC_REMOTE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the folder of the file is on one. */
bool kc_is_remote(const char *path);

/* The database in which this host records where path was asked for, which may be of any length below size: path itself,
 * or on such a file system "kerncast.HOST.db" for "kerncast.db". */
void kc_host_database(const char *path, char *out, size_t size);

#define KC_JOURNAL_PLACES 3

/* What names of the database's journals begin with, before ".<pid>-<pid_start>.kcj": with the number 0 beside the
 * database, with the others in local folders. false: it does not fit. */
bool kc_journal_base(const char *database, int place, char *out, size_t size);

#endif
