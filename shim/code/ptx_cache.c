#include "ptx_cache.h"
#include "reader.h"
#include "shim/tables/memory.h"

#include "shim/shim.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 150u /* Triton names files after at most so many characters of the kernel's name */
#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY)

/* Absolute paths; empty: none. */
struct roots {
	char triton[1024];   /* HASH/NAME.cubin */
	char inductor[1024]; /* triton/DEVICE/HASH/NAME.cubin */
};

static struct {
	pthread_mutex_t lock;
	struct roots roots;
} caches = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void set(char *root, size_t size, const char *path, const char *below)
{
	size_t length = path ? strlen(path) : 0;

	root[0] = '\0';
	if (length && path[0] == '/' && length + strlen(below) < size)
		strcpy(stpcpy(root, path), below);
}

void kc__caches_note(void)
{
	const char *triton, *inductor, *home;

	if (!kc__shim.options.caches)
		return;
	triton = getenv("TRITON_CACHE_DIR");
	inductor = getenv("TORCHINDUCTOR_CACHE_DIR");
	home = getenv("HOME");
	pthread_mutex_lock(&caches.lock);
	if (triton && *triton)
		set(caches.roots.triton, sizeof(caches.roots.triton), triton, "");
	else
		set(caches.roots.triton, sizeof(caches.roots.triton), home, "/.triton/cache");
	set(caches.roots.inductor, sizeof(caches.roots.inductor), inductor, "");
	pthread_mutex_unlock(&caches.lock);
}

void kc__caches_forget(void)
{
	pthread_mutex_init(&caches.lock, NULL);
}

struct search {
	char cubin_name[NAME_BYTES + 8], ptx_name[NAME_BYTES + 8];
	const char *cubin;
	size_t cubin_bytes, max_bytes;
	uint32_t left; /* entries */
	int64_t began_ns;
	struct kc_image_piece ptx;
};

static bool goes_on(struct search *s)
{
	int64_t limit_ns = kc__reader_is_ending() ? KC__CACHE_LAST_NS : KC__CACHE_SEARCH_NS;

	return !s->ptx.bytes && s->left && kc__now_ns() - s->began_ns < limit_ns;
}

static bool is_trusted(const struct stat *file)
{
	return file->st_uid == geteuid() && !(file->st_mode & (S_IWGRP | S_IWOTH));
}

static int checked(int fd, mode_t type, struct stat *file)
{
	if (fd >= 0 && !fstat(fd, file) && (file->st_mode & S_IFMT) == type && is_trusted(file))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static int open_folder(int at, const char *name, int flags)
{
	struct stat file;

	return checked(openat(at, name, FOLDER_FLAGS | flags), S_IFDIR, &file);
}

static int open_file(int at, const char *name, size_t *bytes)
{
	struct stat file;
	int fd = checked(openat(at, name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK), S_IFREG, &file);

	*bytes = fd >= 0 ? (size_t)file.st_size : 0;
	return fd;
}

/* 0 or -1 */
static int read_all(int fd, char *to, size_t bytes, size_t offset)
{
	for (size_t at = 0; at < bytes;) {
		ssize_t n = pread(fd, to + at, bytes - at, (off_t)(offset + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	return 0;
}

static bool has_bytes(int fd, const char *wanted, size_t bytes)
{
	char part[KC__PAGE_BYTES];

	for (size_t at = 0; at < bytes; at += sizeof(part)) {
		size_t length = bytes - at < sizeof(part) ? bytes - at : sizeof(part);

		if (read_all(fd, part, length, at) || memcmp(part, wanted + at, length) != 0)
			return false;
	}
	return true;
}

static void take_ptx(struct search *s, int folder)
{
	size_t bytes;
	int fd = open_file(folder, s->ptx_name, &bytes);
	char *text;

	if (fd < 0)
		return;
	text = bytes && bytes <= s->max_bytes && bytes <= KC__CACHED_PTX_BYTES ? kc__map(bytes) : NULL;
	if (text && read_all(fd, text, bytes, 0))
		munmap(text, bytes);
	else if (text)
		s->ptx = (struct kc_image_piece){text, bytes};
	close(fd);
}

/* A folder that may have the kernel's files. */
static void look_in(struct search *s, int folder)
{
	size_t bytes;
	int fd = open_file(folder, s->cubin_name, &bytes);

	if (fd < 0)
		return;
	if (bytes == s->cubin_bytes && has_bytes(fd, s->cubin, bytes))
		take_ptx(s, folder);
	close(fd);
}

/* Most folders of a large cache are told from the kernel's by one call. What is found by it is looked at again. */
static bool may_have(const struct search *s, int at, const char *folder)
{
	char path[NAME_MAX + sizeof(s->cubin_name) + 2];
	struct stat file;

	snprintf(path, sizeof(path), "%s/%s", folder, s->cubin_name);
	return !fstatat(at, path, &file, AT_SYMLINK_NOFOLLOW) && (uint64_t)file.st_size == s->cubin_bytes;
}

/* The folders so many levels below this one, which is closed. */
static void look_below(struct search *s, int folder, int levels)
{
	DIR *list = folder >= 0 ? fdopendir(folder) : NULL;
	struct dirent *entry;

	if (!list) {
		if (folder >= 0)
			close(folder);
		return;
	}
	while (goes_on(s) && (entry = readdir(list))) {
		int next;

		s->left--;
		if (entry->d_name[0] == '.' || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN) ||
		    (levels == 1 && !may_have(s, dirfd(list), entry->d_name)))
			continue;
		next = open_folder(dirfd(list), entry->d_name, O_NOFOLLOW);
		if (next < 0)
			continue;
		if (levels > 1) {
			look_below(s, next, levels - 1);
		} else {
			look_in(s, next);
			close(next);
		}
	}
	closedir(list);
}

static void look_in_inductors(struct search *s, int root)
{
	int folder = root >= 0 ? open_folder(root, "triton", O_NOFOLLOW) : -1;

	look_below(s, folder, 2);
	if (root >= 0)
		close(root);
}

/* A kernel's name comes from the application's code, and may be anything. */
static bool name_files(struct search *s, const char *name)
{
	int length = (int)strnlen(name, NAME_BYTES);

	snprintf(s->cubin_name, sizeof(s->cubin_name), "%.*s.cubin", length, name);
	snprintf(s->ptx_name, sizeof(s->ptx_name), "%.*s.ptx", length, name);
	return length && !memchr(name, '/', (size_t)length);
}

bool kc__cached_ptx(const char *name, const void *cubin, size_t cubin_bytes, size_t max_bytes,
		    struct kc_image_piece *ptx)
{
	struct search s = {
	    .cubin = cubin,
	    .cubin_bytes = cubin_bytes,
	    .max_bytes = max_bytes,
	    .left = KC__CACHE_ENTRIES_MAX,
	    .began_ns = kc__now_ns(),
	};
	struct roots roots;

	if (!kc__shim.options.caches || !name_files(&s, name))
		return false;
	pthread_mutex_lock(&caches.lock);
	roots = caches.roots;
	pthread_mutex_unlock(&caches.lock);
	if (roots.triton[0])
		look_below(&s, open_folder(AT_FDCWD, roots.triton, 0), 1);
	if (roots.inductor[0] && goes_on(&s))
		look_in_inductors(&s, open_folder(AT_FDCWD, roots.inductor, 0));
	*ptx = s.ptx;
	return s.ptx.bytes != NULL;
}
