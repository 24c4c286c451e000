#include "whatif_forms.h"

#include "tools/command.h"
#include "tools/output/colour.h"
#include "tools/output/fields.h"
#include "tools/output/filter_shown.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/system/database.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP 10u
#define MOST_UNKNOWN 0.15 /* of the kernels' time: with more of it, the whole run is not told */

struct row {
	const char *name, *answer, *evidence, *note;
	uint64_t launches;
	double share, here_ns, there_ns, low_ns, high_ns;
	double filling, of_library; /* shares of here_ns */
	char note_text[192];
};

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct row, key, head, unit, member, __VA_ARGS__)

static const struct kc_field kernel_list[] = {
    FIELD("name", "kernel", NAME, name, 0),          FIELD("launches", "launches", COUNT64, launches, 0),
    FIELD("time_share", "share", PERCENT, share, 0), FIELD("here_ns", "here", NS, here_ns, 0),
    FIELD("there_ns", "there", NS, there_ns, 0),     FIELD("there_low_ns", "from", NS, low_ns, 0),
    FIELD("there_high_ns", "to", NS, high_ns, 0),    FIELD("answer", "there it is", TEXT, answer, 0),
    FIELD("evidence", NULL, TEXT, evidence, 0),      FIELD("filling", NULL, PERCENT, filling, 0),
    FIELD("library", NULL, PERCENT, of_library, 0),  FIELD("note", NULL, NOTE, note, 0),
};
static const struct kc_fields kernel_fields = KC_FIELDS(kernel_list, struct row);

struct evidence_row {
	const char *key, *text;
	double share, here_ns;
};

#define EVIDENCE(key, head, unit, member, ...) KC_FIELD_OF(struct evidence_row, key, head, unit, member, __VA_ARGS__)

static const struct kc_field evidence_list[] = {
    EVIDENCE("evidence", NULL, TEXT, key, 0),
    EVIDENCE("time_share", "share", PERCENT, share, 0),
    EVIDENCE("here_ns", "here", NS, here_ns, 0),
    EVIDENCE("meaning", "how it is known", TEXT, text, 0),
};
static const struct kc_fields evidence_fields = KC_FIELDS(evidence_list, struct evidence_row);

/* What both text and JSON are made of. */
struct rows {
	struct row *kernels; /* as many as were found */
	struct row all;      /* kernels together */
	struct row run;      /* with the time without kernels */
	struct evidence_row evidence[KC_ELSEWHERE_COUNT];
	size_t evidence_count;
};

static const char *answer_of(const struct row *row)
{
	static const char *const answers[] = {"faster", "cannot tell", "slower"};

	return isnan(row->there_ns) ? "not known"
				    : answers[1 + kc_elsewhere_verdict(row->here_ns, row->there_ns, row->high_ns)];
}

/* Times of what is known there; where nothing is, here alone. */
static void fill_times(struct row *row, const struct kc_whatif_sum *sum)
{
	int is_known = sum->here_ns > 0;

	row->here_ns = is_known ? sum->here_ns : sum->unknown_ns;
	row->there_ns = is_known ? sum->there_ns : NAN;
	row->low_ns = is_known ? sum->low_ns : NAN;
	row->high_ns = is_known ? sum->high_ns : NAN;
	row->answer = is_known && sum->own_ns == sum->here_ns ? "the same GPU" : answer_of(row);
}

static void say_note(struct row *row, const struct kc_whatif_kernel *kernel, enum kc_elsewhere_evidence evidence)
{
	char *out = row->note_text;

	snprintf(out, sizeof(row->note_text), "%s", kc_elsewhere_text(evidence));
	row->note = out;
	if (isnan(row->there_ns) && kernel->why)
		kc_add_text(out, sizeof(row->note_text), ": %s", kernel->why);
	if (isnan(row->there_ns))
		return;
	if (row->filling < 0.5)
		kc_add_text(out, sizeof(row->note_text), "; does not fill it");
	if (row->of_library > 0.5 && evidence != KC_ELSEWHERE_KNOWN)
		kc_add_text(out, sizeof(row->note_text), "; its library may choose another kernel there");
}

static void fill_kernel(const struct kc_whatif *w, const struct kc_whatif_kernel *kernel, struct row *row)
{
	enum kc_elsewhere_evidence evidence = kc_whatif_evidence(&kernel->sum);

	*row = (struct row){
	    .name = kc_measured_kernel(&w->names, kernel->kernel)->name,
	    .launches = kernel->launches,
	    .filling = kernel->filling_ns / kernel->time_ns,
	    .of_library = kernel->library_ns / kernel->time_ns,
	    .share = kernel->time_ns / (w->sum.here_ns + w->sum.unknown_ns),
	};
	fill_times(row, &kernel->sum);
	row->evidence = kc_elsewhere_key(evidence);
	say_note(row, kernel, evidence);
}

/* Kernels that overlap take less together than they add up to: their time there is that of here times the kernels'. */
static void fill_run(const struct kc_whatif *w, const struct row *all, struct row *run)
{
	int is_known = w->sum.unknown_ns <= MOST_UNKNOWN * (w->sum.here_ns + w->sum.unknown_ns);
	double busy = is_known ? w->busy_ns / all->here_ns : NAN;

	run->here_ns = w->rest_ns + w->busy_ns;
	run->there_ns = w->rest_ns + busy * all->there_ns;
	run->low_ns = w->rest_ns + busy * all->low_ns;
	run->high_ns = w->rest_ns + busy * all->high_ns;
	run->answer = is_known && w->sum.own_ns == w->sum.here_ns ? all->answer : answer_of(run);
}

/* 0 or -ENOMEM. To be freed. */
static int fill(const struct kc_whatif *w, struct rows *rows)
{
	double time_ns = w->sum.here_ns + w->sum.unknown_ns;

	*rows = (struct rows){.kernels = calloc(w->kernel_count + 1, sizeof(*rows->kernels))};
	if (!rows->kernels)
		return -ENOMEM;
	for (size_t i = 0; i < w->kernel_count; i++)
		fill_kernel(w, &w->kernels[i], &rows->kernels[i]);
	for (unsigned i = 0; i < KC_ELSEWHERE_COUNT; i++)
		if (w->sum.by[i] > 0)
			rows->evidence[rows->evidence_count++] = (struct evidence_row){
			    kc_elsewhere_key(i), kc_elsewhere_text(i), w->sum.by[i] / time_ns, w->sum.by[i]};
	fill_times(&rows->all, &w->sum);
	fill_run(w, &rows->all, &rows->run);
	return 0;
}

static int no_memory(void)
{
	return kc_failed(-ENOMEM);
}

/* --- text */

/* "Kernels: 5.38 ms here; 2.10 ms there, 1.40 ms to 3.20 ms: faster" */
static void print_sum(const char *what, const struct row *row)
{
	char here[KC_FORMAT_BYTES], there[KC_FORMAT_BYTES], low[KC_FORMAT_BYTES], high[KC_FORMAT_BYTES];

	printf("%s: %s here; there ", what, kc_format_ns(row->here_ns, here));
	if (isnan(row->there_ns))
		puts("not known");
	else
		printf("%s, %s to %s: %s\n", kc_format_ns(row->there_ns, there), kc_format_ns(row->low_ns, low),
		       kc_format_ns(row->high_ns, high), row->answer);
}

static void print_sums(const struct kc_whatif *w, const struct rows *rows)
{
	char rest[KC_FORMAT_BYTES], unknown[KC_FORMAT_BYTES];

	print_sum("Kernels", &rows->all);
	if (w->sum.unknown_ns > 0 && !isnan(rows->all.there_ns))
		printf("  without those that are not known there, which took %s here\n",
		       kc_format_ns(w->sum.unknown_ns, unknown));
	if (w->rest_ns == 0 && rows->run.here_ns == rows->all.here_ns)
		return;
	print_sum("Run", &rows->run);
	printf("  with %s in which no kernel ran, which is taken to stay as it is\n", kc_format_ns(w->rest_ns, rest));
}

static void print_anchor(const struct kc_whatif *w)
{
	const struct kc_whatif_sum *sum = &w->sum;
	char told[KC_FORMAT_BYTES], measured[KC_FORMAT_BYTES], off[KC_FORMAT_BYTES], error[KC_FORMAT_BYTES];
	char count[KC_FORMAT_BYTES];

	if (w->has_anchor && sum->by[KC_ELSEWHERE_KNOWN] == 0)
		puts("\nThe anchor has none of these launches on that GPU: nothing is taken from it.");
	if (!sum->timed)
		return;
	printf("\nTimed there, too: %s of these launch shapes. Told without their own times, they would take %s; they "
	       "took %s "
	       "(%s). One is off by %s in the median.\n",
	       kc_format_count(sum->timed, count), kc_format_ns(sum->expected_ns, told),
	       kc_format_ns(sum->measured_ns, measured),
	       kc_format_signed_percent(100 * (sum->expected_ns / sum->measured_ns - 1), off),
	       kc_format_percent(100 * sum->median_error, error));
}

static int print_text(const struct kc_whatif *w, const struct rows *rows, size_t top)
{
	size_t shown = top < w->kernel_count ? top : w->kernel_count;

	if (w->side.runs[0].simulated)
		kc_say_simulated(KC_SIMULATED_ALL);
	kc_side_print_run("", kc_database_shown(w->side.path), &w->side.runs[0]);
	if (w->has_anchor)
		kc_side_print_run("anchor ", kc_database_shown(w->anchor.path), &w->anchor.runs[0]);
	if (w->side.filter) {
		kc_filter_print(w->side.filter);
		putchar('\n');
	}
	printf("\nOn %s; nine in ten lie in these ranges:\n", w->there.name);
	print_sums(w, rows);
	print_anchor(w);
	kc_heading("By what is known of the kernels there");
	if (kc_fields_table(&evidence_fields, 0, rows->evidence, rows->evidence_count, 2))
		return KC_EXIT_FAILED;
	kc_heading("Kernels by time");
	if (kc_fields_table(&kernel_fields, 0, rows->kernels, shown, 2))
		return KC_EXIT_FAILED;
	if (shown < w->kernel_count)
		printf("\n%zu more %s: --top N shows more of them.\n", w->kernel_count - shown,
		       w->kernel_count - shown == 1 ? "kernel" : "kernels");
	if (w->sum.here_ns == 0)
		puts("\nWhere the run's GPU is not known, --from NAME tells it.");
	return kc_output_finish();
}

int kc_whatif_text(const struct kc_whatif *w, unsigned top)
{
	struct rows rows;
	int status;

	if (fill(w, &rows))
		return no_memory();
	status = print_text(w, &rows, top ? top : TOP);
	free(rows.kernels);
	return status;
}

/* --- JSON and CSV */

static json_t *sum_json(const struct row *row)
{
	json_t *out = json_object();

	json_object_set_new(out, "here_ns", kc_json_real(kc_shown_number(row->here_ns)));
	json_object_set_new(out, "there_ns", kc_json_real(kc_shown_number(row->there_ns)));
	json_object_set_new(out, "there_low_ns", kc_json_real(kc_shown_number(row->low_ns)));
	json_object_set_new(out, "there_high_ns", kc_json_real(kc_shown_number(row->high_ns)));
	json_object_set_new(out, "answer", kc_json_text(row->answer));
	return out;
}

/* Of what was timed there; null: nothing was. */
static json_t *timed_json(const struct kc_whatif_sum *sum)
{
	json_t *out = json_object();

	if (!sum->timed) {
		json_decref(out);
		return json_null();
	}
	json_object_set_new(out, "sizes", json_integer((json_int_t)sum->timed));
	json_object_set_new(out, "predicted_ns", kc_json_real(kc_shown_number(sum->expected_ns)));
	json_object_set_new(out, "measured_ns", kc_json_real(kc_shown_number(sum->measured_ns)));
	json_object_set_new(out, "error", kc_json_percent(sum->expected_ns / sum->measured_ns - 1));
	json_object_set_new(out, "median_error", kc_json_percent(sum->median_error));
	return out;
}

int kc_whatif_json(const struct kc_whatif *w)
{
	json_t *out = kc_json_document("whatif", 1);
	struct rows rows;

	if (fill(w, &rows)) {
		json_decref(out);
		return no_memory();
	}
	json_object_set_new(out, "simulated", json_boolean(w->side.runs[0].simulated));
	json_object_set_new(out, "path", kc_json_text(kc_database_shown(w->side.path)));
	json_object_set_new(out, "run", json_integer(w->side.runs[0].id));
	json_object_set_new(out, "anchor",
			    w->has_anchor ? kc_json_text(kc_database_shown(w->anchor.path)) : json_null());
	json_object_set_new(out, "filter", kc_filter_json(w->side.filter));
	json_object_set_new(out, "device", kc_json_text(w->there.name));
	json_object_set_new(out, "all_kernels", sum_json(&rows.all));
	json_object_set_new(out, "whole_run", sum_json(&rows.run));
	json_object_set_new(out, "without_kernels_ns", kc_json_real(w->rest_ns));
	json_object_set_new(out, "unknown_ns", kc_json_real(kc_shown_number(w->sum.unknown_ns)));
	json_object_set_new(out, "timed_there", timed_json(&w->sum));
	json_object_set_new(out, "evidence", kc_fields_json_list(&evidence_fields, rows.evidence, rows.evidence_count));
	json_object_set_new(out, "kernels", kc_fields_json_list(&kernel_fields, rows.kernels, w->kernel_count));
	free(rows.kernels);
	return kc_json_print(out);
}

int kc_whatif_csv(const struct kc_whatif *w)
{
	struct rows rows;

	if (fill(w, &rows))
		return no_memory();
	kc_fields_csv(&kernel_fields, rows.kernels, w->kernel_count, w->side.runs[0].simulated, stdout);
	free(rows.kernels);
	return kc_output_finish();
}
