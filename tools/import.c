#include "command.h"
#include "database.h"
#include "device_spec.h"
#include "format.h"
#include "importer.h"
#include "store/intern.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEY_OUTPUT = 'o', KEY_DEVICE = 'd' };

#define SAID_MAX 100u /* malformed lines named in one file; the others are counted */
#define HASH_BYTES 65536u

struct request {
	const char *output, *device;
	char **traces;
	int trace_count;
};

struct reading { /* one file */
	const char *path;
	struct kc_csv_reader *csv;
	struct kc_trace_columns columns;
	struct kc_importer *importer;
	uint64_t malformed;
	struct kc_imported sums;
};

struct totals {
	struct kc_imported rows;
	uint64_t files, already, malformed;
};

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "DB", 0, "the database (default: as for the other commands)", 0},
    {"device", KEY_DEVICE, "NAME|FILE", 0, "what the traces ran on, instead of what they call it; as for slowdown", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_OUTPUT:
		request->output = arg;
		return 0;
	case KEY_DEVICE:
		request->device = arg;
		return 0;
	case ARGP_KEY_ARGS:
		request->traces = state->argv + state->next;
		request->trace_count = state->argc - state->next;
		return 0;
	case ARGP_KEY_NO_ARGS:
		argp_error(state, "which trace? give one or more files (CSV, also gzip)");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Of the bytes as they lie there: what tells one trace from another. */
static int hash_file(const char *path, uint64_t *hash)
{
	char buffer[HASH_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	*hash = KC_FNV_OFFSET;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		*hash = kc_fnv(*hash, buffer, (size_t)n);
	if (n < 0)
		rc = -errno;
	close(fd);
	return rc;
}

static void say_malformed(struct reading *r, uint64_t line, const char *why)
{
	if (r->malformed++ < SAID_MAX)
		kc_error("%s:%" PRIu64 ": left out: %s", r->path, line, why);
	else if (r->malformed == SAID_MAX + 1)
		kc_error("%s: further malformed lines are counted, not named", r->path);
}

static int read_header(struct reading *r)
{
	struct kc_csv_record header = {.count = 0};
	const char *fault = NULL;
	char why[256] = "no trace: it is empty";
	int rc = kc_csv_next(r->csv, &header, &fault);

	if (rc == 1)
		rc = kc_trace_columns(&r->columns, &header, why, sizeof(why));
	else if (rc == -EBADMSG)
		snprintf(why, sizeof(why), "damaged, or no gzip file");
	else if (rc < 0)
		snprintf(why, sizeof(why), "%s", fault ? fault : strerror(-rc));
	else
		rc = -ENODATA;
	if (rc < 0)
		kc_error("%s: %s", r->path, why);
	return rc;
}

/* 0 at the end; < 0 after a message. */
static int read_rows(struct reading *r)
{
	struct kc_csv_record record;
	struct kc_trace_row row;
	const char *fault = NULL;
	char why[256];
	int rc;

	while ((rc = kc_csv_next(r->csv, &record, &fault)) != 0) {
		if (rc == -EINVAL) {
			say_malformed(r, record.line, fault);
			continue;
		}
		if (rc < 0) {
			kc_error("%s:%" PRIu64 ": cannot be read further: %s", r->path, record.line,
				 rc == -EBADMSG ? "the compressed data is damaged or cut off" : strerror(-rc));
			return rc;
		}
		if (kc_trace_row(&row, &r->columns, &record, why, sizeof(why))) {
			say_malformed(r, record.line, why);
			continue;
		}
		rc = kc_importer_add(r->importer, &row);
		if (rc < 0) {
			kc_error("%s:%" PRIu64 ": the database cannot be written: %s", r->path, record.line,
				 strerror(-rc));
			return rc;
		}
	}
	return 0;
}

static void print_file(const struct reading *r)
{
	const struct kc_imported *sums = &r->sums;
	char rows[KC_FORMAT_BYTES], kernels[KC_FORMAT_BYTES], processes[KC_FORMAT_BYTES];

	printf("%s: %s rows, %s kernels, %s process%s", r->path,
	       kc_format_count(sums->kernels + sums->copies + sums->memsets, rows),
	       kc_format_count(sums->kernels, kernels), kc_format_count(sums->processes, processes),
	       sums->processes == 1 ? "" : "es");
	if (r->malformed)
		printf(", %s malformed", kc_format_count(r->malformed, rows));
	putchar('\n');
}

/* What could be read is stored, also where the rest cannot be. */
static int import_rows(struct reading *r)
{
	int rc = read_header(r), stored;

	if (rc)
		return rc;
	rc = read_rows(r);
	stored = kc_importer_finish(r->importer, &r->sums);
	if (stored < 0 && rc == 0)
		kc_error("%s: the database cannot be written: %s", r->path, strerror(-stored));
	if (stored == 0)
		print_file(r);
	return rc ? rc : stored;
}

static int import_file(struct kc_store *store, const struct kc_device *device, const char *path, struct totals *totals)
{
	struct reading r = {.path = path};
	char real[PATH_MAX];
	uint64_t hash = 0;
	int rc = hash_file(path, &hash);

	if (rc == 0)
		rc = kc_csv_open(path, &r.csv);
	if (rc < 0) {
		kc_error("%s: %s", path, strerror(-rc));
		return rc;
	}
	rc = kc_importer_new(store, realpath(path, real) ? real : path, hash, device, &r.importer);
	if (rc == 0 && kc_importer_has_all(r.importer)) {
		printf("%s: nothing new, the database has it\n", path);
		totals->already++;
	} else if (rc == 0) {
		rc = import_rows(&r);
	}
	totals->files++;
	totals->malformed += r.malformed;
	totals->rows.kernels += r.sums.kernels;
	totals->rows.copies += r.sums.copies;
	totals->rows.memsets += r.sums.memsets;
	totals->rows.processes += r.sums.processes;
	kc_importer_free(r.importer);
	kc_csv_close(r.csv);
	return rc;
}

static void print_totals(const struct totals *t, const char *database)
{
	char kernels[KC_FORMAT_BYTES], others[KC_FORMAT_BYTES], processes[KC_FORMAT_BYTES], malformed[KC_FORMAT_BYTES];

	printf("%s: %s kernels, %s copies and memsets, %s processes brought in", kc_database_shown(database),
	       kc_format_count(t->rows.kernels, kernels), kc_format_count(t->rows.copies + t->rows.memsets, others),
	       kc_format_count(t->rows.processes, processes));
	printf("; %s malformed line%s left out\n", kc_format_count(t->malformed, malformed),
	       t->malformed == 1 ? "" : "s");
}

static int import_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {0};
	struct totals totals = {.files = 0};
	struct kc_device device;
	struct kc_store *store;
	char path[PATH_MAX], why[512] = "";
	int rc, failed = 0;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.device && (rc = kc_device_spec(request.device, &device, why, sizeof(why))) < 0) {
		kc_error("%s", why);
		return rc == -EINVAL || rc == -ENOENT ? KC_EXIT_USAGE : KC_EXIT_FAILED;
	}
	kc_database_path(request.output, path, sizeof(path));
	rc = kc_store_open(path, KC_STORE_WRITE, &store, why, sizeof(why));
	if (rc < 0) {
		kc_error("%s", *why ? why : strerror(-rc));
		return KC_EXIT_FAILED;
	}
	for (int i = 0; i < request.trace_count; i++)
		failed |= import_file(store, request.device ? &device : NULL, request.traces[i], &totals) < 0;
	kc_store_close(store);
	print_totals(&totals, path);
	return failed ? KC_EXIT_FAILED : kc_output_finish();
}

const struct kc_command kc_command_import = {
    .name = "import",
    .summary = "brings traces that others recorded into a database",
    .arguments = "TRACE...",
    .options = options,
    .run = import_main,
    .manual =
	"A trace is CSV (RFC 4180), plain or gzip, one row a device operation, with at least the columns kind\n"
	"(kernel, memcpy, memset), start_ns, duration_ns and name.\n"
	"Each file is a run, each of its processes a process; the launches have measurements and no predictions:\n"
	"those come from\n"
	".Nm Cm replay .\n"
	"A line that makes no sense is named and left out.\n"
	"A file that the database has is not brought in twice.\n",
};
