/*
 * What a process has learned, in one block of bytes as the database keeps it, a
 * process's in one row of the table `learned`. The next run of the program begins
 * with it, and so does a replay of that run.
 *
 *   kc_snapshot          such a block, and where its tables are: nothing is made when
 *                        it is opened, and an entry is looked up by its name and
 *                        decoded when a launch first meets it
 *   kc_snapshot_maker    gathers what an engine has learned into one
 *
 *   head | devices | kernels | keys | launch shapes | variants | values | cells
 *
 * A table's records are in the order of their names (identity.h), the variants of a
 * launch shape together. A value is a struct of predictor/engine.h: a bit for each of
 * its 32-bit words that is not 0, and these words. So it holds for the build that made
 * it and for others in which these structs are the same (kc_snapshot_layout()).
 *
 * A block may have been changed by anybody. Opening checks its checksum, where its
 * tables lie and their order; a value is checked when it is decoded (learned.h).
 */
#ifndef KC_SNAPSHOT_H
#define KC_SNAPSHOT_H

#include "predictor/engine.h"
#include "store/common/identity.h"

#include <stddef.h>
#include <stdint.h>

#define KC_SNAPSHOT_BYTES_MAX ((size_t)16 << 20)
#define KC_SNAPSHOT_UUID_BYTES 64u

#define KC_SNAPSHOT_MAGIC "kclearn"

struct kc_snapshot_head {
	char magic[8];
	uint64_t layout;   /* kc_snapshot_layout() */
	uint64_t checksum; /* of what is behind it */
	uint64_t bytes;    /* of all */
	uint32_t devices, kernels, keys, shapes, variants;
	uint32_t values_bytes; /* before padding */
	uint32_t cells_bytes;
	uint32_t reserved;
};

struct kc_snapshot_value {  /* where its bytes are, behind the tables */
	uint32_t at, bytes; /* bytes 0: there is none */
};

struct kc_snapshot_device {
	char uuid[KC_SNAPSHOT_UUID_BYTES];
	uint32_t cc_major, cc_minor;
	struct kc_snapshot_value learned;
};

struct kc_snapshot_kernel {
	uint64_t name, code_hash;
	uint32_t registers, static_shared_bytes;
	uint32_t device; /* place in its table, as others below */
	uint32_t unmet;  /* runs since it was launched last */
	struct kc_snapshot_value learned, arguments;
};

struct kc_snapshot_key {
	uint64_t name;
	uint32_t kernel, reserved;
	struct kc_snapshot_value learned;
};

struct kc_snapshot_shape {
	uint64_t name;
	uint32_t kernel;
	uint32_t measured;     /* launches, whatever their arguments */
	uint32_t first, count; /* variants */
};

struct kc_snapshot_variant {
	uint64_t name;
	double unit_ns;   /* kc_work, of which λ is in units */
	uint32_t counted; /* the same */
	uint32_t shape;
	struct kc_snapshot_value learned;
};

struct kc_snapshot {
	const struct kc_snapshot_head *head;
	const struct kc_snapshot_device *devices;
	const struct kc_snapshot_kernel *kernels;
	const struct kc_snapshot_key *keys;
	const struct kc_snapshot_shape *shapes;
	const struct kc_snapshot_variant *variants;
	const uint8_t *values, *cells;
};

/* Changes with what a snapshot of this build holds. */
uint64_t kc_snapshot_layout(void);

/* bytes: aligned to 8; they must stay. 0; -ESTALE: of a build with another layout; -EBADMSG: damaged. */
int kc_snapshot_open(struct kc_snapshot *snapshot, const void *bytes, size_t size);

/* The first record of this name; NULL: there is none. Others of the same name follow it. */
const struct kc_snapshot_kernel *kc_snapshot_kernels(const struct kc_snapshot *s, uint64_t name);
const struct kc_snapshot_key *kc_snapshot_keys(const struct kc_snapshot *s, uint64_t name);
const struct kc_snapshot_shape *kc_snapshot_shapes(const struct kc_snapshot *s, uint64_t name);

/* 1: decoded and possible; 0: there is no such value. */
int kc_snapshot_device(const struct kc_snapshot *s, const char *uuid, struct kc_device_learned *out);
int kc_snapshot_kernel(const struct kc_snapshot *s, const struct kc_snapshot_kernel *at, struct kc_kernel_learned *out);
int kc_snapshot_arguments(const struct kc_snapshot *s, const struct kc_snapshot_kernel *at,
			  struct kc_arguments_fit *out);
int kc_snapshot_key(const struct kc_snapshot *s, const struct kc_snapshot_key *at, struct kc_key_learned *out);
int kc_snapshot_variant(const struct kc_snapshot *s, const struct kc_snapshot_variant *at,
			struct kc_variant_learned *out);

/* Names without what is not asked for: of a kernel, and of a kernel with a block shape. */
uint64_t kc_snapshot_kernel_name(const char *mangled);
uint64_t kc_snapshot_key_name(const char *mangled, const struct kc_shape *dims);

/* snapshot_made.c */

/* A variant of an engine, with what it belongs to. Its launches were measured. */
struct kc_snapshot_entry {
	struct kc_code_identity code;
	const char *uuid;
	const struct kc_shape *dims;
	uint64_t name; /* kc_launch_name() with its arguments */
	const struct kc_engine_variant *variant;
};

struct kc_snapshot_maker;

/* NULL: no memory. */
struct kc_snapshot_maker *kc_snapshot_begin(void);
/* Encodes the entry, and what it belongs to when it is met first; not, where there is no room for more. 0 or -ENOMEM.
 */
int kc_snapshot_add(struct kc_snapshot_maker *maker, const struct kc_snapshot_entry *entry);
/* Adds what is known there of entries that were not added yet, as far as there is room. earlier: 1: in an earlier run,
 * 0: in another process of this one. */
void kc_snapshot_carry(struct kc_snapshot_maker *maker, const struct kc_snapshot *from, int earlier);
/* The same of an earlier run (NULL: none), then the cells (NULL: none). *bytes: the caller frees it; NULL where nothing
 * was learned. Frees the maker. 0 or -ENOMEM. */
int kc_snapshot_end(struct kc_snapshot_maker *maker, const struct kc_snapshot *before, const struct kc_cells *cells,
		    void **bytes, size_t *size);
void kc_snapshot_drop(struct kc_snapshot_maker *maker);

/* snapshot_value.c: as above. Each struct's size is a multiple of 4. encode: returns the bytes that were written, at
 * most kc__value_most(). decode: 0 or -EBADMSG. */
size_t kc__value_most(size_t bytes);
size_t kc__value_encode(const void *value, size_t bytes, uint8_t *out);
int kc__value_decode(const uint8_t *from, size_t from_bytes, void *value, size_t bytes);

/* snapshot.c: a checksum of what is read in pieces. All but the last are whole KC__CHECKSUM_PIECE. Begins as zeros. */
#define KC__CHECKSUM_LANES 8
#define KC__CHECKSUM_PIECE (KC__CHECKSUM_LANES * sizeof(uint64_t))
struct kc__checksum {
	uint64_t bytes, sums[KC__CHECKSUM_LANES], sums_of_sums[KC__CHECKSUM_LANES];
};
void kc__checksum_add(struct kc__checksum *checksum, const void *bytes, size_t size);
uint64_t kc__checksum_end(const struct kc__checksum *checksum);

#define KC__SNAPSHOT_CHECKED offsetof(struct kc_snapshot_head, bytes) /* where what is checked begins */
/* Whose checksum has been made already. */
int kc__snapshot_open(struct kc_snapshot *snapshot, const void *bytes, size_t size, uint64_t checksum);
/* Makes it, of head->bytes. */
void kc__snapshot_seal(struct kc_snapshot_head *head);

static inline size_t kc__snapshot_padded(size_t bytes)
{
	return (bytes + 7) & ~(size_t)7;
}

#endif
