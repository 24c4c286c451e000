/*
 * How much of CUPTI's records the worker reads in a turn.
 *
 * Reading records and writing slots take turns in small steps, as CUPTI drops whatever is launched while it gets no
 * buffer. At a rate that the worker cannot follow, measurements are what is lost, and a process has a row for each of
 * its launches: the more slots are not stored, the fewer records are read in a turn.
 *
 * In any case one slot in ten is to get its record, however long a turn takes, and no more when a million slots are not
 * stored: which of the rows have a measured time then depends neither on how far the worker is behind nor on whether
 * the journal is full, when most of the records that are read have no row.
 */
#ifndef KC_SHIM_PACE_H
#define KC_SHIM_PACE_H

#include <stddef.h>
#include <stdint.h>

struct kc__pace {
	uint64_t slots, matched; /* at the last turn */
	int64_t due;             /* records, in tenths; below 0: those of later slots */
};

/* not_stored, slots: of launches and transfers that are not in the database, and that have been made so far. matched:
 * so many of them have got their records. Returns how many bytes of records to read in this turn; 0: none. */
size_t kc__pace(struct kc__pace *pace, uint64_t not_stored, uint64_t slots, uint64_t matched);

#endif
