/*
 * A database that nobody has named is one that happened to lie in the working folder. In a folder that others may write
 * to, anybody could have put it there: to read the command lines that are written into it, or to be read from.
 */
#include "store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum fault { NONE, OF_ANOTHER_USER, WRITABLE };

static enum fault fault_of(const struct stat *st)
{
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return OF_ANOTHER_USER;
	return !S_ISLNK(st->st_mode) && st->st_mode & (S_IWGRP | S_IWOTH) ? WRITABLE : NONE;
}

/* What a symbolic link leads to is looked at, too. */
static enum fault look_at(const char *file)
{
	enum fault fault = NONE;
	struct stat st;

	if (!lstat(file, &st))
		fault = fault_of(&st);
	if (!fault && !stat(file, &st))
		fault = fault_of(&st);
	return fault;
}

int kc_store_own(const char *path, char *why, size_t why_size)
{
	/* The database, and what SQLite takes for a part of it. */
	static const char *const ends[] = {"", "-wal", "-shm", "-journal"};
	char file[PATH_MAX];

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		enum fault fault;

		if ((size_t)snprintf(file, sizeof(file), "%s%s", path, ends[i]) >= sizeof(file))
			return -ENAMETOOLONG;
		fault = look_at(file);
		if (!fault)
			continue;
		if (why)
			snprintf(why, why_size, "%s %s, and the database was not named: KERNCAST_DB=%s names it", file,
				 fault == WRITABLE ? "can be written by other users" : "belongs to another user", path);
		return -EPERM;
	}
	return 0;
}
