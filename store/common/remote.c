#include "remote.h"

#include "predictor/math/hash.h"

#include <errno.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Of the kernel, and of file systems outside it. */
#define CIFS_MAGIC 0xFF534D42u
#define SMB2_MAGIC 0xFE534D42u
#define CEPH_MAGIC 0x00C36400u
#define LUSTRE_MAGIC 0x0BD00BD0u
#define GPFS_MAGIC 0x47504653u
#define BEEGFS_MAGIC 0x19830326u
#define FUSE_MAGIC 0x65735546u

static bool is_of_network(uint32_t type)
{
	static const uint32_t known[] = {NFS_SUPER_MAGIC, SMB_SUPER_MAGIC, CIFS_MAGIC,      SMB2_MAGIC,
					 FUSE_MAGIC,      V9FS_MAGIC,      CEPH_MAGIC,      LUSTRE_MAGIC,
					 GPFS_MAGIC,      BEEGFS_MAGIC,    AFS_SUPER_MAGIC, CODA_SUPER_MAGIC};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (type == known[i])
			return true;
	return false;
}

/* Returns its length with the slash, 0: it is the working folder. */
static size_t folder_of(const char *path, char folder[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? (size_t)(slash - path) + 1 : 0;

	snprintf(folder, PATH_MAX, "%.*s", n ? (int)n : 2, n ? path : "./");
	return n;
}

bool kc_is_remote(const char *path)
{
	char folder[PATH_MAX];
	struct statfs fs;

	folder_of(path, folder);
	if (statfs(folder, &fs))
		return errno == ENOTCONN || errno == ESTALE; /* its server is gone */
	return is_of_network((uint32_t)fs.f_type);
}

void kc_host_database(const char *path, char *out, size_t size)
{
	char host[HOST_NAME_MAX + 1] = "", ending[HOST_NAME_MAX + 8];
	size_t n = strlen(path), stem = n, ending_bytes;

	snprintf(out, size, "%s", path);
	if (!kc_is_remote(path) || gethostname(host, sizeof(host) - 1) || !host[0] || strchr(host, '/'))
		return;
	if (n > 3 && strcmp(path + n - 3, ".db") == 0 && path[n - 4] != '/')
		stem = n - 3;
	snprintf(ending, sizeof(ending), ".%s.db", host);
	ending_bytes = strlen(ending);
	if (n > ending_bytes && strcmp(path + n - ending_bytes, ending) == 0)
		return;
	if (stem + ending_bytes < size)
		strcpy(out + stem, ending);
}

/* However the folder is spelled. */
static uint64_t database_hash(const char *database)
{
	char folder[PATH_MAX], real[PATH_MAX];
	size_t n = folder_of(database, folder);
	uint64_t hash = KC_FNV_OFFSET;

	if (!realpath(folder, real))
		snprintf(real, sizeof(real), "%s", folder);
	hash = kc_fnv(hash, real, strlen(real) + 1);
	return kc_fnv(hash, database + n, strlen(database + n));
}

bool kc_journal_base(const char *database, int place, char *out, size_t size)
{
	static const char *const local[KC_JOURNAL_PLACES] = {NULL, "/var/tmp", "/dev/shm"};
	int n;

	if (!place)
		n = snprintf(out, size, "%s", database);
	else
		n = snprintf(out, size, "%s/kerncast-%u-%016llx", local[place], (unsigned)geteuid(),
			     (unsigned long long)database_hash(database));
	return n >= 0 && (size_t)n < size;
}
