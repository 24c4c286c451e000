#include "pairs_forms.h"
#include "together_row.h"

#include "tools/command.h"
#include "tools/output/colour.h"
#include "tools/output/filter_shown.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/system/database.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kernel_row {
	const char *label, *name, *needs;
	uint64_t launches, alone;
	double time_ns, time_share, solo_ns, waves;
	char label_text[2], needs_text[96];
};

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct kernel_row, key, head, unit, member, __VA_ARGS__)

static const struct kc_field kernel_list[] = {
    FIELD("label", "as", TEXT, label, 0),
    FIELD("name", "kernel", NAME, name, 0),
    FIELD("time_ns", "time", NS, time_ns, 0),
    FIELD("time_share", "share", PERCENT, time_share, 0),
    FIELD("launches", "launches", COUNT64, launches, 0),
    FIELD("solo_ns", "alone", NS, solo_ns, 0),
    FIELD("alone", NULL, COUNT64, alone, 0),
    FIELD("waves", "waves", RATIO, waves, 0),
    FIELD("needs", NULL, NOTE, needs, 0),
};
static const struct kc_fields kernel_fields = KC_FIELDS(kernel_list, struct kernel_row);

/* What both pages and documents are made of. */
struct rows {
	struct kernel_row kernels[KC_PAIR_KERNELS_MAX];
	struct kc_together_row *pairs; /* as many as the search has */
};

#define TOLD_SHARE 0.1 /* from which a second resource is worth a word */

/* "needs device memory 64.1 %, L2 cache 20.3 %" */
static void say_needs(const struct kc_shares *shares, char *out, size_t size)
{
	struct kc_shares others = kc_shares_joined(shares);
	uint32_t most = kc_shares_most(&others);
	char share[KC_FORMAT_BYTES];

	snprintf(out, size, "needs %s %s", kc_resource_name(most), kc_format_percent(100 * others.of[most], share));
	others.of[most] = 0;
	most = kc_shares_most(&others);
	if (others.of[most] > TOLD_SHARE)
		kc_add_text(out, size, ", %s %s", kc_resource_name(most),
			    kc_format_percent(100 * others.of[most], share));
}

static void fill_kernel(const struct kc_pair_search *s, unsigned i, struct kernel_row *row)
{
	const struct kc_pair_kernel *kernel = &s->kernels[i];

	*row = (struct kernel_row){
	    .name = kc_measured_kernel(&s->names, kernel->of.kernel)->name,
	    .launches = kernel->of.launches,
	    .alone = kernel->of.alone,
	    .time_ns = kernel->of.time_ns,
	    .time_share = kernel->of.share,
	    .solo_ns = kernel->of.solo_ns,
	    .waves = kernel->is_placed ? kernel->demand.work.waves : NAN,
	    .label_text = {(char)('A' + i)},
	};
	row->label = row->label_text;
	row->needs = "what it needs is not known";
	if (!kernel->is_known)
		return;
	say_needs(&kernel->shares, row->needs_text, sizeof(row->needs_text));
	row->needs = row->needs_text;
}

static void fill_pair(const struct kc_pair_search *s, const struct rows *rows, const struct kc_pair *pair,
		      struct kc_together_row *row)
{
	const struct kernel_row *first = &rows->kernels[pair->first], *second = &rows->kernels[pair->second];
	const struct kc_neighbour a = kc_pair_neighbour(&s->kernels[pair->first]),
				  b = kc_pair_neighbour(&s->kernels[pair->second]);

	row->first = first->name;
	row->second = second->name;
	kc_together_row(row, &pair->together, &a, &b, (const char *const[]){first->label, second->label});
	row->measured = pair->measured;
	row->by_themselves = pair->by_themselves;
	row->measured_gain = pair->measured_gain;
}

/* 0 or -ENOMEM. To be freed. */
static int fill(const struct kc_pair_search *s, struct rows *rows)
{
	rows->pairs = calloc(s->pair_count + 1u, sizeof(*rows->pairs));
	if (!rows->pairs)
		return -ENOMEM;
	for (unsigned i = 0; i < s->count; i++)
		fill_kernel(s, i, &rows->kernels[i]);
	for (unsigned i = 0; i < s->pair_count; i++)
		fill_pair(s, rows, &s->pairs[i], &rows->pairs[i]);
	return 0;
}

static void print_rest(const struct kc_pair_search *s)
{
	char share[KC_FORMAT_BYTES], count[KC_FORMAT_BYTES];
	unsigned placed = 0;

	for (unsigned i = 0; i < s->count; i++)
		placed += s->kernels[i].is_placed != 0;
	if (!placed)
		puts("\nWhich GPU they ran on is not known: --device NAME tells it.");
	if (s->other_kernels)
		printf("\n%s more %s (%s of the time): --top N takes more of them.\n",
		       kc_format_count(s->other_kernels, count), s->other_kernels == 1 ? "kernel" : "kernels",
		       kc_format_percent(100 * s->other_share, share));
}

/* Of which nothing is told, nor was measured. */
static int is_open(const struct kc_pair *pair)
{
	return pair->together.why == KC_TOGETHER_UNKNOWN && !pair->measured;
}

/* "\n15 more pairs: gain not known, as what A, D and E need is not. ..." */
static void print_open(const struct kc_pair_search *s, const struct rows *rows, size_t open)
{
	char text[256] = "", count[KC_FORMAT_BYTES];
	unsigned unknown = 0, told = 0;

	for (unsigned i = 0; i < s->count; i++)
		unknown += !s->kernels[i].is_known;
	for (unsigned i = 0; i < s->count; i++)
		if (!s->kernels[i].is_known) {
			told++;
			kc_add_text(text, sizeof(text), "%s%s",
				    told == 1         ? ""
				    : told == unknown ? " and "
						      : ", ",
				    rows->kernels[i].label);
		}
	printf(
	    "\n%s %spair%s: gain not known, as what %s need%s is not. A kernel's code tells that; a trace has none.\n",
	    kc_format_count(open, count), open < s->pair_count ? "more " : "", open == 1 ? "" : "s", text,
	    unknown == 1 ? "s" : "");
}

static int print_pairs(const struct kc_pair_search *s, const struct rows *rows)
{
	struct kc_together_row *told = calloc(s->pair_count + 1u, sizeof(*told));
	size_t n = 0;
	int status = KC_EXIT_OK;

	if (!told)
		return kc_failed(-ENOMEM);
	for (unsigned i = 0; i < s->pair_count; i++)
		if (!is_open(&s->pairs[i]))
			told[n++] = rows->pairs[i];
	if (n) {
		kc_heading("Two at a time, one after the other and together on two streams");
		status = kc_fields_table(&kc_together_measured_fields, 0, told, n, 2);
	}
	if (status == KC_EXIT_OK && n < s->pair_count)
		print_open(s, rows, s->pair_count - n);
	free(told);
	return status;
}

static int print_text(const struct kc_pair_search *s, const struct rows *rows)
{
	if (s->side.runs[0].simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	kc_side_print_run("", kc_database_shown(s->side.path), &s->side.runs[0]);
	if (s->side.filter) {
		kc_filter_print(s->side.filter);
		putchar('\n');
	}
	kc_heading("Kernels by time, and for how much of their time alone they need the GPU's resources");
	if (kc_fields_table(&kernel_fields, 0, rows->kernels, s->count, 2))
		return KC_EXIT_FAILED;
	if (print_pairs(s, rows))
		return KC_EXIT_FAILED;
	print_rest(s);
	return kc_output_finish();
}

int kc_pairs_text(const struct kc_pair_search *s)
{
	struct rows rows;
	int status;

	if (fill(s, &rows))
		return kc_failed(-ENOMEM);
	status = print_text(s, &rows);
	free(rows.pairs);
	return status;
}

/* Of each resource that it needs; null: not known. */
static json_t *shares_json(const struct kc_pair_kernel *kernel)
{
	json_t *out;

	if (!kernel->is_known)
		return json_null();
	out = json_object();
	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++)
		if (r != KC_RESOURCE_LATENCY)
			json_object_set_new(out, kc_resource_key(r), kc_json_percent(kernel->shares.of[r]));
	return out;
}

static json_t *kernels_json(const struct kc_pair_search *s, const struct rows *rows)
{
	json_t *out = json_array();

	for (unsigned i = 0; i < s->count; i++) {
		json_t *kernel = kc_fields_json(&kernel_fields, &rows->kernels[i]);

		json_object_set_new(kernel, "shares", shares_json(&s->kernels[i]));
		json_array_append_new(out, kernel);
	}
	return out;
}

int kc_pairs_json(const struct kc_pair_search *s)
{
	json_t *out = kc_json_document("pairs", 1), *others = json_object();
	struct rows rows;

	if (fill(s, &rows)) {
		json_decref(out);
		json_decref(others);
		return kc_failed(-ENOMEM);
	}
	json_object_set_new(out, "simulated", json_boolean(s->side.runs[0].simulated));
	json_object_set_new(out, "path", kc_json_text(kc_database_shown(s->side.path)));
	json_object_set_new(out, "run", json_integer(s->side.runs[0].id));
	json_object_set_new(out, "filter", kc_filter_json(s->side.filter));
	json_object_set_new(out, "kernels", kernels_json(s, &rows));
	json_object_set_new(out, "pairs", kc_fields_json_list(&kc_together_measured_fields, rows.pairs, s->pair_count));
	json_object_set_new(others, "kernels", json_integer((json_int_t)s->other_kernels));
	json_object_set_new(others, "time_share", kc_json_percent(s->other_share));
	json_object_set_new(out, "others", others);
	free(rows.pairs);
	return kc_json_print(out);
}

int kc_pairs_csv(const struct kc_pair_search *s)
{
	struct rows rows;

	if (fill(s, &rows))
		return kc_failed(-ENOMEM);
	kc_fields_csv(&kc_together_measured_fields, rows.pairs, s->pair_count, s->side.runs[0].simulated, stdout);
	free(rows.pairs);
	return kc_output_finish();
}
