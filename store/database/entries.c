#include "internal.h"
#include "store/common/message.h"
#include "predictor/concurrency/timeline.h"

#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

const char *kc__text_at(const void *payload, size_t bytes, size_t *offset)
{
	const char *text = (const char *)payload + *offset;
	size_t length;

	if (*offset >= bytes)
		return "";
	length = strnlen(text, bytes - *offset);
	if (length == bytes - *offset)
		return "";
	*offset += length + 1;
	return text;
}

static void bind_text(sqlite3_stmt *stmt, int i, const char *text)
{
	sqlite3_bind_text(stmt, i, text, -1, SQLITE_TRANSIENT);
}

static int link_local(struct kc_store *s, enum kc__statement which, uint32_t local, int64_t row)
{
	sqlite3_stmt *stmt = kc__statement(s, which);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, local);
		sqlite3_bind_int64(stmt, 3, row);
	}
	return kc__run(s, stmt);
}

int kc__say_simulated(struct kc_store *s)
{
	char sql[160];

	sqlite3_snprintf(
	    sizeof(sql), sql,
	    "UPDATE process SET simulated = 1 WHERE id = %lld; UPDATE run SET simulated = 1 WHERE id = %lld",
	    (long long)s->process, (long long)s->run);
	return kc__errno(s->db, sqlite3_exec(s->db, sql, NULL, NULL, NULL));
}

void kc_uuid_text(const uint8_t uuid[KC_UUID_BYTES], char text[2 * KC_UUID_BYTES + 1])
{
	for (size_t i = 0; i < KC_UUID_BYTES; i++)
		sqlite3_snprintf(3, text + 2 * i, "%02x", uuid[i]);
}

/* Which GPU of whose an imported device is. */
struct found_at {
	int imported;
	const char *place, *bus;
};

static void bind_device(sqlite3_stmt *stmt, const struct kc_device_entry *entry, const struct found_at *at)
{
	const struct kc_device *d = &entry->device;
	const uint64_t numbers[] = {
	    d->cc_major,
	    d->cc_minor,
	    d->sm_count,
	    d->cores_per_sm,
	    d->warp_size,
	    d->clock_khz,
	    d->memory_clock_khz,
	    d->memory_bus_bits,
	    d->memory_bytes_per_s,
	    d->memory_bytes,
	    d->l2_bytes,
	    d->max_threads_per_block,
	    d->max_threads_per_sm,
	    d->max_blocks_per_sm,
	    d->registers_per_sm,
	    d->registers_per_block,
	    d->shared_per_sm_bytes,
	    d->shared_per_block_bytes,
	    d->shared_per_block_optin_bytes,
	    d->shared_reserved_per_block_bytes,
	    d->copy_engines,
	    d->hardware_queues,
	    d->launch_overhead_ns,
	    d->launch_gap_ns,
	    d->simulated,
	    d->empty_kernel_ns,
	    d->copy_bytes_per_s,
	    d->flops_per_s,
	};
	char uuid[2 * KC_UUID_BYTES + 1];

	kc_uuid_text(entry->uuid, uuid);
	bind_text(stmt, 1, uuid);
	sqlite3_bind_int64(stmt, 2, entry->driver_version);
	sqlite3_bind_text(stmt, 3, d->name, (int)strnlen(d->name, sizeof(d->name)), SQLITE_TRANSIENT);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sqlite3_bind_int64(stmt, 4 + (int)i, (int64_t)numbers[i]);
	if (at->imported)
		sqlite3_bind_int64(stmt, 32, entry->ordinal);
	else
		sqlite3_bind_null(stmt, 32);
	bind_text(stmt, 33, at->place);
	bind_text(stmt, 34, at->bus);
}

static int add_device(struct kc_store *s, const struct kc_device_entry *entry, const void *payload, size_t bytes)
{
	sqlite3_stmt *find = kc__statement(s, KC__FIND_DEVICE), *add = kc__statement(s, KC__ADD_DEVICE);
	size_t offset = sizeof(*entry);
	struct found_at at = {.imported = bytes > sizeof(*entry)};
	int64_t row = 0;
	int rc;

	at.place = kc__text_at(payload, bytes, &offset);
	at.bus = kc__text_at(payload, bytes, &offset);

	if (find)
		bind_device(find, entry, &at);
	rc = kc__run_value(s, find, &row);
	if (rc == 0 && row == 0) {
		if (add)
			bind_device(add, entry, &at);
		rc = kc__run(s, add);
		row = sqlite3_last_insert_rowid(s->db);
	}
	if (rc == 0)
		rc = link_local(s, KC__LINK_DEVICE, entry->ordinal, row);
	if (rc == 0 && entry->device.simulated)
		rc = kc__say_simulated(s);
	if (entry->ordinal < sizeof(s->dictionary.devices) / sizeof(s->dictionary.devices[0]))
		s->dictionary.devices[entry->ordinal] = 0;
	return rc;
}

static const char *stream_kind_name(uint32_t kind)
{
	static const char *const names[] = {
	    [KC_STREAM_BLOCKING] = "blocking",
	    [KC_STREAM_NONBLOCKING] = "nonblocking",
	    [KC_STREAM_LEGACY] = "legacy",
	};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

static int add_stream(struct kc_store *s, const struct kc_stream_entry *entry)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_STREAM);
	int64_t device = kc__device_row(s, entry->device);

	if (device < 0)
		return (int)device;
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, entry->id);
		kc__bind_known(stmt, 3, device);
		sqlite3_bind_int64(stmt, 4, (int64_t)entry->handle);
		sqlite3_bind_int64(stmt, 5, (int64_t)entry->context);
		sqlite3_bind_int64(stmt, 6, entry->priority);
		sqlite3_bind_int64(stmt, 7, entry->flags);
		bind_text(stmt, 8, stream_kind_name(entry->kind));
		kc__bind_known(stmt, 9, entry->per_thread);
		kc__bind_known(stmt, 10, entry->lane);
	}
	return kc__run(s, stmt);
}

static int add_call_site(struct kc_store *s, const struct kc_call_site_entry *entry, const void *payload, size_t bytes)
{
	size_t offset = sizeof(*entry);
	const char *module = kc__text_at(payload, bytes, &offset), *symbol = kc__text_at(payload, bytes, &offset);
	const char *host_symbol = kc__text_at(payload, bytes, &offset);
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_CALL_SITE);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, entry->id);
		bind_text(stmt, 3, module);
		sqlite3_bind_int64(stmt, 4, (int64_t)entry->offset);
		bind_text(stmt, 5, symbol);
		bind_text(stmt, 6, host_symbol);
		sqlite3_bind_int64(stmt, 7, (int64_t)entry->address);
		kc__bind_known(stmt, 8, (int64_t)entry->host_function);
	}
	return kc__run(s, stmt);
}

static int add_arguments(struct kc_store *s, const struct kc_arguments_entry *entry, const void *payload, size_t bytes)
{
	size_t offset = sizeof(*entry);
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_ARGUMENTS);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process);
		sqlite3_bind_int64(stmt, 2, entry->id);
		bind_text(stmt, 3, kc__text_at(payload, bytes, &offset));
	}
	return kc__run(s, stmt);
}

static void bind_kernel(sqlite3_stmt *stmt, const struct kc_kernel_entry *entry, const char *mangled,
			const char *module)
{
	bind_text(stmt, 1, mangled);
	bind_text(stmt, 2, module);
	sqlite3_bind_int64(stmt, 3, (int64_t)entry->code_hash);
	sqlite3_bind_int64(stmt, 4, entry->resources.registers);
	sqlite3_bind_int64(stmt, 5, entry->resources.static_shared_bytes);
}

static int insert_kernel(struct kc_store *s, const struct kc_kernel_entry *entry, const char *mangled,
			 const char *module)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_KERNEL);

	if (stmt) {
		bind_kernel(stmt, entry, mangled, module);
		sqlite3_bind_int64(stmt, 6, entry->resources.local_bytes);
		sqlite3_bind_int64(stmt, 7, entry->resources.max_threads_per_block);
		kc__bind_known(stmt, 8, entry->binary_version);
		kc__bind_known(stmt, 9, entry->ptx_version);
	}
	return kc__run(s, stmt);
}

static int add_kernel(struct kc_store *s, const struct kc_kernel_entry *entry, const void *payload, size_t bytes)
{
	size_t offset = sizeof(*entry);
	const char *mangled = kc__text_at(payload, bytes, &offset), *path = kc__text_at(payload, bytes, &offset);
	const char *slash = strrchr(path, '/'), *module = slash ? slash + 1 : path;
	sqlite3_stmt *find = kc__statement(s, KC__FIND_KERNEL);
	int64_t row = 0;
	int rc;

	if (find)
		bind_kernel(find, entry, mangled, module);
	rc = kc__run_value(s, find, &row);
	if (rc == 0 && row == 0) {
		rc = insert_kernel(s, entry, mangled, module);
		row = sqlite3_last_insert_rowid(s->db);
	}
	if (rc == 0)
		rc = link_local(s, KC__LINK_KERNEL, entry->id, row);
	kc__kernel_row_forget(s, entry->id);
	return rc;
}

void kc__code_text(const struct kc_code_entry *entry, const char *text, char out[KC__CODE_TEXT])
{
	int told = (entry->state == KC_CODE_REFUSED || entry->state == KC_CODE_NO_PTX) && text[0];

	if (entry->state == KC_CODE_READ && entry->sm)
		snprintf(out, KC__CODE_TEXT, "read from compute_%u", entry->sm);
	else
		snprintf(out, KC__CODE_TEXT, "%s%s%s", kc_code_state_name(entry->state), told ? ": " : "",
			 told ? text : "");
}

/* text: why there is no formula. */
static int set_code(struct kc_store *s, const struct kc_code_entry *entry, const char *text)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__SET_CODE);
	char state[KC__CODE_TEXT];

	kc__code_text(entry, text, state);
	if (stmt) {
		bind_text(stmt, 1, state);
		sqlite3_bind_int64(stmt, 2, s->process);
		sqlite3_bind_int64(stmt, 3, entry->kernel);
	}
	return kc__run(s, stmt);
}

static int add_code_place(struct kc_store *s, const struct kc_code_place_entry *entry, const char *path)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_CODE_PLACE);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, (int64_t)entry->code_hash);
		sqlite3_bind_int64(stmt, 2, entry->piece);
		sqlite3_bind_int64(stmt, 3, entry->pieces);
		bind_text(stmt, 4, path);
		sqlite3_bind_int64(stmt, 5, (int64_t)entry->offset);
		sqlite3_bind_int64(stmt, 6, (int64_t)entry->length);
		sqlite3_bind_int64(stmt, 7, (int64_t)entry->hash);
	}
	return kc__run(s, stmt);
}

#define TEXTS_BYTES (INT64_C(16) << 20) /* in one database */

int kc__add_kernel_text(struct kc_store *s, int64_t kernel, const struct kc_kernel_text_entry *entry,
			const void *packed)
{
	sqlite3_stmt *stmt;
	int rc = 0;

	if (!s->text_bytes) {
		rc = kc__ask_number(s, &s->text_bytes, "SELECT coalesce(sum(length(text)), 0) FROM kernel_text");
		s->text_bytes++;
	}
	if (rc || s->text_bytes > TEXTS_BYTES)
		return rc;
	stmt = kc__statement(s, KC__ADD_KERNEL_TEXT);
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, kernel);
		sqlite3_bind_int64(stmt, 2, entry->architecture);
		sqlite3_bind_int64(stmt, 3, entry->bytes);
		sqlite3_bind_blob(stmt, 4, packed, (int)entry->packed_bytes, SQLITE_TRANSIENT);
	}
	s->text_bytes += entry->packed_bytes;
	return kc__run(s, stmt);
}

static int add_kernel_text(struct kc_store *s, const struct kc_kernel_text_entry *entry, size_t bytes)
{
	int64_t kernel = kc__kernel_row(s, entry->kernel);

	if (kernel <= 0 || entry->packed_bytes > bytes - sizeof(*entry))
		return kernel < 0 ? (int)kernel : 0;
	return kc__add_kernel_text(s, kernel, entry, entry + 1);
}

static void bind_scaled(sqlite3_stmt *stmt, int i, double value, double scale)
{
	if (isfinite(value) && value * scale < (double)INT64_MAX / 2)
		sqlite3_bind_int64(stmt, i, llround(value * scale));
	else
		sqlite3_bind_null(stmt, i);
}

static int add_lambda(struct kc_store *s, const struct kc_lambda_entry *entry)
{
	/* Its key is a launch shape, or a part of one. */
	struct kc_launch keyed = {.kernel = entry->kernel,
				  .device = (uint8_t)entry->device,
				  .dynamic_shared_bytes = entry->dynamic_shared_bytes};
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_LAMBDA);
	int64_t shape;

	memcpy(keyed.block, entry->block, sizeof(keyed.block));
	memcpy(keyed.grid, entry->grid, sizeof(keyed.grid));
	shape = kc__shape_row(s, &keyed);
	if (shape < 0)
		return (int)shape;
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process << KC_SEQUENCE_BITS | entry->state);
		sqlite3_bind_int64(stmt, 2, entry->level);
		sqlite3_bind_int64(stmt, 3, shape);
		bind_scaled(stmt, 4, exp(entry->log_value), KC_LAMBDA_SCALE);
		bind_scaled(stmt, 5, sqrt(entry->variance), KC_DEVIATION_SCALE);
		sqlite3_bind_int64(stmt, 6, entry->count);
		if (entry->time_ns)
			sqlite3_bind_int64(stmt, 7, kc_minus_ns(entry->time_ns, s->base_ns));
		else
			sqlite3_bind_null(stmt, 7);
	}
	return kc__run(s, stmt);
}

static int add_message(struct kc_store *s, uint64_t index, const struct kc_message_entry *entry, const char *text)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_MESSAGE);

	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process << KC_SEQUENCE_BITS | (int64_t)(index & KC_SEQUENCE_MASK));
		sqlite3_bind_int64(stmt, 2, s->process);
		kc__bind_known(stmt, 3, entry->time_ns);
		sqlite3_bind_int64(stmt, 4, entry->severity);
		bind_text(stmt, 5, kc_message_name(entry->code));
		bind_text(stmt, 6, text[0] ? text : kc_message_text(entry->code));
		sqlite3_bind_int64(stmt, 7, (int64_t)entry->count);
	}
	return kc__run(s, stmt);
}

int kc__torn(struct kc_store *s, uint64_t index)
{
	struct kc_message_entry entry = {
	    .severity = kc_message_severity(KC_MESSAGE_TORN), .code = KC_MESSAGE_TORN, .count = 1};

	return add_message(s, index, &entry, "");
}

static int add_gpu_state(struct kc_store *s, uint64_t index, const struct kc_gpu_state_entry *entry)
{
	sqlite3_stmt *stmt = kc__statement(s, KC__ADD_GPU_STATE);
	int64_t device = kc__device_row(s, entry->device);

	if (device <= 0)
		return (int)device;
	if (stmt) {
		sqlite3_bind_int64(stmt, 1, s->process << KC_SEQUENCE_BITS | (int64_t)(index & KC_SEQUENCE_MASK));
		sqlite3_bind_int64(stmt, 2, device);
		sqlite3_bind_int64(stmt, 3, kc_minus_ns(entry->time_ns, s->base_ns));
		kc__bind_known(stmt, 4, entry->sm_mhz);
		kc__bind_known(stmt, 5, entry->memory_mhz);
		kc__bind_known(stmt, 6, entry->power_mw);
		sqlite3_bind_int64(stmt, 7, (int64_t)entry->slowed);
		sqlite3_bind_int64(stmt, 8, entry->others);
	}
	return kc__run(s, stmt);
}

/* 0: not the kind of an entry. */
static const size_t least_bytes[] = {
    [KC_KIND_DEVICE] = sizeof(struct kc_device_entry),
    [KC_KIND_STREAM] = sizeof(struct kc_stream_entry),
    [KC_KIND_KERNEL] = sizeof(struct kc_kernel_entry),
    [KC_KIND_CALL_SITE] = sizeof(struct kc_call_site_entry),
    [KC_KIND_ARGUMENTS] = sizeof(struct kc_arguments_entry),
    [KC_KIND_CODE] = sizeof(struct kc_code_entry),
    [KC_KIND_CODE_PLACE] = sizeof(struct kc_code_place_entry),
    [KC_KIND_KERNEL_TEXT] = sizeof(struct kc_kernel_text_entry),
    [KC_KIND_EVENT] = sizeof(struct kc_event_entry),
    [KC_KIND_PAST] = sizeof(struct kc_past_entry),
    [KC_KIND_WORK] = offsetof(struct kc_work_entry, numbers),
    [KC_KIND_STREAM_CALL] = sizeof(struct kc_stream_call),
    [KC_KIND_LAMBDA] = sizeof(struct kc_lambda_entry),
    [KC_KIND_MESSAGE] = sizeof(struct kc_message_entry),
    [KC_KIND_GPU_STATE] = sizeof(struct kc_gpu_state_entry),
    [KC_KIND_OPERATOR] = sizeof(struct kc_operator_entry),
    [KC_KIND_LAUNCHED_BY] = sizeof(struct kc_launched_by_entry),
    [KC_KIND_STEP] = sizeof(struct kc_step_entry),
    [KC_KIND_SCOPE] = sizeof(struct kc_scope_entry),
    [KC_KIND_LAUNCHED_IN] = sizeof(struct kc_launched_in_entry),
};

int kc__entry(struct kc_store *s, const struct kc_slot *slot)
{
	size_t bytes, offset = sizeof(struct kc_message_entry);
	const void *payload;
	int rc;

	if (slot->kind >= sizeof(least_bytes) / sizeof(*least_bytes) || !least_bytes[slot->kind])
		return kc__torn(s, slot->index);
	rc = kc_assemble(&s->assembler, slot, &payload, &bytes);
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	if (rc < 0 || bytes < least_bytes[slot->kind])
		return kc__torn(s, slot->index);
	switch (slot->kind) {
	case KC_KIND_DEVICE:
		return add_device(s, payload, payload, bytes);
	case KC_KIND_STREAM:
		return add_stream(s, payload);
	case KC_KIND_KERNEL:
		return add_kernel(s, payload, payload, bytes);
	case KC_KIND_CALL_SITE:
		return add_call_site(s, payload, payload, bytes);
	case KC_KIND_ARGUMENTS:
		return add_arguments(s, payload, payload, bytes);
	case KC_KIND_CODE:
		offset = sizeof(struct kc_code_entry);
		return set_code(s, payload, kc__text_at(payload, bytes, &offset));
	case KC_KIND_CODE_PLACE:
		offset = sizeof(struct kc_code_place_entry);
		return add_code_place(s, payload, kc__text_at(payload, bytes, &offset));
	case KC_KIND_KERNEL_TEXT:
		return add_kernel_text(s, payload, bytes);
	case KC_KIND_EVENT:
	case KC_KIND_PAST:
	case KC_KIND_WORK:
	case KC_KIND_STREAM_CALL:
		return kc__order_entry(s, slot, payload, bytes);
	case KC_KIND_LAMBDA:
		return add_lambda(s, payload);
	case KC_KIND_GPU_STATE:
		return add_gpu_state(s, slot->index, payload);
	case KC_KIND_OPERATOR:
	case KC_KIND_LAUNCHED_BY:
	case KC_KIND_STEP:
	case KC_KIND_SCOPE:
	case KC_KIND_LAUNCHED_IN:
		return kc__trace_entry(s, slot->kind, payload, bytes);
	default:
		return add_message(s, slot->index, payload, kc__text_at(payload, bytes, &offset));
	}
}
