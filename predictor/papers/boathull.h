/*
 * The boat hull model: solo time and transfers from an algorithm's class.
 *
 *   kc_boathull_machine   four rates of a GPU
 *   kc_boathull_size      the parameters in a class's name
 *   kc_boathull_work      a row of Table 1 with its letters filled in
 *   kc_boathull_use       what is known of fused multiply-adds and coalescing
 *   kc_boathull_time      the prediction: a range where either is not known
 *
 * Source: Nugteren, Corporaal, "The boat hull model" (CF'12): c0, m0, c1, m1
 * and t0 of section 4.2, Table 1. The paper prints the floor without fused
 * multiply-adds as c1 = c0 / 2, which is a throughput; in time it is 2 · c0.
 * alpha and beta of the neighbourhood classes are never given: 0 here.
 */
#ifndef KC_BOATHULL_H
#define KC_BOATHULL_H

#include "predictor/code/cost.h"
#include "predictor/device/device.h"

#include <stdint.h>

/* X(constant, class as in Table 1 with words for the arrow). A x B elements in, unless said otherwise. */
#define KC_BOATHULL_CLASSES(X)                                                                                         \
	X(ELEMENT, "element -> element")                                                                               \
	X(UNORDERED, "unordered element -> element")                                                                   \
	X(ROW_TO_ELEMENT, "tile(1xB) -> element")                                                                      \
	X(TILE_TO_ELEMENT, "tile(UxV) -> element")                                                                     \
	X(TILE_TO_TILE, "tile(UxV) -> tile(UxV)")                                                                      \
	X(ELEMENT_TO_TILE, "element -> tile(UxV)")                                                                     \
	X(NEIGHBOURHOOD_2D, "neighbourhood(UxV) -> element")                                                           \
	X(NEIGHBOURHOOD_1D, "neighbourhood(U) -> element")                                                             \
	X(TO_ONE, "element -> 1 shared")                                                                               \
	X(TO_SHARED, "element -> C shared")                                                                            \
	X(TWO_ELEMENTS, "element ^ element -> element")

enum kc_boathull_class {
#define X(constant, text) KC_BOATHULL_##constant,
	KC_BOATHULL_CLASSES(X)
#undef X
	    KC_BOATHULL_NONE, /* fits none of the eleven */
};
/* "element -> element"; "none". */
const char *kc_boathull_class_name(uint32_t boathull_class);

struct kc_boathull_machine {
	double compute_gflops;   /* a fused multiply-add counts as two */
	double coalesced_gbps;   /* practical peaks, 1e9 bytes per second */
	double uncoalesced_gbps; /* of scattered accesses */
	double bus_gbps;         /* host to device; 0: not known, no transfer time */
};

struct kc_boathull_size {
	double a, b;
	double u, v; /* tile or neighbourhood */
	double bins; /* C */
	double element_bytes;
};

struct kc_boathull_work {
	double work_units;                         /* w */
	double modifier;                           /* m, applications of f in a work unit */
	double offset;                             /* o, operations */
	double data_bytes;                         /* d */
	double coalesced_bytes, uncoalesced_bytes; /* c, u */
	uint8_t may_scatter;                       /* the floor m1 applies */
};

enum kc_known { KC_KNOWN_NO = 0, KC_KNOWN_YES = 1, KC_NOT_KNOWN = 2 };

struct kc_boathull_use {
	enum kc_known fma;       /* f consists of fused multiply-adds: c0; not: c1 */
	enum kc_known coalesced; /* where the class may scatter: m0; not: m1 */
};

struct kc_boathull_time {
	double low_ns, high_ns;
	double transfer_ns; /* t0 */
};

/* A row of Table 1. 0; -EINVAL: KC_BOATHULL_NONE or no class. */
int kc_boathull_work(enum kc_boathull_class class, const struct kc_boathull_size *size, struct kc_boathull_work *work);

/* complexity: f, operations of one application. max(c, m) with c of c0, c1 and m of m0, m1 as far as they are
 * possible; t0 with the data in and out. */
struct kc_boathull_time kc_boathull_ns(const struct kc_boathull_machine *machine, const struct kc_boathull_work *work,
				       double complexity, struct kc_boathull_use use);

/* Rates from a device's clock, cores and peak bandwidth, by the shares that bandwidthTest reached on the paper's GPUs
 * (Table 2 over the data sheets' 133.9 and 70.4 GB/s). The bus is not known. */
#define KC_BOATHULL_COALESCED_SHARE 0.75    /* 0.71 and 0.80 */
#define KC_BOATHULL_UNCOALESCED_SHARE 0.047 /* 0.044 and 0.050 */
struct kc_boathull_machine kc_boathull_machine_of(const struct kc_device *device);

/* A kernel as the model sees it: derived from its counts where they fit a class. */
struct kc_boathull_kernel {
	enum kc_boathull_class class;
	struct kc_boathull_size size;
	struct kc_boathull_use use;
	double complexity; /* f */
};

/* The counts say only what a thread does, so its loads and stores tell the class. One load and one store: element to
 * element, unordered where lanes address different sectors. Two loads, one store: two elements. Many loads, one store:
 * a row where the accesses of the lanes are scattered, else a neighbourhood of up to 256. Many stores: a tile. Atomics,
 * or hardly any stores: a shared result. Anything else: KC_BOATHULL_NONE. */
struct kc_boathull_kernel kc_boathull_kernel_of(const struct kc_counts *counts);

#endif
