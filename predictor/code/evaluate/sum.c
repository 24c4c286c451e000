#include "evaluate.h"

#define STRIDE_MAX 64u
/* What taking a part of a sum takes beside its terms. */
#define STEPS_OF_SUM 2u
/* Polynomials of a higher degree are taken term by term. */
#define DEGREE_MAX 4u

static void add_tally(struct kc_tally *to, const struct kc_tally *from, double weight)
{
	for (uint32_t n = 0; n < KC_TALLY_COUNT; n++)
		to->of[n] += weight * from->of[n];
}

/* What is known of the terms from here on. */
struct piece {
	struct kc_index start;
	struct kc_tally sum; /* of one term of each remainder by the stride */
	uint32_t stride, taken;
	int64_t terms; /* strides that are alike */
	int ended;
	/* how `terms` goes on */
	uint16_t moves, bends;
	int64_t step[KC_SUMS_MAX];
};

static int64_t terms_left(const struct kc_index *counter)
{
	return counter->end == KC_ENDLESS ? KC_ENDLESS : counter->end - counter->at;
}

/* One term of each remainder, `strides` further on. */
static int run_terms(struct kc_evaluation *e, uint32_t c, const struct piece *p, int64_t strides, uint32_t *taken,
		     kc_term *term)
{
	struct kc_index *counter = &e->counters[c];
	int64_t left = terms_left(&p->start);
	int ended = 0;

	for (*taken = 0; *taken < p->stride && *taken < left && !ended && !e->stopped; ++*taken) {
		counter->at = p->start.at + strides * p->stride + *taken;
		ended = term(e, c);
	}
	return ended;
}

static int is_tight(const struct kc_evaluation *e)
{
	return !e->outlined && e->steps > e->effort;
}

/* Looks at the first stride of terms, in longer ones where that helps. */
static void look(struct kc_evaluation *e, uint32_t c, struct piece *p, kc_term *term)
{
	struct kc_window *window = &e->windows.of[c];
	struct kc_index *counter = &e->counters[c];
	int64_t left = terms_left(&p->start);

	p->stride = is_tight(e) ? 1 : counter->stride;
	for (;;) {
		p->sum = (struct kc_tally){{0}};
		e->tally = &p->sum;
		e->degree = e->polynomial = 0;
		kc__open_window(window);
		counter->stride = p->stride;
		p->ended = run_terms(e, c, p, 0, &p->taken, term);
		p->terms = window->flow < window->address ? window->flow : window->address;
		if (is_tight(e) && p->terms < window->flow) {
			p->terms = window->flow;
			e->sampled = 1;
		}
		if (p->ended || p->terms > 1 || window->stride == 1 || is_tight(e) ||
		    (uint64_t)p->stride * window->stride > STRIDE_MAX || left / p->stride < 2 * window->stride)
			return;
		p->stride *= window->stride;
	}
}

/* How many terms there are, and how that goes on: until control flow changes, or to the end of the sum. */
static void measure(struct kc_evaluation *e, uint32_t c, struct piece *p)
{
	const struct kc_window *window = &e->windows.of[c];
	int64_t whole = terms_left(&p->start);

	p->moves = p->bends = 0;
	if (whole != KC_ENDLESS)
		whole /= p->stride;
	if (whole <= p->terms) {
		p->terms = whole;
		p->bends = p->start.bends;
		for (uint16_t left = p->start.moves; left; left &= (uint16_t)(left - 1)) {
			uint32_t other = (uint32_t)__builtin_ctz(left);

			if (p->start.step[other] % p->stride)
				p->bends |= (uint16_t)(1u << other);
			else
				p->moves |= (uint16_t)(1u << other);
			p->step[other] = -(p->start.step[other] / (int64_t)p->stride);
		}
	} else if (p->terms == window->flow) {
		p->moves = window->moves;
		p->bends = window->bends;
		for (uint16_t left = p->moves; left; left &= (uint16_t)(left - 1)) {
			uint32_t other = (uint32_t)__builtin_ctz(left);

			p->step[other] = window->step[other];
		}
	}
	p->moves &= (uint16_t)~p->bends;
}

/* The counter stands `terms` strides further on, and goes on as those do. */
static void add_motion(struct kc_index *counter, const struct piece *p)
{
	for (uint16_t left = p->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t other = (uint32_t)__builtin_ctz(left);
		int64_t before = counter->moves >> other & 1 ? counter->step[other] : 0;

		counter->step[other] = before + p->step[other] * p->stride;
		if (counter->step[other])
			counter->moves |= (uint16_t)(1u << other);
		else
			counter->moves &= (uint16_t) ~(1u << other);
	}
}

static void limit_others(struct kc_evaluation *e, uint16_t others)
{
	for (; others; others &= (uint16_t)(others - 1))
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

/* By how much each node counts in the sum of a polynomial over j = 0 … count - 1: the sum of its Lagrange polynomial,
 * in j over the last node. */
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

/* Runs terms further on, that are alike by now, without taking notes for the sums around. */
static void run_node(struct kc_evaluation *e, uint32_t c, const struct piece *p, int64_t strides, kc_term *term,
		     struct kc_tally *tally)
{
	uint16_t recorded = e->windows.recorded;
	uint32_t taken;

	*tally = (struct kc_tally){{0}};
	e->tally = tally;
	e->windows.recorded = (uint16_t)(recorded & ~((2u << c) - 1));
	if (run_terms(e, c, p, strides, &taken, term))
		e->stopped = 1;
	e->windows.recorded = recorded;
}

static void add_polynomial(struct kc_evaluation *e, uint32_t c, const struct piece *p, uint32_t degree, kc_term *term,
			   struct kc_tally *to)
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

/* At a launch: where each of the sums around is over many blocks, one that is taken for another counts little. */
static int is_negligible(struct kc_evaluation *e, const struct piece *p, uint16_t others)
{
	if (!e->outlined || e->polynomial || p->moves)
		return 0;
	for (; others; others &= (uint16_t)(others - 1)) {
		uint32_t c = (uint32_t)__builtin_ctz(others);

		if (c >= KC_BLOCK_AXES || e->launch->grid[KC_BLOCK_AXES - 1 - c] < KC_BLOCKS_MANY)
			return 0;
	}
	e->sampled = 1;
	return 1;
}

/* That the last of the terms is like the first holds for sums around this one only while it does at both. Where the
 * next term is looked at anyhow, it says so. */
static void look_at_last(struct kc_evaluation *e, uint32_t c, const struct piece *p, kc_term *term)
{
	const struct kc_window *window = &e->windows.of[c];
	struct kc_index *counter = &e->counters[c];
	int at_end = counter->end != KC_ENDLESS && p->start.at + p->terms * p->stride + p->stride > counter->end;
	struct kc_window kept = *window;
	struct kc_tally unused = {{0}};
	uint32_t taken;

	if (!(window->coupled & ((1u << c) - 1)) ||
	    is_negligible(e, p, (uint16_t)(window->coupled & ((1u << c) - 1))) || (!at_end && p->stride == 1) ||
	    p->terms < 2)
		return;
	add_motion(counter, p);
	e->tally = &unused;
	if (run_terms(e, c, p, p->terms - 1, &taken, term))
		e->stopped = 1;
	*counter = p->start;
	e->windows.of[c] = kept;
}

static void move_on(struct kc_evaluation *e, uint32_t c, const struct piece *p)
{
	struct kc_index *counter = &e->counters[c];

	*counter = p->start;
	counter->stride = p->stride;
	counter->at += p->terms * p->stride;
	add_motion(counter, p);
	counter->bends |= p->bends;
}

/* A part of the sum that begins where others say, and has a fixed end, is shorter or longer when those go on. */
static void limit_start(struct kc_evaluation *e, const struct kc_index *counter)
{
	if (counter->end == KC_ENDLESS)
		return;
	limit_others(e, counter->bends);
	for (uint16_t left = counter->moves; left; left &= (uint16_t)(left - 1)) {
		uint32_t other = (uint32_t)__builtin_ctz(left);

		if (counter->step[other] > 0)
			kc__limit_flow(&e->windows, other, (counter->end - 1 - counter->at) / counter->step[other] + 1,
				       (uint16_t)(counter->moves & ~(1u << other)));
	}
}

static void take_one_stride(struct kc_evaluation *e, uint32_t c, const struct piece *p, struct kc_tally *to)
{
	struct kc_index *counter = &e->counters[c];
	int64_t left = terms_left(&p->start);
	double weight = 1;

	if (left == p->taken)
		limit_others(e, p->start.moves);
	counter->at = p->start.at + p->taken;
	if (is_tight(e) && left != KC_ENDLESS && left > p->taken) {
		/* What was looked at stands for all that is left. */
		weight = (double)left / p->taken;
		counter->at = counter->end;
		e->sampled = 1;
	}
	add_tally(to, &p->sum, weight);
}

void kc__take_terms(struct kc_evaluation *e, uint32_t c, kc_term *term)
{
	struct kc_tally *outer = e->tally;
	uint32_t outer_degree = e->degree, degree;
	uint16_t outer_polynomial = e->polynomial, recorded = e->windows.recorded;
	struct piece p;

	e->steps += STEPS_OF_SUM;
	p.start = e->counters[c];
	p.moves = p.bends = 0;
	e->windows.recorded |= (uint16_t)(1u << c);
	limit_start(e, &p.start);
	look(e, c, &p, term);
	degree = e->degree;
	if (degree > DEGREE_MAX && e->polynomial >> c & 1)
		p.terms = 1;
	if (p.ended || p.terms <= 1 || terms_left(&p.start) / p.stride < 2) {
		take_one_stride(e, c, &p, outer);
	} else {
		measure(e, c, &p);
		if (p.terms == KC_ENDLESS) { /* nothing ends it */
			p.terms = (int64_t)KC_COST_ASSUMED_TRIPS;
			e->turns[c - KC_AXES].ends_never = 1;
			e->assumed = 1;
		}
		look_at_last(e, c, &p, term);
		if (e->polynomial >> c & 1) {
			uint16_t polynomial = e->polynomial;

			e->counters[c] = p.start;
			add_polynomial(e, c, &p, degree, term, outer);
			e->polynomial = polynomial | p.start.moves;
		} else {
			add_tally(outer, &p.sum, (double)p.terms);
		}
		move_on(e, c, &p);
		limit_others(e, p.bends);
		if (p.moves) {
			degree++;
			e->polynomial |= p.moves;
		}
	}
	e->tally = outer;
	e->degree = degree > outer_degree ? degree : outer_degree;
	e->polynomial = (uint16_t)((e->polynomial & ~(1u << c)) | outer_polynomial);
	e->windows.recorded = recorded;
}
