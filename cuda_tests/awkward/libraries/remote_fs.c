/* statfs() that finds a file system of the network, NFS, at the paths that begin with the text in REMOTE_FS. */
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

__attribute__((visibility("default"))) int statfs(const char *path, struct statfs *out)
{
	const char *remote = getenv("REMOTE_FS");
	int rc = (int)syscall(SYS_statfs, path, out);

	if (rc == 0 && remote && strncmp(path, remote, strlen(remote)) == 0)
		out->f_type = NFS_SUPER_MAGIC;
	return rc;
}
