#include "variants_forms.h"

#include "tools/command.h"
#include "tools/input/calibrated.h"
#include "tools/output/colour.h"
#include "tools/output/fields.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/output/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONFIGURATION_BYTES 1024u
#define NS_PER_MS 1e6

struct row {
	const char *configuration, *file, *state, *as_good, *limit, *limit_name, *why, *line_text;
	uint64_t line;
	double next;                /* 1, 2, …: to be timed in this order; NAN: not next */
	double ns, low_ns, high_ns; /* expected; NAN: it was timed, or nothing is known */
	double estimated_ns, measured_ns;
	double occupancy, registers, local_bytes; /* NAN: not known */
	char text[CONFIGURATION_BYTES], line_digits[KC_FORMAT_BYTES];
};

enum { WORTH_TIMING = 1, TIMED = 2 }; /* tables */

#define FIELD(key, head, unit, member, ...) KC_FIELD_OF(struct row, key, head, unit, member, __VA_ARGS__)

static const struct kc_field list[] = {
    FIELD("next", NULL, COUNT, next, 0),
    FIELD(NULL, "line", TITLE, line_text, 0, ""),
    FIELD("measured_ns", "timed", NS, measured_ns, TIMED),
    FIELD("estimated_ns", "estimated", NS, estimated_ns, TIMED),
    FIELD("expected_ns", "expected", NS, ns, WORTH_TIMING),
    FIELD("low_ns", "from", NS, low_ns, WORTH_TIMING),
    FIELD("high_ns", "to", NS, high_ns, WORTH_TIMING),
    FIELD("as_good", "as good", TEXT, as_good, WORTH_TIMING),
    FIELD("limit", NULL, TEXT, limit, 0),
    FIELD(NULL, "limited by", TEXT, limit_name, 0),
    FIELD("occupancy", "occupancy", PERCENT, occupancy, 0),
    FIELD("registers", "registers", COUNT, registers, 0),
    FIELD("local_bytes", "local", BYTES, local_bytes, 0),
    FIELD("file", NULL, TEXT, file, 0),
    FIELD("line", NULL, COUNT64, line, 0),
    FIELD("configuration", NULL, TEXT, configuration, 0),
    FIELD(NULL, NULL, NOTE, configuration, 0, ""),
    FIELD("state", NULL, TEXT, state, 0),
    FIELD("why", NULL, TEXT, why, 0),
};
static const struct kc_fields fields = KC_FIELDS(list, struct row);

/* The parameters that vary, or those that do not. */
static void describe(const struct kc_variants *v, const struct kc_variant *variant, int varying, char *out, size_t size)
{
	*out = '\0';
	for (uint32_t p = 0; p < v->parameters; p++)
		if (kc_variants_vary(v, p) == varying)
			kc_add_text(out, size, "%s%s=%s", *out ? " " : "", v->names[p], variant->values[p]);
}

static const char *state_of(const struct kc_variant *variant)
{
	static const char *const states[] = {
	    [KC_VARIANT_ESTIMATED] = "estimated",
	    [KC_VARIANT_CANNOT_RUN] = "cannot_run",
	    [KC_VARIANT_UNKNOWN] = "unknown",
	    [KC_VARIANT_FAILED] = "failed",
	};

	return states[variant->state];
}

static void fill(const struct kc_variants *v, const struct kc_variant_ranking *r, uint32_t place, struct row *row)
{
	const struct kc_variant *variant = &v->at[place];
	int is_estimated = variant->times.resources.total_ns > 0, is_timed = !isnan(variant->measured_ns);
	uint32_t limit = variant->times.resources.limit;

	*row = (struct row){
	    .configuration = row->text,
	    .line_text = row->line_digits,
	    .file = variant->file,
	    .state = state_of(variant),
	    .why = variant->why,
	    .line = variant->line,
	    .next = NAN,
	    .ns = is_timed ? NAN : variant->ns,
	    .low_ns = is_timed ? NAN : variant->low_ns,
	    .high_ns = is_timed ? NAN : variant->high_ns,
	    .measured_ns = variant->measured_ns,
	    .estimated_ns = is_estimated ? variant->times.resources.total_ns : NAN,
	    .limit = is_estimated ? kc_resource_key(limit) : NULL,
	    .limit_name = is_estimated ? kc_resource_name(limit) : "-",
	    .occupancy = variant->occupancy,
	    .registers = variant->registers ? variant->registers : NAN,
	    .local_bytes = variant->registers ? variant->local_bytes : NAN,
	};
	describe(v, variant, 1, row->text, sizeof(row->text));
	kc_format_count(variant->line, row->line_digits);
	for (uint32_t i = 0; i < r->next_count; i++)
		if (r->next[i] == place)
			row->next = i + 1;
	if (r->next_count && !is_timed && variant->state == KC_VARIANT_ESTIMATED)
		row->as_good = kc_variant_is_as_good(variant, &v->at[r->next[0]]) ? "yes" : "no";
}

static struct row *rows_of(uint32_t count)
{
	struct row *rows = calloc(count ? count : 1, sizeof(*rows));

	if (!rows)
		kc_error("%s", strerror(ENOMEM));
	return rows;
}

/* --- text */

static void say_count(uint32_t count, const char *what, int *said)
{
	char number[KC_FORMAT_BYTES];

	if (count)
		printf("%s%s %s", (*said)++ ? ", " : "  ", kc_format_count(count, number), what);
}

static void print_head(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	char text[CONFIGURATION_BYTES], count[KC_FORMAT_BYTES];
	int said = 0;

	if (v->device.simulated)
		puts(KC_SIMULATED_CALIBRATION);
	printf("%s: %s variant%s on %s, running alone\n", v->path, kc_format_count(v->count, count),
	       v->count == 1 ? "" : "s", v->device.name);
	say_count(r->timed, "timed", &said);
	say_count(r->cannot_run, "cannot run there", &said);
	say_count(r->unknown, "of unknown work", &said);
	say_count(r->failed, "failed when they were timed", &said);
	say_count(r->local, "with local memory: spilled registers or arrays", &said);
	if (said)
		putchar('\n');
	if (v->assumed) {
		snprintf(text, sizeof(text), "assumed: %s", v->assumed);
		kc_print_wrapped(text, 2);
	}
	describe(v, &v->at[0], 0, text, sizeof(text));
	if (v->count > 1 && *text)
		printf("  the same in all: %s\n", text);
	if (v->strangers)
		printf("  %s timed configuration%s not in the list\n", kc_format_count(v->strangers, count),
		       v->strangers == 1 ? " is" : "s are");
}

/* The reason that most of them have is not looked for: the first. */
static void print_reason(const struct kc_variants *v, enum kc_variant_state state, const char *what)
{
	for (uint32_t i = 0; i < v->count; i++)
		if (v->at[i].state == state) {
			printf("%s, such as line %llu: %s\n", what, (unsigned long long)v->at[i].line, v->at[i].why);
			return;
		}
}

static int print_rows(const struct kc_variants *v, const struct kc_variant_ranking *r, unsigned table, unsigned top)
{
	struct row *rows = rows_of(top < r->count ? top : r->count);
	uint32_t n = 0;
	int status;

	if (!rows)
		return KC_EXIT_FAILED;
	for (uint32_t i = 0; i < r->count && n < top; i++) {
		const struct kc_variant *variant = &v->at[r->order[i]];
		int is_timed = !isnan(variant->measured_ns);

		if (is_timed == (table == TIMED) && (is_timed || variant->state == KC_VARIANT_ESTIMATED))
			fill(v, r, r->order[i], &rows[n++]);
	}
	status = kc_fields_table(&fields, table, rows, n, 2);
	free(rows);
	return status;
}

static void print_verdict(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	char count[KC_FORMAT_BYTES], all[KC_FORMAT_BYTES], gain[KC_FORMAT_BYTES], most[KC_FORMAT_BYTES];
	uint32_t left = 0;

	for (uint32_t i = 0; i < r->count; i++)
		left += isnan(v->at[r->order[i]].measured_ns);
	kc_format_count(left, all);
	putchar('\n');
	if (v->assumed && v->count == 1)
		puts("No other block does the same work.");
	else if (!r->next_count)
		puts(r->best < v->count ? "Nothing is left to be timed." : "There is nothing to time.");
	else if (r->best == v->count)
		printf("As good as the first, within the error of the estimates: %s of %s. Give what they took with "
		       "--timed FILE.\n",
		       kc_format_count(r->as_good, count), all);
	else if (!r->may_be_better)
		printf("Nothing better: none of %s that were not timed is faster than the best, beyond the error. "
		       "Stop.\n",
		       all);
	else
		printf("%s of %s that were not timed may be faster than the best, by %s at most; timing the next is "
		       "expected to gain %s.\n",
		       kc_format_count(r->may_be_better, count), all, kc_format_percent(100 * r->most_gain, most),
		       kc_format_percent(100 * r->gain, gain));
}

int kc_variants_text(const struct kc_variants *v, const struct kc_variant_ranking *r, unsigned top)
{
	print_head(v, r);
	if (r->best < v->count) {
		kc_heading("Timed, the fastest first, beside the estimate from the code");
		if (print_rows(v, r, TIMED, top))
			return KC_EXIT_FAILED;
	}
	if (r->next_count) {
		kc_heading(r->best == v->count ? "To be timed first"
			   : r->may_be_better  ? "To be timed next"
					       : "Not timed, the fastest first");
		if (print_rows(v, r, WORTH_TIMING, top))
			return KC_EXIT_FAILED;
	}
	print_verdict(v, r);
	print_reason(v, KC_VARIANT_CANNOT_RUN, "Cannot run there");
	print_reason(v, KC_VARIANT_UNKNOWN, "Of unknown work");
	return kc_output_finish();
}

/* --- JSON, CSV, T4 */

/* All, those in the order first. To be freed; NULL: no memory. */
static uint32_t *all_places(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	uint32_t *places = malloc((v->count ? v->count : 1) * sizeof(*places)), n = r->count;
	char *is_there = calloc(v->count ? v->count : 1, 1);

	if (places && is_there) {
		memcpy(places, r->order, r->count * sizeof(*places));
		for (uint32_t i = 0; i < r->count; i++)
			is_there[r->order[i]] = 1;
		for (uint32_t i = 0; i < v->count; i++)
			if (!is_there[i])
				places[n++] = i;
	} else {
		kc_error("%s", strerror(ENOMEM));
		free(places);
		places = NULL;
	}
	free(is_there);
	return places;
}

static json_t *value_json(const char *text)
{
	double number;

	if (!kc_variant_number(text, &number))
		return kc_json_text(text);
	return number == floor(number) && fabs(number) < 1e15 ? json_integer((json_int_t)number) : json_real(number);
}

static json_t *parameters_json(const struct kc_variants *v, const struct kc_variant *variant)
{
	json_t *out = json_object();

	for (uint32_t p = 0; p < v->parameters; p++) {
		json_t *name = kc_json_text(v->names[p]);

		json_object_set_new(out, json_string_value(name), value_json(variant->values[p]));
		json_decref(name);
	}
	return out;
}

/* What the launch would take if each resource were the only one. */
static json_t *resources_json(const struct kc_resource_times *times)
{
	json_t *out;

	if (!(times->total_ns > 0))
		return json_null();
	out = json_object();
	for (uint32_t r = 0; r < KC_RESOURCE_COUNT; r++)
		json_object_set_new(out, kc_resource_key(r), kc_json_real(times->ns[r]));
	return out;
}

static json_t *variant_json(const struct kc_variants *v, const struct kc_variant_ranking *r, uint32_t place)
{
	struct row row;
	json_t *out;

	fill(v, r, place, &row);
	out = kc_fields_json(&fields, &row);
	json_object_set_new(out, "parameters", parameters_json(v, &v->at[place]));
	json_object_set_new(out, "resources", resources_json(&v->at[place].times.resources));
	return out;
}

static const char *verdict_of(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	if (!r->next_count)
		return "nothing_left";
	if (r->best == v->count)
		return "first";
	return r->may_be_better ? "next" : "stop";
}

static json_t *head_json(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	json_t *out = kc_json_document("tune", 1);
	int any = r->best < v->count;

	json_object_set_new(out, "simulated", json_boolean(v->device.simulated));
	json_object_set_new(out, "list", kc_json_text(v->path));
	json_object_set_new(out, "assumed", kc_json_text(v->assumed));
	json_object_set_new(out, "device", kc_json_text(v->device.name));
	json_object_set_new(out, "count", json_integer(v->count));
	json_object_set_new(out, "timed", json_integer(r->timed));
	json_object_set_new(out, "estimated", json_integer(r->estimated));
	json_object_set_new(out, "cannot_run", json_integer(r->cannot_run));
	json_object_set_new(out, "unknown", json_integer(r->unknown));
	json_object_set_new(out, "failed", json_integer(r->failed));
	json_object_set_new(out, "local", json_integer(r->local));
	json_object_set_new(out, "strangers", json_integer((json_int_t)v->strangers));
	json_object_set_new(out, "verdict", json_string(verdict_of(v, r)));
	json_object_set_new(out, "as_good", json_integer(r->as_good));
	json_object_set_new(out, "may_be_better", any ? json_integer(r->may_be_better) : json_null());
	json_object_set_new(out, "gain", any ? kc_json_percent(r->gain) : json_null());
	json_object_set_new(out, "most_gain", any ? kc_json_percent(r->most_gain) : json_null());
	return out;
}

int kc_variants_json(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	uint32_t *places = all_places(v, r);
	int rc = places ? kc_json_open(head_json(v, r), "variants") : -ENOMEM;

	for (uint32_t i = 0; rc == 0 && i < v->count; i++)
		rc = kc_json_element(variant_json(v, r, places[i]), i == 0);
	free(places);
	return rc == 0 ? kc_json_close() : KC_EXIT_FAILED;
}

int kc_variants_csv(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	uint32_t *places = all_places(v, r);
	struct row *rows = rows_of(v->count);

	if (!places || !rows) {
		free(places);
		free(rows);
		return KC_EXIT_FAILED;
	}
	for (uint32_t i = 0; i < v->count; i++)
		fill(v, r, places[i], &rows[i]);
	kc_fields_csv(&fields, rows, v->count, (int)v->device.simulated, stdout);
	free(places);
	free(rows);
	return kc_output_finish();
}

/* A time that was not measured has another name than one that was. */
static json_t *t4_result(const struct kc_variants *v, const struct kc_variant *variant)
{
	int is_timed = !isnan(variant->measured_ns);
	const char *name = is_timed ? "time" : "expected_time";
	json_t *out = json_object(), *measurement = json_object(), *measurements = json_array(),
	       *objectives = json_array();

	json_object_set_new(measurement, "name", json_string(name));
	json_object_set_new(measurement, "value",
			    kc_json_real((is_timed ? variant->measured_ns : variant->ns) / NS_PER_MS));
	json_object_set_new(measurement, "unit", json_string("milliseconds"));
	json_array_append_new(measurements, measurement);
	json_array_append_new(objectives, json_string(name));
	json_object_set_new(out, "configuration", parameters_json(v, variant));
	json_object_set_new(out, "invalidity", json_string("correct"));
	json_object_set_new(out, "measurements", measurements);
	json_object_set_new(out, "objectives", objectives);
	return out;
}

int kc_variants_t4(const struct kc_variants *v, const struct kc_variant_ranking *r)
{
	json_t *head = json_object(), *metadata = json_object();
	int rc;

	json_object_set_new(metadata, "timeunit", json_string("milliseconds"));
	json_object_set_new(head, "metadata", metadata);
	rc = kc_json_open(head, "results");
	for (uint32_t i = 0; rc == 0 && i < r->count; i++)
		rc = kc_json_element(t4_result(v, &v->at[r->order[i]]), i == 0);
	return rc == 0 ? kc_json_close() : KC_EXIT_FAILED;
}
