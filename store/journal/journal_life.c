#include "disk.h"
#include "journal_internal.h"
#include "store/common/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A launch that runs for long must not keep the segments after its own from being
 * used again, so the directory has this many times as many entries as the file may
 * have segments, within these bounds. */
#define DIRECTORY_SPAN 64u
#define DIRECTORY_MAX 131072u

struct kc_journal_header *kc_journal_header(struct kc_journal *j)
{
	return j->header;
}

int kc_journal_in_memory(const struct kc_journal *j)
{
	return j->header_in_memory || atomic_load(&j->memory_segments) > 0 || atomic_load(&j->gone);
}

void kc_journal_look(struct kc_journal *j)
{
	struct stat st;
	int rc = j->no_file || lstat(j->path, &st) == 0 ? 0 : -errno;

	if (!j->no_file && rc == 0 && (st.st_dev != j->device || st.st_ino != j->inode))
		rc = -ESTALE;
	if (rc == -ENOENT || rc == -ENOTDIR || rc == -ESTALE) {
		atomic_store(&j->in_memory_why, rc);
		atomic_store(&j->gone, true);
	}
}

int kc_journal_in_memory_why(const struct kc_journal *j)
{
	return atomic_load(&j->in_memory_why);
}

struct links {
	int fd;
	nlink_t count;
};

static void count_links(void *arg)
{
	struct links *links = arg;
	struct stat st;

	links->count = fstat(links->fd, &st) ? 0 : st.st_nlink;
}

int kc_journal_deleted(const struct kc_journal *j)
{
	struct links links = {j->fd, 0};

	if (j->fd >= 0)
		kc__journal_do(j, count_links, &links);
	return links.count == 0;
}

void kc_journal_files_by(struct kc_journal *j, int (*files_do)(void (*work)(void *arg), void *arg))
{
	j->files_do = files_do;
}

/* One mapping for the struct, its directory and its list of spares, so that the
 * application's allocator is not used. */
static struct kc_journal *new_journal(uint64_t segments_max)
{
	size_t wanted = segments_max * DIRECTORY_SPAN, entries = 1, bytes;
	struct kc_journal *j;
	void *mapped;

	while (entries < segments_max + 1 || (entries < wanted && entries < DIRECTORY_MAX))
		entries *= 2;
	bytes = sizeof(*j) + entries * sizeof(struct kc__segment) + segments_max * sizeof(uint32_t);
	if (kc__disk_map(-1, 0, bytes, &mapped))
		return NULL;
	j = mapped;
	j->fd = -1;
	j->entries = (struct kc__segment *)(j + 1);
	j->entry_mask = entries - 1;
	j->unmapped = (uint32_t *)(j->entries + entries);
	j->segments_max = (uint32_t)segments_max;
	j->mapping_bytes = bytes;
	pthread_mutex_init(&j->lock, NULL);
	return j;
}

static int absolute_path(struct kc_journal *j, const char *path)
{
	char directory[sizeof(j->path)] = "";
	int n;

	if (path[0] != '/' && !getcwd(directory, sizeof(directory)))
		return -errno;
	n = snprintf(j->path, sizeof(j->path), "%s%s%s", directory, directory[0] ? "/" : "", path);
	return n < 0 || (size_t)n >= sizeof(j->path) ? -ENAMETOOLONG : 0;
}

/* There is a file system for the journal, and it will not hold it. */
static int must_be_in_memory(int rc)
{
	return rc == -ENOSPC || rc == -EDQUOT || rc == -EFBIG || rc == -ENODEV;
}

static void copy_header(struct kc_journal_header *h, const struct kc_journal_header *template, size_t from, size_t to)
{
	memcpy((char *)h + from, (const char *)template + from, to - from);
}

/* template: threads may be counting there. */
static void fill_header(const struct kc_journal *j, const struct kc_journal_header *template)
{
	struct kc_journal_header *h = j->header;
	uint64_t magic;

	memcpy(&magic, KC_JOURNAL_MAGIC, sizeof(magic));
	copy_header(h, template, sizeof(magic), offsetof(struct kc_journal_header, counters));
	for (int i = 0; i < KC_COUNTERS; i++)
		atomic_store(&h->counters[i], atomic_load(&template->counters[i]));
	copy_header(h, template, offsetof(struct kc_journal_header, boot_id), sizeof(*h));
	h->version = KC_JOURNAL_VERSION;
	h->header_bytes = KC_HEADER_BYTES;
	h->slot_bytes = KC_SLOT_BYTES;
	h->segment_slots = KC_SEGMENT_SLOTS;
	h->inode = j->inode;
	h->boot_is_kernels = (uint32_t)kc_boot_id_is_kernels();
	h->pid_namespace = kc_pid_namespace();
	h->time_namespace = kc_time_namespace();
	atomic_store(&h->holder, 0);
	/* Written last: a header with the magic is complete. */
	__atomic_store_n((uint64_t *)h->magic, magic, __ATOMIC_RELEASE);
}

static int map_header(struct kc_journal *j, int fd)
{
	void *header;
	int rc = kc__disk_map(fd, 0, KC_HEADER_BYTES, &header);

	j->header = header;
	return rc;
}

/* Writes the header page of a new file and leaves it mapped. */
static int write_header(struct kc_journal *j, int fd, const struct kc_journal_header *template)
{
	struct stat st;
	int rc = fstat(fd, &st) ? -errno : kc__disk_allocate(fd, 0, KC_HEADER_BYTES);

	if (rc == 0)
		rc = map_header(j, fd);
	if (rc)
		return rc;
	j->device = st.st_dev;
	j->inode = st.st_ino;
	fill_header(j, template);
	return 0;
}

/* Through its name: /proc/self/maps would call a mapping made before it had one deleted for ever. */
static int open_again(struct kc_journal *j)
{
	struct kc_journal_header *before = j->header;
	int fd = kc__disk_reopen(j->path, j->device, j->inode), rc = fd < 0 ? fd : map_header(j, fd);

	munmap(before, KC_HEADER_BYTES);
	if (rc && fd >= 0)
		close(fd);
	j->fd = rc ? -1 : fd;
	return rc;
}

static int give_name(const struct kc_journal *j, int fd)
{
	char unnamed[48];

	snprintf(unnamed, sizeof(unnamed), "/proc/thread-self/fd/%d", fd);
	return linkat(AT_FDCWD, unnamed, AT_FDCWD, j->path, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* The file gets its name when its header is complete, so that a process which is killed leaves a journal or nothing.
 * Not all file systems can do this, and it needs /proc. */
static int make_complete(struct kc_journal *j, const struct kc_journal_header *template)
{
	char folder[sizeof(j->path)];
	int fd, rc;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(j->path, '/') - j->path + 1), j->path);
	fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	rc = write_header(j, fd, template);
	if (rc == 0) {
		rc = give_name(j, fd);
		if (rc)
			munmap(j->header, KC_HEADER_BYTES);
		else if ((rc = open_again(j)))
			unlink(j->path);
	}
	close(fd);
	return rc;
}

static int make_named(struct kc_journal *j, const struct kc_journal_header *template)
{
	int fd = open(j->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), rc;

	if (fd < 0)
		return -errno;
	rc = write_header(j, fd, template);
	if (rc) {
		unlink(j->path);
		close(fd);
	}
	j->fd = rc ? -1 : fd;
	return rc;
}

/* Creates the file and maps its header page; where the disk has no room, the header is in memory. */
static int make_header(struct kc_journal *j, const struct kc_journal_header *template)
{
	int rc = make_complete(j, template);

	if (rc && rc != -EEXIST && !must_be_in_memory(rc))
		rc = make_named(j, template);
	if (!must_be_in_memory(rc))
		return rc;
	j->header_in_memory = j->no_file = true;
	j->in_memory_why = rc;
	rc = map_header(j, -1);
	if (rc == 0)
		fill_header(j, template);
	return rc;
}

int kc_journal_create(const char *path, const struct kc_journal_header *template, uint64_t max_bytes,
		      struct kc_journal **out)
{
	uint64_t segments_max = max_bytes > KC_HEADER_BYTES ? (max_bytes - KC_HEADER_BYTES) / KC_SEGMENT_BYTES : 0;
	struct kc_journal *j;
	int rc;

	if (segments_max == 0)
		return -EINVAL;
	j = new_journal(segments_max < KC_JOURNAL_SEGMENTS_MAX ? segments_max : KC_JOURNAL_SEGMENTS_MAX);
	if (!j)
		return -ENOMEM;
	rc = absolute_path(j, path);
	if (rc == 0)
		rc = make_header(j, template);
	if (rc) {
		munmap(j, j->mapping_bytes);
		return rc;
	}
	kc_journal_prepare(j);
	*out = j;
	return 0;
}

void kc_journal_forget(struct kc_journal *j)
{
	for (uint64_t i = j->first_segment; i < j->made; i++)
		if (kc__slot_at(j, i * KC_SEGMENT_SLOTS))
			munmap(kc__segment_of(j, i)->slots, KC_SEGMENT_BYTES);
	for (uint32_t i = 0; i < j->mapped_spares; i++)
		munmap(j->mapped[i].slots, KC_SEGMENT_BYTES);
	munmap(j->header, KC_HEADER_BYTES);
	munmap(j, j->mapping_bytes);
}

void kc_journal_seal(struct kc_journal *j)
{
	pthread_mutex_lock(&j->lock);
	if (!j->closed) {
		j->closed = true;
		atomic_store(&j->limit, 0);
		atomic_store(&j->full, 1);
		j->end = atomic_fetch_or(&j->tail, KC__SEALED);
	}
	pthread_mutex_unlock(&j->lock);
}

static void close_file(void *journal)
{
	struct kc_journal *j = journal;

	if (j->fd >= 0)
		close(j->fd);
	j->fd = -1;
}

static void remove_file(struct kc_journal *j)
{
	struct stat st;

	if (j->fd >= 0 && lstat(j->path, &st) == 0 && st.st_dev == j->device && st.st_ino == j->inode)
		unlink(j->path);
}

void kc_journal_close(struct kc_journal *j, int remove)
{
	kc_journal_seal(j);
	kc_journal_retire(j);
	if (remove && kc_journal_first(j) == kc_journal_claimed(j))
		remove_file(j);
	kc__journal_do(j, close_file, j);
}

int kc_journal_restore(struct kc_journal *j)
{
	struct kc_journal_header *before = j->header;
	int rc = make_header(j, before);

	if (rc) {
		j->header = before;
		return rc;
	}
	close_file(j);
	kc__journal_hold_on(j);
	return 0;
}

void kc_journal_discard(struct kc_journal *j)
{
	kc_journal_seal(j);
	remove_file(j);
	close_file(j);
}
