#include "internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* When they take this much, they are written to the table and forgotten. */
#define ROLLUPS_BYTES ((size_t)3 << 19)

struct launch_facts {
	int predicted, measured;
	int64_t kernel, shape, stream; /* rows */
};

static void bind_if(sqlite3_stmt *stmt, int i, int known, int64_t value)
{
	if (known)
		sqlite3_bind_int64(stmt, i, value);
	else
		sqlite3_bind_null(stmt, i);
}

/* A damaged journal may have one that is no number, or no slowdown by its size. */
static int is_slowdown(float slowdown)
{
	return fabs((double)slowdown) < 1e9;
}

static void put_scaled(struct kc__launch_row *row, enum kc__launch_column column, int known, float slowdown)
{
	known &= is_slowdown(slowdown);
	kc__row_put_if(row, column, known, known ? llround(((double)slowdown - 1) * KC_SLOWDOWN_SCALE) : 0);
}

static uint32_t flags_of(const struct kc_launch *l, const struct launch_facts *facts)
{
	uint32_t flags = (uint32_t)l->api << KC_FLAG_API_SHIFT | (uint32_t)l->overlap << KC_FLAG_OVERLAP_SHIFT |
			 (uint32_t)l->unpredictable << KC_FLAG_UNPREDICTABLE_SHIFT;

	if (facts->predicted)
		flags |= (uint32_t)l->model << KC_FLAG_MODEL_SHIFT |
			 ((uint32_t)l->concurrency_case + 1) << KC_FLAG_CASE_SHIFT |
			 ((uint32_t)l->novelty + 1) << KC_FLAG_NOVELTY_SHIFT |
			 (uint32_t)l->not_kept << KC_FLAG_NOT_KEPT_SHIFT;
	if (!facts->measured)
		flags |= (uint32_t)l->unmeasured << KC_FLAG_UNMEASURED_SHIFT;
	return flags;
}

/* Numbers from a damaged journal could be too large for their bits in flags. */
static int in_range(const struct kc_launch *l)
{
	return l->api <= KC_FLAG_API_MASK && l->model <= KC_FLAG_MODEL_MASK &&
	       l->concurrency_case < KC_FLAG_CASE_MASK && l->overlap <= KC_FLAG_OVERLAP_MASK &&
	       l->novelty < KC_FLAG_NOVELTY_MASK && l->unpredictable < KC_UNPREDICTABLE_COUNT &&
	       l->unmeasured < KC_UNMEASURED_COUNT;
}

/* The order without what cannot be: there is no decision without a measurement, and none without a time. */
static struct kc_order possible_order(struct kc_order order, int measured)
{
	if (order.known > KC_EVENTS_MAX)
		order = (struct kc_order){0};
	if (!measured)
		order.measured_after = 0;
	if (!order.measured_after)
		order.decided_after = 0;
	return order;
}

/* 0: the launch was imported, or nothing was known and nothing became known. */
static int is_in_order(const struct kc_order *order)
{
	return order->known || order->measured_after;
}

/* As differences, which take fewer bytes: most rows of a database are launches. */
static void put_order(struct kc__launch_row *row, const struct kc_order *order)
{
	kc__row_put_if(row, KC__ROW_KNOWN, is_in_order(order), (int64_t)order->known);
	kc__row_put_if(row, KC__ROW_MEASURED_AFTER, order->measured_after != 0, order->measured_after);
	kc__row_put_if(row, KC__ROW_DECIDED_AFTER, order->decided_after != 0, order->decided_after);
}

static void bind_transfer_order(sqlite3_stmt *stmt, int i, const struct kc_order *order)
{
	int64_t known = (int64_t)order->known, measured_event = known + order->measured_after;

	bind_if(stmt, i, is_in_order(order), known);
	bind_if(stmt, i + 1, order->measured_after != 0, measured_event);
	bind_if(stmt, i + 2, order->decided_after != 0, measured_event + order->decided_after);
}

static void put_times(struct kc__launch_row *row, const struct kc_launch *l, const struct launch_facts *facts,
		      int64_t base_ns)
{
	int predicted = facts->predicted, measured = facts->measured;

	kc__row_put(row, KC__ROW_LAUNCHED, kc_minus_ns(l->launched_ns, base_ns));
	kc__row_put_if(row, KC__ROW_LEAD, predicted && l->predicted_at_ns,
		       kc_minus_ns(l->launched_ns, l->predicted_at_ns));
	kc__row_put_if(row, KC__ROW_SOLO, predicted, l->solo_ns);
	kc__row_put_if(row, KC__ROW_BELOW, predicted, kc_minus_ns(l->solo_ns, l->solo_low_ns));
	kc__row_put_if(row, KC__ROW_ABOVE, predicted, kc_minus_ns(l->solo_high_ns, l->solo_ns));
	kc__row_put_if(row, KC__ROW_WAIT, predicted, kc_minus_ns(l->start_ns, l->launched_ns));
	kc__row_put_if(row, KC__ROW_SPAN, predicted, kc_minus_ns(l->end_ns, l->start_ns));
	kc__row_put_if(row, KC__ROW_MEASURED_WAIT, measured, kc_minus_ns(l->measured_start_ns, l->launched_ns));
	kc__row_put_if(row, KC__ROW_MEASURED_SPAN, measured, kc_minus_ns(l->measured_end_ns, l->measured_start_ns));
}

static void put_launch(struct kc__launch_row *row, const struct kc_launch *l, const struct launch_facts *facts)
{
	struct kc_order order = possible_order(l->order, facts->measured);

	kc__row_put(row, KC__ROW_SHAPE, facts->shape);
	kc__row_put_if(row, KC__ROW_STREAM, facts->stream != 0, facts->stream);
	kc__row_put(row, KC__ROW_FLAGS, flags_of(l, facts));
	put_scaled(row, KC__ROW_SLOWDOWN, facts->predicted, l->slowdown);
	put_scaled(row, KC__ROW_SLOWDOWN_WAVES, facts->predicted, l->slowdown_waves);
	kc__row_put_if(row, KC__ROW_RESULT, l->result != INT32_MIN, l->result);
	kc__row_put_if(row, KC__ROW_CORRELATION, l->correlation != 0, l->correlation);
	kc__row_put_if(row, KC__ROW_THREAD, l->thread != 0, l->thread);
	kc__row_put_if(row, KC__ROW_MODEL_STATE, facts->predicted, l->model_state);
	kc__row_put_if(row, KC__ROW_GRAPH_LAUNCH, l->graph_launch != 0, l->graph_launch);
	kc__row_put_if(row, KC__ROW_GRAPH_NODE, l->graph_launch != 0, l->graph_node);
	kc__row_put_if(row, KC__ROW_CALL_SITE, l->call_site != 0, l->call_site);
	kc__row_put_if(row, KC__ROW_ARGUMENTS, l->arguments != 0, l->arguments);
	put_order(row, &order);
}

static int64_t at_least_one(int64_t ns)
{
	return ns > 0 ? ns : 1;
}

static void set_fact(struct kc__fact *fact, const struct kc_store *s, const struct kc_launch *l,
		     const struct launch_facts *facts)
{
	*fact = (struct kc__fact){
	    .key = {.run = s->run,
		    .process = s->process,
		    .kernel = facts->kernel,
		    .stream = facts->stream,
		    .overlap = l->overlap},
	    .shape = facts->shape,
	};
	if (facts->predicted) {
		fact->key.model = l->model;
		fact->key.concurrency_case = l->concurrency_case;
		fact->key.novelty = l->novelty;
		fact->predicted_at_ns = l->predicted_at_ns;
		fact->predicted_ns = at_least_one(kc_minus_ns(l->end_ns, l->start_ns));
		fact->slowdown = is_slowdown(l->slowdown) ? (double)l->slowdown : 1;
		fact->slowdown_waves = is_slowdown(l->slowdown_waves) ? (double)l->slowdown_waves : 1;
	}
	if (facts->measured) {
		fact->measured_ns = at_least_one(kc_minus_ns(l->measured_end_ns, l->measured_start_ns));
		fact->measured_end_ns = l->measured_end_ns;
	}
}

static void count(struct kc__tally *t, const struct kc__launch_row *row)
{
	int64_t flags = row->values[KC__ROW_FLAGS];
	uint32_t unmeasured = KC_FLAG(flags, UNMEASURED);
	int has_returned = row->known >> KC__ROW_RESULT & 1;

	t->launches++;
	t->failed += has_returned && row->values[KC__ROW_RESULT] != 0;
	t->unreturned += !has_returned;
	t->measured += row->fact.measured_ns != 0;
	if (!row->fact.predicted_ns) {
		t->unpredictable[KC_FLAG(flags, UNPREDICTABLE)]++;
		return;
	}
	t->predicted++;
	if (row->fact.measured_ns)
		t->matched++;
	else if (unmeasured)
		t->unmeasured[unmeasured]++;
	else
		t->awaited++;
}

static int add_to_rollups(struct kc_store *s, const struct kc__fact *fact)
{
	if (s->rollups.bytes >= ROLLUPS_BYTES) {
		int rc = kc__rollups_store(s);

		if (rc)
			return rc;
		kc__rollups_clear(&s->rollups);
	}
	return kc__rollups_add(&s->rollups, s->solos, fact);
}

/* A launch that has a row already was stored before, and counted then. */
static int store_waiting(struct kc_store *s)
{
	int rc = kc__launch_rows_insert(s);

	if (rc || !s->waiting)
		return rc;
	for (uint32_t i = 0; rc == 0 && i < s->waiting->count; i++) {
		const struct kc__launch_row *row = &s->waiting->at[i];

		if (!row->is_new)
			continue;
		count(&s->tally, row);
		rc = add_to_rollups(s, &row->fact);
	}
	s->waiting->count = 0;
	return rc;
}

static int store_launch(struct kc_store *s, const struct kc_slot *slot)
{
	const struct kc_launch *l = &slot->launch;
	struct kc__launch_row *row;
	struct launch_facts facts = {
	    .predicted = l->unpredictable == KC_PREDICTED,
	    .measured = l->measured_start_ns > 0 && l->measured_end_ns >= l->measured_start_ns,
	};
	int rc;

	if (!in_range(l))
		return kc__torn(s, slot->index);
	facts.kernel = kc__kernel_row(s, l->kernel);
	facts.shape = kc__shape_row_of(s, facts.kernel, l);
	facts.stream = kc__stream_row(s, l->stream);
	if (facts.shape < 0 || facts.stream < 0)
		return (int)(facts.shape < 0 ? facts.shape : facts.stream);
	row = kc__launch_rows_add(s, s->process << KC_SEQUENCE_BITS | (int64_t)(slot->index & KC_SEQUENCE_MASK));
	if (!row)
		return -ENOMEM;
	put_times(row, l, &facts, s->base_ns);
	put_launch(row, l, &facts);
	set_fact(&row->fact, s, l, &facts);
	if (l->scope && (rc = kc__add_launched_in(s, slot->index, l->scope)))
		return rc;
	return s->in_transaction && s->waiting->count < KC__LAUNCH_ROWS_MAX ? 0 : store_waiting(s);
}

static int store_transfer(struct kc_store *s, const struct kc_slot *slot)
{
	const struct kc_transfer *t = &slot->transfer;
	sqlite3_stmt *stmt = kc__statement(s, KC__TRANSFER);
	int64_t stream = kc__stream_row(s, t->stream), device = kc__device_row(s, t->device);
	int measured = t->measured_start_ns > 0 && t->measured_end_ns >= t->measured_start_ns;
	struct kc_order order = possible_order(t->order, measured);
	int rc;

	if (stream < 0 || device < 0)
		return (int)(stream < 0 ? stream : device);
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process << KC_SEQUENCE_BITS | (int64_t)(slot->index & KC_SEQUENCE_MASK));
		sqlite3_bind_int64(stmt, 2, s->process);
		sqlite3_bind_int64(stmt, 3, (int64_t)slot->index);
		bind_if(stmt, 4, device != 0, device);
		bind_if(stmt, 5, stream != 0, stream);
		sqlite3_bind_text(stmt, 6, kc_transfer_kind_name(t->kind), -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 7, (int64_t)t->bytes);
		bind_if(stmt, 8, t->result != INT32_MIN, t->result);
		bind_if(stmt, 9, t->thread != 0, t->thread);
		bind_if(stmt, 10, t->correlation != 0, t->correlation);
		bind_if(stmt, 11, t->launched_ns != 0, t->launched_ns);
		bind_if(stmt, 12, t->start_ns != 0, t->start_ns);
		bind_if(stmt, 13, t->end_ns != 0, t->end_ns);
		bind_if(stmt, 14, measured, t->measured_start_ns);
		bind_if(stmt, 15, measured, t->measured_end_ns);
		if (measured || t->unmeasured == KC_MEASURED)
			sqlite3_bind_null(stmt, 16);
		else
			sqlite3_bind_text(stmt, 16, kc_unmeasured_name(t->unmeasured), -1, SQLITE_STATIC);
		bind_transfer_order(stmt, 17, &order);
	}
	rc = kc__run(s, stmt);
	if (rc || sqlite3_changes(s->db) == 0)
		return rc;
	s->tally.transfers++;
	s->tally.transfers_measured += (uint64_t)measured;
	return 0;
}

static int store_slot(struct kc_store *s, const struct kc_slot *slot)
{
	switch (slot->kind) {
	case KC_KIND_LAUNCH:
		return store_launch(s, slot);
	case KC_KIND_TRANSFER:
		return store_transfer(s, slot);
	case KC_KIND_GRAPH_LAUNCH:
		return kc__graph_launch_entry(s, slot);
	case KC_KIND_GRAPH: /* its launches have rows */
		return 0;
	default:
		return kc__entry(s, slot);
	}
}

int kc_store_slot(struct kc_store *s, const struct kc_slot *slot)
{
	int rc;

	kc__enter();
	rc = store_slot(s, slot);
	kc__leave();
	return rc;
}

/* Makes *to a copy that shares no memory with the original. */
static int copy_assembler(struct kc_assembler *to, const struct kc_assembler *from)
{
	uint8_t *buffer = NULL;

	if (from->used) {
		buffer = malloc(from->capacity);
		if (!buffer)
			return -ENOMEM;
		memcpy(buffer, from->buffer, from->used);
	}
	kc_assembler_free(to);
	*to = *from;
	to->buffer = buffer;
	to->capacity = buffer ? from->capacity : 0;
	return 0;
}

void kc__forget(struct kc_store *s)
{
	memset(&s->tally, 0, sizeof(s->tally));
	kc__rollups_clear(&s->rollups);
	kc__dictionary_clear(&s->dictionary);
	kc__solos_free(s->solos);
	s->solos = kc__solos_new(KC__SOLOS_BYTES);
	if (s->waiting)
		s->waiting->count = 0;
	kc_assembler_free(&s->assembler);
	kc_assembler_free(&s->assembler_at_begin);
}

int kc_store_begin(struct kc_store *s)
{
	int rc;

	kc__enter();
	kc__held_lengthen(s);
	rc = copy_assembler(&s->assembler_at_begin, &s->assembler);
	if (rc == 0)
		rc = kc__run(s, kc__statement(s, KC__BEGIN));
	if (rc == 0)
		s->in_transaction = 1;
	kc__leave();
	return rc;
}

static int count_up(struct kc_store *s, const char *item, const char *reason, uint64_t by)
{
	sqlite3_stmt *stmt;

	if (by == 0)
		return 0;
	stmt = kc__statement(s, KC__COUNT_UP);
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_text(stmt, 2, item, -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 3, reason, -1, SQLITE_STATIC);
		sqlite3_bind_int64(stmt, 4, (int64_t)by);
	}
	return kc__run(s, stmt);
}

static int store_tally(struct kc_store *s)
{
	const struct kc__tally *t = &s->tally;
	const struct {
		const char *item;
		uint64_t by;
	} items[] = {
	    {"launches", t->launches},
	    {"predicted", t->predicted},
	    {"failed", t->failed},
	    {"unreturned", t->unreturned},
	    {"measured", t->measured},
	    {"matched", t->matched},
	    {"awaited", t->awaited},
	    {"transfers", t->transfers},
	    {"transfers_measured", t->transfers_measured},
	    {"graphs_whole", t->graphs},
	    {"graphs_measured", t->graphs_measured},
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(items) / sizeof(items[0]); i++)
		rc = count_up(s, items[i].item, "", items[i].by);
	for (uint32_t i = 0; rc == 0 && i < KC_UNPREDICTABLE_COUNT; i++)
		rc = count_up(s, "unpredictable", kc_unpredictable_name(i), t->unpredictable[i]);
	for (uint32_t i = 0; rc == 0 && i < KC_UNMEASURED_COUNT; i++)
		rc = count_up(s, "unmeasured", kc_unmeasured_name(i), t->unmeasured[i]);
	if (rc == 0)
		memset(&s->tally, 0, sizeof(s->tally));
	return rc;
}

int kc_store_commit(struct kc_store *s)
{
	int rc;

	kc__enter();
	kc__held_lengthen(s);
	rc = store_waiting(s);
	if (rc == 0)
		rc = kc__rollups_store(s);
	if (rc == 0)
		rc = store_tally(s);
	if (rc == 0)
		rc = kc__run(s, kc__statement(s, KC__COMMIT));
	if (rc == 0)
		s->in_transaction = 0;
	kc__leave();
	return rc;
}

void kc_store_rollback(struct kc_store *s)
{
	struct kc_assembler assembler = s->assembler_at_begin;

	kc__enter();
	/* After many errors SQLite has rolled back by itself. */
	if (!sqlite3_get_autocommit(s->db))
		kc__run(s, kc__statement(s, KC__ROLLBACK));
	if (s->in_transaction) {
		s->in_transaction = 0;
		s->assembler_at_begin = (struct kc_assembler){0};
		kc__forget(s);
		s->assembler = assembler;
	}
	kc__leave();
}
