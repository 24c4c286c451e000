/* Instructions on integers and predicates, with random operands: what is worked out is what the PTX ISA says. Each is
 * followed by a branch to an FFMA if the result is as expected. */
#include "cost_testing.h"

#include "predictor/math/random_testing.h"

#include <stdlib.h>

enum { TEXT = 65536, OPERANDS = 4 };

typedef uint64_t u64;

/* Operands and results, by how they are written: h, w and d are registers of 16, 32 and 64 bits, s one of 32 bits for a
 * shift or a part, p a predicate or its negation, b, q and x immediates of 8 and 16 bits and a shift; behind { stands a
 * vector. Of two results the value is that of the one that is not in brackets. */
struct instruction {
	const char *spelling, *result, *operands;
	u64 (*value)(const u64 *v);
};

#define U32(x) ((uint32_t)(x))
#define S32(x) ((int64_t)(int32_t)(x))
#define S64(x) ((int64_t)(x))
#define U16(x) ((uint16_t)(x))
#define S16(x) ((int64_t)(int16_t)(x))

/* The ISA shifts by no more than the width. */
static u64 left(u64 a, u64 by, uint32_t bits)
{
	return by >= bits ? 0 : a << by;
}

static u64 right(u64 a, u64 by, uint32_t bits)
{
	return by >= bits ? 0 : a >> by;
}

static u64 right_signed(int64_t a, u64 by, uint32_t bits)
{
	return (u64)(a >> (by >= bits ? bits - 1 : by));
}

static u64 field(u64 a, u64 at, u64 length, uint32_t bits, int is_signed)
{
	u64 sum = 0, sign = is_signed && (at & 255) + (length & 255) > 0 ? 1 : 0, top;

	at &= 255;
	length &= 255;
	top = at + length - 1 < bits - 1 ? at + length - 1 : bits - 1;
	sign = sign && length ? a >> top & 1 : 0;
	for (uint32_t i = 0; i < bits; i++)
		sum |= (i < length && at + i < bits ? a >> (at + i) & 1 : sign) << i;
	return sum;
}

static u64 inserted(u64 a, u64 into, u64 at, u64 length, uint32_t bits)
{
	at &= 255;
	length &= 255;
	for (uint32_t i = 0; i < length && at + i < bits && i < bits; i++)
		into = (into & ~((u64)1 << (at + i))) | (a >> i & 1) << (at + i);
	return into;
}

static u64 reversed(u64 a, uint32_t bits)
{
	u64 sum = 0;

	for (uint32_t i = 0; i < bits; i++)
		sum |= (a >> i & 1) << (bits - 1 - i);
	return sum;
}

/* -1: none */
static u64 highest(u64 a, int is_signed, uint32_t bits, int distance)
{
	u64 skipped = is_signed ? a >> (bits - 1) & 1 : 0;

	for (int i = (int)bits - 1; i >= 0; i--)
		if ((a >> i & 1) != skipped)
			return distance ? bits - 1 - (u64)i : (u64)i;
	return U32(-1);
}

static u64 zeros(u64 a, uint32_t bits)
{
	uint32_t n = 0;

	while (n < bits && !(a >> (bits - 1 - n) & 1))
		n++;
	return n;
}

static u64 permuted(u64 a, u64 b, u64 selector)
{
	u64 both = U32(a) | b << 32, sum = 0;

	for (uint32_t i = 0; i < 4; i++) {
		u64 digit = selector >> 4 * i & 15, byte = both >> 8 * (digit & 7) & 255;

		sum |= (digit & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * i;
	}
	return sum;
}

static u64 looked_up(u64 a, u64 b, u64 c, u64 table)
{
	u64 sum = 0;

	for (uint32_t i = 0; i < 32; i++)
		sum |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
	return sum;
}

static u64 funnel(u64 low, u64 high, u64 by, int is_left)
{
	u64 both = U32(low) | high << 32;

	return is_left ? (by >= 32 ? low : both << by >> 32) : by >= 32 ? high : both >> by;
}

static int64_t part(u64 a, uint32_t n, uint32_t bits, int is_signed)
{
	int64_t value = (int64_t)(a >> (n * bits) & ((1u << bits) - 1));

	return is_signed && value >> (bits - 1) ? value - (1 << bits) : value;
}

static u64 dot(const u64 *v, uint32_t parts, uint32_t from, int a_signed, int b_signed)
{
	int64_t sum = S32(v[2]);

	for (uint32_t i = 0; i < parts; i++)
		sum += part(v[0], i, 32 / parts, a_signed) * part(v[1], from + i, 8, b_signed);
	return (u64)sum;
}

#define GIVES(name, expression)                                                                                        \
	static u64 name(const u64 *v)                                                                                  \
	{                                                                                                              \
		return (u64)(expression);                                                                              \
	}
GIVES(sum, v[0] + v[1])
GIVES(difference, v[0] - v[1])
GIVES(product, v[0] * v[1])
GIVES(high_u32, (u64)U32(v[0]) * U32(v[1]) >> 32)
GIVES(high_s32, S32(v[0]) * S32(v[1]) >> 32)
GIVES(high_u64, (unsigned __int128)v[0] * v[1] >> 64)
GIVES(high_s64, (__int128)S64(v[0]) * S64(v[1]) >> 64)
GIVES(wide_u32, (u64)U32(v[0]) * U32(v[1]))
GIVES(wide_s32, S32(v[0]) * S32(v[1]))
GIVES(wide_u16, (u64)U16(v[0]) * U16(v[1]))
GIVES(wide_s16, S16(v[0]) * S16(v[1]))
GIVES(mad, v[0] * v[1] + v[2])
GIVES(mad_high_s32, (u64)(S32(v[0]) * S32(v[1]) >> 32) + v[2])
GIVES(mad_wide_u32, (u64)U32(v[0]) * U32(v[1]) + v[2])
GIVES(mad_wide_s32, (u64)(S32(v[0]) * S32(v[1])) + v[2])
GIVES(quotient_u32, U32(v[0]) / (U32(v[1]) ? U32(v[1]) : 1))
GIVES(and_, v[0] & v[1])
GIVES(or_, v[0] | v[1])
GIVES(xor_, v[0] ^ v[1])
GIVES(not_, ~v[0])
GIVES(negative, -v[0])
GIVES(absolute_s32, S32(v[0]) < 0 ? -S32(v[0]) : S32(v[0]))
GIVES(absolute_s64, S64(v[0]) < 0 ? -v[0] : v[0])
GIVES(least_u32, U32(v[0]) < U32(v[1]) ? v[0] : v[1])
GIVES(least_s32, S32(v[0]) < S32(v[1]) ? v[0] : v[1])
GIVES(most_u32, U32(v[0]) > U32(v[1]) ? v[0] : v[1])
GIVES(most_s32, S32(v[0]) > S32(v[1]) ? v[0] : v[1])
GIVES(least_u64, v[0] < v[1] ? v[0] : v[1])
GIVES(most_s64, S64(v[0]) > S64(v[1]) ? v[0] : v[1])
GIVES(shl_32, left(v[0], U32(v[1]), 32))
GIVES(shl_64, left(v[0], U32(v[1]), 64))
GIVES(shr_u32, right(U32(v[0]), U32(v[1]), 32))
GIVES(shr_s32, right_signed(S32(v[0]), U32(v[1]), 32))
GIVES(shr_u64, right(v[0], U32(v[1]), 64))
GIVES(shr_s64, right_signed(S64(v[0]), U32(v[1]), 64))
GIVES(ones_32, __builtin_popcount(U32(v[0])))
GIVES(ones_64, __builtin_popcountll(v[0]))
GIVES(zeros_32, zeros(v[0], 32))
GIVES(zeros_64, zeros(v[0], 64))
GIVES(find_u32, highest(v[0], 0, 32, 0))
GIVES(find_s32, highest(v[0], 1, 32, 0))
GIVES(find_u64, highest(v[0], 0, 64, 0))
GIVES(find_s64, highest(v[0], 1, 64, 0))
GIVES(distance_u32, highest(v[0], 0, 32, 1))
GIVES(distance_s64, highest(v[0], 1, 64, 1))
GIVES(reversed_32, reversed(v[0], 32))
GIVES(reversed_64, reversed(v[0], 64))
GIVES(field_u32, field(U32(v[0]), v[1], v[2], 32, 0))
GIVES(field_s32, field(U32(v[0]), v[1], v[2], 32, 1))
GIVES(field_u64, field(v[0], v[1], v[2], 64, 0))
GIVES(field_s64, field(v[0], v[1], v[2], 64, 1))
GIVES(inserted_32, inserted(v[0], v[1], v[2], v[3], 32))
GIVES(inserted_64, inserted(v[0], v[1], v[2], v[3], 64))
GIVES(permuted_, permuted(v[0], v[1], v[2]))
GIVES(looked_up_, looked_up(v[0], v[1], v[2], v[3]))
GIVES(left_wrap, funnel(v[0], v[1], v[2] & 31, 1))
GIVES(left_clamp, funnel(v[0], v[1], U32(v[2]) < 32 ? v[2] : 32, 1))
GIVES(right_wrap, funnel(v[0], v[1], v[2] & 31, 0))
GIVES(right_clamp, funnel(v[0], v[1], U32(v[2]) < 32 ? v[2] : 32, 0))
GIVES(apart_u32, (U32(v[0]) > U32(v[1]) ? v[0] - v[1] : v[1] - v[0]) + v[2])
GIVES(apart_s32, (S32(v[0]) > S32(v[1]) ? v[0] - v[1] : v[1] - v[0]) + v[2])
GIVES(by_sign, S32(v[2]) >= 0 ? v[0] : v[1])
GIVES(dot_uu, dot(v, 4, 0, 0, 0))
GIVES(dot_su, dot(v, 4, 0, 1, 0))
GIVES(dot_us, dot(v, 4, 0, 0, 1))
GIVES(dot_ss, dot(v, 4, 0, 1, 1))
GIVES(dot2_low, dot(v, 2, 0, 1, 0))
GIVES(dot2_high, dot(v, 2, 2, 0, 1))
GIVES(same, v[0])
GIVES(from_s32, S32(v[0]))
GIVES(from_u32, U32(v[0]))
GIVES(from_s16, S16(v[0]))
GIVES(from_u16, U16(v[0]))
GIVES(from_s8, (int64_t)(int8_t)v[0])
GIVES(from_u8, (uint8_t)v[0])
GIVES(chosen, v[2] ? v[0] : v[1])
GIVES(lt_s32, S32(v[0]) < S32(v[1]))
GIVES(le_s32, S32(v[0]) <= S32(v[1]))
GIVES(gt_s32, S32(v[0]) > S32(v[1]))
GIVES(ge_s32, S32(v[0]) >= S32(v[1]))
GIVES(eq_32, U32(v[0]) == U32(v[1]))
GIVES(ne_32, U32(v[0]) != U32(v[1]))
GIVES(lt_u32, U32(v[0]) < U32(v[1]))
GIVES(le_u32, U32(v[0]) <= U32(v[1]))
GIVES(gt_u32, U32(v[0]) > U32(v[1]))
GIVES(ge_u32, U32(v[0]) >= U32(v[1]))
GIVES(lt_s64, S64(v[0]) < S64(v[1]))
GIVES(gt_u64, v[0] > v[1])
GIVES(ge_s16, S16(v[0]) >= S16(v[1]))
GIVES(lt_and, S32(v[0]) < S32(v[1]) && v[2])
GIVES(lt_or, S32(v[0]) < S32(v[1]) || v[2])
GIVES(lt_xor, (S32(v[0]) < S32(v[1])) != v[2])
GIVES(both, v[0] && v[1])
GIVES(either, v[0] || v[1])
GIVES(one_of, v[0] != v[1])
GIVES(no, !v[0])
GIVES(pair_32, U32(v[0]) | v[1] << 32)
GIVES(pair_16, U16(v[0]) | U32(U16(v[1])) << 16)
GIVES(upper_32, v[0] >> 32)
GIVES(upper_16, v[0] >> 16)
GIVES(not_lt, S32(v[0]) >= S32(v[1]))
GIVES(not_lt_and, S32(v[0]) >= S32(v[1]) && v[2])
GIVES(not_lt_or, S32(v[0]) >= S32(v[1]) || v[2])
GIVES(mask_lt, S32(v[0]) < S32(v[1]) ? -1 : 0)
GIVES(mask_hi_and, U32(v[0]) > U32(v[1]) && v[2] ? -1 : 0)
GIVES(mask_gt_s64, S64(v[0]) > S64(v[1]) ? -1 : 0)

static const struct instruction instructions[] = {
    {"add.s32", "w", "ww", sum},
    {"add.u64", "d", "dd", sum},
    {"add.u16", "h", "hh", sum},
    {"sub.u32", "w", "ww", difference},
    {"sub.s64", "d", "dd", difference},
    {"mul.lo.s32", "w", "ww", product},
    {"mul.lo.u64", "d", "dd", product},
    {"mul.lo.s16", "h", "hh", product},
    {"mul.hi.u32", "w", "ww", high_u32},
    {"mul.hi.s32", "w", "ww", high_s32},
    {"mul.hi.u64", "d", "dd", high_u64},
    {"mul.hi.s64", "d", "dd", high_s64},
    {"mul.wide.u32", "d", "ww", wide_u32},
    {"mul.wide.s32", "d", "ww", wide_s32},
    {"mul.wide.u16", "w", "hh", wide_u16},
    {"mul.wide.s16", "w", "hh", wide_s16},
    {"mad.lo.s32", "w", "www", mad},
    {"mad.lo.u64", "d", "ddd", mad},
    {"mad.hi.s32", "w", "www", mad_high_s32},
    {"mad.wide.u32", "d", "wwd", mad_wide_u32},
    {"mad.wide.s32", "d", "wwd", mad_wide_s32},
    {"div.u32", "w", "wx", quotient_u32},
    {"and.b32", "w", "ww", and_},
    {"or.b64", "d", "dd", or_},
    {"xor.b32", "w", "ww", xor_},
    {"xor.b16", "h", "hh", xor_},
    {"not.b32", "w", "w", not_},
    {"not.b64", "d", "d", not_},
    {"neg.s32", "w", "w", negative},
    {"neg.s64", "d", "d", negative},
    {"abs.s32", "w", "w", absolute_s32},
    {"abs.s64", "d", "d", absolute_s64},
    {"min.u32", "w", "ww", least_u32},
    {"min.s32", "w", "ww", least_s32},
    {"max.u32", "w", "ww", most_u32},
    {"max.s32", "w", "ww", most_s32},
    {"min.u64", "d", "dd", least_u64},
    {"max.s64", "d", "dd", most_s64},
    {"shl.b32", "w", "ws", shl_32},
    {"shl.b64", "d", "ds", shl_64},
    {"shr.u32", "w", "ws", shr_u32},
    {"shr.s32", "w", "ws", shr_s32},
    {"shr.u64", "d", "ds", shr_u64},
    {"shr.s64", "d", "ds", shr_s64},
    {"popc.b32", "w", "w", ones_32},
    {"popc.b64", "w", "d", ones_64},
    {"clz.b32", "w", "w", zeros_32},
    {"clz.b64", "w", "d", zeros_64},
    {"bfind.u32", "w", "w", find_u32},
    {"bfind.s32", "w", "w", find_s32},
    {"bfind.u64", "w", "d", find_u64},
    {"bfind.s64", "w", "d", find_s64},
    {"bfind.shiftamt.u32", "w", "w", distance_u32},
    {"bfind.shiftamt.s64", "w", "d", distance_s64},
    {"brev.b32", "w", "w", reversed_32},
    {"brev.b64", "d", "d", reversed_64},
    {"bfe.u32", "w", "wss", field_u32},
    {"bfe.s32", "w", "wss", field_s32},
    {"bfe.u64", "d", "dss", field_u64},
    {"bfe.s64", "d", "dss", field_s64},
    {"bfe.u32", "w", "wxx", field_u32},
    {"bfe.s32", "w", "wxx", field_s32},
    {"bfe.s64", "d", "dxx", field_s64},
    {"bfi.b32", "w", "wwss", inserted_32},
    {"bfi.b64", "d", "ddss", inserted_64},
    {"prmt.b32", "w", "wwq", permuted_},
    {"lop3.b32", "w", "wwwb", looked_up_},
    {"shf.l.wrap.b32", "w", "wws", left_wrap},
    {"shf.l.clamp.b32", "w", "wws", left_clamp},
    {"shf.r.wrap.b32", "w", "wws", right_wrap},
    {"shf.r.clamp.b32", "w", "wws", right_clamp},
    {"sad.u32", "w", "www", apart_u32},
    {"sad.s32", "w", "www", apart_s32},
    {"slct.b32.s32", "w", "www", by_sign},
    {"slct.b64.s32", "d", "ddw", by_sign},
    {"dp4a.u32.u32", "w", "www", dot_uu},
    {"dp4a.s32.u32", "w", "www", dot_su},
    {"dp4a.u32.s32", "w", "www", dot_us},
    {"dp4a.s32.s32", "w", "www", dot_ss},
    {"dp2a.lo.s32.u32", "w", "www", dot2_low},
    {"dp2a.hi.u32.s32", "w", "www", dot2_high},
    {"mov.b32", "w", "w", same},
    {"mov.u64", "d", "d", same},
    {"cvt.s64.s32", "d", "w", from_s32},
    {"cvt.u64.u32", "d", "w", from_u32},
    {"cvt.u32.u64", "w", "d", from_u32},
    {"cvt.s32.s16", "w", "h", from_s16},
    {"cvt.u32.u16", "w", "h", from_u16},
    {"cvt.s64.s16", "d", "h", from_s16},
    {"cvt.u16.u32", "h", "w", from_u16},
    {"cvt.s32.s8", "w", "w", from_s8},
    {"cvt.u32.u8", "w", "w", from_u8},
    {"cvt.s64.s8", "d", "w", from_s8},
    {"mov.b64", "d", "{ww", pair_32},
    {"mov.b32", "w", "{hh", pair_16},
    {"mov.b64", "w[w]", "d", from_u32},
    {"mov.b64", "[w]w", "d", upper_32},
    {"mov.b32", "h[h]", "w", from_u16},
    {"mov.b32", "[h]h", "w", upper_16},
    {"setp.lt.s32", "p[p]", "ww", lt_s32},
    {"setp.lt.s32", "[p]p", "ww", not_lt},
    {"setp.lt.and.s32", "p[p]", "wwp", lt_and},
    {"setp.lt.and.s32", "[p]p", "wwp", not_lt_and},
    {"setp.lt.or.s32", "[p]p", "wwp", not_lt_or},
    {"selp.b32", "w", "wwp", chosen},
    {"selp.b64", "d", "ddp", chosen},
    {"setp.lt.s32", "p", "ww", lt_s32},
    {"setp.le.s32", "p", "ww", le_s32},
    {"setp.gt.s32", "p", "ww", gt_s32},
    {"setp.ge.s32", "p", "ww", ge_s32},
    {"setp.eq.s32", "p", "ww", eq_32},
    {"setp.ne.b32", "p", "ww", ne_32},
    {"setp.lt.u32", "p", "ww", lt_u32},
    {"setp.lo.u32", "p", "ww", lt_u32},
    {"setp.ls.u32", "p", "ww", le_u32},
    {"setp.hi.u32", "p", "ww", gt_u32},
    {"setp.hs.u32", "p", "ww", ge_u32},
    {"setp.lt.s64", "p", "dd", lt_s64},
    {"setp.gt.u64", "p", "dd", gt_u64},
    {"setp.ge.s16", "p", "hh", ge_s16},
    {"setp.lt.and.s32", "p", "wwp", lt_and},
    {"setp.lt.or.s32", "p", "wwp", lt_or},
    {"setp.lt.xor.s32", "p", "wwp", lt_xor},
    {"and.pred", "p", "pp", both},
    {"or.pred", "p", "pp", either},
    {"xor.pred", "p", "pp", one_of},
    {"not.pred", "p", "p", no},
    {"set.lt.u32.s32", "w", "ww", mask_lt},
    {"set.hi.and.u32.u32", "w", "wwp", mask_hi_and},
    {"set.gt.s32.s64", "w", "dd", mask_gt_s64},
};
#define INSTRUCTIONS (sizeof(instructions) / sizeof(*instructions))

/* --- kernels */

struct program {
	char text[TEXT];
	size_t length;
	uint32_t n; /* its argument, of which all operands follow */
	uint32_t labels;
};

#define say(p, ...) add_to((p)->text, sizeof((p)->text), &(p)->length, __VA_ARGS__)

static uint32_t bits32(void)
{
	return random_below(1 << 16) << 16 | random_below(1 << 16);
}

/* Of all sizes, and near the ends of what has a sign. */
static u64 some_number(void)
{
	static const u64 edges[] = {0, 1, U32(-1), 1u << 31, INT32_MAX, 0xffff, 0x8000, (u64)1 << 63, INT64_MAX, -1};
	u64 any = (u64)bits32() << 32 | bits32();

	return random_below(3) ? any >> random_below(64) : edges[random_below(sizeof(edges) / sizeof(*edges))];
}

static u64 low_bits(u64 value, char kind)
{
	return kind == 'd' ? value : kind == 'h' ? U16(value) : kind == 'p' ? value & 1 : U32(value);
}

/* Register n of the kind gets the value, which only the launch tells: %r1 is n, %rd5 the same. */
static void set_register(struct program *p, char kind, uint32_t n, u64 value)
{
	switch (kind) {
	case 'd':
		say(p, "xor.b64 %%rd%u, %%rd5, 0x%llx;\n", n, (unsigned long long)(value ^ p->n));
		break;
	case 'h':
		say(p, "xor.b32 %%r4, %%r1, 0x%x;\ncvt.u16.u32 %%h%u, %%r4;\n", U32(value) ^ p->n, n);
		break;
	case 'p':
		say(p, "xor.b32 %%r4, %%r1, 0x%x;\nsetp.eq.s32 %%p%u, %%r4, 1;\n", U32(value) ^ p->n, n);
		break;
	default:
		say(p, "xor.b32 %%r%u, %%r1, 0x%x;\n", n, U32(value) ^ p->n);
	}
}

/* Returns the operand's value; as: how it is written. */
static u64 make_operand(struct program *p, char kind, uint32_t n, char as[32])
{
	static const char *const registers[] = {['d'] = "%rd", ['h'] = "%h", ['p'] = "%p", ['w'] = "%r", ['s'] = "%r"};
	u64 value = kind == 'b'   ? random_below(256)
		    : kind == 'q' ? random_below(65536)
		    : kind == 'x' ? 1 + random_below(31)
		    : kind == 's' ? random_below(4) ? random_below(80) : bits32()
		    : kind == 'p' ? random_below(2)
				  : low_bits(some_number(), kind);

	if (kind == 'b' || kind == 'q' || kind == 'x') {
		snprintf(as, 32, "%u", U32(value));
		return value;
	}
	set_register(p, kind, 6 + n, value);
	if (kind == 'p' && random_below(2)) {
		snprintf(as, 32, "!%%p%u", 6 + n);
		return !value;
	}
	snprintf(as, 32, "%s%u", registers[(unsigned char)kind], 6 + n);
	return value;
}

/* An FFMA where result 11 is what is expected. */
static void say_check(struct program *p, char kind, u64 expected)
{
	uint32_t label = p->labels++;

	if (kind == 'h')
		say(p, "cvt.u32.u16 %%r11, %%h11;\n");
	if (kind == 'p')
		say(p, "selp.u32 %%r11, 1, 0, %%p11;\n");
	if (kind == 'd')
		say(p, "setp.eq.s64 %%p1, %%rd11, 0x%llx;\n", (unsigned long long)expected);
	else
		say(p, "setp.eq.s32 %%p1, %%r11, 0x%x;\n", U32(expected));
	say(p, "@!%%p1 bra L%u;\nfma.rn.f32 %%f1, %%f1, %%f1, %%f1;\nL%u:\n", label, label);
}

static const char *register_name(char kind)
{
	return kind == 'd' ? "%rd" : kind == 'h' ? "%h" : kind == 'p' ? "%p" : "%r";
}

/* Register 11, or both, of which that is the one to look at. */
static void say_result(struct program *p, const struct instruction *i)
{
	const char *name = register_name(i->result[0] == '[' ? i->result[1] : i->result[0]);
	int is_pair = strlen(i->result) > 1, is_second = i->result[0] == '[', is_vector = is_pair && name[1] != 'p';

	say(p, "%s %s%s%d", i->spelling, is_vector ? "{" : "", name, is_second ? 12 : 11);
	if (is_pair)
		say(p, "%s%s%d%s", is_vector ? ", " : "|", name, is_second ? 11 : 12, is_vector ? "}" : "");
}

/* Some are guarded: where the guard does not hold, the register keeps what it was. */
static void add_check(struct program *p, const struct instruction *i)
{
	char written[OPERANDS][32], kind = i->result[0] == '[' ? i->result[1] : i->result[0];
	int is_vector = i->operands[0] == '{';
	const char *operands = i->operands + is_vector;
	uint32_t count = (uint32_t)strlen(operands);
	u64 v[OPERANDS], before = low_bits(some_number(), kind), expected;
	int guarded = random_below(3) == 0, holds = (int)random_below(2), negated = (int)random_below(2);

	for (uint32_t n = 0; n < count; n++)
		v[n] = make_operand(p, operands[n], n, written[n]);
	expected = low_bits(i->value(v), kind);
	if (guarded) {
		set_register(p, kind, 11, before);
		set_register(p, 'p', 2, (u64)(holds != negated));
		say(p, "@%s%%p2 ", negated ? "!" : "");
		expected = holds ? expected : before;
	}
	say_result(p, i);
	say(p, "%s", is_vector ? ", {" : "");
	for (uint32_t n = 0; n < count; n++)
		say(p, "%s%s", n || !is_vector ? ", " : "", written[n]);
	say(p, "%s;\n", is_vector ? "}" : "");
	say_check(p, kind, expected);
}

static void begin(struct program *p)
{
	p->length = p->labels = 0;
	p->n = bits32();
	say(p, "%s",
	    ".version 8.0\n.target sm_75\n.address_size 64\n"
	    ".visible .entry k(.param .u64 a, .param .u32 n, .param .f32 x)\n{\n"
	    ".reg .pred %p<20>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .b16 %h<20>;\n.reg .f32 %f<9>;\n"
	    "ld.param.u64 %rd1, [a];\nld.param.u32 %r1, [n];\ncvt.u64.u32 %rd5, %r1;\n");
}

static void assert_all_hold(struct program *p, double checks)
{
	struct kc_counts counts;

	say(p, "ret;\n}\n");
	counts = evaluated(p->text, 1, 32, p->n);
	if (counted(&counts, KC_COUNT_OF_FMA) != 32 * checks || !counts.exact)
		print_message("%s", p->text);
	assert_count(counts, FMA, 32 * checks);
	assert_int_equal(counts.exact, 1);
}

static void each_instruction_is_worked_out(void **state)
{
	struct program *p = malloc(sizeof(*p));

	(void)state;
	assert_non_null(p);
	for (size_t i = 0; i < INSTRUCTIONS; i++) {
		for (int n = 0; n < 4; n++) {
			begin(p);
			for (int k = 0; k < 10; k++)
				add_check(p, &instructions[i]);
			assert_all_hold(p, 10);
		}
	}
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_instruction_is_worked_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
