#include "import_foreign.h"
#include "tools/command.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define NSYS_SQLITE "nsys export --type sqlite"

static const char record[] = "record the program with kerncast run";
static const char record_or_nsys[] =
    "record the program with kerncast run, or with nsys profile --trace=cuda and " NSYS_SQLITE;
static const char export_report[] = "export the report with " NSYS_SQLITE;
static const char with_torch[] = "record the program with the PyTorch profiler, whose traces of AMD GPUs are read";

const struct kc_foreign kc_foreign_xla = {"a trace of XLA/JAX (or TensorFlow)", record_or_nsys};
const struct kc_foreign kc_foreign_onnx = {"a profile of ONNX Runtime", record_or_nsys};
const struct kc_foreign kc_foreign_nsys_json = {"a JSON export of Nsight Systems", export_report};
const struct kc_foreign kc_foreign_rocpd = {"a database of rocprof (AMD)", with_torch};

static const struct kc_foreign compute = {"a report of Nsight Compute", record_or_nsys};
static const struct kc_foreign xplane = {"a profile of XLA/JAX or TensorFlow (.xplane.pb)", record_or_nsys};
static const struct kc_foreign perfetto = {"a trace of Perfetto", record};
static const struct kc_foreign rocprof = {"a table of rocprof (AMD)", with_torch};
static const struct kc_foreign zip = {"a zip archive", "unpack it first (unzip) and import the trace in it"};
static const struct kc_foreign packed = {"a file that zstd, xz or bzip2 compressed", "decompress it first"};
static const struct kc_foreign hdf5 = {"an HDF5 file", export_report};
static const struct kc_foreign arrow = {"an Arrow or Parquet file", export_report};
static const struct kc_foreign utf16 = {"text in UTF-16", "convert it first (iconv -f UTF-16 -t UTF-8)"};
static const struct kc_foreign report = {"a report of Nsight Systems", "export it with " NSYS_SQLITE};

/* Of Nsight Compute's reports: "NVR" and NUL, as Extra-P reads them. The others: the formats' own documents. */
static const struct {
	const char *bytes;
	size_t count;
	const struct kc_foreign *foreign;
} starts[] = {
    {"NVR\0", 4, &compute},
    {"PK\x03\x04", 4, &zip},
    {"\x28\xB5\x2F\xFD", 4, &packed}, /* zstd */
    {"\xFD"
     "7zXZ\0",
     6, &packed},
    {"BZh", 3, &packed},
    {"\x89HDF\r\n", 6, &hdf5},
    {"PAR1", 4, &arrow},
    {"ARROW1", 6, &arrow},
    {"\xFF\xFE", 2, &utf16},
    {"\xFE\xFF", 2, &utf16},
};

static const struct {
	const char *ending;
	const struct kc_foreign *foreign;
} endings[] = {
    {".ncu-rep", &compute},         {".xplane.pb", &xplane}, {".pftrace", &perfetto},
    {".perfetto-trace", &perfetto}, {".nsys-rep", &report},  {".qdrep", &report},
};

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static int has_text(const unsigned char *at, size_t bytes, const char *text)
{
	return memmem(at, bytes, text, strlen(text)) != NULL;
}

/* XSpace begins with a plane: field 1, its length, and in it an id and a name. */
static int is_xspace(const unsigned char *at, size_t bytes)
{
	static const char *const planes[] = {"/host:", "/device:", "Task Environment"};

	for (size_t i = 0; bytes && *at == '\n' && i < COUNT(planes); i++) {
		if (has_text(at, bytes < 32 ? bytes : 32, planes[i]))
			return 1;
	}
	return 0;
}

static int ends(const char *path, const char *ending)
{
	size_t length = strlen(path), tail = strlen(ending);

	return length > tail && !strcmp(path + length - tail, ending);
}

const struct kc_foreign *kc_foreign_by_start(const char *path, const unsigned char *at, size_t bytes)
{
	for (size_t i = 0; i < COUNT(starts); i++) {
		if (bytes >= starts[i].count && !memcmp(at, starts[i].bytes, starts[i].count))
			return starts[i].foreign;
	}
	if (is_xspace(at, bytes))
		return &xplane;
	for (size_t i = 0; i < COUNT(endings); i++) {
		if (ends(path, endings[i].ending) && bytes && *at != '{' && *at != '[')
			return endings[i].foreign;
	}
	return NULL;
}

const struct kc_foreign *kc_foreign_by_columns(const struct kc_csv_record *header)
{
	if (kc_csv_has(header, "Kernel Name") &&
	    (kc_csv_has(header, "Metric Name") || kc_csv_has(header, "Process ID")))
		return &compute;
	if (kc_csv_has(header, "Kernel_Name") || kc_csv_has(header, "KernelName"))
		return &rocprof;
	return NULL;
}

int kc_foreign_is_xla(const unsigned char *name, size_t bytes)
{
	return bytes > 6 && (!memcmp(name, "/host:", 6) || (bytes > 8 && !memcmp(name, "/device:", 8)));
}

int kc_foreign_refuse(const char *path, const struct kc_foreign *foreign)
{
	kc_error("%s: this is %s, which is not read; %s", path, foreign->what, foreign->way);
	return -EINVAL;
}

int kc_foreign_say_nothing(const char *path, int is_trace, uint64_t calls)
{
	if (!is_trace) {
		kc_error("%s: this JSON is not a trace, as it has no traceEvents, which the PyTorch profiler's"
			 " export_chrome_trace() writes",
			 path);
		return -EINVAL;
	}
	if (calls)
		kc_error(
		    "%s: nothing was imported: the trace has %" PRIu64 " calls of the CUDA API and no kernel, so"
		    " CUPTI gave the profiler no records: another profiler ran, this user may not measure (kerncast"
		    " doctor), or the profiler stopped before the GPU had finished (torch.cuda.synchronize())",
		    path, calls);
	else
		kc_error("%s: nothing was imported: the trace has no kernel; the PyTorch profiler records kernels with "
			 "activities=[..., ProfilerActivity.CUDA]",
			 path);
	return -ENODATA;
}
