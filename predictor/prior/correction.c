#include "correction.h"

#include "predictor/math/dense.h"

#include <math.h>
#include <string.h>

/* Log time. Chosen on the recorded traces marked "choose", each with trees that had not seen its program; all of them
 * may be a third larger or smaller. */
#define COMMON 0.02f      /* variance of what all kernels of a process share, beside 1 for kernels of one name */
#define REACH 1.5f        /* a guess so far away is e^-1/2 times as like */
#define NOISE 0.16        /* variance of one launch around its kind */
#define LARGEST_STEP 1.5f /* a launch counts as no further off than this */
#define CLEARLY_LESS 0.3f /* from which a lesson is changed */

/* Of reading while the learner writes. A try takes 1 µs, which is more than writing takes, unless the learner is
 * stopped in between. */
#define TRIES 3

static uint64_t packed(float first, float second)
{
	float both[2] = {first, second};
	uint64_t word;

	memcpy(&word, both, sizeof(word));
	return word;
}

static float likeness(uint64_t a, float a_log_ns, uint64_t b, float b_log_ns)
{
	float shared = (float)__builtin_popcountll(a & b), all = (float)__builtin_popcountll(a | b);
	float apart = (a_log_ns - b_log_ns) / REACH;

	return COMMON + (all > 0 ? shared / all : 1) * expf(-apart * apart / 2);
}

float kc_correction_of(const struct kc_correction *correction, const struct kc_name_traits *name, float log_ns)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint32_t before = atomic_load_explicit(&correction->sequence, memory_order_acquire);
		float sum = 0;

		for (uint32_t i = 0, n = atomic_load_explicit(&correction->count, memory_order_acquire); i < n; i++) {
			const struct kc_correction_told *told = &correction->told[i];
			uint64_t marks = atomic_load_explicit(&told->marks, memory_order_acquire);
			uint64_t pull = atomic_load_explicit(&told->pull, memory_order_acquire);
			float place[2];

			memcpy(place, &pull, sizeof(place));
			sum += place[1] * likeness(name->marks, log_ns, marks, place[0]);
		}
		if (!(before & 1) && before == atomic_load_explicit(&correction->sequence, memory_order_relaxed))
			return sum;
	}
	return 0;
}

static void tell(struct kc_correction *correction, const double *pull, uint32_t count)
{
	uint32_t sequence = atomic_load_explicit(&correction->sequence, memory_order_relaxed);

	atomic_store_explicit(&correction->sequence, sequence + 1, memory_order_relaxed);
	atomic_store_explicit(&correction->count, count, memory_order_release);
	for (uint32_t i = 0; i < count; i++) {
		const struct kc_correction_taught *taught = &correction->taught[i];

		atomic_store_explicit(&correction->told[i].marks, taught->marks, memory_order_release);
		atomic_store_explicit(&correction->told[i].pull, packed(taught->log_ns, (float)pull[i]),
				      memory_order_release);
	}
	atomic_store_explicit(&correction->sequence, sequence + 2, memory_order_release);
}

static void solve(struct kc_correction *correction)
{
	uint32_t count = correction->lessons < KC_CORRECTION_LESSONS ? correction->lessons : KC_CORRECTION_LESSONS;
	double like[KC_CORRECTION_LESSONS * KC_CORRECTION_LESSONS], pull[KC_CORRECTION_LESSONS];

	for (uint32_t i = 0; i < count; i++) {
		const struct kc_correction_taught *a = &correction->taught[i];

		for (uint32_t j = 0; j <= i; j++) {
			const struct kc_correction_taught *b = &correction->taught[j];

			like[i * count + j] = (double)likeness(a->marks, a->log_ns, b->marks, b->log_ns);
		}
		like[i * count + i] += NOISE / (double)a->weight;
		pull[i] = (double)a->off;
	}
	if (kc__cholesky(like, count))
		return;
	kc__solve_lower(like, count, pull);
	kc__solve_upper(like, count, pull);
	tell(correction, pull, count);
}

/* NULL: there is none, or it was forgotten. */
static struct kc_correction_taught *taught_by(struct kc_correction *correction,
					      const struct kc_correction_lesson *lesson)
{
	struct kc_correction_taught *taught = &correction->taught[(lesson->number - 1) % KC_CORRECTION_LESSONS];

	return lesson->number && taught->number == lesson->number ? taught : NULL;
}

static struct kc_correction_taught *begin_lesson(struct kc_correction *correction, const struct kc_name_traits *name,
						 float log_ns, struct kc_correction_lesson *lesson)
{
	uint32_t slot = correction->lessons++ % KC_CORRECTION_LESSONS;
	struct kc_correction_taught *taught = &correction->taught[slot];

	*taught = (struct kc_correction_taught){.marks = name->marks, .log_ns = log_ns, .number = correction->lessons};
	lesson->number = correction->lessons;
	return taught;
}

/* By how much the launch is off, and counts as being off. */
static float counted(const struct kc_correction *correction, const struct kc_name_traits *name, float log_ns, float off)
{
	float expected = kc_correction_of(correction, name, log_ns);

	return expected + fminf(fmaxf(off - expected, -LARGEST_STEP), LARGEST_STEP);
}

void kc_correction_learn(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, float weight, struct kc_correction_lesson *lesson)
{
	float off = counted(correction, name, log_ns, measured_log_ns - log_ns);
	struct kc_correction_taught *taught = taught_by(correction, lesson);

	if (!taught)
		taught = begin_lesson(correction, name, log_ns, lesson);
	taught->weight += weight;
	taught->off += weight / taught->weight * (off - taught->off);
	solve(correction);
}

void kc_correction_amend(struct kc_correction *correction, const struct kc_name_traits *name, float log_ns,
			 float measured_log_ns, const struct kc_correction_lesson *lesson)
{
	struct kc_correction_taught *taught = taught_by(correction, lesson);
	float off = measured_log_ns - log_ns;

	if (!taught || !(off < taught->off - CLEARLY_LESS))
		return;
	taught->off = fminf(taught->off, counted(correction, name, log_ns, off));
	solve(correction);
}
