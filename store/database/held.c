#include "internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILES 3

/* Uses of SQLite that have not ended. A fork copies it as it is: what another thread has begun does not end in the
 * child. */
static atomic_int inside;

void kc__enter(void)
{
	atomic_fetch_add(&inside, 1);
}

void kc__leave(void)
{
	atomic_fetch_sub(&inside, 1);
}

int kc_store_forked_inside(void)
{
	return atomic_load(&inside) > 0;
}

static int files_of(const char *path, struct stat files[FILES])
{
	static const char *const endings[FILES] = {"", "-wal", "-shm"};
	int found = 0;

	for (int i = 0; i < FILES; i++) {
		char name[PATH_MAX];

		if ((size_t)snprintf(name, sizeof(name), "%s%s", path, endings[i]) < sizeof(name) &&
		    stat(name, &files[found]) == 0)
			found++;
	}
	return found;
}

const struct kc__held *kc__held_at(const struct kc_store *s, const char *ending)
{
	char *name = sqlite3_mprintf("%s%s", s->path, ending);
	const struct kc__held *held = NULL;
	struct stat st;

	if (!name || stat(name, &st)) {
		sqlite3_free(name);
		return NULL;
	}
	for (int i = 0; !held && i < s->held_count; i++)
		if (s->held[i].device == st.st_dev && s->held[i].inode == st.st_ino)
			held = &s->held[i];
	sqlite3_free(name);
	return held;
}

void kc__held_find(struct kc_store *s)
{
	struct stat files[FILES], st;
	int found = files_of(s->path, files);
	DIR *directory = opendir("/proc/thread-self/fd"); /* another thread may have another table */
	struct dirent *entry;

	s->held_count = 0;
	s->shared_memory = NULL;
	if (!directory)
		return;
	while ((entry = readdir(directory)) && s->held_count < KC__HELD_MAX) {
		int fd = atoi(entry->d_name);

		if (entry->d_name[0] == '.' || fd == dirfd(directory) || fstat(fd, &st))
			continue;
		for (int i = 0; i < found; i++) {
			if (st.st_dev == files[i].st_dev && st.st_ino == files[i].st_ino)
				s->held[s->held_count++] = (struct kc__held){fd, st.st_dev, st.st_ino};
		}
	}
	closedir(directory);
	s->shared_memory = kc__held_at(s, "-shm");
}

enum kc_store_hold kc_store_hold(const struct kc_store *s)
{
	struct stat files[FILES];
	int found = files_of(s->path, files), database_held = s->held_count == 0, all_at_path = 1;

	for (int i = 0; i < s->held_count; i++) {
		const struct kc__held *held = &s->held[i];
		int is_at_path = 0;

		for (int k = 0; k < found; k++)
			is_at_path |= files[k].st_dev == held->device && files[k].st_ino == held->inode;
		all_at_path &= is_at_path;
		database_held |= found > 0 && files[0].st_dev == held->device && files[0].st_ino == held->inode;
	}
	return found > 0 && database_held && all_at_path ? KC_STORE_HELD : KC_STORE_MOVED;
}

/* The index of the -wal, which SQLite has mapped: where somebody has cut it off, the next look into it would be a
 * SIGBUS. As zeros it is valid, and SQLite makes it anew from the -wal. */
void kc__held_lengthen(struct kc_store *s)
{
	struct stat st;

	if (!s->shared_memory || fstat(s->shared_memory->fd, &st))
		return;
	if (st.st_size > s->shared_memory_bytes)
		s->shared_memory_bytes = st.st_size;
	else if (st.st_size < s->shared_memory_bytes && ftruncate(s->shared_memory->fd, s->shared_memory_bytes))
		return;
}

int kc_store_intact(const struct kc_store *s)
{
	return kc_store_hold(s) == KC_STORE_HELD;
}

/*
 * SQLite has no call to forget a connection, and a leaked one stays in its list
 * of open files, where the next connection would share the lost descriptors. So
 * the connection is closed while the system calls of SQLite's VFS take no lock,
 * write and delete nothing, and in a forked child close nothing: there the numbers
 * are the child's, or nobody's. SQLite keeps the table of these calls in a global
 * and passes them nothing of ours: hence the thread-local variable.
 */
static __thread int in_child;

static int spare_close(int fd)
{
	return in_child ? 0 : close(fd);
}

static int spare_fcntl(int fd, int command, ...)
{
	(void)fd;
	(void)command;
	return 0;
}

static ssize_t spare_io(int fd, void *buffer, size_t bytes, off_t offset)
{
	(void)fd;
	(void)buffer;
	(void)bytes;
	(void)offset;
	errno = EBADF;
	return -1;
}

static int spare_ftruncate(int fd, off_t bytes)
{
	(void)fd;
	(void)bytes;
	errno = EBADF;
	return -1;
}

static int spare_unlink(const char *path)
{
	(void)path;
	return 0;
}

static const struct {
	const char *name;
	sqlite3_syscall_ptr call;
} spared[] = {
    {"close", (sqlite3_syscall_ptr)spare_close},   {"fcntl", (sqlite3_syscall_ptr)spare_fcntl},
    {"read", (sqlite3_syscall_ptr)spare_io},       {"pread", (sqlite3_syscall_ptr)spare_io},
    {"pread64", (sqlite3_syscall_ptr)spare_io},    {"write", (sqlite3_syscall_ptr)spare_io},
    {"pwrite", (sqlite3_syscall_ptr)spare_io},     {"pwrite64", (sqlite3_syscall_ptr)spare_io},
    {"unlink", (sqlite3_syscall_ptr)spare_unlink}, {"ftruncate", (sqlite3_syscall_ptr)spare_ftruncate},
};

static void set_calls(sqlite3_vfs *vfs, int spare)
{
	for (size_t i = 0; i < sizeof(spared) / sizeof(spared[0]); i++)
		vfs->xSetSystemCall(vfs, spared[i].name, spare ? spared[i].call : NULL);
}

void kc_store_abandon(struct kc_store *s)
{
	sqlite3_vfs *vfs;

	if (!s)
		return;
	kc__enter();
	vfs = sqlite3_vfs_find(NULL);
	kc__forget(s);
	kc__solos_free(s->solos);
	set_calls(vfs, 1);
	kc__finalize(s);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	sqlite3_close_v2(s->db);
	set_calls(vfs, 0);
	free(s->waiting);
	free(s->path);
	free(s);
	kc__leave();
}

void kc_store_leave_to_parent(struct kc_store *s)
{
	in_child = 1;
	kc_store_abandon(s);
	in_child = 0;
}
