/*
 * What a launch does to memory, counted by walking every thread of it.
 *
 *   shape     a launch: grid, block, arguments
 *   expected  what all its threads do together
 *   walk      the thread that is walked now, and its warp's accesses so far
 *   subject   a kernel of the .cu files, with
 *             counts: the sums as arithmetic, derived by hand from the source, and
 *             thread: the source's address expressions, written out again in C
 *
 * Nothing here knows PTX or kerncast. Accesses of one warp that come from the
 * same line of `thread` with the same key (the iteration they belong to) are one
 * request of the warp.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stddef.h>
#include <stdint.h>

#define ARGUMENTS 8
#define SIZES 3
#define BLOCK_SHAPES 2

/* Where the pointers of all subjects point: aligned as cudaMalloc does, far apart. */
enum { A = 0x10000000, B = 0x20000000, C = 0x30000000, D = 0x40000000, E = 0x50000000 };

struct shape {
	uint32_t grid[3], block[3], dynamic_shared_bytes;
	int64_t n;             /* the size */
	int64_t extra[2];      /* further integers, where the kernel has some */
	const char *arguments; /* printf format over n and extra, in this order: "0x10000000,%ld" */
};

/* Over all threads. NAN: depends on memory contents, and is not compared. */
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

/* key: told apart from other executions of the same line. address in bytes; shared: from the array's begin. */
void note(struct walk *walk, enum access_kind kind, int line, int64_t key, int64_t address, unsigned bytes);
#define load(key, address, bytes) note(walk, LOAD, __LINE__, (key), (address), (bytes))
#define store(key, address, bytes) note(walk, STORE, __LINE__, (key), (address), (bytes))
#define shared_load(key, address, bytes) note(walk, SHARED_LOAD, __LINE__, (key), (address), (bytes))
#define shared_store(key, address, bytes) note(walk, SHARED_STORE, __LINE__, (key), (address), (bytes))
#define atomic(key, address, bytes) note(walk, ATOMIC, __LINE__, (key), (address), (bytes))
#define shared_atomic(key, address, bytes) note(walk, SHARED_ATOMIC, __LINE__, (key), (address), (bytes))

/* Every lane in a sector of its own: the documented assumption where an address depends on memory contents. */
int64_t somewhere(const struct walk *walk);

struct subject {
	const char *kernel;
	void (*shape)(struct shape *shape, unsigned size, unsigned block);
	void (*counts)(const struct shape *shape, struct expected *expected);
	void (*thread)(struct walk *walk);
	const char *unknown; /* what some reason must speak of; NULL: everything is known */
};

/* Walks all threads; fills what memory accesses there are. */
void walk_launch(const struct subject *subject, const struct shape *shape, struct expected *walked);

/* Helpers for shapes and counts. */
int64_t blocks_for(int64_t count, int64_t each);
double threads_of(const struct shape *shape);
double blocks_of(const struct shape *shape);
/* blockIdx.x * blockDim.x + threadIdx.x, and so on */
int64_t global_x(const struct walk *walk);
int64_t global_y(const struct walk *walk);
unsigned log2_of(uint32_t power);

extern const struct subject matmul_subjects[], simple_subjects[], shared_subjects[], irregular_subjects[];

#endif
