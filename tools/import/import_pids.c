#include "import_pids.h"
#include "store/common/ids/intern.h"
#include "store/query/rows.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES KC_IMPORT_PID_BYTES /* of what events are staged as, and of processes */
#define PIDS_MOST 4096u                /* of a file; the others are not told apart */

struct pid {
	char staged[NAME_BYTES];
	char text[NAME_BYTES / 3], rank[NAME_BYTES / 3]; /* as in the file */
	char label[NAME_BYTES / 3];                      /* text without the number at its end and what is around it */
	int64_t number;                                  /* KC_TRACE_UNKNOWN: text has none */
	int64_t device;                                  /* of an operation */
	uint64_t events;
	uint32_t process; /* place in kc_import_pids.processes plus 1; 0: not known */
	int has_calls;    /* of an operation: there are calls of its pid */
};

struct process {
	char name[NAME_BYTES];   /* "": not known */
	char key[NAME_BYTES];    /* tells it from the others */
	int64_t offset;          /* what is added to its pids */
	const struct pid *of;    /* its first operation */
	const struct pid *calls; /* most of its calls have this pid; NULL: none is known */
};

struct kc_import_pids {
	struct kc_intern ids;
	struct kc__list operations, calls; /* struct pid */
	struct kc__list at;                /* uint32_t: place in one of them, by ids less 1 */
	struct kc__list processes;         /* struct process */
};

struct kc_import_pids *kc_import_pids_new(void)
{
	return calloc(1, sizeof(struct kc_import_pids));
}

void kc_import_pids_free(struct kc_import_pids *p)
{
	if (!p)
		return;
	kc_intern_free(&p->ids);
	free(p->operations.at);
	free(p->calls.at);
	free(p->at.at);
	free(p->processes.at);
	free(p);
}

/* "[TP00] 1000" has the label TP00 and the number 1000. */
static void split(struct pid *pid)
{
	size_t end = strlen(pid->text), begin = end, first = 0;

	while (begin && isdigit((unsigned char)pid->text[begin - 1]))
		begin--;
	pid->number = begin < end && end - begin < 18 ? strtoll(pid->text + begin, NULL, 10) : KC_TRACE_UNKNOWN;
	if (pid->number == KC_TRACE_UNKNOWN)
		begin = end;
	while (begin && strchr(" _-:./#]", pid->text[begin - 1]))
		begin--;
	while (first < begin && pid->text[first] == '[')
		first++;
	snprintf(pid->label, sizeof(pid->label), "%.*s", (int)(begin - first), pid->text + first);
}

static const char *note(struct kc_import_pids *p, struct kc__list *list, char kind, const struct pid *met)
{
	uint32_t id = kc_intern(&p->ids, kind, met->staged, strlen(met->staged)), *at;
	struct pid *pid;

	if (!id)
		return NULL;
	if (id > p->at.count) {
		at = kc__list_add(&p->at, sizeof(*at));
		pid = at ? kc__list_add(list, sizeof(*pid)) : NULL;
		if (!pid)
			return NULL;
		*at = (uint32_t)list->count - 1;
		*pid = *met;
		split(pid);
	}
	pid = (struct pid *)list->at + ((const uint32_t *)p->at.at)[id - 1];
	pid->events++;
	return pid->staged;
}

static void fill(const struct kc_import_pids *p, struct pid *met, char kind, const char *pid, const char *rank,
		 int64_t device)
{
	int too_many = p->at.count >= PIDS_MOST;

	met->device = device;
	met->events = 0;
	met->process = 0;
	snprintf(met->text, sizeof(met->text), "%s", too_many ? "" : pid);
	snprintf(met->rank, sizeof(met->rank), "%s", too_many ? "" : rank);
	snprintf(met->staged, sizeof(met->staged), "%c %" PRId64 " %s %s", kind, device, met->rank, met->text);
}

const char *kc_import_pids_operation(struct kc_import_pids *p, const char *pid, const char *rank, int64_t device)
{
	struct pid met;

	fill(p, &met, 'o', pid, rank, device);
	return note(p, &p->operations, 'o', &met);
}

const char *kc_import_pids_call(struct kc_import_pids *p, const char *pid, const char *rank)
{
	struct pid met;

	fill(p, &met, 'c', pid, rank, 0);
	return note(p, &p->calls, 'c', &met);
}

void kc_import_pids_name(const struct kc_import_pids *p, const char *pid, const char *rank, char *out, size_t size)
{
	struct pid met;

	fill(p, &met, 'c', pid, rank, 0);
	snprintf(out, size, "%s", met.staged);
}

/* Whose an operation is */

/* A pid that is of several devices is not a device's number. */
static int has_devices(const struct kc_import_pids *p, const struct pid *operation)
{
	const struct pid *operations = p->operations.at;

	for (size_t i = 0; i < p->operations.count; i++) {
		if (!strcmp(operations[i].text, operation->text) && !strcmp(operations[i].rank, operation->rank) &&
		    operations[i].device != operation->device)
			return 1;
	}
	return 0;
}

static void find_calls(const struct kc_import_pids *p, struct pid *operation)
{
	const struct pid *calls = p->calls.at;

	operation->has_calls = 0;
	for (size_t i = 0; i < p->calls.count; i++)
		operation->has_calls |=
		    !strcmp(calls[i].text, operation->text) && !strcmp(calls[i].rank, operation->rank);
}

static int is_of_device(const struct pid *operation)
{
	return !*operation->label && operation->number == operation->device;
}

/* A device's number may be the pid of a process, too, which in a container is 1: numbers of devices are pids where
 * each of them has calls. */
static int is_process(const struct kc_import_pids *p, const struct pid *operation)
{
	const struct pid *operations = p->operations.at;

	for (size_t i = 0; operation->has_calls && is_of_device(operation) && i < p->operations.count; i++) {
		if (!operations[i].has_calls && is_of_device(&operations[i]) &&
		    !strcmp(operations[i].rank, operation->rank))
			return 0;
	}
	return operation->has_calls;
}

static void describe(const struct kc_import_pids *p, const struct pid *operation, struct process *out)
{
	int64_t device = operation->device == KC_TRACE_UNKNOWN ? operation->number : operation->device;
	int is_number = !*operation->label && operation->number != KC_TRACE_UNKNOWN;
	int is_numbered = operation->number != KC_TRACE_UNKNOWN && operation->number >= device;

	*out = (struct process){.of = operation};
	if (*operation->rank) {
		snprintf(out->name, sizeof(out->name), "%s%s", isdigit((unsigned char)*operation->rank) ? "rank " : "",
			 operation->rank);
		snprintf(out->key, sizeof(out->key), "rank %s", operation->rank);
	} else if (*operation->text &&
		   (is_process(p, operation) || has_devices(p, operation) || (*operation->label && !is_numbered))) {
		snprintf(out->name, sizeof(out->name), "%s", is_number ? "" : operation->text);
		snprintf(out->key, sizeof(out->key), "pid %s", operation->text);
	} else {
		out->offset = is_numbered ? operation->number - device : 0;
		snprintf(out->name, sizeof(out->name), "%s", operation->label);
		snprintf(out->key, sizeof(out->key), "%" PRId64 " %s", out->offset, operation->label);
	}
}

static int place_operation(struct kc_import_pids *p, struct pid *operation)
{
	struct process found, *processes = p->processes.at, *added;

	describe(p, operation, &found);
	for (uint32_t i = 0; i < p->processes.count && !operation->process; i++) {
		if (!strcmp(processes[i].key, found.key))
			operation->process = i + 1;
	}
	if (operation->process)
		return 0;
	added = kc__list_add(&p->processes, sizeof(*added));
	if (!added)
		return -ENOMEM;
	*added = found;
	operation->process = (uint32_t)p->processes.count;
	return 0;
}

/* Whose a call is: of the process with its rank, its pid or its label; of several, the one whose pids begin last before
 * its own. */
static uint32_t process_of_call(const struct kc_import_pids *p, const struct pid *call)
{
	const struct process *processes = p->processes.at;
	uint32_t best = 0;

	for (uint32_t i = 0; i < p->processes.count; i++) {
		const struct pid *of = processes[i].of;

		if (strcmp(of->rank, call->rank) != 0)
			continue;
		if (*call->rank || !strcmp(of->text, call->text))
			return i + 1;
		if (!strcmp(of->label, call->label) &&
		    (call->number == KC_TRACE_UNKNOWN || processes[i].offset <= call->number) &&
		    (!best || processes[i].offset > processes[best - 1].offset))
			best = i + 1;
	}
	return best;
}

static void place_calls(struct kc_import_pids *p)
{
	struct process *processes = p->processes.at;
	struct pid *calls = p->calls.at;

	for (size_t i = 0; i < p->calls.count; i++) {
		struct process *process;

		calls[i].process = p->processes.count == 1 ? 1 : process_of_call(p, &calls[i]);
		if (!calls[i].process)
			continue;
		process = &processes[calls[i].process - 1];
		if (!process->calls || calls[i].events > process->calls->events)
			process->calls = &calls[i];
	}
}

/* Telling */

static int tell_operation(const struct kc_import_pids *p, struct kc_stage *stage, const struct pid *operation)
{
	const struct process *process = (const struct process *)p->processes.at + operation->process - 1;
	const struct pid *calls = p->calls.at;
	int rc = kc_stage_owner(stage, operation->staged, process->key);

	for (size_t i = 0; rc == 0 && i < p->calls.count; i++) {
		int may = calls[i].process ? calls[i].process == operation->process : !process->calls;

		if (may)
			rc = kc_stage_caller(stage, operation->staged, calls[i].staged);
	}
	return rc;
}

/* Ranks may each call another GPU 0: which GPUs they see is not told. */
static void tell_process(const struct process *process, struct kc_importer *importer, const char *name,
			 uint32_t world_size)
{
	struct kc_trace_process said = {
	    .name = name,
	    .pid = process->calls ? process->calls->number : KC_TRACE_UNKNOWN,
	    .place = name,
	    .world_size = world_size,
	};

	kc_importer_process(importer, process->key, &said);
}

static void tell_processes(const struct kc_import_pids *p, struct kc_importer *importer, const char *rank,
			   uint32_t world_size)
{
	const struct process *processes = p->processes.at;
	char by_pid[NAME_BYTES];

	for (size_t i = 0; i < p->processes.count; i++) {
		const struct pid *named = processes[i].calls ? processes[i].calls : processes[i].of;

		snprintf(by_pid, sizeof(by_pid), "pid %s", named->text);
		tell_process(&processes[i], importer,
			     *processes[i].name        ? processes[i].name
			     : p->processes.count == 1 ? rank
						       : by_pid,
			     world_size);
	}
}

int kc_import_pids_settle(struct kc_import_pids *p, struct kc_stage *stage, struct kc_importer *importer,
			  const char *rank, uint32_t world_size)
{
	struct pid *operations = p->operations.at;
	int rc = 0;

	for (size_t i = 0; i < p->operations.count; i++)
		find_calls(p, &operations[i]);
	for (size_t i = 0; rc == 0 && i < p->operations.count; i++)
		rc = place_operation(p, &operations[i]);
	if (rc)
		return rc;
	place_calls(p);
	tell_processes(p, importer, rank, world_size);
	for (size_t i = 0; rc == 0 && i < p->operations.count; i++)
		rc = tell_operation(p, stage, &operations[i]);
	return rc;
}
