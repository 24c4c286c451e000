#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static long inside(long i, long n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

static float hotspot_point(long n, int layers, const float *heat, const float *power, long layer, long y, long x)
{
	const float *flat = heat + layer * n * n;
	long i = y * n + x;
	float here = flat[i];
	float rows = flat[y * n + inside(x - 1, n)] + flat[y * n + inside(x + 1, n)] - 2 * here;
	float columns = flat[inside(y - 1, n) * n + x] + flat[inside(y + 1, n) * n + x] - 2 * here;
	float stack =
	    heat[inside(layer - 1, layers) * n * n + i] + heat[inside(layer + 1, layers) * n * n + i] - 2 * here;

	return here + HOTSPOT_X * rows + HOTSPOT_Y * columns + HOTSPOT_Z * stack +
	       HOTSPOT_POWER * power[layer * n * n + i] + HOTSPOT_LOSS * (HOTSPOT_AMBIENT - here);
}

void reference_hotspot(long n, int layers, int steps, const float *heat, const float *power, float *out)
{
	size_t bytes = (size_t)(layers * n * n) * sizeof(float);
	float *before = reference_memory(bytes);

	memcpy(out, heat, bytes);
	for (int step = 0; step < steps; step++) {
		memcpy(before, out, bytes);
		for (long layer = 0; layer < layers; layer++)
			for (long y = 0; y < n; y++)
				for (long x = 0; x < n; x++)
					out[(layer * n + y) * n + x] =
					    hotspot_point(n, layers, before, power, layer, y, x);
	}
	free(before);
}

/* Differences to the neighbours: north, south, west, east. */
static void differences(long n, const float *in, long y, long x, float d[4])
{
	float here = in[y * n + x];

	d[0] = in[inside(y - 1, n) * n + x] - here;
	d[1] = in[inside(y + 1, n) * n + x] - here;
	d[2] = in[y * n + inside(x - 1, n)] - here;
	d[3] = in[y * n + inside(x + 1, n)] - here;
}

/* Squared coefficient of variation of the whole image: the speckle scale. */
static float speckle(long n, const float *in)
{
	double sum = 0, squares = 0, count = (double)n * (double)n, mean;

	for (long i = 0; i < n * n; i++) {
		sum += in[i];
		squares += (double)in[i] * in[i];
	}
	mean = sum / count;
	return (float)((squares / count - mean * mean) / (mean * mean));
}

/* Equations 31 to 35 of the paper: the instantaneous coefficient of variation, and what diffuses. */
static float diffusion(float here, const float d[4], float scale)
{
	float gradient = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3]) / (here * here);
	float laplacian = (d[0] + d[1] + d[2] + d[3]) / here;
	float denominator = 1 + 0.25f * laplacian;
	float variation = (0.5f * gradient - 0.0625f * laplacian * laplacian) / (denominator * denominator);
	float c = 1 / (1 + (variation - scale) / (scale * (1 + scale)));

	return c < 0 ? 0 : c > 1 ? 1 : c;
}

static void srad_step(long n, const float *in, float *coefficients, float *out)
{
	float scale = speckle(n, in), d[4];

	for (long y = 0; y < n; y++) {
		for (long x = 0; x < n; x++) {
			differences(n, in, y, x, d);
			coefficients[y * n + x] = diffusion(in[y * n + x], d, scale);
		}
	}
	for (long y = 0; y < n; y++) {
		for (long x = 0; x < n; x++) {
			float here = coefficients[y * n + x], south = coefficients[inside(y + 1, n) * n + x];
			float east = coefficients[y * n + inside(x + 1, n)];

			differences(n, in, y, x, d);
			out[y * n + x] = in[y * n + x] +
					 0.25f * SRAD_RATE * (here * d[0] + south * d[1] + here * d[2] + east * d[3]);
		}
	}
}

void reference_srad(long n, int steps, const float *in, float *out)
{
	size_t bytes = (size_t)(n * n) * sizeof(float);
	float *before = reference_memory(2 * bytes);

	memcpy(out, in, bytes);
	for (int step = 0; step < steps; step++) {
		memcpy(before, out, bytes);
		srad_step(n, before, before + n * n, out);
	}
	free(before);
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

void reference_pathfinder(int rows, long columns, const int *cost, int *best)
{
	int *above = reference_memory((size_t)columns * sizeof(*above));

	memcpy(best, cost, (size_t)columns * sizeof(*best));
	for (int row = 1; row < rows; row++) {
		memcpy(above, best, (size_t)columns * sizeof(*above));
		for (long x = 0; x < columns; x++)
			best[x] = cost[row * columns + x] +
				  least(above[x], least(above[inside(x - 1, columns)], above[inside(x + 1, columns)]));
	}
	free(above);
}

void reference_nw(long n, const int *similarity, int gap, int *scores)
{
	long side = n + 1;

	for (long i = 0; i < side; i++)
		scores[i] = scores[i * side] = -gap * (int)i;
	for (long i = 1; i < side; i++) {
		for (long j = 1; j < side; j++) {
			int both = scores[(i - 1) * side + j - 1] + similarity[(i - 1) * n + j - 1];
			int left = scores[i * side + j - 1] - gap, up = scores[(i - 1) * side + j] - gap;

			scores[i * side + j] = -least(-both, least(-left, -up));
		}
	}
}
