/* What the trace says of a launch shape, read and put into words once for all of its launches. */
#ifndef KC_CHROME_SHAPES_H
#define KC_CHROME_SHAPES_H

#include "chrome_text.h"

#include "store/common/ids/ids.h"
#include "store/database/store.h"

struct kc__chrome_shape {
	int64_t kernel, device;     /* rows; 0: not known */
	int64_t device_sms, blocks; /* likewise */
	char *name;                 /* the kernel's, as a JSON string */
	char *sizes;                /* `,"grid":…`: keys and values; empty where they are not known */
};

/* Starts as zeros. */
struct kc__chrome_shapes {
	struct sqlite3_stmt *read;
	struct kc_ids ids;
	struct kc__chrome_shape *at; /* by the numbers of ids, less 1 */
	size_t count, capacity;
};

/* That of a row; *out stays until the next call. 0 or -errno. */
int kc__chrome_shape_of(struct kc__chrome_shapes *shapes, struct kc_store *store, int64_t row,
			const struct kc__chrome_shape **out);
void kc__chrome_shapes_free(struct kc__chrome_shapes *shapes);

#endif
