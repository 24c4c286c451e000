#include "liveness.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct place { /* where a segment is in the file */
	uint64_t number;
	uint32_t position;
};

struct kc_journal_file {
	int fd;
	uint32_t positions;
	bool is_copy;
	off_t bytes;
	int has_holes; /* parts of it have no block, so nothing was ever written there */
	struct kc_journal_header header;
};

/* Files are read, not mapped: if one shrinks meanwhile, access to its mapping is a SIGBUS. */
static ssize_t read_at(int fd, void *out, size_t bytes, off_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n = pread(fd, (char *)out + done, bytes - done, offset + (off_t)done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	return (ssize_t)done;
}

#define TERMINATE(text) ((text)[sizeof(text) - 1] = 0)

static int check_header(struct kc_journal_header *h)
{
	if (memcmp(h->magic, KC_JOURNAL_MAGIC, sizeof(h->magic)) != 0 || h->version != KC_JOURNAL_VERSION ||
	    h->header_bytes != KC_HEADER_BYTES || h->slot_bytes != KC_SLOT_BYTES ||
	    h->segment_slots != KC_SEGMENT_SLOTS)
		return -EINVAL;
	TERMINATE(h->boot_id);
	TERMINATE(h->run_token);
	TERMINATE(h->measure);
	TERMINATE(h->executable);
	TERMINATE(h->directory);
	TERMINATE(h->database);
	TERMINATE(h->command_line);
	TERMINATE(h->source);
	TERMINATE(h->run_command);
	TERMINATE(h->job.host);
	TERMINATE(h->job.container);
	TERMINATE(h->job.visible_devices);
	TERMINATE(h->job.job);
	if (h->command_line_bytes > sizeof(h->command_line))
		h->command_line_bytes = sizeof(h->command_line);
	return 0;
}

static int check_file(struct kc_journal_file *f)
{
	struct stat st;
	off_t segments;
	ssize_t n;

	if (fstat(f->fd, &st))
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	if (!S_ISREG(st.st_mode) || st.st_size < (off_t)KC_HEADER_BYTES)
		return -EINVAL;
	/* The last segment is incomplete if the disk was full. */
	segments = (st.st_size - (off_t)KC_HEADER_BYTES + (off_t)KC_SEGMENT_BYTES - 1) / (off_t)KC_SEGMENT_BYTES;
	if (segments > (off_t)KC_JOURNAL_SEGMENTS_MAX)
		return -EINVAL;
	f->bytes = st.st_size;
	/* A recorder allocates blocks before it writes. */
	f->has_holes = st.st_blocks < st.st_size / 512;
	f->positions = (uint32_t)segments;
	n = read_at(f->fd, &f->header, sizeof(f->header), 0);
	if (n < 0)
		return (int)n;
	if (n < (ssize_t)sizeof(f->header))
		return -EINVAL;
	f->is_copy = f->header.inode != (uint64_t)st.st_ino;
	return check_header(&f->header);
}

int kc_journal_open(const char *path, struct kc_journal_file **out)
{
	struct kc_journal_file *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return -ENOMEM;
	/* O_NONBLOCK: a FIFO of this name must not block us. */
	f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (f->fd < 0) {
		rc = errno == ELOOP ? -EINVAL : -errno;
		free(f);
		return rc;
	}
	rc = check_file(f);
	if (rc) {
		kc_journal_file_close(f);
		return rc;
	}
	*out = f;
	return 0;
}

void kc_journal_file_close(struct kc_journal_file *f)
{
	if (!f)
		return;
	close(f->fd);
	free(f);
}

const struct kc_journal_header *kc_journal_file_header(const struct kc_journal_file *f)
{
	return &f->header;
}

static enum kc_boot boot_of(const struct kc_journal_header *h)
{
	char here[KC_BOOT_ID_BYTES];

	if (!h->boot_id[0] || kc_boot_id(here, sizeof(here)) || !here[0])
		return KC_BOOT_NOT_KNOWN;
	if (strcmp(h->boot_id, here) == 0)
		return KC_BOOT_SAME;
	return h->boot_is_kernels && kc_boot_id_is_kernels() ? KC_BOOT_OTHER : KC_BOOT_NOT_KNOWN;
}

static uint32_t holder_of(const struct kc_journal_file *f)
{
	uint32_t holder = atomic_load(&((struct kc_journal_file *)f)->header.holder);

	return f->is_copy ? holder & KC_HOLDER_ENDED : holder;
}

enum kc_life kc_journal_file_life(const struct kc_journal_file *f)
{
	const struct kc_journal_header *h = &f->header;
	struct kc_process_identity who = {h->pid, h->pid_start, h->pid_namespace, h->time_namespace};
	struct kc_witnesses witnesses = {
	    .holder = holder_of(f),
	    .boot = boot_of(h),
	    .shared = kc_is_shared(f->fd),
	};

	if (witnesses.boot != KC_BOOT_OTHER)
		witnesses.process = kc_process_look(&who);
	return kc_life_of(&witnesses);
}

int kc_journal_file_lock(struct kc_journal_file *f)
{
	/* Some file systems have no such locks; there it must suffice that importing twice changes nothing. */
	return flock(f->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK ? -EWOULDBLOCK : 0;
}

int kc_journal_file_is(const struct kc_journal_file *f, const char *path)
{
	struct stat ours, theirs;

	return fstat(f->fd, &ours) == 0 && lstat(path, &theirs) == 0 && ours.st_dev == theirs.st_dev &&
	       ours.st_ino == theirs.st_ino;
}

/* ---- Slots in index order ---- */

static uint32_t slot_state(const struct kc_slot *slot)
{
	return atomic_load_explicit(&((struct kc_slot *)slot)->state, memory_order_relaxed);
}

/* Whether a slot is in use and its index fits its place in the segment. */
static int is_plausible(const struct kc_slot *slot, uint32_t position)
{
	uint32_t state = slot_state(slot);

	return state >= KC_SLOT_CALLED && state <= KC_SLOT_STORED && slot->index % KC_SEGMENT_SLOTS == position;
}

/* The segment number that most slots have, so that a single bad index cannot hide a
 * segment (Boyer and Moore's majority vote). 1: found. */
static int segment_number(const struct kc_slot *slots, uint32_t count, uint64_t *number)
{
	uint32_t votes = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (!is_plausible(&slots[i], i))
			continue;
		if (votes == 0)
			*number = slots[i].index / KC_SEGMENT_SLOTS;
		if (slots[i].index / KC_SEGMENT_SLOTS == *number)
			votes++;
		else
			votes--;
	}
	return votes > 0;
}

/* How many slots were read, 0 to KC_SEGMENT_SLOTS, or -errno. */
static int read_segment(const struct kc_journal_file *f, uint32_t position, struct kc_slot *slots)
{
	ssize_t n =
	    read_at(f->fd, slots, KC_SEGMENT_BYTES, (off_t)KC_HEADER_BYTES + (off_t)position * KC_SEGMENT_BYTES);

	return n < 0 ? (int)n : (int)((size_t)n / KC_SLOT_BYTES);
}

KC_ORDER(compare_places, struct place, KC_UP(number) ?: KC_UP(position))

/* The first segment from position on that is not a hole as a whole, or f->positions. */
static uint32_t after_holes(const struct kc_journal_file *f, uint32_t position)
{
	off_t data;

	if (!f->has_holes)
		return position;
	data = lseek(f->fd, (off_t)KC_HEADER_BYTES + (off_t)position * KC_SEGMENT_BYTES, SEEK_DATA);
	if (data < 0)
		return errno == ENXIO ? f->positions : position;
	return (uint32_t)((data - (off_t)KC_HEADER_BYTES) / KC_SEGMENT_BYTES);
}

/* Fills places, sorted by number. Returns their count or -errno. */
static int find_places(const struct kc_journal_file *f, struct kc_slot *slots, struct place *places)
{
	int found = 0;

	for (uint32_t i = after_holes(f, 0); i < f->positions; i = after_holes(f, i + 1)) {
		int n = read_segment(f, i, slots);

		if (n < 0)
			return n;
		places[found].position = i;
		found += segment_number(slots, (uint32_t)n, &places[found].number);
	}
	qsort(places, (size_t)found, sizeof(*places), compare_places);
	return found;
}

static int each_of_segment(const struct kc_slot *slots, uint32_t count, uint64_t number,
			   int (*fn)(const struct kc_slot *slot, void *arg), void *arg)
{
	for (uint32_t i = 0; i < count; i++) {
		int rc;

		if (!is_plausible(&slots[i], i) || slots[i].index / KC_SEGMENT_SLOTS != number)
			continue;
		rc = fn(&slots[i], arg);
		if (rc)
			return rc;
	}
	return 0;
}

int kc_journal_file_each(struct kc_journal_file *f, int (*fn)(const struct kc_slot *slot, void *arg), void *arg)
{
	struct place *places = calloc(f->positions + 1u, sizeof(*places));
	struct kc_slot *slots = malloc(KC_SEGMENT_BYTES);
	int found, rc = -ENOMEM;

	if (!places || !slots)
		goto out;
	rc = found = find_places(f, slots, places);
	for (int i = 0; i < found; i++) {
		if (i > 0 && places[i].number == places[i - 1].number)
			continue;
		rc = read_segment(f, places[i].position, slots);
		if (rc > 0)
			rc = each_of_segment(slots, (uint32_t)rc, places[i].number, fn, arg);
		if (rc)
			break;
	}
out:
	free(slots);
	free(places);
	return rc;
}
