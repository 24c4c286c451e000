/*
 * What is learned of kernels, and the moments of a launch at which it is used and
 * refined. The preloaded library and the replay of recorded runs are drivers of
 * this engine: they say what happens and when, and every rule is here.
 *
 *   kc_engine_device    a device: λ, contention, contexts, copy rates
 *    └ kc_engine_kernel   a kernel on it
 *       └ kc_engine_key      the kernel with one block shape and dynamic shared
 *          │                 memory: the level of λ below the device's
 *          └ kc_engine_variant  a launch shape with the arguments that matter:
 *                               what a launch is predicted from
 *   kc_engine_launch    what is kept of one launch from its prediction until it
 *                       is known what it ran beside
 *   kc_engine           what all of them share
 *
 * The moments of a launch, in their order:
 *
 *   predict     before the call: kc_engine_ask() and kc_engine_predict(); or, as
 *               most launches repeat earlier ones, kc_engine_asked() in its place
 *   measured    its measured time has become known: kc_engine_measured()
 *   decided     it has become known which launches it overlapped:
 *               kc_engine_decided()
 *
 * Threads: predict may run on any thread; all else on one thread, the learner.
 * What predict reads is published by the learner (published.h), atomic, or read
 * under the driver's lock. The driver owns the entries and never frees one that
 * another refers to.
 */
#ifndef KC_ENGINE_H
#define KC_ENGINE_H

#include "predictor/device/copy.h"
#include "predictor/experience/outlook.h"
#include "predictor/prior/rivals.h"
#include "predictor/solo/arguments.h"
#include "predictor/solo/counted.h"
#include "predictor/solo/published.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

/* λ of a nominal work per thread, λ of the work that the code does, and λ of what the code would do that was compiled
 * for another architecture are different numbers. */
enum kc_unit { KC_UNIT_NOMINAL, KC_UNIT_COUNTED, KC_UNIT_COUNTED_OTHER, KC_UNITS }; /* kc_work.counted */

#define KC_ENGINE_COPY_KINDS 8u

/* One level of λ. */
struct kc_learned {
	struct kc_lambda lambda;       /* learner */
	struct kc_belief last;         /* learner: what was published */
	struct kc_published published; /* any thread */
};

/* What launches have taught of each entry. Each is one struct, which is saved, loaded, copied and forgotten by
 * assignment: whatever is learned belongs in one of these. Of the pointers in them, each leads to the same member of
 * the entry above, and is set when the entry is made or recalled. */
struct kc_device_learned {
	struct kc_learned levels[KC_UNITS];
	struct kc_contention contention;
	struct kc_device_experience experience;
	struct kc_rivals rivals;
	_Atomic uint64_t copy_ns_per_mib[KC_ENGINE_COPY_KINDS]; /* by the driver's kinds of copies; 0: not known */
};

struct kc_kernel_learned {
	struct kc_kernel_experience experience;
	struct kc_scaling scaling; /* under the lock */
	_Atomic uint32_t measured; /* launches */
};

struct kc_key_learned {
	struct kc_learned levels[KC_UNITS];
	struct kc_sizes sizes; /* under the lock */
};

struct kc_variant_learned {
	struct kc_learned level;
	struct kc_contention contention;
	struct kc_range range;
	_Atomic uint32_t measured; /* launches */
	_Atomic uint32_t solos;    /* launches that are known to have run alone */
};

struct kc_engine_device {
	_Atomic uint32_t lessons; /* changes with all that is learned on it */
	const struct kc_device *info;
	struct kc_device_learned learned;
};

struct kc_engine_kernel {
	struct kc_engine_device *device;
	struct kc_kernel_learned learned;
	struct kc_name_traits name;
	struct kc_arguments_fit *by_arguments; /* under the lock; the driver's. NULL: no launch had numbers */
	_Atomic uint32_t scalings;             /* changes whenever learned.scaling does */
};

struct kc_engine_key {
	struct kc_engine_kernel *kernel;
	struct kc_key_learned learned;
	_Atomic uint32_t sizes_generation; /* changes whenever learned.sizes does */
};

/* What was asked last of a variant and where its launches were placed: those that are repeated begin from it. Of
 * predicting threads: the driver serialises them. */
struct kc_engine_asked {
	struct kc_prediction_request request; /* device NULL: not asked yet */
	uint32_t placed;                      /* the device's lessons that this rests on: */
	struct kc_repeated repeated;
};

struct kc_engine_variant {
	struct kc_engine_kernel *kernel;
	struct kc_engine_key *key;
	_Atomic uint32_t *shape_measured; /* launches of the shape, whatever their arguments: the driver's */
	struct kc_variant_learned learned;
	_Atomic uint32_t news;             /* kc_prediction_request.news */
	struct kc_outstanding outstanding; /* these and the next: all that most launches need */
	struct kc_engine_asked asked;
	struct kc_name name;
	struct kc_work work;
	struct kc_curve_point size; /* where the work is counted; else: */
	struct kc_scaling_size scale;
	struct kc_argument_numbers numbers;
	float prior_log_ns; /* kc_prior_log_ns() */
	/* What one launch leaves for a later one of this run: */
	float lesson_rest; /* learner: weight of what the first launch that ran alone will teach the rivals */
	struct kc_correction_lesson lesson; /* learner: what the rivals were taught, */
	struct kc_solo guess;               /* and by which guess, as it was before the first launch was measured */
	struct kc_solo by_sizes;            /* under the lock: from other sizes, before it is measured itself */
	uint32_t sizes_seen;                /* under the lock: what by_sizes rests on */
};

/* Which level's belief was published: enum kc_model says KC_MODEL_BSP_DEVICE, _KERNEL, _SHAPE, _CODE or _SIZES. */
struct kc_engine_publication {
	uint32_t model;
	const struct kc_engine_device *device;
	const struct kc_engine_variant *variant; /* NULL: of the device or the key alone */
	const struct kc_engine_key *key;         /* NULL: of the device alone */
	const struct kc_lambda *lambda;
	struct kc_belief belief;
};

/* What a driver may want to be told, and how it serialises threads; every function may be NULL. */
struct kc_engine_driver {
	void (*lock)(void *arg); /* guards what is marked so, and the making of entries */
	void (*unlock)(void *arg);
	void (*published)(const struct kc_engine_publication *publication, void *arg);
	void *arg;
};

struct kc_engine {
	/* Events taken in: whatever arrives after a launch and may be used by later predictions. The same events and
	 * launches in the same order give the same predictions again. First, as every launch reads it. */
	_Atomic uint64_t events;
	struct kc_engine_driver driver;
	struct kc_cells
	    *cells;       /* durations by context, of all devices; the driver's. NULL: contexts are not told apart */
	uint32_t states;  /* beliefs published so far */
	uint32_t without; /* a bit for each enum kc_layer that is switched off, from the start; 0 but in research */
	struct kc_scaling_space space; /* under the lock */
};

/* Learner: one more event has been taken in. Returns its number, from 1. */
static inline uint64_t kc_engine_event(struct kc_engine *engine)
{
	return atomic_fetch_add_explicit(&engine->events, 1, memory_order_release) + 1;
}

/* Replays of a recording that tells how many had been taken in. */
static inline void kc_engine_set_known(struct kc_engine *engine, uint64_t events)
{
	atomic_store_explicit(&engine->events, events, memory_order_release);
}

/* Any thread: how many events a prediction that begins now may use. */
static inline uint64_t kc_engine_known(const struct kc_engine *engine)
{
	return atomic_load_explicit(&engine->events, memory_order_acquire);
}

/* One device as launches of one process meet it. Of predicting threads: the driver serialises them. */
struct kc_engine_stage {
	struct kc_timeline *timeline;
	struct kc_history *history;
	struct kc_estimate_cache *answers; /* NULL: every launch is thought over */
};

struct kc_engine_launch {
	uint64_t context; /* kc_prediction.context */
	uint64_t known;   /* events taken in before it was predicted */
	uint64_t meeting; /* kc_expected_contention_pack() of what was expected to run beside it */
	int64_t solo_ns;
	int64_t solo_low_ns, solo_high_ns; /* 90 % interval of solo_ns */
	float slowdown;
	float contended; /* the slowdown by what was expected to run beside it alone, whatever contexts say */
	int in_graph;    /* 1: predicted with all kernels of a graph (graph.h), so it was not counted as in flight */
};

/* The entries, new: nothing is learned. info must outlive the device; cells are those of engine. */
void kc_engine_device_init(const struct kc_engine *engine, struct kc_engine_device *device,
			   const struct kc_device *info);
/* name: the kernel's, mangled or not. */
void kc_engine_kernel_init(struct kc_engine_kernel *kernel, struct kc_engine_device *device, const char *name);
void kc_engine_key_init(struct kc_engine_key *key, struct kc_engine_kernel *kernel);
/* blocks_per_sm as for kc_work_init(), whose result it returns. */
int kc_engine_variant_init(struct kc_engine_variant *variant, struct kc_engine_key *key,
			   _Atomic uint32_t *shape_measured, const struct kc_resources *resources,
			   const struct kc_shape *dims, uint32_t blocks_per_sm);
/* What its launches are called. */
void kc_engine_variant_name(struct kc_engine_variant *variant, struct kc_name name);
/* What the kernel's code does in such a launch. Before anything of the variant is learned. 0 or -ENODATA (counted.h).
 */
int kc_engine_variant_count(struct kc_engine_variant *variant, const struct kc_counts *counts);

/* With which arguments it is launched, where its work is not counted; text as of kc_arguments_read(), NULL: not known.
 * Before anything of the variant is learned. Returns the size of what the driver gives its kernel as by_arguments, all
 * zeros; 0: it has that, or nothing is learned of such arguments. The lock is held. */
size_t kc_engine_variant_given(struct kc_engine_variant *variant, const char *arguments);

/* Puts into use what was learned elsewhere of the same launches (related 0), or of related ones (forecast.h,
 * kc_lambda_start_from_related). work, from_work: NULL where both are in the same units. */
void kc_engine_adopt(struct kc_learned *learned, const struct kc_work *work, const struct kc_lambda *from,
		     const struct kc_work *from_work, int related);
/* Everything that was learned of the same entry in an earlier run. The entry is new; by_arguments is recalled by
 * whoever asks kc_engine_variant_given(). from_work: the units of the variant's λ there. */
void kc_engine_recall_device(const struct kc_engine *engine, struct kc_engine_device *device,
			     const struct kc_device_learned *from);
void kc_engine_recall_kernel(struct kc_engine_kernel *kernel, const struct kc_kernel_learned *from);
void kc_engine_recall_key(struct kc_engine_key *key, const struct kc_key_learned *from);
void kc_engine_recall_variant(struct kc_engine_variant *variant, const struct kc_variant_learned *from,
			      const struct kc_work *from_work);
/* Sizes of the kernel that were measured elsewhere. It has learned nothing yet. */
void kc_engine_adopt_sizes(struct kc_engine_kernel *kernel, const struct kc_scaling *sizes);
/* The same launches as before, now told apart by their arguments. Where earlier runs taught the variant, it stays as
 * it is. */
void kc_engine_succeed(struct kc_engine_variant *variant, struct kc_engine_variant *before);

/* By how often its launch shape, or the variant where its work is counted, and its kernel were measured. */
enum kc_novelty kc_engine_novelty(const struct kc_engine_variant *variant);

/* The first half of predict: all that is known of the launch before it has a place on the timeline. A driver that
 * predicts several launches from it may then set prospect->repeated. */
void kc_engine_ask(struct kc_engine *engine, struct kc_engine_variant *variant, struct kc_estimate_cache *answers,
		   struct kc_prediction_request *prospect);
/* What kc_engine_ask() would say, as far as what it said last tells; NULL: it has to be asked, and its answer kept. The
 * request is the variant's own: the caller serialises what is done with those of one device. */
struct kc_prediction_request *kc_engine_asked(const struct kc_engine *engine, struct kc_engine_variant *variant);
/* Keeps what kc_engine_ask() has said. */
struct kc_prediction_request *kc_engine_keep(struct kc_engine_variant *variant,
					     const struct kc_prediction_request *said);
/* What kc_engine_ask() says of the variant holds until kc_engine_known() or this changes: it does when an entry that is
 * made brings known sizes with it. */
uint32_t kc_engine_sizes_known(const struct kc_engine_variant *variant);
/* The second half: where it falls. The caller serialises calls on one stage. */
void kc_engine_predict(const struct kc_prediction_request *prospect, const struct kc_engine_stage *stage,
		       uint32_t stream, int64_t now_ns, struct kc_prediction *prediction,
		       struct kc_engine_launch *launch);
/* 90 % interval of the launch's duration: that of the time alone, times the slowdown. */
void kc_engine_interval(const struct kc_engine_launch *launch, int64_t *low_ns, int64_t *high_ns);

/* What it puts on the device, for the launches that overlap it. */
struct kc_load kc_engine_load(const struct kc_engine_variant *variant, int64_t solo_ns);

/* The learner's functions below: the driver's lock is held. The driver may also keep launches of the device from being
 * predicted meanwhile, so that a prediction uses all of an event or nothing of it. */

/* measured_ns of no more than 0 teach nothing. */
void kc_engine_measured(struct kc_engine *engine, struct kc_engine_variant *variant,
			const struct kc_engine_launch *launch, int64_t measured_ns);
/* overlap: enum kc_overlap (overlap.h). met: what the launches that it overlapped put on the device meanwhile. */
void kc_engine_decided(struct kc_engine *engine, struct kc_engine_variant *variant,
		       const struct kc_engine_launch *launch, uint32_t overlap, const struct kc_load *met,
		       int64_t measured_ns);
/* A launch of another variant of the same key ran alone for measured_ns, and the code now tells its work. */
void kc_engine_learn_size(struct kc_engine *engine, struct kc_engine_key *key, const struct kc_work *work,
			  const struct kc_curve_point *size, int64_t measured_ns);
/* A launch of a variant that was made before its kernel's code had been read: the time that it took alone teaches a
 * size as soon as the code tells its work. */
struct kc_engine_early {
	int64_t measured_ns; /* 0: not known, or learned from */
	int counted;         /* 1: the next two say what the code does in it */
	struct kc_work work;
	struct kc_curve_point size;
};
/* Returns early->counted: whether it can teach. */
int kc_engine_early_count(struct kc_engine_early *early, const struct kc_engine_variant *variant,
			  const struct kc_counts *counts);
/* Once, and only what is counted. */
void kc_engine_early_teach(struct kc_engine *engine, const struct kc_engine_variant *variant,
			   struct kc_engine_early *early);
/* What is believed of the variant, whose work is counted, serves as a measured size. */
void kc_engine_learn_known(struct kc_engine_variant *variant);

int64_t kc_engine_copy_ns(const struct kc_engine_device *device, uint32_t kind, enum kc_copy_route route,
			  uint64_t bytes);
void kc_engine_copy_measured(struct kc_engine_device *device, uint32_t kind, uint64_t bytes, int64_t measured_ns);

#endif
