/* Files that are written through a mapping: their blocks are allocated before their
 * pages are written. Internal to this folder. */
#ifndef KC_DISK_H
#define KC_DISK_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Allocates blocks of zeros for a range at the end of a file, so that writing to
 * its mapping cannot fail on a full disk. Nothing may be in that range yet. 0 or
 * -errno (-ENOSPC, -EDQUOT, -EFBIG: no room; the file then ends at offset).
 */
int kc__disk_allocate(int fd, off_t offset, size_t bytes);

/* Opens path for writing if it is still the same file; -ESTALE: it is another. */
int kc__disk_reopen(const char *path, dev_t device, ino_t inode);

/* fd -1: maps memory. 0; -ENOMEM: no address space is left; -ENODEV: the file system cannot map files; or another
 * -errno, and then *out is NULL. */
int kc__disk_map(int fd, off_t offset, size_t bytes, void **out);

#endif
