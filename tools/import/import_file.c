#include "import_file.h"
#include "import_foreign.h"
#include "tools/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#define SAID_MAX 100u       /* malformed lines named in one file; the others are counted */
#define PROGRESS_ROWS 4096u /* rows between two looks at the clock */
#define SAMPLE_BYTES 512    /* bytes at the start of a file that tell its format */

const char *kc_import_file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* number: how many there were before this one */
static void name_line(struct kc_import *file, uint64_t number, uint64_t line, const char *before, const char *format,
		      va_list args)
{
	char what[512];

	if (number > SAID_MAX)
		return;
	kc_progress_end(&file->progress);
	if (number == SAID_MAX) {
		kc_error("%s: further lines of this kind are counted, not named", file->path);
		return;
	}
	vsnprintf(what, sizeof(what), format, args);
	kc_error("%s:%" PRIu64 ": %s%s", file->path, line, before, what);
}

void kc_import_malformed(struct kc_import *file, uint64_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	name_line(file, file->malformed++, line, "left out: ", format, args);
	va_end(args);
}

void kc_import_odd(struct kc_import *file, uint64_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	name_line(file, file->odd++, line, "", format, args);
	va_end(args);
}

int kc_import_database_failed(struct kc_import *file, int rc)
{
	file->no_room = 1;
	kc_error("%s: the database cannot be written: %s; once it can, import the file again", file->path,
		 strerror(-rc));
	return rc;
}

int kc_import_stage_failed(struct kc_import *file, int rc)
{
	file->no_room = 1;
	if (rc == -ENOSPC || rc == -EIO)
		kc_error("%s: rows cannot be sorted, as the folder for temporary files is full or not writable; set"
			 " TMPDIR to another folder",
			 file->path);
	else
		kc_error("%s: rows cannot be sorted: %s", file->path, strerror(-rc));
	return rc;
}

int kc_import_row(struct kc_import *file, const struct kc_trace_row *row)
{
	int rc = kc_import_order_take(&file->order, row);

	if (rc > 0)
		return 0;
	if (rc == 0)
		rc = kc_importer_add(file->importer, row);
	return rc < 0 ? kc_import_database_failed(file, rc) : 0;
}

struct delivery {
	struct kc_import *file;
	uint64_t rows;
	int failed; /* the database's error, which has been reported */
};

static int deliver(const struct kc_trace_row *row, void *arg)
{
	struct delivery *d = arg;
	int rc = d->failed = kc_import_row(d->file, row);

	if (++d->rows % PROGRESS_ROWS == 0)
		kc_progress(&d->file->progress, d->rows);
	return rc;
}

static int deliver_step(const struct kc_stage_step *step, void *arg)
{
	struct delivery *d = arg;

	d->failed = kc_importer_step(d->file->importer, step->process, step->number, step->start_ns, step->end_ns);
	return d->failed ? kc_import_database_failed(d->file, d->failed) : 0;
}

int kc_import_staged(struct kc_import *file, struct kc_stage *stage, int64_t zero_ns, int one_clock)
{
	struct delivery d = {.file = file};
	int rc;

	if (one_clock)
		kc_importer_one_clock(file->importer);
	kc_progress_next(&file->progress, "stored", kc_stage_count(stage));
	kc_importer_scopes(file->importer, kc_stage_scopes(stage));
	rc = kc_stage_take(stage, zero_ns, one_clock, deliver, &d);
	kc_importer_scopes(file->importer, NULL);
	if (rc == 0)
		rc = kc_stage_take_steps(stage, zero_ns, deliver_step, &d);
	return rc && !d.failed ? kc_import_stage_failed(file, rc) : rc;
}

static int is_binary(const unsigned char *at, size_t bytes)
{
	return memchr(at, 0, bytes) != NULL;
}

static int tell(const char *path, const unsigned char *at, size_t bytes, int compressed, enum kc_import_format *format)
{
	static const char sqlite[] = "SQLite format 3";                      /* and its NUL */
	size_t first = bytes >= 3 && !memcmp(at, "\xEF\xBB\xBF", 3) ? 3 : 0; /* byte order mark */
	const struct kc_foreign *foreign;

	while (first < bytes && strchr(" \t\r\n", at[first]) && at[first])
		first++;
	if (bytes >= sizeof(sqlite) && !memcmp(at, sqlite, sizeof(sqlite))) {
		*format = KC_IMPORT_SQLITE;
		if (!compressed)
			return 0;
		kc_error("%s: this SQLite file is compressed; decompress it first (gunzip -k)", path);
		return -EINVAL;
	}
	foreign = kc_foreign_by_start(path, at, bytes);
	if (foreign)
		return kc_foreign_refuse(path, foreign);
	if (is_binary(at, bytes)) {
		kc_error("%s: this is not a trace, as it is neither text nor SQLite; export a report of Nsight Systems"
			 " (.nsys-rep, .qdrep) first, with nsys export --type sqlite FILE",
			 path);
		return -EINVAL;
	}
	*format = first < bytes && (at[first] == '{' || at[first] == '[') ? KC_IMPORT_JSON : KC_IMPORT_CSV;
	return 0;
}

int kc_import_format(const char *path, enum kc_import_format *format)
{
	unsigned char sample[SAMPLE_BYTES];
	gzFile file = gzopen(path, "re");
	int bytes, compressed, rc = 0;

	if (!file) {
		rc = errno ? -errno : -ENOMEM;
		kc_error("%s: %s", path, strerror(-rc));
		return rc;
	}
	bytes = gzread(file, sample, sizeof(sample));
	compressed = !gzdirect(file);
	gzclose(file);
	if (bytes < 0) {
		kc_error("%s: cannot be read: the compressed data is damaged from its start", path);
		return -EBADMSG;
	}
	return tell(path, sample, (size_t)bytes, compressed, format);
}
