#include "doctor.h"
#include "tools/output/format.h"
#include "inspect.h"
#include "tools/system/database.h"
#include "tools/system/journals.h"
#include "tools/system/library.h"

#include "store/common/options.h"
#include "store/database/store.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#define LITTLE_SPACE_BYTES (64ull << 20) /* 600,000 launches of 100 bytes each */

void kc_check_add(struct kc_diagnosis *d, enum kc_level level, const char *name, const char *cure, const char *format,
		  ...)
{
	struct kc_check *check = d->checks + d->count;
	va_list args;

	if (d->count == KC_CHECKS)
		return;
	d->count++;
	check->level = level;
	snprintf(check->name, sizeof(check->name), "%s", name);
	snprintf(check->cure, sizeof(check->cure), "%s", cure);
	va_start(args, format);
	vsnprintf(check->text, sizeof(check->text), format, args);
	va_end(args);
}

static int names_file(const char *path, const char *name)
{
	const char *base = strrchr(path, '/');

	return strcmp(base ? base + 1 : path, name) == 0;
}

static int injects_us(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");

	return path && kc_library_is(path);
}

/* The driver is silent when it does not find the library that the variable names. */
static void check_injection(struct kc_diagnosis *d)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");

	if (!injects_us())
		return;
	if (access(path, R_OK) < 0)
		kc_check_add(d, KC_LEVEL_PROBLEM, "injection",
			     "give the full path of libkerncast.so, or unset the variable",
			     "CUDA_INJECTION64_PATH: %s: %s", path, strerror(errno));
	else
		kc_check_add(d, KC_LEVEL_OK, "injection", "",
			     "CUDA_INJECTION64_PATH: launches are also seen where nothing can be preloaded");
}

/* One entry of LD_AUDIT; the loader skips what it cannot load, with a message. */
static void check_audit_entry(struct kc_diagnosis *d, const char *path)
{
	const char *preload = getenv("LD_PRELOAD");

	if (access(path, R_OK) < 0)
		kc_check_add(d, KC_LEVEL_WARNING, "LD_AUDIT", "use kerncast run --audit, which sets it", "%s: %s", path,
			     strerror(errno));
	else if (!names_file(path, "libkerncast-audit.so"))
		kc_check_add(d, KC_LEVEL_OK, "LD_AUDIT", "", "%s stays in place with kerncast run --audit", path);
	else if (!preload || !strstr(preload, "libkerncast.so"))
		kc_check_add(d, KC_LEVEL_WARNING, "LD_AUDIT", "use kerncast run --audit, which sets both",
			     "libkerncast-audit.so does nothing without libkerncast.so in LD_PRELOAD");
	else
		kc_check_add(d, KC_LEVEL_OK, "LD_AUDIT", "",
			     "libkerncast-audit.so: launches from RTLD_DEEPBIND and dlmopen are seen, too");
}

static void check_audit(struct kc_diagnosis *d)
{
	const char *value = getenv("LD_AUDIT");
	char copy[PATH_MAX], *rest = copy, *path;

	if (kc_library_find_audit(copy, sizeof(copy)) < 0)
		kc_check_add(d, KC_LEVEL_WARNING, "LD_AUDIT", "build or install kerncast again",
			     "%s is missing, so kerncast run --audit does not work", copy);
	snprintf(copy, sizeof(copy), "%s", value ? value : "");
	while ((path = strsep(&rest, ":"))) {
		if (*path)
			check_audit_entry(d, path);
	}
}

/* Another profiler's is a warning, but kerncast's measurements do not depend on it. */
static void check_ranges(struct kc_diagnosis *d)
{
	const char *path = getenv(KC_NVTX_VARIABLE);

	if (path && !kc_library_is(path))
		kc_check_add(d, KC_LEVEL_WARNING, "NVTX", "unset " KC_NVTX_VARIABLE,
			     KC_NVTX_VARIABLE " names %s: that gets the program's ranges, and kerncast does not", path);
	else
		kc_check_add(d, KC_LEVEL_OK, "NVTX", "", "kerncast run gets the program's ranges");
}

static void check_profilers(struct kc_diagnosis *d)
{
	static const char *const prefixes[] = {"CUDA_INJECTION64_PATH=", "NSYS_", "NV_NSIGHT", "NV_COMPUTE_PROFILER",
					       "NVPROF_"};
	int found = 0;

	for (char **entry = environ; *entry; entry++) {
		for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
			if (strncmp(*entry, prefixes[i], strlen(prefixes[i])) != 0 || (i == 0 && injects_us()))
				continue;
			kc_check_add(d, KC_LEVEL_WARNING, "other profiler",
				     "run without it: only one profiler can measure, and it takes precedence",
				     "%.*s is set", (int)strcspn(*entry, "="), *entry);
			found = 1;
		}
	}
	if (!found)
		kc_check_add(d, KC_LEVEL_OK, "other profiler", "", "none in the environment");
}

void kc_check_environment(struct kc_diagnosis *d)
{
	static struct kc_options options;
	char why[256] = "";

	if (kc_options_read(&options, why, sizeof(why)) < 0)
		kc_check_add(d, KC_LEVEL_PROBLEM, "options", "correct or unset the variable", "%s", why);
	if (options.disable)
		kc_check_add(d, KC_LEVEL_PROBLEM, "options", "unset KERNCAST_DISABLE",
			     "KERNCAST_DISABLE is set, so nothing is recorded");
	if (options.measure == KC_MEASURE_NOTHING)
		kc_check_add(d, KC_LEVEL_WARNING, "options", "unset KERNCAST_MEASURE",
			     "KERNCAST_MEASURE=off, so nothing is measured");
	check_injection(d);
	check_audit(d);
	check_ranges(d);
	check_profilers(d);
}

/* File systems whose locks or shared mappings do not support a write-ahead log (statfs(2), sqlite.org/wal.html). */
static const char *network_name(long type)
{
	static const struct {
		long type;
		const char *name;
	} table[] = {{0x6969, "NFS"},     {0x517B, "SMB"},      {0xFF534D42, "CIFS"},   {0xFE534D42, "SMB 2"},
		     {0x01021997, "9P"},  {0x00C36400, "Ceph"}, {0x0BD00BD0, "Lustre"}, {0x47504653, "GPFS"},
		     {0x5346414F, "AFS"}, {0x73757245, "Coda"}, {0x65735546, "FUSE"}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		if ((type & 0xFFFFFFFF) == table[i].type)
			return table[i].name;
	}
	return NULL;
}

static void check_disk(struct kc_diagnosis *d, const char *folder)
{
	char free_bytes[KC_FORMAT_BYTES];
	struct statfs fs;
	uint64_t bytes;

	if (statfs(folder, &fs) < 0)
		return;
	bytes = (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize;
	kc_format_bytes(bytes, free_bytes);
	if (bytes < LITTLE_SPACE_BYTES)
		kc_check_add(d, KC_LEVEL_WARNING, "disk", "free some space, or choose another place with --output",
			     "only %s free for the database and its journal", free_bytes);
	else
		kc_check_add(d, KC_LEVEL_OK, "disk", "", "%s free", free_bytes);
	if (network_name(fs.f_type))
		kc_check_add(d, KC_LEVEL_WARNING, "file system", "put the database on a local disk (KERNCAST_DB)",
			     "%s: several processes cannot safely write to one database there",
			     network_name(fs.f_type));
	else
		kc_check_add(d, KC_LEVEL_OK, "file system", "", "supports a write-ahead log");
}

static void check_file(struct kc_diagnosis *d, const char *path, const char *folder)
{
	struct kc_store *store = NULL;
	char why[512] = "";
	int rc;

	if (access(path, F_OK) < 0) {
		if (access(folder, W_OK | X_OK) == 0)
			kc_check_add(d, KC_LEVEL_OK, "database", "", "%s will be created", path);
		else
			kc_check_add(d, KC_LEVEL_PROBLEM, "database",
				     "choose another place with KERNCAST_DB or --output", "%s cannot be created: %s",
				     path, strerror(errno));
		return;
	}
	rc = kc_store_open(path, KC_STORE_READ, &store, why, sizeof(why));
	kc_store_close(store);
	if (rc < 0)
		kc_check_add(d, KC_LEVEL_PROBLEM, "database",
			     "move the file away, or choose another place with KERNCAST_DB or --output", "%s",
			     *why ? why : strerror(-rc));
	else if (access(path, W_OK) < 0 || access(folder, W_OK | X_OK) < 0)
		kc_check_add(d, KC_LEVEL_PROBLEM, "database", "choose another place with KERNCAST_DB or --output",
			     "%s cannot be written: %s", path, strerror(errno));
	else
		kc_check_add(d, KC_LEVEL_OK, "database", "", "%s can be written", path);
}

static void check_journals(struct kc_diagnosis *d, const char *path)
{
	struct kc_journals journals;
	size_t dead = 0, alive = 0, not_known = 0, unreadable = 0;

	if (kc_journals_find(path, 0, &journals) < 0)
		return;
	for (size_t i = 0; i < journals.count; i++) {
		unreadable += journals.at[i].unreadable;
		alive += !journals.at[i].unreadable && journals.at[i].life == KC_LIFE_RUNS;
		not_known += !journals.at[i].unreadable && journals.at[i].life == KC_LIFE_NOT_KNOWN;
		dead += !journals.at[i].unreadable && journals.at[i].life >= KC_LIFE_ENDING;
	}
	kc_journals_free(&journals);
	if (unreadable)
		kc_check_add(d, KC_LEVEL_WARNING, "journals", "kerncast recover names them", "%zu cannot be imported",
			     unreadable);
	if (dead)
		kc_check_add(d, KC_LEVEL_WARNING, "journals", "kerncast recover",
			     "%zu left by processes that have ended", dead);
	if (not_known)
		kc_check_add(d, KC_LEVEL_WARNING, "journals", "kerncast recover says what can be done",
			     "%zu of processes of which it is not known whether they still run", not_known);
	if (!dead && !unreadable && !not_known)
		kc_check_add(d, KC_LEVEL_OK, "journals", "", "none left behind%s", alive ? ", some in use" : "");
}

void kc_check_database(struct kc_diagnosis *d)
{
	char path[PATH_MAX], copy[PATH_MAX], why[PATH_MAX + 256];
	const char *folder;

	if (kc_database_default(path, sizeof(path), why, sizeof(why))) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "database",
			     "name it, or choose another place with KERNCAST_DB or --output", "%s", why);
		return;
	}
	snprintf(copy, sizeof(copy), "%s", path);
	folder = dirname(copy);
	check_file(d, path, folder);
	check_disk(d, folder);
	check_journals(d, path);
}

static void check_cuda_link(struct kc_diagnosis *d, const struct kc_inspection *about)
{
	if (about->cuda & KC_CUDA_RUNTIME_SHARED)
		kc_check_add(d, KC_LEVEL_OK, "hooks", "",
			     "the program uses libcudart.so; its launches are hooked in the driver");
	else if (about->cuda & KC_CUDA_RUNTIME_STATIC)
		kc_check_add(
		    d, KC_LEVEL_OK, "hooks", "",
		    "the program contains device code and a static cudart; its launches are hooked in the driver");
	else if (about->cuda & KC_CUDA_DRIVER)
		kc_check_add(d, KC_LEVEL_OK, "hooks", "",
			     "the program uses libcuda directly; its launches are hooked there");
	else if (about->sees_driver)
		kc_check_add(d, KC_LEVEL_OK, "hooks", "",
			     "the program uses CUDA through a library; its launches are hooked in the driver");
	else
		kc_check_add(
		    d, KC_LEVEL_OK, "hooks", "",
		    "the program is not linked with CUDA; libraries that it loads later, as Python does, are hooked, "
		    "but for those opened with RTLD_DEEPBIND or by dlmopen, which kerncast run --audit sees");
}

void kc_check_program(struct kc_diagnosis *d, const char *command)
{
	static struct kc_inspection about;

	if (kc_inspect(command, &about) < 0) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "program", about.cure, "%s %s", about.found ? about.path : command,
			     about.reason);
		return;
	}
	if (about.preload != KC_PRELOAD_YES) {
		kc_check_add(d, KC_LEVEL_PROBLEM, "program", about.cure, "%s %s", about.binary, about.reason);
		return;
	}
	if (about.script)
		kc_check_add(d, KC_LEVEL_OK, "program", "", "%s is a script, run by %s", about.path, about.binary);
	else
		kc_check_add(d, KC_LEVEL_OK, "program", "", "%s can be preloaded into", about.path);
	if (about.sanitizer[0])
		kc_check_add(d, KC_LEVEL_OK, "sanitizer", "", "%s is loaded before libkerncast.so", about.sanitizer);
	check_cuda_link(d, &about);
}
