#include "outlook.h"

#include "predictor/math/compare.h"
#include "predictor/math/duration.h"

#include <math.h>

#define TICK_MEASUREMENTS 16u /* durations before the resolution of the clock counts as known */
/* Of a tick. A measured duration is the difference of two times, each of which is off by any part of one alike: it is
 * more than x ticks too long in (1 - x)² / 2 of all launches, one in twenty, and as often too short. */
#define TICKS_OFF 0.684
#define LARGEST_SPREAD 4.0f
#define LEAST_NAMED_SHARE 0.1f /* weight below which a model is not named */
#define LEAST_CUT_SHARE 0.5f   /* weight of contexts below which the interval is not cut to durations so far */

/* What a context's free bits hold: the age that the prediction was given an interval for, and in the highest bit
 * whether it was made beside kernels that the launch had never been seen with. */
#define AGE_MASK 31u
#define NEW_CONCURRENT 32u
_Static_assert(KC_MARGIN_AGES <= AGE_MASK + 1 && NEW_CONCURRENT <= KC_CONTEXT_FREE_MASK, "they fit");

void kc_device_experience_init(struct kc_device_experience *device, struct kc_cells *cells)
{
	*device = (struct kc_device_experience){.cells = cells};
	kc_standing_init(&device->standing, NULL);
}

void kc_kernel_experience_init(struct kc_kernel_experience *kernel, struct kc_device_experience *device)
{
	*kernel = (struct kc_kernel_experience){0};
	kc_standing_init(&kernel->standing, &device->standing);
}

struct kc_load kc_outlook_load(const struct kc_outlook *outlook, int64_t solo_ns)
{
	return kc_load_of(outlook->device, outlook->work, outlook->work->traffic_bytes, solo_ns);
}

static __attribute__((noinline)) void place_in_stream(const struct kc_outlook *outlook, struct kc_timeline *tl,
						      uint32_t stream, int64_t now_ns, int64_t solo_ns,
						      const struct kc_duration_estimate *direct,
						      struct kc_placement *out)
{
	const struct kc_expected_contention nobody = {.room = 1};
	double ns = (double)solo_ns;

	if (!kc__estimate_is_all(direct))
		ns *= (double)kc_contention_slowdown(outlook->contention, &nobody);
	if (direct->share > 0)
		ns = kc__estimate_ns(direct, ns);
	kc_timeline_occupy(tl, stream, now_ns, (int64_t)ns, out);
}

static void place(const struct kc_prediction_request *prospect, struct kc_timeline *tl, uint32_t stream, int64_t now_ns,
		  const struct kc_duration_estimate *direct, uint32_t tick_ns, struct kc_placement *out)
{
	const struct kc_outlook *outlook = &prospect->launch;
	int64_t solo_ns = prospect->solo.ns;
	struct kc_demand demand = {
	    .work = outlook->work,
	    .solo_ns = solo_ns,
	    .load = prospect->load,
	    .contention = outlook->contention,
	    .direct = *direct,
	    .identity = outlook->identity,
	    .repeated = prospect->repeated,
	};

	demand.direct.tick_ns = tick_ns;
	if (outlook->in_stream)
		place_in_stream(outlook, tl, stream, now_ns, solo_ns, &demand.direct, out);
	else
		kc_timeline_launch(tl, stream, now_ns, &demand, out);
}

static enum kc_evidence evidence_of(enum kc_novelty novelty, uint32_t known, uint64_t context, int has_concurrent)
{
	if (known == 1u << KC_CONTEXT_LAST_32 && kc_context_is_start(context))
		return KC_EVIDENCE_START;
	if (known & 1u << KC_CONTEXT_CONCURRENT)
		return KC_EVIDENCE_CONCURRENT;
	if (has_concurrent && (known || novelty == KC_REPEATED))
		return KC_EVIDENCE_NEW_CONCURRENT;
	if (known & 1u << KC_CONTEXT_LAST_1)
		return KC_EVIDENCE_LAST;
	if (known == 1u << KC_CONTEXT_ANY)
		return KC_EVIDENCE_KERNEL;
	if (known || novelty == KC_REPEATED)
		return KC_EVIDENCE_SHAPE;
	return novelty == KC_NEW_SIZE ? KC_EVIDENCE_KERNEL : KC_EVIDENCE_NONE;
}

static void collect_candidates(struct kc_candidates *out, const struct kc_solo *solo,
			       const struct kc_context_estimate *recall, enum kc_novelty novelty, uint64_t context,
			       int has_concurrent)
{
	out->present = 0;
	if (solo->ns > 0) {
		float spread = solo->half_width / KC_MARGIN_START;

		kc_candidates_add(out, KC_CANDIDATE_LAMBDA, logf((float)solo->ns),
				  spread < LARGEST_SPREAD ? spread : LARGEST_SPREAD);
	}
	if (recall->known)
		kc_candidates_add(out, KC_CANDIDATE_CONTEXT, recall->log_ns, recall->spread);
	out->evidence = evidence_of(novelty, recall->known, context, has_concurrent);
}

static int expects_no_overlap(const struct kc_expected_contention *meeting)
{
	return !(meeting->room > 1) && !(meeting->load.of[KC_LOAD_ISSUE] > 0);
}

/* Time beyond the solo time is attributed to concurrent kernels, including those launched later that have followed this
 * sequence before. Where nothing tells the solo time, and no overlap is expected, all of it is solo time. */
static void split_into_solo_and_slowdown(struct kc_prediction *out, int solo_is_known)
{
	int64_t ns = out->placement.end_ns - out->placement.start_ns;

	if (ns < out->solo_ns || (!solo_is_known && expects_no_overlap(&out->placement.meeting)))
		out->solo_ns = ns;
	out->placement.slowdown = out->solo_ns > 0 ? (float)((double)ns / (double)out->solo_ns) : 1;
}

/* The prior's guess is of a duration as programs have it, with what usually runs beside the launch. */
static int is_whole(const struct kc_solo *solo, enum kc_evidence evidence)
{
	return solo->model == KC_MODEL_PRIOR && evidence == KC_EVIDENCE_NONE;
}

static uint32_t model_of(const struct kc_duration_estimate *direct, const struct kc_solo *solo,
			 enum kc_evidence evidence)
{
	if (is_whole(solo, evidence))
		return solo->model;
	if (direct->share < LEAST_NAMED_SHARE)
		return solo->model;
	return direct->share > 1 - LEAST_NAMED_SHARE ? KC_MODEL_CONTEXT : KC_MODEL_MIX;
}

/* What is known of a launch before it has a place on the timeline. */
struct estimate {
	struct kc_duration_estimate direct;
	float below, above; /* factors from the prediction to the ends of its interval */
	float spread;
	uint32_t class, age; /* kc_margin_class(), kc_margin_age() */
	enum kc_evidence evidence;
	uint64_t context;
};

#define CACHE_ENTRIES 8192u

struct kc_estimate_cache {
	struct entry {
		uint64_t key; /* of kc_history_view */
		uint32_t news;
		struct estimate estimate;
	} at[CACHE_ENTRIES];
};

size_t kc_estimate_cache_bytes(void)
{
	return sizeof(struct kc_estimate_cache);
}

static void reach(const struct kc_prediction_request *prospect, uint32_t age, struct estimate *out)
{
	float below, above;

	kc_margins_reach(&prospect->device->margins, &prospect->kernel->margin, out->class, out->spread, age, &below,
			 &above);
	out->below = expf(-below);
	out->above = expf(above);
	out->age = age;
}

/* Apart from the code of launches whose estimate is in the cache, which the caches are empty of, too. */
static __attribute__((noinline)) void make_estimate(const struct kc_prediction_request *prospect, uint64_t context,
						    int has_concurrent, uint32_t age, struct kc_candidates *candidates,
						    struct estimate *out)
{
	const struct kc_device_experience *device = prospect->device;
	struct kc_context_estimate recall = {0};
	struct kc_mix mix;

	if (device->cells)
		kc_cells_estimate(device->cells, &prospect->name, context, &recall);
	collect_candidates(candidates, &prospect->solo, &recall, prospect->novelty, context, has_concurrent);
	kc_standing_mix(&prospect->kernel->standing, candidates, &mix);
	out->class = kc_margin_class(candidates->evidence, mix.spread);
	out->evidence = candidates->evidence;
	out->spread = mix.spread;
	out->direct = mix.direct;
	if (is_whole(&prospect->solo, candidates->evidence))
		out->direct = (struct kc_duration_estimate){.log_ns = mix.solo_log_ns, .share = 1};
	out->context = context;
	reach(prospect, age, out);
}

/* Whether the same launches came before, the same kernels run beside it, and nothing was learned since. */
static int is_current(const struct entry *entry, const struct kc_history_view *view,
		      const struct kc_prediction_request *prospect)
{
	return entry->key == view->key && entry->news == prospect->news &&
	       (entry->estimate.context & KC_CONTEXT_CONCURRENT_MASK) == view->beside;
}

/* Launches that differ in what runs beside them alone, as those in turn on several streams do, have places of their
 * own. */
static struct entry *entry_of(struct kc_estimate_cache *cache, const struct kc_history_view *view)
{
	return &cache->at[(view->key + (view->beside >> KC_CONTEXT_CONCURRENT_SHIFT)) % CACHE_ENTRIES];
}

static const struct estimate *cached_or_new_estimate(const struct kc_prediction_request *prospect,
						     const struct kc_history *history, uint32_t stream, int64_t now_ns,
						     uint32_t age, struct kc_candidates *candidates,
						     struct estimate *space)
{
	struct kc_history_view view;
	struct entry *entry;
	struct estimate *estimate;

	kc_history_look(history, prospect->name.launch, stream, now_ns, &view);
	entry = prospect->answers ? entry_of(prospect->answers, &view) : NULL;
	estimate = entry ? &entry->estimate : space;
	if (entry && is_current(entry, &view, prospect)) {
		candidates->present = 0;
		if (estimate->age != age)
			reach(prospect, age, estimate);
		return estimate;
	}
	make_estimate(prospect, kc_history_context_beside(history, prospect->name.launch, view.concurrent),
		      view.concurrent != 0, age, candidates, estimate);
	if (entry) {
		entry->key = view.key;
		entry->news = prospect->news;
	}
	return estimate;
}

/* Where it is known how long such launches take, whatever runs beside them, they hardly leave the range of the
 * durations so far, however wide the interval. */
static void cut_to_range(const struct kc_range *range, const struct estimate *estimate,
			 const struct kc_placement *placement, float *below, float *above)
{
	float ns = (float)(placement->end_ns - placement->start_ns), low_ns, high_ns;

	*below = estimate->below;
	*above = estimate->above;
	if (estimate->direct.share < LEAST_CUT_SHARE || !(ns > 0) ||
	    !kc_range_ends(range, estimate->age, &low_ns, &high_ns))
		return;
	*below = kc__lesser(kc__greater(*below, low_ns / ns), 1);
	*above = kc__greater(kc__lesser(*above, high_ns / ns), 1);
}

/* Where nothing was measured of a kernel whose code bounds its time, its interval does not begin below, whatever was
 * learned of widths. Beside others it takes longer, never shorter. */
static void cut_to_code(const struct kc_prediction_request *prospect, const struct estimate *estimate,
			const struct kc_placement *placement, float *below)
{
	float ns = (float)(placement->end_ns - placement->start_ns);

	if (prospect->solo.model == KC_MODEL_BSP_CODE && !(estimate->direct.share > 0) && ns > 0)
		*below = kc__lesser(kc__greater(*below, (float)prospect->launch.work->counted_least_ns / ns), 1);
}

/* The clock that measures shows nothing between its ticks, so the interval reaches to the next one if that is near.
 * What is learned of widths knows no ticks: then they would become narrow until they did not reach the next one in one
 * launch of ten. */
static void set_interval(struct kc_prediction *out, double below, double above, uint32_t tick_ns)
{
	double low_ns = (double)out->solo_ns * below, high_ns = (double)out->solo_ns * above;
	double slowdown = (double)out->placement.slowdown;

	if (tick_ns > 1 && slowdown > 0) {
		double low_ticks = low_ns * slowdown / tick_ns, high_ticks = high_ns * slowdown / tick_ns;

		low_ns = fmin(low_ticks, ceil(low_ticks - TICKS_OFF)) * tick_ns / slowdown;
		high_ns = fmax(high_ticks, floor(high_ticks + TICKS_OFF)) * tick_ns / slowdown;
	}
	out->solo_low_ns = kc__whole_ns(low_ns);
	out->solo_high_ns = kc__whole_ns_above(high_ns);
}

/* At most what the stream awaits: measurements can be lost. */
static uint32_t in_flight(const struct kc_outstanding *outstanding, uint32_t awaited)
{
	uint32_t n;

	if (!outstanding)
		return 0;
	n = atomic_load_explicit(&outstanding->launched, memory_order_relaxed) -
	    atomic_load_explicit(&outstanding->measured, memory_order_relaxed);
	return n < awaited ? n : awaited;
}

/* Launching threads take turns. */
static void count_launch(struct kc_outstanding *outstanding)
{
	if (outstanding)
		atomic_store_explicit(&outstanding->launched,
				      atomic_load_explicit(&outstanding->launched, memory_order_relaxed) + 1,
				      memory_order_relaxed);
}

__attribute__((hot)) void kc_outlook_predict(const struct kc_prediction_request *prospect, struct kc_timeline *tl,
					     struct kc_history *history, uint32_t stream, int64_t now_ns,
					     struct kc_prediction *out)
{
	struct estimate space;
	uint32_t awaited = kc_timeline_awaited(tl, stream);
	uint32_t age = kc_margin_age(awaited, in_flight(prospect->outstanding, awaited), prospect->measured);
	const struct estimate *estimate =
	    cached_or_new_estimate(prospect, history, stream, now_ns, age, &out->candidates, &space);
	uint32_t tick_ns = __atomic_load_n(&prospect->device->tick_ns, __ATOMIC_RELAXED);
	float below, above;

	out->solo_ns = prospect->solo.ns;
	place(prospect, tl, stream, now_ns, &estimate->direct, tick_ns, &out->placement);
	split_into_solo_and_slowdown(out, prospect->alone);
	cut_to_range(prospect->range, estimate, &out->placement, &below, &above);
	cut_to_code(prospect, estimate, &out->placement, &below);
	set_interval(out, (double)below, (double)above, tick_ns);
	out->model = model_of(&estimate->direct, &prospect->solo, estimate->evidence);
	age |= estimate->evidence == KC_EVIDENCE_NEW_CONCURRENT ? NEW_CONCURRENT : 0;
	out->context = estimate->context | (uint64_t)age << KC_CONTEXT_FREE_SHIFT;
	kc_history_add(history, prospect->name.launch, stream, out->placement.end_ns);
	count_launch(prospect->outstanding);
}

#define EARLY_MEASUREMENTS 8u /* each of which changes the estimates */
#define LATER_INTERVAL 16u    /* of the later ones, one in so many does */

int kc_outlook_changes_estimates(const struct kc_measured_launch *o, uint32_t measured)
{
	return measured < EARLY_MEASUREMENTS || measured % LATER_INTERVAL == 0 || o->measured_ns < o->low_ns ||
	       o->measured_ns > o->high_ns;
}

static void learn_tick(struct kc_device_experience *device, int64_t measured_ns)
{
	uint64_t a = device->tick, b = (uint64_t)measured_ns;

	while (a != 1 && b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	device->tick = a;
	device->timed += device->timed < TICK_MEASUREMENTS;
	if (device->timed == TICK_MEASUREMENTS)
		__atomic_store_n(&device->tick_ns, (uint32_t)(a < UINT32_MAX ? a : 1), __ATOMIC_RELAXED);
}

/* On which side of the interval it is that the launch would be given now. */
static int side_now(const struct kc_measured_launch *o, const struct kc_mix *mix, uint32_t class, float log_ns)
{
	float solo_log_ns = mix->solo_log_ns + (o->slowdown > 1 ? logf(o->slowdown) : 0);
	float predicted = mix->direct.share * mix->direct.log_ns + (1 - mix->direct.share) * solo_log_ns;
	float below, above;

	kc_margins_reach(&o->device->margins, &o->kernel->margin, class, mix->spread, KC_MARGIN_NOW, &below, &above);
	return log_ns < predicted - below ? -1 : log_ns > predicted + above;
}

static void learn_margins(const struct kc_measured_launch *o, const struct kc_candidates *candidates, float log_ns)
{
	uint32_t age = (uint32_t)(o->context >> KC_CONTEXT_FREE_SHIFT) & AGE_MASK, class;
	int side = o->measured_ns < o->low_ns ? -1 : o->measured_ns > o->high_ns;
	struct kc_margins *margins = &o->device->margins;
	struct kc_mix mix;

	kc_margins_learn_age(margins, age % KC_MARGIN_AGES, side, o->event - o->known);
	if (!candidates->present)
		return;
	kc_standing_mix(&o->kernel->standing, candidates, &mix);
	class = kc_margin_class(candidates->evidence, mix.spread);
	kc_margins_learn(margins, &o->kernel->margin, class, side_now(o, &mix, class, log_ns));
}

void kc_outlook_measured(const struct kc_measured_launch *o)
{
	int beside_new = (o->context >> KC_CONTEXT_FREE_SHIFT & NEW_CONCURRENT) != 0;
	struct kc_standing *standing = &o->kernel->standing;
	struct kc_candidates candidates;
	struct kc_context_estimate recall = {0};
	float log_ns;

	if (o->measured_ns <= 0)
		return;
	log_ns = logf((float)o->measured_ns);
	if (o->device->cells)
		kc_cells_learn(o->device->cells, &standing->estimators, &o->name, o->context, log_ns, &recall);
	collect_candidates(&candidates, &o->solo, &recall, o->novelty, o->context, beside_new);
	if (!kc_lacks(o->without, KC_LAYER_MARGINS)) {
		if (o->range)
			kc_range_learn(o->range, (float)o->measured_ns);
		learn_margins(o, &candidates, log_ns);
	}
	if (!kc_lacks(o->without, KC_LAYER_MIX))
		kc_standing_learn(standing, &candidates, o->slowdown, log_ns);
	learn_tick(o->device, o->measured_ns);
}

/* The slowdown refers to the solo time as known now, not at the launch. Where λ was learned from launches that ran
 * alone, one that overlapped others teaches it nothing more. One that ran alone was not slowed down, however long it
 * took beside its solo time: that may be another size, of which nothing is known. */
void kc_outlook_learn(const struct kc_decided_launch *lesson)
{
	struct kc_belief belief = kc_lambda_belief(lesson->lambda, 0);
	struct kc_solo solo = kc_forecast_solo(lesson->work, &belief, NULL, NULL);

	if (lesson->contention && belief.count)
		kc_contention_learn(lesson->contention, &lesson->meeting, &lesson->met, solo.ns,
				    lesson->overlapped ? lesson->measured_ns : solo.ns);
	if (!lesson->overlapped || !lesson->solos)
		kc_lambda_learn(lesson->lambda, lesson->work, lesson->measured_ns, lesson->overlapped,
				lesson->slowdown);
}
