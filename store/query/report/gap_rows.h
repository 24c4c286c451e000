/* What was before and after the longest gaps, from the rows of their launches and transfers. */
#ifndef KC_GAP_ROWS_H
#define KC_GAP_ROWS_H

#include "activity.h"

/* Puts the gaps kept into the activity. starts: where each of their clocks starts, by its number less 1. places: of
 * processes, by number less 1. devices: rows, likewise. 0 or -errno. */
int kc__gap_rows(struct kc_store *s, const struct kc_gaps *gaps, const int64_t *starts,
		 const struct kc_place_activity *places, const int64_t *devices, enum kc_stream_naming naming,
		 struct kc_activity *out);
/* kc_process_name(), to be freed. 0 or -errno. */
int kc__place_name(struct kc_store *s, int64_t process, char **name);

#endif
