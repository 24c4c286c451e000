/*
 * The ranges that a program opens around its launches with NVTX: what a launch was made in.
 *
 *   domain   a library's own set of ranges, by its name; 0 is that of the program
 *   name     the text of ranges, in its domain
 *   scope    a name in another scope, or in none (struct kc_scope_entry): what a launch's record has
 *   stack    the ranges that are open on a thread, from the outermost
 *
 * A thread pushes and pops ranges of a domain on its own stack. A range that is started belongs to the stack of the
 * thread that started it until it is ended, by whatever thread. A launch reads one number of its thread's stack.
 *
 * Names and scopes are kept for the process's life, and put into the journal when recording begins or, from then on,
 * before anything is launched in them. Memory is bounded: of a name, or of a name in a scope, for which there is no
 * room, KC__RANGE_OTHERS takes the place, and where there is none for that either, the range counts as the one around
 * it. "ProfilerStep#7" is no scope but step 7 (struct kc_step_entry), put when it ends.
 *
 * Any thread may call all of this, at any time; nothing here calls the driver or the loader. errno is kept.
 */
#ifndef KC_SHIM_TABLES_RANGES_H
#define KC_SHIM_TABLES_RANGES_H

#include "shim/shim.h"

#define KC__RANGE_NAMES_MAX 65536u
#define KC__RANGE_SCOPES_MAX 65536u /* with number 0, which is none */
#define KC__RANGE_DOMAINS_MAX 256u  /* further ones are one */
#define KC__RANGE_DEPTH_MAX 64u     /* what is opened further within counts as the range around it */
#define KC__RANGE_STACKS_MAX 1024u  /* threads with ranges at a time; those of others are not known */
#define KC__RANGE_NAME_BYTES 256u   /* longer names are cut */
#define KC__RANGE_OTHERS "(others)"

/* What a range is called: a name, or a step. All zeros: nothing is kept of it. */
struct kc__label {
	uint32_t name; /* its number, from 1; 0: it is a step */
	int64_t step;
};

struct kc__open_range {
	uint32_t name;    /* 0: a step */
	uint32_t scope;   /* the innermost up to here; 0: none */
	uint32_t started; /* its number among those that were started; 0: it was pushed */
	uint16_t domain;  /* of one that was pushed */
	uint16_t reserved;
};

struct kc__range_stack {
	_Atomic uint16_t scope;  /* the innermost; what launches read */
	_Atomic uint32_t thread; /* Linux thread id; 0: nobody's */
	struct kc__lock lock;
	uint32_t depth;
	uint32_t deeper;  /* pushed when it was full, and not popped yet */
	uint32_t started; /* so far */
	int64_t step_ns;  /* when the innermost step began */
	int64_t step;
	struct kc__open_range open[KC__RANGE_DEPTH_MAX];
};

/* The scope that a launch of this thread is made in; 0: none. */
static inline uint16_t kc__scope_of(const struct kc__thread *t)
{
	return __builtin_expect(t->ranges != NULL, 0) ? atomic_load_explicit(&t->ranges->scope, memory_order_relaxed)
						      : 0;
}

/* Of a name; NULL or "": the program's. */
uint32_t kc__range_domain(const char *name);
/* What frameworks add to a name to tell one call from another is left out of it: ", seq = 12, op_id = 7" of PyTorch. */
struct kc__label kc__range_label(uint32_t domain, const char *text);

/* How many ranges of the domain were open on the thread before, as NVTX answers; -1: none is known of the thread. */
int kc__range_push(uint32_t domain, struct kc__label label);
/* How many are open afterwards; -1: none was. */
int kc__range_pop(uint32_t domain);
/* Never 0 but where the thread has no room. */
uint64_t kc__range_start(struct kc__label label);
void kc__range_end(uint64_t id);

/* Puts the scopes that there are into the journal, before anything is launched in them. start_lock held. */
void kc__ranges_begin(void);
void kc__ranges_forget(void);   /* fork child: its thread keeps what is open on it */
void kc__ranges_say_full(void); /* worker */

#endif
