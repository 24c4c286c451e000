#include "slow_fields.h"
#include "tools/output/format.h"
#include "tools/output/names/plain_name.h"

#include "store/database/schema.h"
#include "store/query/names.h"

#include <stdio.h>
#include <string.h>

#define NAME_WIDTH 32u /* columns of a kernel's name in a note */
#define PAIRS 2u       /* kernels that are named beside another */

/* --- causes */

static const char *const words[KC_SLOW_CAUSES] = {
    [KC_SLOW_SIZE] = "a new size",
    [KC_SLOW_SLOWER] = "slower than before",
    [KC_SLOW_DRIFT] = "drift",
    [KC_SLOW_FIRST] = "first launch",
    [KC_SLOW_OVERLAP] = "overlapped",
    [KC_SLOW_UNEXPLAINED] = "not explained",
    [KC_SLOW_PROCESS] = "slower rank or GPU",
};

static const char *const meanings[KC_SLOW_CAUSES] = {
    [KC_SLOW_SIZE] = "the kernel was given more work than before",
    [KC_SLOW_SLOWER] = "the kernel was faster in earlier runs",
    [KC_SLOW_DRIFT] = "the kernel was faster in another part of this run",
    [KC_SLOW_FIRST] = "the kernel's first in its process: loading, cold caches",
    [KC_SLOW_OVERLAP] = "longer than alone: other kernels ran at the same time",
    [KC_SLOW_UNEXPLAINED] = "no other cause was found",
    [KC_SLOW_PROCESS] = "other processes of this run took less for the same",
};

#define FIELD(...) KC_FIELD_OF(struct kc_slow_cause_row, __VA_ARGS__)
static const struct kc_field cause_fields[] = {
    FIELD("cause", NULL, TEXT, cause),
    FIELD("lost_ns", "lost", NS, lost_ns),
    FIELD("launches", "launches", COUNT64, launches),
    FIELD("why", "cause", TEXT, why),
    FIELD("meaning", "what it means", TITLE, meaning),
};
#undef FIELD
const struct kc_fields kc_slow_cause_fields = KC_FIELDS(cause_fields, struct kc_slow_cause_row);

const char *kc_slow_cause_words(enum kc_slow_cause cause)
{
	return words[cause];
}

struct kc_slow_cause_row kc_slow_cause_row(const struct kc_slow *slow, enum kc_slow_cause cause)
{
	return (struct kc_slow_cause_row){kc_slow_cause_name(cause), words[cause], meanings[cause],
					  slow->causes[cause].launches, slow->causes[cause].ns};
}

/* --- stragglers */

#define FIELD(...) KC_FIELD_OF(struct kc_slow_straggler_row, __VA_ARGS__)
static const struct kc_field straggler_fields[] = {
    FIELD("lost_ns", "lost", NS, lost_ns),
    FIELD("others_waited_ns", "others waited", NS, waited_ns),
    FIELD("took_ns", "took", NS, took_ns),
    FIELD("slower", "slower", SIGNED_PERCENT, slower),
    FIELD("launches", "launches", COUNT64, launches),
    FIELD("shown_kernels", "kernels", TEXT, shown_kernels),
    FIELD("kernels", NULL, COUNT64, kernels),
    FIELD("gpu", "GPU", TEXT, gpu),
    FIELD("name", "rank or process", TITLE, name),
    FIELD("others", NULL, COUNT64, others),
    FIELD("process", NULL, ID, process),
    FIELD("pid", NULL, ID, pid),
    FIELD(NULL, NULL, NOTE, note),
};
#undef FIELD
const struct kc_fields kc_slow_straggler_fields = KC_FIELDS(straggler_fields, struct kc_slow_straggler_row);

static void straggler_note(const struct kc_slow_view *view, const struct kc_slow_process *straggler,
			   struct kc_slow_straggler_row *row)
{
	int is_late = straggler->since_ns != INT64_MAX, is_one_of_two = straggler->others == 1;
	char at[KC_FORMAT_BYTES];

	if (is_late)
		snprintf(row->note_text, sizeof(row->note_text),
			 "became slower %s after the run's first launch began%s",
			 kc_format_ns(kc_shown_number((double)kc_slow_since(view, straggler)), at),
			 is_one_of_two ? "; " : "");
	if (is_one_of_two)
		kc_add_text(row->note_text, sizeof(row->note_text),
			    "slower than the only other one; which of the two is as it should be is not known");
	row->note = is_late || is_one_of_two ? row->note_text : NULL;
}

int64_t kc_slow_since(const struct kc_slow_view *view, const struct kc_slow_process *straggler)
{
	return kc_minus_ns(straggler->since_ns, view->slow->intervals.earliest_ns);
}

void kc_slow_straggler_row(const struct kc_slow_view *view, const struct kc_slow_process *straggler,
			   struct kc_slow_straggler_row *row)
{
	*row = (struct kc_slow_straggler_row){
	    .process = straggler->process,
	    .pid = -1,
	    .others = straggler->others,
	    .kernels = straggler->kernels,
	    .launches = straggler->launches,
	    .took_ns = straggler->took_ns,
	    .lost_ns = straggler->lost_ns,
	    .waited_ns = straggler->waited_ns,
	    .slower = straggler->lost_ns / (straggler->took_ns - straggler->lost_ns),
	};
	straggler_note(view, straggler, row);
	kc_slow_straggler_name(view->store, view->runs->run->id, straggler, &row->names);
	if (*row->names.process) {
		row->pid = row->names.pid;
		row->name = row->names.process;
	}
	if (*row->names.gpu)
		row->gpu = row->names.gpu;
	row->shown_kernels = straggler->is_whole || straggler->since_ns != INT64_MAX
				 ? "all"
				 : kc_format_count(straggler->kernels, row->text);
}

/* --- kernels */

static const char *name_of(const struct kc_slow_view *view, uint32_t kernel)
{
	return kc_measured_kernel(view->runs->names, kernel)->name;
}

/* "lost beside vector_add 1.2 ms, saxpy 0.3 ms" */
static void pairs_note(const struct kc_slow_view *view, uint32_t kernel, char *note, size_t size)
{
	char name[4 * NAME_WIDTH + 4], lost[KC_FORMAT_BYTES];
	size_t count;
	const struct kc_slow_pair *pairs = kc_slow_pairs_of(&view->slow->beside, kernel, &count);

	for (size_t i = 0; i < count && i < PAIRS; i++)
		kc_add_text(note, size, "%s%s %s", i ? ", " : "lost beside ",
			    kc_shorten_name(name_of(view, pairs[i].other), NAME_WIDTH, name, sizeof(name)),
			    kc_format_ns(kc_shown_number(pairs[i].lost_ns), lost));
}

/* "lost in rank 1 (pid 2001) 1.8 ms, pid 4102 0.3 ms" */
static void processes_note(const struct kc_slow_view *view, uint32_t kernel, char *note, size_t size)
{
	char name[KC_PROCESS_NAME_BYTES], shown[4 * NAME_WIDTH + 4], lost[KC_FORMAT_BYTES];
	size_t count;
	const struct kc_slow_pair *pairs = kc_slow_pairs_of(&view->slow->processes, kernel, &count);
	int64_t pid;

	for (size_t i = 0; i < count && i < PAIRS; i++)
		if (kc_process_name(view->store, pairs[i].other, &pid, name) == 0)
			kc_add_text(note, size, "%s%s %s", i ? ", " : "lost in ",
				    kc_shorten_middle(name, NAME_WIDTH, shown, sizeof(shown)),
				    kc_format_ns(kc_shown_number(pairs[i].lost_ns), lost));
	if (count > PAIRS)
		kc_add_text(note, size, " and %zu more", count - PAIRS);
}

#define FIELD(...) KC_FIELD_OF(struct kc_slow_kernel_row, __VA_ARGS__)
static const struct kc_field kernel_fields[] = {
    FIELD("lost_ns", "lost", NS, lost_ns),
    FIELD("took_ns", "took", NS, took_ns),
    FIELD("launches", "launches", COUNT64, launches),
    FIELD(NULL, "cause", TEXT, why),
    FIELD("name", "kernel", NAME, name),
    FIELD(NULL, NULL, NOTE, note),
};
#undef FIELD
const struct kc_fields kc_slow_kernel_fields = KC_FIELDS(kernel_fields, struct kc_slow_kernel_row);

void kc_slow_kernel_row(const struct kc_slow_view *view, const struct kc_slow_row *kernel,
			struct kc_slow_kernel_row *row)
{
	*row = (struct kc_slow_kernel_row){.name = name_of(view, kernel->kernel),
					   .why = words[kernel->cause],
					   .launches = kernel->launches,
					   .took_ns = kernel->took_ns,
					   .lost_ns = kernel->lost_ns};
	if (kernel->cause == KC_SLOW_OVERLAP)
		pairs_note(view, kernel->kernel, row->text, sizeof(row->text));
	if (kernel->cause == KC_SLOW_PROCESS)
		processes_note(view, kernel->kernel, row->text, sizeof(row->text));
	row->note = row->text;
}

/* --- launches */

/* Names its process and GPU; where it may be one of several, as the beginning of the note. */
static void place_launch(const struct kc_slow_view *view, const struct kc_slow_where *where,
			 struct kc_slow_launch_row *row)
{
	row->process_name = *where->names->process ? where->names->process : NULL;
	row->gpu = *where->names->gpu ? where->names->gpu : NULL;
	if (view->slow->places.list.count > 1)
		kc_add_text(row->text, sizeof(row->text), "%s%s%s", where->names->process,
			    row->process_name && row->gpu ? ", " : "", where->names->gpu);
}

/* Behind whose it is: which other causes it has, and what ran at the same time. */
static void launch_note(const struct kc_slow_view *view, const struct kc_slow_found *found,
			const struct kc_slow_beside *beside, char *note, size_t size)
{
	char name[4 * NAME_WIDTH + 4], ns[KC_FORMAT_BYTES];
	int is_placed = *note != '\0', n = 0;

	for (int cause = 0; cause < KC_SLOW_CAUSES; cause++)
		if (found->parts_ns[cause] > 0 && cause != (int)found->cause)
			kc_add_text(note, size, "%s%s %s",
				    n++         ? ", "
				    : is_placed ? "; also "
						: "also ",
				    words[cause], kc_format_ns(kc_shown_number(found->parts_ns[cause]), ns));
	for (uint32_t i = 0; i < beside->count && i < PAIRS; i++)
		kc_add_text(note, size, "%s%s for %s",
			    i                ? ", "
			    : n || is_placed ? "; beside "
					     : "beside ",
			    kc_shorten_name(name_of(view, beside->kernels[i]), NAME_WIDTH, name, sizeof(name)),
			    kc_format_ns((double)beside->ns[i], ns));
}

#define FIELD(...) KC_FIELD_OF(struct kc_slow_launch_row, __VA_ARGS__)
static const struct kc_field launch_fields[] = {
    FIELD("lost_ns", "lost", NS, lost_ns),
    FIELD("took_ns", "took", NS, took_ns),
    FIELD("should_ns", "should", NS, should_ns),
    FIELD("after_ns", "at", NS, after_ns),
    FIELD("stream", "stream", ID, stream),
    FIELD("why", "cause", TEXT, why),
    FIELD("name", "kernel", NAME, name),
    FIELD("cause", NULL, TEXT, cause),
    FIELD("process", NULL, ID, process),
    FIELD("sequence", NULL, ID, sequence),
    FIELD("pid", NULL, ID, pid),
    FIELD("process_name", NULL, TEXT, process_name),
    FIELD("gpu", NULL, TEXT, gpu),
    FIELD(NULL, NULL, NOTE, note),
};
#undef FIELD
const struct kc_fields kc_slow_launch_fields = KC_FIELDS(launch_fields, struct kc_slow_launch_row);

void kc_slow_launch_row(const struct kc_slow_view *view, const struct kc_slow_where *where,
			struct kc_slow_launch_row *row)
{
	const struct kc_slow_found *found = where->found;

	*row = (struct kc_slow_launch_row){
	    .name = name_of(view, kc_measured_shape(view->runs->names, found->shape)->kernel),
	    .cause = kc_slow_cause_name(found->cause),
	    .why = words[found->cause],
	    .process = where->origin.process,
	    .sequence = where->origin.sequence,
	    .pid = where->origin.pid,
	    .stream = where->origin.stream ? where->origin.stream : -1,
	    .after_ns = (double)where->after_ns,
	    .took_ns = found->took_ns,
	    .should_ns = found->should_ns,
	    .lost_ns = found->lost_ns,
	};
	place_launch(view, where, row);
	launch_note(view, found, &where->beside, row->text, sizeof(row->text));
	row->note = row->text;
}
