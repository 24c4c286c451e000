/* Who this process is, for the journal's header: the run it belongs to, its
 * program and arguments, and the clocks. */
#include "shim.h"

#include "store/common/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* How many ancestors are asked for the root of the process tree. */
#define ANCESTORS_MAX 64
#define ENVIRONMENT_BYTES (128u << 10)

static ssize_t read_file(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n = -1;

	if (fd < 0)
		return -1;
	while (used < size && (n = read(fd, out + used, size - used)) > 0)
		used += (size_t)n;
	close(fd);
	return n < 0 ? -1 : (ssize_t)used;
}

static uint32_t parent_of(uint32_t pid)
{
	char path[64], text[512];
	const char *name_end;
	unsigned parent = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	n = read_file(path, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = 0;
	name_end = strrchr(text, ')'); /* the name may contain anything, even parentheses */
	return name_end && sscanf(name_end + 1, " %*c %u", &parent) == 1 ? parent : 0;
}

static bool brings_us(uint32_t pid, char *buffer)
{
	char path[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/environ", pid);
	n = read_file(path, buffer, ENVIRONMENT_BYTES - 1);
	if (n <= 0)
		return false;
	buffer[n] = 0;
	for (const char *at = buffer; at < buffer + n; at += strlen(at) + 1)
		if ((!strncmp(at, "LD_PRELOAD=", 11) || !strncmp(at, "CUDA_INJECTION64_PATH=", 22)) &&
		    strstr(at, "libkerncast"))
			return true;
	return false;
}

/* Without `kerncast run`, one process tree is one run: it is named after the
 * topmost process that was started with us. Empty where there is no /proc. */
static void run_token(char *out, size_t size)
{
	uint32_t root = kc_process_own_number(), parent = parent_of(root); /* in a container not our getpid() */
	uint64_t began;
	char *buffer = malloc(ENVIRONMENT_BYTES);

	for (int i = 0; buffer && i < ANCESTORS_MAX && parent > 1 && brings_us(parent, buffer); i++) {
		root = parent;
		parent = parent_of(root);
	}
	free(buffer);
	began = kc_process_start(root);
	if (began)
		snprintf(out, size, "%u-%llu", root, (unsigned long long)began);
}

static const char *measure_name(enum kc_measure measure)
{
	return measure == KC_MEASURE_ALL        ? "all"
	       : measure == KC_MEASURE_KERNELS  ? "kernels"
	       : measure == KC_MEASURE_ADAPTIVE ? "adaptive"
						: "off";
}

void kc__identify(struct kc_journal_header *header, const struct kc_options *options)
{
	struct timespec real;
	ssize_t n;

	header->pid = (uint32_t)getpid();
	header->ppid = (uint32_t)getppid();
	header->pid_start = kc_process_own_start();
	clock_gettime(CLOCK_REALTIME, &real);
	header->realtime_ns = real.tv_sec * 1000000000ll + real.tv_nsec;
	header->monotonic_ns = kc__now_ns();
	kc_boot_id(header->boot_id, sizeof(header->boot_id));
	if (options->run[0])
		snprintf(header->run_token, sizeof(header->run_token), "%s", options->run);
	else
		run_token(header->run_token, sizeof(header->run_token));
	snprintf(header->run_command, sizeof(header->run_command), "%s", options->command);
	kc_job_read(&header->job);
	snprintf(header->measure, sizeof(header->measure), "%s", measure_name(options->measure));
	snprintf(header->database, sizeof(header->database), "%s", options->db);
	n = readlink("/proc/self/exe", header->executable, sizeof(header->executable) - 1);
	if (n < 0)
		header->executable[0] = 0;
	n = read_file("/proc/self/cmdline", header->command_line, sizeof(header->command_line) - 1);
	header->command_line_bytes = n > 0 ? (uint32_t)n : 0;
}
