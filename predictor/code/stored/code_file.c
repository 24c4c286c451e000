#include "code_file.h"

#include "predictor/math/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHOLE_BYTES ((uint64_t)256 << 10)
#define PART_BYTES 4096u
#define SAMPLES 256u
#define SAMPLE_BYTES 256u

/* The type is asked for first: opening a device may do something. */
static int open_regular(const char *path, struct stat *st)
{
	int fd, rc = 0;

	if (path[0] != '/')
		return -EINVAL;
	if (lstat(path, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (fstat(fd, st))
		rc = -errno;
	else if (!S_ISREG(st->st_mode))
		rc = -EINVAL;
	if (rc)
		close(fd);
	return rc ? rc : fd;
}

int kc_code_file_open(struct kc_code_file *file, const char *path, uint64_t offset, uint64_t length)
{
	struct stat st;
	int fd = open_regular(path, &st);

	if (fd < 0)
		return fd;
	if (length > (uint64_t)st.st_size || offset > (uint64_t)st.st_size - length) {
		close(fd);
		return -ESTALE;
	}
	*file = (struct kc_code_file){fd, offset, length};
	return 0;
}

int kc_code_file_read(void *arg, uint64_t at, void *to, size_t length)
{
	const struct kc_code_file *file = arg;
	size_t got = 0;

	if (at > file->length || length > file->length - at)
		return -EIO;
	while (got < length) {
		ssize_t n = pread(file->fd, (char *)to + got, length - got, (off_t)(file->offset + at + got));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -EIO;
		got += (size_t)n;
	}
	return 0;
}

static int hash_part(struct kc_code_file *file, uint64_t at, size_t length, uint64_t *hash)
{
	char bytes[PART_BYTES];
	int rc = kc_code_file_read(file, at, bytes, length);

	if (rc == 0)
		*hash = kc_fnv(*hash, bytes, length);
	return rc;
}

int kc_code_file_hash(struct kc_code_file *file, uint64_t *hash)
{
	uint64_t left = file->length;
	int rc = 0;

	*hash = kc_fnv(KC_FNV_OFFSET, &file->length, sizeof(file->length));
	if (file->length > WHOLE_BYTES) {
		for (uint64_t i = 0; rc == 0 && i < SAMPLES; i++)
			rc = hash_part(file, (file->length - SAMPLE_BYTES) / (SAMPLES - 1) * i, SAMPLE_BYTES, hash);
		return rc;
	}
	while (rc == 0 && left) {
		size_t length = left < PART_BYTES ? left : PART_BYTES;

		rc = hash_part(file, file->length - left, length, hash);
		left -= length;
	}
	return rc;
}
