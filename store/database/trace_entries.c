#include "internal.h"

#include <math.h>

static int64_t launch_row(const struct kc_store *s, uint64_t index)
{
	return s->process << KC_SEQUENCE_BITS | (int64_t)(index & KC_SEQUENCE_MASK);
}

static void bind_amount(sqlite3_stmt *stmt, int i, double amount)
{
	if (isfinite(amount) && amount > 0)
		sqlite3_bind_double(stmt, i, amount);
	else
		sqlite3_bind_null(stmt, i);
}

static int add_operator(struct kc_store *s, const void *payload, size_t bytes)
{
	const struct kc_operator_entry *entry = payload;
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_OPERATOR);
	size_t offset = sizeof(*entry);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, entry->id);
		for (int i = 3; i <= 5; i++)
			sqlite3_bind_text(stmt, i, kc__text_at(payload, bytes, &offset), -1, SQLITE_TRANSIENT);
		bind_amount(stmt, 6, entry->flop);
		bind_amount(stmt, 7, entry->bytes);
		sqlite3_bind_int(stmt, 8, entry->nominal != 0);
	}
	return kc__run(s, stmt);
}

static int add_launched_by(struct kc_store *s, const struct kc_launched_by_entry *entry)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_LAUNCHED_BY);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, launch_row(s, entry->launch));
		sqlite3_bind_int64(stmt, 2, entry->id);
		kc__bind_known(stmt, 3, entry->parts);
	}
	return kc__run(s, stmt);
}

static int add_step(struct kc_store *s, const struct kc_step_entry *entry)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_STEP);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, kc_minus_ns(entry->start_ns, s->base_ns));
		sqlite3_bind_int64(stmt, 3, entry->number);
		sqlite3_bind_int64(stmt, 4, kc_minus_ns(entry->end_ns, s->base_ns));
	}
	return kc__run(s, stmt);
}

static int add_scope(struct kc_store *s, const void *payload, size_t bytes)
{
	const struct kc_scope_entry *entry = payload;
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_SCOPE);
	size_t offset = sizeof(*entry);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, entry->id);
		kc__bind_known(stmt, 3, entry->parent);
		sqlite3_bind_text(stmt, 4, kc_scope_kind_name(entry->kind), -1, SQLITE_STATIC);
		sqlite3_bind_text(stmt, 5, kc__text_at(payload, bytes, &offset), -1, SQLITE_TRANSIENT);
	}
	return kc__run(s, stmt);
}

int kc__add_launched_in(struct kc_store *s, uint64_t index, uint32_t scope)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_LAUNCHED_IN);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, launch_row(s, index));
		sqlite3_bind_int64(stmt, 2, scope);
	}
	return kc__run(s, stmt);
}

static int add_launched_in(struct kc_store *s, const struct kc_launched_in_entry *entry)
{
	return kc__add_launched_in(s, entry->launch, entry->id);
}

int kc__trace_entry(struct kc_store *s, uint32_t kind, const void *payload, size_t bytes)
{
	switch (kind) {
	case KC_KIND_OPERATOR:
		return add_operator(s, payload, bytes);
	case KC_KIND_LAUNCHED_BY:
		return add_launched_by(s, payload);
	case KC_KIND_STEP:
		return add_step(s, payload);
	case KC_KIND_SCOPE:
		return add_scope(s, payload, bytes);
	default:
		return add_launched_in(s, payload);
	}
}
