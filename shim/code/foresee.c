#include "foresee.h"
#include "formulas.h"
#include "loaded_code.h"
#include "mapped_code.h"
#include "reader.h"
#include "shim/tables/tables.h"
#include "shim/tables/memory.h"

#include "predictor/code/container/image.h"
#include "predictor/code/ptx/ptx_cut.h"
#include "predictor/code/stored/code_file.h"
#include "predictor/code/stored/thin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KERNELS_MAX 256u               /* of one text */
#define PACKED_BYTES ((size_t)1 << 20) /* of a fatbin with one text in it */
#define CUT_BYTES ((size_t)1 << 20)    /* of the kernels that are cut out of it, packed */
#define NAME_BYTES ((size_t)128 << 10) /* of all their names */

static struct {
	struct kc__code *first, *last; /* loaded, and not looked at yet; tables_lock */
	/* Of the reader: */
	int64_t spent_ns;
	uint32_t count; /* of kernels */
	bool is_full;   /* nothing is read ahead any more */
	bool began;     /* the program has been read, if it could be */
} ahead;

/* A module's PTX for the device. */
struct text {
	char *bytes;
	size_t length, capacity;
};

static const struct kc_device *first_device(void)
{
	for (int i = 0; i < kc__shim.device_count; i++)
		if (kc__shim.devices[i].known)
			return &kc__shim.devices[i].info;
	return NULL;
}

static uint32_t architecture(const struct kc_device *device)
{
	return device->cc_major * 10 + device->cc_minor;
}

/* Kernels that have been launched are read in between. true: reading ahead ends here. */
static bool serve(void)
{
	static uint32_t seen;
	int64_t rest_ns;

	while (seen != kc__reader_calls() && !kc__reader_is_ending()) {
		seen = kc__reader_calls();
		while (kc__code_step(&rest_ns) && !kc__reader_is_ending())
			;
	}
	return kc__reader_is_ending() || ahead.is_full;
}

/* false: there is no room. */
static bool keep(struct kc__code *code, const char *name, const struct kc_ptx_function *function, struct kc_cost *cost,
		 size_t *room_bytes)
{
	struct kc__foreseen *foreseen;

	if (kc__formulas_bytes() + kc_cost_bytes(cost) > KC__FORESEEN_BYTES ||
	    !kc__formulas_make_room(cost, room_bytes))
		return false;
	pthread_mutex_lock(&kc__shim.tables_lock);
	foreseen = kc__arena(sizeof(*foreseen));
	if (foreseen) {
		foreseen->name = kc__keep_text(name);
		foreseen->formula = kc__formula_make(cost, function, false);
	}
	if (foreseen && foreseen->name && foreseen->formula) {
		kc__formulas_add(foreseen->formula, cost);
		foreseen->formula->used = 0;
		foreseen->next = code->foreseen;
		code->foreseen = foreseen;
	} else {
		foreseen = NULL;
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	if (!foreseen)
		kc__formulas_cancel(cost, room_bytes);
	return foreseen != NULL;
}

/* One kernel, whose text was found. */
static void read_kernel(struct kc__code *code, struct kc_ptx_cut *cut, const struct kc_ptx_wanted *wanted,
			size_t *room_bytes)
{
	size_t taken = kc_ptx_cut_bytes(cut), left = *room_bytes > taken ? *room_bytes - taken : 0;
	const struct kc_ptx_function *function;
	struct kc_ptx_module module;
	struct kc_cost *cost = NULL;

	if (kc_ptx_cut_parse(cut, wanted, &module, left, NULL))
		return;
	function = kc_ptx_find(&module, wanted->name);
	left = left > module.arena.held_bytes ? left - module.arena.held_bytes : 0;
	if (function && function->is_entry && left > KC__FORMULA_BYTES &&
	    kc_cost_read_within(&cost, &module, function, KC__FORMULA_BYTES, left - KC__FORMULA_BYTES, NULL) == 0 &&
	    !keep(code, wanted->name, function, cost, room_bytes)) {
		kc_cost_free(cost);
		ahead.is_full = true;
	}
	ahead.count++;
	ahead.is_full |= ahead.count >= KC__FORESEEN_MAX;
	kc_ptx_free(&module);
}

/* Their names are put one after the other into `names`, of NAME_BYTES. */
static uint32_t list_kernels(const struct text *text, char *names, struct kc_ptx_wanted *wanted)
{
	const char *end = names + NAME_BYTES, *name;
	uint32_t count = 0;
	size_t at = 0, length;

	while (count < KERNELS_MAX && kc_ptx_next_entry(text->bytes, text->length, &at, &name, &length) &&
	       length < (size_t)(end - names)) {
		wanted[count++] = (struct kc_ptx_wanted){.name = names};
		memcpy(names, name, length);
		names[length] = '\0';
		names += length + 1;
	}
	return count;
}

static void read_kernels(struct kc__code *code, struct kc_ptx_cut *cut, struct kc_ptx_wanted *wanted, uint32_t count)
{
	for (uint32_t i = 0; i < count && !serve(); i++) {
		size_t room_bytes;

		if (!wanted[i].found)
			continue;
		room_bytes = kc__code_take_room();
		read_kernel(code, cut, &wanted[i], &room_bytes);
		kc_ptx_cut_drop(cut, &wanted[i]);
		kc__share_give(KC__SHARE_CODE, room_bytes);
	}
}

static void free_text(struct text *text)
{
	if (text->bytes)
		kc__share_give(KC__SHARE_CODE, text->capacity);
	free(text->bytes);
	text->bytes = NULL;
}

/* The text is freed once its kernels have been cut out of it. */
static void read_text(struct kc__code *code, struct text *text)
{
	struct kc_ptx_wanted *wanted = calloc(KERNELS_MAX, sizeof(*wanted));
	char *names = malloc(NAME_BYTES);
	struct kc_ptx_cut cut;
	uint32_t count;

	if (wanted && names) {
		count = list_kernels(text, names, wanted);
		kc_ptx_cut_begin(&cut, wanted, count, CUT_BYTES);
		if (kc_ptx_cut_feed(&cut, text->bytes, text->length) == 0) {
			free_text(text);
			read_kernels(code, &cut, wanted, count);
		}
		kc_ptx_cut_free(&cut);
	}
	free(wanted);
	free(names);
}

static int take_part(void *arg, const char *part, size_t length)
{
	struct text *text = arg;

	if (length > text->capacity - text->length)
		return -ENOMEM;
	memcpy(text->bytes + text->length, part, length);
	text->length += length;
	return 0;
}

/* false: it is too long, or there is no room for it. */
static bool make_room(struct text *text, size_t bytes)
{
	if (!bytes || bytes > KC__FORESEEN_TEXT_BYTES || !kc__share_take(KC__SHARE_CODE, bytes))
		return false;
	text->bytes = malloc(bytes);
	text->capacity = bytes;
	if (!text->bytes)
		kc__share_give(KC__SHARE_CODE, bytes);
	return text->bytes != NULL;
}

/* The PTX of a fatbin, or what is PTX itself. */
static void unpack(struct text *text, const void *bytes, size_t length, const struct kc_device *device)
{
	const struct kc_image *image = NULL;
	struct kc_images images;

	if (kc_images_list(&images, bytes, length, PACKED_BYTES, NULL))
		return;
	if (images.fatbin_count)
		image = kc_images_choose(&images, 0, device->cc_major, device->cc_minor, 1u << KC_IMAGE_PTX);
	if (image && make_room(text, image->length) &&
	    kc_image_stream(image, kc_image_stream_bytes(image), take_part, text, NULL))
		text->length = 0;
	kc_images_free(&images);
}

static void unpack_file(struct text *text, const struct kc__code_piece *piece, const struct kc_device *device)
{
	struct kc_code_file file = {open(piece->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), piece->offset,
				    piece->length};
	struct kc_thin_request request = {
	    .read = kc_code_file_read,
	    .arg = &file,
	    .length = piece->length,
	    .cc_major = device->cc_major,
	    .cc_minor = device->cc_minor,
	    .memory_bytes = PACKED_BYTES,
	};
	size_t length;
	void *bytes;
	int rc;

	if (file.fd < 0)
		return;
	rc = kc_image_thin(&request, &bytes, &length, NULL);
	close(file.fd);
	if (rc)
		return;
	unpack(text, bytes, length, device);
	free(bytes);
}

static void read_piece(struct kc__code *code, const struct kc__code_piece *piece, const struct kc_device *device)
{
	struct text text = {0};
	const void *copy;

	if (piece->path) {
		unpack_file(&text, piece, device);
	} else if ((copy = kc__code_hold(code, piece))) {
		unpack(&text, copy, piece->length, device);
		kc__code_release(code);
	}
	if (text.length)
		read_text(code, &text);
	free_text(&text);
}

/* Once for each code, for the first device. Not what was compiled in the process: of that, the text of each kernel that
 * is launched is kept for the next run, as it is read (kept_text.h). */
static void read_code(struct kc__code *code)
{
	const struct kc_device *device = first_device();

	if (!device || code->is_made || code->foreseen_for)
		return;
	code->foreseen_for = architecture(device);
	for (uint32_t i = 0; i < code->piece_count && !code->lacks_ptx && !serve(); i++)
		read_piece(code, &code->pieces[i], device);
}

static struct kc__code *take_loaded(void)
{
	struct kc__code *code;

	pthread_mutex_lock(&kc__shim.tables_lock);
	code = ahead.first;
	if (code && !(ahead.first = code->next_loaded))
		ahead.last = NULL;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return code;
}

static void read_mapped(const char *path, uint64_t offset, size_t length)
{
	struct kc__code *code = kc__code_in_file(path, offset, length);

	if (code)
		read_code(code);
}

/* The program itself is the first of the files. 1: there may be more. */
static int read_files(const struct kc_device *device)
{
	int more = !ahead.is_full && device ? kc__mapped_step(architecture(device), read_mapped, serve) : 0;

	if (!ahead.began)
		kc__reader_program_read();
	ahead.began = true;
	return more;
}

int kc__foresee_step(void)
{
	int64_t began_ns = kc__processor_ns();
	struct kc__code *code = ahead.began ? take_loaded() : NULL;
	int more = 1;

	if (!code)
		more = read_files(first_device());
	else if (!ahead.is_full)
		read_code(code);
	ahead.spent_ns += kc__processor_ns() - began_ns;
	ahead.is_full |= ahead.spent_ns > KC__FORESEEN_NS;
	return more;
}

void kc__foresee_files(void)
{
	ahead.spent_ns = ahead.count = 0;
	ahead.is_full = ahead.began = false;
	kc__mapped_note();
}

void kc__foresee_loaded(struct kc__code *code)
{
	code->next_loaded = NULL;
	if (ahead.last)
		ahead.last->next_loaded = code;
	else
		ahead.first = code;
	ahead.last = code;
	kc__reader_call();
}

void kc__foresee_forget(void)
{
	ahead.first = ahead.last = NULL;
	kc__mapped_forget();
}

struct kc__formula *kc__foreseen_take(const struct kc__kernel *kernel)
{
	struct kc__foreseen **link = kernel->code ? &kernel->code->foreseen : NULL, *found;

	if (!link || !*link || kernel->code->foreseen_for != architecture(&kernel->device->info))
		return NULL;
	while (*link && strcmp((*link)->name, kernel->name))
		link = &(*link)->next;
	found = *link;
	if (!found)
		return NULL;
	*link = found->next;
	if (!found->formula->cost ||
	    (kernel->parameters.known && kernel->parameters.count != found->formula->parameters.count))
		return NULL;
	return found->formula;
}
