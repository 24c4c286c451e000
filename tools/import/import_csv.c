#include "tools/command.h"
#include "import_file.h"
#include "import_foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define PREAMBLE_MAX 1000u /* lines before a header: what the program or the profiler printed */

int kc__import_csv_unread(const struct kc_import *file, uint64_t line, int rc)
{
	kc_error("%s:%" PRIu64 ": cannot be read further: %s", file->path, line,
		 rc == -EBADMSG ? "the compressed data is damaged or cut off; copy or compress the file again"
				: strerror(-rc));
	return rc;
}

static int is_trace_header(const struct kc_csv_record *record)
{
	return kc_csv_has(record, "kind") + kc_csv_has(record, "start_ns") + kc_csv_has(record, "duration_ns") >= 2;
}

/* A report that sums over launches has none to import. */
static int is_summary_header(const struct kc_csv_record *record)
{
	return kc_csv_has(record, "Time(%)") || kc_csv_has(record, "Time (%)");
}

static int no_header(const struct kc_import *file, uint64_t lines, int summary)
{
	if (summary)
		kc_error("%s: this is a summary, not a trace; print one row per launch, with nvprof --print-gpu-trace"
			 " --csv or nsys stats --report cuda_gpu_trace --format csv",
			 file->path);
	else if (lines == 0)
		kc_error("%s: the file is empty", file->path);
	else
		kc_error(
		    "%s: this is not a trace, as no row names the columns of a trace CSV (kind, start_ns, duration_ns,"
		    " name), of nvprof --print-gpu-trace --csv, or of nsys stats --report cuda_gpu_trace --format csv",
		    file->path);
	return -EINVAL;
}

/* 1: record is a header. < 0 after a message. profiled: the program, if the file names it. */
static int find_header(const struct kc_import *file, struct kc_csv_reader *csv, struct kc_csv_record *record,
		       struct kc__import_profiled *profiled)
{
	char line[KC_IMPORT_COMMAND_MAX];
	const struct kc_foreign *foreign;
	const char *fault;
	int rc, summary = 0;
	uint64_t lines = 0;

	for (; lines < PREAMBLE_MAX; lines++) {
		if (kc_csv_peek(csv, line, sizeof(line)) && kc__import_profiler_line(line, profiled)) {
			kc_csv_skip_line(csv);
			continue;
		}
		rc = kc_csv_next(csv, record, &fault);
		if (rc == 0)
			break;
		if (rc == -EINVAL)
			continue;
		if (rc < 0)
			return kc__import_csv_unread(file, record->line, rc);
		if (is_trace_header(record) || kc__import_is_table_header(record))
			return 1;
		foreign = kc_foreign_by_columns(record);
		if (foreign)
			return kc_foreign_refuse(file->path, foreign);
		summary |= is_summary_header(record);
	}
	return no_header(file, lines, summary);
}

static int read_rows(struct kc_import *file, struct kc_csv_reader *csv, const struct kc_trace_columns *columns)
{
	struct kc_csv_record record;
	struct kc_trace_row row;
	const char *fault = NULL;
	char why[256];
	int rc;

	while ((rc = kc_csv_next(csv, &record, &fault)) != 0) {
		kc_progress(&file->progress, kc_csv_position(csv));
		if (rc == -EINVAL) {
			kc_import_malformed(file, record.line, "%s", fault);
			continue;
		}
		if (rc < 0)
			return kc__import_csv_unread(file, record.line, rc);
		if (kc_trace_row(&row, columns, &record, why, sizeof(why))) {
			kc_import_malformed(file, record.line, "%s", why);
			continue;
		}
		rc = kc_import_row(file, &row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int kc_import_csv(struct kc_import *file)
{
	struct kc_csv_reader *csv;
	struct kc_csv_record header = {.count = 0};
	struct kc_trace_columns columns;
	struct kc__import_profiled profiled = {.command = "", .pid = KC_TRACE_UNKNOWN};
	char why[256];
	int rc = kc_csv_open(file->path, &csv);

	if (rc < 0) {
		kc_error("%s: %s", file->path, strerror(-rc));
		return rc;
	}
	rc = find_header(file, csv, &header, &profiled);
	if (rc == 1 && !is_trace_header(&header)) {
		rc = kc__import_table(file, csv, &profiled, &header);
	} else if (rc == 1) {
		rc = kc_trace_columns(&columns, &header, why, sizeof(why));
		if (rc)
			kc_error("%s:%" PRIu64 ": %s", file->path, header.line, why);
		else
			rc = read_rows(file, csv, &columns);
	}
	kc_csv_close(csv);
	return rc;
}
