/*
 * From kept code to cost formulas, on the reader's thread. Of a module's PTX only the
 * kernels are read that have been launched so far (ptx_cut.h): a library's has up to
 * 40 MB, and what this may take is some 6 MiB.
 */
#include "code_pass.h"
#include "foresee.h"
#include "formulas.h"
#include "kept_text.h"
#include "ptx_cache.h"
#include "reader.h"
#include "shim/tables/memory.h"
#include "shim/tables/early.h"
#include "shim/worker/learn.h"

#include "predictor/code/stored/code_file.h"
#include "predictor/code/container/image.h"
#include "predictor/code/stored/thin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <unistd.h>

#define OTHERS_BYTES ((size_t)2 << 20) /* left to code that is loaded or compiled while other code is read */
/* Of the processor time: so much in the first moments of recording, then one part in so many. */
#define FIRST_NS 10000000000ll
#define FIRST_TIME_NS 1000000000ll
#define REST_SHARE 20
#define FINISH_NS 100000000ll /* for what is left at the end of the process */
#define STEP_NS 50000000ll    /* then other code has its turn; one kernel at least */

/* The PTX for the first kernel's device is read: another device that uses other PTX of the same image is rare. */
static void read_images(struct kc__reading *reading, const void *bytes, size_t length)
{
	const struct kc_device *device = &reading->kernels->device->info;
	struct kc_images images;
	struct kc__kernel **link;

	if (kc_images_list(&images, bytes, length, reading->room_bytes / 2, &reading->refusal))
		return;
	reading->saw_code = true;
	reading->room_bytes -= images.arena.held_bytes;
	for (uint32_t fatbin = 0; fatbin < images.fatbin_count && reading->kernels && !kc__is_late(reading); fatbin++) {
		struct kc__source source = {
		    .image = kc_images_choose(&images, fatbin, device->cc_major, device->cc_minor, 1u << KC_IMAGE_PTX)};

		if (!source.image) {
			source.image = kc_images_choose_other(&images, fatbin, device->cc_major, device->cc_minor);
			source.code =
			    kc_images_choose(&images, fatbin, device->cc_major, device->cc_minor, 1u << KC_IMAGE_CUBIN);
			source.other_architecture = true;
		}
		link = source.image ? &reading->kernels : NULL;
		while (link && *link)
			link = kc__pass_over(reading, link, &source);
	}
	reading->room_bytes += images.arena.held_bytes;
	kc_images_free(&images);
}

/* A cubin by itself, as Triton loads it: its PTX may be in a cache. Such a module has one kernel. */
static void read_cached(struct kc__reading *reading, const char *bytes, size_t length)
{
	struct kc_image_piece ptx;

	reading->is_cubin = kc_image_is_cubin(bytes, length);
	if (!reading->is_cubin || !kc__cached_ptx(reading->kernels->name, bytes, length, reading->room_bytes, &ptx))
		return;
	reading->room_bytes -= ptx.length;
	reading->is_apart = true;
	read_images(reading, ptx.bytes, ptx.length);
	reading->room_bytes += ptx.length;
	munmap((void *)ptx.bytes, ptx.length);
}

static void cannot_open(struct kc__reading *reading, int error)
{
	reading->refusal = (struct kc_refusal){0};
	snprintf(reading->refusal.reason, sizeof(reading->refusal.reason),
		 "the file that the code was loaded from cannot be opened any more: error %d", error);
}

static void read_from_file(struct kc__reading *reading, const struct kc__code_piece *piece)
{
	const struct kc_device *device = &reading->kernels->device->info;
	struct kc_code_file file = {open(piece->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), piece->offset,
				    piece->length};
	struct kc_thin_request request = {
	    .read = kc_code_file_read,
	    .arg = &file,
	    .length = piece->length,
	    .cc_major = device->cc_major,
	    .cc_minor = device->cc_minor,
	    .memory_bytes = reading->room_bytes / 2,
	};
	size_t length;
	void *bytes;
	int rc;

	if (file.fd < 0) {
		cannot_open(reading, errno);
		return;
	}
	rc = kc_image_thin(&request, &bytes, &length, &reading->refusal);
	close(file.fd);
	reading->lacks_room |= rc == -ENOMEM;
	reading->saw_code |= rc == -ENOENT;
	if (rc)
		return;
	reading->room_bytes -= length;
	read_images(reading, bytes, length);
	if (reading->kernels)
		read_cached(reading, bytes, length);
	reading->room_bytes += length;
	free(bytes);
}

static void read_piece(struct kc__reading *reading, struct kc__code *code, const struct kc__code_piece *piece)
{
	const void *copy;

	if (piece->path) {
		read_from_file(reading, piece);
		return;
	}
	copy = kc__code_hold(code, piece);
	if (!copy)
		return;
	read_images(reading, copy, piece->length);
	if (reading->kernels)
		read_cached(reading, copy, piece->length);
	kc__code_release(code);
}

/* The kernel alone, from what an earlier run has kept. true: it has been read. */
static bool read_kept(struct kc__reading *reading, struct kc__kernel *kernel)
{
	struct kc__reading alone = *reading;
	size_t length;
	char *text = kc__text_kept(kernel, &length);

	if (!text || length > alone.room_bytes) {
		free(text);
		return false;
	}
	alone.kernels = kernel;
	alone.is_kept = true;
	alone.room_bytes -= length;
	read_images(&alone, text, length);
	free(text);
	reading->room_bytes = alone.room_bytes + length;
	reading->done = alone.done;
	reading->stop_ns = alone.stop_ns;
	return !alone.kernels;
}

static void read_all_kept(struct kc__reading *reading)
{
	struct kc__kernel **link = &reading->kernels;

	while (*link && !kc__is_late(reading)) {
		struct kc__kernel *kernel = *link, *rest = kernel->next_wanted;

		kernel->next_wanted = NULL;
		if (read_kept(reading, kernel)) {
			*link = rest;
		} else {
			kernel->next_wanted = rest;
			link = &kernel->next_wanted;
		}
	}
}

/* Some is left: the application may be loading more. */
size_t kc__code_take_room(void)
{
	size_t bytes = kc__share_left(KC__SHARE_CODE);

	bytes -= bytes > 2 * OTHERS_BYTES ? OTHERS_BYTES : bytes / 2;
	while (bytes && !kc__share_take(KC__SHARE_CODE, bytes))
		bytes /= 2;
	return bytes;
}

static void give_up(const struct kc__reading *reading, const struct kc__code *code)
{
	enum kc_code_state state = !code                              ? KC_CODE_NOT_SEEN
				   : code->state == KC_CODE_TOO_LARGE ? KC_CODE_TOO_LARGE
				   : reading->lacks_room              ? kc__without_room(code)
				   : reading->refusal.reason[0]       ? KC_CODE_REFUSED
				   : reading->saw_code                ? KC_CODE_NO_PTX
								      : kc__without_room(code);

	for (struct kc__kernel *k = reading->kernels, *next; k; k = next) {
		next = k->next_wanted;
		kc__not_wanted(k);
		if (atomic_load_explicit(&k->formula, memory_order_relaxed))
			continue; /* it has been read before */
		if (state == KC_CODE_REFUSED)
			kc__code_refuse(k, reading->refusal.offset, reading->refusal.reason);
		else
			kc__code_put(k, state, 0,
				     state == KC_CODE_NO_PTX && reading->is_cubin ? KC_CODE_CUBIN_ALONE : "");
		kc__early_settle(k);
	}
}

/* tables_lock held. One that a launch waits for, otherwise the one launched last; NULL: none is wanted. */
static const struct kc__kernel *most_wanted(void)
{
	for (const struct kc__kernel *k = kc__shim.wanted; k; k = k->next_wanted)
		if (atomic_load(&k->awaited))
			return k;
	return kc__shim.wanted;
}

/* Takes the kernels of one module out of the list, in its order: the one launched first last. */
static struct kc__kernel *take_wanted(struct kc__code **code)
{
	struct kc__kernel *taken = NULL, **end = &taken, **link = &kc__shim.wanted;
	const struct kc__kernel *first;

	pthread_mutex_lock(&kc__shim.tables_lock);
	first = most_wanted();
	*code = first ? first->code : NULL;
	while (*link) {
		struct kc__kernel *kernel = *link;

		if (kernel->code != *code) {
			link = &kernel->next_wanted;
			continue;
		}
		*link = kernel->next_wanted;
		kernel->next_wanted = NULL;
		*end = kernel;
		end = &kernel->next_wanted;
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return taken;
}

void kc__code_wanted(struct kc__kernel *kernel)
{
	if (kernel->is_wanted)
		return;
	kernel->is_wanted = true;
	kernel->next_wanted = kc__shim.wanted;
	kc__shim.wanted = kernel;
	kc__reader_want(); /* its launch may not wait, and then calls nobody */
	if (!kernel->code || kernel->code->placed)
		return;
	kernel->code->placed = true;
	kernel->code->next_unplaced = kc__shim.unplaced;
	kc__shim.unplaced = kernel->code;
}

struct kc__formula *kc__code_met(struct kc__kernel *kernel)
{
	struct kc__formula *formula = kc__foreseen_take(kernel);

	if (!formula)
		kc__code_wanted(kernel);
	return formula;
}

/* What remains is the reader's: it says what the code is. */
void kc__code_ready(struct kc__kernel *kernel, struct kc__formula *formula)
{
	kc__learn_formula(kernel, formula, kc__early_prepare(kernel, formula));
	pthread_mutex_lock(&kc__shim.tables_lock);
	kc__code_wanted(kernel);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* Those whose formula was read ahead leave the list. */
static struct kc__kernel *without_ready(struct kc__kernel *kernels)
{
	struct kc__kernel **link = &kernels;
	char text[KC__CODE_TEXT_BYTES];

	while (*link) {
		struct kc__kernel *kernel = *link;
		const struct kc__formula *formula = atomic_load(&kernel->formula);

		if (!formula || atomic_load(&kernel->reading_done)) {
			link = &kernel->next_wanted;
			continue;
		}
		*link = kernel->next_wanted;
		text[0] = '\0';
		if (formula->cost)
			kc_cost_write(formula->cost, text, sizeof(text));
		kc__code_put(kernel, KC_CODE_READ, 0, text);
		kc__not_wanted(kernel);
		kc__early_settle(kernel);
	}
	return kernels;
}

static void read_code(struct kc__reading *reading, struct kc__code *code)
{
	reading->lacks_room = false;
	reading->refusal.reason[0] = '\0';
	for (uint32_t i = 0;
	     code && code->state == KC_CODE_WAITS && i < code->piece_count && reading->kernels && !kc__is_late(reading);
	     i++)
		read_piece(reading, code, &code->pieces[i]);
}

/* What was taken from the list and not read yet comes first again. */
static void put_back(struct kc__kernel *kernels)
{
	struct kc__kernel *last = kernels;

	pthread_mutex_lock(&kc__shim.tables_lock);
	while (last->next_wanted)
		last = last->next_wanted;
	last->next_wanted = kc__shim.wanted;
	kc__shim.wanted = kernels;
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* Those that were read before, for another launch shape, are wanted no more when the process ends. */
static struct kc__kernel *never_read(struct kc__kernel *kernels)
{
	struct kc__kernel **link = &kernels;

	while (*link)
		if (atomic_load_explicit(&(*link)->formula, memory_order_relaxed))
			*link = (*link)->next_wanted;
		else
			link = &(*link)->next_wanted;
	return kernels;
}

/* 1: there was something to read. */
static int read_next(int64_t step_ns, bool is_last)
{
	struct kc__reading reading = {
	    .step_ns = step_ns, .stop_ns = is_last ? kc__now_ns() + step_ns : 0, .is_last = is_last};
	struct kc__code *code;

	reading.calls = kc__reader_calls();
	reading.kernels = take_wanted(&code);
	if (!reading.kernels)
		return 0;
	reading.kernels = without_ready(reading.kernels);
	if (!reading.kernels)
		return 1;
	if (is_last && !(reading.kernels = never_read(reading.kernels)))
		return 1;
	reading.room_bytes = kc__code_take_room();
	reading.is_apart = code && code->is_made;
	reading.code = code;
	kc__pass_resume(&reading);
	read_all_kept(&reading);
	do /* formulas that were read before make room, and then those just read */
		read_code(&reading, code);
	while (reading.kernels && reading.lacks_room && !kc__is_late(&reading) &&
	       kc__formulas_drop(&reading.room_bytes));
	kc__share_give(KC__SHARE_CODE, reading.room_bytes);
	if (reading.kernels && kc__is_late(&reading))
		put_back(reading.kernels);
	else if (reading.kernels)
		give_up(&reading, code);
	return 1;
}

/* A module is read again when another kernel of it is launched later. After the first moments, or once these have taken
 * their time, reading pauses after each module, so that it takes no more than one part in REST_SHARE of a processor,
 * and what is wanted meanwhile is read together. What a launch waits for is read at once. */
int kc__code_step(int64_t *rest_ns)
{
	struct kc__reading_cost *cost = &kc__shim.reading;
	int64_t began_ns = kc__now_ns(), took_ns;
	int read;

	*rest_ns = cost->rests_until_ns > began_ns ? cost->rests_until_ns - began_ns : INT64_MAX;
	if (began_ns < cost->rests_until_ns && !kc__reader_awaited())
		return 0;
	took_ns = -kc__processor_ns();
	read = read_next(STEP_NS, false);
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
	struct kc__code *code;

	while (kc__code_note_places() && kc__now_ns() < stop_ns)
		;
	for (int64_t left_ns = FINISH_NS; left_ns > 0 && read_next(left_ns, true);)
		left_ns = stop_ns - kc__now_ns();
	for (struct kc__kernel *k; (k = take_wanted(&code));)
		for (; k; k = k->next_wanted)
			if (!atomic_load_explicit(&k->formula, memory_order_relaxed))
				kc__code_put(k, KC_CODE_WAITS, 0, "");
}
