/*
 * From kept code to cost formulas, on the reader's thread. Kernels that have been
 * launched are read in batches: those of one module and device that are wanted at the time,
 * one after the other, and after each it is asked what is wanted most.
 *
 *   batch   its kernels, the piece of the module that is open, and the texts that
 *           were cut out of that: a library's module has up to 40 MB of PTX, which
 *           takes longer to pass over than some kernels to read
 *
 * The budget: memory is what KC__SHARE_CODE has left (code_texts.h); formulas read
 * before give way to it. Time is FIRST_TIME_NS of the processor in the first
 * FIRST_NS of recording, then one part in REST_SHARE. What a launch waits for is
 * read at once. What does not fit is left to a command, if that can find it.
 */
#include "code_read.h"
#include "early.h"
#include "foresee.h"
#include "formulas.h"
#include "code_texts.h"
#include "kept_text.h"
#include "ptx_cache.h"
#include "reader.h"
#include "shim/tables/memory.h"
#include "shim/tables/tables.h"
#include "shim/worker/learn.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LEAST_BYTES ((size_t)2 << 20) /* formulas give way for so much before a piece is opened */
#define FIRST_NS 10000000000ll
#define FIRST_TIME_NS 1000000000ll
#define REST_SHARE 20
#define FINISH_NS 100000000ll /* for what is left at the end of the process */

static const struct kc_code_limits limits = {
    .text_bytes = (size_t)256 << 20,
    .cut_bytes = (size_t)2 << 20,
    .formula_bytes = KC__FORMULA_BYTES,
};

static struct {
	struct kc__code *code;                              /* NULL: its load was not seen */
	struct kc__kernel *kernels[KC_CODE_READER_KERNELS]; /* as the reader has them; NULL: done with */
	uint32_t count, left;
	uint32_t recalled;           /* so many have been looked for in what earlier runs kept */
	uint32_t piece;              /* of the code, that is opened next */
	uint32_t done;               /* with kernels, since a piece was opened */
	bool is_open;                /* the piece before that */
	bool is_apart;               /* its PTX is not in what was loaded: it is kept for the next run */
	struct kc__code_texts texts; /* of that piece */
	struct kc_code_lack lack;
} batch;

/* Of the list of what is wanted; tables_lock. */
static struct {
	uint64_t added;  /* so many kernels have been, */
	uint64_t looked; /* and at so many, whether it is noted where their code lies */
} queue;

static struct kc__code *last_read; /* as commands read it again; NULL: none was, or in the parent process */

/* A command has more room, if it knows where the code lies. */
static enum kc_code_state without_room(struct kc__code *code)
{
	return code && kc__code_is_noted(code) ? KC_CODE_WAITS : KC_CODE_TOO_LARGE;
}

/* The kernel may be wanted again from now on. */
static void not_wanted(struct kc__kernel *kernel)
{
	pthread_mutex_lock(&kc__shim.tables_lock);
	kernel->is_wanted = false;
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

static void leave(uint32_t i)
{
	not_wanted(batch.kernels[i]);
	batch.kernels[i] = NULL;
	batch.left--;
	batch.done++;
}

/* It has been read, or never will be. */
static void settle(uint32_t i)
{
	kc__early_settle(batch.kernels[i]);
	leave(i);
}

static void close_piece(void)
{
	kc__texts_close(&batch.texts);
	batch.is_open = false;
}

/* Makes the kernel's formula known. The cost is the formula's from then on. */
static int publish(struct kc__kernel *kernel, struct kc_code_read *read)
{
	const struct kc_code_reader *reader = &batch.texts.reader;
	struct kc__formula *formula = atomic_load_explicit(&kernel->formula, memory_order_relaxed);
	bool is_new = !formula;

	if (!kc__formulas_make_room(read->cost))
		return -ENOMEM;
	pthread_mutex_lock(&kc__shim.tables_lock);
	if (is_new)
		formula = kc__formula_make(read->cost, read->function, reader->other_architecture);
	if (formula)
		kc__formulas_add(formula, read->cost);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	if (!formula) {
		kc__formulas_cancel(read->cost);
		return -ENOMEM;
	}
	read->cost = NULL;
	if (!is_new)
		return 0;
	kc__learn_formula(kernel, formula, kc__early_prepare(kernel, formula));
	kc__code_put(kernel, KC_CODE_READ, reader->other_architecture ? reader->sm : 0, "");
	if (batch.is_apart)
		kc__text_keep(kernel, &reader->cut);
	return 0;
}

/* is_kept: from what an earlier run kept. all: in all the room that there is. */
static int read_once(uint32_t i, bool is_kept, bool all, struct kc_refusal *refusal)
{
	struct kc__kernel *kernel = batch.kernels[i];
	size_t room = kc__code_take_room(all);
	struct kc_code_read read;
	int rc = kc_code_read(&batch.texts.reader, i, kernel->resources.static_shared_bytes, room, &read, refusal);

	kc__share_give(KC__SHARE_CODE, room);
	if (rc)
		return rc;
	if (!kc__same_parameters(kernel, read.function) || (is_kept && !kc__same_layout(kernel, read.function)))
		rc = -ENOENT;
	else
		rc = publish(kernel, &read);
	kc_code_read_free(&read);
	return rc;
}

/* The text of others in the piece is found again when that is opened the next time. */
static bool drop_others(uint32_t kernel)
{
	struct kc_code_reader *reader = &batch.texts.reader;
	bool any = false;

	for (uint32_t i = 0; i < reader->count; i++)
		if (i != kernel && kc_code_has(reader, i)) {
			kc_code_drop(reader, i, true);
			any = true;
		}
	kc__texts_account(&batch.texts);
	return any;
}

/* For a kernel that cannot be read without it. The last resort is what is left to other code that may be loaded. */
static bool make_room(uint32_t kernel, bool *all)
{
	bool was_all = *all;

	if (kc__formulas_drop() || drop_others(kernel))
		return true;
	*all = true;
	return !was_all;
}

/* One whose text is there. After a text that was kept, or where this is another kernel, it is looked for elsewhere. */
static void read_kernel(uint32_t i, bool is_kept)
{
	struct kc__kernel *kernel = batch.kernels[i];
	struct kc_refusal refusal;
	bool all = false;
	int rc;

	do
		rc = read_once(i, is_kept, all, &refusal);
	while (rc == -ENOMEM && make_room(i, &all));
	kc_code_drop(&batch.texts.reader, i, false);
	kc__texts_account(&batch.texts);
	if (rc == -ENOENT || (rc && is_kept))
		return;
	if (rc == -EBADMSG)
		kc__code_refuse(kernel, refusal.offset, refusal.reason);
	else if (rc == -ENOMEM && !atomic_load_explicit(&kernel->formula, memory_order_relaxed))
		kc__code_put(kernel, without_room(kernel->code), 0, "");
	settle(i);
}

/* only: this kernel alone is looked for. */
static void look_for(const struct kc__kernel *only)
{
	struct kc_code_reader *reader = &batch.texts.reader;

	reader->count = batch.count;
	for (uint32_t i = 0; i < batch.count; i++) {
		const struct kc__kernel *kernel = batch.kernels[i];

		reader->wanted[i].name = kernel && (!only || kernel == only) ? kernel->name : "";
	}
}

/* From what an earlier run has kept of it, if that has. */
static void read_kept(uint32_t i)
{
	struct kc_code_lack unused = {0};
	struct kc_code_part part = {0};
	char *text = batch.kernels[i] ? kc__text_kept(batch.kernels[i], &part.length) : NULL;

	if (text && kc__share_take(KC__SHARE_CODE, part.length)) {
		part.bytes = text;
		look_for(batch.kernels[i]);
		if (!kc__texts_open_part(&batch.texts, &part, SIZE_MAX, &unused) && kc_code_has(&batch.texts.reader, i))
			read_kernel(i, true);
		close_piece();
		kc__share_give(KC__SHARE_CODE, part.length);
	}
	free(text);
}

/* Of a cubin as Triton loads it, whose PTX may be in a cache. Such a module has one kernel. */
static int open_cached(struct kc_code_reader *reader, const struct kc_code_part *cubin, size_t memory_bytes,
		       struct kc_code_lack *lack)
{
	struct kc_image_piece ptx;
	uint32_t i = 0;
	int rc;

	while (!batch.kernels[i])
		i++;
	if (!kc__cached_ptx(batch.kernels[i]->name, cubin->bytes, cubin->length, memory_bytes / 2, &ptx))
		return -ENOENT;
	rc = kc_code_open(reader, &(const struct kc_code_part){.bytes = ptx.bytes, .length = ptx.length},
			  memory_bytes - ptx.length, lack);
	munmap((void *)ptx.bytes, ptx.length);
	batch.is_apart = !rc;
	return rc;
}

/* All texts found no room, but would where there are no formulas. */
static bool is_crowded(int rc)
{
	const struct kc_code_reader *reader = &batch.texts.reader;

	return rc == -ENOMEM || (!rc && kc_code_left_out(reader) && kc_code_shortest(reader) == reader->count);
}

static void open_piece(const struct kc__code_piece *piece)
{
	struct kc_code_lack lack;
	int rc;

	close_piece();
	batch.is_apart = batch.code->is_made;
	look_for(NULL);
	kc__formulas_yield(LEAST_BYTES);
	do {
		lack = batch.lack;
		rc = kc__texts_open(&batch.texts, batch.code, piece, SIZE_MAX, &lack);
	} while (is_crowded(rc) && kc__formulas_drop());
	batch.lack = lack;
	batch.is_open = !rc;
	batch.done = 0;
}

/* Of what the module has no text that could be read. */
static void give_up(void)
{
	struct kc__code *code = batch.code;
	const struct kc_code_lack *lack = &batch.lack;
	int why = kc_code_lacks(lack);
	enum kc_code_state state = !code                              ? KC_CODE_NOT_SEEN
				   : code->state == KC_CODE_TOO_LARGE ? KC_CODE_TOO_LARGE
				   : why == -ENOENT                   ? KC_CODE_NO_PTX
				   : why == -EBADMSG                  ? KC_CODE_REFUSED
								      : without_room(code);

	for (uint32_t i = 0; i < batch.count; i++) {
		struct kc__kernel *kernel = batch.kernels[i];

		if (!kernel)
			continue;
		if (atomic_load_explicit(&kernel->formula, memory_order_relaxed)) {
			leave(i); /* it has been read before */
			continue;
		}
		if (state == KC_CODE_REFUSED)
			kc__code_refuse(kernel, lack->refusal.offset, lack->refusal.reason);
		else
			kc__code_put(kernel, state, 0,
				     state == KC_CODE_NO_PTX && lack->is_cubin ? KC_CODE_CUBIN_ALONE : "");
		settle(i);
	}
}

/* ---- What is wanted ---- */

void kc__code_wanted(struct kc__kernel *kernel)
{
	if (kernel->is_wanted)
		return;
	kernel->is_wanted = true;
	kernel->next_wanted = kc__shim.wanted;
	kc__shim.wanted = kernel;
	queue.added++;
	kc__reader_want(); /* its launch may not wait, and then calls nobody */
}

/* The kernel is met for the first time. Returns what has been read ahead. */
static struct kc__formula *meet(struct kc__kernel *kernel)
{
	struct kc__formula *formula = NULL;

	pthread_mutex_lock(&kc__shim.tables_lock);
	if (!kernel->is_met) {
		atomic_store(&kernel->is_met, true);
		formula = kc__foreseen_take(kernel);
		if (!formula)
			kc__code_wanted(kernel);
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return formula;
}

void kc__code_meet(struct kc__kernel *kernel)
{
	struct kc__formula *formula = atomic_load(&kernel->is_met) ? NULL : meet(kernel);

	if (!formula)
		return;
	kc__learn_formula(kernel, formula, kc__early_prepare(kernel, formula));
	pthread_mutex_lock(&kc__shim.tables_lock);
	kc__code_wanted(kernel); /* what remains is the reader's: it says what the code is */
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* tables_lock held. One that a launch waits for, otherwise the one launched last; NULL: none is wanted. */
static const struct kc__kernel *most_wanted(void)
{
	for (const struct kc__kernel *k = kc__shim.wanted; k; k = k->next_wanted)
		if (atomic_load(&k->awaited))
			return k;
	return kc__shim.wanted;
}

/* A launch waits for what is not in the batch, and none for what is. */
static bool others_are_awaited(void)
{
	const struct kc__kernel *first;
	bool awaited;

	if (!kc__reader_awaited())
		return false;
	for (uint32_t i = 0; i < batch.count; i++)
		if (batch.kernels[i] && atomic_load(&batch.kernels[i]->awaited))
			return false;
	pthread_mutex_lock(&kc__shim.tables_lock);
	first = most_wanted();
	awaited = first && atomic_load(&first->awaited);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return awaited;
}

/* Takes kernels of one module, on one device, out of the list, in its order: the one launched first last. false: none
 * is wanted. */
static bool take_wanted(void)
{
	struct kc__kernel **link = &kc__shim.wanted, *kernel;
	const struct kc__kernel *first;

	batch.count = batch.recalled = batch.piece = 0;
	batch.is_apart = false;
	batch.lack = (struct kc_code_lack){0};
	pthread_mutex_lock(&kc__shim.tables_lock);
	first = most_wanted();
	batch.code = first ? first->code : NULL;
	while ((kernel = *link) && batch.count < KC_CODE_READER_KERNELS) {
		if (kernel->code != batch.code || kernel->device != first->device) {
			link = &kernel->next_wanted;
			continue;
		}
		*link = kernel->next_wanted;
		batch.kernels[batch.count++] = kernel;
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	batch.left = batch.count;
	if (!first)
		return false;
	batch.texts.reader.limits = &limits;
	batch.texts.reader.behind = open_cached;
	batch.texts.reader.cc_major = batch.kernels[0]->device->info.cc_major;
	batch.texts.reader.cc_minor = batch.kernels[0]->device->info.cc_minor;
	return true;
}

/* Those whose formula was read ahead are done with; at the end of the process, those as well that were read before. */
static void leave_out_known(void)
{
	for (uint32_t i = 0; i < batch.count; i++) {
		struct kc__kernel *kernel = batch.kernels[i];
		const struct kc__formula *formula = atomic_load(&kernel->formula);
		bool is_new = formula && !atomic_load(&kernel->reading_done);

		if (formula && !is_new && kc__reader_is_ending())
			leave(i);
		if (!is_new)
			continue;
		kc__code_put(kernel, KC_CODE_READ, 0, "");
		settle(i);
	}
}

/* What was taken from the list and not read yet comes first again. */
static void put_back(void)
{
	close_piece();
	pthread_mutex_lock(&kc__shim.tables_lock);
	for (uint32_t i = batch.count; i--;) {
		struct kc__kernel *kernel = batch.kernels[i];

		if (!kernel)
			continue;
		kernel->next_wanted = kc__shim.wanted;
		kc__shim.wanted = kernel;
		queue.added++;
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	batch.left = 0;
}

/* The kernel that is read next: one that a launch waits for, else the shortest. */
static uint32_t next_kernel(void)
{
	const struct kc_code_reader *reader = &batch.texts.reader;

	for (uint32_t i = 0; i < reader->count; i++)
		if (kc_code_has(reader, i) && atomic_load(&batch.kernels[i]->awaited))
			return i;
	return kc_code_shortest(reader);
}

/* One kernel, or one pass over a text. */
static void read_on(void)
{
	struct kc__code *code = batch.code;
	uint32_t i = batch.is_open ? next_kernel() : batch.count;

	if (i < batch.count) {
		read_kernel(i, false);
	} else if (batch.is_open && batch.done && kc_code_left_out(&batch.texts.reader)) {
		open_piece(&code->pieces[batch.piece - 1]);
	} else if (batch.recalled < batch.count) {
		read_kept(batch.recalled++);
	} else if (code && code->state == KC_CODE_WAITS && batch.piece < code->piece_count) {
		batch.lack.no_memory |= batch.is_open && kc_code_left_out(&batch.texts.reader);
		open_piece(&code->pieces[batch.piece++]);
	} else {
		batch.lack.no_memory |= batch.is_open && kc_code_left_out(&batch.texts.reader);
		give_up();
	}
	if (!batch.left) {
		close_piece();
		last_read = code;
	}
}

/* 1: there may be more. */
static int step(void)
{
	if (batch.left && (batch.done || !batch.is_open) && others_are_awaited())
		put_back(); /* what was passed over is of some use at least */
	if (batch.left)
		read_on();
	else if (take_wanted())
		leave_out_known();
	else
		return 0;
	return 1;
}

/* What is wanted, or was read last, and not known yet where to find. */
static struct kc__code *unnoted(void)
{
	struct kc__code *code = NULL;

	if (batch.left && batch.code && batch.code->place == KC__PLACE_UNKNOWN)
		return batch.code;
	if (last_read && last_read->place == KC__PLACE_UNKNOWN)
		return last_read;
	pthread_mutex_lock(&kc__shim.tables_lock);
	for (const struct kc__kernel *k = kc__shim.wanted; queue.looked != queue.added && k && !code;
	     k = k->next_wanted)
		if (k->code && k->code->place == KC__PLACE_UNKNOWN)
			code = k->code;
	if (!code)
		queue.looked = queue.added;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return code;
}

int kc__code_note_places(void)
{
	struct kc__code *code = unnoted();

	if (code)
		kc__code_is_noted(code);
	return code != NULL;
}

int kc__code_step(int64_t *rest_ns)
{
	struct kc__reading_cost *cost = &kc__shim.reading;
	int64_t began_ns = kc__now_ns(), took_ns;
	int read;

	*rest_ns = cost->rests_until_ns > began_ns ? cost->rests_until_ns - began_ns : INT64_MAX;
	if (began_ns < cost->rests_until_ns && !kc__reader_awaited())
		return 0;
	took_ns = -kc__processor_ns();
	read = step();
	took_ns += kc__processor_ns();
	cost->spent_ns += took_ns;
	if (!read)
		return 0;
	if (cost->spent_ns > FIRST_TIME_NS || began_ns - kc__shim.header->monotonic_ns > FIRST_NS)
		cost->rests_until_ns = began_ns + REST_SHARE * took_ns;
	return 1;
}

void kc__code_finish(void)
{
	int64_t stop_ns = kc__now_ns() + FINISH_NS;

	while (kc__now_ns() < stop_ns && kc__code_note_places())
		;
	while (kc__now_ns() < stop_ns && step())
		;
	if (batch.left)
		put_back();
	while (take_wanted())
		for (uint32_t i = 0; i < batch.count; i++)
			if (!atomic_load_explicit(&batch.kernels[i]->formula, memory_order_relaxed))
				kc__code_put(batch.kernels[i], KC_CODE_WAITS, 0, "");
	batch.left = 0;
}

/* The parent's memory is not freed: its reader may have been changing it. */
void kc__code_read_forget(void)
{
	batch.count = batch.left = 0;
	batch.texts = (struct kc__code_texts){0};
	batch.is_open = false;
	last_read = NULL;
}
