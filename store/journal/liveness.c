#include "liveness.h"

#include <linux/magic.h>
#include <sys/vfs.h>

/* Not in <linux/magic.h>: from fs/jfs/jfs_superblock.h, fs/bcachefs/bcachefs_format.h and OpenZFS's zfs_vfsops_os.c. */
#define JFS_MAGIC 0x3153464A
#define BCACHEFS_MAGIC 0xCA451A4E
#define ZFS_MAGIC 0x2FC12FC1

bool kc_is_shared(int fd)
{
	static const uint32_t local[] = {
	    EXT4_SUPER_MAGIC,      XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC,    TMPFS_MAGIC,    RAMFS_MAGIC, F2FS_SUPER_MAGIC,
	    OVERLAYFS_SUPER_MAGIC, JFS_MAGIC,       REISERFS_SUPER_MAGIC, BCACHEFS_MAGIC, ZFS_MAGIC};
	struct statfs fs;

	if (fstatfs(fd, &fs))
		return true;
	for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
		if ((uint32_t)fs.f_type == local[i])
			return false;
	return true;
}

enum kc_life kc_life_of(const struct kc_witnesses *w)
{
	bool may_be_of_another = w->shared && w->boot != KC_BOOT_SAME;

	if (w->boot == KC_BOOT_OTHER)
		return w->shared ? KC_LIFE_NOT_KNOWN : KC_LIFE_ENDED;
	if (w->process == KC_PROCESS_GONE && !may_be_of_another)
		return KC_LIFE_ENDED;
	if (w->holder & KC_HOLDER_ENDED)
		return KC_LIFE_ENDING;
	if (w->process == KC_PROCESS_THERE)
		return KC_LIFE_RUNS;
	return w->holder && w->boot == KC_BOOT_SAME ? KC_LIFE_RUNS : KC_LIFE_NOT_KNOWN;
}
