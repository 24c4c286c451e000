#include "correction.h"

#include <math.h>
#include <string.h>

/* Log time. Chosen on the recorded traces marked "choose", each with trees that had not seen its program. */
#define CENTRE 10.0       /* of the lines: 22 µs */
#define OFFSET_WORTH 4.0  /* what offset 0 is worth in launches: (0.8 / 0.4)², noise and spread between programs */
#define SLOPE_WORTH 16.0  /* the same of slope 0: (0.8 / 0.2)² */
#define SHIFT_WORTH 2.0f  /* the same of shift 0 */
#define LARGEST_STEP 1.5f /* a launch counts as no further off than this */
#define LINE_MEMORY 120.0 /* launches; older ones fade */
#define SHIFT_MEMORY 20.0f
#define CLEARLY_LESS 0.3f /* from which a lesson is changed */

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t pack(float value, uint32_t other)
{
	return (uint64_t)other << 32 | bits_of(value);
}

static float on_line(const struct kc_correction_line *line, float log_ns)
{
	uint64_t word = __atomic_load_n(&line->published, __ATOMIC_RELAXED);

	return float_of((uint32_t)word) + float_of((uint32_t)(word >> 32)) * (log_ns - (float)CENTRE);
}

static float shift_of(const struct kc_correction_shift *shift, uint32_t kin)
{
	uint64_t word = __atomic_load_n(&shift->published, __ATOMIC_RELAXED);

	return word >> 32 == kin ? float_of((uint32_t)word) : 0;
}

float kc_correction_of(const struct kc_correction *correction, const struct kc_name_traits *name, float log_ns)
{
	return on_line(&correction->lines[name->family], log_ns) +
	       shift_of(&correction->shifts[name->kin % KC_CORRECTION_KIN], name->kin);
}

static float clipped(float x)
{
	return fminf(fmaxf(x, -LARGEST_STEP), LARGEST_STEP);
}

static void solve(struct kc_correction_line *line)
{
	double a = line->weight + OFFSET_WORTH, b = line->sum_xx + SLOPE_WORTH;
	double determinant = a * b - line->sum_x * line->sum_x;

	__atomic_store_n(&line->published,
			 pack((float)((b * line->sum_y - line->sum_x * line->sum_xy) / determinant),
			      bits_of((float)((a * line->sum_xy - line->sum_x * line->sum_y) / determinant))),
			 __ATOMIC_RELAXED);
}

static void learn_line(struct kc_correction_line *line, float log_ns, float off, double weight)
{
	double x = (double)log_ns - CENTRE, y = (double)off, fade = LINE_MEMORY / fmax(line->weight, LINE_MEMORY);

	line->weight = line->weight * fade + weight;
	line->sum_x = line->sum_x * fade + weight * x;
	line->sum_y = line->sum_y * fade + weight * y;
	line->sum_xx = line->sum_xx * fade + weight * x * x;
	line->sum_xy = line->sum_xy * fade + weight * x * y;
	line->log_fade += log(fade);
	solve(line);
}

/* Of two kinds that share a place, the newer one has it. */
static void learn_shift(struct kc_correction_shift *shift, uint32_t kin, float off, float weight)
{
	float value = shift_of(shift, kin);

	if (shift->published >> 32 != kin)
		shift->weight = 0;
	shift->weight = fminf(shift->weight + weight, SHIFT_MEMORY);
	value += weight / (shift->weight + SHIFT_WORTH) * clipped(off - value);
	__atomic_store_n(&shift->published, pack(value, kin), __ATOMIC_RELAXED);
}

static struct kc_correction_shift *shift_at(struct kc_correction *correction, const struct kc_name_traits *name)
{
	return &correction->shifts[name->kin % KC_CORRECTION_KIN];
}

void kc_correction_learn(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, float weight, struct kc_correction_lesson *lesson)
{
	struct kc_correction_line *line = &correction->lines[name->family];
	float expected = on_line(line, log_ns), off = measured_log_ns - log_ns;
	float counted = expected + clipped(off - expected);

	learn_line(line, log_ns, counted, (double)weight);
	learn_shift(shift_at(correction, name), name->kin, off - expected, weight);
	lesson->weight += weight;
	lesson->off += weight / lesson->weight * (counted - lesson->off);
	lesson->log_fade = line->log_fade;
}

void kc_correction_amend(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, struct kc_correction_lesson *lesson)
{
	struct kc_correction_line *line = &correction->lines[name->family];
	float expected = on_line(line, log_ns), off = measured_log_ns - log_ns;
	double less = (double)(expected + clipped(off - expected) - lesson->off);
	double weight;

	if (!(lesson->weight > 0) || !(less < -(double)CLEARLY_LESS))
		return;
	weight = (double)lesson->weight * exp(line->log_fade - lesson->log_fade);
	line->sum_y += weight * less;
	line->sum_xy += weight * less * ((double)log_ns - CENTRE);
	solve(line);
	learn_shift(shift_at(correction, name), name->kin, off - on_line(line, log_ns), lesson->weight);
	lesson->off += (float)less;
}
