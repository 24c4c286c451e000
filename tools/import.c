#include "command.h"
#include "tools/system/database.h"
#include "tools/input/device_spec.h"
#include "tools/output/format.h"
#include "tools/import/import_file.h"
#include "store/query/kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_OUTPUT = 'o', KEY_DEVICE = 'd' };

#define HASH_BYTES 65536u

struct request {
	const char *output, *device;
	char **traces;
	int trace_count;
};

struct totals {
	struct kc_imported rows;
	uint64_t malformed;
	uint32_t before; /* processes of this call that are in the database, now or already */
};

/* Identifies each file, and the set of files. */
struct contents {
	struct content {
		int rc; /* < 0: it cannot be read, which has been reported */
		uint64_t hash, bytes;
	} * each;
	uint64_t run;
};

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "DB", 0, "the database to import into (default: as for the other commands)", 0},
    {"device", KEY_DEVICE, "NAME|FILE", 0,
     "the GPU on which the traces were recorded, if not the one they name; as for slowdown", 0},
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
		argp_error(state, "no trace given; name one or more files");
		return EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* A hash of the bytes of the file, which identifies the trace. */
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

static int check_file(const char *path, uint64_t *bytes)
{
	struct stat st;

	if (stat(path, &st)) {
		int rc = -errno;

		kc_error("%s: %s", path, strerror(-rc));
		return rc;
	}
	*bytes = (uint64_t)st.st_size;
	if (S_ISREG(st.st_mode))
		return 0;
	kc_error("%s: %s", path,
		 S_ISDIR(st.st_mode) ? "this is a directory; name the files in it"
				     : "this is not a regular file; save its contents to one");
	return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
}

/* Hashes each file, and all of them together in the order in which they are named. */
static void hash_files(const struct request *request, struct contents *contents)
{
	contents->run = KC_FNV_OFFSET;
	for (int i = 0; i < request->trace_count; i++) {
		struct content *one = &contents->each[i];

		one->rc = check_file(request->traces[i], &one->bytes);
		if (one->rc == 0 && (one->rc = hash_file(request->traces[i], &one->hash)) < 0)
			kc_error("%s: %s", request->traces[i], strerror(-one->rc));
		if (one->rc == 0)
			contents->run = request->trace_count == 1
					    ? one->hash
					    : kc_fnv(contents->run, &one->hash, sizeof(one->hash));
	}
}

static void print_file(const char *path, const struct kc_imported *sums, uint64_t malformed)
{
	char rows[KC_FORMAT_BYTES], kernels[KC_FORMAT_BYTES], processes[KC_FORMAT_BYTES];

	printf("%s: %s rows, %s kernels, %s process%s", path,
	       kc_format_count(sums->kernels + sums->copies + sums->memsets, rows),
	       kc_format_count(sums->kernels, kernels), kc_format_count(sums->processes, processes),
	       sums->processes == 1 ? "" : "es");
	if (sums->untimed)
		printf(", %s without a time", kc_format_count(sums->untimed, rows));
	if (malformed)
		printf(", %s malformed", kc_format_count(malformed, rows));
	putchar('\n');
}

static int read_rows(struct kc_import *file)
{
	static int (*const readers[])(struct kc_import *) = {
	    [KC_IMPORT_CSV] = kc_import_csv,
	    [KC_IMPORT_JSON] = kc_import_json,
	    [KC_IMPORT_SQLITE] = kc_import_sqlite,
	};
	enum kc_import_format format;
	int rc = kc_import_format(file->path, &format);

	return rc ? rc : readers[format](file);
}

static int said_nothing(const struct kc_import *file)
{
	kc_error("%s: nothing was imported: the file has no kernel, copy or memset", file->path);
	return -ENODATA;
}

/* Rows that could be read are stored even if the rest of the file cannot be read. */
static int import_rows(struct kc_import *file, struct totals *totals)
{
	struct kc_imported sums = {.kernels = 0};
	int rc = read_rows(file), stored = file->no_room ? rc : kc_importer_finish(file->importer, &sums);

	kc_progress_end(&file->progress);
	if (stored < 0)
		return file->no_room ? rc : kc_import_database_failed(file, stored);
	kc_import_order_say(&file->order, file->path);
	if (sums.processes)
		print_file(file->path, &sums, file->malformed);
	else if (rc == 0)
		rc = said_nothing(file);
	totals->malformed += file->malformed;
	totals->rows.kernels += sums.kernels;
	totals->rows.copies += sums.copies;
	totals->rows.memsets += sums.memsets;
	totals->rows.processes += sums.processes;
	totals->before += (uint32_t)sums.processes;
	return rc;
}

static int import_file(struct kc_store *store, const struct kc_device *device, const char *path,
		       const struct content *content, uint64_t run, struct totals *totals)
{
	struct kc_import file = {.path = path};
	char real[PATH_MAX];
	const struct kc_trace_file trace = {.source = realpath(path, real) ? real : path,
					    .content = content->hash,
					    .run = run,
					    .before = totals->before};
	int rc = kc_importer_new(store, &trace, device, &file.importer);
	uint32_t there;

	if (rc < 0)
		return kc_import_database_failed(&file, rc);
	kc_progress_begin(&file.progress, path, "read", content->bytes);
	there = kc_importer_has_all(file.importer);
	if (there)
		printf("%s: nothing new, already in the database\n", path);
	else
		rc = import_rows(&file, totals);
	kc_import_order_free(&file.order);
	totals->before += there;
	kc_importer_free(file.importer);
	return rc;
}

static int import_files(struct kc_store *store, const struct kc_device *device, const struct request *request,
			struct totals *totals)
{
	struct contents contents = {.each = calloc((size_t)request->trace_count, sizeof(*contents.each))};
	int failed = 0;

	if (!contents.each) {
		kc_error("no memory");
		return 1;
	}
	hash_files(request, &contents);
	for (int i = 0; i < request->trace_count; i++) {
		const struct content *content = &contents.each[i];

		failed |= content->rc < 0 ||
			  import_file(store, device, request->traces[i], content, contents.run, totals) < 0;
	}
	free(contents.each);
	return failed;
}

static void print_totals(const struct totals *t, const char *database)
{
	char kernels[KC_FORMAT_BYTES], others[KC_FORMAT_BYTES], processes[KC_FORMAT_BYTES], malformed[KC_FORMAT_BYTES];
	uint64_t operations = t->rows.copies + t->rows.memsets;

	if (!t->rows.processes)
		return;
	printf("%s: imported %s kernel%s, %s %s from %s process%s", kc_database_shown(database),
	       kc_format_count(t->rows.kernels, kernels), t->rows.kernels == 1 ? "" : "s",
	       kc_format_count(operations, others),
	       operations != 1  ? "copies and memsets"
	       : t->rows.copies ? "copy"
				: "memset",
	       kc_format_count(t->rows.processes, processes), t->rows.processes == 1 ? "" : "es");
	if (t->malformed)
		printf("; %s malformed line%s left out", kc_format_count(t->malformed, malformed),
		       t->malformed == 1 ? "" : "s");
	putchar('\n');
}

static int import_main(int argc, char **argv, const struct kc_command *self)
{
	struct request request = {0};
	struct totals totals = {.malformed = 0};
	struct kc_device device;
	struct kc_store *store;
	char path[PATH_MAX], why[512] = "";
	int rc, failed, made;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.device && (rc = kc_device_spec(request.device, &device, why, sizeof(why))) < 0) {
		kc_error("%s", why);
		return rc == -EINVAL || rc == -ENOENT ? KC_EXIT_USAGE : KC_EXIT_FAILED;
	}
	kc_database_path(request.output, path, sizeof(path));
	made = access(path, F_OK) != 0;
	rc = kc_store_open(path, KC_STORE_WRITE, &store, why, sizeof(why));
	if (rc < 0) {
		kc_error("%s", *why ? why : strerror(-rc));
		return KC_EXIT_FAILED;
	}
	failed = import_files(store, request.device ? &device : NULL, &request, &totals);
	kc_kernel_names(store, KC_NAMES_NS);
	if (failed && made && !totals.rows.processes)
		kc_store_discard(store);
	else
		kc_store_close(store);
	print_totals(&totals, path);
	return failed ? KC_EXIT_FAILED : kc_output_finish();
}

const struct kc_command kc_command_import = {
    .group = KC_GROUP_RECORD,
    .name = "import",
    .summary = "imports traces of PyTorch, Nsight Systems and nvprof",
    .arguments = "TRACE...",
    .options = options,
    .run = import_main,
    .manual = "Stores launches that a profiler recorded, with their measurements and without predictions; predictions\n"
	      "come from\n"
	      ".Nm Cm replay .\n"
	      "The format is recognised by the contents of the file:\n"
	      ".Bl -bullet -compact\n"
	      ".It\n"
	      "the PyTorch profiler's trace, JSON (export_chrome_trace), also gzip\n"
	      ".It\n"
	      "Nsight Systems, exported by nsys export --type sqlite\n"
	      ".It\n"
	      "nsys stats --report cuda_gpu_trace --format csv\n"
	      ".It\n"
	      "nvprof --print-gpu-trace --csv, also several in one file, and its own files (nvprof -o)\n"
	      ".It\n"
	      "CSV (RFC 4180), also gzip, one row per device operation, with at least the columns kind\n"
	      "(kernel, memcpy, memset), start_ns, duration_ns and name\n"
	      ".El\n"
	      "The files of one call form one run, whose processes are the processes in them.\n"
	      "Malformed lines are named and left out. The exit status is 1 where a file could not be read to its end\n"
	      "or had nothing to import.\n"
	      "The steps of a PyTorch trace are kept, and the ranges and operators in which kernels were launched.\n"
	      "If nothing at all was imported, no new database is left behind.\n"
	      "A file that is already in the database is not imported again.\n"
	      "Operations of all formats but the last are sorted in a temporary file in\n"
	      ".Ev TMPDIR .\n",
};
