/*
 * PTX that Triton and PyTorch's inductor have left on disk: NAME.ptx beside NAME.cubin,
 * in a folder for each kernel. It is found by the cubin that was loaded, whose bytes must
 * be those of NAME.cubin.
 *
 * What these folders hold is not to be trusted more than the user's own files: folders
 * and regular files that belong to the user and that nobody else can write. Below the
 * cache's own folder no symbolic link is followed. KERNCAST_CACHES=off: nothing is
 * looked for.
 */
#ifndef KC_SHIM_PTX_CACHE_H
#define KC_SHIM_PTX_CACHE_H

#include "predictor/code/container/image.h"

#include <stdbool.h>
#include <stddef.h>

#define KC__CACHE_ENTRIES_MAX 4096u            /* of folders, looked at for one cubin */
#define KC__CACHE_SEARCH_NS 1000000000ll       /* of time, likewise: file systems may be slow, and machines busy */
#define KC__CACHE_LAST_NS 50000000ll           /* the same once the process ends, which waits for it */
#define KC__CACHED_PTX_BYTES ((size_t)4 << 20) /* of one file, at most */

/* On the application's thread, as the environment is its own: where its caches are now. */
void kc__caches_note(void);

void kc__caches_forget(void); /* fork child */

/* Worker: the PTX of the cubin whose kernel has this name, in memory of its own that is to be unmapped. false: none of
 * at most max_bytes was found. */
bool kc__cached_ptx(const char *name, const void *cubin, size_t cubin_bytes, size_t max_bytes,
		    struct kc_image_piece *ptx);

#endif
