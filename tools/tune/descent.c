#include "descent.h"
#include "predictor/math/dense.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY 10u       /* steps remembered for the curvature: 3 to 20, Nocedal and Wright, section 7.2 */
#define ENOUGH 1e-4      /* share of the expected gain that a step must reach: their c1, section 3.1 */
#define HALVINGS_MAX 20u /* of a step */
#define LONGEST 2.0      /* in any one coordinate */
#define GAIN_LEAST 1e-7  /* relative; three smaller gains in a row end the search */
#define STILL_MAX 3u

struct memory {                   /* a ring */
	double *steps, *turns;    /* differences of points and of gradients, MEMORY · n */
	double curvature[MEMORY]; /* step · turn, > 0 */
	uint32_t count, next;
};

struct search {
	uint32_t n;
	double value;
	double *at, *slopes, *new_at, *new_slopes, *direction, *block;
	struct memory memory;
};

static uint32_t slot(const struct memory *m, uint32_t back)
{
	return (m->next + MEMORY - back) % MEMORY;
}

/* Algorithm 7.4: minus the gradient, times the remembered inverse curvature. */
static void point(struct search *s)
{
	struct memory *m = &s->memory;
	double shares[MEMORY] = {0}, scale = 1;

	for (uint32_t i = 0; i < s->n; i++)
		s->direction[i] = -s->slopes[i];
	for (uint32_t back = 1; back <= m->count; back++) {
		uint32_t k = slot(m, back);

		shares[k] = kc__dot(m->steps + (size_t)k * s->n, s->direction, s->n) / m->curvature[k];
		for (uint32_t i = 0; i < s->n; i++)
			s->direction[i] -= shares[k] * m->turns[(size_t)k * s->n + i];
	}
	if (m->count) {
		const double *turn = m->turns + (size_t)slot(m, 1) * s->n;

		scale = m->curvature[slot(m, 1)] / kc__dot(turn, turn, s->n);
	}
	for (uint32_t i = 0; i < s->n; i++)
		s->direction[i] *= scale;
	for (uint32_t back = m->count; back > 0; back--) {
		uint32_t k = slot(m, back);
		double share = kc__dot(m->turns + (size_t)k * s->n, s->direction, s->n) / m->curvature[k];

		for (uint32_t i = 0; i < s->n; i++)
			s->direction[i] += (shares[k] - share) * m->steps[(size_t)k * s->n + i];
	}
}

static double first_length(const struct search *s)
{
	double most = 0, norm = sqrt(kc__dot(s->direction, s->direction, s->n));

	for (uint32_t i = 0; i < s->n; i++)
		most = fmax(most, fabs(s->direction[i]));
	return fmin(s->memory.count ? 1 : 1 / norm, LONGEST / most);
}

/* Algorithm 3.1. 1: a better point was found. */
static int walk(struct search *s, kc__slopes *function, void *context)
{
	double downhill = kc__dot(s->slopes, s->direction, s->n), length;

	if (!(downhill < 0))
		return 0;
	length = first_length(s);
	for (uint32_t halvings = 0; halvings < HALVINGS_MAX; halvings++, length /= 2) {
		double value;

		for (uint32_t i = 0; i < s->n; i++)
			s->new_at[i] = s->at[i] + length * s->direction[i];
		value = function(context, s->new_at, s->new_slopes);
		if (value <= s->value + ENOUGH * length * downhill) {
			s->value = value;
			return 1;
		}
	}
	return 0;
}

static void move(struct search *s)
{
	struct memory *m = &s->memory;
	double *step = m->steps + (size_t)m->next * s->n, *turn = m->turns + (size_t)m->next * s->n, curvature;

	for (uint32_t i = 0; i < s->n; i++) {
		step[i] = s->new_at[i] - s->at[i];
		turn[i] = s->new_slopes[i] - s->slopes[i];
	}
	memcpy(s->at, s->new_at, s->n * sizeof(*s->at));
	memcpy(s->slopes, s->new_slopes, s->n * sizeof(*s->slopes));
	curvature = kc__dot(step, turn, s->n);
	if (!(curvature > 0))
		return;
	m->curvature[m->next] = curvature;
	m->next = (m->next + 1) % MEMORY;
	m->count += m->count < MEMORY;
}

static int allocate(struct search *s)
{
	double *at = s->block = malloc((4 + 2 * MEMORY) * (size_t)s->n * sizeof(*s->block));

	if (!at)
		return -ENOMEM;
	s->slopes = at;
	s->new_at = at + s->n;
	s->new_slopes = at + 2 * (size_t)s->n;
	s->direction = at + 3 * (size_t)s->n;
	s->memory.steps = at + 4 * (size_t)s->n;
	s->memory.turns = at + (4 + MEMORY) * (size_t)s->n;
	return 0;
}

int kc__descend(kc__slopes *function, void *context, double *at, uint32_t n, uint32_t steps)
{
	struct search s = {.n = n, .at = at};
	uint32_t still = 0;
	int rc = allocate(&s);

	if (rc)
		return rc;
	s.value = function(context, at, s.slopes);
	rc = isfinite(s.value) ? 0 : -EDOM;
	for (uint32_t i = 0; !rc && i < steps && still < STILL_MAX; i++) {
		double before = s.value;

		point(&s);
		if (!walk(&s, function, context))
			break;
		move(&s);
		still = before - s.value > GAIN_LEAST * fmax(1, fabs(before)) ? 0 : still + 1;
	}
	free(s.block);
	return rc;
}
