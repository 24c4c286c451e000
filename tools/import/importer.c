#include "importer.h"
#include "import_process.h"
#include "operators/put.h"
#include "trace_slot.h"
#include "tools/input/device_spec.h"
#include "store/common/ids/intern.h"

#include "predictor/concurrency/timeline.h"
#include "store/journal/journal.h"
#include "predictor/concurrency/overlap.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define QUEUE_MAX 16384u /* slots in one transaction, about */
#define NAMES_MAX 60000u /* of a kernel, in an entry */

/* An entry, its name and its module. */
struct kernel_payload {
	struct kc_kernel_entry entry;
	char names[NAMES_MAX];
};

struct arguments_payload {
	struct kc_arguments_entry entry;
	char text[1024];
};

/* A device entry, and which GPU of whose it is. */
struct device_payload {
	struct kc_device_entry entry;
	char texts[256];
};

struct kc_importer {
	struct kc_store *store;
	struct kc__import_file file;
	const struct kc_device *device;
	const struct kc_scopes *scopes;
	struct kc_trace_device *said[KC__IMPORT_DEVICES]; /* by the file; NULL: nothing */
	struct kc_intern names;                           /* of kernels, streams, devices, arguments */
	struct kc_intern process_ids;
	struct kc__import_process **processes; /* by their ids less 1 */
	size_t process_count;
	struct kc_intern gpu_ids; /* (clock, place, ordinal) */
	struct kc_spans *gpus;    /* by their ids less 1 */
	size_t gpu_count;
	size_t queued; /* of all processes */
	int rc;        /* first error of a callback */
	struct kc_imported sums;
	struct kernel_payload kernel; /* the one being declared */
};

/* A launch until it is known what it overlapped. */
struct held {
	struct kc__import_process *process;
	struct kc_slot slot;
};

/* Processes */

static struct kc__import_process *process_of(struct kc_importer *im, const char *key)
{
	uint32_t id = kc_intern(&im->process_ids, 'p', key, strlen(key) + 1);
	struct kc__import_process **grown;

	if (!id)
		return NULL;
	if (id > im->process_count) {
		grown = realloc(im->processes, id * sizeof(*grown));
		if (!grown)
			return NULL;
		im->processes = grown;
		grown[id - 1] = kc__import_process_new(&im->file, key, id);
		if (!grown[id - 1])
			return NULL;
		im->process_count = id;
	}
	return im->processes[id - 1];
}

void kc_importer_process(struct kc_importer *im, const char *key, const struct kc_trace_process *said)
{
	struct kc__import_process *p = process_of(im, key);

	if (!p || kc__import_process_describe(&im->file, p, said))
		im->rc = -ENOMEM;
}

void kc_importer_one_clock(struct kc_importer *im)
{
	im->file.one_clock = 1;
}

static struct kc_slot *enqueue(struct kc_importer *im, struct kc__import_process *p)
{
	im->queued++;
	return kc__import_enqueue(p);
}

static int put_entry(struct kc_importer *im, struct kc__import_process *p, uint32_t kind, const void *payload,
		     size_t bytes)
{
	size_t before = p->queued;
	int rc = kc__import_put_entry(p, kind, payload, bytes);

	im->queued += p->queued - before;
	return rc;
}

void kc_importer_device(struct kc_importer *im, int64_t ordinal, const struct kc_trace_device *said)
{
	if (ordinal < 0 || ordinal >= KC__IMPORT_DEVICES)
		return;
	if (!im->said[ordinal])
		im->said[ordinal] = malloc(sizeof(*said));
	if (im->said[ordinal])
		*im->said[ordinal] = *said;
	else
		im->rc = -ENOMEM;
}

static void describe_device(const struct kc_importer *im, uint32_t ordinal, const char *name, struct kc_device *device)
{
	const struct kc_trace_device *said = im->said[ordinal];
	const struct kc_device *meant = im->device ? im->device : kc_device_builtin_meant(name);

	if (meant)
		*device = *meant;
	if (said && !im->device)
		kc_device_overlay(device, &said->device);
	if (device->cc_major)
		kc_device_complete(device);
	device->simulated = 0;
	if (!im->device && *name)
		snprintf(device->name, sizeof(device->name), "%s", name);
}

static int put_device(struct kc_importer *im, struct kc__import_process *p, uint32_t ordinal, const char *name)
{
	const struct kc_trace_device *said = im->said[ordinal];
	struct device_payload d = {.entry = {.ordinal = ordinal}};
	size_t length = strlen(p->place) + 1;

	describe_device(im, ordinal, name, &d.entry.device);
	if (said)
		memcpy(d.entry.uuid, said->uuid, sizeof(d.entry.uuid));
	if (length > sizeof(d.texts) / 2)
		length = sizeof(d.texts) / 2;
	snprintf(d.texts, length, "%s", p->place);
	length += (size_t)snprintf(d.texts + length, sizeof(said->bus), "%s", said ? said->bus : "") + 1;
	return put_entry(im, p, KC_KIND_DEVICE, &d, sizeof(d.entry) + length);
}

static int declare_device(struct kc_importer *im, struct kc__import_process *p, const struct kc_trace_row *row)
{
	uint32_t ordinal = (uint32_t)kc_trace_known(row->device, 0);
	const struct kc_trace_device *said = im->said[ordinal];
	const char *name = !*row->device_name && said ? said->device.name : row->device_name;
	char key[160];
	int length = snprintf(key, sizeof(key), "%u %s", ordinal, name);
	uint32_t id = kc_intern(&im->names, 'd', key, (size_t)length < sizeof(key) ? (size_t)length : sizeof(key) - 1);
	int rc = id ? kc__import_declare(p, id) : -ENOMEM;

	return rc > 0 ? put_device(im, p, ordinal, name) : rc;
}

/* The number of a stream in the trace, which is one of a context; 0: it has none. Its kind is unknown. */
static int stream_of(struct kc_importer *im, struct kc__import_process *p, const struct kc_trace_row *row,
		     uint32_t *local)
{
	int64_t key[3] = {kc_trace_known(row->device, 0), row->context, row->stream};
	struct kc_stream_entry entry = {
	    .device = (uint32_t)key[0],
	    .handle = (uint64_t)row->stream,
	    .context = (uint64_t)kc_trace_known(row->context, 0),
	    .priority = (int32_t)kc_trace_known(row->priority, 0),
	    .kind = KC_STREAM_NONBLOCKING,
	};
	int rc;

	*local = 0;
	if (row->stream == KC_TRACE_UNKNOWN)
		return 0;
	*local = entry.id = kc_intern(&im->names, 's', key, sizeof(key));
	rc = entry.id ? kc__import_declare(p, entry.id) : -ENOMEM;
	return rc > 0 ? put_entry(im, p, KC_KIND_STREAM, &entry, sizeof(entry)) : rc;
}

static int kernel_of(struct kc_importer *im, struct kc__import_process *p, const struct kc_trace_row *row,
		     uint32_t *local)
{
	struct kernel_payload *k = &im->kernel;
	size_t length, head = sizeof(k->entry.resources);
	int rc;

	memset(&k->entry, 0, sizeof(k->entry));
	k->entry.device = (uint32_t)kc_trace_known(row->device, 0);
	k->entry.resources.registers = (uint32_t)kc_trace_known(row->registers, 0);
	k->entry.resources.static_shared_bytes = (uint32_t)kc_trace_known(row->static_shared_bytes, 0);
	length = (size_t)snprintf(k->names, NAMES_MAX / 2, "%s", row->name) + 1;
	if (length > NAMES_MAX / 2)
		length = NAMES_MAX / 2;
	snprintf(k->names + length, NAMES_MAX / 2, "%s", row->module);
	length += strlen(k->names + length) + 1;
	*local = k->entry.id = kc_intern_two(&im->names, 'k', &k->entry.resources, head, k->names, length);
	rc = k->entry.id ? kc__import_declare(p, k->entry.id) : -ENOMEM;
	return rc > 0 ? put_entry(im, p, KC_KIND_KERNEL, k, sizeof(k->entry) + length) : rc;
}

/* 0: unknown. */
static int arguments_of(struct kc_importer *im, struct kc__import_process *p, const char *text, uint32_t *local)
{
	struct arguments_payload a = {.entry = {.id = 0}};
	int length, rc;

	*local = 0;
	if (!*text)
		return 0;
	length = snprintf(a.text, sizeof(a.text), "%s", text);
	if ((size_t)length >= sizeof(a.text))
		length = (int)sizeof(a.text) - 1;
	*local = a.entry.id = kc_intern(&im->names, 'a', a.text, (size_t)length);
	rc = a.entry.id ? kc__import_declare(p, a.entry.id) : -ENOMEM;
	return rc > 0 ? put_entry(im, p, KC_KIND_ARGUMENTS, &a, sizeof(a.entry) + (size_t)length + 1) : rc;
}

void kc_importer_scopes(struct kc_importer *im, const struct kc_scopes *scopes)
{
	im->scopes = scopes;
}

/* launch: index of its slot. */
static int declare_calls(struct kc_importer *im, struct kc__import_process *p, const struct kc_trace_row *row,
			 uint64_t launch)
{
	size_t before = p->queued;
	int rc = kc__import_put_operator(&im->names, p, &row->launched_by, launch);

	if (rc == 0 && row->scope && im->scopes)
		rc = kc__import_put_scope(&im->names, p, im->scopes, row->scope, launch);
	im->queued += p->queued - before;
	return rc;
}

static int drain(struct kc_importer *im, struct kc__import_process *p)
{
	struct kc_journal_header *h;
	int64_t row;
	int rc;

	if (!kc__import_process_is_used(p))
		return 0;
	h = malloc(sizeof(*h));
	if (!h)
		return -ENOMEM;
	kc__import_process_header(&im->file, p, h);
	rc = kc_store_process(im->store, h, &row);
	free(h);
	if (rc == 0 && p->queued)
		rc = kc_store_begin(im->store);
	if (rc || !p->queued)
		return rc;
	for (size_t i = 0; rc == 0 && i < p->queued; i++)
		rc = kc_store_slot(im->store, &p->queue[i]);
	if (rc == 0)
		rc = kc_store_commit(im->store);
	if (rc)
		kc_store_rollback(im->store);
	im->queued -= p->queued;
	p->queued = p->capacity = 0;
	free(p->queue);
	p->queue = NULL;
	return rc;
}

static int drain_all(struct kc_importer *im)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < im->process_count; i++)
		rc = drain(im, im->processes[i]);
	return rc;
}

int kc_importer_step(struct kc_importer *im, const char *process, int64_t number, int64_t start_ns, int64_t end_ns)
{
	struct kc__import_process *p = process_of(im, process);
	const struct kc_step_entry step = {
	    .start_ns = KC_TRACE_ORIGIN_NS + start_ns, .end_ns = KC_TRACE_ORIGIN_NS + end_ns, .number = number};
	int rc = p ? 0 : -ENOMEM;

	if (rc == 0 && kc__import_process_is_used(p))
		rc = put_entry(im, p, KC_KIND_STEP, &step, sizeof(step));
	return rc == 0 && im->queued >= QUEUE_MAX ? drain_all(im) : rc;
}

/* Rows */

static void decided(const struct kc_span *span, void *arg)
{
	struct kc_importer *im = arg;
	struct held *held = span->owner;
	struct kc_slot *slot = enqueue(im, held->process);

	if (slot)
		memcpy(slot, &held->slot, sizeof(*slot));
	else
		im->rc = -ENOMEM;
	free(held);
}

/* Kernels of one GPU, whichever processes launched them, on one clock. NULL: no memory. */
static struct kc_spans *gpu_of(struct kc_importer *im, struct kc__import_process *p, uint32_t ordinal)
{
	uint32_t *id = &p->gpus[ordinal];
	const uint32_t key[2] = {im->file.one_clock ? 0 : p->number, ordinal};
	struct kc_spans *grown;

	if (!*id)
		*id = kc_intern_two(&im->gpu_ids, 'g', key, sizeof(key), p->place, strlen(p->place));
	if (!*id)
		return NULL;
	if (*id > im->gpu_count) {
		grown = realloc(im->gpus, *id * sizeof(*grown));
		if (!grown)
			return NULL;
		im->gpus = grown;
		grown[*id - 1] = (struct kc_spans){0};
		im->gpu_count = *id;
	}
	return &im->gpus[*id - 1];
}

/* Kept until no later row can overlap it; rows on one clock come in the order of their starts. */
static int await_decision(struct kc_importer *im, struct kc__import_process *p, const struct kc_slot *launch)
{
	struct kc_spans *gpu = gpu_of(im, p, launch->launch.device);
	struct held *held = gpu ? malloc(sizeof(*held)) : NULL;
	struct kc_span span;
	int rc;

	if (!held)
		return -ENOMEM;
	held->process = p;
	memcpy(&held->slot, launch, sizeof(held->slot));
	kc_spans_decide(gpu, launch->launch.measured_start_ns, INT64_MIN, decided, im);
	span = (struct kc_span){
	    .start_ns = launch->launch.measured_start_ns,
	    .end_ns = launch->launch.measured_end_ns,
	    .order = (uint64_t)launch->launch.launched_ns,
	    .overlap = &held->slot.launch.overlap,
	    .owner = held,
	};
	rc = kc_spans_add(gpu, &span);
	if (rc == -ENOBUFS) {
		kc_spans_decide(gpu, INT64_MIN, INT64_MAX, decided, im);
		rc = kc_spans_add(gpu, &span);
	}
	if (rc)
		free(held);
	return rc;
}

static int let_pass(struct kc_importer *im, struct kc__import_process *p, const struct kc_slot *launch)
{
	struct kc_slot *slot = enqueue(im, p);

	if (!slot)
		return -ENOMEM;
	memcpy(slot, launch, sizeof(*slot));
	return 0;
}

static int add_launch(struct kc_importer *im, struct kc__import_process *p, const struct kc_trace_row *row,
		      uint32_t stream)
{
	struct kc_slot slot = {.kind = KC_KIND_LAUNCH};
	uint32_t kernel, arguments;
	int rc = kernel_of(im, p, row, &kernel);

	if (rc == 0)
		rc = arguments_of(im, p, row->args, &arguments);
	if (rc)
		return rc;
	slot.index = p->next_index++;
	kc_trace_fill_launch(&slot.launch, row, kernel, stream);
	slot.launch.arguments = arguments;
	rc = declare_calls(im, p, row, slot.index);
	if (rc)
		return rc;
	p->kernels++;
	im->sums.kernels++;
	if (kc_trace_row_has_time(row))
		return await_decision(im, p, &slot);
	p->untimed_kernels++;
	return let_pass(im, p, &slot);
}

static int add_transfer(struct kc_importer *im, struct kc__import_process *p, const struct kc_trace_row *row,
			uint32_t stream)
{
	struct kc_slot *slot = enqueue(im, p);

	if (!slot)
		return -ENOMEM;
	slot->kind = KC_KIND_TRANSFER;
	slot->index = p->next_index++;
	kc_trace_fill_transfer(&slot->transfer, row, stream);
	p->transfers++;
	if (row->what == KC_TRACE_MEMSET)
		im->sums.memsets++;
	else
		im->sums.copies++;
	return 0;
}

/* A row without any time stands where the one before it does. */
static void take_time(struct kc_importer *im, struct kc__import_process *p, struct kc_trace_row *row)
{
	int64_t end_ns;

	if (!kc_trace_row_has_time(row)) {
		row->launch_ns = kc_trace_known(row->launch_ns, p->start_ns);
		im->sums.untimed++;
		return;
	}
	p->start_ns = row->start_ns;
	end_ns = KC_TRACE_ORIGIN_NS + row->start_ns + row->duration_ns;
	if (end_ns > p->last_ns)
		p->last_ns = end_ns;
}

int kc_importer_add(struct kc_importer *im, const struct kc_trace_row *given)
{
	struct kc_trace_row row = *given;
	struct kc__import_process *p = process_of(im, row.process);
	uint32_t stream;
	int rc = p ? declare_device(im, p, &row) : -ENOMEM;

	if (rc == 0)
		rc = stream_of(im, p, &row, &stream);
	if (rc)
		return rc;
	take_time(im, p, &row);
	rc = row.what == KC_TRACE_KERNEL ? add_launch(im, p, &row, stream) : add_transfer(im, p, &row, stream);
	if (rc == 0)
		rc = im->rc;
	return rc == 0 && im->queued >= QUEUE_MAX ? drain_all(im) : rc;
}

/* The whole */

int kc_importer_new(struct kc_store *store, const struct kc_trace_file *file, const struct kc_device *device,
		    struct kc_importer **out)
{
	struct kc_importer *im = calloc(1, sizeof(*im));
	struct timespec now;

	if (!im)
		return -ENOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	im->store = store;
	im->file.content = file->content;
	im->file.run = file->run;
	im->file.before = file->before;
	snprintf(im->file.source, sizeof(im->file.source), "%s", file->source);
	im->file.realtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	im->device = device;
	*out = im;
	return 0;
}

uint32_t kc_importer_has_all(const struct kc_importer *im)
{
	static const char sql[] = "SELECT count(*) FROM process WHERE boot_id = ?1 OR boot_id GLOB ?1 || '-*'"
				  " HAVING min(ended = 'imported') = 1";
	char token[64];
	sqlite3_stmt *stmt;
	uint32_t processes = 0;

	snprintf(token, sizeof(token), "import-%016" PRIx64, im->file.content);
	if (sqlite3_prepare_v2(kc_store_db(im->store), sql, -1, &stmt, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(stmt, 1, token, -1, SQLITE_STATIC);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		processes = (uint32_t)sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return processes;
}

static int end_process(struct kc_importer *im, struct kc__import_process *p)
{
	struct kc_journal_header *h;
	int rc;

	if (!kc__import_process_is_used(p))
		return 0;
	h = malloc(sizeof(*h));
	if (!h)
		return -ENOMEM;
	kc__import_process_header(&im->file, p, h);
	im->sums.processes++;
	rc = kc_store_process_end(im->store, h, "imported");
	free(h);
	return rc;
}

int kc_importer_finish(struct kc_importer *im, struct kc_imported *out)
{
	int rc = 0;

	for (size_t i = 0; i < im->gpu_count; i++)
		kc_spans_decide(&im->gpus[i], INT64_MAX, INT64_MIN, decided, im);
	rc = im->rc ? im->rc : drain_all(im);
	for (size_t i = 0; rc == 0 && i < im->process_count; i++)
		rc = end_process(im, im->processes[i]);
	*out = im->sums;
	return rc;
}

static void discard(const struct kc_span *span, void *arg)
{
	(void)arg;
	free(span->owner);
}

void kc_importer_free(struct kc_importer *im)
{
	if (!im)
		return;
	for (size_t i = 0; i < im->process_count; i++)
		kc__import_process_free(im->processes[i]);
	for (size_t i = 0; i < im->gpu_count; i++) {
		kc_spans_decide(&im->gpus[i], INT64_MAX, INT64_MIN, discard, NULL);
		kc_spans_free(&im->gpus[i]);
	}
	for (uint32_t device = 0; device < KC__IMPORT_DEVICES; device++)
		free(im->said[device]);
	free(im->processes);
	free(im->gpus);
	kc_intern_free(&im->process_ids);
	kc_intern_free(&im->gpu_ids);
	kc_intern_free(&im->names);
	free(im);
}
