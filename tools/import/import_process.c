#include "import_process.h"
#include "import_file.h"
#include "trace_slot.h"
#include "store/common/growing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number says nothing without the file that gives it. */
static char *name_of(const struct kc__import_file *file, const char *key)
{
	char *name;

	if (!*key)
		return strdup(kc_import_file_name(file->source));
	if (key[strspn(key, "0123456789")])
		return strdup(key);
	return asprintf(&name, "%s, process %s", kc_import_file_name(file->source), key) < 0 ? NULL : name;
}

struct kc__import_process *kc__import_process_new(const struct kc__import_file *file, const char *key, uint32_t number)
{
	struct kc__import_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->number = number;
	p->pid = file->before + number;
	p->name = name_of(file, key);
	p->place = strdup("");
	if (p->name && p->place)
		return p;
	kc__import_process_free(p);
	return NULL;
}

void kc__import_process_free(struct kc__import_process *p)
{
	free(p->name);
	free(p->place);
	free(p->declared);
	free(p->queue);
	free(p);
}

static int replace(char **text, const char *by)
{
	char *copy = strdup(by);

	if (!copy)
		return -ENOMEM;
	free(*text);
	*text = copy;
	return 0;
}

int kc__import_process_describe(const struct kc__import_file *file, struct kc__import_process *p,
				const struct kc_trace_process *said)
{
	int rc = replace(&p->name, *said->name ? said->name : kc_import_file_name(file->source));

	if (rc == 0)
		rc = replace(&p->place, said->place);
	if (said->pid > 0 && said->pid <= UINT32_MAX)
		p->pid = (uint32_t)said->pid;
	p->world_size = said->world_size;
	return rc;
}

/* Processes that share a clock have one boot_id, as those of one machine. */
static void set_clock(const struct kc__import_file *file, const struct kc__import_process *p,
		      struct kc_journal_header *h)
{
	if (file->one_clock)
		snprintf(h->boot_id, sizeof(h->boot_id), "import-%016" PRIx64, file->content);
	else
		snprintf(h->boot_id, sizeof(h->boot_id), "import-%016" PRIx64 "-%" PRIu32, file->content, p->number);
}

/* A process that is called "rank 3" is that rank. */
static void set_rank(const struct kc__import_process *p, struct kc_job *job)
{
	static const char rank[] = "rank ";
	const char *number = p->name + strlen(rank);

	if (strncmp(p->name, rank, strlen(rank)) != 0 || !*number || strlen(number) > 8 ||
	    number[strspn(number, "0123456789")])
		return;
	job->rank = (uint32_t)strtoul(number, NULL, 10);
	if (job->rank < KC_WORLD_MOST)
		job->known |= KC_JOB_RANK;
	job->world_size = p->world_size;
	if (job->rank < p->world_size && p->world_size <= KC_WORLD_MOST)
		job->known |= KC_JOB_WORLD_SIZE;
}

void kc__import_process_header(const struct kc__import_file *file, const struct kc__import_process *p,
			       struct kc_journal_header *h)
{
	memset(h, 0, sizeof(*h));
	h->pid = p->pid;
	h->pid_start = p->number; /* several of a trace may have the same pid */
	h->monotonic_ns = KC_TRACE_ORIGIN_NS;
	h->realtime_ns = file->realtime_ns;
	h->ended_ns = p->last_ns;
	set_clock(file, p, h);
	snprintf(h->run_token, sizeof(h->run_token), "import-%016" PRIx64, file->run);
	snprintf(h->measure, sizeof(h->measure), "all");
	snprintf(h->source, sizeof(h->source), "%s", file->source);
	snprintf(h->command_line, sizeof(h->command_line), "%s", p->name);
	h->command_line_bytes = (uint32_t)strlen(h->command_line) + 1;
	set_rank(p, &h->job);
	h->counters[KC_COUNT_CALLS] = p->kernels;
	h->counters[KC_COUNT_CUPTI_RECORDS] = p->kernels;
	h->counters[KC_COUNT_CUPTI_MATCHED] = p->kernels - p->untimed_kernels;
	h->counters[KC_COUNT_CUPTI_UNMATCHED] = p->untimed_kernels;
	h->counters[KC_COUNT_CUPTI_INVALID] = p->untimed_kernels;
	h->counters[KC_COUNT_TRANSFER_RECORDS] = p->transfers;
}

int kc__import_declare(struct kc__import_process *p, uint32_t id)
{
	size_t word = id / 64;

	if (KC_ROOM(p->declared, p->declared_words, word))
		return -ENOMEM;
	if (p->declared[word] >> (id % 64) & 1)
		return 0;
	p->declared[word] |= UINT64_C(1) << (id % 64);
	return 1;
}

struct kc_slot *kc__import_enqueue(struct kc__import_process *p)
{
	if (KC_ROOM(p->queue, p->capacity, p->queued))
		return NULL;
	memset(&p->queue[p->queued], 0, sizeof(*p->queue));
	return &p->queue[p->queued++];
}

int kc__import_put_entry(struct kc__import_process *p, uint32_t kind, const void *payload, size_t bytes)
{
	enum { ROOM = sizeof(((struct kc_slot *)0)->part.payload) };
	size_t count = (bytes + ROOM - 1) / ROOM;

	for (size_t i = 0; i < count; i++) {
		size_t part = bytes - i * ROOM < ROOM ? bytes - i * ROOM : ROOM;
		struct kc_slot *slot = kc__import_enqueue(p);

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
