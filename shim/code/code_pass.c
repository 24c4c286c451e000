#include "code_pass.h"
#include "formulas.h"
#include "kept_text.h"
#include "reader.h"
#include "shim/tables/memory.h"
#include "shim/tables/early.h"
#include "shim/tables/tables.h"
#include "shim/worker/learn.h"

#include "predictor/code/features/features.h"
#include "predictor/code/ptx/ptx_cut.h"

#include <errno.h>

#define TEXTS_BYTES ((size_t)2 << 20)       /* of the kernels' PTX that is cut out in one pass, at most */
#define TEXTS_LEAST_BYTES ((size_t)1 << 20) /* formulas give way for so much of it */
#define KERNELS_MAX 256u                    /* read in one pass over the text */

/* The first kernels of the list, and where their text is. */
struct pass {
	struct kc_ptx_wanted wanted[KERNELS_MAX];
	struct kc__kernel *kernels[KERNELS_MAX];
	bool is_done[KERNELS_MAX]; /* read, or it never will be */
	bool crowded[KERNELS_MAX]; /* beside the text of others there was not enough room */
	uint32_t count, done, no_room;
	struct kc_ptx_cut cut;
	size_t kept_bytes; /* of the cut, that the room is without */
	bool other_architecture;
	uint32_t sm;
	/* Between two steps: */
	const struct kc__code *code; /* whose text is kept; NULL: none is */
	size_t held_bytes;           /* of the share, for that */
	bool is_apart;
	int64_t pass_ns;
};
static struct pass the_pass; /* there is one at a time; reader */

/* What parsing a kernel added to the cut is left out of the room, too. */
static size_t room_left(const struct kc__reading *reading, const struct pass *pass, size_t held_bytes)
{
	size_t taken = kc_ptx_cut_bytes(&pass->cut) - pass->kept_bytes + held_bytes;

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
static int refuse_text(const struct kc__reading *reading, const struct kc__kernel *kernel, size_t offset,
		       const char *reason)
{
	if (reading->is_kept)
		return 0;
	kc__code_refuse(kernel, offset, reason);
	return 1;
}

static const struct kc_features not_known;

/* 1: read, or it never will be; 0: the module has no such kernel; -ENOMEM: there is not enough room. */
static int read_function(struct kc__reading *reading, struct kc__kernel *kernel, const struct pass *pass,
			 const struct kc_ptx_wanted *wanted, const struct kc_ptx_module *module)
{
	const struct kc_ptx_function *function = kc_ptx_find(module, kernel->name);
	size_t room_bytes = room_left(reading, pass, module->arena.held_bytes);
	struct kc_refusal refusal = {0};
	const char *differs = NULL;
	char text[KC__CODE_TEXT_BYTES];
	struct kc_cost *cost;
	bool is_known;
	int rc;

	if (!function || !function->is_entry || !kc__same_parameters(kernel, function) ||
	    (reading->is_kept && !kc__same_layout(kernel, function)))
		return 0;
	if (pass->other_architecture)
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
		return refuse_text(reading, kernel, kc_ptx_cut_offset(&pass->cut, wanted, refusal.offset),
				   refusal.reason);
	is_known = atomic_load_explicit(&kernel->formula, memory_order_relaxed);
	kc_cost_write(cost, text, sizeof(text));
	if (!kc__formulas_make_room(cost, &reading->room_bytes)) {
		kc_cost_free(cost);
		return -ENOMEM;
	}
	if (!publish(kernel, cost, function, pass->other_architecture)) {
		kc__formulas_cancel(cost, &reading->room_bytes);
		kc_cost_free(cost);
		return -ENOMEM;
	}
	if (!is_known)
		kc__code_put(kernel, KC_CODE_READ, pass->other_architecture ? pass->sm : 0, text);
	if (!is_known && reading->is_apart)
		kc__text_keep(kernel, &pass->cut);
	return 1;
}

/* The same for a kernel whose text was found. */
static int read_text(struct kc__reading *reading, struct kc__kernel *kernel, struct pass *pass,
		     const struct kc_ptx_wanted *wanted)
{
	struct kc_refusal refusal = {0};
	struct kc_ptx_module module;
	int rc = kc_ptx_cut_parse(&pass->cut, wanted, &module, room_left(reading, pass, 0), &refusal);

	if (rc == -ENOMEM)
		return rc;
	if (rc)
		return refuse_text(reading, kernel, refusal.offset, refusal.reason);
	rc = read_function(reading, kernel, pass, wanted, &module);
	kc_ptx_free(&module);
	return rc;
}

/* A command has more room, if it knows where the code lies. */
enum kc_code_state kc__without_room(const struct kc__code *code)
{
	while (kc__code_note_places())
		;
	return code && code->is_noted ? KC_CODE_WAITS : KC_CODE_TOO_LARGE;
}

/* What the kernel's text took is room again. */
static void drop_text(struct kc__reading *reading, struct pass *pass, struct kc_ptx_wanted *wanted)
{
	kc_ptx_cut_drop(&pass->cut, wanted);
	reading->room_bytes += pass->kept_bytes;
	pass->kept_bytes = kc_ptx_cut_bytes(&pass->cut);
	reading->room_bytes -= pass->kept_bytes;
}

/* What is left to other code that may be loaded: until the end of this step, for a kernel that cannot be read without.
 * Not from entries and buffers that need more than they have for themselves. */
static bool take_rest(struct kc__reading *reading)
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
static bool read_kernel(struct kc__reading *reading, struct kc__kernel *kernel, struct pass *pass, uint32_t i)
{
	struct kc_ptx_wanted *wanted = &pass->wanted[i];
	bool is_alone = pass->cut.kernels.length == wanted->kept;
	int rc;

	do
		rc = read_text(reading, kernel, pass, wanted);
	while (rc == -ENOMEM && (kc__formulas_drop(&reading->room_bytes) || (is_alone && take_rest(reading))));
	if (rc == -ENOMEM && !is_alone && !pass->crowded[i]) {
		pass->crowded[i] = true;
		return false;
	}
	drop_text(reading, pass, wanted);
	if (rc == -ENOMEM && reading->is_kept)
		return false;
	if (rc == -ENOMEM && !is_alone) {
		wanted->no_room = 1;
		pass->no_room++;
		return false;
	}
	if (rc == -ENOMEM && !atomic_load_explicit(&kernel->formula, memory_order_relaxed))
		kc__code_put(kernel, kc__without_room(kernel->code), 0, "");
	return rc != 0;
}

/* It may be wanted again from now on. */
void kc__not_wanted(struct kc__kernel *kernel)
{
	pthread_mutex_lock(&kc__shim.tables_lock);
	kernel->is_wanted = false;
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

/* Enough for now: what is left is read in another step, as time is up, or a launch waits for what may be another
 * module's.
 */
bool kc__is_late(const struct kc__reading *reading)
{
	if (reading->done && kc__reader_awaited() && reading->calls != kc__reader_calls())
		return true;
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
static void find_features(struct kc__reading *reading, const struct kc__source *source, const struct pass *pass)
{
	struct kc_features_wanted features[KERNELS_MAX];
	struct kc__kernel *of[KERNELS_MAX];
	int64_t began_ns = kc__now_ns();
	uint32_t found = 0;

	for (uint32_t i = 0; i < pass->count; i++) {
		if (!pass->wanted[i].found || pass->kernels[i]->features)
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

static uint32_t first_awaited(const struct pass *pass)
{
	uint32_t i = 0;

	while (i < pass->count && (pass->is_done[i] || !pass->wanted[i].found || pass->wanted[i].no_room ||
				   pass->crowded[i] || !atomic_load(&pass->kernels[i]->awaited)))
		i++;
	return i;
}

/* But for one that a launch waits for. */
static uint32_t shortest(const struct pass *pass, bool crowded)
{
	uint32_t found = first_awaited(pass);

	if (found < pass->count)
		return found;

	for (uint32_t i = 0; i < pass->count; i++)
		if (!pass->is_done[i] && pass->wanted[i].found && !pass->wanted[i].no_room &&
		    pass->crowded[i] == crowded &&
		    (found == pass->count || pass->wanted[i].length < pass->wanted[found].length))
			found = i;
	return found;
}

/* A short text first, as it takes the least memory, and less and less is held for others. */
static void read_found(struct kc__reading *reading, struct pass *pass, bool crowded)
{
	for (uint32_t i; !kc__is_late(reading) && (i = shortest(pass, crowded)) < pass->count;) {
		if (!read_kernel(reading, pass->kernels[i], pass, i))
			continue;
		kc__early_settle(pass->kernels[i]);
		pass->is_done[i] = true;
		pass->done++;
		reading->done++;
	}
}

/* Both kinds of kernels: those that found no room beside others are read once the others are gone. */
static void read_all_found(struct kc__reading *reading, struct pass *pass)
{
	read_found(reading, pass, false);
	read_found(reading, pass, true);
}

/* Where the kernel is in the pass, from there on: the list has them in the same order. `count`: nowhere. */
static uint32_t place_of(const struct pass *pass, const struct kc__kernel *kernel, uint32_t from)
{
	uint32_t i = from;

	while (i < pass->count && pass->kernels[i] != kernel)
		i++;
	return i;
}

/* Those that are done leave the list. Returns the link behind the others. */
static struct kc__kernel **leave_list(struct kc__kernel **link, const struct pass *pass)
{
	struct kc__kernel **behind = link;

	for (uint32_t from = 0, i; *link && from < pass->count;) {
		struct kc__kernel *kernel = *link;

		i = place_of(pass, kernel, from);
		if (i == pass->count || !pass->is_done[i])
			link = &kernel->next_wanted;
		if (i == pass->count)
			continue;
		from = i + 1;
		behind = link;
		if (!pass->is_done[i])
			continue;
		*link = kernel->next_wanted;
		kc__not_wanted(kernel);
	}
	return behind;
}

/* Time is up where another pass over the text would take most of what is left of it. */
static void stop_before_a_pass(struct kc__reading *reading)
{
	int64_t now_ns = kc__now_ns();

	if (reading->done && now_ns + 2 * reading->pass_ns > reading->stop_ns)
		reading->stop_ns = now_ns - 1;
}

/* After a pass, or what was left of one: the texts that were not read for want of time are kept, and their memory with
 * them; others are not, nor those of a text that could not be passed over to its end. */
static void close_pass(struct kc__reading *reading, struct pass *pass, bool is_whole)
{
	size_t bytes = kc__whole_pages(kc_ptx_cut_bytes(&pass->cut));

	reading->room_bytes += pass->kept_bytes;
	if (is_whole && kc__is_late(reading) && !reading->is_last && !reading->is_kept &&
	    reading->room_bytes >= bytes && shortest(pass, false) + shortest(pass, true) < 2 * pass->count) {
		reading->room_bytes -= bytes;
		pass->held_bytes = bytes;
		pass->code = reading->code;
		pass->is_apart = reading->is_apart;
		pass->pass_ns = reading->pass_ns;
		return;
	}
	kc_ptx_cut_free(&pass->cut);
	pass->code = NULL;
}

struct kc__kernel **kc__pass_over(struct kc__reading *reading, struct kc__kernel **from,
				  const struct kc__source *source)
{
	struct pass *pass = &the_pass;
	struct kc__kernel **link;
	size_t unpacking_bytes = kc_image_stream_bytes(source->image), left_bytes;
	int64_t began_ns = kc__now_ns();
	int rc;

	*pass = (struct pass){.other_architecture = source->other_architecture, .sm = source->image->sm};
	for (struct kc__kernel *k = *from; k && pass->count < KERNELS_MAX; k = k->next_wanted) {
		pass->kernels[pass->count] = k;
		pass->wanted[pass->count++] = (struct kc_ptx_wanted){.name = k->name};
	}
	kc__formulas_yield(unpacking_bytes + TEXTS_LEAST_BYTES, &reading->room_bytes);
	left_bytes = reading->room_bytes > unpacking_bytes ? reading->room_bytes - unpacking_bytes : 0;
	kc_ptx_cut_begin(&pass->cut, pass->wanted, pass->count, left_bytes < TEXTS_BYTES ? left_bytes : TEXTS_BYTES);
	rc = kc_image_stream(source->image, reading->room_bytes, kc_ptx_cut_feed, &pass->cut, &reading->refusal);
	reading->lacks_room |= rc == -ENOMEM;
	pass->kept_bytes = kc_ptx_cut_bytes(&pass->cut);
	reading->pass_ns = kc__now_ns() - began_ns;
	if (!reading->stop_ns)
		reading->stop_ns = kc__now_ns() + reading->step_ns;
	reading->room_bytes -= pass->kept_bytes;
	for (uint32_t i = 0; i < pass->count; i++)
		pass->no_room += pass->wanted[i].no_room;
	if (!rc && source->code)
		find_features(reading, source, pass);
	if (!rc)
		read_all_found(reading, pass);
	link = leave_list(from, pass);
	reading->lacks_room |= pass->no_room && !pass->done;
	if (pass->no_room && pass->done)
		stop_before_a_pass(reading);
	close_pass(reading, pass, !rc);
	return rc || kc__is_late(reading) ? NULL : pass->no_room && pass->done ? from : link;
}

/* Those that have left the list meanwhile are not read again. */
static void leave_out_others(struct pass *pass, const struct kc__kernel *kernels)
{
	uint32_t from = 0;

	for (const struct kc__kernel *k = kernels; k && from < pass->count; k = k->next_wanted) {
		uint32_t i = place_of(pass, k, from);

		if (i == pass->count)
			continue;
		for (; from < i; from++)
			pass->is_done[from] = true;
		from = i + 1;
	}
	for (; from < pass->count; from++)
		pass->is_done[from] = true;
}

/* A launch waits for a kernel that is not in the pass. */
static bool others_are_awaited(const struct pass *pass, const struct kc__kernel *kernels)
{
	for (const struct kc__kernel *k = kernels; k; k = k->next_wanted)
		if (atomic_load(&k->awaited) && place_of(pass, k, 0) == pass->count)
			return true;
	return false;
}

void kc__pass_resume(struct kc__reading *reading)
{
	struct pass *pass = &the_pass;
	bool is_apart = reading->is_apart;

	if (!pass->code)
		return;
	reading->room_bytes += pass->held_bytes;
	if (pass->code != reading->code || others_are_awaited(pass, reading->kernels)) {
		kc_ptx_cut_free(&pass->cut);
		pass->code = NULL;
		return;
	}
	leave_out_others(pass, reading->kernels);
	pass->kept_bytes = kc_ptx_cut_bytes(&pass->cut);
	reading->room_bytes -= pass->kept_bytes;
	reading->is_apart = pass->is_apart;
	reading->pass_ns = pass->pass_ns;
	if (!reading->stop_ns)
		reading->stop_ns = kc__now_ns() + reading->step_ns;
	read_all_found(reading, pass);
	leave_list(&reading->kernels, pass);
	if (reading->kernels)
		stop_before_a_pass(reading);
	close_pass(reading, pass, true);
	reading->is_apart = is_apart;
}

/* The parent's memory is not freed: its worker may have been changing it. */
void kc__pass_forget(void)
{
	the_pass = (struct pass){0};
}
