#include "reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void reference_distances(long n, const float *x, const float *y, float from_x, float from_y, float *distances)
{
	for (long i = 0; i < n; i++)
		distances[i] = sqrtf((x[i] - from_x) * (x[i] - from_x) + (y[i] - from_y) * (y[i] - from_y));
}

void reference_nearest(long n, const float *distances, int k, long *nearest)
{
	int found = 0;

	for (long i = 0; i < n; i++) {
		int place = found;

		while (place > 0 && distances[i] < distances[nearest[place - 1]])
			place--;
		if (place == k)
			continue;
		found += found < k;
		for (int j = found - 1; j > place; j--)
			nearest[j] = nearest[j - 1];
		nearest[place] = i;
	}
}

uint32_t reference_weight(struct reference_particle particle, struct reference_particle seen)
{
	int64_t x = (particle.x - seen.x) / PARTICLE_COARSE, y = (particle.y - seen.y) / PARTICLE_COARSE;

	return (uint32_t)(1 + PARTICLE_HEAVIEST * (int64_t)PARTICLE_NEAR / (PARTICLE_NEAR + x * x + y * y));
}

/* One draw in the middle of each of n equal parts of the total. */
void reference_draw(long n, const uint32_t *weights, long *from)
{
	uint64_t total = 0, reached = weights[0];
	long i = 0;

	for (long j = 0; j < n; j++)
		total += weights[j];
	for (long j = 0; j < n; j++) {
		uint64_t point = (2 * (uint64_t)j + 1) * total / (2 * (uint64_t)n);

		while (reached <= point)
			reached += weights[++i];
		from[j] = i;
	}
}

/* -UNIT / 2 to UNIT / 2 - 1 */
static int noise(uint32_t i, uint32_t frame, uint32_t axis)
{
	uint32_t random = reference_scramble(reference_scramble(2 * frame + axis) ^ i);

	return (int)(random % PARTICLE_UNIT) - PARTICLE_UNIT / 2;
}

/* Moves and weighs them; returns their weighted mean. n > 0. */
static struct reference_particle follow(long n, int frame, struct reference_particle *particles, uint32_t *weights)
{
	const struct reference_particle seen = {frame * PARTICLE_STEP_X, frame * PARTICLE_STEP_Y};
	int64_t x = 0, y = 0, total = 0;

	for (long i = 0; i < n; i++) {
		particles[i].x += PARTICLE_STEP_X + noise((uint32_t)i, (uint32_t)frame, 0);
		particles[i].y += PARTICLE_STEP_Y + noise((uint32_t)i, (uint32_t)frame, 1);
		weights[i] = reference_weight(particles[i], seen);
		x += (int64_t)weights[i] * particles[i].x;
		y += (int64_t)weights[i] * particles[i].y;
		total += weights[i];
	}
	return total ? (struct reference_particle){(int)(x / total), (int)(y / total)} : seen;
}

struct reference_particle reference_filter(long n, int frames, struct reference_particle *particles)
{
	struct reference_particle *drawn = reference_memory((size_t)n * sizeof(*drawn)), mean = {0, 0};
	uint32_t *weights = reference_memory((size_t)n * sizeof(*weights));
	long *from = reference_memory((size_t)n * sizeof(*from));

	for (int frame = 1; frame <= frames; frame++) {
		mean = follow(n, frame, particles, weights);
		reference_draw(n, weights, from);
		for (long i = 0; i < n; i++)
			drawn[i] = particles[from[i]];
		memcpy(particles, drawn, (size_t)n * sizeof(*drawn));
	}
	free(from);
	free(weights);
	free(drawn);
	return mean;
}
