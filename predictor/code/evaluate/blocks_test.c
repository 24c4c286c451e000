/* Kernels in blocks and grids of any shape: what is counted as exact is what a walk through every thread counts. */
#include "predictor/code/cost_testing.h"

#include "predictor/math/random_testing.h"

enum { KERNELS = 3000, WARP = 32, INDICES = 7, STEPS = 3, ELEMENTS = 1024 };
enum step_kind { MASK, SHIFT_RIGHT, SHIFT_LEFT, ADD, XOR, OR, LESSER, GREATER, REST, QUOTIENT, STEP_KINDS };

/* A sum of thread and block indices, of which something is taken. */
struct expression {
	uint32_t factor[INDICES]; /* of tid.x, .y, .z and ctaid.x, .y, .z, and of the round */
	struct {
		enum step_kind kind;
		uint32_t by;
	} steps[STEPS];
	uint32_t count;
};

/* In each of `rounds`: if (guard < limit) a[at & 1023] is loaded, and s[at & 1023] of shared memory is written */
struct program {
	uint32_t grid[3], block[3], limit, rounds;
	struct expression guard, at;
	char text[8192];
	size_t length;
};

#define say(p, ...) add_to((p)->text, sizeof((p)->text), &(p)->length, __VA_ARGS__)

static void make_expression(const struct program *p, struct expression *e)
{
	const uint32_t factors[] = {0, 1, 2, 3, 4, 8, 16, 33, 64, p->block[0], p->block[0] * p->block[1]};

	memset(e, 0, sizeof(*e));
	for (uint32_t i = 0; i < INDICES; i++)
		e->factor[i] = random_below(4) ? factors[random_below(sizeof(factors) / sizeof(*factors))] : 0;
	if (random_below(3) == 0) { /* the number of the thread in its block */
		e->factor[0] = 1;
		e->factor[1] = p->block[0];
		e->factor[2] = p->block[0] * p->block[1];
	}
	e->count = random_below(STEPS + 1);
	for (uint32_t i = 0; i < e->count; i++) {
		e->steps[i].kind = random_below(STEP_KINDS);
		e->steps[i].by = e->steps[i].kind == MASK ? (1u << random_below(9)) - 1
				 : e->steps[i].kind == SHIFT_RIGHT || e->steps[i].kind == SHIFT_LEFT ? random_below(5)
				 : e->steps[i].kind == REST || e->steps[i].kind == QUOTIENT ? 1 + random_below(40)
											    : random_below(70);
	}
}

static uint32_t value_of(const struct expression *e, const uint32_t index[INDICES])
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < INDICES; i++)
		value += e->factor[i] * index[i];
	for (uint32_t i = 0; i < e->count; i++) {
		uint32_t by = e->steps[i].by;

		switch (e->steps[i].kind) {
		case MASK:
			value &= by;
			break;
		case SHIFT_RIGHT:
			value >>= by;
			break;
		case SHIFT_LEFT:
			value <<= by;
			break;
		case ADD:
			value += by;
			break;
		case XOR:
			value ^= by;
			break;
		case OR:
			value |= by;
			break;
		case LESSER:
			value = value < by ? value : by;
			break;
		case GREATER:
			value = value > by ? value : by;
			break;
		case REST:
			value %= by;
			break;
		default:
			value /= by;
		}
	}
	return value;
}

/* Into %r10. */
static void say_expression(struct program *p, const struct expression *e)
{
	static const char *const indices[INDICES] = {"%tid.x",   "%tid.y",   "%tid.z", "%ctaid.x",
						     "%ctaid.y", "%ctaid.z", "%r12"};
	static const char *const steps[STEP_KINDS] = {"and.b32", "shr.u32", "shl.b32", "add.s32", "xor.b32",
						      "or.b32",  "min.u32", "max.u32", "rem.u32", "div.u32"};

	say(p, "mov.u32 %%r10, 0;\n");
	for (uint32_t i = 0; i < INDICES; i++)
		say(p, "mov.u32 %%r11, %s;\nmad.lo.s32 %%r10, %%r11, %u, %%r10;\n", indices[i], e->factor[i]);
	for (uint32_t i = 0; i < e->count; i++)
		say(p, "%s %%r10, %%r10, %u;\n", steps[e->steps[i].kind], e->steps[i].by);
}

static void make(struct program *p)
{
	static const uint32_t sides[] = {1, 2, 3, 4, 5, 8, 16, 24, 32, 48, 64};

	for (int d = 0; d < 3; d++) {
		p->grid[d] = 1 + random_below(3);
		p->block[d] = sides[random_below(d ? 7 : 11)];
	}
	if (p->block[0] * p->block[1] * p->block[2] > 1024)
		p->block[2] = 1;
	p->length = 0;
	p->limit = random_below(200);
	p->rounds = random_below(2) ? 1 : 2 + random_below(20);
	make_expression(p, &p->guard);
	make_expression(p, &p->at);
	say(p, "%smov.u32 %%r12, 0;\nROUND:\n", KERNEL_BEGINS);
	say_expression(p, &p->guard);
	say(p, "setp.ge.u32 %%p1, %%r10, %u;\n@%%p1 bra DONE;\n", p->limit);
	say_expression(p, &p->at);
	say(p,
	    "and.b32 %%r10, %%r10, 1023;\nmul.wide.u32 %%rd2, %%r10, 4;\nadd.s64 %%rd3, %%rd1, %%rd2;\n"
	    "ld.global.f32 %%f2, [%%rd3];\nmov.u64 %%rd4, s;\nadd.s64 %%rd3, %%rd4, %%rd2;\n"
	    "st.shared.f32 [%%rd3], %%f1;\nDONE:\nadd.s32 %%r12, %%r12, 1;\nsetp.lt.u32 %%p2, %%r12, %%r1;\n"
	    "@%%p2 bra ROUND;\n%s",
	    KERNEL_ENDS);
}

struct walked {
	double loads, requests, sectors, passes;
};

/* The elements that lanes of a warp take; count > 0. A sector has 8 of them; a bank serves one word in a pass. */
static void add_request(struct walked *w, const uint32_t *elements, uint32_t count)
{
	uint32_t banks[WARP] = {0}, most = 0;

	w->loads += count;
	w->requests++;
	for (uint32_t i = 0; i < count; i++) {
		int new_sector = 1, new_word = 1;

		for (uint32_t k = 0; k < i; k++) {
			new_sector &= elements[k] / 8 != elements[i] / 8;
			new_word &= elements[k] != elements[i];
		}
		w->sectors += new_sector;
		banks[elements[i] % WARP] += (uint32_t)new_word;
		most = banks[elements[i] % WARP] > most ? banks[elements[i] % WARP] : most;
	}
	w->passes += most;
}

static void walk_warp(const struct program *p, const uint32_t at[3], uint32_t first, uint32_t round, struct walked *w)
{
	uint32_t threads = p->block[0] * p->block[1] * p->block[2], elements[WARP], count = 0;

	for (uint32_t t = first; t < threads && t < first + WARP; t++) {
		const uint32_t index[INDICES] = {t % p->block[0],
						 t / p->block[0] % p->block[1],
						 t / p->block[0] / p->block[1],
						 at[0],
						 at[1],
						 at[2],
						 round};

		if (value_of(&p->guard, index) < p->limit)
			elements[count++] = value_of(&p->at, index) & (ELEMENTS - 1);
	}
	if (count)
		add_request(w, elements, count);
}

static void walk_block(const struct program *p, const uint32_t at[3], struct walked *w)
{
	for (uint32_t first = 0; first < p->block[0] * p->block[1] * p->block[2]; first += WARP)
		for (uint32_t round = 0; round < p->rounds; round++)
			walk_warp(p, at, first, round, w);
}

static struct walked walk(const struct program *p)
{
	struct walked w = {0};
	uint32_t at[3];

	for (at[2] = 0; at[2] < p->grid[2]; at[2]++)
		for (at[1] = 0; at[1] < p->grid[1]; at[1]++)
			for (at[0] = 0; at[0] < p->grid[0]; at[0]++)
				walk_block(p, at, &w);
	return w;
}

static void assert_equals(const struct program *p, const char *what, double ours, double walked)
{
	if (fabs(ours - walked) > 1e-6 * fmax(1, walked))
		fail_msg("%s: %g, not %g, in blocks of %ux%ux%u of a grid of %ux%ux%u, of\n%s", what, ours, walked,
			 p->block[0], p->block[1], p->block[2], p->grid[0], p->grid[1], p->grid[2], p->text);
}

static void what_is_exact_is_what_every_thread_does(void **state)
{
	static struct program p;
	uint32_t exact = 0;

	(void)state;
	for (int i = 0; i < KERNELS; i++) {
		struct kc_cost_argument arguments[3] = {{.value = POINTER, .known = 1}, {.known = 1}};
		struct kc_cost_launch launch = {.arguments = arguments, .argument_count = 3};
		struct kc_counts counts;
		struct walked w;

		make(&p);
		arguments[1].value = p.rounds;
		memcpy(launch.grid, p.grid, sizeof(launch.grid));
		memcpy(launch.block, p.block, sizeof(launch.block));
		counts = counts_of(p.text, &launch);
		if (!counts.exact)
			continue;
		exact++;
		w = walk(&p);
		assert_equals(&p, "loads", counted(&counts, KC_COUNT_OF_LD_GLOBAL), w.loads);
		assert_equals(&p, "requests", counted(&counts, KC_COUNT_OF_REQUESTS), w.requests);
		assert_equals(&p, "sectors", counted(&counts, KC_COUNT_OF_SECTORS), w.sectors);
		assert_equals(&p, "stores", counted(&counts, KC_COUNT_OF_ST_SHARED), w.loads);
		assert_equals(&p, "passes", counted(&counts, KC_COUNT_OF_SHARED_PASSES), w.passes);
	}
	print_message("# %u of %u kernels were exact\n", exact, KERNELS);
	assert_true(exact > KERNELS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_is_exact_is_what_every_thread_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
