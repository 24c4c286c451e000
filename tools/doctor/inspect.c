#include "inspect.h"
#include "tools/system/elf_linking.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SCRIPT_DEPTH 4  /* the kernel's limit on scripts that run scripts */
#define SCRIPT_LINE 256 /* BINPRM_BUF_SIZE */
#define SHELL "/bin/sh" /* execvp() runs files of unknown format with it */

static int is_program(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* As execvp(): the first executable of that name in PATH. */
static int find_program(const char *command, struct kc_inspection *out)
{
	const char *dir = getenv("PATH");
	int seen = 0;

	if (strchr(command, '/')) {
		snprintf(out->path, sizeof(out->path), "%s", command);
		return access(command, F_OK) == 0;
	}
	if (!dir)
		dir = "/bin:/usr/bin";
	for (; dir && *command; dir = strchr(dir, ':') ? strchr(dir, ':') + 1 : NULL) {
		char path[PATH_MAX];
		int n = (int)strcspn(dir, ":");

		if (snprintf(path, sizeof(path), "%.*s%s%s", n, dir, n ? "/" : "./", command) >= (int)sizeof(path))
			continue;
		if (!is_program(path) || (seen && access(path, X_OK) < 0))
			continue;
		memcpy(out->path, path, sizeof(path));
		seen = 1;
		if (access(path, X_OK) == 0)
			break;
	}
	return seen;
}

static void refuse(struct kc_inspection *out, enum kc_preload why, const char *reason, const char *cure)
{
	out->preload = why;
	snprintf(out->reason, sizeof(out->reason), "%s", reason);
	snprintf(out->cure, sizeof(out->cure), "%s", cure);
}

/* The kernel then runs it in secure mode (AT_SECURE), where the loader ignores
 * libraries named with a path. */
static void check_privileges(struct kc_inspection *out)
{
	struct statvfs fs;
	struct stat st;

	if (stat(out->binary, &st) < 0 || (statvfs(out->binary, &fs) == 0 && fs.f_flag & ST_NOSUID))
		return;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		refuse(out, KC_PRELOAD_PRIVILEGED, "is setuid, and the loader ignores LD_PRELOAD for it",
		       "run it as its owner, or run a copy without the setuid bit");
	else if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		refuse(out, KC_PRELOAD_PRIVILEGED, "is setgid, and the loader ignores LD_PRELOAD for it",
		       "run it in its group, or run a copy without the setgid bit");
	else if (getuid() != 0 && getxattr(out->binary, "security.capability", NULL, 0) > 0)
		refuse(out, KC_PRELOAD_PRIVILEGED, "has file capabilities, and the loader ignores LD_PRELOAD for it",
		       "run a copy of it (a copy has none), or give them up with setcap -r");
}

static void note_library(const char *name, void *arg)
{
	static const char *const sanitizers[] = {"libasan.so", "libtsan.so",       "libhwasan.so",
						 "liblsan.so", "libclang_rt.asan", "libclang_rt.tsan"};
	static const char *const users[] = {"libcublas",   "libcudnn",      "libcufft",   "libcusparse",
					    "libcusolver", "libcurand",     "libnccl",    "libnvrtc",
					    "libnvinfer",  "libtorch_cuda", "libc10_cuda"};
	struct kc_inspection *out = arg;

	if (strncmp(name, "libcuda.so", 10) == 0)
		out->cuda |= KC_CUDA_DRIVER;
	if (strncmp(name, "libcudart.so", 12) == 0)
		out->cuda |= KC_CUDA_RUNTIME_SHARED;
	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
		out->sees_driver |= strncmp(name, users[i], strlen(users[i])) == 0;
	for (size_t i = 0; i < sizeof(sanitizers) / sizeof(*sanitizers); i++) {
		if (!out->sanitizer[0] && strncmp(name, sanitizers[i], strlen(sanitizers[i])) == 0)
			snprintf(out->sanitizer, sizeof(out->sanitizer), "%s", name);
	}
}

/* The loader of musl, which does not find in musl what libkerncast.so needs, and ends the program. */
static int is_musl(const struct kc_elf_file *elf)
{
	const char *name = elf->interpreter ? strrchr(elf->interpreter, '/') : NULL;

	return name && strncmp(name, "/ld-musl", 8) == 0;
}

static int inspect_elf(struct kc_inspection *out)
{
	struct kc_elf_file elf;
	int rc = kc_elf_open(out->binary, &elf);

	if (rc == -ENOEXEC)
		return rc;
	if (rc < 0) {
		refuse(out, KC_PRELOAD_UNKNOWN,
		       rc == -EILSEQ ? "is cut off or damaged" : "cannot be read, so nothing is known about it",
		       rc == -EILSEQ ? "rebuild or reinstall it" : "make it readable");
		return 0;
	}
	if (elf.foreign) {
		refuse(out, KC_PRELOAD_FOREIGN,
		       elf.bits == 32 ? "is a 32-bit program, and libkerncast.so is 64-bit"
				      : "is for another processor than libkerncast.so",
		       "run a build of it for this machine");
	} else if (!elf.has_interpreter && !elf.is_loader) {
		refuse(out, KC_PRELOAD_STATIC, "is statically linked, so nothing can be preloaded into it",
		       "link it dynamically (without -static; cudart may stay static)");
	} else if (is_musl(&elf)) {
		refuse(out, KC_PRELOAD_MUSL, "is linked with musl, and libkerncast.so needs the GNU C library",
		       "run a build of it for the GNU C library");
	} else {
		check_privileges(out);
		kc_elf_needed(&elf, note_library, out);
		if (elf.has_device_code && !(out->cuda & KC_CUDA_RUNTIME_SHARED))
			out->cuda |= KC_CUDA_RUNTIME_STATIC;
	}
	kc_elf_close(&elf);
	return 0;
}

/* In "#!/usr/bin/env [-S] [NAME=VALUE]… python3", the program that env will run. */
static const char *behind_env(const char *interpreter, char *arguments)
{
	const char *base = strrchr(interpreter, '/');
	char *save = NULL;

	if (strcmp(base ? base + 1 : interpreter, "env") != 0)
		return NULL;
	for (char *word = strtok_r(arguments, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (word[0] != '-' && !strchr(word, '='))
			return word;
	}
	return NULL;
}

/* Puts the interpreter that a script names in its first line into out->binary. 1; 0: not a script. */
static int follow_script(struct kc_inspection *out)
{
	char line[SCRIPT_LINE + 1], *interpreter, *arguments;
	struct kc_inspection behind = {0};
	const char *name;
	ssize_t n;
	int fd = open(out->binary, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	n = read(fd, line, SCRIPT_LINE);
	close(fd);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	interpreter = line + 2 + strspn(line + 2, " \t");
	arguments = interpreter + strcspn(interpreter, " \t");
	if (*arguments)
		*arguments++ = '\0';
	name = behind_env(interpreter, arguments);
	snprintf(out->binary, sizeof(out->binary), "%s", interpreter);
	if (name && find_program(name, &behind))
		memcpy(out->binary, behind.path, sizeof(out->binary));
	return 1;
}

int kc_inspect(const char *command, struct kc_inspection *out)
{
	*out = (struct kc_inspection){0};
	out->found = find_program(command, out);
	if (!out->found) {
		refuse(out, KC_PRELOAD_UNKNOWN, "was not found", "give its path");
		return -ENOENT;
	}
	out->executable = is_program(out->path) && access(out->path, X_OK) == 0;
	if (!out->executable) {
		refuse(out, KC_PRELOAD_UNKNOWN, is_program(out->path) ? "is not executable" : "is not a program",
		       is_program(out->path) ? "chmod +x it" : "name a program");
		return -EACCES;
	}
	memcpy(out->binary, out->path, sizeof(out->binary));
	for (int depth = 0; depth < SCRIPT_DEPTH && follow_script(out); depth++)
		out->script = 1;
	if (inspect_elf(out) == -ENOEXEC) { /* execvp() gives it to the shell */
		out->script = 1;
		snprintf(out->binary, sizeof(out->binary), "%s", SHELL);
		inspect_elf(out);
	}
	return 0;
}
