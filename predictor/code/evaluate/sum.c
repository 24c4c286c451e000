#include "evaluate.h"

#include <math.h>

#define PERIOD_MAX 64u
/* Steps of the effort for a part of a sum, apart from its terms. */
#define STEPS_OF_SUM 2u
/* Polynomials of a higher degree are taken term by term. */
#define DEGREE_MAX 4u
/* Beyond the effort, of each sum over blocks or warps that is left: terms that are evaluated, and the share of the
 * steps allowed for that after which there is no other. A term that takes more than is left of this share of all stands
 * for those after it. */
#define SAMPLES_MOST 256u
#define SAMPLES_SHARE 32u
#define TERM_SHARE 2u

static void add_tally(struct kc_tally *to, const struct kc_tally *from, double weight)
{
	for (uint32_t n = 0; n < KC_TALLY_COUNT; n++)
		to->of[n] += weight * from->of[n];
}

/* A part of a sum: terms from the counter on that are alike. */
struct piece {
	struct kc_index start;
	struct kc_tally sum; /* of the first period */
	uint32_t period, taken;
	int64_t terms; /* periods that are alike */
	int ended;
	/* how `terms` changes with the sums around, as in kc_lanes */
	uint32_t affine_in, unknown_in;
	int64_t step[KC_SUMS_MAX];
};

static int64_t terms_left(const struct kc_index *counter)
{
	return counter->end == KC_ENDLESS ? KC_ENDLESS : counter->end - counter->at;
}

/* Evaluates one period, `periods` after the first. */
static int run_terms(struct kc_evaluation *e, uint32_t c, const struct piece *p, int64_t periods, uint32_t *taken,
		     kc__run_term *term)
{
	struct kc_index *counter = &e->counters[c];
	int64_t left = terms_left(&p->start);
	int ended = 0;

	for (*taken = 0; *taken < p->period && *taken < left && !ended && !e->stopped; ++*taken) {
		counter->at = p->start.at + periods * p->period + *taken;
		ended = term(e, c);
	}
	return ended;
}

/* Evaluates the first period, and again with longer ones if that makes them alike. */
static void run_first_terms(struct kc_evaluation *e, uint32_t c, struct piece *p, kc__run_term *term)
{
	struct kc_window *window = &e->windows.of[c];
	struct kc_index *counter = &e->counters[c];
	int64_t left = terms_left(&p->start);

	p->period = kc__is_over_effort(e) ? 1 : counter->period;
	for (;;) {
		p->sum = (struct kc_tally){{0}};
		e->tally = &p->sum;
		e->degree = e->polynomial = 0;
		kc__open_window(window);
		counter->period = p->period;
		p->ended = run_terms(e, c, p, 0, &p->taken, term);
		p->terms = window->flow_terms < window->address_terms ? window->flow_terms : window->address_terms;
		if (kc__is_over_effort(e) && p->terms < window->flow_terms) {
			p->terms = window->flow_terms;
			e->sampled = 1;
		}
		if (p->ended || p->terms > 1 || window->period == 1 || kc__is_over_effort(e) ||
		    (uint64_t)p->period * window->period > PERIOD_MAX || left / p->period < 2 * window->period)
			return;
		p->period *= window->period;
	}
}

/* Finds how many periods are alike, until control flow changes or the sum ends, and how that number changes with the
 * sums around. */
static void count_like_terms(struct kc_evaluation *e, uint32_t c, struct piece *p)
{
	const struct kc_window *window = &e->windows.of[c];
	int64_t whole = terms_left(&p->start);

	p->affine_in = p->unknown_in = 0;
	if (whole != KC_ENDLESS)
		whole /= p->period;
	if (whole <= p->terms) {
		p->terms = whole;
		p->unknown_in = p->start.unknown_in;
		for (uint32_t left = p->start.affine_in; left; left &= left - 1) {
			uint32_t other = (uint32_t)__builtin_ctz(left);

			if (p->start.step[other] % p->period)
				p->unknown_in |= 1u << other;
			else
				p->affine_in |= 1u << other;
			p->step[other] = -(p->start.step[other] / (int64_t)p->period);
		}
	} else if (p->terms == window->flow_terms) {
		p->affine_in = window->affine_in;
		p->unknown_in = window->unknown_in;
		for (uint32_t left = p->affine_in; left; left &= left - 1) {
			uint32_t other = (uint32_t)__builtin_ctz(left);

			p->step[other] = window->step[other];
		}
	}
	p->affine_in &= ~p->unknown_in;
}

/* Adds the steps of the counter after all these terms. */
static void add_steps_of(struct kc_index *counter, const struct piece *p)
{
	for (uint32_t left = p->affine_in; left; left &= left - 1) {
		uint32_t other = (uint32_t)__builtin_ctz(left);
		int64_t before = counter->affine_in >> other & 1 ? counter->step[other] : 0;

		counter->step[other] = before + p->step[other] * p->period;
		if (counter->step[other])
			counter->affine_in |= 1u << other;
		else
			counter->affine_in &= ~(1u << other);
	}
}

static void limit_others(struct kc_evaluation *e, uint32_t others)
{
	for (; others; others &= others - 1)
		kc__limit_flow(&e->windows, (uint32_t)__builtin_ctz(others), 1, 0);
}

/* sum of j^power for j = 0 … count - 1 */
static long double power_sum(long double count, uint32_t power)
{
	long double n = count, last = count - 1;

	switch (power) {
	case 0:
		return n;
	case 1:
		return n * last / 2;
	case 2:
		return n * last * (2 * n - 1) / 6;
	case 3:
		return n * last / 2 * (n * last / 2);
	default:
		return n * last * (2 * n - 1) * (3 * n * n - 3 * n - 1) / 30;
	}
}

/* Weight of each node in the sum of a polynomial over j = 0 … count - 1: the sum of its Lagrange polynomial, with j
 * scaled by the last node. */
static double node_weight(const int64_t *nodes, uint32_t degree, uint32_t i, int64_t count)
{
	long double c[DEGREE_MAX + 1] = {1}, scale = (long double)nodes[degree], sum = 0, power = 1;

	for (uint32_t m = 0, n = 0; m <= degree; m++) {
		long double root = (long double)nodes[m] / scale;
		long double apart = ((long double)nodes[i] - (long double)nodes[m]) / scale;

		if (m == i)
			continue;
		n++;
		for (uint32_t k = n; k; k--)
			c[k] = (c[k - 1] - root * c[k]) / apart;
		c[0] = -root * c[0] / apart;
	}
	for (uint32_t k = 0; k <= degree; k++, power *= scale)
		sum += c[k] * power_sum((long double)count, k) / power;
	return (double)sum;
}

/* Evaluates a later period, which is known to be like the first, without limiting the windows of the sums around. */
static void run_node(struct kc_evaluation *e, uint32_t c, const struct piece *p, int64_t periods, kc__run_term *term,
		     struct kc_tally *tally)
{
	uint32_t recorded = e->windows.recorded;
	uint32_t taken;

	*tally = (struct kc_tally){{0}};
	e->tally = tally;
	e->windows.recorded = recorded & ~((2u << c) - 1);
	if (run_terms(e, c, p, periods, &taken, term))
		e->stopped = 1;
	e->windows.recorded = recorded;
}

static void add_polynomial(struct kc_evaluation *e, uint32_t c, const struct piece *p, uint32_t degree,
			   kc__run_term *term, struct kc_tally *to)
{
	uint32_t count = p->terms <= degree ? (uint32_t)p->terms - 1 : degree;
	int64_t nodes[DEGREE_MAX + 1];

	for (uint32_t i = 0; i <= count; i++)
		nodes[i] = count ? (int64_t)((__int128)(p->terms - 1) * i / count) : 0;
	for (uint32_t i = 0; i <= count; i++) {
		double weight = count == degree ? node_weight(nodes, degree, i, p->terms) : 1;
		struct kc_tally tally;

		if (i)
			run_node(e, c, p, nodes[i], term, &tally);
		add_tally(to, i ? &tally : &p->sum, weight);
	}
}

/* At a launch: if all sums around are over many blocks, one that is counted like another matters little. */
static int is_negligible(struct kc_evaluation *e, const struct piece *p, uint32_t others)
{
	if (!e->at_launch || e->polynomial || p->affine_in)
		return 0;
	for (; others; others &= others - 1) {
		uint32_t c = (uint32_t)__builtin_ctz(others);

		if (c >= KC_BLOCK_AXES || e->launch->grid[KC_BLOCK_AXES - 1 - c] < KC_BLOCKS_MANY)
			return 0;
	}
	e->sampled = 1;
	return 1;
}

/* For the next terms of the sums around, the first and the last period have to stay alike, so that the last one limits
 * their windows as well: also where the first depends on none of them, as the counter moves against them. If the term
 * after it is evaluated anyway and control flow is the same there, that one does. */
static void check_last_term(struct kc_evaluation *e, uint32_t c, const struct piece *p, kc__run_term *term)
{
	const struct kc_window *window = &e->windows.of[c];
	struct kc_index *counter = &e->counters[c];
	int at_end = counter->end != KC_ENDLESS && p->start.at + p->terms * p->period + p->period > counter->end;
	struct kc_window kept = *window;
	uint32_t others = (window->coupled | p->start.affine_in) & ((1u << c) - 1), taken;
	struct kc_tally unused = {{0}};

	if (!others || is_negligible(e, p, others) || (!at_end && p->period == 1 && p->terms < window->flow_terms) ||
	    p->terms < 2)
		return;
	add_steps_of(counter, p);
	e->tally = &unused;
	if (run_terms(e, c, p, p->terms - 1, &taken, term))
		e->stopped = 1;
	*counter = p->start;
	e->windows.of[c] = kept;
}

static void advance(struct kc_evaluation *e, uint32_t c, const struct piece *p)
{
	struct kc_index *counter = &e->counters[c];

	*counter = p->start;
	counter->period = p->period;
	counter->at += p->terms * p->period;
	add_steps_of(counter, p);
	counter->unknown_in |= p->unknown_in;
}

/* A part of a sum whose begin changes with the sums around, and whose end is fixed, changes its length with them. */
static void limit_start(struct kc_evaluation *e, const struct kc_index *counter)
{
	if (counter->end == KC_ENDLESS)
		return;
	limit_others(e, counter->unknown_in);
	for (uint32_t left = counter->affine_in; left; left &= left - 1) {
		uint32_t other = (uint32_t)__builtin_ctz(left);

		if (counter->step[other] > 0)
			kc__limit_flow(&e->windows, other, (counter->end - 1 - counter->at) / counter->step[other] + 1,
				       counter->affine_in & ~(1u << other));
	}
}

static uint64_t steps_beyond(const struct kc_evaluation *e)
{
	return e->steps_max - e->effort;
}

/* steps: that evaluating the period took. */
static void take_one_period(struct kc_evaluation *e, uint32_t c, const struct piece *p, uint32_t round, uint64_t steps,
			    struct kc_tally *to)
{
	struct kc_index *counter = &e->counters[c];
	int64_t left = terms_left(&p->start);
	double weight = 1;

	if (left == p->taken)
		limit_others(e, p->start.affine_in);
	counter->at = p->start.at + p->taken;
	if (c < KC_AXES && left > p->taken && kc__is_over_effort(e) &&
	    e->steps + steps > e->effort + steps_beyond(e) / TERM_SHARE) {
		weight = (double)left / p->taken;
		counter->at = counter->end;
		kc__reach_terms(e, c, round, counter->end - 1);
		e->sampled = e->has_samples = 1;
	}
	add_tally(to, &p->sum, weight);
}

/* The digits of a number in a base, mirrored behind the point: numbers in a row are spread evenly from 0 to 1 (van der
 * Corput), in several bases together as well (Halton). */
static double radical_inverse(uint32_t number, uint32_t base)
{
	double inverse = 0, digit = 1;

	for (; number; number /= base) {
		digit /= base;
		inverse += digit * (number % base);
	}
	return inverse;
}

/* Of a sum over blocks or warps and those within it. */
static double terms_within(const struct kc_evaluation *e, uint32_t c, int64_t left)
{
	double terms = (double)left;

	while (++c < KC_AXES)
		terms *= kc__axis_terms(e, c);
	return terms;
}

/* Beyond the effort, of blocks and warps: terms that are spread over those left stand for all of them. Each is one term
 * of the sums within it, of which those of the next are others. */
static void take_samples(struct kc_evaluation *e, uint32_t c, kc__run_term *term)
{
	static const uint32_t bases[KC_AXES] = {2, 3, 5, 7, 11, 13};
	struct kc_index *counter = &e->counters[c];
	struct kc_tally *outer = e->tally, sum = {{0}};
	int64_t first = counter->at, left = terms_left(counter);
	uint32_t recorded = e->windows.recorded, round = ++e->round, taken = 0, most;
	uint32_t base = bases[e->sample_depth++], is_within = e->sample != 0;
	uint64_t steps = e->steps;

	most = is_within ? 1 : (uint32_t)fmin(terms_within(e, c, left), SAMPLES_MOST);
	e->tally = &sum;
	e->windows.recorded = recorded & ~((2u << c) - 1);
	while (taken < most && !e->stopped && (!taken || e->steps - steps < steps_beyond(e) / SAMPLES_SHARE)) {
		taken++;
		if (!is_within)
			e->sample = taken;
		counter->at = first + (int64_t)(radical_inverse(e->sample, base) * (double)left);
		term(e, c);
	}
	if (!is_within)
		e->sample = 0;
	e->sample_depth--;
	e->sampled = e->has_samples = 1;
	e->windows.recorded = recorded;
	e->tally = outer;
	if (taken)
		add_tally(outer, &sum, (double)left / taken);
	counter->at = counter->end;
	kc__reach_terms(e, c, round, counter->end - 1);
}

void kc__take_terms(struct kc_evaluation *e, uint32_t c, kc__run_term *term)
{
	struct kc_tally *outer = e->tally;
	uint32_t outer_degree = e->degree, degree;
	uint32_t outer_polynomial = e->polynomial, recorded = e->windows.recorded;
	uint32_t round = ++e->round;
	uint8_t had_samples = e->has_samples;
	uint64_t steps;
	struct piece p;

	e->steps += STEPS_OF_SUM;
	steps = e->steps;
	if (c < KC_AXES && kc__is_over_effort(e)) {
		take_samples(e, c, term);
		return;
	}
	e->has_samples = 0;
	p.start = e->counters[c];
	p.affine_in = p.unknown_in = 0;
	e->windows.recorded |= 1u << c;
	limit_start(e, &p.start);
	run_first_terms(e, c, &p, term);
	degree = e->degree;
	if (e->has_samples || (degree > DEGREE_MAX && e->polynomial >> c & 1))
		p.terms = 1;
	e->has_samples |= had_samples;
	if (p.ended || p.terms <= 1 || terms_left(&p.start) / p.period < 2) {
		take_one_period(e, c, &p, round, e->steps - steps, outer);
	} else {
		count_like_terms(e, c, &p);
		if (p.terms == KC_ENDLESS) { /* an endless loop */
			p.terms = (int64_t)KC_COST_ASSUMED_TRIPS;
			e->loop_runs[c - KC_AXES].ends_never = 1;
			e->assumed |= KC_ASSUMED_TRIPS;
		}
		check_last_term(e, c, &p, term);
		if (e->polynomial >> c & 1) {
			uint32_t polynomial = e->polynomial;

			e->counters[c] = p.start;
			add_polynomial(e, c, &p, degree, term, outer);
			e->polynomial = polynomial | p.start.affine_in;
		} else {
			add_tally(outer, &p.sum, (double)p.terms);
		}
		advance(e, c, &p);
		kc__reach_terms(e, c, round, e->counters[c].at - 1);
		limit_others(e, p.unknown_in);
		if (p.affine_in) {
			degree++;
			e->polynomial |= p.affine_in;
		}
	}
	e->tally = outer;
	e->degree = degree > outer_degree ? degree : outer_degree;
	e->polynomial = (e->polynomial & ~(1u << c)) | outer_polynomial;
	e->windows.recorded = recorded;
}
