#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where there is no fallocate: on some file systems, in some sandboxes. */
static int write_zeros(int fd, off_t offset, size_t bytes)
{
	static const char zeros[4096];

	while (bytes > 0) {
		ssize_t n = pwrite(fd, zeros, bytes < sizeof(zeros) ? bytes : sizeof(zeros), offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -ENOSPC;
		offset += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int kc__disk_allocate(int fd, off_t offset, size_t bytes)
{
	struct rlimit limit;
	int rc;

	/* Passing this limit would send SIGXFSZ to the application. */
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)offset + bytes > limit.rlim_cur)
		return -EFBIG;
	do
		rc = fallocate(fd, 0, offset, (off_t)bytes) ? -errno : 0;
	while (rc == -EINTR);
	if (rc && rc != -ENOSPC && rc != -EDQUOT && rc != -EFBIG && rc != -EIO)
		rc = write_zeros(fd, offset, bytes);
	if (rc && ftruncate(fd, offset))
		return -errno;
	return rc;
}

int kc__disk_reopen(const char *path, dev_t device, ino_t inode)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_dev != device || st.st_ino != inode) {
		close(fd);
		return -ESTALE;
	}
	return fd;
}

int kc__disk_map(int fd, off_t offset, size_t bytes, void **out)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	*out = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, offset);
	if (*out != MAP_FAILED)
		return 0;
	*out = NULL;
	return -errno;
}
