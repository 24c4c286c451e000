/*
 * What a stream cannot have done: its operations run one after the other, so a
 * kernel that ends after a later one has ended has a wrong duration, an
 * operation that comes twice with the same times came once, and one that starts
 * before the call that launched it has times of another clock.
 *
 *   kc_import_order   the latest operation of each stream, and its longest one
 *                     so far; rows come by their starts
 *
 * The next kernel may begin before one has ended (programmatic dependent
 * launch), and the kernels of one graph run side by side; neither is counted.
 * A stream without a number, and times that are not known, tell nothing.
 */
#ifndef KC_IMPORT_ORDER_H
#define KC_IMPORT_ORDER_H

#include "trace_row.h"

#include "store/common/ids/intern.h"

struct kc_order_stream;

struct kc_import_order {
	struct kc_intern streams; /* numbers: places in the list, from 1 */
	struct kc_order_stream *at;
	size_t capacity;
	int is_off; /* queues of this device run side by side */
	uint64_t twice, over;
	uint64_t early;      /* operations that start before they were launched */
	char first_over[64]; /* the name of the first kernel of `over` */
	int64_t first_over_ns;
};

/* 1: the row came before and is to be left out; 0; -ENOMEM. */
int kc_import_order_take(struct kc_import_order *order, const struct kc_trace_row *row);
/* Says what was found. */
void kc_import_order_say(const struct kc_import_order *order, const char *path);
void kc_import_order_free(struct kc_import_order *order);

#endif
