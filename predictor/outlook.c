#include "outlook.h"

struct kc_load kc_outlook_load(const struct kc_outlook *outlook, int64_t solo_ns)
{
	return kc_load_of(outlook->device, outlook->work, outlook->work->traffic_bytes, solo_ns);
}

void kc_outlook_place(const struct kc_outlook *outlook, struct kc_timeline *tl, uint32_t stream, int64_t now_ns,
		      int64_t solo_ns, struct kc_placement *out)
{
	struct kc_demand demand = {
	    .work = outlook->work,
	    .solo_ns = solo_ns,
	    .load = kc_outlook_load(outlook, solo_ns),
	    .contention = outlook->contention,
	    .identity = outlook->identity,
	};

	kc_timeline_launch(tl, stream, now_ns, &demand, out);
}

/* What is believed of its time alone now, not at the launch: the slowdown is
 * the rest. Where λ is known from runs alone, an overlapped one tells nothing
 * more about it. */
void kc_outlook_learn(const struct kc_lesson *lesson)
{
	struct kc_belief belief = kc_lambda_belief(lesson->lambda, 0);
	struct kc_solo solo = kc_forecast_solo(lesson->work, &belief, NULL, NULL);

	if (lesson->contention && belief.count)
		kc_contention_learn(lesson->contention, &lesson->meeting, &lesson->met, solo.ns, lesson->measured_ns);
	if (!lesson->overlapped || !lesson->solos)
		kc_lambda_learn(lesson->lambda, lesson->work, lesson->measured_ns, lesson->overlapped,
				lesson->slowdown);
}
