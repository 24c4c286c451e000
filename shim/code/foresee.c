#include "foresee.h"
#include "code_texts.h"
#include "formulas.h"
#include "mapped_code.h"
#include "reader.h"
#include "shim/tables/tables.h"
#include "shim/tables/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPENING_BYTES ((size_t)4 << 20)

static const struct kc_code_limits limits = {
    .text_bytes = KC__FORESEEN_TEXT_BYTES,
    .cut_bytes = (size_t)1 << 20,
    .formula_bytes = KC__FORMULA_BYTES,
};

static struct {
	struct kc__code *first, *last; /* loaded, and not looked at yet; tables_lock */
	/* Of the reader: */
	struct kc__code *code; /* that is being read; NULL: none is */
	uint32_t piece;        /* of it, that is opened next */
	struct kc__code_texts texts;
	struct kc__walk walk; /* through the file `path` */
	char *path;           /* NULL: through none */
	int64_t spent_ns;
	uint32_t count; /* of kernels */
	bool is_full;   /* nothing is read ahead any more */
	bool began;     /* the program has been read, if it could be */
} ahead = {.walk.file.fd = -1};

static const struct kc_device *first_device(void)
{
	for (int i = 0; i < kc__shim.device_count; i++)
		if (kc__shim.devices[i].known)
			return &kc__shim.devices[i].info;
	return NULL;
}

static bool somebody_waits(void *unused)
{
	(void)unused;
	return kc__reader_awaited() != 0;
}

static uint32_t architecture(const struct kc_device *device)
{
	return device->cc_major * 10 + device->cc_minor;
}

/* Puts the formula into the code's list. false: there is no room. */
static bool keep(const char *name, struct kc_code_read *read)
{
	struct kc__foreseen *foreseen;

	if (kc__formulas_bytes() + kc_cost_bytes(read->cost) > KC__FORESEEN_BYTES ||
	    !kc__formulas_make_room(read->cost))
		return false;
	pthread_mutex_lock(&kc__shim.tables_lock);
	foreseen = kc__arena(sizeof(*foreseen));
	if (foreseen) {
		foreseen->name = kc__keep_text(name);
		foreseen->formula = kc__formula_make(read->cost, read->function, false);
	}
	if (foreseen && foreseen->name && foreseen->formula) {
		kc__formulas_add(foreseen->formula, read->cost);
		foreseen->formula->used = 0;
		foreseen->next = ahead.code->foreseen;
		ahead.code->foreseen = foreseen;
	} else {
		foreseen = NULL;
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	if (foreseen)
		read->cost = NULL;
	else
		kc__formulas_cancel(read->cost);
	return foreseen != NULL;
}

/* Its code is read because it has been launched, or has been. */
static bool is_met(const char *name)
{
	const struct kc__kernel *kernel;

	pthread_mutex_lock(&kc__shim.tables_lock);
	kernel = ahead.code->met;
	while (kernel && strcmp(kernel->name, name))
		kernel = kernel->next_met;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return kernel != NULL;
}

/* The driver has not told yet what the kernel takes of shared memory, which only PTX of another architecture is asked
 * for. */
static void read_kernel(uint32_t i)
{
	struct kc_code_reader *reader = &ahead.texts.reader;
	size_t room = kc__code_take_room(false);
	struct kc_refusal unused;
	struct kc_code_read read;
	int rc = kc_code_read(reader, i, 0, room, &read, &unused);

	kc__share_give(KC__SHARE_CODE, room);
	if (!rc)
		ahead.is_full |= !keep(reader->wanted[i].name, &read);
	kc_code_read_free(&read);
}

static void read_next(uint32_t i)
{
	struct kc_code_reader *reader = &ahead.texts.reader;

	if (!is_met(reader->wanted[i].name))
		read_kernel(i);
	kc_code_drop(reader, i, false);
	kc__texts_account(&ahead.texts);
	ahead.is_full |= ++ahead.count >= KC__FORESEEN_MAX;
}

/* Once for each code, for the first device. Not what was compiled in the process: of that, the text of each kernel that
 * is launched is kept for the next run, as it is read (kept_text.h). */
static void begin_code(struct kc__code *code, const struct kc_device *device)
{
	if (!code || !device || code->is_made || code->lacks_ptx || code->foreseen_for)
		return;
	code->foreseen_for = architecture(device);
	ahead.code = code;
	ahead.piece = 0;
	ahead.texts.reader.limits = &limits;
	ahead.texts.reader.own_only = true;
	ahead.texts.reader.ends = somebody_waits;
	ahead.texts.reader.cc_major = device->cc_major;
	ahead.texts.reader.cc_minor = device->cc_minor;
	ahead.texts.reader.count = 0;
}

/* On to the next piece of the code, if there is one. A launch that waits does not wait for that. */
static void open_next(void)
{
	struct kc__code *code = ahead.code;
	struct kc_code_lack unused = {0};

	kc__texts_close(&ahead.texts);
	if (ahead.piece == code->piece_count)
		ahead.code = NULL;
	else if (kc__texts_open(&ahead.texts, code, &code->pieces[ahead.piece], OPENING_BYTES, &unused) != -ETIME)
		ahead.piece++;
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

static void end_file(void)
{
	kc__walk_end(&ahead.walk);
	free(ahead.path);
	ahead.path = NULL;
}

/* The program itself is the first of the files. */
static void program_is_read(void)
{
	if (!ahead.began)
		kc__reader_program_read();
	ahead.began = true;
}

/* On through the files, up to the next code. 1: there may be more. */
static int look_on(const struct kc_device *device)
{
	uint64_t offset;
	size_t length;
	int rc;

	if (!ahead.path) {
		ahead.path = device ? kc__mapped_take() : NULL;
		if (!ahead.path) {
			program_is_read();
			return 0;
		}
		if (kc__walk_begin(&ahead.walk, ahead.path))
			return 1;
		end_file();
		program_is_read();
		return 1;
	}
	rc = kc__walk_on(&ahead.walk, architecture(device), &offset, &length);
	if (rc > 0)
		begin_code(kc__code_in_file(ahead.path, offset, length), device);
	if (rc >= 0)
		return 1;
	end_file();
	program_is_read();
	return 1;
}

/* Nothing more is read ahead. */
static int stop(void)
{
	kc__texts_close(&ahead.texts);
	ahead.code = NULL;
	end_file();
	program_is_read();
	return 0;
}

static int step(void)
{
	uint32_t i = ahead.code ? kc_code_shortest(&ahead.texts.reader) : 0;
	struct kc__code *loaded;

	if (ahead.is_full)
		return stop();
	if (ahead.code && i < ahead.texts.reader.count)
		read_next(i);
	else if (ahead.code)
		open_next();
	else if (ahead.began && (loaded = take_loaded()))
		begin_code(loaded, first_device());
	else
		return look_on(first_device());
	return 1;
}

int kc__foresee_step(void)
{
	int64_t began_ns = kc__processor_ns();
	int more = step();

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

/* The parent's memory is not freed: its reader may have been changing it. */
void kc__foresee_forget(void)
{
	memset(&ahead, 0, sizeof(ahead));
	ahead.walk.file.fd = -1;
	kc__mapped_forget();
}

struct kc__formula *kc__foreseen_take(struct kc__kernel *kernel)
{
	struct kc__foreseen **link, *found;
	struct kc__code *code = kernel->code;

	if (!code)
		return NULL;
	kernel->next_met = code->met;
	code->met = kernel;
	if (code->foreseen_for != architecture(&kernel->device->info))
		return NULL;
	for (link = &code->foreseen; *link && strcmp((*link)->name, kernel->name); link = &(*link)->next)
		;
	found = *link;
	if (!found)
		return NULL;
	*link = found->next;
	if (!found->formula->cost ||
	    (kernel->parameters.known && kernel->parameters.count != found->formula->parameters.count))
		return NULL;
	return found->formula;
}
