#include "job_run.h"

#include "store/common/process.h"
#include "store/common/remote.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ANCESTORS_MAX 64
#define ENVIRONMENT_BYTES (256u << 10)
#define RUNS_MOST 100u /* of one launcher at a time */
#define TRIES 1000
#define IN_VAR_TMP 1 /* places of kc_journal_base() */
#define IN_DEV_SHM 2
#define TEXT_BYTES (256u << 10) /* of a file: token, and ranks */

/* --- the launcher */

static ssize_t read_all(int fd, char *out, size_t size)
{
	size_t used = 0;
	ssize_t n = 0;

	while (used < size - 1 && (n = read(fd, out + used, size - 1 - used)) > 0)
		used += (size_t)n;
	out[used] = '\0';
	return n < 0 ? -errno : (ssize_t)used;
}

/* 1: the process was started with the variable. */
static int has_variable(uint32_t pid, const char *name, char *buffer)
{
	size_t length = strlen(name);
	char path[48];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read_all(fd, buffer, ENVIRONMENT_BYTES);
	if (fd >= 0)
		close(fd);
	for (const char *at = buffer; n > 0 && at < buffer + n; at += strlen(at) + 1)
		if (!strncmp(at, name, length) && at[length] == '=')
			return 1;
	return 0;
}

static uint32_t parent_of(uint32_t pid)
{
	char path[48], text[512];
	const char *name_end;
	unsigned parent = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read_all(fd, text, sizeof(text)) > 0 && (name_end = strrchr(text, ')')) &&
	    sscanf(name_end + 1, " %*c %u", &parent) != 1)
		parent = 0;
	close(fd);
	return parent;
}

/* The nearest ancestor that was started without a rank; 0: none is to be seen. */
static uint32_t find_launcher(void)
{
	const char *variable = kc_job_rank_variable();
	uint32_t pid = kc_process_own_number();
	char *buffer = malloc(ENVIRONMENT_BYTES);

	if (!buffer || !variable)
		pid = 0;
	for (int i = 0; pid && i < ANCESTORS_MAX; i++) {
		pid = parent_of(pid);
		if (!pid || !has_variable(pid, variable, buffer))
			break;
	}
	free(buffer);
	return pid;
}

/* Slurm tells it by node: "4(x2),3" are two nodes with 4 and one with 3. slurm.schedmd.com, "srun". 0: not known. */
static unsigned long tasks_of_node(const char *list, const char *node)
{
	unsigned long left = node ? strtoul(node, NULL, 10) : 0, tasks = 0, nodes;
	int end;

	while (list && node && sscanf(list, "%lu%n", &tasks, &end) == 1) {
		list += end;
		nodes = 1;
		if (sscanf(list, "(x%lu)%n", &nodes, &end) == 1)
			list += end;
		if (left < nodes)
			return tasks;
		left -= nodes;
		list += *list == ',';
	}
	return 0;
}

/* How many ranks the launcher has on this host; 0: not known. */
static unsigned long ranks_here(void)
{
	static const char *const variables[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
						"MV2_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *text = getenv(variables[i]);

		if (text && *text)
			return strtoul(text, NULL, 10);
	}
	return tasks_of_node(getenv("SLURM_STEP_TASKS_PER_NODE"), getenv("SLURM_NODEID"));
}

/* --- the file */

/* One command at a time reads and changes it. */
static int set_mutex(int file, short type)
{
	struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

	return fcntl(file, F_OFD_SETLKW, &lock);
}

/* 0 or -errno. */
static int put(int file, const char *text)
{
	size_t length = strlen(text);

	return lseek(file, 0, SEEK_END) < 0 ? -errno : write(file, text, length) == (ssize_t)length ? 0 : -EIO;
}

static int has_rank(const char *text, uint32_t rank)
{
	for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
		if (strtoul(line + 1, NULL, 10) == rank)
			return 1;
	return 0;
}

/* Begins a run, or joins the one that is there. 1: joined; 0: the rank has been in it; or -errno. */
static int enter(int file, uint32_t rank, char *token, size_t size, char *text)
{
	char line[128];
	int rc;

	rc = lseek(file, 0, SEEK_SET) < 0 ? -errno : (int)read_all(file, text, TEXT_BYTES);
	if (rc < 0)
		return rc;
	if (!strchr(text, '\n')) {
		snprintf(line, sizeof(line), "%s\n%u\n", token, rank);
		rc = ftruncate(file, 0) < 0 ? -errno : put(file, line);
		return rc < 0 ? rc : 1;
	}
	if (has_rank(text, rank))
		return 0;
	snprintf(line, sizeof(line), "%u\n", rank);
	rc = put(file, line);
	if (rc < 0)
		return rc;
	snprintf(token, size, "%.*s", (int)strcspn(text, "\n"), text);
	return 1;
}

/* As enter(); -ESTALE: the file has just been deleted. */
static int try_file(int file, uint32_t rank, char *token, size_t size, char *text)
{
	struct stat about;
	int rc;

	if (fstat(file, &about) < 0)
		return -errno;
	if (about.st_uid != geteuid() || !S_ISREG(about.st_mode)) /* its owner could hold it forever */
		return -EPERM;
	if (set_mutex(file, F_WRLCK) < 0)
		return -errno;
	if (fstat(file, &about) < 0)
		rc = -errno;
	else if (about.st_nlink == 0)
		rc = -ESTALE;
	else
		rc = flock(file, LOCK_SH | LOCK_NB) < 0 ? -errno : enter(file, rank, token, size, text);
	set_mutex(file, F_UNLCK);
	return rc;
}

struct place {
	char base[PATH_MAX - 64];
	uint32_t pid;
	uint64_t start;
};

static int join_number(struct kc_job_run *run, const struct place *place, unsigned number, int flags, uint32_t rank,
		       char *token, size_t size, char *text)
{
	int rc;

	snprintf(run->path, sizeof(run->path), "%s.%u-%" PRIu64 "-%u.job", place->base, place->pid, place->start,
		 number);
	run->file = open(run->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | flags, 0600);
	if (run->file < 0)
		return -errno;
	rc = try_file(run->file, rank, token, size, text);
	if (rc <= 0) {
		close(run->file);
		run->file = -1;
	}
	return rc;
}

/* Those that are there come first, so that a run which has ended is not begun again while a later one goes on. */
static int join_any(struct kc_job_run *run, const struct place *place, uint32_t rank, char *token, size_t size,
		    char *text)
{
	unsigned unused = 0;
	int rc;

	for (unsigned number = 1; number <= RUNS_MOST; number++) {
		rc = join_number(run, place, number, 0, rank, token, size, text);
		if (rc == -ENOENT && !unused)
			unused = number;
		if (rc != -ENOENT && rc != 0)
			return rc;
	}
	return unused ? join_number(run, place, unused, O_CREAT | O_EXCL, rank, token, size, text) : -ENOSPC;
}

/* --- files that launchers have left which have ended */

static int is_left(const char *name)
{
	unsigned user, pid, number;
	uint64_t database, start;
	int end = 0;

	return sscanf(name, "kerncast-%u-%16" SCNx64 ".%u-%" SCNu64 "-%u.job%n", &user, &database, &pid, &start,
		      &number, &end) == 5 &&
	       end && !name[end] && user == geteuid() && kc_process_start(pid) != start;
}

static void remove_unused(const char *path)
{
	int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	if (file < 0)
		return;
	if (flock(file, LOCK_EX | LOCK_NB) == 0)
		unlink(path);
	close(file);
}

static void sweep(const char *base)
{
	char folder[PATH_MAX], path[PATH_MAX + 256];
	struct dirent *entry;
	DIR *files;

	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(base, '/') - base) + 1, base);
	files = opendir(folder);
	while (files && (entry = readdir(files)))
		if (is_left(entry->d_name)) {
			snprintf(path, sizeof(path), "%s%s", folder, entry->d_name);
			remove_unused(path);
		}
	if (files)
		closedir(files);
}

/* For databases of their own, which may be merged later. */
static void tell_job(const struct place *place)
{
	char host[HOST_NAME_MAX + 1] = "", text[HOST_NAME_MAX + 64];

	gethostname(host, sizeof(host) - 1);
	snprintf(text, sizeof(text), "launcher %u-%" PRIu64 " on %s", place->pid, place->start, host);
	setenv(KC_JOB_VARIABLE, text, 1);
}

void kc_job_run_join(struct kc_job_run *run, const struct kc_job *job, const char *database, char *token, size_t size)
{
	struct place place = {.pid = 0};
	char *text = malloc(TEXT_BYTES);
	int rc = -EAGAIN;

	run->file = -1;
	if (text && job->known & KC_JOB_RANK && job->world_size > 1 && (place.pid = find_launcher()) &&
	    kc_journal_base(database, access("/dev/shm", W_OK) ? IN_VAR_TMP : IN_DEV_SHM, place.base,
			    sizeof(place.base))) {
		place.start = kc_process_start(place.pid);
		if (!job->job[0])
			tell_job(&place);
		sweep(place.base);
		for (int i = 0; i < TRIES && (rc == -EAGAIN || rc == -ESTALE || rc == -EEXIST || rc == -EWOULDBLOCK);
		     i++)
			rc = join_any(run, &place, job->rank, token, size, text);
	}
	free(text);
}

static unsigned long joined(int file)
{
	char *text = malloc(TEXT_BYTES);
	unsigned long n = 0;

	if (text && lseek(file, 0, SEEK_SET) == 0 && read_all(file, text, TEXT_BYTES) > 0)
		for (const char *line = strchr(text, '\n'); line && line[1]; line = strchr(line + 1, '\n'))
			n++;
	free(text);
	return n;
}

bool kc_job_run_leave(struct kc_job_run *run)
{
	bool is_last = true;

	if (run->file < 0)
		return true;
	if (set_mutex(run->file, F_WRLCK) == 0) {
		is_last = flock(run->file, LOCK_EX | LOCK_NB) == 0;
		if (is_last && joined(run->file) == ranks_here())
			unlink(run->path);
	}
	close(run->file);
	run->file = -1;
	return is_last;
}
