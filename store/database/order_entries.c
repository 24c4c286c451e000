#include "internal.h"

#include <endian.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static int add_event(struct kc_store *s, const struct kc_event_entry *entry)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_EVENT);
	int64_t kernel = entry->kernel ? kc__kernel_row(s, entry->kernel) : 0;
	int64_t device = entry->kernel ? kc__device_row(s, entry->device) : 0;

	if (kernel < 0 || device < 0)
		return (int)(kernel < 0 ? kernel : device);
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, (int64_t)entry->number);
		sqlite3_bind_text(stmt, 3, kc_order_event_name(entry->kind), -1, SQLITE_STATIC);
		kc__bind_known(stmt, 4, kernel);
		kc__bind_known(stmt, 5, entry->time_ns);
		kc__bind_known(stmt, 6, device);
	}
	return kc__run(s, stmt);
}

static int is_event(const struct kc_event_entry *entry)
{
	return entry->number > 0 && entry->number <= KC_EVENTS_MAX && entry->kind > KC_EVENT_NONE &&
	       entry->kind < KC_ORDER_EVENT_COUNT;
}

static int add_past(struct kc_store *s, const struct kc_past_entry *entry)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_PAST);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		kc__bind_known(stmt, 2, entry->source);
		sqlite3_bind_int64(stmt, 3, (int64_t)entry->checksum);
		kc__bind_known(stmt, 4, (int64_t)entry->prior);
	}
	return kc__run(s, stmt);
}

static int is_past(const struct kc_past_entry *entry)
{
	return entry->source >= 0 && entry->source <= KC_PROCESS_MAX && (entry->source || entry->prior);
}

/* As in the database: from the low byte up, whatever the machine. */
static void number_bytes(const double *numbers, uint32_t count, uint64_t *bytes)
{
	memcpy(bytes, numbers, count * sizeof(*bytes));
	for (uint32_t i = 0; i < count; i++)
		bytes[i] = htole64(bytes[i]);
}

static int add_work(struct kc_store *s, const struct kc_work_entry *entry)
{
	struct kc_launch launch = {.kernel = entry->kernel,
				   .device = (uint8_t)entry->device,
				   .dynamic_shared_bytes = entry->dynamic_shared_bytes,
				   .blocks_per_sm = entry->blocks_per_sm};
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_WORK);
	uint64_t bytes[KC_WORK_NUMBERS_MAX];
	int64_t shape;

	memcpy(launch.grid, entry->grid, sizeof(launch.grid));
	memcpy(launch.block, entry->block, sizeof(launch.block));
	shape = kc__shape_row(s, &launch);
	if (shape < 0)
		return (int)shape;
	number_bytes(entry->numbers, entry->count, bytes);
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, shape);
		sqlite3_bind_int64(stmt, 3, entry->arguments);
		sqlite3_bind_blob(stmt, 4, bytes, (int)(entry->count * sizeof(*bytes)), SQLITE_TRANSIENT);
	}
	return kc__run(s, stmt);
}

static int is_work(const struct kc_work_entry *entry, size_t bytes)
{
	size_t held = (bytes - offsetof(struct kc_work_entry, numbers)) / sizeof(double);

	if (entry->count > held || entry->count == 0 || entry->count > KC_WORK_NUMBERS_MAX)
		return 0;
	for (uint32_t i = 0; i < entry->count; i++)
		if (!isfinite(entry->numbers[i]) || entry->numbers[i] < 0)
			return 0;
	return 1;
}

static void bind_time(struct kc_store *s, sqlite3_stmt *stmt, int i, int64_t ns)
{
	if (ns)
		sqlite3_bind_int64(stmt, i, kc_minus_ns(ns, s->base_ns));
	else
		sqlite3_bind_null(stmt, i);
}

/* launch: of a graph that is measured as one; all zeros: another call. */
static void bind_graph(struct kc_store *s, sqlite3_stmt *stmt, const struct kc_graph_launch *launch)
{
	int is_measured = launch->measured_end_ns != 0;

	kc__bind_known(stmt, 8, launch->number);
	bind_time(s, stmt, 9, launch->start_ns);
	bind_time(s, stmt, 10, launch->end_ns);
	bind_time(s, stmt, 11, is_measured ? launch->measured_start_ns : 0);
	bind_time(s, stmt, 12, launch->measured_end_ns);
	if (launch->unmeasured && launch->unmeasured < KC_UNMEASURED_COUNT)
		sqlite3_bind_text(stmt, 13, kc_unmeasured_name(launch->unmeasured), -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, 13);
	kc__bind_known(stmt, 14, is_measured ? (int64_t)(launch->known + launch->measured_after) : 0);
}

static int add_stream_call(struct kc_store *s, uint64_t index, const struct kc_stream_call *call,
			   const struct kc_graph_launch *launch)
{
	static const struct kc_graph_launch none;
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_STREAM_CALL);
	int64_t stream = call->stream ? kc__stream_row(s, call->stream) : 0;
	int64_t device = call->stream ? 0 : kc__device_row(s, call->device);
	int64_t ns = call->kind == KC_CALL_WAIT ? kc_minus_ns(call->ns, call->time_ns) : call->ns;

	if (stream < 0 || device < 0)
		return (int)(stream < 0 ? stream : device);
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process << KC_SEQUENCE_BITS | (int64_t)index);
		sqlite3_bind_int64(stmt, 2, call->kind);
		kc__bind_known(stmt, 3, stream);
		kc__bind_known(stmt, 4, device);
		sqlite3_bind_int64(stmt, 5, kc_minus_ns(call->time_ns, s->base_ns));
		kc__bind_known(stmt, 6, ns);
		sqlite3_bind_int64(stmt, 7, (int64_t)call->known);
		bind_graph(s, stmt, launch ? launch : &none);
	}
	return kc__run(s, stmt);
}

static int is_stream_call(const struct kc_stream_call *call)
{
	return call->kind > KC_CALL_NONE && call->kind < KC_STREAM_CALL_COUNT && call->known <= KC_EVENTS_MAX;
}

int kc__graph_launch_entry(struct kc_store *s, const struct kc_slot *slot)
{
	const struct kc_graph_launch *launch = &slot->graph_launch;
	const struct kc_stream_call call = {
	    .time_ns = launch->predicted_at_ns,
	    .ns = (int64_t)launch->graph,
	    .known = launch->known,
	    .kind = KC_CALL_GRAPH_LAUNCH,
	    .stream = launch->stream,
	    .device = launch->device,
	};

	int rc;

	if (launch->unordered && !launch->whole)
		return 0;
	if (!is_stream_call(&call))
		return kc__torn(s, slot->index);
	rc = add_stream_call(s, slot->index, &call, launch->whole ? launch : NULL);
	if (rc == 0 && launch->whole && sqlite3_changes(s->db)) {
		s->tally.graphs++;
		s->tally.graphs_measured += launch->measured_end_ns != 0;
	}
	return rc;
}

int kc__order_entry(struct kc_store *s, const struct kc_slot *slot, const void *payload, size_t bytes)
{
	switch (slot->kind) {
	case KC_KIND_EVENT:
		return is_event(payload) ? add_event(s, payload) : kc__torn(s, slot->index);
	case KC_KIND_PAST:
		return is_past(payload) ? add_past(s, payload) : kc__torn(s, slot->index);
	case KC_KIND_STREAM_CALL:
		return is_stream_call(payload) ? add_stream_call(s, slot->index, payload, NULL)
					       : kc__torn(s, slot->index);
	default:
		return is_work(payload, bytes) ? add_work(s, payload) : kc__torn(s, slot->index);
	}
}
