#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* PROC_PID_INIT_INO of include/linux/proc_ns.h: the namespace that sees every process. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

static const char boot_id_path[] = "/proc/sys/kernel/random/boot_id";

/* Reads the beginning of a file as a string; its length or -errno. */
static ssize_t read_text(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, out, size - 1);
	if (n < 0)
		n = -errno;
	else
		out[n] = 0;
	close(fd);
	return n;
}

static int field_is_empty(const char *p)
{
	return *p == 0 || *p == '\n';
}

/* *start: 0: the process has ended, and its parent has not called wait() yet. 0 or -errno. */
static int read_start(const char *path, uint64_t *start)
{
	char text[1024];
	const char *p;
	char state;
	long threads;
	ssize_t n = read_text(path, text, sizeof(text));

	if (n < 0)
		return (int)n;
	/* Field 2 is the command in brackets, and may itself hold brackets and blanks. */
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || !p[2])
		return -EBADMSG;
	p += 2;
	state = *p;
	for (int field = 3; field < 20; field++) {
		p = strchr(p, ' ');
		if (!p || field_is_empty(++p))
			return -EBADMSG;
	}
	threads = strtol(p, NULL, 10);
	for (int field = 20; field < 22; field++) {
		p = strchr(p, ' ');
		if (!p || field_is_empty(++p))
			return -EBADMSG;
	}
	/* The first thread can be a zombie while other threads of the process run. */
	*start = state == 'X' || (state == 'Z' && threads <= 1) ? 0 : strtoull(p, NULL, 10);
	return 0;
}

static int start_of(uint32_t pid, uint64_t *start)
{
	char path[48];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	return read_start(path, start);
}

uint64_t kc_process_start(uint32_t pid)
{
	uint64_t start;

	return start_of(pid, &start) ? 0 : start;
}

uint64_t kc_process_own_start(void)
{
	uint64_t start;

	return read_start("/proc/self/stat", &start) ? 0 : start;
}

uint32_t kc_process_own_number(void)
{
	char text[16];
	ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

	if (n <= 0)
		return 0;
	text[n] = 0;
	return (uint32_t)strtoul(text, NULL, 10);
}

int kc_boot_id(char *out, size_t size)
{
	ssize_t n;

	if (size == 0)
		return -EINVAL;
	n = read_text(boot_id_path, out, size);
	if (n < 0) {
		out[0] = 0;
		return (int)n;
	}
	out[strcspn(out, "\n")] = 0;
	return 0;
}

int kc_boot_id_is_kernels(void)
{
	struct statfs fs;

	return statfs(boot_id_path, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

static uint64_t inode_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (uint64_t)st.st_ino;
}

uint64_t kc_pid_namespace(void)
{
	return inode_of("/proc/self/ns/pid");
}

uint64_t kc_time_namespace(void)
{
	return inode_of("/proc/self/ns/time");
}

/* The pids of a process, from the namespace of /proc to its own: how many there are, and the last; 0: not known. */
static unsigned pids_of(const char *path, uint32_t *last)
{
	char text[4096];
	const char *line, *end;
	unsigned count = 0;

	if (read_text(path, text, sizeof(text)) <= 0)
		return 0;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return 0;
	line += strlen("\nNSpid:");
	end = strchrnul(line, '\n');
	while (line < end) {
		char *after;
		unsigned long n = strtoul(line, &after, 10);

		if (after == line || after > end)
			break;
		*last = (uint32_t)n;
		count++;
		line = after;
	}
	return count;
}

/* Whether /proc has the numbers that processes have for us. */
static int proc_is_ours(void)
{
	uint32_t last;

	return kc_process_own_number() == (uint32_t)getpid() && pids_of("/proc/self/status", &last) <= 1;
}

/* A start is shown by the clock of the reader's time namespace. */
static int starts_compare(const struct kc_process_identity *who)
{
	return who->start && who->time_namespace == kc_time_namespace();
}

static int may_be(const struct kc_process_identity *who, uint32_t here, int compare)
{
	uint64_t start = kc_process_start(here);
	uint32_t inner = 0;
	char path[48];

	if (!start || (compare && start != who->start))
		return 0;
	snprintf(path, sizeof(path), "/proc/%u/status", here);
	return pids_of(path, &inner) && inner == who->pid;
}

/* Whether all processes of the machine are in /proc: in the outermost namespace, unless its mount option hidepid hides
 * those of others. */
static int sees_all(void)
{
	return kc_pid_namespace() == INITIAL_PID_NAMESPACE && kc_process_start(1);
}

/* A process of another namespace has a different pid here, but the same start time. */
static enum kc_process_seen look_into_others(const struct kc_process_identity *who)
{
	int found = 0, compare = starts_compare(who);
	struct dirent *entry;
	DIR *proc;

	if (!proc_is_ours() || !(proc = opendir("/proc")))
		return KC_PROCESS_UNSEEN;
	while (!found && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]))
			found = may_be(who, (uint32_t)strtoul(entry->d_name, NULL, 10), compare);
	closedir(proc);
	if (found)
		return compare ? KC_PROCESS_THERE : KC_PROCESS_UNSEEN;
	return sees_all() ? KC_PROCESS_GONE : KC_PROCESS_UNSEEN;
}

enum kc_process_seen kc_process_look(const struct kc_process_identity *who)
{
	uint64_t ours = kc_pid_namespace(), start;

	if (who->pid_namespace != ours)
		return ours && who->pid_namespace ? look_into_others(who) : KC_PROCESS_UNSEEN;
	if (!ours && !who->start) /* one of us has no /proc */
		return KC_PROCESS_UNSEEN;
	if (!who->pid || who->pid > INT32_MAX || (kill((pid_t)who->pid, 0) && errno == ESRCH))
		return KC_PROCESS_GONE;
	if (!proc_is_ours() || start_of(who->pid, &start))
		return KC_PROCESS_UNSEEN;
	if (!start)
		return KC_PROCESS_GONE;
	if (!starts_compare(who))
		return KC_PROCESS_UNSEEN;
	return start == who->start ? KC_PROCESS_THERE : KC_PROCESS_GONE;
}
