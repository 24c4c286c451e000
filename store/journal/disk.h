/* Files that are written through a mapping: blocks before pages, descriptors
 * only while they are needed. Internal to this folder. */
#ifndef KC_DISK_H
#define KC_DISK_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Gives a range at the end of a file blocks that read as zeros, so that no
 * store into its mapping can meet a full disk. The range must hold nothing yet.
 * 0 or -errno (-ENOSPC, -EDQUOT, -EFBIG: no room; the file ends at offset then).
 */
int kc__disk_allocate(int fd, off_t offset, size_t bytes);

/* Opens path for writing if it is still that file; -ESTALE if it is another. */
int kc__disk_reopen(const char *path, dev_t device, ino_t inode);

/* NULL where there is no address space. fd -1: memory. */
void *kc__disk_map(int fd, off_t offset, size_t bytes);

#endif
