/*
 * One trace file on its way into the database, and who reads it.
 *
 *   kc_import   the file, the importer that takes its rows, and what was wrong
 *
 * Each reader below goes through the whole file, gives the importer the rows
 * that make sense, names what does not, and returns 0 at the end, or -errno
 * after a message where the file cannot be read (further). The format is told
 * by contents (kc_import_format), never by the file's name.
 */
#ifndef KC_IMPORT_FILE_H
#define KC_IMPORT_FILE_H

#include "tools/input/files/csv_read.h"
#include "import_order.h"
#include "import_stage.h"
#include "importer.h"
#include "tools/output/progress.h"

#include <stdint.h>

struct kc_import {
	const char *path;
	struct kc_importer *importer;
	struct kc_progress progress;
	uint64_t malformed; /* lines or events left out */
	uint64_t odd;       /* taken, though something in them is not as it should be */
	int no_room;        /* rows could not be kept: the file is to be imported again, so it does not count as done */
	struct kc_import_order order;
};

enum kc_import_format {
	KC_IMPORT_CSV,    /* a trace CSV, or what nvprof or nsys stats print */
	KC_IMPORT_JSON,   /* PyTorch profiler (Kineto) */
	KC_IMPORT_SQLITE, /* Nsight Systems */
};

/* Recognises the format by the first bytes, compressed or not. 0; -errno after a message. */
int kc_import_format(const char *path, enum kc_import_format *format);

int kc_import_csv(struct kc_import *file);
int kc_import_json(struct kc_import *file);
int kc_import_sqlite(struct kc_import *file);

/* import_table.c, for import_csv.c. Reads the rows after the header `first`, and the tables that follow. */
#define KC_IMPORT_COMMAND_MAX 512u
struct kc__import_profiled { /* the program, if the file names it */
	char command[KC_IMPORT_COMMAND_MAX];
	int64_t pid;
};
int kc__import_table(struct kc_import *file, struct kc_csv_reader *csv, const struct kc__import_profiled *profiled,
		     const struct kc_csv_record *first);
int kc__import_is_table_header(const struct kc_csv_record *record);
/* Says why the rest of a CSV file, from this line on, cannot be read. Returns rc. */
int kc__import_csv_unread(const struct kc_import *file, uint64_t line, int rc);
/* 1: a line about nvprof itself ("==4311== …"), which may name the program. */
int kc__import_profiler_line(const char *line, struct kc__import_profiled *profiled);

/* The path without its folder. */
const char *kc_import_file_name(const char *path);
/* Counts a line (or JSON event) that is left out, and names it if it is among the first hundred of the file. */
void kc_import_malformed(struct kc_import *file, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts a line (or JSON event) that is taken in spite of something, and names it likewise. */
void kc_import_odd(struct kc_import *file, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Hands the rows of import_stage.h to the importer, counted from zero_ns; reports what went wrong.
 * one_clock: kc_importer_one_clock(). */
int kc_import_staged(struct kc_import *file, struct kc_stage *stage, int64_t zero_ns, int one_clock);
/* Hands a row to the importer. 0 or -errno, which has been reported. */
int kc_import_row(struct kc_import *file, const struct kc_trace_row *row);
/* Reports why rows cannot be stored, in the database or in the temporary one, and sets no_room. Returns rc. */
int kc_import_database_failed(struct kc_import *file, int rc);
int kc_import_stage_failed(struct kc_import *file, int rc);

#endif
