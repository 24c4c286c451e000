#include "process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* PROC_PID_INIT_INO of include/linux/proc_ns.h: the namespace that sees every process. */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

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

uint64_t kc_process_start(uint32_t pid)
{
	char path[48], text[1024];
	const char *p;
	char state;
	long threads;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return 0;
	/* Field 2 is the command in brackets, and may itself hold brackets and blanks. */
	p = strrchr(text, ')');
	if (!p || p[1] != ' ' || !p[2])
		return 0;
	p += 2;
	state = *p;
	for (int field = 3; field < 20; field++) {
		p = strchr(p, ' ');
		if (!p || field_is_empty(++p))
			return 0;
	}
	threads = strtol(p, NULL, 10);
	/* The first thread can be a zombie while other threads of the process run. */
	if (state == 'X' || (state == 'Z' && threads <= 1))
		return 0;
	for (int field = 20; field < 22; field++) {
		p = strchr(p, ' ');
		if (!p || field_is_empty(++p))
			return 0;
	}
	return strtoull(p, NULL, 10);
}

int kc_boot_id(char *out, size_t size)
{
	ssize_t n;

	if (size == 0)
		return -EINVAL;
	n = read_text("/proc/sys/kernel/random/boot_id", out, size);
	if (n < 0) {
		out[0] = 0;
		return (int)n;
	}
	out[strcspn(out, "\n")] = 0;
	return 0;
}

uint64_t kc_pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

/* The pid of a process in its own namespace; 0: not known. */
static uint32_t innermost_pid(uint32_t pid)
{
	char path[48], text[4096];
	const char *line, *end;
	uint32_t inner = 0;

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
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
		inner = (uint32_t)n;
		line = after;
	}
	return inner;
}

/* A process of another namespace has a different pid here, but the same start time. */
static int alive_elsewhere(uint32_t pid, uint64_t pid_start)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;
	int found = 0;

	if (!proc)
		return 1;
	while (!found && (entry = readdir(proc))) {
		uint32_t here =
		    isdigit((unsigned char)entry->d_name[0]) ? (uint32_t)strtoul(entry->d_name, NULL, 10) : 0;

		if (here)
			found = kc_process_start(here) == pid_start && innermost_pid(here) == pid;
	}
	closedir(proc);
	return found || kc_pid_namespace() != INITIAL_PID_NAMESPACE;
}

int kc_process_alive(uint32_t pid, uint64_t pid_start, const char *boot_id, uint64_t pid_namespace)
{
	char here[KC_BOOT_ID_BYTES];
	uint64_t ours = kc_pid_namespace();

	if (boot_id && boot_id[0] && kc_boot_id(here, sizeof(here)) == 0 && strncmp(boot_id, here, sizeof(here)) != 0)
		return 0;
	if (pid_namespace && ours && pid_namespace != ours)
		return alive_elsewhere(pid, pid_start);
	return kc_process_start(pid) == pid_start && pid_start != 0;
}
