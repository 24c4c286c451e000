#include "variants.h"

#include "tools/command.h"
#include "tools/input/files/csv_read.h"
#include "tools/input/launch_options.h"
#include "tools/output/format.h"
#include "store/common/growing.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_BYTES ((size_t)256 << 20) /* of memory for a list */
#define NS_PER_MS 1e6

enum column { FILE_NAME, KERNEL, GRID, BLOCK, ARGUMENTS, SHARED, TIME, COLUMNS };
static const char *const columns[COLUMNS] = {"file", "kernel", "grid", "block", "args", "shared", "time_ms"};

/* Where each column of the list is; -1: nowhere. */
struct head {
	int of[COLUMNS];
	unsigned parameters[KC_VARIANT_PARAMETERS];
};

static int fail(const struct kc_variants *v, uint64_t line, int rc, const char *what)
{
	if (line)
		kc_error("%s:%llu: %s", v->path, (unsigned long long)line, what);
	else
		kc_error("%s: %s", v->path, what);
	return rc;
}

static int no_memory(const struct kc_variants *v)
{
	return fail(v, 0, -ENOMEM, "the list takes too much memory");
}

int kc_variant_number(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && isfinite(*out);
}

/* "32", "32.0" and "3.2e1" are one value, and so are "True" and "true". */
static const char *in_one_form(const char *value, char out[static KC_VARIANT_KEY_EXTRA])
{
	double number;

	if (kc_variant_number(value, &number)) {
		snprintf(out, KC_VARIANT_KEY_EXTRA, "%.12g", number);
		return out;
	}
	if (strcmp(value, "True") == 0)
		return "true";
	return strcmp(value, "False") == 0 ? "false" : value;
}

void kc_variants_key(const struct kc_variants *v, const char *const *values, char *out, size_t size)
{
	char form[KC_VARIANT_KEY_EXTRA];

	*out = '\0';
	for (uint32_t p = 0; p < v->parameters; p++)
		kc_add_text(out, size, "%s\n", in_one_form(values[p], form));
}

static const char *key_of(struct kc_variants *v, const char *const *values)
{
	size_t size = 1;
	char *key;

	for (uint32_t p = 0; p < v->parameters; p++)
		size += strlen(values[p]) + KC_VARIANT_KEY_EXTRA;
	key = kc_arena_take(&v->arena, size);
	if (key)
		kc_variants_key(v, values, key, size);
	return key;
}

static void find_columns(const struct kc_csv_record *record, struct head *head)
{
	for (unsigned c = 0; c < COLUMNS; c++) {
		head->of[c] = -1;
		for (unsigned i = 0; head->of[c] < 0 && i < record->count; i++)
			if (strcmp(record->fields[i], columns[c]) == 0)
				head->of[c] = (int)i;
	}
}

static int is_a_column(const struct head *head, unsigned i)
{
	for (unsigned c = 0; c < COLUMNS; c++)
		if (head->of[c] == (int)i)
			return 1;
	return 0;
}

static int add_parameter(struct kc_variants *v, struct head *head, const struct kc_csv_record *record, unsigned i)
{
	if (v->parameters == KC_VARIANT_PARAMETERS)
		return fail(v, record->line, -EINVAL, "more than 32 parameters");
	v->names[v->parameters] = kc_arena_text(&v->arena, record->fields[i], strlen(record->fields[i]));
	if (!v->names[v->parameters])
		return no_memory(v);
	head->parameters[v->parameters++] = i;
	return 0;
}

/* Without parameters, variants are told apart by the files, kernels and launches themselves. */
static int read_head(struct kc_variants *v, const struct kc_csv_record *record, struct head *head)
{
	int rc = 0;

	find_columns(record, head);
	for (unsigned c = FILE_NAME; c <= BLOCK; c++)
		if (head->of[c] < 0 && c != KERNEL)
			return fail(v, record->line, -EINVAL,
				    "the columns file, grid and block are needed; kernel, args, shared and time_ms "
				    "may be there, and all others are parameters");
	for (unsigned i = 0; rc == 0 && i < record->count; i++)
		if (!is_a_column(head, i))
			rc = add_parameter(v, head, record, i);
	if (v->parameters)
		return rc;
	for (unsigned c = FILE_NAME; rc == 0 && c < TIME; c++)
		if (head->of[c] >= 0)
			rc = add_parameter(v, head, record, (unsigned)head->of[c]);
	return rc;
}

static const char *field(const struct head *head, enum column column, const struct kc_csv_record *record)
{
	const char *text = head->of[column] < 0 ? "" : record->fields[head->of[column]];

	return *text ? text : NULL;
}

static const char *kept(struct kc_variants *v, const char *text)
{
	return text ? kc_arena_text(&v->arena, text, strlen(text)) : NULL;
}

/* NULL: all is well. */
static const char *read_launch(struct kc_variant *variant, const struct head *head, const struct kc_csv_record *record)
{
	const char *grid = field(head, GRID, record), *block = field(head, BLOCK, record),
		   *shared = field(head, SHARED, record), *time = field(head, TIME, record);
	double ms = NAN;

	if (!field(head, FILE_NAME, record))
		return "no file";
	if (!grid || kc_launch_grid(grid, variant->grid) < 0)
		return "grid takes one to three numbers above 0, such as \"64,64\"";
	if (!block || kc_launch_block(block, variant->block) < 0)
		return "block takes one to three numbers, at most 1024 threads together, such as \"16,16\"";
	if (shared && kc_launch_shared(shared, &variant->dynamic_shared_bytes) < 0)
		return "shared takes a number of bytes";
	if (time && !(kc_variant_number(time, &ms) && ms > 0))
		return "time_ms is no time; leave it empty where there is none";
	variant->measured_ns = NS_PER_MS * ms;
	return NULL;
}

static int keep_text(struct kc_variants *v, struct kc_variant *variant, const struct head *head,
		     const struct kc_csv_record *record)
{
	const char *kernel = field(head, KERNEL, record), *arguments = field(head, ARGUMENTS, record);

	variant->file = kept(v, field(head, FILE_NAME, record));
	variant->kernel = kept(v, kernel);
	variant->arguments = kept(v, arguments);
	variant->values = kc_arena_array(&v->arena, v->parameters, sizeof(*variant->values));
	if (!variant->file || (kernel && !variant->kernel) || (arguments && !variant->arguments) || !variant->values)
		return -ENOMEM;
	for (uint32_t p = 0; p < v->parameters; p++) {
		variant->values[p] = kept(v, record->fields[head->parameters[p]]);
		if (!variant->values[p])
			return -ENOMEM;
	}
	variant->key = key_of(v, variant->values);
	return variant->key ? 0 : -ENOMEM;
}

int kc_variants_add(struct kc_variants *v, const struct kc_variant *variant)
{
	if (KC_ROOM(v->at, v->capacity, v->count))
		return -ENOMEM;
	v->at[v->count++] = *variant;
	return 0;
}

static int read_row(struct kc_variants *v, const struct head *head, unsigned fields, const struct kc_csv_record *record)
{
	struct kc_variant variant = {.line = record->line, .occupancy = NAN, .ns = NAN, .low_ns = NAN, .high_ns = NAN};
	const char *why;

	if (v->count == KC_VARIANTS_MOST)
		return fail(v, record->line, -E2BIG, "more than 65,536 variants");
	if (record->count < fields)
		return fail(v, record->line, -EINVAL, "fewer fields than the header has");
	why = read_launch(&variant, head, record);
	if (why)
		return fail(v, record->line, -EINVAL, why);
	if (keep_text(v, &variant, head, record) < 0 || kc_variants_add(v, &variant) < 0)
		return no_memory(v);
	return 0;
}

static int by_key(const void *a, const void *b, void *variants)
{
	const struct kc_variants *v = variants;

	return strcmp(v->at[*(const uint32_t *)a].key, v->at[*(const uint32_t *)b].key);
}

/* What was timed must fit one variant alone. */
int kc_variants_sort(struct kc_variants *v)
{
	char what[96];

	v->by_key = malloc((v->count ? v->count : 1) * sizeof(*v->by_key));
	if (!v->by_key)
		return no_memory(v);
	for (uint32_t i = 0; i < v->count; i++)
		v->by_key[i] = i;
	qsort_r(v->by_key, v->count, sizeof(*v->by_key), by_key, v);
	for (uint32_t i = 1; i < v->count; i++) {
		const struct kc_variant *one = &v->at[v->by_key[i - 1]], *other = &v->at[v->by_key[i]];

		if (strcmp(one->key, other->key) != 0)
			continue;
		snprintf(what, sizeof(what), "the same parameters as in line %llu",
			 (unsigned long long)(one->line < other->line ? one->line : other->line));
		return fail(v, one->line < other->line ? other->line : one->line, -EINVAL, what);
	}
	return 0;
}

struct kc_variant *kc_variants_find(struct kc_variants *v, const char *key)
{
	uint32_t low = 0, high = v->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		int order = strcmp(key, v->at[v->by_key[middle]].key);

		if (order == 0)
			return &v->at[v->by_key[middle]];
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return NULL;
}

int kc_variants_vary(const struct kc_variants *v, uint32_t parameter)
{
	for (uint32_t i = 1; i < v->count; i++)
		if (strcmp(v->at[i].values[parameter], v->at[0].values[parameter]) != 0)
			return 1;
	return 0;
}

static int read_rows(struct kc_variants *v, struct kc_csv_reader *reader)
{
	struct kc_csv_record record;
	struct head head;
	const char *why = NULL;
	unsigned fields;
	int next = kc_csv_next(reader, &record, &why), rc;

	if (next <= 0)
		return fail(v, 0, next < 0 ? next : -EINVAL, next < 0 && why ? why : "no header");
	fields = record.count;
	rc = read_head(v, &record, &head);
	while (rc == 0 && (next = kc_csv_next(reader, &record, &why)) > 0)
		rc = read_row(v, &head, fields, &record);
	if (rc == 0 && next < 0)
		rc = fail(v, record.line, next, why ? why : strerror(-next));
	if (rc == 0 && !v->count)
		rc = fail(v, 0, -EINVAL, "no variants");
	return rc;
}

int kc_variants_is_list(const char *path)
{
	struct kc_csv_reader *reader = NULL;
	struct kc_csv_record record;
	const char *why;
	int is_list = 1; /* unless it can be read and is none */

	if (kc_csv_open(path, &reader) < 0)
		return 1;
	if (kc_csv_next(reader, &record, &why) > 0)
		is_list = kc_csv_has(&record, columns[FILE_NAME]) || !kc_csv_has(&record, columns[TIME]);
	kc_csv_close(reader);
	return is_list;
}

int kc_variants_read(struct kc_variants *v, const char *path)
{
	struct kc_csv_reader *reader = NULL;
	int rc;

	v->path = path;
	kc_arena_init(&v->arena, LIST_BYTES);
	rc = kc_csv_open(path, &reader);
	if (rc < 0)
		return fail(v, 0, rc, strerror(-rc));
	rc = read_rows(v, reader);
	kc_csv_close(reader);
	return rc == 0 ? kc_variants_sort(v) : rc;
}

void kc_variants_free(struct kc_variants *v)
{
	free(v->at);
	free(v->by_key);
	kc_arena_free(&v->arena);
}
