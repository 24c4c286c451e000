#include "config.h"
#include "tools/command.h"

#include "store/common/options.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define VARIABLE "KERNCAST_CONFIG"
#define FILE_NAME "kerncast.conf"
#define FILE_BYTES_MAX 65536u
#define SHOWN_BYTES 60 /* of a key or a value in a message */

struct config {
	const char *path;
	char text[FILE_BYTES_MAX + 1];
	unsigned line;                       /* of the file, from 1 */
	unsigned set_in[KC_OPTION_COUNT];    /* line; 0: not in the file */
	const char *values[KC_OPTION_COUNT]; /* in text */
	char *why;
	size_t why_size;
};

int kc_config_path(char *out, size_t size)
{
	const char *folder = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"), *given = getenv(VARIABLE);
	int n;

	if (given && !given[0])
		return -ENOENT;
	/* "All paths set in these environment variables must be absolute": XDG Base Directory Specification 0.8. */
	if (given)
		n = snprintf(out, size, "%s", given);
	else if (folder && folder[0] == '/')
		n = snprintf(out, size, "%s/" FILE_NAME, folder);
	else if (home && home[0] == '/')
		n = snprintf(out, size, "%s/.config/" FILE_NAME, home);
	else
		return -ENOENT;
	return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

__attribute__((format(printf, 3, 4))) static int refuse(const struct config *c, int error, const char *format, ...)
{
	int n = snprintf(c->why, c->why_size, "%s: ", c->path);
	va_list args;

	va_start(args, format);
	if (n >= 0 && (size_t)n < c->why_size)
		vsnprintf(c->why + n, c->why_size - (size_t)n, format, args);
	va_end(args);
	return error;
}

/* --- the file */

static int judge(const struct config *c, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return refuse(c, -EPERM, "not an ordinary file; it is not read");
	if (st->st_uid != geteuid() && st->st_uid != 0)
		return refuse(c, -EPERM, "belongs to another user; it is not read");
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return refuse(c, -EPERM, "other users can write it; it is not read (chmod go-w makes it yours alone)");
	if (st->st_size > FILE_BYTES_MAX)
		return refuse(c, -EPERM, "longer than %u bytes; it is not read", FILE_BYTES_MAX);
	return 0;
}

/* The number of bytes read; -errno. */
static ssize_t read_all(int fd, char *text, size_t size)
{
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used < size) {
		n = read(fd, text + used, size - used);
		if (n < 0 && errno != EINTR)
			return -errno;
		used += n > 0 ? (size_t)n : 0;
		if (n < 0)
			n = 1;
	}
	return (ssize_t)used;
}

/* Not blocking: at the path may be a pipe. 1: there is no file. */
static int load(struct config *c)
{
	int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;
	struct stat st;
	ssize_t n;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 1;
	if (fd < 0)
		return refuse(c, -errno, "%s", strerror(errno));
	rc = fstat(fd, &st) < 0 ? refuse(c, -errno, "%s", strerror(errno)) : judge(c, &st);
	if (rc == 0) {
		n = read_all(fd, c->text, FILE_BYTES_MAX);
		c->text[n < 0 ? 0 : n] = '\0';
		if (n < 0)
			rc = refuse(c, (int)n, "%s", strerror((int)-n));
		else if (strlen(c->text) != (size_t)n)
			rc = refuse(c, -EINVAL, "has a zero byte, so it is no text");
	}
	close(fd);
	return rc;
}

/* --- its lines */

/* Cuts blanks off both ends. */
static char *trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text + strspn(text, " \t");
}

/* KC_OPTION_COUNT: there is none. */
static enum kc_option find(const char *key)
{
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++) {
		const char *flag = kc_option_info(i)->flag;

		if (flag && strcmp(flag, key) == 0)
			return i;
	}
	return KC_OPTION_COUNT;
}

static int read_line(struct config *c, char *line)
{
	char *key = trim(line), *equals = strchr(key, '='), *value;
	enum kc_option option;

	if (!*key || *key == '#')
		return 0;
	if (!equals)
		return refuse(c, -EINVAL, "line %u: expected \"key = value\"", c->line);
	*equals = '\0';
	key = trim(key);
	value = trim(equals + 1);
	option = find(key);
	if (option == KC_OPTION_COUNT)
		return refuse(c, -EINVAL, "line %u: unknown key \"%.*s\"; keys are the flags of kerncast run", c->line,
			      SHOWN_BYTES, key);
	if (c->set_in[option])
		return refuse(c, -EINVAL, "line %u: %s is set in line %u already", c->line, key, c->set_in[option]);
	if (kc_option_check(option, value) < 0)
		return refuse(c, -EINVAL, "line %u: %s takes %s, not \"%.*s\"", c->line, key, kc_option_values(option),
			      SHOWN_BYTES, value);
	c->set_in[option] = c->line;
	c->values[option] = value;
	return 0;
}

static int read_lines(struct config *c)
{
	char *rest = c->text, *line;
	int rc = 0;

	while (rc == 0 && (line = strsep(&rest, "\n"))) {
		c->line++;
		rc = read_line(c, line);
	}
	return rc;
}

static void set_variables(const struct config *c)
{
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++) {
		const char *name = kc_option_info(i)->env, *now = getenv(name);

		if (c->values[i] && !(now && *now))
			setenv(name, c->values[i], 1);
	}
}

int kc_config_apply(const char *path, char *why, size_t why_size)
{
	struct config *c = calloc(1, sizeof(*c)); /* large for a stack */
	int rc;

	if (!c)
		return -ENOMEM;
	c->path = path;
	c->why = why;
	c->why_size = why_size;
	rc = load(c);
	if (rc == 0)
		rc = read_lines(c);
	if (rc == 0)
		set_variables(c);
	free(c);
	return rc > 0 ? 0 : rc;
}

int kc_config_use(void)
{
	char path[PATH_MAX], why[PATH_MAX + 512] = "";
	int rc = kc_config_path(path, sizeof(path));

	if (rc == 0 && getenv(VARIABLE) && access(path, F_OK) < 0) {
		kc_error("%s, which " VARIABLE " names: %s", path, strerror(errno));
		return -EINVAL;
	}
	if (rc == 0)
		rc = kc_config_apply(path, why, sizeof(why));
	if (why[0])
		kc_error("%s", why);
	if (rc == -EINVAL)
		return rc;
	setenv(VARIABLE, "", 1);
	return 0;
}
