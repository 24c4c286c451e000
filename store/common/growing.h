/* Arrays that grow. */
#ifndef KC_GROWING_H
#define KC_GROWING_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Afterwards at[index] is there; what was not there before is zeros. `at`, a pointer from malloc(), and `capacity`, in
 * elements, are set to what they are then. Grows to twice the index and some. 0 or -ENOMEM. */
#define KC_ROOM(at, capacity, index)                                                                                   \
	((size_t)(index) < (capacity) ? 0 : ({                                                                         \
		size_t more_ = 2 * (size_t)(index) + 16;                                                               \
		typeof(at) grown_ = realloc((at), more_ * sizeof(*grown_));                                            \
                                                                                                                       \
		if (grown_) {                                                                                          \
			memset(grown_ + (capacity), 0, (more_ - (capacity)) * sizeof(*grown_));                        \
			(at) = grown_;                                                                                 \
			(capacity) = (typeof(capacity))more_;                                                          \
		}                                                                                                      \
		grown_ ? 0 : -ENOMEM;                                                                                  \
	}))

#endif
