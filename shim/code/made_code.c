#include "made_code.h"
#include "shim/tables/tables.h"
#include "shim/tables/memory.h"

#include <sys/mman.h>

#define READING_BYTES ((size_t)1 << 20)

/* Oldest first. */
static struct {
	pthread_mutex_t lock;
	struct kc__made *first;
	size_t bytes;
	bool shared; /* recording has begun */
} kept = {.lock = PTHREAD_MUTEX_INITIALIZER};

bool kc__made_is_kept(void)
{
	return kc__begun() ||
	       (atomic_load_explicit(&kc__shim.stage, memory_order_acquire) == KC__OFF && atomic_load(&kc__shim.ours));
}

static size_t mapped_bytes(size_t text_bytes)
{
	return kc__whole_pages(sizeof(struct kc__made) + text_bytes);
}

/* kept.lock held. */
static void give(struct kc__made *made)
{
	size_t bytes = mapped_bytes(made->bytes);

	kept.bytes -= bytes;
	if (made->shared)
		kc__share_give(KC__SHARE_CODE, bytes);
	munmap(made, bytes);
}

/* kept.lock held. */
static void give_gone(void)
{
	struct kc__made **link = &kept.first, *made;

	while ((made = *link)) {
		if (!made->gone) {
			link = &made->next;
			continue;
		}
		*link = made->next;
		give(made);
	}
}

static bool is_input(const struct kc__made *made, const void *linker, enum kc__made_kind kind)
{
	return made->linker == linker && made->kind == kind;
}

/* kept.lock held. */
static void give_inputs(const void *linker, enum kc__made_kind kind)
{
	for (struct kc__made *made = kept.first; made; made = made->next)
		made->gone |= is_input(made, linker, kind);
	give_gone();
}

/* kept.lock held. Some of the share is left for reading code. */
static bool count_in(size_t bytes)
{
	if (kept.bytes + bytes > KC__MADE_BYTES)
		return false;
	if (kept.shared &&
	    (kc__share_left(KC__SHARE_CODE) < bytes + READING_BYTES || !kc__share_take(KC__SHARE_CODE, bytes)))
		return false;
	kept.bytes += bytes;
	return true;
}

struct kc__made *kc__made_room(size_t text_bytes)
{
	size_t bytes;
	struct kc__made *made = NULL;
	bool room;

	if (!kc__made_is_kept() || !text_bytes || text_bytes > KC__MADE_BYTES - KC__PAGE_BYTES ||
	    (!kc__begun() && !kc__memory_is_left()))
		return NULL;
	bytes = mapped_bytes(text_bytes);
	pthread_mutex_lock(&kept.lock);
	while (!(room = count_in(bytes)) && kept.first) {
		kept.first->gone = true;
		give_gone();
	}
	if (room && !(made = kc__map(bytes))) {
		kept.bytes -= bytes;
		if (kept.shared)
			kc__share_give(KC__SHARE_CODE, bytes);
	}
	if (made)
		*made = (struct kc__made){.bytes = text_bytes, .shared = kept.shared};
	pthread_mutex_unlock(&kept.lock);
	return made;
}

void kc__made_give(struct kc__made *made)
{
	pthread_mutex_lock(&kept.lock);
	give(made);
	pthread_mutex_unlock(&kept.lock);
}

/* kept.lock held. */
static void append(struct kc__made *made)
{
	struct kc__made **link = &kept.first;

	while (*link)
		link = &(*link)->next;
	*link = made;
}

static bool is_of_cubin(const struct kc__made *made, const struct kc__made *wanted)
{
	return !made->linker && made->hash == wanted->hash && made->cubin_bytes == wanted->cubin_bytes;
}

static bool is_known(const struct kc__made *wanted)
{
	const struct kc__made *made = kept.first;

	while (made && !is_of_cubin(made, wanted))
		made = made->next;
	return made != NULL;
}

/* kept.lock held. Recording may have begun since the text's memory was taken. false: there is no share for it. */
static bool take_share(struct kc__made *made)
{
	if (kept.shared && !made->shared)
		made->shared = kc__share_take(KC__SHARE_CODE, mapped_bytes(made->bytes));
	return made->shared == kept.shared;
}

void kc__made_cubin(struct kc__made *made, const void *cubin, size_t bytes)
{
	made->hash = kc__hash_bytes(0, cubin, bytes);
	made->cubin_bytes = bytes;
	pthread_mutex_lock(&kept.lock);
	if (is_known(made) || !take_share(made))
		give(made);
	else
		append(made);
	pthread_mutex_unlock(&kept.lock);
}

void kc__made_input(struct kc__made *made, enum kc__made_kind kind, const void *linker)
{
	made->kind = kind;
	made->linker = linker;
	pthread_mutex_lock(&kept.lock);
	if (take_share(made))
		append(made);
	else
		give(made);
	pthread_mutex_unlock(&kept.lock);
}

void kc__made_incomplete(const void *linker)
{
	pthread_mutex_lock(&kept.lock);
	give_inputs(linker, KC__MADE_OPTIONS);
	pthread_mutex_unlock(&kept.lock);
}

static bool has_options(const void *linker)
{
	const struct kc__made *made = kept.first;

	while (made && !is_input(made, linker, KC__MADE_OPTIONS))
		made = made->next;
	return made != NULL;
}

struct kc__made *kc__made_take_inputs(const void *linker)
{
	struct kc__made **link = &kept.first, *made, *taken = NULL, **last = &taken;

	pthread_mutex_lock(&kept.lock);
	if (has_options(linker))
		while ((made = *link)) {
			if (made->linker != linker || made->kind == KC__MADE_PTX) {
				link = &made->next;
				continue;
			}
			*link = made->next;
			made->next = NULL;
			*last = made;
			last = &made->next;
		}
	pthread_mutex_unlock(&kept.lock);
	return taken;
}

void kc__made_linked(const void *linker, const void *cubin, size_t bytes)
{
	struct kc__made of = {.hash = kc__hash_bytes(0, cubin, bytes), .cubin_bytes = bytes};

	pthread_mutex_lock(&kept.lock);
	if (is_known(&of))
		give_inputs(linker, KC__MADE_PTX);
	for (struct kc__made *made = kept.first; made; made = made->next) {
		if (!is_input(made, linker, KC__MADE_PTX))
			continue;
		made->linker = NULL;
		made->hash = of.hash;
		made->cubin_bytes = of.cubin_bytes;
	}
	pthread_mutex_unlock(&kept.lock);
}

void kc__made_linker_gone(const void *linker)
{
	if (!linker || !kc__made_is_kept())
		return;
	pthread_mutex_lock(&kept.lock);
	for (struct kc__made *made = kept.first; made; made = made->next)
		made->gone |= made->linker == linker;
	give_gone();
	pthread_mutex_unlock(&kept.lock);
}

/* kept.lock held. Most cubins need not be hashed: none of that length is known. */
static bool any_of_length(size_t cubin_bytes)
{
	for (const struct kc__made *made = kept.first; made; made = made->next)
		if (!made->linker && made->cubin_bytes == cubin_bytes)
			return true;
	return false;
}

uint32_t kc__made_hold(const void *cubin, size_t bytes, struct kc_image_piece *pieces, uint32_t max)
{
	struct kc__made of = {.cubin_bytes = bytes};
	uint32_t count = 0;

	pthread_mutex_lock(&kept.lock);
	if (any_of_length(bytes))
		of.hash = kc__hash_bytes(0, cubin, bytes);
	for (struct kc__made *made = kept.first; made && of.hash && count < max; made = made->next) {
		if (!is_of_cubin(made, &of))
			continue;
		made->held = true;
		pieces[count++] = (struct kc_image_piece){made->text, made->bytes};
	}
	if (!count)
		pthread_mutex_unlock(&kept.lock);
	return count;
}

void kc__made_release(bool taken)
{
	for (struct kc__made *made = kept.first; made; made = made->next) {
		made->gone |= taken && made->held;
		made->held = false;
	}
	give_gone();
	pthread_mutex_unlock(&kept.lock);
}

void kc__made_begin(void)
{
	pthread_mutex_lock(&kept.lock);
	kept.shared = true;
	for (struct kc__made *made = kept.first; made; made = made->next)
		made->gone |= !take_share(made);
	give_gone();
	pthread_mutex_unlock(&kept.lock);
}

void kc__made_drop(void)
{
	pthread_mutex_lock(&kept.lock);
	for (struct kc__made *made = kept.first; made; made = made->next)
		made->gone = true;
	give_gone();
	pthread_mutex_unlock(&kept.lock);
}

/* The parent's are not given back: one of its threads may have been changing them. */
void kc__made_forget(void)
{
	pthread_mutex_init(&kept.lock, NULL);
	kept.first = NULL;
	kept.bytes = 0;
	kept.shared = false;
}
