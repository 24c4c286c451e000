/*
 * The tables that NVIDIA's profilers print, one row an operation:
 *
 *   nvprof --print-gpu-trace --csv        "Start","Duration","Grid X",… and a row of units below;
 *                                         a "==PID==" before what nvprof itself says; memory in 1,024s
 *   nsys stats --report cuda_gpu_trace    Start (ns),Duration (ns),CorrId,GrdX,… with the units in the
 *                                         header; memory in 1,000s
 *
 * A file may hold several, one after the other: each header begins a table,
 * which is a process. Columns before Start, as a script that ran several
 * profiles adds them, name the process.
 */
#include "tools/command.h"
#include "tools/input/decimal.h"
#include "import_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LABEL_MAX KC_IMPORT_COMMAND_MAX
#define NAME_MAX_BYTES 32768u /* of a kernel; the importer keeps fewer */

static const char profiling[] = "NVPROF is profiling process"; /* the first line that nvprof prints */

enum column {
	START,
	DURATION,
	GRID_X,
	GRID_Y,
	GRID_Z,
	BLOCK_X,
	BLOCK_Y,
	BLOCK_Z,
	REGISTERS,
	STATIC_SHARED,
	DYNAMIC_SHARED,
	BYTES,
	DEVICE,
	STREAM,
	NAME,
	CORRELATION,
	CONTEXT,
	COLUMNS,
};

enum quantity { PLAIN, TIME, MEMORY, TEXT };

static const struct {
	const char *nvprof, *nsys;
	enum quantity quantity;
} columns[COLUMNS] = {
    [START] = {"Start", "Start", TIME},
    [DURATION] = {"Duration", "Duration", TIME},
    [GRID_X] = {"Grid X", "GrdX", PLAIN},
    [GRID_Y] = {"Grid Y", "GrdY", PLAIN},
    [GRID_Z] = {"Grid Z", "GrdZ", PLAIN},
    [BLOCK_X] = {"Block X", "BlkX", PLAIN},
    [BLOCK_Y] = {"Block Y", "BlkY", PLAIN},
    [BLOCK_Z] = {"Block Z", "BlkZ", PLAIN},
    [REGISTERS] = {"Registers Per Thread", "Reg/Trd", PLAIN},
    [STATIC_SHARED] = {"Static SMem", "StcSMem", MEMORY},
    [DYNAMIC_SHARED] = {"Dynamic SMem", "DymSMem", MEMORY},
    [BYTES] = {"Size", "Bytes", MEMORY},
    [DEVICE] = {"Device", "Device", TEXT},
    [STREAM] = {"Stream", "Strm", PLAIN},
    [NAME] = {"Name", "Name", TEXT},
    [CORRELATION] = {"Correlation_ID", "CorrId", PLAIN},
    [CONTEXT] = {"Context", "Ctx", PLAIN},
};

struct unit {
	const char *name;
	enum quantity quantity;
	uint64_t nvprof, nsys; /* in ns, or in bytes */
};

static const struct unit units[] = {
    {"ns", TIME, 1, 1},
    {"us", TIME, 1000, 1000},
    {"μs", TIME, 1000, 1000}, /* Greek mu */
    {"µs", TIME, 1000, 1000}, /* micro sign */
    {"ms", TIME, 1000000, 1000000},
    {"s", TIME, 1000000000, 1000000000},
    {"sec", TIME, 1000000000, 1000000000},
    {"msec", TIME, 1000000, 1000000},
    {"usec", TIME, 1000, 1000},
    {"nsec", TIME, 1, 1},
    {"B", MEMORY, 1, 1},
    {"byte", MEMORY, 1, 1},
    {"bytes", MEMORY, 1, 1},
    {"KB", MEMORY, UINT64_C(1) << 10, 1000},
    {"MB", MEMORY, UINT64_C(1) << 20, 1000000},
    {"GB", MEMORY, UINT64_C(1) << 30, 1000000000},
    {"KiB", MEMORY, UINT64_C(1) << 10, UINT64_C(1) << 10},
    {"MiB", MEMORY, UINT64_C(1) << 20, UINT64_C(1) << 20},
    {"GiB", MEMORY, UINT64_C(1) << 30, UINT64_C(1) << 30},
};

enum state {
	OUTSIDE,        /* after a table, before the next one */
	AWAITING_UNITS, /* units from nvprof's second row */
	INSIDE,
	LEFT_OUT, /* a unit is unknown, and so are all values */
};

struct reading {
	struct kc_import *file;
	struct kc_csv_reader *csv;
	struct kc_stage *stage;
	enum state state;
	int nsys;
	unsigned fields, tables;
	int at[COLUMNS]; /* of the field, -1: none */
	uint64_t scale[COLUMNS];
	struct kc__import_profiled profiled; /* by nvprof's own lines */
	char process[2 * LABEL_MAX];
	int unread; /* tables */
};

/* Headers */

static int names(const char *field, const char *name, int nsys)
{
	size_t length = strlen(name);
	const char *rest = field + length;

	if (strncmp(field, name, length))
		return 0;
	return !*rest || (nsys && rest[*rest == ' '] == '(');
}

static int find_columns(const struct kc_csv_record *record, int nsys, int at[COLUMNS])
{
	for (unsigned c = 0; c < COLUMNS; c++) {
		const char *name = nsys ? columns[c].nsys : columns[c].nvprof;

		at[c] = -1;
		for (unsigned i = 0; i < record->count && at[c] < 0; i++) {
			if (names(record->fields[i], name, nsys))
				at[c] = (int)i;
		}
	}
	return at[START] >= 0 && at[DURATION] >= 0 && at[NAME] >= 0 && at[GRID_X] >= 0;
}

int kc__import_is_table_header(const struct kc_csv_record *record)
{
	int at[COLUMNS];

	return find_columns(record, 0, at) || find_columns(record, 1, at);
}

static const struct unit *unit_of(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strlen(units[i].name) == length && !strncmp(units[i].name, name, length))
			return &units[i];
	}
	return NULL;
}

static int set_unit(struct reading *r, unsigned column, const char *name, size_t length, uint64_t line)
{
	const struct unit *unit = unit_of(name, length);
	int is_time = columns[column].quantity == TIME;

	if (unit && unit->quantity == columns[column].quantity) {
		r->scale[column] = r->nsys ? unit->nsys : unit->nvprof;
		return 0;
	}
	if (r->nsys && !is_time && !length) { /* before 2022 */
		r->scale[column] = 1;
		return 0;
	}
	kc_error("%s:%" PRIu64 ": the unit of %s is \"%.*s\", but only %s are known; this table is left out",
		 r->file->path, line, r->nsys ? columns[column].nsys : columns[column].nvprof,
		 (int)(length < 40 ? length : 40), name, is_time ? "s, ms, us and ns" : "B, KB, MB and GB");
	return -EINVAL;
}

/* "Start (ns)" */
static int unit_in_header(struct reading *r, unsigned column, const struct kc_csv_record *header)
{
	const char *field = header->fields[r->at[column]];
	const char *open = strchr(field, '('), *close = open ? strchr(open, ')') : NULL;

	return set_unit(r, column, close ? open + 1 : "", close ? (size_t)(close - open - 1) : 0, header->line);
}

static int set_units(struct reading *r, const struct kc_csv_record *record)
{
	for (unsigned c = 0; c < COLUMNS; c++) {
		int rc;

		if (r->at[c] < 0 || (columns[c].quantity != TIME && columns[c].quantity != MEMORY))
			continue;
		if (r->nsys)
			rc = unit_in_header(r, c, record);
		else
			rc = set_unit(r, c, record->fields[r->at[c]], strlen(record->fields[r->at[c]]), record->line);
		if (rc)
			return rc;
	}
	return 0;
}

static void take_units(struct reading *r, const struct kc_csv_record *record)
{
	if (record->count != r->fields) {
		kc_error("%s:%" PRIu64 ": no row of units follows the column names; this table is left out",
			 r->file->path, record->line);
		r->state = LEFT_OUT;
	} else {
		r->state = set_units(r, record) ? LEFT_OUT : INSIDE;
	}
	r->unread += r->state == LEFT_OUT;
}

/* The process is named by the columns before Start, by its command or the file; from the second table on with a number.
 */
static void name_process(struct reading *r, const struct kc_csv_record *header)
{
	const struct kc_trace_process said = {.name = r->process, .pid = r->profiled.pid, .place = ""};
	char label[LABEL_MAX] = "";
	size_t length = 0;

	for (int i = 0; i < r->at[START] && length < sizeof(label); i++)
		length +=
		    (size_t)snprintf(label + length, sizeof(label) - length, "%s%s", i ? " " : "", header->fields[i]);
	if (!*label)
		snprintf(label, sizeof(label), "%s",
			 *r->profiled.command ? r->profiled.command : kc_import_file_name(r->file->path));
	if (r->tables > 1)
		snprintf(r->process, sizeof(r->process), "%s #%u", label, r->tables);
	else
		snprintf(r->process, sizeof(r->process), "%s", label);
	kc_importer_process(r->file->importer, r->process, &said);
}

static int begin_table(struct reading *r, const struct kc_csv_record *header)
{
	int at[COLUMNS], nsys = !find_columns(header, 0, at);

	if (nsys && !find_columns(header, 1, at))
		return 0;
	memcpy(r->at, at, sizeof(at));
	r->nsys = nsys;
	r->fields = header->count;
	r->tables++;
	name_process(r, header);
	r->state = AWAITING_UNITS;
	if (nsys)
		take_units(r, header);
	return 1;
}

/* Rows */

struct row {
	struct reading *reading;
	const struct kc_csv_record *record;
	char why[160];
	char device_name[128], name[NAME_MAX_BYTES];
	struct kc_trace_row trace;
};

static const char *field(const struct row *row, unsigned column)
{
	int at = row->reading->at[column];

	return at < 0 ? "" : row->record->fields[at];
}

static int number(struct row *row, unsigned column, int64_t *out)
{
	const char *text = field(row, column);
	enum quantity quantity = columns[column].quantity;
	int rc;

	*out = KC_TRACE_UNKNOWN;
	if (!*text)
		return 0;
	rc = kc_decimal_times(text, quantity == PLAIN ? 1 : row->reading->scale[column], out);
	if (rc)
		snprintf(row->why, sizeof(row->why), "%s is \"%.40s\", not a number",
			 row->reading->nsys ? columns[column].nsys : columns[column].nvprof, text);
	return rc;
}

static int take_numbers(struct row *row)
{
	struct kc_trace_row *t = &row->trace;
	const struct {
		enum column column;
		int64_t *out;
	} wanted[] = {
	    {START, &t->start_ns},
	    {DURATION, &t->duration_ns},
	    {GRID_X, &t->grid_x},
	    {GRID_Y, &t->grid_y},
	    {GRID_Z, &t->grid_z},
	    {BLOCK_X, &t->block_x},
	    {BLOCK_Y, &t->block_y},
	    {BLOCK_Z, &t->block_z},
	    {REGISTERS, &t->registers},
	    {STATIC_SHARED, &t->static_shared_bytes},
	    {DYNAMIC_SHARED, &t->dynamic_shared_bytes},
	    {BYTES, &t->bytes},
	    {STREAM, &t->stream},
	    {CORRELATION, &t->correlation},
	    {CONTEXT, &t->context},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		int rc = number(row, wanted[i].column, wanted[i].out);

		if (rc)
			return rc;
	}
	return 0;
}

/* Cuts a number in brackets off the end, as in "Tesla K40c (0)" and "matMul(float*) [103]". */
static int64_t cut_number(char *text, char open, char close)
{
	size_t length = strlen(text);
	char *at = strrchr(text, open), *end;
	int64_t value;

	if (length < 3 || text[length - 1] != close || !at || at == text || at[-1] != ' ')
		return KC_TRACE_UNKNOWN;
	value = strtoll(at + 1, &end, 10);
	if (end == at + 1 || end != text + length - 1 || value < 0)
		return KC_TRACE_UNKNOWN;
	at[-1] = '\0';
	return value;
}

/* "[CUDA memcpy HtoD]", "[CUDA memset]", "[Unified Memory Memcpy HtoD]" */
static int take_kind(struct row *row)
{
	const char *name = row->name;

	if (*name != '[')
		row->trace.what = KC_TRACE_KERNEL;
	else if (strstr(name, "memcpy") || strstr(name, "Memcpy"))
		row->trace.what = KC_TRACE_COPY;
	else if (strstr(name, "memset"))
		row->trace.what = KC_TRACE_MEMSET;
	else {
		snprintf(row->why, sizeof(row->why), "%.80s is not a kernel, a copy or a memset", name);
		return -EINVAL;
	}
	return 0;
}

static int fill_row(struct row *row)
{
	struct reading *r = row->reading;
	int64_t id;
	int rc;

	row->trace = kc_trace_row_unknown;
	if (row->record->count != r->fields) {
		snprintf(row->why, sizeof(row->why), "%u fields, but %u column names", row->record->count, r->fields);
		return -EINVAL;
	}
	rc = take_numbers(row);
	if (rc)
		return rc;
	snprintf(row->device_name, sizeof(row->device_name), "%s", field(row, DEVICE));
	snprintf(row->name, sizeof(row->name), "%s", field(row, NAME));
	row->trace.device = cut_number(row->device_name, '(', ')');
	id = r->nsys ? KC_TRACE_UNKNOWN : cut_number(row->name, '[', ']');
	if (id != KC_TRACE_UNKNOWN)
		row->trace.correlation = id;
	row->trace.process = r->process;
	row->trace.device_name = row->device_name;
	row->trace.name = row->name;
	rc = take_kind(row);
	return rc ? rc : kc_trace_row_check(&row->trace, row->why, sizeof(row->why));
}

static int take_row(struct reading *r, const struct kc_csv_record *record)
{
	struct row row = {.reading = r, .record = record};
	int rc;

	if (fill_row(&row)) {
		kc_import_malformed(r->file, record->line, "%s", row.why);
		return 0;
	}
	rc = kc_stage_add(r->stage, &row.trace);
	return rc ? kc_import_stage_failed(r->file, rc) : 0;
}

/* Lines */

int kc__import_profiler_line(const char *line, struct kc__import_profiled *profiled)
{
	static const char before[] = ", command: ";
	const char *at, *command;

	if (strncmp(line, "==", 2))
		return 0;
	at = strstr(line, profiling);
	command = at ? strstr(at, before) : NULL;
	if (command) {
		profiled->pid = strtoll(at + strlen(profiling), NULL, 10);
		snprintf(profiled->command, sizeof(profiled->command), "%s", command + strlen(before));
		profiled->command[strcspn(profiled->command, "\r\n")] = '\0';
	}
	return 1;
}

static int is_no_row(struct reading *r, const char *line)
{
	static const char next_report[] = "Processing ["; /* nsys stats prints one below the other */

	if (!strncmp(line, next_report, strlen(next_report))) {
		r->state = OUTSIDE;
		return 1;
	}
	if (strstr(line, profiling) && !strncmp(line, "==", 2))
		r->state = OUTSIDE; /* what the next program prints comes before its table */
	return kc__import_profiler_line(line, &r->profiled);
}

static int take_record(struct reading *r, const struct kc_csv_record *record)
{
	if (begin_table(r, record))
		return 0;
	if (r->state == AWAITING_UNITS)
		take_units(r, record);
	else if (r->state == INSIDE)
		return take_row(r, record);
	else if (r->state == LEFT_OUT)
		r->file->malformed++;
	return 0;
}

/* 1: a line was read. 0: the end. < 0 after a message. */
static int read_line(struct reading *r)
{
	struct kc_csv_record record;
	const char *fault;
	char line[KC_IMPORT_COMMAND_MAX];
	int rc;

	kc_progress(&r->file->progress, kc_csv_position(r->csv));
	if (kc_csv_peek(r->csv, line, sizeof(line)) && is_no_row(r, line)) {
		kc_csv_skip_line(r->csv);
		return 1;
	}
	rc = kc_csv_next(r->csv, &record, &fault);
	if (rc == -EINVAL) {
		if (r->state != OUTSIDE)
			kc_import_malformed(r->file, record.line, "%s", fault);
		return 1;
	}
	if (rc < 0)
		return kc__import_csv_unread(r->file, record.line, rc);
	if (rc == 0)
		return 0;
	rc = take_record(r, &record);
	return rc ? rc : 1;
}

int kc__import_table(struct kc_import *file, struct kc_csv_reader *csv, const struct kc__import_profiled *profiled,
		     const struct kc_csv_record *first)
{
	struct reading r = {.file = file, .csv = csv};
	int rc = kc_stage_new(&r.stage), staged;

	if (rc)
		return kc_import_stage_failed(file, rc);
	r.profiled = *profiled;
	begin_table(&r, first);
	do
		rc = read_line(&r);
	while (rc > 0);
	if (rc == 0 && r.state == AWAITING_UNITS) {
		kc_error("%s: the file ends where a row of units is expected", file->path);
		r.unread++;
	}
	staged = file->no_room ? 0 : kc_import_staged(file, r.stage, 0, 0);
	kc_stage_free(r.stage);
	if (rc == 0 && r.unread)
		rc = -EINVAL;
	return rc ? rc : staged;
}
