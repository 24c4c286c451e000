#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SQLITE_MAGIC "SQLite format 3" /* sqlite.org/fileformat.html, with its NUL 16 bytes */

static int is_database(const char *path)
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

static int open_temporary(struct kc_output_file *file)
{
	mode_t mask = umask(0);
	int fd, rc;

	umask(mask);
	snprintf(file->temporary, sizeof(file->temporary), "%s.XXXXXX", file->path);
	fd = mkostemp(file->temporary, O_CLOEXEC);
	if (fd < 0) {
		rc = -errno;
		file->temporary[0] = '\0';
		return rc;
	}
	rc = fchmod(fd, 0666 & ~mask) < 0 ? -errno : 0;
	file->to = rc == 0 ? fdopen(fd, "w") : NULL;
	if (file->to)
		return 0;
	rc = rc == 0 ? -errno : rc;
	close(fd);
	unlink(file->temporary);
	file->temporary[0] = '\0';
	return rc;
}

int kc_output_file_open(struct kc_output_file *file, const char *path)
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
	if (stat(file->path, &st) == 0) {
		if (S_ISDIR(st.st_mode))
			return -EISDIR;
		if (!S_ISREG(st.st_mode))
			return open_directly(file);
		if (is_database(file->path) || is_sidecar(file->path))
			return -EEXIST;
	}
	return open_temporary(file);
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
	if (rc == 0 && file->temporary[0] && fsync(fileno(file->to)) < 0)
		rc = -errno;
	if (fclose(file->to) != 0 && rc == 0)
		rc = -errno;
	file->to = NULL;
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
	if (file->temporary[0])
		unlink(file->temporary);
	file->to = NULL;
}
