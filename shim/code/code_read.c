/*
 * From kept code to cost formulas, on the worker thread. Of a module's PTX only the
 * kernels are read that have been launched so far (ptx_cut.h): a library's has up to
 * 40 MB, and what this may take is some 6 MiB.
 */
#include "formulas.h"
#include "kept_text.h"
#include "loaded_code.h"
#include "ptx_cache.h"

#include "predictor/code/stored/code_file.h"
#include "predictor/code/container/image.h"
#include "predictor/code/stored/thin.h"
#include "predictor/code/features/features.h"
#include "predictor/code/ptx/ptx_cut.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <unistd.h>

#define OTHERS_BYTES ((size_t)2 << 20)      /* left to code that is loaded or compiled while other code is read */
#define TEXTS_BYTES ((size_t)2 << 20)       /* of the kernels' PTX that is read in one pass, at most */
#define TEXTS_LEAST_BYTES ((size_t)1 << 20) /* formulas give way for so much of it */
#define KERNELS_MAX 256u                    /* read in one pass over the text */
/* Of the processor time: so much in the first moments of recording, then one part in so many. */
#define FIRST_NS 10000000000ll
#define FIRST_TIME_NS 1000000000ll
#define REST_SHARE 20
#define FINISH_NS 100000000ll /* for what is left at the end of the process */
#define STEP_NS 50000000ll    /* then the worker does something else; one kernel at least */

/* The kernels of one module whose code is being read. */
struct reading {
	struct kc__kernel *kernels; /* those that were not read, by next_wanted */
	struct kc_refusal refusal;
	bool saw_code;
	bool lacks_room;   /* something could be read with more memory */
	bool is_cubin;     /* by itself */
	bool is_apart;     /* what is read is not in what was loaded: it is kept for the next run */
	bool is_kept;      /* it has been kept by an earlier one: kept_text.h */
	size_t room_bytes; /* there is for what reading takes from here on, and for the formulas */
	uint32_t done;
	bool is_last;    /* the process ends: time is up whether a kernel was read or not */
	int64_t pass_ns; /* that the last pass over a text took */
	int64_t step_ns; /* that kernels may be read for, after the first pass over a text */
	int64_t stop_ns; /* 0: no text has been passed over yet */
};

/* PTX of which some kernels are being read. */
struct source {
	const struct kc_image *image;
	bool other_architecture;     /* than that of which the device's code was made */
	const struct kc_image *code; /* that, if it is to be compared; NULL: there is none */
	struct kc_ptx_cut cut;
	size_t kept_bytes; /* of the cut, that the room is without */
};

/* What parsing a kernel added to the cut is left out of the room, too. */
static size_t room_left(const struct reading *reading, const struct source *source, size_t held_bytes)
{
	size_t taken = kc_ptx_cut_bytes(&source->cut) - source->kept_bytes + held_bytes;

	return reading->room_bytes > taken ? reading->room_bytes - taken : 0;
}

/* Room for the cost has been taken. false: the tables have none, and the caller still owns the cost. */
static bool publish(struct kc__kernel *kernel, struct kc_cost *cost, const struct kc_ptx_function *function,
		    bool other_architecture)
{
	struct kc__formula *formula = atomic_load_explicit(&kernel->formula, memory_order_relaxed);
	bool is_new = !formula;

	pthread_mutex_lock(&kc__shim.tables_lock);
	if (is_new)
		formula = kc__formula_make(cost, function, other_architecture);
	if (formula)
		kc__formulas_add(formula, cost);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	if (is_new && formula)
		kc__learn_formula(kernel, formula, kc__early_prepare(kernel, formula));
	return formula != NULL;
}

/* Returns what its caller does: after a text that was kept, the code that was loaded is read. */
static int refuse_text(const struct reading *reading, const struct kc__kernel *kernel, size_t offset,
		       const char *reason)
{
	if (reading->is_kept)
		return 0;
	kc__code_refuse(kernel, offset, reason);
	return 1;
}

static const struct kc_features not_known;

/* 1: read, or it never will be; 0: the module has no such kernel; -ENOMEM: there is not enough room. */
static int read_function(struct reading *reading, struct kc__kernel *kernel, const struct source *source,
			 const struct kc_ptx_wanted *wanted, const struct kc_ptx_module *module)
{
	const struct kc_ptx_function *function = kc_ptx_find(module, kernel->name);
	size_t room_bytes = room_left(reading, source, module->arena.held_bytes);
	struct kc_refusal refusal = {0};
	const char *differs = NULL;
	char text[KC__CODE_TEXT_BYTES];
	struct kc_cost *cost;
	bool is_known;
	int rc;

	if (!function || !function->is_entry || !kc__same_parameters(kernel, function) ||
	    (reading->is_kept && !kc__same_layout(kernel, function)))
		return 0;
	if (source->other_architecture)
		differs = kc_features_differ(module, function, kernel->features ? kernel->features : &not_known,
					     kernel->resources.static_shared_bytes);
	if (differs)
		return refuse_text(reading, kernel, wanted->offset, differs);
	if (room_bytes < KC__FORMULA_BYTES)
		return -ENOMEM;
	rc = kc_cost_read_within(&cost, module, function, KC__FORMULA_BYTES, room_bytes - KC__FORMULA_BYTES, &refusal);
	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return refuse_text(reading, kernel, kc_ptx_cut_offset(&source->cut, wanted, refusal.offset),
				   refusal.reason);
	is_known = atomic_load_explicit(&kernel->formula, memory_order_relaxed);
	kc_cost_write(cost, text, sizeof(text));
	if (!kc__formulas_make_room(cost, &reading->room_bytes)) {
		kc_cost_free(cost);
		return -ENOMEM;
	}
	if (!publish(kernel, cost, function, source->other_architecture)) {
		kc__formulas_cancel(cost, &reading->room_bytes);
		kc_cost_free(cost);
		return -ENOMEM;
	}
	if (!is_known)
		kc__code_put(kernel, KC_CODE_READ, source->other_architecture ? source->image->sm : 0, text);
	if (!is_known && reading->is_apart)
		kc__text_keep(kernel, &source->cut);
	return 1;
}

/* The same for a kernel whose text was found. */
static int read_text(struct reading *reading, struct kc__kernel *kernel, struct source *source,
		     const struct kc_ptx_wanted *wanted)
{
	struct kc_refusal refusal = {0};
	struct kc_ptx_module module;
	int rc = kc_ptx_cut_parse(&source->cut, wanted, &module, room_left(reading, source, 0), &refusal);

	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return refuse_text(reading, kernel, refusal.offset, refusal.reason);
	rc = read_function(reading, kernel, source, wanted, &module);
	kc_ptx_free(&module);
	return rc;
}

/* A command has more room. */
static enum kc_code_state too_large(const struct kc__code *code)
{
	return code && code->is_noted ? KC_CODE_WAITS : KC_CODE_TOO_LARGE;
}

/* What the kernel's text took is room again. */
static void drop_text(struct reading *reading, struct source *source, struct kc_ptx_wanted *wanted)
{
	kc_ptx_cut_drop(&source->cut, wanted);
	reading->room_bytes += source->kept_bytes;
	source->kept_bytes = kc_ptx_cut_bytes(&source->cut);
	reading->room_bytes -= source->kept_bytes;
}

/* The first kernels of the list, and where their text is. */
struct pass {
	struct kc_ptx_wanted wanted[KERNELS_MAX];
	struct kc__kernel *kernels[KERNELS_MAX]; /* NULL: read, or it never will be */
	bool crowded[KERNELS_MAX];               /* beside the text of others there was not enough room */
	uint32_t count, done, no_room;
};

/* What is left to other code that may be loaded: until the end of this step, for a kernel that cannot be read without.
 * Not from entries and buffers that need more than they have for themselves. */
static bool take_rest(struct reading *reading)
{
	size_t bytes = kc__share_left(KC__SHARE_CODE);

	if (!kc__share_has_own(KC__SHARE_ENTRIES) || !kc__share_has_own(KC__SHARE_BUFFERS))
		return false;
	if (!bytes || !kc__share_take(KC__SHARE_CODE, bytes))
		return false;
	reading->room_bytes += bytes;
	return true;
}

/* true: read, or it never will be. Formulas that were read before make room for this one. Where that is not enough, it
 * is left until the text of the others is gone. */
static bool read_kernel(struct reading *reading, struct kc__kernel *kernel, struct source *source, struct pass *pass,
			uint32_t i)
{
	struct kc_ptx_wanted *wanted = &pass->wanted[i];
	bool is_alone = source->cut.kernels.length == wanted->length;
	int rc;

	do
		rc = read_text(reading, kernel, source, wanted);
	while (rc == -ENOMEM && (kc__formulas_drop(&reading->room_bytes) || (is_alone && take_rest(reading))));
	if (rc == -ENOMEM && !is_alone && !pass->crowded[i]) {
		pass->crowded[i] = true;
		return false;
	}
	drop_text(reading, source, wanted);
	if (rc == -ENOMEM && reading->is_kept)
		return false;
	if (rc == -ENOMEM && !is_alone) {
		wanted->no_room = 1;
		pass->no_room++;
		return false;
	}
	if (rc == -ENOMEM && !atomic_load_explicit(&kernel->formula, memory_order_relaxed))
		kc__code_put(kernel, too_large(kernel->code), 0, "");
	return rc != 0;
}

/* It may be wanted again from now on. */
static void not_wanted(struct kc__kernel *kernel)
{
	pthread_mutex_lock(&kc__shim.tables_lock);
	kernel->is_wanted = false;
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* Enough for now: what is left is read in another step. */
static bool is_late(const struct reading *reading)
{
	return (reading->done || reading->is_last) && reading->stop_ns && kc__now_ns() > reading->stop_ns;
}

/* Of a kernel, which from then on is not looked for again. */
static void set_features(struct kc__kernel *kernel, const struct kc_features *found)
{
	struct kc_features *features;

	pthread_mutex_lock(&kc__shim.tables_lock);
	features = kc__arena(sizeof(*features));
	pthread_mutex_unlock(&kc__shim.tables_lock);
	if (features)
		*features = *found;
	kernel->features = features ? features : &not_known;
}

/* What the device's code shows of the kernels whose text was found: of all at once, as its image is unpacked for that.
 * Takes no time of the step. Where it cannot be read, nothing is known. */
static void find_features(struct reading *reading, const struct source *source, const struct pass *pass)
{
	struct kc_features_wanted features[KERNELS_MAX];
	struct kc__kernel *of[KERNELS_MAX];
	int64_t began_ns = kc__now_ns();
	uint32_t found = 0;

	for (uint32_t i = 0; i < pass->count; i++) {
		if (!pass->kernels[i] || !pass->wanted[i].found || pass->kernels[i]->features)
			continue;
		of[found] = pass->kernels[i];
		features[found++] = (struct kc_features_wanted){.name = pass->kernels[i]->name};
	}
	if (!found)
		return;
	kc_features_of_image(source->code, features, found, reading->room_bytes, NULL);
	for (uint32_t i = 0; i < found; i++)
		set_features(of[i], &features[i].features);
	if (!reading->is_last)
		reading->stop_ns += kc__now_ns() - began_ns;
}

static uint32_t shortest(const struct pass *pass, bool crowded)
{
	uint32_t found = pass->count;

	for (uint32_t i = 0; i < pass->count; i++)
		if (pass->kernels[i] && pass->wanted[i].found && !pass->wanted[i].no_room &&
		    pass->crowded[i] == crowded &&
		    (found == pass->count || pass->wanted[i].length < pass->wanted[found].length))
			found = i;
	return found;
}

/* A short text first, as it takes the least memory, and less and less is held for others. */
static void read_found(struct reading *reading, struct source *source, struct pass *pass, bool crowded)
{
	for (uint32_t i; !is_late(reading) && (i = shortest(pass, crowded)) < pass->count;) {
		if (!read_kernel(reading, pass->kernels[i], source, pass, i))
			continue;
		kc__early_settle(pass->kernels[i]);
		pass->kernels[i] = NULL;
		pass->done++;
		reading->done++;
	}
}

/* Those that are done leave the list. Returns the link behind the others. */
static struct kc__kernel **leave_list(struct kc__kernel **link, const struct pass *pass)
{
	for (uint32_t i = 0; i < pass->count; i++) {
		struct kc__kernel *kernel = *link;

		if (pass->kernels[i]) {
			link = &kernel->next_wanted;
			continue;
		}
		*link = kernel->next_wanted;
		not_wanted(kernel);
	}
	return link;
}

/* Time is up where another pass over the text would take most of what is left of it. */
static void stop_before_a_pass(struct reading *reading)
{
	int64_t now_ns = kc__now_ns();

	if (reading->done && now_ns + 2 * reading->pass_ns > reading->stop_ns)
		reading->stop_ns = now_ns - 1;
}

/* Reads up to KERNELS_MAX kernels from *from on. Returns where to go on: at the same place while there is no room for
 * the text of all of them at once; NULL: the text cannot be read, or time is up. */
static struct kc__kernel **read_some(struct reading *reading, struct kc__kernel **from, struct source *source)
{
	struct pass pass = {.count = 0};
	struct kc__kernel **link;
	size_t unpacking_bytes = kc_image_stream_bytes(source->image), left_bytes;
	int64_t began_ns = kc__now_ns();
	int rc;

	for (struct kc__kernel *k = *from; k && pass.count < KERNELS_MAX; k = k->next_wanted) {
		pass.kernels[pass.count] = k;
		pass.wanted[pass.count++] = (struct kc_ptx_wanted){.name = k->name};
	}
	kc__formulas_yield(unpacking_bytes + TEXTS_LEAST_BYTES, &reading->room_bytes);
	left_bytes = reading->room_bytes > unpacking_bytes ? reading->room_bytes - unpacking_bytes : 0;
	kc_ptx_cut_begin(&source->cut, pass.wanted, pass.count, left_bytes < TEXTS_BYTES ? left_bytes : TEXTS_BYTES);
	rc = kc_image_stream(source->image, reading->room_bytes, kc_ptx_cut_feed, &source->cut, &reading->refusal);
	reading->lacks_room |= rc == -ENOMEM;
	source->kept_bytes = kc_ptx_cut_bytes(&source->cut);
	reading->pass_ns = kc__now_ns() - began_ns;
	if (!reading->stop_ns)
		reading->stop_ns = kc__now_ns() + reading->step_ns;
	reading->room_bytes -= source->kept_bytes;
	for (uint32_t i = 0; i < pass.count; i++)
		pass.no_room += pass.wanted[i].no_room;
	if (!rc && source->code)
		find_features(reading, source, &pass);
	for (int crowded = 0; !rc && crowded < 2; crowded++)
		read_found(reading, source, &pass, crowded);
	link = leave_list(from, &pass);
	reading->room_bytes += source->kept_bytes;
	kc_ptx_cut_free(&source->cut);
	reading->lacks_room |= pass.no_room && !pass.done;
	if (pass.no_room && pass.done)
		stop_before_a_pass(reading);
	return rc || is_late(reading) ? NULL : pass.no_room && pass.done ? from : link;
}

/* The PTX for the first kernel's device is read: another device that uses other PTX of the same image is rare. */
static void read_images(struct reading *reading, const void *bytes, size_t length)
{
	const struct kc_device *device = &reading->kernels->device->info;
	struct kc_images images;
	struct kc__kernel **link;

	if (kc_images_list(&images, bytes, length, reading->room_bytes / 2, &reading->refusal))
		return;
	reading->saw_code = true;
	reading->room_bytes -= images.arena.held_bytes;
	for (uint32_t fatbin = 0; fatbin < images.fatbin_count && reading->kernels && !is_late(reading); fatbin++) {
		struct source source = {
		    .image = kc_images_choose(&images, fatbin, device->cc_major, device->cc_minor, 1u << KC_IMAGE_PTX)};

		if (!source.image) {
			source.image = kc_images_choose_other(&images, fatbin, device->cc_major, device->cc_minor);
			source.code =
			    kc_images_choose(&images, fatbin, device->cc_major, device->cc_minor, 1u << KC_IMAGE_CUBIN);
			source.other_architecture = true;
		}
		link = source.image ? &reading->kernels : NULL;
		while (link && *link)
			link = read_some(reading, link, &source);
	}
	reading->room_bytes += images.arena.held_bytes;
	kc_images_free(&images);
}

/* A cubin by itself, as Triton loads it: its PTX may be in a cache. Such a module has one kernel. */
static void read_cached(struct reading *reading, const char *bytes, size_t length)
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

static void cannot_open(struct reading *reading, int error)
{
	reading->refusal = (struct kc_refusal){0};
	snprintf(reading->refusal.reason, sizeof(reading->refusal.reason),
		 "the file that the code was loaded from cannot be opened any more: error %d", error);
}

static void read_from_file(struct reading *reading, const struct kc__code_piece *piece)
{
	const struct kc_device *device = &reading->kernels->device->info;
	struct kc_code_file file = {open(piece->path, O_RDONLY | O_CLOEXEC), piece->offset, piece->length};
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

static void read_piece(struct reading *reading, struct kc__code *code, const struct kc__code_piece *piece)
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
static bool read_kept(struct reading *reading, struct kc__kernel *kernel)
{
	struct reading alone = *reading;
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

static void read_all_kept(struct reading *reading)
{
	struct kc__kernel **link = &reading->kernels;

	while (*link && !is_late(reading)) {
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

/* What is left for code, but some: the application may be loading more. */
static size_t take_room(void)
{
	size_t bytes = kc__share_left(KC__SHARE_CODE);

	bytes -= bytes > 2 * OTHERS_BYTES ? OTHERS_BYTES : bytes / 2;
	while (bytes && !kc__share_take(KC__SHARE_CODE, bytes))
		bytes /= 2;
	return bytes;
}

static void give_up(const struct reading *reading, const struct kc__code *code)
{
	enum kc_code_state state = !code                              ? KC_CODE_NOT_SEEN
				   : code->state == KC_CODE_TOO_LARGE ? KC_CODE_TOO_LARGE
				   : reading->lacks_room              ? too_large(code)
				   : reading->refusal.reason[0]       ? KC_CODE_REFUSED
				   : reading->saw_code                ? KC_CODE_NO_PTX
								      : too_large(code);

	for (struct kc__kernel *k = reading->kernels, *next; k; k = next) {
		next = k->next_wanted;
		not_wanted(k);
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

/* Takes the kernels of one module out of the list, in its order: the one launched first last. */
static struct kc__kernel *take_wanted(struct kc__code **code)
{
	struct kc__kernel *taken = NULL, **end = &taken, **link = &kc__shim.wanted;

	pthread_mutex_lock(&kc__shim.tables_lock);
	*code = *link ? (*link)->code : NULL;
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
	if (!kernel->code || kernel->code->placed)
		return;
	kernel->code->placed = true;
	kernel->code->next_unplaced = kc__shim.unplaced;
	kc__shim.unplaced = kernel->code;
}

static void read_code(struct reading *reading, struct kc__code *code)
{
	reading->lacks_room = false;
	reading->refusal.reason[0] = '\0';
	for (uint32_t i = 0;
	     code && code->state == KC_CODE_WAITS && i < code->piece_count && reading->kernels && !is_late(reading);
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
	struct reading reading = {
	    .step_ns = step_ns, .stop_ns = is_last ? kc__now_ns() + step_ns : 0, .is_last = is_last};
	struct kc__code *code;

	reading.kernels = take_wanted(&code);
	if (!reading.kernels)
		return 0;
	if (is_last && !(reading.kernels = never_read(reading.kernels)))
		return 1;
	reading.room_bytes = take_room();
	reading.is_apart = code && code->is_made;
	read_all_kept(&reading);
	do /* formulas that were read before make room, and then those just read */
		read_code(&reading, code);
	while (reading.kernels && reading.lacks_room && !is_late(&reading) && kc__formulas_drop(&reading.room_bytes));
	kc__share_give(KC__SHARE_CODE, reading.room_bytes);
	if (reading.kernels && is_late(&reading))
		put_back(reading.kernels);
	else if (reading.kernels)
		give_up(&reading, code);
	return 1;
}

static int64_t processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A module is read again when another kernel of it is launched later. After the first moments, or once these have taken
 * their time, reading pauses after each module, so that it takes no more than one part in REST_SHARE of a processor,
 * and what is wanted meanwhile is read together. */
int kc__code_step(void)
{
	struct kc__reading_cost *cost = &kc__shim.reading;
	int64_t began_ns = kc__now_ns(), took_ns;
	int read;

	if (began_ns < cost->rests_until_ns)
		return 0;
	took_ns = -processor_ns();
	read = read_next(STEP_NS, false);
	took_ns += processor_ns();
	cost->spent_ns += took_ns;
	if (cost->spent_ns > FIRST_TIME_NS || began_ns - kc__shim.header->monotonic_ns > FIRST_NS)
		cost->rests_until_ns = began_ns + REST_SHARE * took_ns;
	return read;
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
