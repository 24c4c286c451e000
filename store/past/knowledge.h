/*
 * What databases taught, in a file of its own: `kerncast learn` writes it, and other machines and programs begin with
 * it.
 *
 *   kc_knowledge          a file that was checked as a whole, in memory of its own
 *    ├ kc_knowledge_device   a model of GPU: the figures that λ rests on, and its λ
 *    ├ kc_knowledge_kernel   a kernel on it, by the hash of its name
 *    ├ kc_knowledge_entry    λ of a kernel with a block shape, or of a launch shape
 *    ├ kc_scaling_point      measured sizes of kernels
 *    └ names of kernels, for people; none where it was written with --anonymous
 *
 * The file is the head and these tables one after the other, without gaps; kernels and entries are in the order of
 * their hashes. Anybody may have written it: nothing of it is used before all of it was checked.
 */
#ifndef KC_KNOWLEDGE_H
#define KC_KNOWLEDGE_H

#include "store/common/identity.h"

#include "predictor/device/device.h"
#include "predictor/solo/scaling.h"

#include <stddef.h>
#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file's numbers are little-endian");

#define KC_KNOWLEDGE_BYTES_MAX ((size_t)4 << 20)
#define KC_KNOWLEDGE_VERSION 3u
#define KC_KNOWLEDGE_ALIKE_MAX 256u /* kernels with one name, entries with one name: bounds a search */

#define KC_KNOWLEDGE_COUNT_MAX (UINT32_MAX / 2) /* of measurements: a sum of two fits */

struct kc_knowledge_head {
	char magic[8];
	uint32_t version;
	uint32_t anonymous; /* 1: the names were left out */
	uint64_t bytes;     /* of the whole file */
	uint64_t checksum;  /* FNV-1a of the whole file, with zeros here */
	uint32_t device_count, kernel_count, entry_count, point_count, text_bytes;
	uint32_t reserved;
};
extern const char kc_knowledge_magic[8];

/* One level of struct kc_lambda. */
struct kc_knowledge_lambda {
	double log_value, variance, weight;
	uint32_t count, spread_count;
};

struct kc_knowledge_device {
	char name[96];
	uint32_t cc_major, cc_minor, sm_count, cores_per_sm, clock_khz;
	uint32_t simulated;
	uint64_t memory_bytes_per_s;
	struct kc_knowledge_lambda lambda; /* of nominal work; count 0: not known */
};

struct kc_knowledge_kernel {
	uint64_t name; /* kc_launch_name() without a launch shape */
	uint64_t code_hash;
	uint32_t registers, static_shared_bytes;
	uint32_t device;
	uint32_t first_point, point_count;
	uint32_t text;     /* where its name begins; 0: it is not there */
	uint32_t measured; /* launches */
	uint32_t reserved;
};

struct kc_knowledge_entry {
	uint64_t name; /* kc_launch_name(); without a grid: of the kernel and block shape */
	uint32_t kernel;
	uint32_t whole;   /* 1: of a launch shape */
	double unit_ns;   /* kc_work.unit_ns that λ belongs to */
	double launch_ns; /* kc_work.launch_ns */
	struct kc_knowledge_lambda lambda;
};

struct kc_knowledge {
	const struct kc_knowledge_head *head;
	const struct kc_knowledge_device *devices;
	const struct kc_knowledge_kernel *kernels;
	const struct kc_knowledge_entry *entries;
	const struct kc_scaling_point *points;
	const char *text;
};

/* Checks bytes, which must be aligned as from malloc(), and outlive it. 0; -EBADMSG, -EPROTO (of another version): why
 * gets the reason. */
int kc_knowledge_check(const void *bytes, size_t length, struct kc_knowledge *knowledge, char *why, size_t why_size);
uint64_t kc_knowledge_checksum(const void *bytes, size_t length);

/* Reads a file: a regular one that belongs to the user, that nobody else can write, and that is not longer than
 * KC_KNOWLEDGE_BYTES_MAX; no symbolic link. The file is not in use afterwards. 0 or -errno; why then gets the reason.
 */
int kc_knowledge_open(const char *path, struct kc_knowledge **knowledge, char *why, size_t why_size);
void kc_knowledge_free(struct kc_knowledge *knowledge);

/* Each may be given knowledge NULL, and returns NULL where nothing is known. */

/* The same model of GPU. */
const struct kc_knowledge_device *kc_knowledge_device(const struct kc_knowledge *knowledge,
						      const struct kc_device *device);
/* This code on the same model of GPU. */
const struct kc_knowledge_kernel *kc_knowledge_kernel(const struct kc_knowledge *knowledge,
						      const struct kc_code_identity *code,
						      const struct kc_device *device);

struct kc_past_query;
/* What is closest to the query, as kc_past_shape() chooses. *same: it is of this code on the same model of GPU. */
const struct kc_knowledge_entry *kc_knowledge_find(const struct kc_knowledge *knowledge,
						   const struct kc_past_query *query, int *same);

struct kc_lambda kc_knowledge_lambda(const struct kc_knowledge_lambda *from);
/* The sizes of a kernel. */
void kc_knowledge_sizes(const struct kc_knowledge *knowledge, const struct kc_knowledge_kernel *kernel,
			struct kc_scaling *sizes);

#endif
