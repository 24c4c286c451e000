#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* zlib's: of a trace, a third of the time of its default, 6, for a quarter more bytes. */
#define COMPRESSION_LEVEL "3"
#define SQLITE_MAGIC "SQLite format 3" /* sqlite.org/fileformat.html, with its NUL 16 bytes */

int kc_output_is_database(const char *path)
{
	char magic[sizeof(SQLITE_MAGIC)];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, magic, sizeof(magic));
	close(fd);
	return n == sizeof(magic) && memcmp(magic, SQLITE_MAGIC, sizeof(magic)) == 0;
}

static int is_sidecar(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && (strcmp(path + n - 4, "-wal") == 0 || strcmp(path + n - 4, "-shm") == 0 ||
			 strcmp(path + n - 4, ".kcj") == 0);
}

static int open_directly(struct kc_output_file *file)
{
	file->to = fopen(file->path, "we");
	return file->to ? 0 : -errno;
}

static ssize_t write_compressed(void *to, const char *bytes, size_t size)
{
	int n = gzwrite(to, bytes, size < INT_MAX ? (unsigned)size : INT_MAX);

	if (n <= 0 && size > 0) /* zlib leaves errno as the file's write() set it */
		return -1;
	return n;
}

static int close_compressed(void *to)
{
	return gzclose(to) == Z_OK ? 0 : EOF;
}

static FILE *open_compressed(int fd)
{
	gzFile to = gzdopen(fd, "wb" COMPRESSION_LEVEL);
	FILE *stream;

	if (!to)
		return NULL;
	stream = fopencookie(to, "w", (cookie_io_functions_t){.write = write_compressed, .close = close_compressed});
	if (!stream)
		gzclose(to);
	return stream;
}

static int names_compressed(const char *path)
{
	size_t n = strlen(path);

	return n > 3 && strcmp(path + n - 3, ".gz") == 0;
}

static int open_stream(struct kc_output_file *file, mode_t mode)
{
	int fd, rc;

	if (fchmod(file->fd, mode) < 0)
		return -errno;
	fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	file->to = file->compress ? open_compressed(fd) : fdopen(fd, "w");
	if (file->to)
		return 0;
	rc = errno ? -errno : -ENOMEM;
	close(fd);
	return rc;
}

static int open_temporary(struct kc_output_file *file, bool private)
{
	mode_t mask = umask(0);
	int rc;

	umask(mask);
	snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", file->path);
	file->fd = mkostemp(file->temporary, O_CLOEXEC);
	if (file->fd < 0) {
		rc = -errno;
		file->temporary[0] = '\0';
		return rc;
	}
	rc = open_stream(file, private ? 0600 : 0666 & ~mask);
	if (rc == 0)
		return 0;
	close(file->fd);
	unlink(file->temporary);
	file->temporary[0] = '\0';
	return rc;
}

/* Writes it to the disk, so that the new name never stands for less. */
static int store_temporary(struct kc_output_file *file)
{
	int rc = fsync(file->fd) < 0 ? -errno : 0;

	if (close(file->fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

int kc_output_file_open(struct kc_output_file *file, const char *path, unsigned how)
{
	struct stat st;
	char *target;

	*file = (struct kc_output_file){0};
	if (!path || strcmp(path, "-") == 0) {
		file->to = stdout;
		return 0;
	}
	target = realpath(path, NULL); /* a link stays, and its target is replaced */
	if (snprintf(file->path, sizeof(file->path), "%s", target ? target : path) >= (int)sizeof(file->path)) {
		free(target);
		return -ENAMETOOLONG;
	}
	free(target);
	file->compress = how & KC_OUTPUT_COMPRESSED && names_compressed(file->path);
	if (stat(file->path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		if (!S_ISREG(st.st_mode))
			return open_directly(file);
		if (kc_output_is_database(file->path) || is_sidecar(file->path))
			return -EEXIST;
	}
	return open_temporary(file, how & KC_OUTPUT_PRIVATE);
}

int kc_output_file_finish(struct kc_output_file *file)
{
	int rc = 0;

	if (file->to == stdout)
		return 0;          /* left to kc_output_finish() */
	if (fflush(file->to) != 0) /* after an error it tries again and reports the cause */
		rc = -errno;
	else if (ferror(file->to))
		rc = -EIO;
	if (fclose(file->to) != 0 && rc == 0)
		rc = -errno;
	file->to = NULL;
	if (file->temporary[0]) {
		int stored = store_temporary(file);

		rc = rc ? rc : stored;
	}
	if (rc == 0 && file->temporary[0] && rename(file->temporary, file->path) < 0)
		rc = -errno;
	if (rc < 0 && file->temporary[0])
		unlink(file->temporary);
	return rc;
}

void kc_output_file_drop(struct kc_output_file *file)
{
	if (!file->to || file->to == stdout)
		return;
	fclose(file->to);
	if (file->temporary[0]) {
		close(file->fd);
		unlink(file->temporary);
	}
	file->to = NULL;
}
