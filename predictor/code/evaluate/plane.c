#include "lanes.h"

/* Limits of a plane, so that sums of a few do not overflow. */
#define AT_MAX ((int64_t)1 << 61)
#define SLOPE_MAX ((int64_t)1 << 50)

struct plane {
	int64_t at, column_step, row_step;
};

static int is_plane(const struct kc_lanes *lanes)
{
	return lanes->uniform || lanes->plane;
}

static struct plane plane_of(const struct kc_lanes *lanes)
{
	return (struct plane){lanes->v[0], lanes->plane ? lanes->column_step : 0, lanes->plane ? lanes->row_step : 0};
}

static int64_t least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int extremes(const struct plane *p, uint32_t row_log2, int64_t *low, int64_t *high)
{
	int64_t right, down;

	if (p->at > AT_MAX || p->at < -AT_MAX || p->column_step > SLOPE_MAX || p->column_step < -SLOPE_MAX ||
	    p->row_step > SLOPE_MAX || p->row_step < -SLOPE_MAX)
		return 0;
	right = p->column_step * ((1 << row_log2) - 1);
	down = p->row_step * ((int64_t)(KC_WARP_LANES >> row_log2) - 1);
	*low = p->at + least(right, 0) + least(down, 0);
	*high = p->at - least(-right, 0) - least(-down, 0);
	return 1;
}

/* The least and the greatest value of all lanes. 0: the numbers are too large. */
static int extremes_of(const struct kc_lanes *lanes, int64_t *low, int64_t *high)
{
	struct plane p = plane_of(lanes);

	return extremes(&p, lanes->plane ? lanes->row_log2 : 0, low, high);
}

int kc__reads_as_kept(const struct kc_lanes *lanes, uint32_t bits, int is_signed)
{
	int64_t low, high;

	if (!is_plane(lanes) || !extremes_of(lanes, &low, &high) || (!is_signed && low < 0))
		return 0;
	return bits == 64 || (bits == 32 && low >= INT32_MIN && high <= INT32_MAX);
}

/* 0: some lane would wrap around. */
static int store_plane(struct plane p, uint32_t bits, uint32_t row_log2, struct kc_lanes *out)
{
	int64_t low, high;

	if (bits != 64 && bits != 32)
		return 0;
	if (!extremes(&p, row_log2, &low, &high) || (bits == 32 && (low < INT32_MIN || high > INT32_MAX)))
		return 0;
	out->uniform = !p.column_step && !p.row_step;
	out->plane = !out->uniform;
	out->row_log2 = (uint8_t)row_log2;
	out->column_step = p.column_step;
	out->row_step = p.row_step;
	out->v[0] = p.at;
	return 1;
}

static int store_number(int64_t number, struct kc_lanes *out)
{
	out->uniform = 1;
	out->plane = 0;
	out->v[0] = number;
	return 1;
}

static int is_small(const struct plane *p)
{
	return p->at < AT_MAX / 2 && p->at > -AT_MAX / 2 && p->column_step < SLOPE_MAX && p->column_step > -SLOPE_MAX &&
	       p->row_step < SLOPE_MAX && p->row_step > -SLOPE_MAX;
}

static int scale(const struct plane *p, int64_t by, uint32_t bits, uint32_t row_log2, struct kc_lanes *out)
{
	int64_t at, column_step, row_step;

	if (__builtin_mul_overflow(p->at, by, &at) || __builtin_mul_overflow(p->column_step, by, &column_step) ||
	    __builtin_mul_overflow(p->row_step, by, &row_step))
		return 0;
	return store_plane((struct plane){at, column_step, row_step}, bits, row_log2, out);
}

/* a / by and a % by, if the quotient is the same in all lanes. */
static int divide(const struct kc_value *value, const struct kc_lanes *a, int64_t by, int is_remainder,
		  uint32_t row_log2, struct kc_lanes *out)
{
	struct plane p = plane_of(a);
	int64_t low, high;

	if (by <= 0 || !kc__reads_as_kept(a, value->source_bits, value->is_signed) || !extremes_of(a, &low, &high) ||
	    low < 0 || low / by != high / by)
		return 0;
	if (!is_remainder)
		return store_number(low / by, out);
	p.at -= low / by * by;
	return store_plane(p, value->bits, row_log2, out);
}

/* If the sign of the difference is the same in all lanes. */
static int compare(const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		   struct kc_lanes *out)
{
	int64_t low_a, high_a, low_b, high_b;
	int is_equality = value->compare == KC_PTX_EQ || value->compare == KC_PTX_NE;

	if (!kc__reads_as_kept(a, value->source_bits, value->is_signed || is_equality) ||
	    !kc__reads_as_kept(b, value->source_bits, value->is_signed || is_equality) ||
	    !extremes_of(a, &low_a, &high_a) || !extremes_of(b, &low_b, &high_b))
		return 0;
	if (is_equality)
		return (high_a < low_b || high_b < low_a) && store_number(value->compare == KC_PTX_NE, out);
	if (high_a < low_b || (value->compare == KC_PTX_LE && high_a == low_b))
		return store_number(1, out);
	if (low_a > high_b || (value->compare == KC_PTX_LT && low_a == high_b))
		return store_number(0, out);
	return 0;
}

static int mask_bits(const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		     uint32_t row_log2, struct kc_lanes *out)
{
	int64_t mask = b->v[0];

	if (!b->uniform)
		return a->uniform ? mask_bits(value, b, a, row_log2, out) : 0;
	return mask > 0 && !(mask & (mask + 1)) && mask < AT_MAX && divide(value, a, mask + 1, 1, row_log2, out);
}

int kc__operate_planes(const struct kc_value *value, const struct kc_lanes *a, const struct kc_lanes *b,
		       const struct kc_lanes *c, struct kc_lanes *out)
{
	uint32_t row_log2 = a->plane ? a->row_log2 : b->plane ? b->row_log2 : c->plane ? c->row_log2 : 0;
	struct plane p, q;

	if (!is_plane(a) || !is_plane(b) || !is_plane(c))
		return 0;
	p = plane_of(a);
	q = plane_of(b);
	switch (value->op) {
	case KC_OP_ADD:
		return is_small(&p) && is_small(&q) &&
		       store_plane((struct plane){p.at + q.at, p.column_step + q.column_step, p.row_step + q.row_step},
				   value->bits, row_log2, out);
	case KC_OP_SUB:
		return is_small(&p) && is_small(&q) &&
		       store_plane((struct plane){p.at - q.at, p.column_step - q.column_step, p.row_step - q.row_step},
				   value->bits, row_log2, out);
	case KC_OP_MUL:
		return b->uniform   ? scale(&p, q.at, value->bits, row_log2, out)
		       : a->uniform ? scale(&q, p.at, value->bits, row_log2, out)
				    : 0;
	case KC_OP_SHL:
		return b->uniform && q.at >= 0 && q.at < value->bits && q.at < 60 &&
		       scale(&p, (int64_t)1 << q.at, value->bits, row_log2, out);
	case KC_OP_SHR:
		return b->uniform && q.at >= 0 && q.at < value->bits && q.at < 60 &&
		       divide(value, a, (int64_t)1 << q.at, 0, row_log2, out);
	case KC_OP_DIV:
	case KC_OP_REM:
		return b->uniform && kc__reads_as_kept(b, value->source_bits, value->is_signed) &&
		       divide(value, a, q.at, value->op == KC_OP_REM, row_log2, out);
	case KC_OP_AND:
		return mask_bits(value, a, b, row_log2, out);
	case KC_OP_EXTEND:
		return kc__reads_as_kept(a, value->source_bits, value->is_signed) &&
		       store_plane(p, value->bits, row_log2, out);
	case KC_OP_COMPARE:
		return compare(value, a, b, out);
	case KC_OP_SELECT:
		return a->uniform && store_plane(a->v[0] & 1 ? q : plane_of(c), value->bits, row_log2, out);
	default:
		return 0;
	}
}
