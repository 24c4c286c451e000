#include "past.h"

#include "past_texts.h"
#include "replay_internal.h"
#include "store/database/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_MAX 32u
#define TEXTS_PROCESSES_MAX 4u /* whose kernels are looked up for a text */
#define LAUNCHES_LEAST 1024u
#define HEAD 8u /* of a process that is replayed in part, one launch in so many is from its beginning */

/* What was learned, under one of its names: of the launch shape, of its kernel and block shape, or of its kernel. */
struct named_shape {
	uint64_t name;
	const struct kc__replay_shape *shape;
	struct named_shape *next; /* of the same bucket */
};

struct parts {
	struct kc__part at[PROCESSES_MAX + 1];
	uint32_t count;
	uint64_t left; /* launches */
};

struct kc_past {
	struct parts parts;
	struct kc__replay_knowledge *knowledge;
	struct kc__past_texts texts;
	struct named_shape *entries, **buckets;
	size_t count, capacity, mask;
};

/* --- which processes to learn from */

static const char newest[] = "SELECT p.id, (SELECT max(l.id) FROM launch_row l WHERE l.id BETWEEN p.id << 40"
			     " AND p.id << 40 | 1099511627775) & 1099511627775"
			     " FROM process p WHERE p.executable = ?1 AND p.source IS NULL ORDER BY p.id DESC LIMIT ?2";
_Static_assert(KC_SEQUENCE_BITS == 40, "the shift in the statement above");

static void add_part(struct parts *parts, int64_t process, uint64_t first, uint64_t count)
{
	if (count)
		parts->at[parts->count++] = (struct kc__part){process, first, first + count - 1};
	parts->left -= count;
}

/* Adds the newest part first. Of a process that is too long, it takes the newest launches and the first ones, because
 * the next run begins like them. */
static void take(struct parts *parts, int64_t process, uint64_t count)
{
	uint64_t head = parts->left / HEAD;

	if (count > parts->left) {
		add_part(parts, process, count - (parts->left - head), parts->left - head);
		count = head;
	}
	add_part(parts, process, 0, count);
}

/* Sequence numbers have gaps, so this may find fewer launches than the maximum, but not more. */
static int find_parts(struct kc_store *s, const char *executable, uint64_t launches, struct parts *parts)
{
	sqlite3_stmt *row = NULL;
	int rc = sqlite3_prepare_v2(s->db, newest, -1, &row, NULL);

	parts->left = launches;
	if (rc == SQLITE_OK) {
		sqlite3_bind_text(row, 1, executable, -1, SQLITE_STATIC);
		sqlite3_bind_int(row, 2, PROCESSES_MAX);
	}
	while (rc == SQLITE_OK && parts->left && (rc = sqlite3_step(row)) == SQLITE_ROW) {
		rc = SQLITE_OK;
		if (sqlite3_column_type(row, 1) != SQLITE_NULL)
			take(parts, sqlite3_column_int64(row, 0), (uint64_t)sqlite3_column_int64(row, 1) + 1);
	}
	sqlite3_finalize(row);
	if (rc != SQLITE_OK && rc != SQLITE_DONE)
		return kc__errno(s->db, rc);
	return parts->count ? 0 : -ENODATA;
}

static void oldest_first(struct parts *parts)
{
	for (uint32_t i = 0; i < parts->count / 2; i++) {
		struct kc__part part = parts->at[i];

		parts->at[i] = parts->at[parts->count - 1 - i];
		parts->at[parts->count - 1 - i] = part;
	}
}

/* Names */

static struct kc_shape without_grid(const struct kc_shape *dims)
{
	struct kc_shape block = *dims;

	memset(block.grid, 0, sizeof(block.grid));
	return block;
}

static uint64_t kernel_name(const char *mangled)
{
	static const struct kc_shape none = {0};

	return kc_launch_name(mangled, &none, NULL);
}

static void add_entry(struct kc_past *past, uint64_t name, const struct kc__replay_shape *shape)
{
	struct named_shape *entry = &past->entries[past->count++];

	*entry = (struct named_shape){name, shape, past->buckets[name & past->mask]};
	past->buckets[name & past->mask] = entry;
}

enum { NAMES_PER_SHAPE = 4 };

static void count_shape(struct kc__replay_shape *shape, void *arg)
{
	struct kc_past *past = arg;

	if (shape->engine.learned.measured && shape->engine.name.launch)
		past->capacity += NAMES_PER_SHAPE;
}

static void index_shape(struct kc__replay_shape *shape, void *arg)
{
	struct kc_shape block = without_grid(&shape->dims);
	const char *mangled;
	uint64_t whatever_given;

	if (!shape->engine.learned.measured || !shape->engine.name.launch)
		return;
	mangled = shape->code->identity.mangled;
	whatever_given = kc_launch_name(mangled, &shape->dims, NULL);
	add_entry(arg, shape->name, shape);
	if (whatever_given != shape->name)
		add_entry(arg, whatever_given, shape);
	add_entry(arg, kc_launch_name(mangled, &block, NULL), shape);
	add_entry(arg, kernel_name(mangled), shape);
}

static int make_index(struct kc_store *s, struct kc_past *past)
{
	kc__knowledge_each(past->knowledge, count_shape, past);
	for (past->mask = 63; past->mask < past->capacity; past->mask = 2 * past->mask + 1)
		;
	if (kc__take(s, past->capacity * sizeof(*past->entries) + past->mask * sizeof(struct named_shape *)))
		return -ENOMEM;
	past->entries = calloc(past->capacity + 1, sizeof(*past->entries));
	past->buckets = calloc(past->mask + 1, sizeof(struct named_shape *));
	if (!past->entries || !past->buckets)
		return -ENOMEM;
	kc__knowledge_each(past->knowledge, index_shape, past);
	return 0;
}

static void explain(int rc, const struct kc_past_options *options, char *why, size_t why_size)
{
	if (rc == -ETIME)
		snprintf(why, why_size, "reading it takes too long");
	else if (rc == -ENOMEM)
		snprintf(why, why_size, "it needs more memory than %zu KiB", options->bound.bytes >> 10);
	else if (rc == -EFBIG)
		snprintf(why, why_size, "it has a row longer than any of kerncast's");
	else if (rc == -EBUSY)
		snprintf(why, why_size, "it is locked by another process");
	else
		snprintf(why, why_size, "%s", strerror(-rc));
}

static void empty(struct kc_past *past)
{
	kc__knowledge_free(past->knowledge);
	kc__past_texts_free(&past->texts);
	free(past->entries);
	free(past->buckets);
	*past = (struct kc_past){0};
}

static int load_newest(struct kc_store *s, const char *executable, uint64_t launches, struct kc_past *past)
{
	int rc = find_parts(s, executable, launches, &past->parts);

	if (rc)
		return rc;
	oldest_first(&past->parts);
	rc = kc__replay_parts(s, past->parts.at, past->parts.count, NULL, &past->knowledge);
	return rc ? rc : make_index(s, past);
}

/* Where no two launches are alike, there is memory only for fewer of them. */
static int load(struct kc_store *s, const struct kc_past_options *options, struct kc_past *past)
{
	uint64_t launches = options->launches_max;
	int rc = load_newest(s, options->executable, launches, past);

	while (rc == -ENOMEM && launches > LAUNCHES_LEAST && kc__within(s) != -ETIME) {
		empty(past);
		s->taken = 0;
		s->exceeded = 0;
		launches /= 4;
		rc = load_newest(s, options->executable, launches, past);
	}
	return rc;
}

/* Of the newest processes first. What is not read is not known: the program's own code is looked at then. */
static void load_texts(struct kc_store *s, struct kc_past *past)
{
	const struct parts *parts = &past->parts;
	uint32_t processes = 0;
	int rc = 0;

	for (uint32_t i = parts->count; rc == 0 && i > 0 && processes < TEXTS_PROCESSES_MAX; i--) {
		if (i < parts->count && parts->at[i].process == parts->at[i - 1].process)
			continue;
		rc = kc__past_texts_add(s, parts->at[i - 1].process, &past->texts);
		processes++;
	}
}

int kc_past_load(const char *path, const struct kc_past_options *options, struct kc_past **out, char *why,
		 size_t why_size)
{
	struct kc_past *past = calloc(1, sizeof(*past));
	struct kc_store *s = NULL;
	int rc = past ? kc_store_peek(path, &options->bound, &s, why, why_size) : -ENOMEM;

	*out = NULL;
	if (s) {
		rc = load(s, options, past);
		if (rc == 0)
			load_texts(s, past);
		kc_store_close(s);
		if (rc && why)
			explain(rc, options, why, why_size);
	}
	if (rc)
		kc_past_free(past);
	else
		*out = past;
	return rc == -ENOENT ? -ENODATA : rc;
}

int kc__past_of(struct kc_store *s, const struct kc__past_parts *parts, struct kc_past **out)
{
	struct kc_past *past;
	int rc;

	*out = NULL;
	if (!parts->count)
		return 0;
	past = calloc(1, sizeof(*past));
	if (!past)
		return -ENOMEM;
	rc = kc__replay_parts(s, parts->at, parts->count, NULL, &past->knowledge);
	if (rc == 0)
		rc = make_index(s, past);
	if (rc)
		kc_past_free(past);
	else
		*out = past;
	return rc;
}

void kc_past_free(struct kc_past *past)
{
	if (past)
		empty(past);
	free(past);
}

/* Questions */

int kc_past_part(const struct kc_past *past, uint32_t place, struct kc_past_entry *part)
{
	const struct kc__part *at;

	if (!past || place >= past->parts.count)
		return 0;
	at = &past->parts.at[place];
	*part = (struct kc_past_entry){place, 0, at->process, at->first_sequence, at->last_sequence};
	return 1;
}

const struct kc_past_text *kc_past_text(const struct kc_past *past, const char *mangled, uint64_t code_hash,
					uint32_t architecture)
{
	return past ? kc__past_texts_find(&past->texts, mangled, code_hash, architecture) : NULL;
}

static int is_code(const struct kc__replay_shape *shape, const struct kc_code_identity *code)
{
	const struct kc_code_identity *own = &shape->code->identity;

	return own->code_hash == code->code_hash && own->registers == code->registers &&
	       own->static_shared_bytes == code->static_shared_bytes;
}

static const struct named_shape *first_named(const struct kc_past *past, uint64_t name)
{
	return past ? past->buckets[name & past->mask] : NULL;
}

const struct kc_engine_device *kc_past_device(const struct kc_past *past, const char *uuid)
{
	for (size_t i = 0; past && i < past->count; i++)
		if (!strcmp(past->entries[i].shape->on->name, uuid))
			return &past->entries[i].shape->on->engine;
	return NULL;
}

/* Something of this very code on this very device, by its name. */
static const struct kc__replay_shape *find_same(const struct kc_past *past, uint64_t name,
						const struct kc_code_identity *code, const char *uuid)
{
	for (const struct named_shape *e = first_named(past, name); e; e = e->next)
		if (e->name == name && is_code(e->shape, code) && !strcmp(e->shape->on->name, uuid))
			return e->shape;
	return NULL;
}

const struct kc_engine_kernel *kc_past_kernel(const struct kc_past *past, const struct kc_code_identity *code,
					      const char *uuid)
{
	const struct kc__replay_shape *found = find_same(past, kernel_name(code->mangled), code, uuid);

	return found ? &found->code->engine : NULL;
}

uint32_t kc_past_measured(const struct kc_past *past, const struct kc_code_identity *code, const char *uuid,
			  const struct kc_shape *dims)
{
	const struct kc__replay_shape *found = find_same(past, kc_launch_name(code->mangled, dims, NULL), code, uuid);

	return found ? atomic_load(&found->launched->whatever_given->measured) : 0;
}

static enum kc_past_kin kin_of(const struct kc__replay_shape *shape, const struct kc_past_query *query)
{
	if (!strcmp(shape->on->name, query->uuid))
		return is_code(shape, &query->code) ? KC_PAST_SAME : KC_PAST_RELATED;
	return kc_curve_relatedness(&shape->on->info, query->device) ? KC_PAST_RELATED : KC_PAST_NONE;
}

/* The more, the better one to go by: the same device before the same code, that before known arguments. */
static int closeness(const struct kc__replay_shape *shape, const struct kc_past_query *query)
{
	return 4 * !strcmp(shape->on->name, query->uuid) + 2 * is_code(shape, &query->code) +
	       (shape->launched != shape);
}

void kc_past_shape(const struct kc_past *past, const struct kc_past_query *query, struct kc_past_shape *out)
{
	int whole = query->dims->grid[0] != 0;
	uint64_t name;
	const struct kc__replay_shape *best = NULL;
	int closest = -1, several = 0; /* as close, told apart by arguments that are not asked for */

	out->kin = KC_PAST_NONE;
	if (!past)
		return;
	name = kc_launch_name(query->code.mangled, query->dims, query->arguments);
	for (const struct named_shape *e = first_named(past, name); e; e = e->next) {
		int close = closeness(e->shape, query);

		if (e->name != name || !kin_of(e->shape, query) || close < closest)
			continue;
		several = close == closest && (several || e->shape->name != best->name);
		best = e->shape;
		closest = close;
	}
	if (!best || (whole && several))
		return;
	out->lambda =
	    whole ? &best->engine.learned.level.lambda : &best->engine.key->learned.levels[KC_UNIT_NOMINAL].lambda;
	if (!out->lambda->count)
		return;
	out->kin = kin_of(best, query);
	out->work = &best->engine.work;
	out->variant = whole ? &best->engine : NULL;
}
