/*
 * An application may close descriptors that it does not know (closefrom, daemons)
 * and get their numbers again for files of its own, at any moment, even in the
 * middle of a transaction. So each system call that SQLite makes on a descriptor
 * checks first whether it still refers to the file that SQLite opened. SQLite keeps
 * the table of these calls in a global, so what they remember is global as well.
 */
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

/* Larger descriptors are not checked; closefrom and the like leave none open. */
enum { DESCRIPTORS = 4096 };

static struct {
	_Atomic uint64_t device, inode; /* inode 0: not SQLite's */
} opened[DESCRIPTORS];

static int ours(int fd)
{
	struct stat st;

	if (fd < 0 || fd >= DESCRIPTORS || !atomic_load(&opened[fd].inode))
		return 1;
	return fstat(fd, &st) == 0 && st.st_dev == atomic_load(&opened[fd].device) &&
	       st.st_ino == atomic_load(&opened[fd].inode);
}

static int refused(void)
{
	errno = EBADF;
	return -1;
}

/* If the application has closed a standard stream, its number is free again at once, and what is printed there is lost
 * as before. SQLite would open /dev/null under it. */
static int past_streams(int fd)
{
	int higher;

	if (fd < 0 || fd > STDERR_FILENO)
		return fd;
	higher = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	close(fd);
	return higher;
}

static int guarded_open(const char *path, int flags, int mode)
{
	int fd = past_streams(open(path, flags, mode));
	struct stat st;

	if (fd >= 0 && fd < DESCRIPTORS && fstat(fd, &st) == 0) {
		atomic_store(&opened[fd].device, st.st_dev);
		atomic_store(&opened[fd].inode, st.st_ino);
	}
	return fd;
}

/* A descriptor that belongs to the application now is not closed. */
static int guarded_close(int fd)
{
	int mine = ours(fd);

	if (fd >= 0 && fd < DESCRIPTORS)
		atomic_store(&opened[fd].inode, 0);
	return mine ? close(fd) : 0;
}

static int guarded_fcntl(int fd, int command, ...)
{
	va_list arguments;
	void *value;

	va_start(arguments, command);
	value = va_arg(arguments, void *);
	va_end(arguments);
	return ours(fd) ? fcntl(fd, command, value) : refused();
}

static ssize_t guarded_write(int fd, const void *buffer, size_t bytes)
{
	return ours(fd) ? write(fd, buffer, bytes) : refused();
}

static ssize_t guarded_pwrite(int fd, const void *buffer, size_t bytes, off_t offset)
{
	return ours(fd) ? pwrite(fd, buffer, bytes, offset) : refused();
}

static int guarded_ftruncate(int fd, off_t bytes)
{
	return ours(fd) ? ftruncate(fd, bytes) : refused();
}

static const struct {
	const char *name;
	sqlite3_syscall_ptr call;
} guarded[] = {
    {"open", (sqlite3_syscall_ptr)guarded_open},           {"close", (sqlite3_syscall_ptr)guarded_close},
    {"fcntl", (sqlite3_syscall_ptr)guarded_fcntl},         {"write", (sqlite3_syscall_ptr)guarded_write},
    {"pwrite", (sqlite3_syscall_ptr)guarded_pwrite},       {"pwrite64", (sqlite3_syscall_ptr)guarded_pwrite},
    {"ftruncate", (sqlite3_syscall_ptr)guarded_ftruncate},
};

void kc__guard_descriptors(void)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	for (size_t i = 0; vfs && i < sizeof(guarded) / sizeof(guarded[0]); i++)
		vfs->xSetSystemCall(vfs, guarded[i].name, guarded[i].call);
}
