#include "html_internal.h"
#include "store/database/schema.h"
#include "tools/output/json.h"

#include <errno.h>
#include <stdlib.h>

#define NS_PER_US 1000
#define SLOWDOWN_GROUPS 1000u

static json_t *time_or_null(const struct kc_sample_launch *l, enum kc_sample_kind kind)
{
	return l->has[kind] ? json_integer(kc_minus_ns(l->end_ns[kind], l->start_ns[kind])) : json_null();
}

/* --- drawn launches: [kernel, launched (us), predicted, measured, low, high, novelty, overlap], and where it is known
 * the predicted and the measured slowdown */

static json_t *drawn_row(const struct kc__html *page, const struct kc_sample_launch *l)
{
	json_t *row = json_array();

	json_array_append_new(row, json_integer(kc__html_place(page, l->kernel)));
	json_array_append_new(row, json_integer(l->launched_ns / NS_PER_US));
	json_array_append_new(row, time_or_null(l, KC_SAMPLE_PREDICTED));
	json_array_append_new(row, time_or_null(l, KC_SAMPLE_MEASURED));
	json_array_append_new(row, json_integer(l->low_ns));
	json_array_append_new(row, json_integer(l->high_ns));
	json_array_append_new(row, json_integer(l->novelty));
	json_array_append_new(row, json_integer(l->overlap));
	if (l->measured_slowdown > 0) {
		json_array_append_new(row, json_real(l->slowdown));
		json_array_append_new(row, json_real(l->measured_slowdown));
	}
	return row;
}

static uint64_t all_launches(const struct kc__html *page)
{
	return page->filter ? kc_filter_counted(page->filter).matching : page->data->ledger.launches;
}

int kc__html_drawn_json(const struct kc__html *page, json_t **out)
{
	const struct kc_sample_launch *all = page->drawn.launches.at;
	json_t *rows = json_array();

	for (size_t i = 0; i < page->drawn.launches.count; i++)
		json_array_append_new(rows, drawn_row(page, all + i));
	*out = json_pack("{s:I,s:I,s:o}", "of", (json_int_t)all_launches(page), "shown",
			 (json_int_t)page->drawn.launches.count, "rows", rows);
	return *out ? 0 : -ENOMEM;
}

/* --- windows: [stream, kernel or -1, predicted start, end, measured start, end, launched, sequence, novelty, bytes];
 * a copy has bytes */

static void append_times(json_t *row, const struct kc_sample_launch *l, enum kc_sample_kind kind, int64_t base_ns)
{
	json_array_append_new(row, l->has[kind] ? json_integer(kc_minus_ns(l->start_ns[kind], base_ns)) : json_null());
	json_array_append_new(row, l->has[kind] ? json_integer(kc_minus_ns(l->end_ns[kind], base_ns)) : json_null());
}

static json_t *window_row(const struct kc__html *page, const struct kc_sample_launch *l, int64_t base_ns)
{
	json_t *row = json_array();

	json_array_append_new(row, json_integer(l->stream));
	json_array_append_new(row, json_integer(l->is_copy ? -1 : kc__html_place(page, l->kernel)));
	append_times(row, l, KC_SAMPLE_PREDICTED, base_ns);
	append_times(row, l, KC_SAMPLE_MEASURED, base_ns);
	json_array_append_new(row, json_integer(kc_minus_ns(l->launched_ns, base_ns)));
	json_array_append_new(row, json_integer(l->sequence));
	json_array_append_new(row, json_integer(l->novelty));
	json_array_append_new(row, l->is_copy ? json_integer(l->copy_bytes) : json_null());
	return row;
}

/* When the first of them was launched or ran. */
static int64_t base_of(const struct kc_sample *sample)
{
	const struct kc_sample_launch *all = sample->launches.at;
	int64_t base = INT64_MAX;

	for (size_t i = 0; i < sample->launches.count; i++) {
		base = all[i].launched_ns < base ? all[i].launched_ns : base;
		for (int kind = 0; kind < KC_SAMPLE_KINDS; kind++)
			if (all[i].has[kind] && all[i].start_ns[kind] < base)
				base = all[i].start_ns[kind];
	}
	return base;
}

static const struct kc_process_row *process_of(const struct kc__html *page, int64_t process)
{
	for (size_t i = 0; i < page->data->process_count; i++)
		if (page->data->processes[i].id == process)
			return page->data->processes + i;
	return NULL;
}

/* "rank 3, node7 (pid 4102), GPU 1", the GPU where there are several. null: not known, or not to be told. */
static json_t *process_name(const struct kc__html *page, const struct kc_process_row *process)
{
	int has_gpu = process && page->data->device_count > 1 && *process->gpus;

	if (!process || !*process->name)
		return json_null();
	return json_sprintf("%s%s%s", process->name, has_gpu ? ", GPU " : "", has_gpu ? process->gpus : "");
}

static json_t *window_json(const struct kc__html *page, const struct kc__html_window *window)
{
	const struct kc_sample_launch *all = window->sample.launches.at;
	const struct kc_process_row *process = process_of(page, all->process);
	int64_t base_ns = base_of(&window->sample);
	json_t *rows = json_array();

	for (size_t i = 0; i < window->sample.launches.count; i++)
		json_array_append_new(rows, window_row(page, all + i, base_ns));
	return json_pack("{s:s,s:o,s:o,s:I,s:o}", "title", window->title, "pid",
			 process ? json_integer(process->pid) : json_null(), "process", process_name(page, process),
			 "base_ns", (json_int_t)base_ns, "rows", rows);
}

int kc__html_windows_json(const struct kc__html *page, json_t **out)
{
	*out = json_array();
	for (size_t i = 0; i < page->window_count; i++)
		if (page->windows[i].sample.launches.count)
			json_array_append_new(*out, window_json(page, page->windows + i));
	return *out ? 0 : -ENOMEM;
}

/* --- groups of overlapped launches: [kernel, case, overlap, launches, predicted, measured] */

int kc__html_slowdowns_json(const struct kc__html *page, json_t **out)
{
	struct kc__list list = {0};
	const struct kc_sample_slowdown *all;
	int rc = kc_sample_slowdowns(page->store, page->selection, SLOWDOWN_GROUPS, &list);

	*out = json_array();
	all = list.at;
	for (size_t i = 0; rc == 0 && i < list.count; i++)
		json_array_append_new(*out, json_pack("[I,I,I,I,o,o]", (json_int_t)kc__html_place(page, all[i].kernel),
						      (json_int_t)all[i].concurrency_case, (json_int_t)all[i].overlap,
						      (json_int_t)all[i].launches, kc_json_real(all[i].predicted),
						      kc_json_real(all[i].measured)));
	free(list.at);
	return rc;
}
