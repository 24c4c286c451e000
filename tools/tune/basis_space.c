#include "basis_space.h"
#include "tools/command.h"
#include "tools/input/files/csv_read.h"
#include "tools/input/device_spec.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/output/table.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIME_COLUMN "time_ms"
#define NS_PER_MS 1e6
#define FASTEST 10u /* configurations shown as text */
#define DESCRIPTION_BYTES (KC_SPACE_PARAMETERS * 32)
#define SEED 1u

struct file {
	const char *path;
	char *names[KC_SPACE_PARAMETERS];
	uint32_t parameters, count, capacity;
	double *values, *ns; /* ns NAN: not timed */
};

struct answer {
	struct file own, known[KC_TUNING_DONORS];
	struct kc_device device;
	struct kc_space space; /* own */
	uint32_t known_count;
	uint32_t *timed, *all, timed_count;
	double *timed_ns, *predicted_ns;
};

/* --- reading */

static int fail(const struct file *file, uint64_t line, const char *what)
{
	if (line)
		kc_error("%s:%llu: %s", file->path, (unsigned long long)line, what);
	else
		kc_error("%s: %s", file->path, what);
	return -EINVAL;
}

static int read_head(struct file *file, const struct kc_csv_record *record)
{
	uint32_t n = 0;

	while (n < record->count && strcmp(record->fields[n], TIME_COLUMN))
		n++;
	if (n == record->count)
		return fail(file, record->line, "no column time_ms; those before it are the parameters");
	if (!n || n > KC_SPACE_PARAMETERS)
		return fail(file, record->line, n ? "more than 32 parameters" : "no parameters before time_ms");
	for (uint32_t p = 0; p < n; p++) {
		file->names[p] = strdup(record->fields[p]);
		if (!file->names[p])
			return fail(file, 0, strerror(ENOMEM));
		file->parameters++;
	}
	return 0;
}

static int grow(double **numbers, size_t count)
{
	double *grown = realloc(*numbers, count * sizeof(*grown));

	if (!grown)
		return -ENOMEM;
	*numbers = grown;
	return 0;
}

static int room(struct file *file)
{
	uint32_t capacity = 2 * file->capacity + 256;

	if (file->count < file->capacity)
		return 0;
	if (grow(&file->values, (size_t)capacity * file->parameters) || grow(&file->ns, capacity))
		return fail(file, 0, strerror(ENOMEM));
	file->capacity = capacity;
	return 0;
}

static int number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && isfinite(*out);
}

static int read_row(struct file *file, const struct kc_csv_record *record)
{
	double *values, ms = NAN;

	if (room(file))
		return -ENOMEM;
	if (record->count <= file->parameters)
		return fail(file, record->line, "fewer fields than the header has parameters");
	values = file->values + (size_t)file->count * file->parameters;
	for (uint32_t p = 0; p < file->parameters; p++)
		if (!number(record->fields[p], &values[p]))
			return fail(file, record->line, "a parameter that is no number");
	if (*record->fields[file->parameters] && !(number(record->fields[file->parameters], &ms) && ms > 0))
		return fail(file, record->line, "time_ms is no time; leave it empty where there is none");
	file->ns[file->count++] = NS_PER_MS * ms;
	return 0;
}

static int read_file(struct file *file, const char *path)
{
	struct kc_csv_reader *reader = NULL;
	struct kc_csv_record record;
	const char *why = NULL;
	int rc, next;

	file->path = path;
	rc = kc_csv_open(path, &reader);
	if (rc < 0)
		return fail(file, 0, strerror(-rc));
	next = kc_csv_next(reader, &record, &why);
	rc = next > 0 ? read_head(file, &record) : fail(file, 0, next < 0 && why ? why : "no header");
	while (!rc && (next = kc_csv_next(reader, &record, &why)) > 0)
		rc = read_row(file, &record);
	if (!rc && next < 0)
		rc = fail(file, record.line, why ? why : strerror(-next));
	kc_csv_close(reader);
	if (!rc && !file->count)
		rc = fail(file, 0, "no configurations");
	return rc;
}

static void release(struct answer *a)
{
	for (uint32_t i = 0; i <= a->known_count; i++) {
		struct file *file = i ? &a->known[i - 1] : &a->own;

		for (uint32_t p = 0; p < file->parameters; p++)
			free(file->names[p]);
		free(file->values);
		free(file->ns);
	}
	free(a->timed);
	free(a->all);
	free(a->timed_ns);
	free(a->predicted_ns);
}

/* Drops the configurations that were not timed. */
static void keep_timed(struct file *file)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < file->count; i++) {
		if (isnan(file->ns[i]))
			continue;
		memmove(file->values + (size_t)kept * file->parameters, file->values + (size_t)i * file->parameters,
			file->parameters * sizeof(*file->values));
		file->ns[kept++] = file->ns[i];
	}
	file->count = kept;
}

static int read_all(const struct kc_basis_space_question *question, struct answer *a)
{
	int rc = read_file(&a->own, question->path);

	for (uint32_t i = 0; !rc && i < question->known_count; i++) {
		a->known_count++;
		rc = read_file(&a->known[i], question->known[i]);
		keep_timed(&a->known[i]);
		if (!rc && !a->known[i].count)
			rc = fail(&a->known[i], 0, "no configuration was timed");
	}
	return rc;
}

/* --- what blocks cover */

static struct kc_space space_of(const struct file *file)
{
	return (struct kc_space){.values = file->values, .count = file->count, .parameters = file->parameters};
}

/* A bit for each parameter of "A*B*C", up to `end`; 0: there is no such parameter. */
static uint32_t bits_of(const struct file *file, const char *text, const char *end)
{
	uint32_t bits = 0;

	for (;; text++) {
		size_t length = strcspn(text, "*:");
		uint32_t p = 0;

		while (p < file->parameters && (strncmp(file->names[p], text, length) != 0 || file->names[p][length]))
			p++;
		if (p == file->parameters)
			return 0;
		bits |= UINT32_C(1) << p;
		text += length;
		if (text >= end)
			return bits;
	}
}

static int set_axis(const struct file *file, const char *text, struct kc_space_axis *axis)
{
	const char *covered = strchr(text, ':'), *size = covered ? strchr(covered + 1, ':') : NULL;

	if (!covered) {
		kc_error("--axis %s: give parameters of the threads, a colon, and parameters of what a block covers",
			 text);
		return -EINVAL;
	}
	axis->threads = bits_of(file, text, covered);
	axis->covered = bits_of(file, covered + 1, size ? size : covered + strlen(covered));
	if ((covered > text && !axis->threads) || !axis->covered) {
		kc_error("--axis %s: not all of these are parameters of %s", text, file->path);
		return -EINVAL;
	}
	if (size && !(number(size + 1, &axis->size) && axis->size > 0)) {
		kc_error("--axis %s: the size must be a number above 0", text);
		return -EINVAL;
	}
	return 0;
}

static int set_space(const struct kc_basis_space_question *question, struct answer *a)
{
	char why[256];

	a->space = space_of(&a->own);
	if (question->device && kc_device_spec(question->device, &a->device, why, sizeof(why))) {
		kc_error("%s", why);
		return -EINVAL;
	}
	a->space.device = question->device ? &a->device : NULL;
	for (uint32_t i = 0; i < question->axis_count; i++)
		if (set_axis(&a->own, question->axes[i], &a->space.axes[i]))
			return -EINVAL;
	return 0;
}

/* --- predicting */

static struct kc_space_times donor_times(const struct file *donor, const struct file *own)
{
	struct kc_space_times times = {.space = space_of(donor), .ns = donor->ns};

	for (uint32_t p = 0; p < donor->parameters; p++) {
		times.same_as[p] = -1;
		for (uint32_t q = 0; q < own->parameters; q++)
			if (!strcmp(donor->names[p], own->names[q]))
				times.same_as[p] = (int32_t)q;
	}
	return times;
}

static int pick_timed(struct answer *a)
{
	uint32_t n = a->own.count;

	a->timed = malloc(n * sizeof(*a->timed));
	a->all = malloc(n * sizeof(*a->all));
	a->timed_ns = malloc(n * sizeof(*a->timed_ns));
	a->predicted_ns = malloc(n * sizeof(*a->predicted_ns));
	if (!a->timed || !a->all || !a->timed_ns || !a->predicted_ns)
		return fail(&a->own, 0, strerror(ENOMEM));
	for (uint32_t i = 0; i < n; i++) {
		a->all[i] = i;
		if (isnan(a->own.ns[i]))
			continue;
		a->timed[a->timed_count] = i;
		a->timed_ns[a->timed_count++] = a->own.ns[i];
	}
	return a->timed_count ? 0 : fail(&a->own, 0, "no configuration was timed");
}

static int predict(struct answer *a)
{
	struct kc_space_times donors[KC_TUNING_DONORS];
	struct kc_tuning_donors transferred;
	int rc = pick_timed(a);

	if (rc)
		return rc;
	for (uint32_t i = 0; i < a->known_count; i++)
		donors[i] = donor_times(&a->known[i], &a->own);
	rc = kc_tuning_transfer(&a->space, a->timed, a->timed_ns, a->timed_count, donors, a->known_count, &transferred);
	if (!rc) {
		rc = kc_tuning_predict(&a->space, a->timed, a->timed_ns, a->timed_count, &transferred, SEED, a->all,
				       a->own.count, a->predicted_ns);
		kc_tuning_donors_free(&transferred);
	}
	if (rc == -EINVAL)
		fail(&a->own, 0, "nothing to predict from: no parameter varies, or --known has none of them");
	else if (rc)
		fail(&a->own, 0, strerror(-rc));
	return rc;
}

/* --- printed */

static int print_json(const struct answer *a)
{
	json_t *out = kc_json_document("basis-space", 1), *names = json_array(), *rows = json_array();

	for (uint32_t p = 0; p < a->own.parameters; p++)
		json_array_append_new(names, kc_json_text(a->own.names[p]));
	for (uint32_t i = 0; i < a->own.count; i++) {
		json_t *row = json_object(), *values = json_array();

		for (uint32_t p = 0; p < a->own.parameters; p++)
			json_array_append_new(values, kc_json_real(a->own.values[(size_t)i * a->own.parameters + p]));
		json_object_set_new(row, "values", values);
		json_object_set_new(row, "measured_ns", kc_json_real(a->own.ns[i]));
		json_object_set_new(row, "predicted_ns", kc_json_real(a->predicted_ns[i]));
		json_array_append_new(rows, row);
	}
	json_object_set_new(out, "parameters", names);
	json_object_set_new(out, "timed", json_integer(a->timed_count));
	json_object_set_new(out, "known", json_integer(a->known_count));
	json_object_set_new(out, "configurations", rows);
	return kc_json_print(out);
}

/* Measured, else predicted. */
static double best_known(const struct answer *a, uint32_t i)
{
	return isnan(a->own.ns[i]) ? a->predicted_ns[i] : a->own.ns[i];
}

static uint32_t next_fastest(const struct answer *a, const uint32_t *shown, uint32_t count)
{
	uint32_t found = a->own.count;

	for (uint32_t i = 0; i < a->own.count; i++) {
		int seen = 0;

		for (uint32_t s = 0; s < count; s++)
			seen = seen || shown[s] == i;
		if (!seen && (found == a->own.count || best_known(a, i) < best_known(a, found)))
			found = i;
	}
	return found;
}

static int varies(const struct file *file, uint32_t parameter)
{
	const double *values = file->values + parameter;

	for (uint32_t r = 1; r < file->count; r++)
		if (values[(size_t)r * file->parameters] != values[0])
			return 1;
	return 0;
}

/* The parameters of a configuration that vary, or those that do not. */
static void describe(const struct file *file, uint32_t row, int varying, char text[DESCRIPTION_BYTES])
{
	size_t used = 0;

	text[0] = '\0';
	for (uint32_t p = 0; p < file->parameters && used < DESCRIPTION_BYTES; p++)
		if (varies(file, p) == varying)
			used += (size_t)snprintf(text + used, DESCRIPTION_BYTES - used, "%s%s=%g", used ? " " : "",
						 file->names[p], file->values[(size_t)row * file->parameters + p]);
}

static void add_row(struct kc_table *table, const struct answer *a, uint32_t i)
{
	char text[DESCRIPTION_BYTES], measured[KC_FORMAT_BYTES], predicted[KC_FORMAT_BYTES];

	describe(&a->own, i, 1, text);
	kc_table_row(table, (const char *const[]){kc_format_ns(a->predicted_ns[i], predicted),
						  kc_format_ns(a->own.ns[i], measured), text});
}

/* What to do with the prediction: which configuration to time next, beside the best one so far. */
static void print_verdict(const struct answer *a)
{
	char text[DESCRIPTION_BYTES], best_ns[KC_FORMAT_BYTES], next_ns[KC_FORMAT_BYTES], gain[KC_FORMAT_BYTES];
	uint32_t best = a->timed[0], next = a->own.count;

	for (uint32_t i = 0; i < a->own.count; i++) {
		if (a->own.ns[i] < a->own.ns[best])
			best = i;
		if (isnan(a->own.ns[i]) && (next == a->own.count || a->predicted_ns[i] < a->predicted_ns[next]))
			next = i;
	}
	describe(&a->own, best, 1, text);
	printf("Best measured: %s, %s\n", kc_format_ns(a->own.ns[best], best_ns), text);
	if (next == a->own.count || a->predicted_ns[next] >= a->own.ns[best]) {
		puts("Try next: nothing; no other configuration is predicted to be faster");
		return;
	}
	describe(&a->own, next, 1, text);
	printf("Try next: predicted %s (%s less), %s\n", kc_format_ns(a->predicted_ns[next], next_ns),
	       kc_format_percent(100 * (1 - a->predicted_ns[next] / a->own.ns[best]), gain), text);
}

static int print_text(const struct answer *a)
{
	static const struct kc_column columns[] = {
	    {"predicted", KC_RIGHT, 0}, {"measured", KC_RIGHT, 0}, {"configuration", KC_LEFT, 0}, {0}};
	char text[DESCRIPTION_BYTES];
	uint32_t shown[FASTEST], n = 0;
	struct kc_table table;

	printf("%u configurations, %u of them timed", a->own.count, a->timed_count);
	if (a->known_count)
		printf("; times of other devices from %u file%s", a->known_count, a->known_count == 1 ? "" : "s");
	putchar('\n');
	describe(&a->own, 0, 0, text);
	if (text[0])
		printf("Same in every configuration: %s\n", text);
	print_verdict(a);
	puts("\nFastest, as measured or else as predicted:");
	kc_table_init(&table, columns);
	while (n < FASTEST && n < a->own.count) {
		shown[n] = next_fastest(a, shown, n);
		add_row(&table, a, shown[n++]);
	}
	return kc_table_finish(&table, 0) ? KC_EXIT_FAILED : kc_output_finish();
}

int kc_basis_space(const struct kc_basis_space_question *question, int json)
{
	static struct answer answer;
	int status = KC_EXIT_FAILED;

	if (read_all(question, &answer) == 0 && set_space(question, &answer) == 0 && predict(&answer) == 0)
		status = json ? print_json(&answer) : print_text(&answer);
	release(&answer);
	return status;
}
