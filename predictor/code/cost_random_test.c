/* Random kernels: what is counted as exact is what a walk through every thread counts, and what formulas in words say.
 * Launches of two and three dimensions, too. */
#include "cost_testing.h"

#include "predictor/code/text/text_testing.h"
#include "predictor/math/random_testing.h"

#include <stdlib.h>

/* Registers 4 to 11 hold what is computed; 12 and more are for loops, one a level. */
enum { FIRST = 4, LAST = 11, COUNTER = 12, BOUND = 15, LEVELS = 3, REGISTERS = 18 };
enum { OPS = 48, TEXT = 16384, KERNELS = 4000, ACCESSES = 1 << 17, LARGE = 1 << 26 };

enum kind { COMPUTE, CHOOSE, FLOAT, LOAD, SHARED, IF, LOOP };
enum arithmetic { ADD, SUB, MUL, AND, OR, XOR, SHL, SHR, MIN, MAX, DIV, REM, ARITHMETICS };
enum comparison { LT, LE, GT, GE, EQ, NE, COMPARISONS };

struct op {
	enum kind kind;
	enum arithmetic arithmetic;
	enum comparison comparison;
	uint32_t to, a, b, constant; /* registers; constant where b is 0 */
	int is_signed;
	uint32_t level, otherwise, end; /* of the body that begins with the next op; if: where else begins */
};

struct program {
	struct op ops[OPS];
	uint32_t count, labels;
	int plain;  /* only what formulas can say in words: numbers that hardly wrap around */
	int places; /* some registers begin with a thread's place in the other dimensions */
	char text[TEXT];
	size_t length;
};

#define say(p, ...) add_to((p)->text, sizeof((p)->text), &(p)->length, __VA_ARGS__)

static uint32_t some_register(uint32_t level)
{
	uint32_t n = random_below(LAST - FIRST + 4 + level);

	return n < 3 ? n + 1 : n < 4 + LAST - FIRST ? FIRST + n - 3 : COUNTER + n - (4 + LAST - FIRST);
}

static uint32_t target(void)
{
	return FIRST + random_below(LAST - FIRST + 1);
}

/* The second operand: a register, or a constant. */
static void say_b(struct program *p, const struct op *op)
{
	if (op->b)
		say(p, "%%r%u;\n", op->b);
	else
		say(p, "%u;\n", op->constant);
}

static void add_computation(struct program *p, struct op *op)
{
	static const char *const names[ARITHMETICS] = {"add.s32", "sub.s32", "mul.lo.s32", "and.b32",
						       "or.b32",  "xor.b32", "shl.b32",    "shr.u32",
						       "min.",    "max.",    "div.u32",    "rem.u32"};

	do
		op->arithmetic = random_below(ARITHMETICS);
	while (p->plain && (op->arithmetic == SUB || (op->arithmetic >= AND && op->arithmetic <= XOR)));
	op->to = target();
	if (op->arithmetic == SHL || op->arithmetic == SHR || op->arithmetic >= DIV)
		op->b = 0;
	op->constant = op->arithmetic == SHL || op->arithmetic == SHR ? random_below(4) : 1 + random_below(9);
	say(p, "%s%s %%r%u, %%r%u, ", names[op->arithmetic],
	    op->arithmetic != MIN && op->arithmetic != MAX ? ""
	    : op->is_signed                                ? "s32"
							   : "u32",
	    op->to, op->a);
	say_b(p, op);
}

static void say_comparison(struct program *p, struct op *op)
{
	static const char *const names[COMPARISONS] = {"lt", "le", "gt", "ge", "eq", "ne"};

	op->comparison = random_below(COMPARISONS);
	op->constant = random_below(20);
	say(p, "setp.%s.%s %%p1, %%r%u, ", names[op->comparison], op->is_signed ? "s32" : "u32", op->a);
	say_b(p, op);
}

static void add_body(struct program *p, uint32_t level, uint32_t count);

static void add_branch(struct program *p, struct op *op, uint32_t level)
{
	uint32_t label = p->labels++;

	say_comparison(p, op);
	say(p, "@!%%p1 bra ELSE%u;\n", label);
	add_body(p, level, 1 + random_below(3));
	op->otherwise = p->count;
	say(p, "bra.uni END%u;\nELSE%u:\n", label, label);
	add_body(p, level, random_below(3));
	op->end = p->count;
	say(p, "END%u:\n", label);
}

/* for (counter = 0; counter < (a & 7); counter++) */
static void add_loop(struct program *p, struct op *op, uint32_t level)
{
	uint32_t label = p->labels++, counter = COUNTER + level, bound = BOUND + level;

	op->level = level;
	say(p,
	    "and.b32 %%r%u, %%r%u, 7;\nmov.u32 %%r%u, 0;\nsetp.eq.s32 %%p1, %%r%u, 0;\n@%%p1 bra DONE%u;\nROUND%u:\n",
	    bound, op->a, counter, bound, label, label);
	add_body(p, level + 1, 1 + random_below(3));
	op->end = p->count;
	say(p, "add.s32 %%r%u, %%r%u, 1;\nsetp.lt.u32 %%p1, %%r%u, %%r%u;\n@%%p1 bra ROUND%u;\nDONE%u:\n", counter,
	    counter, counter, bound, label, label);
}

static void add_op(struct program *p, uint32_t level)
{
	static const enum kind kinds[] = {COMPUTE, COMPUTE, COMPUTE, COMPUTE, CHOOSE, FLOAT,
					  FLOAT,   LOAD,    SHARED,  IF,      LOOP};
	struct op *op = &p->ops[p->count];

	if (p->count == OPS)
		return;
	p->count++;
	*op = (struct op){.kind = kinds[random_below(sizeof(kinds) / sizeof(kinds[0]))]};
	op->a = some_register(level);
	op->b = random_below(2) ? some_register(level) : 0;
	op->is_signed = (int)random_below(2);
	if (op->kind == LOOP && level == LEVELS)
		op->kind = FLOAT;
	switch (op->kind) {
	case COMPUTE:
		add_computation(p, op);
		break;
	case CHOOSE:
		op->to = target();
		say_comparison(p, op);
		say(p, "selp.b32 %%r%u, %%r%u, 5, %%p1;\n", op->to, op->a);
		break;
	case FLOAT:
		say(p, "fma.rn.f32 %%f1, %%f1, %%f1, %%f1;\n");
		break;
	case LOAD: /* a[r & 1023] */
		say(p,
		    "and.b32 %%r18, %%r%u, 1023;\nmul.wide.u32 %%rd2, %%r18, 4;\nadd.s64 %%rd3, %%rd1, %%rd2;\n"
		    "ld.global.f32 %%f2, [%%rd3];\n",
		    op->a);
		break;
	case SHARED:
		say(p,
		    "and.b32 %%r18, %%r%u, 1023;\nmul.wide.u32 %%rd2, %%r18, 4;\nmov.u64 %%rd4, s;\n"
		    "add.s64 %%rd3, %%rd4, %%rd2;\nst.shared.f32 [%%rd3], %%f1;\n",
		    op->a);
		break;
	case IF:
		add_branch(p, op, level);
		break;
	case LOOP:
		add_loop(p, op, level);
		break;
	}
}

static void add_body(struct program *p, uint32_t level, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		add_op(p, level);
}

/* What the odd registers from the first one on begin with, if not with ctaid.x, n, tid.x and ctaid.x again. */
static const char *const places[] = {"%tid.y", "%ctaid.y", "%tid.z", "%ctaid.z"};

static void make(struct program *p, int plain, int with_places)
{
	p->plain = plain;
	p->places = with_places;
	p->count = p->labels = 0;
	p->length = 0;
	say(p, "%s", KERNEL_BEGINS);
	for (uint32_t r = FIRST; r <= LAST; r++)
		if (r % 2 && with_places)
			say(p, "mov.u32 %%r%u, %s;\n", r, places[(r - FIRST) / 2]);
		else
			say(p, r % 2 ? "mov.u32 %%r%u, %%r%u;\n" : "mov.u32 %%r%u, %u;\n", r,
			    r % 2 ? 1 + r / 2 % 3 : r);
	add_body(p, 0, 4 + random_below(6));
	say(p, "%s", KERNEL_ENDS);
}

/* --- the walk */

struct access {
	uint32_t op, element;
	uint64_t key; /* iterations of the loops around it */
};

struct walk {
	const struct program *p;
	uint32_t r[REGISTERS];
	int large; /* some number was, and may have wrapped around */
	double fma, loads, stores, requests, sectors, lines, least_sectors, scattered_sectors;
	double shared_requests, shared_passes, least_passes;
	struct access accesses[ACCESSES]; /* of a warp */
	uint32_t count;
};

static uint32_t second(const struct walk *w, const struct op *op)
{
	return op->b ? w->r[op->b] : op->constant;
}

static int holds(const struct walk *w, const struct op *op)
{
	uint32_t a = w->r[op->a], b = second(w, op);
	int less = op->is_signed ? (int32_t)a < (int32_t)b : a < b;

	switch (op->comparison) {
	case LT:
		return less;
	case LE:
		return less || a == b;
	case GT:
		return !less && a != b;
	case GE:
		return !less;
	case EQ:
		return a == b;
	default:
		return a != b;
	}
}

static uint32_t computed(const struct walk *w, const struct op *op)
{
	uint32_t a = w->r[op->a], b = second(w, op);
	int less = op->is_signed ? (int32_t)a < (int32_t)b : a < b;

	switch (op->arithmetic) {
	case ADD:
		return a + b;
	case SUB:
		return a - b;
	case MUL:
		return a * b;
	case AND:
		return a & b;
	case OR:
		return a | b;
	case XOR:
		return a ^ b;
	case SHL:
		return a << b;
	case SHR:
		return a >> b;
	case MIN:
		return less ? a : b;
	case MAX:
		return less ? b : a;
	case DIV:
		return a / b;
	default:
		return a % b;
	}
}

static void walk_ops(struct walk *w, uint32_t at, uint32_t end, uint64_t key);

static void walk_one(struct walk *w, uint32_t at, uint64_t key)
{
	const struct op *op = &w->p->ops[at];
	uint32_t bound;

	switch (op->kind) {
	case COMPUTE:
		w->r[op->to] = computed(w, op);
		w->large |= w->r[op->to] > LARGE;
		break;
	case CHOOSE:
		w->r[op->to] = holds(w, op) ? w->r[op->a] : 5;
		break;
	case FLOAT:
		w->fma++;
		break;
	case LOAD:
	case SHARED:
		assert_true(w->count < ACCESSES);
		w->accesses[w->count++] = (struct access){at, w->r[op->a] & 1023, key};
		break;
	case IF:
		if (holds(w, op))
			walk_ops(w, at + 1, op->otherwise, key);
		else
			walk_ops(w, op->otherwise, op->end, key);
		break;
	case LOOP:
		bound = w->r[op->a] & 7;
		for (uint32_t i = 0; i < bound; i++) {
			w->r[COUNTER + op->level] = i;
			walk_ops(w, at + 1, op->end, key * 8 + i + 1);
		}
		w->r[COUNTER + op->level] = bound;
		break;
	}
}

static void walk_ops(struct walk *w, uint32_t at, uint32_t end, uint64_t key)
{
	while (at < end) {
		const struct op *op = &w->p->ops[at];

		walk_one(w, at, key);
		at = op->kind == IF || op->kind == LOOP ? op->end : at + 1;
	}
}

static int by_request(const void *a, const void *b)
{
	const struct access *x = a, *y = b;

	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return (x->element > y->element) - (x->element < y->element);
}

/* Sectors of 8 elements that so many adjacent ones touch, from one on. */
static uint32_t adjacent_sectors(uint32_t element, uint32_t count)
{
	return (element % 8 + count + 7) / 8;
}

static void count_load(struct walk *w, const struct access *first, uint32_t count, uint32_t sectors, uint32_t lines)
{
	uint32_t least = adjacent_sectors(0, count), adjacent = adjacent_sectors(first->element, count);

	w->loads += count;
	w->requests++;
	w->sectors += sectors;
	w->lines += lines;
	w->least_sectors += least;
	w->scattered_sectors += sectors > adjacent ? sectors - adjacent : 0;
}

/* The accesses from i on that are one request. Sectors have 8 elements, lines 32; a bank serves one word in a pass. */
static uint32_t count_request(struct walk *w, uint32_t i)
{
	uint32_t banks[32] = {0}, passes = 0, sectors = 0, lines = 0, n = i;
	const struct access *first = &w->accesses[i], *before = NULL;

	for (; n < w->count && w->accesses[n].op == first->op && w->accesses[n].key == first->key; n++) {
		const struct access *this = &w->accesses[n];

		sectors += !before || before->element / 8 != this->element / 8;
		lines += !before || before->element / 32 != this->element / 32;
		if (!before || before->element != this->element)
			banks[this->element % 32]++;
		if (banks[this->element % 32] > passes)
			passes = banks[this->element % 32];
		before = this;
	}
	if (w->p->ops[first->op].kind == LOAD) {
		count_load(w, first, n - i, sectors, lines);
	} else {
		w->stores += n - i;
		w->shared_requests++;
		w->shared_passes += passes;
		w->least_passes++;
	}
	return n;
}

struct launch {
	uint32_t grid[3], block[3], n;
};

static uint32_t threads_of(const struct launch *l)
{
	return l->block[0] * l->block[1] * l->block[2];
}

/* block, tid: counted through all dimensions, x first. */
static void walk_thread(struct walk *w, const struct launch *l, uint32_t block, uint32_t tid)
{
	const uint32_t places_of[] = {tid / l->block[0] % l->block[1], block / l->grid[0] % l->grid[1],
				      tid / l->block[0] / l->block[1], block / l->grid[0] / l->grid[1]};

	memset(w->r, 0, sizeof(w->r));
	w->r[1] = l->n;
	w->r[2] = tid % l->block[0];
	w->r[3] = block % l->grid[0];
	for (uint32_t r = FIRST; r <= LAST; r++)
		w->r[r] = r % 2 == 0 ? r : w->p->places ? places_of[(r - FIRST) / 2] : w->r[1 + r / 2 % 3];
	walk_ops(w, 0, w->p->count, 0);
}

static void walk_warp(struct walk *w, const struct launch *l, uint32_t block, uint32_t first, uint32_t end)
{
	w->count = 0;
	for (uint32_t tid = first; tid < end && tid < first + 32; tid++)
		walk_thread(w, l, block, tid);
	qsort(w->accesses, w->count, sizeof(w->accesses[0]), by_request);
	for (uint32_t i = 0; i < w->count;)
		i = count_request(w, i);
}

static void assert_value(const struct walk *w, const char *name, double value, double expected)
{
	if (fabs(value - expected) > 1e-6 * fmax(1, expected))
		fail_msg("%s: %g, not %g, of\n%s", name, value, expected, w->p->text);
}

static void assert_counts(const struct walk *w, const struct kc_counts *counts, enum kc_cost_counter counter,
			  double expected)
{
	assert_value(w, kc_cost_counter_name(counter), counted(counts, counter), expected);
}

/* How the counts are found at a launch: of what control flow decides they are the same. */
enum { EXACT, AT_LAUNCH, EFFORTS };

static int find_counts(const char *text, const struct launch *l, struct kc_counts counts[EFFORTS])
{
	struct kc_cost_argument arguments[3] = {{.value = POINTER, .known = 1}, {.value = l->n, .known = 1}};
	struct kc_cost_launch launch = {.grid = {l->grid[0], l->grid[1], l->grid[2]},
					.block = {l->block[0], l->block[1], l->block[2]},
					.arguments = arguments,
					.argument_count = 3};
	struct kernel k;
	int rc;

	read_kernel(&k, text);
	assert_int_equal(k.rc, 0);
	assert_int_equal(kc_cost_evaluate(k.cost, &launch, KC_COST_EFFORT_EXACT, &counts[EXACT]), 0);
	rc = kc_cost_evaluate(k.cost, &launch, KC_COST_EFFORT_LAUNCH, &counts[AT_LAUNCH]);
	let_go(&k);
	return rc;
}

static void assert_flow(const struct walk *w, const struct kc_counts *counts)
{
	assert_counts(w, counts, KC_COUNT_OF_FMA, w->fma);
	assert_counts(w, counts, KC_COUNT_OF_LD_GLOBAL, w->loads);
	assert_counts(w, counts, KC_COUNT_OF_BYTES_LOADED, 4 * w->loads);
	assert_counts(w, counts, KC_COUNT_OF_ST_SHARED, w->stores);
	assert_counts(w, counts, KC_COUNT_OF_REQUESTS, w->requests);
	assert_counts(w, counts, KC_COUNT_OF_SHARED_REQUESTS, w->shared_requests);
}

static void compare_with_walk(struct walk *w, const struct kc_counts *counts, const struct launch *l)
{
	for (uint32_t block = 0; block < l->grid[0] * l->grid[1] * l->grid[2]; block++)
		for (uint32_t first = 0; first < threads_of(l); first += 32)
			walk_warp(w, l, block, first, threads_of(l));
	assert_flow(w, counts);
	assert_counts(w, counts, KC_COUNT_OF_SECTORS, w->sectors);
	assert_counts(w, counts, KC_COUNT_OF_SHARED_PASSES, w->shared_passes);
	assert_value(w, "lines", counts->lines * counts->threads, w->lines);
	assert_value(w, "least sectors", counts->least_sectors * counts->threads, w->least_sectors);
	assert_value(w, "scattered sectors", counts->scattered_sectors * counts->threads, w->scattered_sectors);
	assert_value(w, "least passes", counts->least_passes * counts->threads, w->least_passes);
}

static void compare_exact_ones(uint32_t kernels, int with_places, struct launch (*next)(void))
{
	static struct program p;
	static struct walk w;
	uint32_t exact = 0, at_launch = 0;

	for (uint32_t i = 0; i < kernels; i++) {
		const struct launch l = next();
		struct kc_counts counts[EFFORTS];
		int is_found;

		make(&p, 0, with_places);
		is_found = find_counts(p.text, &l, counts) == 0;
		if (!counts[EXACT].exact)
			continue;
		exact++;
		w = (struct walk){.p = &p};
		compare_with_walk(&w, &counts[EXACT], &l);
		at_launch += (uint32_t)is_found;
		if (is_found)
			assert_flow(&w, &counts[AT_LAUNCH]);
	}
	print_message("# %u of %u kernels were exact, %u counted at a launch\n", exact, kernels, at_launch);
	assert_true(exact > kernels / 2);
	assert_true(at_launch > kernels / 4);
}

static struct launch in_a_row(void)
{
	struct launch l = {{1 + random_below(3), 1, 1}, {1, 1, 1}, 0};

	l.block[0] = 1 + random_below(70);
	l.n = random_below(40);
	return l;
}

static struct launch in_space(void)
{
	struct launch l;

	for (uint32_t d = 0; d < 3; d++)
		l.grid[d] = 1 + random_below(3 - d / 2);
	l.block[0] = 1 + random_below(2) * 7 + random_below(2) * 8 + random_below(9);
	l.block[1] = 1 + random_below(5);
	l.block[2] = 1 + random_below(3);
	l.n = random_below(40);
	return l;
}

static void what_is_exact_is_what_every_thread_does(void **state)
{
	(void)state;
	compare_exact_ones(KERNELS, 0, in_a_row);
}

static void in_three_dimensions(void **state)
{
	(void)state;
	compare_exact_ones(KERNELS / 4, 1, in_space);
}

/* "u7", "v3": a condition or a value that is not told any further. */
static int has_unknown(const char *text)
{
	for (const char *at = text; (at = strpbrk(at, "uv")); at++)
		if (at[1] >= '0' && at[1] <= '9')
			return 1;
	return 0;
}

/* Of one thread. What it loads is not known, and nothing depends on it. */
static void what_formulas_say_is_what_a_thread_does(void **state)
{
	static const enum kc_cost_counter counters[] = {KC_COUNT_OF_FMA, KC_COUNT_OF_LD_GLOBAL, KC_COUNT_OF_ST_SHARED};
	static struct program p;
	static struct walk w;
	uint32_t compared = 0;

	(void)state;
	for (int i = 0; i < KERNELS; i++) {
		uint32_t n = random_below(40), tid = random_below(64), block = random_below(4);
		const struct named names[] = {
		    {"p1", n}, {"tid.x", tid}, {"ctaid.x", block}, {"ntid.x", 64}, {"gid.x", 64.0 * block + tid},
		    {NULL, 0}};
		const struct launch l = {{4, 1, 1}, {64, 1, 1}, n};
		struct kc_cost_story story;
		struct kernel k;

		make(&p, 1, 0);
		read_kernel(&k, p.text);
		assert_int_equal(kc_cost_tell(k.cost, &story), 0);
		let_go(&k);
		w = (struct walk){.p = &p};
		walk_warp(&w, &l, block, tid, tid + 1);
		for (int c = 0; c < 3 && !w.large; c++) {
			const char *text = story.formula[counters[c]];
			double expected = c == 0 ? w.fma : c == 1 ? w.loads : w.stores;

			if (strstr(text, "...") || has_unknown(text))
				continue;
			compared++;
			if (fabs(read_text(text, names) - expected) > 1e-6)
				fail_msg("%s: %s is %g, not %g, at n = %u, tid = %u, ctaid = %u, of\n%s",
					 kc_cost_counter_name(counters[c]), text, read_text(text, names), expected, n,
					 tid, block, p.text);
		}
		kc_cost_story_free(&story);
	}
	print_message("# %u of %u formulas were compared\n", compared, 3 * KERNELS);
	assert_true(compared > KERNELS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_exact_is_what_every_thread_does),
	    cmocka_unit_test(in_three_dimensions),
	    cmocka_unit_test(what_formulas_say_is_what_a_thread_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
