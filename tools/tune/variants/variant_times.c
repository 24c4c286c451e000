/*
 * What was timed, from any of the formats that tuners leave behind:
 *
 *   CSV                    the parameters' columns and time_ms, as a list has them
 *   Kernel Tuner's cache   "cache": {KEY: {parameter: value, …, "time": ms, or why it failed}}
 *   T4                     "results": [{"configuration": {parameter: value, …}, "invalidity": "correct",
 *                          "measurements": [{"name": "time", "value": …, "unit": …}]}]
 *
 * JSON is read piece by piece: of a configuration at most one value of each parameter is held.
 */
#include "variants.h"

#include "tools/command.h"
#include "tools/input/files/csv_read.h"
#include "tools/input/files/json_stream.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NS_PER_MS 1e6
#define TIME "time"
#define TIME_COLUMN "time_ms"
#define VALUE_BYTES 256u /* of a value of a parameter; a longer one is none of the list's */
#define KEY_BYTES 128u
#define PATH_DEPTH 6u

/* A configuration as it is read. */
struct timed {
	char values[KC_VARIANT_PARAMETERS][VALUE_BYTES];
	int has_value[KC_VARIANT_PARAMETERS];
	double ns; /* NAN: none */
	int failed;
};

struct reading {
	struct kc_variants *variants;
	const char *path;
	struct timed timed;
	uint64_t configurations;
};

static int fail(const struct reading *r, uint64_t line, int rc, const char *what)
{
	if (line)
		kc_error("%s:%llu: %s", r->path, (unsigned long long)line, what);
	else
		kc_error("%s: %s", r->path, what);
	return rc;
}

static void begin(struct timed *timed)
{
	memset(timed->has_value, 0, sizeof(timed->has_value));
	timed->ns = NAN;
	timed->failed = 0;
}

static void take_value(struct reading *r, const char *name, const char *text, size_t length)
{
	for (uint32_t p = 0; p < r->variants->parameters && length < VALUE_BYTES; p++) {
		if (strcmp(r->variants->names[p], name) != 0)
			continue;
		memcpy(r->timed.values[p], text, length);
		r->timed.values[p][length] = '\0';
		r->timed.has_value[p] = 1;
	}
}

static struct kc_variant *find(struct reading *r)
{
	const char *values[KC_VARIANT_PARAMETERS];
	char key[KC_VARIANT_PARAMETERS * (VALUE_BYTES + KC_VARIANT_KEY_EXTRA)];

	for (uint32_t p = 0; p < r->variants->parameters; p++) {
		if (!r->timed.has_value[p])
			return NULL;
		values[p] = r->timed.values[p];
	}
	kc_variants_key(r->variants, values, key, sizeof(key));
	return kc_variants_find(r->variants, key);
}

/* What came neither to a time nor to a failure was not timed. Of two times of one configuration the later one counts.
 */
static void end(struct reading *r)
{
	const struct timed *timed = &r->timed;
	struct kc_variant *variant = find(r);

	r->configurations++;
	if (!variant) {
		r->variants->strangers++;
		return;
	}
	if (timed->ns > 0 && isfinite(timed->ns) && !timed->failed) {
		variant->measured_ns = timed->ns;
	} else if (timed->failed) {
		variant->measured_ns = NAN;
		variant->state = KC_VARIANT_FAILED;
		variant->why = "it failed when it was to be timed";
	}
}

/* --- CSV */

static int take_record(struct reading *r, const struct kc_csv_record *head, const struct kc_csv_record *record,
		       int time)
{
	const char *text = record->fields[time];
	double ms = NAN;

	begin(&r->timed);
	for (unsigned i = 0; i < head->count; i++)
		if ((int)i != time)
			take_value(r, head->fields[i], record->fields[i], strlen(record->fields[i]));
	if (*text && !(kc_variant_number(text, &ms) && ms > 0))
		return fail(r, record->line, -EINVAL, "time_ms is no time; leave it empty where there is none");
	r->timed.ns = NS_PER_MS * ms;
	if (*text)
		end(r);
	return 0;
}

static int time_column(const struct kc_csv_record *head)
{
	for (unsigned i = 0; i < head->count; i++)
		if (strcmp(head->fields[i], TIME_COLUMN) == 0)
			return (int)i;
	return -1;
}

static int lacks_parameter(const struct reading *r, const struct kc_csv_record *head)
{
	char what[160];

	for (uint32_t p = 0; p < r->variants->parameters; p++) {
		if (kc_csv_has(head, r->variants->names[p]))
			continue;
		snprintf(what, sizeof(what), "no column %.64s, which the list has", r->variants->names[p]);
		return fail(r, head->line, -EINVAL, what);
	}
	return 0;
}

/* The fields of a record are valid until the next one. */
static int keep_head(struct reading *r, struct kc_csv_record *head)
{
	for (unsigned i = 0; i < head->count; i++) {
		head->fields[i] = kc_arena_text(&r->variants->arena, head->fields[i], strlen(head->fields[i]));
		if (!head->fields[i])
			return fail(r, 0, -ENOMEM, strerror(ENOMEM));
	}
	return 0;
}

static int read_records(struct reading *r, struct kc_csv_reader *reader)
{
	struct kc_csv_record head, record;
	const char *why = NULL;
	int next = kc_csv_next(reader, &head, &why), time, rc;

	if (next <= 0)
		return fail(r, 0, next < 0 ? next : -EINVAL, next < 0 && why ? why : "no header");
	time = time_column(&head);
	if (time < 0)
		return fail(r, head.line, -EINVAL, "no column time_ms");
	rc = keep_head(r, &head);
	if (rc == 0)
		rc = lacks_parameter(r, &head);
	while (rc == 0 && (next = kc_csv_next(reader, &record, &why)) > 0)
		rc = record.count < head.count ? fail(r, record.line, -EINVAL, "fewer fields than the header has")
					       : take_record(r, &head, &record, time);
	if (rc == 0 && next < 0)
		rc = fail(r, record.line, next, why ? why : strerror(-next));
	return rc;
}

static int read_csv(struct reading *r)
{
	struct kc_csv_reader *reader = NULL;
	int rc = kc_csv_open(r->path, &reader);

	if (rc < 0)
		return fail(r, 0, rc, strerror(-rc));
	rc = read_records(r, reader);
	kc_csv_close(reader);
	return rc;
}

/* --- JSON */

/* Where the parser is: the keys of the objects around it, "" for arrays. */
struct place {
	struct reading *reading;
	char keys[PATH_DEPTH][KEY_BYTES];
	unsigned depth; /* objects and arrays around; more than PATH_DEPTH are counted alone */
	struct {
		char name[KEY_BYTES];
		double value, ns_per_unit; /* NAN: not told */
	} measurement;
	double ns_per_unit; /* of the document */
};

static int is_at(const struct place *at, unsigned depth, const char *first, const char *third)
{
	return at->depth == depth && strcmp(at->keys[0], first) == 0 && (!third || strcmp(at->keys[2], third) == 0);
}

/* "cache": { KEY: { here } */
static int in_cache(const struct place *at)
{
	return is_at(at, 3, "cache", NULL);
}

/* "results": [ { here } ] */
static int in_result(const struct place *at)
{
	return is_at(at, 3, "results", NULL);
}

static int in_configuration(const struct place *at)
{
	return is_at(at, 4, "results", "configuration");
}

/* "measurements": [ { here } ] */
static int in_measurement(const struct place *at)
{
	return is_at(at, 5, "results", "measurements");
}

static int begin_place(void *ctx)
{
	struct place *at = ctx;

	at->depth++;
	if (at->depth <= PATH_DEPTH)
		at->keys[at->depth - 1][0] = '\0';
	if (in_cache(at) || in_result(at))
		begin(&at->reading->timed);
	if (in_measurement(at)) {
		at->measurement.name[0] = '\0';
		at->measurement.value = at->measurement.ns_per_unit = NAN;
	}
	return 1;
}

static int end_place(void *ctx)
{
	struct place *at = ctx;

	if (in_measurement(at) && strcmp(at->measurement.name, TIME) == 0)
		at->reading->timed.ns =
		    at->measurement.value *
		    (isnan(at->measurement.ns_per_unit) ? at->ns_per_unit : at->measurement.ns_per_unit);
	if (in_cache(at) || in_result(at))
		end(at->reading);
	at->depth--;
	return 1;
}

static void copy(char *out, size_t size, const unsigned char *text, size_t length)
{
	length = length < size ? length : 0;
	memcpy(out, text, length);
	out[length] = '\0';
}

static int on_key(void *ctx, const unsigned char *text, size_t length)
{
	struct place *at = ctx;

	if (at->depth && at->depth <= PATH_DEPTH)
		copy(at->keys[at->depth - 1], KEY_BYTES, text, length);
	return 1;
}

static int is_key(const struct place *at, const char *key)
{
	return strcmp(at->keys[at->depth - 1], key) == 0;
}

/* "miliseconds", as Kernel Tuner writes it, and other spellings. NAN: another unit. */
static double ns_per_unit(const char *unit)
{
	static const struct {
		const char *begins;
		double ns;
	} units[] = {{"mil", 1e6}, {"ms", 1e6}, {"mic", 1e3}, {"us", 1e3}, {"nan", 1}, {"ns", 1}, {"s", 1e9}};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (strncasecmp(unit, units[i].begins, strlen(units[i].begins)) == 0)
			return units[i].ns;
	return NAN;
}

/* A value, of whatever type, as text. */
static int take(struct place *at, const char *text, size_t length, int is_number)
{
	struct reading *r = at->reading;
	char value[VALUE_BYTES];
	double number = NAN;

	if (!at->depth || at->depth > PATH_DEPTH)
		return 1;
	copy(value, sizeof(value), (const unsigned char *)text, length);
	if (is_number)
		kc_variant_number(value, &number);
	if (in_cache(at) && is_key(at, TIME)) {
		r->timed.ns = NS_PER_MS * number;
		r->timed.failed = !is_number;
	} else if (in_cache(at) || in_configuration(at)) {
		take_value(r, at->keys[at->depth - 1], text, length);
	} else if (in_result(at) && is_key(at, "invalidity")) {
		r->timed.failed = strcmp(value, "correct") != 0;
	} else if (in_measurement(at) && is_key(at, "name")) {
		copy(at->measurement.name, KEY_BYTES, (const unsigned char *)text, length);
	} else if (in_measurement(at) && is_key(at, "value")) {
		at->measurement.value = number;
	} else if (in_measurement(at) && is_key(at, "unit")) {
		at->measurement.ns_per_unit = ns_per_unit(value);
	} else if (is_at(at, 2, "metadata", NULL) && is_key(at, "timeunit")) {
		at->ns_per_unit = ns_per_unit(value);
	}
	return 1;
}

static int on_number(void *ctx, const char *text, size_t length)
{
	return take(ctx, text, length, 1);
}

static int on_string(void *ctx, const unsigned char *text, size_t length)
{
	return take(ctx, (const char *)text, length, 0);
}

static int on_boolean(void *ctx, int value)
{
	return take(ctx, value ? "true" : "false", strlen(value ? "true" : "false"), 0);
}

static int read_json(struct reading *r)
{
	static const yajl_callbacks callbacks = {
	    .yajl_boolean = on_boolean,
	    .yajl_number = on_number,
	    .yajl_string = on_string,
	    .yajl_start_map = begin_place,
	    .yajl_map_key = on_key,
	    .yajl_end_map = end_place,
	    .yajl_start_array = begin_place,
	    .yajl_end_array = end_place,
	};
	struct place place = {.reading = r, .ns_per_unit = NS_PER_MS};
	struct kc_json_stream *stream;
	struct kc_progress progress;
	int rc = kc_json_stream_open(&stream, r->path, &callbacks, &place);

	if (rc < 0)
		return fail(r, 0, rc, strerror(-rc));
	kc_progress_begin(&progress, r->path, "read", 0);
	rc = kc_json_stream_read(stream, &progress);
	kc_progress_end(&progress);
	if (rc < 0)
		fail(r, kc_json_stream_line(stream), rc, stream->why);
	else if (!r->configurations)
		rc = fail(r, 0, -EINVAL,
			  "neither a cache of Kernel Tuner nor results in the format T4: no configurations");
	kc_json_stream_close(stream);
	return rc;
}

/* 1: the first character that is no blank begins an object. 0; -errno */
static int is_json(const char *path)
{
	gzFile file = gzopen(path, "rb");
	int c;

	if (!file)
		return errno ? -errno : -ENOMEM;
	do
		c = gzgetc(file);
	while (c > 0 && strchr(" \t\r\n\xef\xbb\xbf", c));
	gzclose(file);
	return c == '{';
}

int kc_variants_timed(struct kc_variants *v, const char *path)
{
	struct reading *r = calloc(1, sizeof(*r));
	int rc;

	if (!r)
		return -ENOMEM;
	r->variants = v;
	r->path = path;
	rc = is_json(path);
	if (rc < 0)
		fail(r, 0, rc, strerror(-rc));
	else
		rc = rc ? read_json(r) : read_csv(r);
	free(r);
	return rc;
}
