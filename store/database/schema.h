/*
 * The tables and views, which README.md describes, and their version. A database
 * of kerncast has our application_id; its user_version is that of the schema.
 * Older schemas are migrated step by step, newer ones are refused.
 */
#ifndef KC_SCHEMA_H
#define KC_SCHEMA_H

#include <stdint.h>

struct sqlite3;

#define KC_APPLICATION_ID 0x6B636173 /* "kcas" */
/* Raise it with every change of a table, a view or a name that a view shows. */
#define KC_SCHEMA_VERSION 21

/* The rowid of what came from a slot is the process row and the slot's index. */
#define KC_SEQUENCE_BITS 40
#define KC_SEQUENCE_MASK ((INT64_C(1) << KC_SEQUENCE_BITS) - 1)
#define KC_PROCESS_MAX (INT64_MAX >> KC_SEQUENCE_BITS)

/* Times from a file may be any 64 bits, so sums and differences stop at the largest number. */
static inline int64_t kc_plus_ns(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static inline int64_t kc_minus_ns(int64_t a, int64_t b)
{
	int64_t difference;

	return __builtin_sub_overflow(a, b, &difference) ? (b < 0 ? INT64_MAX : INT64_MIN) : difference;
}

/* A month: no kernel takes longer, and none waits longer for the device. */
#define KC_MEASURED_MAX_NS (INT64_C(2600000) * 1000000000)

/* Event numbers (struct kc_order) from a file may be any 64 bits; a larger one is treated as not recorded. */
#define KC_EVENTS_MAX (INT64_C(1) << 62)

/* launch_row.flags */
#define KC_FLAG_API_SHIFT 0
#define KC_FLAG_API_MASK 15
#define KC_FLAG_MODEL_SHIFT 4
#define KC_FLAG_MODEL_MASK 15
#define KC_FLAG_CASE_SHIFT 8
#define KC_FLAG_CASE_MASK 7
#define KC_FLAG_OVERLAP_SHIFT 11
#define KC_FLAG_OVERLAP_MASK 3
#define KC_FLAG_NOVELTY_SHIFT 13
#define KC_FLAG_NOVELTY_MASK 3
#define KC_FLAG_UNPREDICTABLE_SHIFT 15
#define KC_FLAG_UNPREDICTABLE_MASK 15
#define KC_FLAG_UNMEASURED_SHIFT 19
#define KC_FLAG_UNMEASURED_MASK 15
#define KC_FLAG_NOT_KEPT_SHIFT 23
#define KC_FLAG_NOT_KEPT_MASK 1
#define KC_FLAG(flags, name) ((uint32_t)((flags) >> KC_FLAG_##name##_SHIFT) & KC_FLAG_##name##_MASK)

/* Slowdowns are stored as (slowdown - 1) in millionths, λ in billionths, its deviation
 * in millionths. */
#define KC_SLOWDOWN_SCALE 1000000
#define KC_LAMBDA_SCALE 1000000000
#define KC_DEVIATION_SCALE 1000000

enum kc_schema_state {
	KC_SCHEMA_OURS,    /* of this version */
	KC_SCHEMA_OLDER,   /* ours, can be migrated */
	KC_SCHEMA_NEWER,   /* ours, of a later kerncast */
	KC_SCHEMA_EMPTY,   /* no tables at all */
	KC_SCHEMA_FOREIGN, /* another program's tables */
};

/* The table that `kerncast-lab experiment` adds, if it is not there: the steps that are complete. */
extern const char kc_experiment_steps[];

/* Sets *state. Returns an SQLite result code. */
int kc_schema_state(struct sqlite3 *db, enum kc_schema_state *state);

/* Creates or migrates the tables inside the caller's transaction. Returns an SQLite result code. */
int kc_schema_apply(struct sqlite3 *db);

#endif
