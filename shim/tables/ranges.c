#include "ranges.h"
#include "memory.h"
#include "tables.h"
#include "predictor/math/letters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHAINS 16384u
#define TEXT_BYTES ((size_t)2 << 20) /* of all names */
#define DOMAIN_BYTES 64u
#define RESERVED_SCOPES 4096u /* for the scopes of OTHERS, and within them */
#define OTHERS 1u             /* the number of this name */
#define LOOK_NS 1000000000ll  /* from one search for threads that have ended to the next */

/* Numbers of names and scopes begin at 1. An entry does not change once it is in its chain, so that who searches needs
 * no lock. */
struct name {
	uint32_t hash, next;
	uint32_t text; /* place in `texts` */
	uint16_t domain;
	uint16_t bytes; /* without the NUL */
};

struct scope {
	uint32_t parent, name, next;
	uint32_t is_in_others;
};

struct memory {
	_Atomic uint32_t name_chains[CHAINS], scope_chains[CHAINS];
	struct name names[KC__RANGE_NAMES_MAX];
	struct scope scopes[KC__RANGE_SCOPES_MAX];
	struct kc__range_stack stacks[KC__RANGE_STACKS_MAX];
	char domains[KC__RANGE_DOMAINS_MAX][DOMAIN_BYTES];
	char texts[TEXT_BYTES];
};

static struct {
	struct memory *_Atomic memory; /* NULL: the process has had no range */
	pthread_mutex_t lock;          /* of who adds, and of what follows */
	bool declares;                 /* a new scope goes into the journal */
	uint32_t names, scopes, stacks, domains;
	size_t text_bytes;
	size_t used_bytes, taken_bytes; /* of all; of these, the share of entries has said yes to */
	uint64_t others;                /* ranges before recording began that had no room */
	int64_t looked_ns;              /* for threads that have ended, in vain; 0: not yet */
	struct kc__limit full;
} ranges = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* --- memory. ranges.lock held */

static bool is_room(size_t bytes)
{
	size_t whole = kc__whole_pages(ranges.used_bytes + bytes);

	if (ranges.declares && whole > ranges.taken_bytes) {
		if (!kc__share_take(KC__SHARE_ENTRIES, whole - ranges.taken_bytes))
			return false;
		ranges.taken_bytes = whole;
	}
	ranges.used_bytes += bytes;
	return true;
}

static uint32_t chain_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) % CHAINS;
}

static uint64_t hash_of_text(uint32_t domain, const char *text, size_t bytes)
{
	return kc__hash_bytes(domain, text, bytes);
}

static uint64_t hash_of_scope(uint32_t parent, uint32_t name)
{
	const uint64_t key[] = {(uint64_t)parent << 32 | name};

	return kc__mix(key, 1) * 0x9E3779B97F4A7C15u;
}

static uint32_t add_name(struct memory *m, uint32_t domain, const char *text, size_t bytes)
{
	uint64_t hash = hash_of_text(domain, text, bytes);
	_Atomic uint32_t *chain = &m->name_chains[chain_of(hash)];
	struct name *name = &m->names[ranges.names];

	if (ranges.names == KC__RANGE_NAMES_MAX || ranges.text_bytes + bytes + 1 > TEXT_BYTES ||
	    !is_room(sizeof(*name) + bytes + 1))
		return 0;
	*name = (struct name){
	    .hash = (uint32_t)hash,
	    .next = atomic_load_explicit(chain, memory_order_relaxed),
	    .text = (uint32_t)ranges.text_bytes,
	    .domain = (uint16_t)domain,
	    .bytes = (uint16_t)bytes,
	};
	memcpy(m->texts + name->text, text, bytes);
	m->texts[name->text + bytes] = 0;
	ranges.text_bytes += bytes + 1;
	atomic_store_explicit(chain, ranges.names, memory_order_release);
	return ranges.names++;
}

static struct memory *make_memory(void)
{
	struct memory *m;

	pthread_mutex_lock(&ranges.lock);
	m = atomic_load_explicit(&ranges.memory, memory_order_relaxed);
	if (!m && (m = kc__map(sizeof(*m)))) {
		ranges.names = ranges.scopes = ranges.domains = 1;
		ranges.used_bytes = sizeof(m->name_chains) + sizeof(m->scope_chains);
		add_name(m, 0, KC__RANGE_OTHERS, strlen(KC__RANGE_OTHERS));
		atomic_store_explicit(&ranges.memory, m, memory_order_release);
	}
	pthread_mutex_unlock(&ranges.lock);
	return m;
}

/* NULL: no memory; or a child in which no handler of fork() has run, where the lock may be held for ever. */
static struct memory *memory(void)
{
	struct memory *m = atomic_load_explicit(&ranges.memory, memory_order_acquire);

	if (!atomic_load_explicit(&kc__shim.ours, memory_order_relaxed))
		return NULL;
	return __builtin_expect(m != NULL, 1) ? m : make_memory();
}

/* ranges.lock held. */
static void count_other(void)
{
	atomic_store_explicit(&ranges.full.reached, true, memory_order_relaxed);
	if (ranges.declares && kc__begun())
		atomic_fetch_add_explicit(&kc__shim.header->counters[KC_COUNT_RANGES_OTHERS], 1, memory_order_relaxed);
	else
		ranges.others++;
}

/* --- domains and names */

uint32_t kc__range_domain(const char *text)
{
	struct memory *m = text && *text ? memory() : NULL;
	uint32_t domain = 1;

	if (!m)
		return 0;
	pthread_mutex_lock(&ranges.lock);
	while (domain < ranges.domains && strncmp(m->domains[domain], text, DOMAIN_BYTES - 1) != 0)
		domain++;
	if (domain == ranges.domains && domain < KC__RANGE_DOMAINS_MAX) {
		snprintf(m->domains[domain], DOMAIN_BYTES, "%s",
			 domain == KC__RANGE_DOMAINS_MAX - 1 ? KC__RANGE_OTHERS : text);
		ranges.domains++;
	}
	pthread_mutex_unlock(&ranges.lock);
	return domain < KC__RANGE_DOMAINS_MAX ? domain : KC__RANGE_DOMAINS_MAX - 1;
}

static uint32_t find_name(const struct memory *m, uint32_t domain, const char *text, size_t bytes)
{
	uint64_t hash = hash_of_text(domain, text, bytes);
	uint32_t at = atomic_load_explicit(&m->name_chains[chain_of(hash)], memory_order_acquire);

	for (; at; at = m->names[at].next) {
		const struct name *name = &m->names[at];

		if (name->hash == (uint32_t)hash && name->domain == domain && name->bytes == bytes &&
		    !memcmp(m->texts + name->text, text, bytes))
			break;
	}
	return at;
}

static __attribute__((noinline)) uint32_t new_name(struct memory *m, uint32_t domain, const char *text, size_t bytes)
{
	uint32_t name;

	pthread_mutex_lock(&ranges.lock);
	name = find_name(m, domain, text, bytes);
	if (!name)
		name = add_name(m, domain, text, bytes);
	if (!name)
		count_other();
	pthread_mutex_unlock(&ranges.lock);
	return name ? name : OTHERS;
}

/* ", seq = 12" and ", op_id = 7" */
static bool tells_call(const char *at)
{
	static const char *const prefixes[] = {", seq = ", ", op_id = "};

	for (int i = 0; i < 2; i++) {
		size_t length = strlen(prefixes[i]);

		if (!strncmp(at, prefixes[i], length) && kc_is_digit(at[length]))
			return true;
	}
	return false;
}

/* Without what tells calls apart, and not cut within a character. */
static size_t bytes_of(const char *text)
{
	size_t bytes = strnlen(text, KC__RANGE_NAME_BYTES);
	const char *comma = memchr(text, ',', bytes);

	for (; comma; comma = memchr(comma + 1, ',', bytes - (size_t)(comma + 1 - text)))
		if (tells_call(comma))
			return (size_t)(comma - text);
	if (bytes < KC__RANGE_NAME_BYTES)
		return bytes;
	for (bytes--; bytes && (text[bytes] & 0xc0) == 0x80; bytes--)
		;
	return bytes;
}

/* The same as of an imported trace. */
static bool is_step(const char *text, int64_t *number)
{
	static const char prefix[] = "ProfilerStep#";
	char *end;

	if (strncmp(text, prefix, sizeof(prefix) - 1) != 0 || !kc_is_digit(text[sizeof(prefix) - 1]))
		return false;
	errno = 0;
	*number = strtoll(text + sizeof(prefix) - 1, &end, 10);
	return !errno && (!*end || tells_call(end));
}

struct kc__label kc__range_label(uint32_t domain, const char *text)
{
	struct memory *m = memory();
	struct kc__label label = {0};
	int saved_errno = errno;
	size_t bytes;

	if (!m)
		return label;
	text = text ? text : "";
	if (*text != 'P' || !is_step(text, &label.step)) {
		bytes = bytes_of(text);
		label.name = find_name(m, domain, text, bytes);
		if (__builtin_expect(!label.name, 0))
			label.name = new_name(m, domain, text, bytes);
	}
	errno = saved_errno;
	return label;
}

/* --- scopes */

/* ranges.lock held. */
static void declare(const struct memory *m, uint32_t number)
{
	const struct scope *scope = &m->scopes[number];
	const struct name *name = &m->names[scope->name];
	struct {
		struct kc_scope_entry entry;
		char text[DOMAIN_BYTES + KC__RANGE_NAME_BYTES + 1];
	} put = {.entry = {.id = number, .parent = scope->parent, .kind = KC_SCOPE_RANGE}};
	int bytes = snprintf(put.text, sizeof(put.text), "%s%s%s", m->domains[name->domain], name->domain ? ":" : "",
			     m->texts + name->text);

	kc_journal_put(kc__shim.journal, KC_KIND_SCOPE, &put, sizeof(put.entry) + (size_t)bytes + 1);
}

static uint32_t find_scope(const struct memory *m, uint32_t parent, uint32_t name)
{
	uint64_t hash = hash_of_scope(parent, name);
	uint32_t at = atomic_load_explicit(&m->scope_chains[chain_of(hash)], memory_order_acquire);

	while (at && (m->scopes[at].parent != parent || m->scopes[at].name != name))
		at = m->scopes[at].next;
	return at;
}

/* ranges.lock held. 0: no room. */
static uint32_t add_scope(struct memory *m, uint32_t parent, uint32_t name)
{
	_Atomic uint32_t *chain = &m->scope_chains[chain_of(hash_of_scope(parent, name))];
	bool is_in_others = name == OTHERS || m->scopes[parent].is_in_others;
	uint32_t number = ranges.scopes;

	if (number >= KC__RANGE_SCOPES_MAX - (is_in_others ? 0 : RESERVED_SCOPES) || !is_room(sizeof(*m->scopes)))
		return 0;
	m->scopes[number] = (struct scope){
	    .parent = parent,
	    .name = name,
	    .next = atomic_load_explicit(chain, memory_order_relaxed),
	    .is_in_others = is_in_others,
	};
	ranges.scopes++;
	if (ranges.declares && kc__begun())
		declare(m, number);
	atomic_store_explicit(chain, number, memory_order_release);
	return number;
}

static __attribute__((noinline)) uint32_t new_scope(struct memory *m, uint32_t parent, uint32_t name)
{
	uint32_t scope;

	pthread_mutex_lock(&ranges.lock);
	scope = find_scope(m, parent, name);
	if (!scope)
		scope = add_scope(m, parent, name);
	if (!scope) {
		if (name != OTHERS) /* which was counted as a name */
			count_other();
		scope = find_scope(m, parent, OTHERS);
		if (!scope)
			scope = add_scope(m, parent, OTHERS);
	}
	pthread_mutex_unlock(&ranges.lock);
	return scope ? scope : parent;
}

static uint32_t enter(struct memory *m, uint32_t parent, uint32_t name)
{
	uint32_t scope = find_scope(m, parent, name);

	return __builtin_expect(scope != 0, 1) ? scope : new_scope(m, parent, name);
}

/* --- stacks */

static bool has_ended(uint32_t thread)
{
	return syscall(SYS_tgkill, getpid(), thread, 0) && errno == ESRCH;
}

/* ranges.lock held. One that was left with this thread's id, one that nobody has had, or that of a thread that has
 * ended. */
static struct kc__range_stack *free_stack(struct memory *m, uint32_t thread)
{
	int64_t now_ns;

	for (uint32_t i = 0; i < ranges.stacks; i++)
		if (m->stacks[i].thread == thread || !m->stacks[i].thread)
			return &m->stacks[i];
	if (ranges.stacks < KC__RANGE_STACKS_MAX && is_room(sizeof(*m->stacks)))
		return &m->stacks[ranges.stacks++];
	now_ns = kc__now_ns();
	if (ranges.looked_ns && now_ns - ranges.looked_ns < LOOK_NS)
		return NULL;
	for (uint32_t i = 0; i < ranges.stacks; i++)
		if (has_ended(m->stacks[i].thread))
			return &m->stacks[i];
	ranges.looked_ns = now_ns;
	return NULL;
}

static __attribute__((noinline)) struct kc__range_stack *take_stack(struct memory *m)
{
	uint32_t thread = kc__thread_id(&kc__thread);
	struct kc__range_stack *stack;

	pthread_mutex_lock(&ranges.lock);
	stack = free_stack(m, thread);
	if (stack) {
		kc__lock(&stack->lock); /* somebody may just end a range of the thread that had it */
		stack->depth = stack->deeper = 0;
		stack->step_ns = 0;
		stack->scope = 0;
		stack->thread = thread;
		kc__unlock(&stack->lock);
	}
	pthread_mutex_unlock(&ranges.lock);
	kc__thread.ranges = stack;
	return stack;
}

static struct kc__range_stack *own_stack(struct memory *m)
{
	return __builtin_expect(kc__thread.ranges != NULL, 1) ? kc__thread.ranges : take_stack(m);
}

/* The stack is locked in all that follows. */

static uint32_t innermost(const struct kc__range_stack *stack, uint32_t depth)
{
	return depth ? stack->open[depth - 1].scope : 0;
}

static void set_innermost(struct kc__range_stack *stack)
{
	atomic_store_explicit(&stack->scope, (uint16_t)innermost(stack, stack->depth), memory_order_relaxed);
}

static void put_on(struct memory *m, struct kc__range_stack *stack, uint32_t domain, struct kc__label label,
		   uint32_t started)
{
	uint32_t around = innermost(stack, stack->depth);

	if (stack->depth == KC__RANGE_DEPTH_MAX) {
		stack->deeper += !started;
		return;
	}
	if (!label.name) {
		stack->step = label.step;
		stack->step_ns = kc__now_ns();
	}
	stack->open[stack->depth++] = (struct kc__open_range){
	    .name = label.name,
	    .scope = label.name ? enter(m, around, label.name) : around,
	    .started = started,
	    .domain = (uint16_t)domain,
	};
	set_innermost(stack);
}

static void end_step(struct kc__range_stack *stack)
{
	struct kc_step_entry step = {.start_ns = stack->step_ns, .end_ns = kc__now_ns(), .number = stack->step};

	if (step.start_ns && kc__begun())
		kc_journal_put(kc__shim.journal, KC_KIND_STEP, &step, sizeof(step));
	stack->step_ns = 0;
}

/* Ranges that were opened within it, and stay open, are now in what it was in. */
static void take_off(struct memory *m, struct kc__range_stack *stack, uint32_t at)
{
	if (!stack->open[at].name)
		end_step(stack);
	stack->depth--;
	for (uint32_t i = at; i < stack->depth; i++) {
		struct kc__open_range *range = &stack->open[i];
		uint32_t around = innermost(stack, i);

		*range = stack->open[i + 1];
		range->scope = range->name ? enter(m, around, range->name) : around;
	}
	set_innermost(stack);
}

static int pushed_in(const struct kc__range_stack *stack, uint32_t domain)
{
	int count = (int)stack->deeper;

	for (uint32_t i = 0; i < stack->depth; i++)
		count += stack->open[i].domain == domain && !stack->open[i].started;
	return count;
}

int kc__range_push(uint32_t domain, struct kc__label label)
{
	struct memory *m = memory();
	int saved_errno = errno, level;
	struct kc__range_stack *stack = m ? own_stack(m) : NULL;

	if (!stack)
		return -1;
	kc__lock(&stack->lock);
	level = pushed_in(stack, domain);
	put_on(m, stack, domain, label, 0);
	kc__unlock(&stack->lock);
	errno = saved_errno;
	return level;
}

int kc__range_pop(uint32_t domain)
{
	struct memory *m = memory();
	struct kc__range_stack *stack = kc__thread.ranges;
	int saved_errno = errno, level = -1;
	uint32_t at;

	if (!m || !stack)
		return -1;
	kc__lock(&stack->lock);
	at = stack->depth;
	if (stack->deeper) {
		stack->deeper--;
		level = pushed_in(stack, domain);
	} else {
		while (at && (stack->open[at - 1].domain != domain || stack->open[at - 1].started))
			at--;
		if (at) {
			take_off(m, stack, at - 1);
			level = pushed_in(stack, domain);
		}
	}
	kc__unlock(&stack->lock);
	errno = saved_errno;
	return level;
}

uint64_t kc__range_start(struct kc__label label)
{
	struct memory *m = memory();
	int saved_errno = errno;
	struct kc__range_stack *stack = m ? own_stack(m) : NULL;
	uint32_t number;

	if (!stack)
		return 0;
	kc__lock(&stack->lock);
	number = ++stack->started ? stack->started : ++stack->started;
	put_on(m, stack, 0, label, number);
	kc__unlock(&stack->lock);
	errno = saved_errno;
	return (uint64_t)(stack - m->stacks + 1) << 32 | number;
}

void kc__range_end(uint64_t id)
{
	struct memory *m = memory();
	uint64_t number = id >> 32;
	struct kc__range_stack *stack;
	int saved_errno = errno;

	if (!m || !number || number > KC__RANGE_STACKS_MAX || !(uint32_t)id)
		return;
	stack = &m->stacks[number - 1];
	kc__lock(&stack->lock);
	for (uint32_t i = stack->depth; i; i--)
		if (stack->open[i - 1].started == (uint32_t)id) {
			take_off(m, stack, i - 1);
			break;
		}
	kc__unlock(&stack->lock);
	errno = saved_errno;
}

/* --- of the process */

void kc__ranges_begin(void)
{
	const struct memory *m = atomic_load_explicit(&ranges.memory, memory_order_acquire);

	pthread_mutex_lock(&ranges.lock);
	ranges.taken_bytes = kc__whole_pages(ranges.used_bytes);
	if (!kc__share_take(KC__SHARE_ENTRIES, ranges.taken_bytes))
		ranges.taken_bytes = 0;
	for (uint32_t i = 1; m && i < ranges.scopes; i++)
		declare(m, i);
	atomic_fetch_add(&kc__shim.header->counters[KC_COUNT_RANGES_OTHERS], ranges.others);
	ranges.others = 0;
	ranges.declares = true;
	pthread_mutex_unlock(&ranges.lock);
}

void kc__ranges_forget(void)
{
	struct memory *m = atomic_load_explicit(&ranges.memory, memory_order_acquire);

	pthread_mutex_init(&ranges.lock, NULL);
	ranges.declares = false;
	ranges.others = 0;
	ranges.taken_bytes = 0;
	ranges.full = (struct kc__limit){0};
	for (uint32_t i = 0; m && i < ranges.stacks; i++) {
		m->stacks[i].lock = (struct kc__lock){0};
		m->stacks[i].thread = &m->stacks[i] == kc__thread.ranges ? (uint32_t)syscall(SYS_gettid) : 0;
	}
}

void kc__ranges_say_full(void)
{
	if (!atomic_load_explicit(&ranges.full.reached, memory_order_relaxed) || ranges.full.said)
		return;
	ranges.full.said = true;
	kc__say_again(KC_MESSAGE_TABLE_FULL,
		      "65,536 names of ranges; launches in further ones are told of \"" KC__RANGE_OTHERS "\"");
}
