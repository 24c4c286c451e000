/* Whether the process that records into a journal lives: the witnesses, and what follows from them. */
#ifndef KC_LIVENESS_H
#define KC_LIVENESS_H

#include "journal.h"
#include "store/common/process.h"

#include <stdbool.h>

enum kc_boot {
	KC_BOOT_NOT_KNOWN = 0,
	KC_BOOT_SAME,
	KC_BOOT_OTHER,
};

struct kc_witnesses {
	uint32_t holder;   /* kc_journal_header.holder; of a copy of the file, whose holder is not kept up to date,
			      KC_HOLDER_ENDED or 0 */
	enum kc_boot boot; /* in which it was written, compared with ours */
	bool shared;       /* the file may be on a file system that other machines use, too */
	enum kc_process_seen process; /* as seen from here */
};

/* The table in journal.h. */
enum kc_life kc_life_of(const struct kc_witnesses *w);

/* Whether an open file may be written by other machines: true unless its file system is known to be of one kernel. */
bool kc_is_shared(int fd);

#endif
