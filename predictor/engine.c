#include "predictor/engine_counters.h"

#include "predictor/concurrency/overlap.h"
#include "predictor/prior/usual.h"

#include <math.h>
#include <stddef.h>

#define NEW_SIZE_WORTH 0.5f /* to the rivals, beside the first launch of a kernel */
/* Of what a launch teaches the rivals, before it is known to have run alone. Next to others it may have taken many
 * times as long, and many that are beside others at once are all wrong together. On the recorded traces that are marked
 * "choose", 0.03 to 0.1 serve about equally well. */
#define AT_ONCE 0.03f

static void lock(const struct kc_engine *engine)
{
	if (engine->driver.lock)
		engine->driver.lock(engine->driver.arg);
}

static void unlock(const struct kc_engine *engine)
{
	if (engine->driver.unlock)
		engine->driver.unlock(engine->driver.arg);
}

/* Publishing: when a belief has changed enough to matter to a prediction */

static int publish(struct kc_engine *engine, struct kc_learned *learned, struct kc_engine_publication *publication)
{
	if (!kc_lambda_needs_publishing(&learned->lambda, &learned->last))
		return 0;
	learned->last = kc_lambda_belief(&learned->lambda, ++engine->states);
	kc_published_write(&learned->published, &learned->last);
	publication->lambda = &learned->lambda;
	publication->belief = learned->last;
	if (engine->driver.published)
		engine->driver.published(publication, engine->driver.arg);
	return 1;
}

static void publish_parents(struct kc_engine *engine, struct kc_engine_key *key, enum kc_unit unit,
			    struct kc_engine_publication *publication)
{
	struct kc_engine_device *device = key->kernel->device;

	publication->device = device;
	publication->model = unit == KC_UNIT_NOMINAL ? KC_MODEL_BSP_DEVICE : KC_MODEL_BSP_CODE;
	publish(engine, &device->learned.levels[unit], publication);
	publication->key = key;
	publication->model = unit == KC_UNIT_NOMINAL ? KC_MODEL_BSP_KERNEL : KC_MODEL_BSP_SIZES;
	publish(engine, &key->learned.levels[unit], publication);
}

static void publish_variant(struct kc_engine *engine, struct kc_engine_variant *variant)
{
	struct kc_engine_publication publication = {0};

	publish_parents(engine, variant->key, variant->work.counted, &publication);
	publication.variant = variant;
	publication.model = KC_MODEL_BSP_SHAPE;
	if (publish(engine, &variant->learned.level, &publication))
		kc__add_one(&variant->news);
}

/* Predicting */

static void predict_by_law(struct kc_engine *engine, const struct kc_engine_variant *variant, struct kc_solo *solo)
{
	struct kc_scaling_size size = variant->scale;

	if (kc_lacks(engine->without, KC_LAYER_PRIOR))
		size.log_guess_ns = 0;
	solo->model = KC_MODEL_NONE;
	kc_scaling_predict(&kc_scaling_law_default, &variant->kernel->learned.scaling, &size, &engine->space, solo);
}

/* Whether the numbers among its arguments are learned from. */
static int has_numbers(const struct kc_engine_variant *variant)
{
	return variant->numbers.count && variant->kernel->by_arguments;
}

static void predict_by_sizes(struct kc_engine *engine, struct kc_engine_variant *variant)
{
	const struct kc_engine_kernel *kernel = variant->kernel;

	if (variant->work.counted) {
		variant->by_sizes.model = KC_MODEL_NONE;
		kc_sizes_predict(&variant->key->learned.sizes, kernel->device->info, &variant->size,
				 variant->work.launch_ns, &variant->by_sizes);
		return;
	}
	predict_by_law(engine, variant, &variant->by_sizes);
	if (has_numbers(variant))
		kc_arguments_predict(kernel->by_arguments, &variant->numbers, &variant->scale, &engine->space,
				     &variant->by_sizes);
}

uint32_t kc_engine_sizes_known(const struct kc_engine_variant *variant)
{
	return atomic_load_explicit(
	    variant->work.counted ? &variant->key->sizes_generation : &variant->kernel->scalings, memory_order_acquire);
}

/* From other sizes of its kernel; of its block shape, where the code tells the work. 0: none was measured. held: the
 * lock is. */
static int by_sizes(struct kc_engine *engine, struct kc_engine_variant *variant, int held, struct kc_solo *solo)
{
	uint32_t generation = kc_engine_sizes_known(variant);

	if (!generation)
		return 0;
	if (!held)
		lock(engine);
	if (variant->sizes_seen != generation) {
		predict_by_sizes(engine, variant);
		variant->sizes_seen = generation;
	}
	*solo = variant->by_sizes;
	if (!held)
		unlock(engine);
	return solo->model != KC_MODEL_NONE;
}

/* Of the device's λ and nominal work, for which nothing of the kernel is known. */
static struct kc_solo nominal_guess(const struct kc_engine_variant *variant)
{
	const struct kc_engine_device *device = variant->kernel->device;
	struct kc_belief general;
	struct kc_solo solo;

	kc_published_read(&device->learned.levels[KC_UNIT_NOMINAL].published, &general);
	solo = kc_forecast_solo(&variant->work, NULL, NULL, &general);
	kc_usual_bound(&variant->work, &solo);
	return solo;
}

/* Before the kernel was measured: of the device's λ, and of both rivals where that is all that is known. */
static struct kc_solo first_guess(const struct kc_engine *engine, const struct kc_engine_variant *variant,
				  const struct kc_belief *key)
{
	const struct kc_engine_device *device = variant->kernel->device;
	struct kc_belief general;
	struct kc_solo solo;

	if (variant->work.counted || key->count) {
		kc_published_read(&device->learned.levels[variant->work.counted].published, &general);
		return kc_forecast_solo(&variant->work, NULL, key, &general);
	}
	solo = nominal_guess(variant);
	if (!kc_lacks(engine->without, KC_LAYER_PRIOR))
		kc_rivals_mix(&device->learned.rivals, &variant->kernel->name, variant->prior_log_ns, &solo);
	return solo;
}

static struct kc_solo solo_of(struct kc_engine *engine, struct kc_engine_variant *variant, int held)
{
	struct kc_belief own, key = {0};
	struct kc_solo solo;

	kc_published_read(&variant->learned.level.published, &own);
	if (own.count && !kc_lacks(engine->without, KC_LAYER_LAMBDA))
		return kc_forecast_solo(&variant->work, &own, NULL, NULL);
	if (!kc_lacks(engine->without, KC_LAYER_SIZES) && !kc__count_of(&variant->learned.measured) &&
	    by_sizes(engine, variant, held, &solo))
		return solo;
	if (!variant->work.counted &&
	    !kc_lacks(engine->without, KC_LAYER_LAMBDA)) /* else the sizes of the key say more than its λ */
		kc_published_read(&variant->key->learned.levels[KC_UNIT_NOMINAL].published, &key);
	return first_guess(engine, variant, &key);
}

/* Where the work is counted, launches with other arguments are another size. */
enum kc_novelty kc_engine_novelty(const struct kc_engine_variant *variant)
{
	const _Atomic uint32_t *measured = variant->work.counted ? &variant->learned.measured : variant->shape_measured;

	return kc_novelty(kc__count_of(measured), kc__count_of(&variant->kernel->learned.measured));
}

static struct kc_outlook outlook_of(const struct kc_engine_variant *variant)
{
	return (struct kc_outlook){
	    .device = variant->kernel->device->info,
	    .work = &variant->work,
	    .contention = &variant->learned.contention,
	    .identity = (uint32_t)variant->name.launch,
	};
}

struct kc_load kc_engine_load(const struct kc_engine_variant *variant, int64_t solo_ns)
{
	struct kc_outlook outlook = outlook_of(variant);

	return kc_outlook_load(&outlook, solo_ns);
}

static void switch_off(uint32_t without, struct kc_outlook *outlook)
{
	if (kc_lacks(without, KC_LAYER_CONTENTION))
		outlook->contention = NULL;
	outlook->in_stream = kc_lacks(without, KC_LAYER_PLACEMENT);
}

void kc_engine_ask(struct kc_engine *engine, struct kc_engine_variant *variant, struct kc_estimate_cache *answers,
		   struct kc_prediction_request *prospect)
{
	prospect->launch = outlook_of(variant);
	prospect->name = variant->name;
	prospect->novelty = kc_engine_novelty(variant);
	prospect->lessons = atomic_load_explicit(&variant->kernel->device->lessons, memory_order_acquire);
	prospect->belief = kc_published_number(&variant->learned.level.published);
	prospect->solo = solo_of(engine, variant, 0);
	prospect->load = kc_outlook_load(&prospect->launch, prospect->solo.ns);
	prospect->alone = kc__count_of(&variant->learned.solos) != 0;
	prospect->device = &variant->kernel->device->learned.experience;
	prospect->kernel = &variant->kernel->learned.experience;
	prospect->range = &variant->learned.range;
	prospect->outstanding = &variant->outstanding;
	prospect->measured = kc__count_of(&variant->learned.measured);
	prospect->known = kc_engine_known(engine);
	prospect->answers = answers;
	prospect->repeated = NULL;
	prospect->news = kc__count_of(&variant->news);
	if (engine->without)
		switch_off(engine->without, &prospect->launch);
}

/* Its own λ, once there is one, is all that the time alone rests on. */
static int is_current(const struct kc_prediction_request *said, const struct kc_engine_variant *variant)
{
	if (said->solo.model == KC_MODEL_BSP_SHAPE)
		return said->belief == kc_published_number(&variant->learned.level.published);
	return said->lessons == kc__count_of(&variant->kernel->device->lessons);
}

/* Where launches were placed says nothing once more is known. */
static void begin_placing(struct kc_engine_asked *asked, uint32_t lessons)
{
	if (asked->placed != lessons)
		asked->repeated.known = 0;
	asked->placed = lessons;
}

struct kc_prediction_request *kc_engine_keep(struct kc_engine_variant *variant,
					     const struct kc_prediction_request *said)
{
	struct kc_engine_asked *asked = &variant->asked;

	asked->request = *said;
	asked->request.repeated = &asked->repeated;
	begin_placing(asked, said->lessons);
	return &asked->request;
}

/* Of the request's device, which is not NULL. */
static uint32_t lessons_of(const struct kc_prediction_request *request)
{
	const char *experience = (const char *)request->device;
	const struct kc_engine_device *device =
	    (const void *)(experience - offsetof(struct kc_engine_device, learned.experience));

	return kc__count_of(&device->lessons);
}

/* Something was learned on the device since the request was made or used. 0: it has to be asked again. */
static int refresh(struct kc_engine_asked *asked, const struct kc_engine_variant *variant)
{
	struct kc_prediction_request *request = &asked->request;

	if (!is_current(request, variant))
		return 0;
	if (request->novelty != KC_REPEATED)
		request->novelty = kc_engine_novelty(variant);
	request->alone = kc__count_of(&variant->learned.solos) != 0;
	request->measured = kc__count_of(&variant->learned.measured);
	request->news = kc__count_of(&variant->news);
	begin_placing(asked, lessons_of(request));
	return 1;
}

__attribute__((hot)) struct kc_prediction_request *kc_engine_asked(const struct kc_engine *engine,
								   struct kc_engine_variant *variant)
{
	struct kc_engine_asked *asked = &variant->asked;
	struct kc_prediction_request *request = &asked->request;

	if (!request->device || (asked->placed != lessons_of(request) && !refresh(asked, variant)))
		return NULL;
	request->known = kc_engine_known(engine);
	return request;
}

void kc_engine_interval(const struct kc_engine_launch *launch, int64_t *low_ns, int64_t *high_ns)
{
	*low_ns = (int64_t)((double)launch->solo_low_ns * (double)launch->slowdown);
	*high_ns = (int64_t)ceil((double)launch->solo_high_ns * (double)launch->slowdown);
}

__attribute__((hot)) void kc_engine_predict(const struct kc_prediction_request *prospect,
					    const struct kc_engine_stage *stage, uint32_t stream, int64_t now_ns,
					    struct kc_prediction *prediction, struct kc_engine_launch *launch)
{
	const struct kc_placement *placement = &prediction->placement;

	kc_outlook_predict(prospect, stage->timeline, stage->history, stream, now_ns, prediction);
	launch->context = prediction->context;
	launch->known = prospect->known;
	launch->meeting = kc_expected_contention_pack(&placement->meeting);
	launch->in_graph = 0;
	launch->solo_ns = prediction->solo_ns;
	launch->solo_low_ns = prediction->solo_low_ns;
	launch->solo_high_ns = prediction->solo_high_ns;
	launch->slowdown = placement->slowdown;
	launch->contended = placement->contended > 0
				? placement->contended
				: kc_contention_slowdown(prospect->launch.contention, &placement->meeting);
}

/* Learning */

/* Not those of earlier runs. */
static void count_answered(struct kc_outstanding *outstanding)
{
	if (kc__count_of(&outstanding->measured) != kc__count_of(&outstanding->launched))
		kc__add_one(&outstanding->measured);
}

static void count_measured(struct kc_engine_variant *variant, int in_graph)
{
	kc__add_one(&variant->learned.measured);
	kc__add_one(variant->shape_measured);
	kc__add_one(&variant->kernel->learned.measured);
	if (!in_graph)
		count_answered(&variant->outstanding);
}

static void teach_rivals(struct kc_engine_variant *variant, int64_t measured_ns, float weight)
{
	kc_rivals_learn(&variant->kernel->device->learned.rivals, &variant->kernel->name, variant->prior_log_ns,
			&variant->guess, measured_ns, weight, &variant->lesson);
}

/* The first of a launch shape, before it is learned otherwise: the guess that is judged must not have seen it. */
static void begin_lesson(const struct kc_engine *engine, struct kc_engine_variant *variant, enum kc_novelty novelty,
			 int64_t measured_ns)
{
	float weight = novelty == KC_FIRST_SEEN ? 1 : NEW_SIZE_WORTH;

	if (novelty == KC_REPEATED || variant->work.counted)
		return;
	variant->guess = nominal_guess(variant);
	if (kc_lacks(engine->without, KC_LAYER_PRIOR))
		return;
	teach_rivals(variant, measured_ns, weight * AT_ONCE);
	variant->lesson_rest = weight * (1 - AT_ONCE);
}

/* One that ran alone. */
static void go_on_with_lesson(struct kc_engine_variant *variant, int64_t measured_ns)
{
	if (variant->lesson_rest > 0)
		teach_rivals(variant, measured_ns, variant->lesson_rest);
	else
		kc_rivals_amend(&variant->kernel->device->learned.rivals, &variant->kernel->name, variant->prior_log_ns,
				measured_ns, &variant->lesson);
	variant->lesson_rest = 0;
}

/* Launches with the same arguments again say nothing new of others. */
static void learn_arguments(struct kc_engine *engine, const struct kc_engine_variant *variant, int64_t measured_ns)
{
	struct kc_solo law;

	if (!has_numbers(variant) || kc__count_of(&variant->learned.measured))
		return;
	predict_by_law(engine, variant, &law);
	kc_arguments_learn(variant->kernel->by_arguments, &variant->numbers, &variant->scale, &law, measured_ns,
			   &engine->space);
}

void kc_engine_measured(struct kc_engine *engine, struct kc_engine_variant *variant,
			const struct kc_engine_launch *launch, int64_t measured_ns)
{
	struct kc_engine_kernel *kernel = variant->kernel;
	struct kc_measured_launch outcome = {
	    .device = &kernel->device->learned.experience,
	    .kernel = &kernel->learned.experience,
	    .range = &variant->learned.range,
	    .name = variant->name,
	    .context = launch->context,
	    .known = launch->known,
	    .event = kc_engine_known(engine) + 1,
	    .slowdown = launch->contended,
	    .novelty = kc_engine_novelty(variant),
	    .solo = solo_of(engine, variant, 1),
	    .measured_ns = measured_ns,
	    .without = engine->without,
	};

	if (measured_ns <= 0)
		return;
	kc_engine_interval(launch, &outcome.low_ns, &outcome.high_ns);
	begin_lesson(engine, variant, outcome.novelty, measured_ns);
	kc_outlook_measured(&outcome);
	if (kc_outlook_changes_estimates(&outcome, kc__count_of(&variant->learned.measured)))
		kc__add_one(&variant->news);
	learn_arguments(engine, variant, measured_ns);
	kc_scaling_learn(&kernel->learned.scaling, &variant->scale, measured_ns);
	kc__add_one(&kernel->scalings);
	count_measured(variant, launch->in_graph);
	kc__add_lesson(kernel->device);
}

/* The lock is held. */
static void learn_size(struct kc_engine_key *key, const struct kc_work *work, const struct kc_curve_point *size,
		       int64_t measured_ns)
{
	kc_sizes_learn(&key->learned.sizes, size, work->launch_ns, measured_ns);
	kc__add_one(&key->sizes_generation);
	kc__add_lesson(key->kernel->device);
}

void kc_engine_decided(struct kc_engine *engine, struct kc_engine_variant *variant,
		       const struct kc_engine_launch *launch, uint32_t overlap, const struct kc_load *met,
		       int64_t measured_ns)
{
	struct kc_decided_launch lesson = {
	    .work = &variant->work,
	    .lambda = &variant->learned.level.lambda,
	    .contention = overlap == KC_OVERLAP_UNKNOWN ? NULL : &variant->learned.contention,
	    .meeting = kc_expected_contention_unpack(launch->meeting),
	    .met = *met,
	    .slowdown = (double)launch->slowdown,
	    .overlapped = overlap != KC_OVERLAP_NONE,
	    .solos = kc__count_of(&variant->learned.solos),
	    .measured_ns = measured_ns,
	};

	if (measured_ns <= 0)
		return;
	if (!lesson.overlapped)
		go_on_with_lesson(variant, measured_ns);
	kc_outlook_learn(&lesson);
	if (!lesson.overlapped && variant->work.counted)
		learn_size(variant->key, &variant->work, &variant->size, measured_ns);
	if (!lesson.overlapped)
		kc__add_one(&variant->learned.solos);
	publish_variant(engine, variant);
	kc__add_lesson(variant->kernel->device);
}

void kc_engine_learn_size(struct kc_engine *engine, struct kc_engine_key *key, const struct kc_work *work,
			  const struct kc_curve_point *size, int64_t measured_ns)
{
	struct kc_engine_publication publication = {0};

	learn_size(key, work, size, measured_ns);
	kc_lambda_learn(&key->learned.levels[work->counted].lambda, work, measured_ns, 0, 1);
	publish_parents(engine, key, work->counted, &publication);
	kc__add_lesson(key->kernel->device);
}

void kc_engine_learn_known(struct kc_engine_variant *variant)
{
	struct kc_solo solo = kc_forecast_solo(&variant->work, &variant->learned.level.last, NULL, NULL);

	learn_size(variant->key, &variant->work, &variant->size, solo.ns);
}

int64_t kc_engine_copy_ns(const struct kc_engine_device *device, uint32_t kind, enum kc_copy_route route,
			  uint64_t bytes)
{
	uint64_t rate = atomic_load_explicit(&device->learned.copy_ns_per_mib[kind], memory_order_relaxed);

	return kc_copy_ns(device->info, route, rate, bytes);
}

void kc_engine_copy_measured(struct kc_engine_device *device, uint32_t kind, uint64_t bytes, int64_t measured_ns)
{
	uint64_t rate = atomic_load_explicit(&device->learned.copy_ns_per_mib[kind], memory_order_relaxed);

	atomic_store_explicit(&device->learned.copy_ns_per_mib[kind], kc_copy_learn(rate, bytes, measured_ns),
			      memory_order_relaxed);
}
