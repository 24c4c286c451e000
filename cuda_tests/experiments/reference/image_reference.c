#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static long inside(long i, long n)
{
	return i < 0 ? 0 : i < n ? i : n - 1;
}

void reference_binarize(long n, const int *in, int limit, int *out)
{
	for (long i = 0; i < n * n; i++)
		out[i] = in[i] > limit ? IMAGE_LEVELS - 1 : 0;
}

void reference_mirror(long n, const int *in, int *out)
{
	for (long y = 0; y < n; y++)
		for (long x = 0; x < n; x++)
			out[(n - 1 - y) * n + n - 1 - x] = in[y * n + x];
}

void reference_project_x(long n, const int *in, int *sums)
{
	for (long y = 0; y < n; y++)
		sums[y] = (int)reference_sum(n, in + y * n);
}

void reference_project_y(long n, const int *in, int *sums)
{
	memset(sums, 0, (size_t)n * sizeof(*sums));
	for (long y = 0; y < n; y++)
		for (long x = 0; x < n; x++)
			sums[x] += in[y * n + x];
}

void reference_scale_down(long n, const int *in, int *out)
{
	long side = n / IMAGE_TILE;

	memset(out, 0, (size_t)(side * side) * sizeof(*out));
	for (long y = 0; y < n; y++)
		for (long x = 0; x < n; x++)
			out[y / IMAGE_TILE * side + x / IMAGE_TILE] += in[y * n + x];
	for (long i = 0; i < side * side; i++)
		out[i] /= IMAGE_TILE * IMAGE_TILE;
}

void reference_enlarge(long n, const int *in, int *out)
{
	long side = n * IMAGE_TILE;

	for (long y = 0; y < side; y++)
		for (long x = 0; x < side; x++)
			out[y * side + x] = in[y / IMAGE_TILE * n + x / IMAGE_TILE];
}

/* Basis function u at sample x. */
static double cosine(int u, int x)
{
	double scale = u ? sqrt(2.0 / IMAGE_DCT) : sqrt(1.0 / IMAGE_DCT);

	return scale * cos(M_PI * (2 * x + 1) * u / (2.0 * IMAGE_DCT));
}

static float dct_value(long n, const float *tile, int v, int u)
{
	double sum = 0;

	for (int y = 0; y < IMAGE_DCT; y++)
		for (int x = 0; x < IMAGE_DCT; x++)
			sum += tile[y * n + x] * cosine(v, y) * cosine(u, x);
	return (float)sum;
}

void reference_dct(long n, const float *in, float *out)
{
	for (long y = 0; y < n; y++) {
		for (long x = 0; x < n; x++) {
			const float *tile = in + y / IMAGE_DCT * IMAGE_DCT * n + x / IMAGE_DCT * IMAGE_DCT;

			out[y * n + x] = dct_value(n, tile, (int)(y % IMAGE_DCT), (int)(x % IMAGE_DCT));
		}
	}
}

/* Pascal's triangle, row 4. */
void reference_convolve_2d(long n, const int *in, int *out)
{
	static const int filter[IMAGE_CONVOLVE_2D] = {1, 4, 6, 4, 1};
	const long reach = IMAGE_CONVOLVE_2D / 2;

	for (long y = 0; y < n; y++) {
		for (long x = 0; x < n; x++) {
			int sum = 0;

			for (long j = -reach; j <= reach; j++)
				for (long i = -reach; i <= reach; i++)
					sum += filter[j + reach] * filter[i + reach] *
					       in[inside(y + j, n) * n + inside(x + i, n)];
			out[y * n + x] = sum / 256;
		}
	}
}

/* Row 6. */
void reference_convolve_1d(long n, const int *in, int *out)
{
	static const int filter[IMAGE_CONVOLVE_1D] = {1, 6, 15, 20, 15, 6, 1};
	const long reach = IMAGE_CONVOLVE_1D / 2;

	for (long y = 0; y < n; y++) {
		for (long x = 0; x < n; x++) {
			int sum = 0;

			for (long i = -reach; i <= reach; i++)
				sum += filter[i + reach] * in[y * n + inside(x + i, n)];
			out[y * n + x] = sum / 64;
		}
	}
}

int64_t reference_sum(long count, const int *in)
{
	int64_t sum = 0;

	for (long i = 0; i < count; i++)
		sum += in[i];
	return sum;
}

int reference_maximum(long count, const int *in)
{
	int greatest = in[0];

	for (long i = 1; i < count; i++)
		greatest = in[i] > greatest ? in[i] : greatest;
	return greatest;
}

void reference_difference(long n, const int *a, const int *b, int *out)
{
	for (long i = 0; i < n * n; i++)
		out[i] = abs(a[i] - b[i]);
}

void reference_erode(long n, const int *in, int *out)
{
	const long reach = IMAGE_ERODE / 2;

	for (long y = 0; y < n; y++) {
		for (long x = 0; x < n; x++) {
			int least = in[y * n + x];

			for (long j = -reach; j <= reach; j++) {
				for (long i = -reach; i <= reach; i++) {
					int pixel = in[inside(y + j, n) * n + inside(x + i, n)];

					least = pixel < least ? pixel : least;
				}
			}
			out[y * n + x] = least;
		}
	}
}
