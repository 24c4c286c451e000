/*
 * The PyTorch profiler's trace (Kineto): Chrome's trace event format, of which
 * the events of a device (cat kernel, gpu_memcpy, gpu_memset; formerly Kernel,
 * Memcpy, Memset) are operations, and those of the CUDA API (cuda_runtime,
 * cuda_driver; formerly Runtime) give the launch times, by correlation id.
 * Times are microseconds with decimals. deviceProperties and distributedInfo
 * describe the devices and the process.
 */
#include "tools/command.h"
#include "tools/input/decimal.h"
#include "import_about.h"
#include "import_file.h"
#include "import_foreign.h"
#include "import_maker.h"
#include "import_pids.h"
#include "tools/input/files/json_stream.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000u
#define NAME_MAX_BYTES 32768u /* of a kernel; the importer keeps fewer */
#define NUMBER_MAX 64u
#define DEPTH_MAX 1000u
#define ABSENT SIZE_MAX

enum section { NONE, EVENTS, DEVICES, DISTRIBUTED };
enum category { OTHER, OPERATION, CALL, OPERATOR, RANGE };
enum field { NO_FIELD, PHASE, CATEGORY, EVENT_NAME, PID, THREAD, START, DURATION, ARGS };

struct event {
	uint64_t line;
	int complete; /* ph X: has a duration */
	int is_odd;   /* a string of it has KC_JSON_ODD */
	enum category category;
	char pid[NUMBER_MAX], thread[NUMBER_MAX], rank[NUMBER_MAX]; /* rank: where a tool has merged several */
	char start[NUMBER_MAX], duration[NUMBER_MAX];
	char name[NAME_MAX_BYTES];
	char why[128]; /* about a malformed argument */
	struct kc_trace_row row;
	struct kc_operator_inputs inputs;
};

struct reading {
	struct kc_import *file;
	struct kc_json_stream *stream;
	struct kc_stage *stage;
	struct kc_import_pids *pids;
	unsigned depth, event_depth; /* depth of maps and arrays, in all and inside an event */
	enum section section;
	int saw_events;
	uint64_t calls;                   /* of the CUDA API, that may have launched something */
	const struct kc_foreign *foreign; /* the tool that wrote this, as far as can be told; NULL: none of them */
	enum field field;
	size_t argument[3]; /* where the elements of an array go in the row */
	unsigned element;
	int is_event_rank;
	struct kc_import_about about;
	struct kc_import_maker maker;
	int rc; /* why reading stopped */
	struct event event;
};

#define ODD_TEXT "a control character or backslash that JSON does not allow there; it is read as a blank"

/* Keys */

#define AT(name) offsetof(struct kc_trace_row, name)

static const struct {
	const char *key;
	size_t at[3];
} arguments[] = {
    {"device", {AT(device), ABSENT, ABSENT}},
    {"context", {AT(context), ABSENT, ABSENT}},
    {"stream", {AT(stream), ABSENT, ABSENT}},
    {"correlation", {AT(correlation), ABSENT, ABSENT}},
    {"grid", {AT(grid_x), AT(grid_y), AT(grid_z)}},
    {"block", {AT(block_x), AT(block_y), AT(block_z)}},
    {"registers per thread", {AT(registers), ABSENT, ABSENT}},
    {"shared memory", {AT(dynamic_shared_bytes), ABSENT, ABSENT}}, /* static and dynamic together */
    {"bytes", {AT(bytes), ABSENT, ABSENT}},
    {"priority", {AT(priority), ABSENT, ABSENT}},
    {"graph node id", {AT(graph_node), ABSENT, ABSENT}},
};

static const struct {
	const char *key;
	enum field field;
} fields[] = {{"ph", PHASE},   {"cat", CATEGORY}, {"name", EVENT_NAME}, {"pid", PID},
	      {"tid", THREAD}, {"ts", START},     {"dur", DURATION},    {"args", ARGS}};

static const struct {
	const char *name;
	enum category category;
	enum kc_trace_kind kind;
} categories[] = {
    {"kernel", OPERATION, KC_TRACE_KERNEL},     {"Kernel", OPERATION, KC_TRACE_KERNEL},
    {"gpu_memcpy", OPERATION, KC_TRACE_COPY},   {"Memcpy", OPERATION, KC_TRACE_COPY},
    {"gpu_memset", OPERATION, KC_TRACE_MEMSET}, {"Memset", OPERATION, KC_TRACE_MEMSET},
    {"Runtime", CALL, KC_TRACE_KERNEL},         {"cpu_op", OPERATOR, KC_TRACE_KERNEL},
    {"Operator", OPERATOR, KC_TRACE_KERNEL},    {"user_annotation", RANGE, KC_TRACE_KERNEL},
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static int same(const char *name, const unsigned char *at, size_t bytes)
{
	return strlen(name) == bytes && !memcmp(name, at, bytes);
}

/* What nsys writes has one event in each line, by its kind: {"CudaEvent": {...}}. */
static void root_key(struct reading *r, const unsigned char *at, size_t bytes)
{
	static const char kind[] = "Event";
	size_t length = strlen(kind);

	if (bytes > length && same(kind, at + bytes - length, length))
		r->foreign = &kc_foreign_nsys_json;
	r->section = same("traceEvents", at, bytes)        ? EVENTS
		     : same("deviceProperties", at, bytes) ? DEVICES
		     : same("distributedInfo", at, bytes)  ? DISTRIBUTED
							   : NONE;
	r->saw_events |= r->section == EVENTS;
}

static void event_key(struct reading *r, const unsigned char *at, size_t bytes)
{
	r->field = NO_FIELD;
	if (same("Start (ns)", at, bytes)) /* nsys stats --format json */
		r->foreign = &kc_foreign_nsys_json;
	for (size_t i = 0; i < COUNT(fields) && !r->field; i++) {
		if (same(fields[i].key, at, bytes))
			r->field = fields[i].field;
	}
}

static void forget_argument(struct reading *r)
{
	for (unsigned i = 0; i < 3; i++)
		r->argument[i] = ABSENT;
	r->is_event_rank = 0;
}

static void argument_key(struct reading *r, const unsigned char *at, size_t bytes)
{
	forget_argument(r);
	r->is_event_rank = same("rank", at, bytes);
	r->element = 0;
	for (size_t i = 0; i < COUNT(arguments); i++) {
		if (same(arguments[i].key, at, bytes))
			memcpy(r->argument, arguments[i].at, sizeof(r->argument));
	}
	kc_operator_inputs_key(&r->event.inputs, (const char *)at, bytes);
}

static void look_at_text(struct reading *r, const unsigned char *at, size_t bytes)
{
	if (!memchr(at, KC_JSON_ODD, bytes))
		return;
	if (r->section == EVENTS && r->depth >= r->event_depth)
		r->event.is_odd = 1;
	else
		kc_import_odd(r->file, kc_json_stream_line(r->stream), "a text has " ODD_TEXT);
}

static int on_key(void *ctx, const unsigned char *at, size_t bytes)
{
	struct reading *r = ctx;

	r->stream->quiet_bytes = 0;
	look_at_text(r, at, bytes);
	if (r->depth == 1 && r->event_depth == 3)
		root_key(r, at, bytes);
	else if (r->section == EVENTS && r->depth == r->event_depth)
		event_key(r, at, bytes);
	else if (r->section == EVENTS && r->depth == r->event_depth + 1 && r->field == ARGS)
		argument_key(r, at, bytes);
	else if (r->section == DEVICES && r->depth == 3)
		kc_import_about_device_key(&r->about, (const char *)at, bytes);
	else if (r->section == DISTRIBUTED && r->depth == 2)
		kc_import_about_process_key(&r->about, (const char *)at, bytes);
	return 1;
}

/* Values */

static void copy_text(char *out, size_t size, const char *at, size_t bytes)
{
	if (bytes >= size)
		bytes = size - 1;
	for (size_t i = 0; i < bytes; i++)
		out[i] = at[i] == KC_JSON_ODD ? ' ' : at[i];
	out[bytes] = '\0';
}

static void take_category(struct reading *r, const char *at, size_t bytes)
{
	struct event *e = &r->event;

	if (same("Node", (const unsigned char *)at, bytes) || same("Session", (const unsigned char *)at, bytes))
		r->foreign = &kc_foreign_onnx;
	e->category = kc_import_maker_is_call(at, bytes) ? CALL : OTHER;
	if (e->category == CALL)
		kc_import_maker_call(&r->maker, at, bytes);
	for (size_t i = 0; i < COUNT(categories); i++) {
		if (same(categories[i].name, (const unsigned char *)at, bytes)) {
			e->category = categories[i].category;
			e->row.what = categories[i].kind;
		}
	}
}

static void take_field(struct reading *r, const char *at, size_t bytes)
{
	struct event *e = &r->event;

	switch (r->field) {
	case PHASE:
		r->saw_events = 1;
		e->complete = bytes == 1 && *at == 'X';
		break;
	case CATEGORY:
		take_category(r, at, bytes);
		break;
	case EVENT_NAME:
		copy_text(e->name, sizeof(e->name), at, bytes);
		break;
	case PID:
		copy_text(e->pid, sizeof(e->pid), at, bytes);
		break;
	case THREAD:
		copy_text(e->thread, sizeof(e->thread), at, bytes);
		break;
	case START:
		copy_text(e->start, sizeof(e->start), at, bytes);
		break;
	case DURATION:
		copy_text(e->duration, sizeof(e->duration), at, bytes);
		break;
	case NO_FIELD:
	case ARGS:
		break;
	}
}

/* How deep inside the value of an argument; 0: in none. */
static unsigned level_in_argument(const struct reading *r)
{
	if (r->section != EVENTS || r->field != ARGS || r->depth <= r->event_depth + 1)
		return 0;
	return r->depth - r->event_depth - 1;
}

/* Negative numbers mean that there is none. */
static void take_argument(struct reading *r, const char *at, size_t bytes)
{
	struct event *e = &r->event;
	char text[NUMBER_MAX];
	int64_t value;

	if (r->is_event_rank)
		copy_text(e->rank, sizeof(e->rank), at, bytes);
	if (r->element >= 3 || r->argument[r->element] == ABSENT)
		return;
	copy_text(text, sizeof(text), at, bytes);
	if (kc_decimal_times(text, 1, &value))
		snprintf(e->why, sizeof(e->why), "an argument is \"%.40s\", not a number", text);
	else if (value >= 0 || r->argument[r->element] == AT(priority))
		*(int64_t *)((char *)&e->row + r->argument[r->element]) = value;
	r->element++;
}

static int on_scalar(struct reading *r, const char *at, size_t bytes)
{
	r->stream->quiet_bytes = 0;
	kc_operator_inputs_value(&r->event.inputs, level_in_argument(r), at, bytes);
	if (r->section == EVENTS && r->depth == r->event_depth)
		take_field(r, at, bytes);
	else if (r->section == EVENTS && r->field == ARGS && r->depth > r->event_depth &&
		 r->depth <= r->event_depth + 2)
		take_argument(r, at, bytes);
	else if (r->section == DEVICES && r->depth == 3)
		kc_import_about_device(&r->about, at, bytes);
	else if (r->section == DISTRIBUTED && r->depth == 2)
		kc_import_about_process(&r->about, at, bytes);
	return 1;
}

static int on_number(void *ctx, const char *at, size_t bytes)
{
	return on_scalar(ctx, at, bytes);
}

static int on_string(void *ctx, const unsigned char *at, size_t bytes)
{
	struct reading *r = ctx;

	look_at_text(r, at, bytes);
	if (r->field == ARGS && kc_foreign_is_xla(at, bytes))
		r->foreign = &kc_foreign_xla;
	return on_scalar(ctx, (const char *)at, bytes);
}

static int on_boolean(void *ctx, int value)
{
	struct reading *r = ctx;

	(void)value;
	r->stream->quiet_bytes = 0;
	kc_operator_inputs_value(&r->event.inputs, level_in_argument(r), "", 0);
	return 1;
}

static int on_null(void *ctx)
{
	return on_boolean(ctx, 0);
}

/* Events */

static void begin_event(struct reading *r)
{
	struct event *e = &r->event;

	e->line = kc_json_stream_line(r->stream);
	e->complete = e->is_odd = 0;
	e->category = OTHER;
	e->pid[0] = e->thread[0] = e->rank[0] = e->start[0] = e->duration[0] = e->name[0] = e->why[0] = '\0';
	e->row = kc_trace_row_unknown;
	e->row.name = e->name;
	kc_operator_inputs_begin(&e->inputs);
	r->field = NO_FIELD;
}

static int time_of(const char *text, const char *what, char *why, size_t why_size, int64_t *ns)
{
	int rc = kc_decimal_times(text, NS_PER_US, ns);

	if (rc)
		snprintf(why, why_size, *text ? "%s is \"%.40s\", not a number" : "%s is missing", what, text);
	return rc;
}

static int check_operation(struct event *e)
{
	if (*e->why || time_of(e->start, "ts", e->why, sizeof(e->why), &e->row.start_ns) ||
	    time_of(e->duration, "dur", e->why, sizeof(e->why), &e->row.duration_ns))
		return -EINVAL;
	return kc_trace_row_check(&e->row, e->why, sizeof(e->why));
}

/* Kernels outside of graphs may carry node 0. */
static void settle_graph_node(struct kc_trace_row *row)
{
	if (row->graph_node == 0)
		row->graph_node = KC_TRACE_UNKNOWN;
	else if (row->graph_node != KC_TRACE_UNKNOWN)
		row->graph_node &= UINT32_MAX; /* the node; the graph's number is above it */
}

static int end_call(struct reading *r, struct event *e)
{
	const char *process;
	int64_t launch_ns;

	if (e->row.correlation == KC_TRACE_UNKNOWN || e->row.correlation == 0 ||
	    kc_decimal_times(e->start, NS_PER_US, &launch_ns))
		return 0; /* the call launched nothing */
	r->calls++;
	kc_import_maker_call(&r->maker, e->name, strlen(e->name));
	process = kc_import_pids_call(r->pids, e->pid, e->rank);
	return process ? kc_stage_call(r->stage, process, e->thread, e->row.correlation, launch_ns) : -ENOMEM;
}

/* "ProfilerStep#7" is step 7 of torch.profiler's schedule. 0; -EINVAL: it is none. */
static int step_number(const char *name, int64_t *number)
{
	static const char prefix[] = "ProfilerStep#";
	size_t length = strlen(prefix);

	if (strncmp(name, prefix, length) != 0 || !isdigit((unsigned char)name[length]))
		return -EINVAL;
	return kc_decimal_times(name + length, 1, number);
}

/* Without a time or a thread it tells nothing. */
static int end_span(struct reading *r, struct event *e)
{
	char process[KC_IMPORT_PID_BYTES];
	struct kc_stage_span span = {.process = process, .thread = e->thread};
	int64_t duration_ns, number;

	if (!*e->thread || kc_decimal_times(e->start, NS_PER_US, &span.start_ns) ||
	    kc_decimal_times(e->duration, NS_PER_US, &duration_ns) ||
	    __builtin_add_overflow(span.start_ns, duration_ns, &span.end_ns))
		return 0;
	kc_import_pids_name(r->pids, e->pid, e->rank, process, sizeof(process));
	if (step_number(e->name, &number) == 0)
		return kc_stage_step(r->stage, &span, number);
	return kc_stage_span(r->stage, &span, e->category == RANGE ? KC_SCOPE_RANGE : KC_SCOPE_OPERATOR, e->name,
			     &e->inputs);
}

static int end_event(struct reading *r)
{
	struct event *e = &r->event;
	const char *process;

	if (e->is_odd)
		kc_import_odd(r->file, e->line, "the event \"%.100s\" has " ODD_TEXT, e->name);
	if (!e->complete || e->category == OTHER)
		return 0;
	settle_graph_node(&e->row);
	if (e->category == CALL)
		return end_call(r, e);
	if (e->category == OPERATOR || e->category == RANGE)
		return end_span(r, e);
	if (check_operation(e)) {
		kc_import_malformed(r->file, e->line, "%s", e->why);
		return 0;
	}
	kc_import_maker_used(&r->maker, e->row.device == KC_TRACE_UNKNOWN ? 0 : e->row.device);
	process = kc_import_pids_operation(r->pids, e->pid, e->rank, e->row.device);
	e->row.process = process;
	return process ? kc_stage_add(r->stage, &e->row) : -ENOMEM;
}

static int open_bracket(struct reading *r)
{
	r->stream->quiet_bytes = 0;
	if (++r->depth <= DEPTH_MAX) {
		kc_operator_inputs_open(&r->event.inputs, level_in_argument(r));
		return 1;
	}
	snprintf(r->stream->why, sizeof(r->stream->why), "nested deeper than %u", DEPTH_MAX);
	r->rc = -EPROTO;
	return 0;
}

static int on_map(void *ctx)
{
	struct reading *r = ctx;

	if (r->depth == 0)
		r->event_depth = 3; /* {"traceEvents": [{ */
	if (!open_bracket(r))
		return 0;
	if (r->section == EVENTS && r->depth == r->event_depth)
		begin_event(r);
	if (r->section == EVENTS && r->depth == r->event_depth + 1)
		forget_argument(r);
	if (r->section == DEVICES && r->depth == 3)
		kc_import_about_begin_device(&r->about);
	return 1;
}

static int on_map_end(void *ctx)
{
	struct reading *r = ctx;
	int rc = 0;

	r->stream->quiet_bytes = 0;
	if (r->section == EVENTS && r->depth == r->event_depth)
		rc = end_event(r);
	if (r->section == DEVICES && r->depth == 3 && r->about.device_id >= 0) {
		kc_import_maker_device(&r->maker, r->about.device_id, &r->about.device.device);
		kc_importer_device(r->file->importer, r->about.device_id, &r->about.device);
	}
	r->depth--;
	if (rc)
		r->rc = kc_import_stage_failed(r->file, rc);
	return rc == 0;
}

static int on_array(void *ctx)
{
	struct reading *r = ctx;

	if (r->depth == 0) { /* the events alone: [{ */
		r->event_depth = 2;
		r->section = EVENTS;
	}
	if (!open_bracket(r))
		return 0;
	if (r->section == EVENTS && r->depth == r->event_depth + 1)
		forget_argument(r);
	return 1;
}

static int on_array_end(void *ctx)
{
	struct reading *r = ctx;

	r->stream->quiet_bytes = 0;
	r->depth--;
	return 1;
}

static const yajl_callbacks callbacks = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_map,
    .yajl_map_key = on_key,
    .yajl_end_map = on_map_end,
    .yajl_start_array = on_array,
    .yajl_end_array = on_array_end,
};

/* The file */

/* The array of events alone may end without its bracket: "Trace Event Format", "JSON Array Format". */
static int may_end_here(const struct reading *r)
{
	return r->stream->at_end && r->event_depth == 2 && r->depth == 1;
}

static int say_unread(const struct reading *r, int rc)
{
	int is_text = rc == -EPROTO && !r->stream->at_end && r->saw_events;

	kc_error("%s:%" PRIu64 ": cannot be read further (byte %" PRIu64 "): %s%s%s", r->file->path,
		 kc_json_stream_line(r->stream), kc_json_stream_offset(r->stream),
		 *r->stream->why ? r->stream->why : strerror(-rc),
		 kc_stage_count(r->stage) ? "; the events before it are imported" : "",
		 is_text ? "; if a text in this line has quotation marks that are not escaped, mend it, or record"
			   " without with_stack"
			 : "");
	return rc;
}

static int read_all(struct reading *r)
{
	int rc = kc_json_stream_read(r->stream, &r->file->progress);

	if (rc == -ECANCELED && r->rc != -EPROTO)
		return r->rc; /* reported where it happened */
	if (r->foreign && (r->foreign == &kc_foreign_onnx || !kc_stage_count(r->stage)))
		return kc_foreign_refuse(r->file->path, r->foreign);
	if (rc && !may_end_here(r))
		return say_unread(r, rc);
	return kc_stage_count(r->stage) || r->file->malformed
		   ? 0
		   : kc_foreign_say_nothing(r->file->path, r->saw_events, r->calls);
}

/* Times count from the first operation. */
static int store_all(struct reading *r)
{
	int64_t zero_ns;
	int rc = kc_stage_earliest(r->stage, &zero_ns);

	if (kc_stage_count(r->stage) && kc_import_maker_tell(&r->maker, r->file->importer, r->file->path))
		r->file->order.is_off = r->maker.is_unordered;
	if (rc == 0)
		rc = kc_import_pids_settle(r->pids, r->stage, r->file->importer, r->about.rank, r->about.world_size);
	return rc ? kc_import_stage_failed(r->file, rc) : kc_import_staged(r->file, r->stage, zero_ns, 1);
}

int kc_import_json(struct kc_import *file)
{
	struct reading *r = calloc(1, sizeof(*r));
	int rc, stored;

	if (!r)
		return -ENOMEM;
	r->file = file;
	r->event_depth = 3;
	r->pids = kc_import_pids_new();
	rc = r->pids ? kc_stage_new(&r->stage) : -ENOMEM;
	if (rc)
		kc_import_stage_failed(file, rc);
	if (rc == 0) {
		rc = kc_json_stream_open(&r->stream, file->path, &callbacks, r);
		if (rc)
			kc_error("%s: %s", file->path, strerror(-rc));
	}
	if (rc == 0) {
		rc = read_all(r);
		stored = rc == -EINVAL || file->no_room ? 0 : store_all(r);
		rc = rc ? rc : stored;
	}
	kc_json_stream_close(r->stream);
	kc_stage_free(r->stage);
	kc_import_pids_free(r->pids);
	free(r);
	return rc;
}
