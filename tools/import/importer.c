#include "importer.h"
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
#define DEVICES 64u
#define NAMES_MAX 60000u /* of a kernel, in an entry */

struct process {
	char *name;
	uint32_t number; /* in the file, from 1 */
	uint64_t next_index;
	uint64_t *declared; /* bits by interned id */
	size_t declared_words;
	struct kc_spans spans[DEVICES];
	struct kc_slot *queue; /* to be stored */
	size_t queued, capacity;
	uint64_t kernels, transfers, untimed_kernels;
	int64_t start_ns; /* of the latest row that has a time */
	int64_t last_ns;
};

/* An entry, its name and its module. */
struct kernel_payload {
	struct kc_kernel_entry entry;
	char names[NAMES_MAX];
};

struct arguments_payload {
	struct kc_arguments_entry entry;
	char text[1024];
};

struct kc_importer {
	struct kc_store *store;
	char source[1024];
	uint64_t content, run;
	const struct kc_device *device;
	struct kc_device *said[DEVICES]; /* by the file; NULL: nothing */
	int64_t realtime_ns;
	struct kc_intern names; /* of processes, kernels, streams, devices */
	struct process **by_id; /* by interned id; NULL: no process's */
	size_t by_id_count;
	struct process **processes; /* in the file's order */
	size_t process_count;
	size_t queued; /* of all processes */
	int rc;        /* first error of a callback */
	struct kc_imported sums;
	struct kernel_payload kernel; /* the one being declared */
};

/* Processes */

static void fill_header(const struct kc_importer *im, const struct process *p, struct kc_journal_header *h)
{
	memset(h, 0, sizeof(*h));
	h->pid = p->number;
	h->monotonic_ns = KC_TRACE_ORIGIN_NS;
	h->realtime_ns = im->realtime_ns;
	h->ended_ns = p->last_ns;
	snprintf(h->boot_id, sizeof(h->boot_id), "import-%016" PRIx64, im->content);
	snprintf(h->run_token, sizeof(h->run_token), "import-%016" PRIx64, im->run);
	snprintf(h->measure, sizeof(h->measure), "all");
	snprintf(h->source, sizeof(h->source), "%s", im->source);
	snprintf(h->command_line, sizeof(h->command_line), "%s", p->name);
	h->command_line_bytes = (uint32_t)strlen(h->command_line) + 1;
	h->counters[KC_COUNT_CALLS] = p->kernels;
	h->counters[KC_COUNT_CUPTI_RECORDS] = p->kernels;
	h->counters[KC_COUNT_CUPTI_MATCHED] = p->kernels - p->untimed_kernels;
	h->counters[KC_COUNT_CUPTI_UNMATCHED] = p->untimed_kernels;
	h->counters[KC_COUNT_CUPTI_INVALID] = p->untimed_kernels;
	h->counters[KC_COUNT_TRANSFER_RECORDS] = p->transfers;
}

static struct process *add_process(struct kc_importer *im, const char *name)
{
	struct process **grown = realloc(im->processes, (im->process_count + 1) * sizeof(*grown)), *p;

	if (!grown)
		return NULL;
	im->processes = grown;
	p = calloc(1, sizeof(*p));
	if (p)
		p->name = strdup(*name ? name : "trace");
	if (!p || !p->name) {
		free(p);
		return NULL;
	}
	im->processes[im->process_count++] = p;
	p->number = (uint32_t)im->process_count;
	return p;
}

static struct process *process_of(struct kc_importer *im, const char *name)
{
	uint32_t id = kc_intern(&im->names, 'p', name, strlen(name) + 1);
	struct process **grown;

	if (!id)
		return NULL;
	if (id >= im->by_id_count) {
		size_t count = 2 * (size_t)id + 64;

		grown = realloc(im->by_id, count * sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + im->by_id_count, 0, (count - im->by_id_count) * sizeof(*grown));
		im->by_id = grown;
		im->by_id_count = count;
	}
	if (!im->by_id[id])
		im->by_id[id] = add_process(im, name);
	return im->by_id[id];
}

/* 1: the id was not used in this process before; it is marked as used. */
static int declare(struct process *p, uint32_t id)
{
	size_t word = id / 64;

	if (word >= p->declared_words) {
		size_t words = 2 * word + 4;
		uint64_t *grown = realloc(p->declared, words * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		memset(grown + p->declared_words, 0, (words - p->declared_words) * sizeof(*grown));
		p->declared = grown;
		p->declared_words = words;
	}
	if (p->declared[word] >> (id % 64) & 1)
		return 0;
	p->declared[word] |= UINT64_C(1) << (id % 64);
	return 1;
}

/* Slots */

static struct kc_slot *enqueue(struct kc_importer *im, struct process *p)
{
	if (p->queued == p->capacity) {
		size_t capacity = p->capacity ? 2 * p->capacity : 64;
		struct kc_slot *grown = realloc(p->queue, capacity * sizeof(*grown));

		if (!grown)
			return NULL;
		p->queue = grown;
		p->capacity = capacity;
	}
	im->queued++;
	memset(&p->queue[p->queued], 0, sizeof(*p->queue));
	return &p->queue[p->queued++];
}

static int put_entry(struct kc_importer *im, struct process *p, uint32_t kind, const void *payload, size_t bytes)
{
	enum { ROOM = sizeof(((struct kc_slot *)0)->part.payload) };
	size_t count = (bytes + ROOM - 1) / ROOM;

	for (size_t i = 0; i < count; i++) {
		size_t part = bytes - i * ROOM < ROOM ? bytes - i * ROOM : ROOM;
		struct kc_slot *slot = enqueue(im, p);

		if (!slot)
			return -ENOMEM;
		slot->kind = kind;
		slot->index = p->next_index++;
		slot->part.index = (uint16_t)i;
		slot->part.count = (uint16_t)count;
		slot->part.bytes = (uint32_t)part;
		memcpy(slot->part.payload, (const char *)payload + i * ROOM, part);
	}
	return 0;
}

void kc_importer_device(struct kc_importer *im, int64_t ordinal, const struct kc_device *said)
{
	if (ordinal < 0 || ordinal >= DEVICES)
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
	const struct kc_device *said = im->said[ordinal];
	const struct kc_device *meant = im->device ? im->device : kc_device_builtin_meant(name);

	if (meant)
		*device = *meant;
	if (said && !im->device)
		kc_device_overlay(device, said);
	if (device->cc_major)
		kc_device_complete(device);
	device->simulated = 0;
	if (!im->device && *name)
		snprintf(device->name, sizeof(device->name), "%s", name);
}

static int declare_device(struct kc_importer *im, struct process *p, const struct kc_trace_row *row)
{
	struct kc_device_entry entry = {.ordinal = (uint32_t)kc_trace_known(row->device, 0)};
	const struct kc_device *said = im->said[entry.ordinal];
	const char *name = !*row->device_name && said ? said->name : row->device_name;
	char key[160];
	int length = snprintf(key, sizeof(key), "%u %s", entry.ordinal, name);
	uint32_t id = kc_intern(&im->names, 'd', key, (size_t)length < sizeof(key) ? (size_t)length : sizeof(key) - 1);
	int rc = id ? declare(p, id) : -ENOMEM;

	if (rc <= 0)
		return rc;
	describe_device(im, entry.ordinal, name, &entry.device);
	return put_entry(im, p, KC_KIND_DEVICE, &entry, sizeof(entry));
}

/* The number of a stream in the trace; 0: it has none. Its kind is unknown. */
static int stream_of(struct kc_importer *im, struct process *p, const struct kc_trace_row *row, uint32_t *local)
{
	int64_t key[2] = {kc_trace_known(row->device, 0), row->stream};
	struct kc_stream_entry entry = {
	    .device = (uint32_t)key[0],
	    .handle = (uint64_t)row->stream,
	    .priority = (int32_t)kc_trace_known(row->priority, 0),
	    .kind = KC_STREAM_NONBLOCKING,
	};
	int rc;

	*local = 0;
	if (row->stream == KC_TRACE_UNKNOWN)
		return 0;
	*local = entry.id = kc_intern(&im->names, 's', key, sizeof(key));
	rc = entry.id ? declare(p, entry.id) : -ENOMEM;
	return rc > 0 ? put_entry(im, p, KC_KIND_STREAM, &entry, sizeof(entry)) : rc;
}

static int kernel_of(struct kc_importer *im, struct process *p, const struct kc_trace_row *row, uint32_t *local)
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
	rc = k->entry.id ? declare(p, k->entry.id) : -ENOMEM;
	return rc > 0 ? put_entry(im, p, KC_KIND_KERNEL, k, sizeof(k->entry) + length) : rc;
}

/* 0: unknown. */
static int arguments_of(struct kc_importer *im, struct process *p, const char *text, uint32_t *local)
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
	rc = a.entry.id ? declare(p, a.entry.id) : -ENOMEM;
	return rc > 0 ? put_entry(im, p, KC_KIND_ARGUMENTS, &a, sizeof(a.entry) + (size_t)length + 1) : rc;
}

static int drain(struct kc_importer *im, struct process *p)
{
	struct kc_journal_header *h = malloc(sizeof(*h));
	int64_t row;
	int rc;

	if (!h)
		return -ENOMEM;
	fill_header(im, p, h);
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

/* Rows */

struct decision {
	struct kc_importer *im;
	struct process *process;
};

static void decided(const struct kc_span *span, void *arg)
{
	struct decision *d = arg;
	struct kc_slot *slot = enqueue(d->im, d->process);

	if (slot)
		memcpy(slot, span->owner, sizeof(*slot));
	else
		d->im->rc = -ENOMEM;
	free(span->owner);
}

static void decide_before(struct kc_importer *im, struct process *p, uint32_t device, int64_t watermark_ns)
{
	struct decision d = {im, p};

	kc_spans_decide(&p->spans[device], watermark_ns, INT64_MIN, decided, &d);
}

static void let_go_all(struct kc_importer *im, struct process *p, uint32_t device)
{
	struct decision d = {im, p};

	kc_spans_decide(&p->spans[device], INT64_MIN, INT64_MAX, decided, &d);
}

/* Kept until no later row can overlap it; rows come in the order of their starts. */
static int await_decision(struct kc_importer *im, struct process *p, const struct kc_slot *launch)
{
	struct kc_slot *slot = malloc(sizeof(*slot));
	struct kc_span span;
	int rc;

	if (!slot)
		return -ENOMEM;
	memcpy(slot, launch, sizeof(*slot));
	decide_before(im, p, slot->launch.device, slot->launch.measured_start_ns);
	span = (struct kc_span){
	    .start_ns = slot->launch.measured_start_ns,
	    .end_ns = slot->launch.measured_end_ns,
	    .order = (uint64_t)slot->launch.launched_ns,
	    .overlap = &slot->launch.overlap,
	    .owner = slot,
	};
	rc = kc_spans_add(&p->spans[slot->launch.device], &span);
	if (rc == -ENOBUFS) {
		let_go_all(im, p, slot->launch.device);
		rc = kc_spans_add(&p->spans[slot->launch.device], &span);
	}
	if (rc)
		free(slot);
	return rc;
}

static int let_pass(struct kc_importer *im, struct process *p, const struct kc_slot *launch)
{
	struct kc_slot *slot = enqueue(im, p);

	if (!slot)
		return -ENOMEM;
	memcpy(slot, launch, sizeof(*slot));
	return 0;
}

static int add_launch(struct kc_importer *im, struct process *p, const struct kc_trace_row *row, uint32_t stream)
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
	p->kernels++;
	im->sums.kernels++;
	if (kc_trace_row_has_time(row))
		return await_decision(im, p, &slot);
	p->untimed_kernels++;
	return let_pass(im, p, &slot);
}

static int add_transfer(struct kc_importer *im, struct process *p, const struct kc_trace_row *row, uint32_t stream)
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
static void take_time(struct kc_importer *im, struct process *p, struct kc_trace_row *row)
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
	struct process *p = process_of(im, row.process);
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

int kc_importer_new(struct kc_store *store, const char *source, uint64_t content, uint64_t run,
		    const struct kc_device *device, struct kc_importer **out)
{
	struct kc_importer *im = calloc(1, sizeof(*im));
	struct timespec now;

	if (!im)
		return -ENOMEM;
	clock_gettime(CLOCK_REALTIME, &now);
	im->store = store;
	im->content = content;
	im->run = run;
	im->device = device;
	im->realtime_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
	snprintf(im->source, sizeof(im->source), "%s", source);
	*out = im;
	return 0;
}

int kc_importer_has_all(const struct kc_importer *im)
{
	static const char sql[] = "SELECT count(*) FROM process WHERE boot_id = ?1"
				  " HAVING min(ended = 'imported') = 1";
	char token[64];
	sqlite3_stmt *stmt;
	int has_all = 0;

	snprintf(token, sizeof(token), "import-%016" PRIx64, im->content);
	if (sqlite3_prepare_v2(kc_store_db(im->store), sql, -1, &stmt, NULL) != SQLITE_OK)
		return 0;
	sqlite3_bind_text(stmt, 1, token, -1, SQLITE_STATIC);
	has_all = sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int64(stmt, 0) > 0;
	sqlite3_finalize(stmt);
	return has_all;
}

static int end_process(struct kc_importer *im, struct process *p)
{
	struct kc_journal_header *h = malloc(sizeof(*h));
	int rc;

	if (!h)
		return -ENOMEM;
	fill_header(im, p, h);
	rc = kc_store_process_end(im->store, h, "imported");
	free(h);
	return rc;
}

int kc_importer_finish(struct kc_importer *im, struct kc_imported *out)
{
	int rc = 0;

	for (size_t i = 0; i < im->process_count; i++) {
		for (uint32_t device = 0; device < DEVICES; device++)
			decide_before(im, im->processes[i], device, INT64_MAX);
	}
	rc = im->rc ? im->rc : drain_all(im);
	for (size_t i = 0; rc == 0 && i < im->process_count; i++)
		rc = end_process(im, im->processes[i]);
	im->sums.processes = im->process_count;
	*out = im->sums;
	return rc;
}

static void discard(const struct kc_span *span, void *arg)
{
	(void)arg;
	free(span->owner);
}

static void free_process(struct process *p)
{
	for (uint32_t device = 0; device < DEVICES; device++) {
		kc_spans_decide(&p->spans[device], INT64_MAX, INT64_MIN, discard, NULL);
		kc_spans_free(&p->spans[device]);
	}
	free(p->name);
	free(p->declared);
	free(p->queue);
	free(p);
}

void kc_importer_free(struct kc_importer *im)
{
	if (!im)
		return;
	for (size_t i = 0; i < im->process_count; i++)
		free_process(im->processes[i]);
	for (uint32_t device = 0; device < DEVICES; device++)
		free(im->said[device]);
	free(im->processes);
	free(im->by_id);
	kc_intern_free(&im->names);
	free(im);
}
