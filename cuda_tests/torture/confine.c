/*
 * confine [OPTION...] -- COMMAND...: runs the command in a tight place, which ends with it. Options are in the order in
 * which they take effect:
 *
 *   --unshare LETTERS   new namespaces: u user, m mount, p pid (the command is pid 1 there); h: /proc is hidden
 *   --tmpfs DIR:BYTES   an empty file system of this size on DIR (after --unshare um)
 *   --read-only DIR     DIR as a file system that cannot be written to (after --unshare um)
 *   --user ID           without rights of root
 *   --limit NAME:VALUE  as, cpu, core, fsize, nofile or nproc
 *   --env NAME=VALUE    for the command alone
 *   --deny CALL:ERROR   a system call fails (deny.h)
 *
 * confine --list prints the system calls that can be denied. The command is killed when the process that started this
 * one ends. Exits with the command's status; 125: the place could not be made, and standard error says why.
 */
#include "deny.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define CANNOT 125
#define ID_ROOM 64 /* of a line of an id map */

static void must(int ok, const char *what, const char *value)
{
	if (ok)
		return;
	fprintf(stderr, "confine: %s %s: %s\n", what, value, strerror(errno));
	exit(CANNOT);
}

static void end_with_parent(void)
{
	must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0, "prctl", "");
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "write", path);
	close(fd);
}

/* A process of its own in a new pid namespace; the one outside waits for it and ends as it does. */
static void enter_pid_namespace(void)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0, "fork", "");
	if (pid == 0)
		return;
	must(waitpid(pid, &status, 0) == pid, "waitpid", "");
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : CANNOT);
}

static void unshare_namespaces(const char *letters)
{
	char uid[ID_ROOM], gid[ID_ROOM];
	int flags = (strchr(letters, 'u') ? CLONE_NEWUSER : 0) | (strchr(letters, 'm') ? CLONE_NEWNS : 0) |
		    (strchr(letters, 'p') ? CLONE_NEWPID : 0);

	snprintf(uid, sizeof(uid), "0 %u 1", (unsigned)geteuid());
	snprintf(gid, sizeof(gid), "0 %u 1", (unsigned)getegid());
	must(unshare(flags) == 0, "unshare", letters);
	if (flags & CLONE_NEWUSER) {
		put("/proc/self/setgroups", "deny");
		put("/proc/self/uid_map", uid);
		put("/proc/self/gid_map", gid);
	}
	if (flags & CLONE_NEWNS)
		must(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0, "mount", "/");
	end_with_parent(); /* new credentials have ended that */
	if (flags & CLONE_NEWPID) {
		enter_pid_namespace();
		end_with_parent();
	}
	if (strchr(letters, 'h'))
		must(mount("none", "/proc", "tmpfs", 0, "size=4096") == 0, "hide", "/proc");
}

static void mount_tmpfs(char *value)
{
	char *colon = strrchr(value, ':'), options[ID_ROOM];

	must(colon != NULL, "--tmpfs", value);
	*colon = '\0';
	snprintf(options, sizeof(options), "size=%s", colon + 1);
	must(mount("none", value, "tmpfs", 0, options) == 0, "tmpfs", value);
}

static void mount_read_only(const char *folder)
{
	must(mount(folder, folder, NULL, MS_BIND, NULL) == 0, "bind", folder);
	must(mount(NULL, folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0, "read-only", folder);
}

static void become(const char *value)
{
	unsigned id = (unsigned)strtoul(value, NULL, 10);

	must(setgroups(0, NULL) == 0 && setresgid(id, id, id) == 0 && setresuid(id, id, id) == 0, "user", value);
	end_with_parent();
}

static void limit(const char *value)
{
	static const struct {
		const char *name;
		int resource;
	} names[] = {{"as:", RLIMIT_AS},       {"cpu:", RLIMIT_CPU},       {"core:", RLIMIT_CORE},
		     {"fsize:", RLIMIT_FSIZE}, {"nofile:", RLIMIT_NOFILE}, {"nproc:", RLIMIT_NPROC}};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t length = strlen(names[i].name);

		if (!strncmp(value, names[i].name, length)) {
			rlim_t most = strtoull(value + length, NULL, 10);

			must(setrlimit(names[i].resource, &(struct rlimit){most, most}) == 0, "limit", value);
			return;
		}
	}
	errno = EINVAL;
	must(0, "--limit", value);
}

static void take(const char *option, char *value)
{
	errno = EINVAL;
	must(value != NULL, "nothing after", option);
	if (!strcmp(option, "--unshare"))
		unshare_namespaces(value);
	else if (!strcmp(option, "--tmpfs"))
		mount_tmpfs(value);
	else if (!strcmp(option, "--read-only"))
		mount_read_only(value);
	else if (!strcmp(option, "--user"))
		become(value);
	else if (!strcmp(option, "--limit"))
		limit(value);
	else if (!strcmp(option, "--env"))
		must(putenv(value) == 0, option, value);
	else if (!strcmp(option, "--deny"))
		must(deny(value) == 0, option, value);
	else
		must(0, "no option", option);
}

int main(int argc, char **argv)
{
	int i = 1;

	if (argc == 2 && !strcmp(argv[1], "--list")) {
		deny_list(stdout);
		return 0;
	}
	end_with_parent();
	for (; i < argc && strcmp(argv[i], "--") != 0; i += 2)
		take(argv[i], argv[i + 1]);
	errno = EINVAL;
	must(i + 1 < argc, "no command", "");
	execvp(argv[i + 1], argv + i + 1);
	must(0, "exec", argv[i + 1]);
}
