/*
 * From kept code to cost formulas, on the worker thread. A module's PTX is parsed
 * once for all of its kernels that have been launched so far, and then freed.
 */
#include "loaded_code.h"
#include "kernel_formula.h"

#include "predictor/code/container/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FORMULA_MAX_BYTES ((size_t)256 << 10) /* of one kernel, kept for good */
#define OTHERS_BYTES ((size_t)1 << 20)        /* left to code that is loaded while other code is read */
#define TEXT_BYTES 4096u
#define FREE_NS 500000000ll
#define REST_SHARE 20
#define FINISH_NS 100000000ll /* for what is left at the end of the process */

/* The kernels of one module whose code is being read. */
struct reading {
	struct kc__kernel *kernels; /* those without a formula, by next_wanted */
	struct kc_refusal refusal;
	bool saw_code;
	size_t room_bytes; /* there is for what reading takes from here on, and for the formulas */
	size_t kept_bytes;
};

static char *read_file(const struct kc__code_piece *piece)
{
	int fd = open(piece->path, O_RDONLY | O_CLOEXEC);
	char *bytes = MAP_FAILED;
	size_t at = 0;

	if (fd >= 0 && piece->length)
		bytes = mmap(NULL, piece->length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (bytes != MAP_FAILED && at < piece->length) {
		ssize_t n = pread(fd, bytes + at, piece->length - at, (off_t)(piece->offset + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			munmap(bytes, piece->length);
			bytes = MAP_FAILED;
		} else {
			at += (size_t)n;
		}
	}
	if (fd >= 0)
		close(fd);
	return bytes == MAP_FAILED ? NULL : bytes;
}

static void say_formula(const struct kc_cost *cost, char *text, size_t size)
{
	struct kc_cost_story story;
	size_t used = 0;

	text[0] = '\0';
	if (kc_cost_tell(cost, &story))
		return;
	for (uint32_t i = 0; i < KC_COUNTER_COUNT && used < size; i++)
		if (strcmp(story.formula[i], "0"))
			used += (size_t)snprintf(text + used, size - used, "%s%s = %s", used ? "; " : "",
						 kc_cost_counter_name(i), story.formula[i]);
	kc_cost_story_free(&story);
}

static void put(const struct kc__kernel *kernel, enum kc_code_state state, const char *text)
{
	char buffer[sizeof(struct kc_code_entry) + TEXT_BYTES];
	struct kc_code_entry entry = {.kernel = kernel->id, .state = state};

	memcpy(buffer, &entry, sizeof(entry));
	snprintf(buffer + sizeof(entry), TEXT_BYTES, "%s", text);
	kc_journal_put(kc__shim.journal, KC_KIND_CODE, buffer, sizeof(entry) + strlen(buffer + sizeof(entry)) + 1);
}

/* The driver and the PTX must agree on the number of parameters: the application's
 * list of arguments is only as long as the kernel that it launches needs. */
static bool same_parameters(const struct kc__kernel *kernel, const struct kc_ptx_function *function)
{
	return !kernel->parameters.known || kernel->parameters.count == function->param_count;
}

static bool publish(struct kc__kernel *kernel, const struct kc_cost *cost, const struct kc_ptx_function *function)
{
	struct kc__formula *formula;

	pthread_mutex_lock(&kc__shim.tables_lock);
	formula = kc__formula_make(cost, function);
	pthread_mutex_unlock(&kc__shim.tables_lock);
	if (!formula)
		return false;
	kc__learn_formula(kernel, formula, kc__early_prepare(kernel, formula));
	return true;
}

/* Of the room, beside what one step takes. */
static size_t left(const struct reading *reading, size_t taken_bytes)
{
	taken_bytes += reading->kept_bytes;
	return reading->room_bytes > taken_bytes ? reading->room_bytes - taken_bytes : 0;
}

/* 1: read, or it never will be. */
static int read_kernel(struct reading *reading, struct kc__kernel *kernel, const struct kc_ptx_module *module)
{
	const struct kc_ptx_function *function = kc_ptx_find(module, kernel->name);
	size_t room_bytes = left(reading, module->arena.held_bytes);
	struct kc_refusal refusal = {0};
	struct kc_cost *cost = NULL;
	char text[TEXT_BYTES];
	int rc;

	if (!function || !function->is_entry || !same_parameters(kernel, function))
		return 0;
	if (room_bytes < 2 * FORMULA_MAX_BYTES) {
		put(kernel, KC_CODE_TOO_LARGE, "the code of other kernels takes all the memory there is for it");
		return 1;
	}
	rc = kc_cost_read_within(&cost, module, function, FORMULA_MAX_BYTES, room_bytes - FORMULA_MAX_BYTES, &refusal);
	if (rc || !publish(kernel, cost, function)) {
		snprintf(text, sizeof(text), "offset %zu: %s", refusal.offset,
			 rc == -ENOMEM || !rc ? "it needs more memory than is allowed" : refusal.reason);
		put(kernel, KC_CODE_REFUSED, text);
		kc_cost_free(cost);
		return 1;
	}
	reading->kept_bytes += kc_cost_bytes(cost);
	say_formula(cost, text, sizeof(text));
	put(kernel, KC_CODE_READ, text);
	return 1;
}

static bool names_one(const struct reading *reading, const struct kc_image *image)
{
	for (const struct kc__kernel *k = reading->kernels; k; k = k->next_wanted)
		if (memmem(image->bytes, image->length, k->name, strlen(k->name)))
			return true;
	return false;
}

static void read_ptx(struct reading *reading, const struct kc_image *image)
{
	struct kc__kernel **link = &reading->kernels;
	struct kc_ptx_module module;

	if (!names_one(reading, image) ||
	    kc_ptx_parse(&module, image->bytes, image->length, left(reading, 0), &reading->refusal))
		return;
	while (*link) {
		struct kc__kernel *kernel = *link;

		if (read_kernel(reading, kernel, &module)) {
			*link = kernel->next_wanted;
			kc__early_settle(kernel);
		} else {
			link = &kernel->next_wanted;
		}
	}
	kc_ptx_free(&module);
}

/* The PTX for the first kernel's device is read: another device that uses other PTX of the same image is rare. */
static void read_images(struct reading *reading, const void *bytes, size_t length)
{
	const struct kc_device *device = &reading->kernels->device->info;
	struct kc_images images;
	size_t held_bytes;

	if (kc_images_list(&images, bytes, length, left(reading, 0), &reading->refusal))
		return;
	reading->saw_code = true;
	for (uint32_t fatbin = 0; fatbin < images.fatbin_count && reading->kernels; fatbin++) {
		const struct kc_image *ptx =
		    kc_images_choose(&images, fatbin, device->cc_major, device->cc_minor, 1u << KC_IMAGE_PTX);
		uint32_t index = ptx ? (uint32_t)(ptx - images.images) : 0;

		if (!ptx || kc_image_unpack(&images, index, &reading->refusal))
			continue;
		held_bytes = images.arena.held_bytes;
		reading->room_bytes -= held_bytes;
		read_ptx(reading, &images.images[index]);
		reading->room_bytes += held_bytes;
	}
	kc_images_free(&images);
}

static void read_piece(struct reading *reading, struct kc__code *code, const struct kc__code_piece *piece)
{
	char *file = piece->path && piece->length < left(reading, 0) ? read_file(piece) : NULL;
	const void *copy = piece->path ? NULL : kc__code_hold(code, piece);
	size_t file_bytes = file ? piece->length : 0;

	reading->room_bytes -= file_bytes;
	if (file || copy)
		read_images(reading, file ? file : copy, piece->length);
	reading->room_bytes += file_bytes;
	if (file)
		munmap(file, piece->length);
	if (copy)
		kc__code_release(code);
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

/* All but the pages of what is kept, of which there was room for. */
static void give_room_back(const struct reading *reading)
{
	size_t pages = (reading->kept_bytes + KC__PAGE_BYTES - 1) / KC__PAGE_BYTES;

	kc__share_give(KC__SHARE_CODE, reading->room_bytes - pages * KC__PAGE_BYTES);
}

static void give_up(const struct reading *reading, const struct kc__code *code)
{
	enum kc_code_state state = !code                              ? KC_CODE_NOT_SEEN
				   : code->state == KC_CODE_TOO_LARGE ? KC_CODE_TOO_LARGE
				   : reading->refusal.reason[0]       ? KC_CODE_REFUSED
				   : reading->saw_code                ? KC_CODE_NO_PTX
								      : KC_CODE_TOO_LARGE;
	char text[256] = "";

	if (state == KC_CODE_REFUSED)
		snprintf(text, sizeof(text), "offset %zu: %s", reading->refusal.offset, reading->refusal.reason);
	for (struct kc__kernel *k = reading->kernels; k; k = k->next_wanted) {
		put(k, state, text);
		kc__early_settle(k);
	}
}

/* Takes the kernels of one module out of the list. */
static struct kc__kernel *take_wanted(struct kc__code **code)
{
	struct kc__kernel *taken = NULL, **link = &kc__shim.wanted;

	pthread_mutex_lock(&kc__shim.tables_lock);
	*code = *link ? (*link)->code : NULL;
	while (*link) {
		struct kc__kernel *kernel = *link;

		if (kernel->code != *code) {
			link = &kernel->next_wanted;
			continue;
		}
		*link = kernel->next_wanted;
		kernel->next_wanted = taken;
		taken = kernel;
	}
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return taken;
}

void kc__code_wanted(struct kc__kernel *kernel)
{
	kernel->next_wanted = kc__shim.wanted;
	kc__shim.wanted = kernel;
}

/* 1: there was something to read. */
static int read_next(void)
{
	struct reading reading = {0};
	struct kc__code *code;

	reading.kernels = take_wanted(&code);
	if (!reading.kernels)
		return 0;
	reading.room_bytes = take_room();
	for (uint32_t i = 0; code && code->state == KC_CODE_WAITS && i < code->piece_count && reading.kernels; i++)
		read_piece(&reading, code, &code->pieces[i]);
	give_room_back(&reading);
	if (reading.kernels)
		give_up(&reading, code);
	return 1;
}

/* A module is read again when another kernel of it is launched later. Once reading has taken
 * FREE_NS, it pauses after each module, so that it takes no more than one part in REST_SHARE
 * of the time, and what is wanted meanwhile is read together. */
int kc__code_step(void)
{
	struct kc__reading_cost *cost = &kc__shim.reading;
	int64_t began_ns = kc__now_ns(), took_ns;
	int read;

	if (began_ns < cost->rests_until_ns)
		return 0;
	read = read_next();
	took_ns = kc__now_ns() - began_ns;
	cost->spent_ns += took_ns;
	if (cost->spent_ns > FREE_NS)
		cost->rests_until_ns = began_ns + REST_SHARE * took_ns;
	return read;
}

void kc__code_finish(void)
{
	int64_t stop_ns = kc__now_ns() + FINISH_NS;
	struct kc__code *code;

	while (kc__now_ns() < stop_ns && read_next())
		;
	for (struct kc__kernel *k; (k = take_wanted(&code));)
		for (; k; k = k->next_wanted)
			put(k, KC_CODE_WAITS, "");
}
