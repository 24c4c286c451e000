/*
 * The memory accesses of a launch, counted by walking every thread.
 *
 *   shape     a launch: grid, block, arguments
 *   expected  counts of all its threads together
 *   walk      the thread that is being walked, and its warp's accesses so far
 *   subject   a kernel of the .cu files, with
 *             counts: the sums as arithmetic, derived by hand from the source, and
 *             thread: the address expressions of the source, repeated in C
 *
 * Nothing here knows PTX or kerncast. Accesses of one warp from the same line of
 * `thread` with the same key, such as the iteration, are one request of the warp.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stddef.h>
#include <stdint.h>

#define ARGUMENTS 8
#define SIZES 3
#define BLOCK_SHAPES 2

/* Pointer arguments of all subjects: aligned as by cudaMalloc, and far apart. */
enum { A = 0x10000000, B = 0x20000000, C = 0x30000000, D = 0x40000000, E = 0x50000000 };

struct shape {
	uint32_t grid[3], block[3], dynamic_shared_bytes;
	int64_t n;             /* the size */
	int64_t extra[2];      /* further integers, if the kernel has any */
	const char *arguments; /* printf format over n and extra, in this order: "0x10000000,%ld" */
};

/* Over all threads. NAN: depends on memory contents and is not compared. */
struct expected {
	double fma, add, mul, special, ld_global, st_global, ld_shared, st_shared, atomics, barriers, bytes_loaded,
	    bytes_stored;
	double requests, sectors, shared_requests, shared_passes; /* by walking */
};

enum access_kind { LOAD, STORE, ATOMIC, SHARED_LOAD, SHARED_STORE, SHARED_ATOMIC };

struct walk {
	const struct shape *shape;
	uint32_t tid[3], ctaid[3];
	unsigned lane;
	struct access *accesses;
	size_t count, capacity;
	struct expected sums;
};

/* Records an access. key: distinguishes executions of the same line. address: in bytes; of shared memory, from the
 * begin of the array. */
void note(struct walk *walk, enum access_kind kind, int line, int64_t key, int64_t address, unsigned bytes);
#define load(key, address, bytes) note(walk, LOAD, __LINE__, (key), (address), (bytes))
#define store(key, address, bytes) note(walk, STORE, __LINE__, (key), (address), (bytes))
#define shared_load(key, address, bytes) note(walk, SHARED_LOAD, __LINE__, (key), (address), (bytes))
#define shared_store(key, address, bytes) note(walk, SHARED_STORE, __LINE__, (key), (address), (bytes))
#define atomic(key, address, bytes) note(walk, ATOMIC, __LINE__, (key), (address), (bytes))
#define shared_atomic(key, address, bytes) note(walk, SHARED_ATOMIC, __LINE__, (key), (address), (bytes))

/* An address in a sector of its own for each lane: the documented assumption for addresses that depend on memory. */
int64_t somewhere(const struct walk *walk);

struct subject {
	const char *kernel;
	void (*shape)(struct shape *shape, unsigned size, unsigned block);
	void (*counts)(const struct shape *shape, struct expected *expected);
	void (*thread)(struct walk *walk);
	const char *unknown; /* part of a reason that must be given; NULL: everything is known */
};

/* Walks all threads and counts their memory accesses. */
void walk_launch(const struct subject *subject, const struct shape *shape, struct expected *walked);

/* Helpers for shapes and counts. */
int64_t blocks_for(int64_t count, int64_t each);
double threads_of(const struct shape *shape);
double blocks_of(const struct shape *shape);
/* blockIdx.x * blockDim.x + threadIdx.x, and so on */
int64_t global_x(const struct walk *walk);
int64_t global_y(const struct walk *walk);
unsigned log2_of(uint32_t power);

extern const struct subject matmul_subjects[], simple_subjects[], shared_subjects[], irregular_subjects[],
    own_memory_subjects[];

#endif
