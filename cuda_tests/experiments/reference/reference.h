/*
 * What the programs' kernels compute, on the CPU: plain loops, each algorithm as
 * its definition says, so that a kernel can be compared with something simpler
 * than itself. Matrices and images are row-major and n x n unless said.
 *
 * Functions named ..._error check a result without computing it again, for sizes
 * at which that would take minutes: they return the largest deviation, relative
 * to the largest value compared.
 */
#ifndef REFERENCE_H
#define REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --- reference.c */
/* Not enough: says so, and ends the program. */
void *reference_memory(size_t bytes);
/* A number that looks random, the same for the same x everywhere. */
uint32_t reference_scramble(uint32_t x);

/* --- linear_reference.c */
void reference_transpose(long n, const float *in, float *out);
void reference_matmul(long n, const float *a, const float *b, float *c);
/* LU decomposition without pivoting, in place: U, and below the diagonal L, whose own diagonal is 1. */
void reference_lu(long n, float *a);
/* Freivalds' check: c r against a (b r), and l (u r) against a r, for a random r. */
double reference_product_error(long n, const float *a, const float *b, const float *c);
double reference_lu_error(long n, const float *lu, const float *a);

/* --- sequence_reference.c */
/* Largest sum of consecutive elements, at least one of them. */
int64_t reference_maximum_subarray(long n, const int *x);
void reference_histogram(long n, const int *x, int bins, int *counts);
/* ranks: nodes before it in the list; next of the last one: -1. */
void reference_list_ranks(const int *next, int head, int *ranks);
/* first: nodes + 1 indices into edges. levels: distance from source, -1 where there is no way. Returns the greatest. */
int reference_bfs(int nodes, const int *first, const int *edges, int source, int *levels);

/* --- grid_reference.c */
#define HOTSPOT_X 0.1f        /* flow to each neighbour of a row, a step */
#define HOTSPOT_Y 0.05f       /* likewise, of a column */
#define HOTSPOT_Z 0.025f      /* likewise, of another layer */
#define HOTSPOT_POWER 0.5f    /* degrees a step and unit of power */
#define HOTSPOT_AMBIENT 80.0f /* degrees */
#define HOTSPOT_LOSS 0.01f    /* flow to the ambient, a step */
#define SRAD_RATE 0.5f        /* lambda of Yu and Acton */

/* Heat over a chip, a step at a time; beyond the rim it is as at the rim. layers 1: flat. */
void reference_hotspot(long n, int layers, int steps, const float *heat, const float *power, float *out);
/* Speckle reducing anisotropic diffusion (Yu, Acton 2002); all values > 0. */
void reference_srad(long n, int steps, const float *in, float *out);
/* rows x columns costs; best: of the cheapest way from the first row to each element of the last, one column aside a
 * row at most. */
void reference_pathfinder(int rows, long columns, const int *cost, int *best);
/* Needleman, Wunsch: similarity of element i of one sequence to j of the other; scores: (n + 1) x (n + 1). */
void reference_nw(long n, const int *similarity, int gap, int *scores);

/* --- points_reference.c */
void reference_distances(long n, const float *x, const float *y, float from_x, float from_y, float *distances);
/* Indices of the k least, the nearest first; of equal ones the first. */
void reference_nearest(long n, const float *distances, int k, long *nearest);

/*
 * A particle filter in whole numbers, so that the order of additions does not
 * matter. An object moves by a fixed step a frame; particles follow with noise,
 * are weighed by how near they are to where it is seen, and drawn again in
 * proportion. Positions in 1 / PARTICLE_UNIT pixels.
 */
#define PARTICLE_UNIT 256
#define PARTICLE_STEP_X (1 * PARTICLE_UNIT)
#define PARTICLE_STEP_Y (2 * PARTICLE_UNIT)
#define PARTICLE_COARSE 16 /* distances are weighed in this many units */
#define PARTICLE_HEAVIEST 65536
#define PARTICLE_NEAR 16 /* squared coarse distance at which a weight is half of the greatest */

struct reference_particle {
	int x, y;
};
uint32_t reference_weight(struct reference_particle particle, struct reference_particle seen);
/* from[j]: the particle that the j-th drawn one was. */
void reference_draw(long n, const uint32_t *weights, long *from);
/* The filter over frames 1 to `frames`, in place. Returns the weighted mean of the last, before it is drawn again. */
struct reference_particle reference_filter(long n, int frames, struct reference_particle *particles);

/* --- image_reference.c: 32-bit pixels; beyond the rim an image is as at the rim */
#define IMAGE_LEVELS 256
#define IMAGE_TILE 4        /* side of a tile that becomes a pixel, or that one becomes */
#define IMAGE_DCT 8         /* side of a tile of the cosine transform */
#define IMAGE_CONVOLVE_2D 5 /* side of the 2-D filter: products of 1 4 6 4 1, over 256 */
#define IMAGE_CONVOLVE_1D 7 /* of the 1-D filter: 1 6 15 20 15 6 1, over 64 */
#define IMAGE_ERODE 7       /* side of the square whose least pixel is taken */

void reference_binarize(long n, const int *in, int limit, int *out);
void reference_mirror(long n, const int *in, int *out);     /* both ways */
void reference_project_x(long n, const int *in, int *sums); /* of each row */
void reference_project_y(long n, const int *in, int *sums); /* of each column */
/* n divisible by the tile's side; the mean, rounded down */
void reference_scale_down(long n, const int *in, int *out);
void reference_enlarge(long n, const int *in, int *out); /* out: (IMAGE_TILE n) x (IMAGE_TILE n) */
void reference_dct(long n, const float *in, float *out); /* type II, orthonormal, tile by tile */
void reference_convolve_2d(long n, const int *in, int *out);
void reference_convolve_1d(long n, const int *in, int *out); /* along rows */
int64_t reference_sum(long count, const int *in);
int reference_maximum(long count, const int *in);
void reference_difference(long n, const int *a, const int *b, int *out); /* absolute */
void reference_erode(long n, const int *in, int *out);

#ifdef __cplusplus
}
#endif

#endif
