/*
 * Shared by the files of this folder.
 *
 *   kc_store         one connection, its statements, and per process the
 *                    translation of local ids (kc__dictionary), its roll-ups,
 *                    launches that wait to be inserted (kc__launch_rows), what
 *                    the open transaction has counted (kc__tally) and a
 *                    dictionary entry still in parts (kc_assembler)
 *
 * A rollback forgets all of it but the assembler, which goes back to where the
 * transaction began.
 */
#ifndef KC_STORE_INTERNAL_H
#define KC_STORE_INTERNAL_H

#include "store/common/ids/ids.h"
#include "store/journal/journal.h"
#include "store/database/rollups/rollup.h"
#include "launch_rows.h"
#include "schema.h"
#include "store.h"

#include <sqlite3.h>
#include <sys/types.h>

/* Enough for 64 processes whose commits take some tens of milliseconds each. */
#define KC__BUSY_MS 10000

/* Statements that are prepared once per connection. Their text is in statements.c. */
enum kc__statement {
	KC__BEGIN,
	KC__COMMIT,
	KC__ROLLBACK,
	KC__LAUNCH,
	KC__TRANSFER,
	KC__FIND_SHAPE,
	KC__ADD_SHAPE,
	KC__FIND_KERNEL,
	KC__ADD_KERNEL,
	KC__LINK_KERNEL,
	KC__LOCAL_KERNEL,
	KC__FIND_DEVICE,
	KC__ADD_DEVICE,
	KC__LINK_DEVICE,
	KC__LOCAL_DEVICE,
	KC__ADD_STREAM,
	KC__LOCAL_STREAM,
	KC__ADD_CALL_SITE,
	KC__ADD_ARGUMENTS,
	KC__SET_CODE,
	KC__ADD_CODE_PLACE,
	KC__ADD_KERNEL_TEXT,
	KC__ADD_LAMBDA,
	KC__ADD_MESSAGE,
	KC__ADD_EVENT,
	KC__ADD_PAST,
	KC__ADD_WORK,
	KC__ADD_STREAM_CALL,
	KC__ADD_GPU_STATE,
	KC__ADD_OPERATOR,
	KC__ADD_LAUNCHED_BY,
	KC__ADD_STEP,
	KC__ADD_SCOPE,
	KC__ADD_LAUNCHED_IN,
	KC__FIND_ROLLUP,
	KC__ADD_ROLLUP,
	KC__UPDATE_ROLLUP,
	KC__COUNT_UP,
	KC__SET_COUNT,
	KC__STATEMENTS,
};

struct kc__shape_slot {
	int64_t row; /* 0: free */
	int64_t kernel, device;
	struct kc_shape shape;
	uint32_t blocks_per_sm;
};

struct kc__local_rows { /* of kernels or streams, by the ids that the process gave them */
	struct kc_ids ids;
	int64_t *at; /* by the number of the id; 0: not looked up yet */
	size_t capacity;
};

struct kc__dictionary {
	struct kc__local_rows kernels, streams;
	int64_t devices[256];
	struct kc__shape_slot *shapes;
	size_t shape_count, shape_capacity;
};

/* Counts of the open transaction; they are added to `ledger` when it commits. */
struct kc__tally {
	uint64_t launches, predicted, failed, unreturned, measured, matched, awaited;
	uint64_t unpredictable[KC_UNPREDICTABLE_COUNT];
	uint64_t unmeasured[KC_UNMEASURED_COUNT];
	uint64_t transfers, transfers_measured;
	uint64_t graphs, graphs_measured; /* launches of graphs that are measured as one */
};

struct kc__held { /* a descriptor that SQLite has open, and the file that it referred to at first */
	int fd;
	dev_t device;
	ino_t inode;
};

#define KC__HELD_MAX 8

#define KC__SOLOS_BYTES ((size_t)2 << 20) /* of a writer, which may be inside an application */

struct kc_store {
	sqlite3 *db;
	char *path;
	enum kc_store_mode mode;
	struct kc_store_bound bound;
	size_t taken;
	int exceeded;     /* 0 or -ENOMEM */
	char reason[240]; /* why the schema is not trusted, or "" */
	struct kc__held held[KC__HELD_MAX];
	int held_count;
	const struct kc__held *shared_memory; /* of those, the -shm; NULL: there is none */
	int64_t shared_memory_bytes;          /* the most that it had */
	sqlite3_stmt *statements[KC__STATEMENTS];

	int in_transaction;
	int64_t process, run;
	int64_t base_ns; /* times in launch_row count from here */
	struct kc__dictionary dictionary;
	struct kc__rollups rollups;
	struct kc__solos *solos;
	struct kc__launch_rows *waiting; /* NULL: none has come yet */
	struct kc__tally tally;
	int64_t text_bytes; /* of the packed texts in kernel_text and of those added since; 0: not looked up yet */
	struct kc_assembler assembler, assembler_at_begin;
};

/* held.c */
/* Around all that uses SQLite: see kc_store_forked_inside(). */
void kc__enter(void);
void kc__leave(void);

/* store.c */
/* Whether so many more bytes are within the bound: 0 or -ENOMEM, and then so is kc__within(). s may be NULL. */
int kc__take(struct kc_store *s, size_t bytes);
/* 0; -ETIME: the time is up; -ENOMEM: what was taken exceeds the bound. */
int kc__within(const struct kc_store *s);

/* statements.c */
/* A statement ready for binding, or NULL (kc__errno tells why). */
sqlite3_stmt *kc__statement(struct kc_store *s, enum kc__statement which);
/* NULL where it is 0, not known. */
void kc__bind_known(sqlite3_stmt *stmt, int i, int64_t value);
/* Steps once and resets. 0 or -errno. */
int kc__run(struct kc_store *s, sqlite3_stmt *stmt);
/* Sets *value to the first column of the first row, if there is one, and resets. 0 or -errno. */
int kc__run_value(struct kc_store *s, sqlite3_stmt *stmt, int64_t *value);
/* SQL by a format of sqlite3_mprintf(). *value: as above, 0 where there is no row. 0 or -errno. */
int kc__execute(struct kc_store *s, const char *format, ...);
int kc__ask_number(struct kc_store *s, int64_t *value, const char *format, ...);
int kc__errno(sqlite3 *db, int rc);
void kc__finalize(struct kc_store *s);

/* schema.c; brings the tables alone to a version, which tests of migration begin with. SQLite result code */
int kc__schema_tables(sqlite3 *db, int to);
/* schema.c; the statements that bring version `from` to the next one. */
const char *kc__schema_step(int from);

/* views.c; SQLite result code */
int kc__views_apply(sqlite3 *db);
/* The statements that make the views. NULL: no memory; the caller frees it with sqlite3_free(). */
char *kc__views_text(void);

/* made.c: the tables, indexes and views that statements of ours make. */
#define KC__OBJECTS_MAX 64
#define KC__OBJECT_NAME 32
struct kc__object { /* as in sqlite_schema; without those that SQLite makes for constraints */
	char name[KC__OBJECT_NAME], table[KC__OBJECT_NAME];
	const char *type;
	char *sql;
	int optional, found;
};
struct kc__objects {
	struct kc__object at[KC__OBJECTS_MAX];
	int count;
};
/* Adds what these statements make, separated by semicolons. SQLite result code */
int kc__objects_add(struct kc__objects *objects, const char *sql);
struct kc__object *kc__object_find(struct kc__objects *objects, const char *name);
void kc__objects_free(struct kc__objects *objects);

/* held.c */
void kc__held_find(struct kc_store *s);
/* The descriptor that s has of the file at its path with this ending; NULL: there is no file, or it is another one. */
const struct kc__held *kc__held_at(const struct kc_store *s, const char *ending);
/* Before the database is used: nobody has cut off the -shm, or what was cut off is zeros again. */
void kc__held_lengthen(struct kc_store *s);

/* dictionary.c: a row, 0 where it is not known, or -errno */
int64_t kc__kernel_row(struct kc_store *s, uint32_t local);
int64_t kc__stream_row(struct kc_store *s, uint32_t local);
int64_t kc__device_row(struct kc_store *s, uint32_t ordinal);
int64_t kc__shape_row(struct kc_store *s, const struct kc_launch *launch);
/* The same; kernel: kc__kernel_row(s, launch->kernel). */
int64_t kc__shape_row_of(struct kc_store *s, int64_t kernel, const struct kc_launch *launch);
/* The next kc__kernel_row() of this id looks it up again. */
void kc__kernel_row_forget(struct kc_store *s, uint32_t local);
void kc__dictionary_clear(struct kc__dictionary *d);

/* entries.c: dictionary entries into their tables; 0 or -errno */
int kc__entry(struct kc_store *s, const struct kc_slot *slot);
/* entries.c: what `kernel.code` says of this; text: as in the entry. */
#define KC__CODE_TEXT 256
void kc__code_text(const struct kc_code_entry *entry, const char *text, char out[KC__CODE_TEXT]);
/* entries.c: keeps a packed text, if the database has not too many bytes of them. 0 or -errno */
int kc__add_kernel_text(struct kc_store *s, int64_t kernel, const struct kc_kernel_text_entry *entry,
			const void *packed);
/* order_entries.c: those of KC_KIND_EVENT, KC_KIND_PAST, KC_KIND_WORK and KC_KIND_STREAM_CALL, at least as long as
 * their structs; 0 or -errno */
int kc__order_entry(struct kc_store *s, const struct kc_slot *slot, const void *payload, size_t bytes);
/* The same: a launch of a graph, apart from its kernels. */
int kc__graph_launch_entry(struct kc_store *s, const struct kc_slot *slot);
/* trace_entries.c: those that tell what launches were made in, from KC_KIND_OPERATOR on, at least as long as their
 * structs; 0 or -errno */
int kc__trace_entry(struct kc_store *s, uint32_t kind, const void *payload, size_t bytes);
int kc__add_launched_in(struct kc_store *s, uint64_t index, uint32_t scope);
/* entries.c: the string at *offset, which moves behind its NUL. It is empty where it does not end within bytes. */
const char *kc__text_at(const void *payload, size_t bytes, size_t *offset);
/* entries.c: says in `message` that this slot could not be read. 0 or -errno. */
int kc__torn(struct kc_store *s, uint64_t index);
/* Marks the process and its run as simulated. 0 or -errno. */
int kc__say_simulated(struct kc_store *s);

/* writer.c: forgets everything about the open transaction and the process */
void kc__forget(struct kc_store *s);

/* rollup_table.c: writes what the transaction has changed; 0 or -errno */
int kc__rollups_store(struct kc_store *s);
/* Reads sums from the columns of a row, the first at column i. */
void kc__sums_read(struct kc__sums *sums, sqlite3_stmt *row, int i);

#endif
