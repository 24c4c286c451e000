#include "filter.h"
#include "names.h"
#include "query.h"
#include "rows.h"
#include "steps/range_match.h"
#include "steps/steps.h"
#include "store/common/ids/ids.h"
#include "store/database/internal.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL "SELECT name, mangled FROM kernel WHERE id = ?1"
#define STREAM                                                                                                         \
	"SELECT " KC__STREAM_NUMBER ", s.kind = 'legacy', s.thread NOT NULL FROM stream s"                             \
	" JOIN process p ON p.id = s.process WHERE s.id = ?1"
/* ?1: device_key() */
#define DEVICE                                                                                                         \
	"SELECT min(" KC__GPU_NUMBER "), d.place, d.uuid, p.host FROM process_device x JOIN device d"                  \
	" ON d.id = x.device JOIN process p ON p.id = x.process WHERE x.process = ?1 >> 32 AND x.device = ?1 & "       \
	"0xFFFFFFFF"
#define PROCESSES                                                                                                      \
	"SELECT p.id, p.pid, p.started_ns - f.first_ns, p.command_line, 'pid ' || p.pid, " KC__PROCESS_NAME            \
	", " KC__RANK_NAME ", 'rank ' || p.rank, p.rank FROM process p"                                                \
	" JOIN (SELECT run, min(started_ns) AS first_ns FROM process GROUP BY run) f ON f.run = p.run"

/* Kernels or streams, each read when it is met. */
struct verdicts {
	struct kc_ids ids;
	struct kc__list matches; /* char, by the numbers of ids less 1 */
	const char *sql;         /* a row by its id */
	sqlite3_stmt *row;
	int (*is_match)(const struct kc_filter_choice *choice, sqlite3_stmt *row);
};

struct process {
	int64_t offset_ns; /* its start, from that of its run */
	int matches;
};

struct kc_filter {
	const struct kc_filter_choice *choice;
	struct kc_store *store;
	struct verdicts kernels, streams, devices;
	struct kc_ids process_ids;
	struct kc__list processes; /* struct process, by the numbers of process_ids less 1 */
	struct kc_known_steps *steps;
	struct kc_range_match *ranges;
	struct kc_filter_counts counts;
};

/* --- what was asked for */

int kc_filter_regex(struct kc_filter_regex *regex, const char *text, char *why, size_t why_size)
{
	int rc;

	if (regex->text)
		regfree(&regex->compiled);
	regex->text = NULL;
	rc = regcomp(&regex->compiled, text, REG_EXTENDED | REG_NOSUB);
	if (rc) {
		regerror(rc, &regex->compiled, why, why_size);
		return -EINVAL;
	}
	regex->text = text;
	return 0;
}

void kc_filter_choice_free(struct kc_filter_choice *choice)
{
	if (choice->kernel.text)
		regfree(&choice->kernel.compiled);
	if (choice->exclude.text)
		regfree(&choice->exclude.compiled);
	if (choice->range.text)
		regfree(&choice->range.compiled);
	*choice = (struct kc_filter_choice){0};
}

static int asks_for_kernels(const struct kc_filter_choice *choice)
{
	return choice->kernel.text || choice->exclude.text;
}

static int asks_for_streams(const struct kc_filter_choice *choice)
{
	return choice->streams.count || choice->default_streams;
}

static int asks_for_processes(const struct kc_filter_choice *choice)
{
	return choice->processes.count || choice->process_names.count || choice->ranks.count;
}

static int asks_for_devices(const struct kc_filter_choice *choice)
{
	return choice->devices.count || choice->device_names.count;
}

static int asks_for_times(const struct kc_filter_choice *choice)
{
	return choice->since_ns || choice->until_ns;
}

int kc_filter_needs_launches(const struct kc_filter_choice *choice)
{
	return asks_for_streams(choice) || asks_for_processes(choice) || asks_for_devices(choice) ||
	       choice->steps.count || choice->range.text || asks_for_times(choice) || choice->min_ns;
}

int kc_filter_is_given(const struct kc_filter_choice *choice)
{
	return asks_for_kernels(choice) || kc_filter_needs_launches(choice);
}

static int matches(const struct kc_filter_regex *regex, const char *name)
{
	return name && regexec(&regex->compiled, name, 0, NULL, 0) == 0;
}

int kc_filter_kernel(const struct kc_filter_choice *choice, const char *name, const char *mangled)
{
	const struct kc_filter_regex *kernel = &choice->kernel, *exclude = &choice->exclude;

	if (kernel->text && !matches(kernel, name) && !matches(kernel, mangled))
		return 0;
	return !exclude->text || (!matches(exclude, name) && !matches(exclude, mangled));
}

static int has(const struct kc_filter_numbers *numbers, int64_t number)
{
	for (uint32_t i = 0; i < numbers->count; i++)
		if (numbers->at[i] == number)
			return 1;
	return 0;
}

static int has_name(const struct kc_filter_names *names, const char *name)
{
	for (uint32_t i = 0; name && i < names->count; i++)
		if (strlen(name) == names->each[i].length && !memcmp(name, names->each[i].at, names->each[i].length))
			return 1;
	return 0;
}

/* --- kernels, streams, devices and processes. row: NULL where the database has none */

static int is_kernel(const struct kc_filter_choice *choice, sqlite3_stmt *row)
{
	return kc_filter_kernel(choice, row ? (const char *)sqlite3_column_text(row, 0) : NULL,
				row ? (const char *)sqlite3_column_text(row, 1) : NULL);
}

static int is_stream(const struct kc_filter_choice *choice, sqlite3_stmt *row)
{
	int is_legacy = row && sqlite3_column_int(row, 1);

	if (!row)
		return 0;
	if (choice->default_streams && (is_legacy || sqlite3_column_int(row, 2)))
		return 1;
	return !is_legacy && has(&choice->streams, sqlite3_column_int64(row, 0));
}

/* "GPU-0f3e1122", or more of it; hyphens do not matter. */
static int begins_uuid(const char *name, size_t length, const char *uuid)
{
	static const char prefix[] = "GPU-";
	size_t at = strlen(prefix);

	if (length <= at || memcmp(name, prefix, at) != 0)
		return 0;
	for (; at < length; at++)
		if (name[at] != '-' && (!*uuid || tolower((unsigned char)name[at]) != *uuid++))
			return 0;
	return 1;
}

/* A GPU in a process, which has an ordinal of its own for it. */
static int64_t device_key(const struct kc_filter_launch *l)
{
	return (int64_t)((uint64_t)l->process << 32 | (uint32_t)l->device);
}

/* "GPU-0f3e1122", or "GPU 0 (GPU-0f3e1122)", of which the ordinal may be another process's. */
static int is_uuid(const char *name, size_t length, const char *uuid)
{
	const char *bracket = memchr(name, '(', length);

	if (!bracket || name[length - 1] != ')')
		return begins_uuid(name, length, uuid);
	return begins_uuid(bracket + 1, (size_t)(name + length - 1 - (bracket + 1)), uuid);
}

static int is_device(const struct kc_filter_choice *choice, sqlite3_stmt *row)
{
	char gpu[32], of[KC_GPU_NAME_BYTES];
	const char *place, *uuid, *host;
	int64_t ordinal;

	if (!row || sqlite3_column_type(row, 0) == SQLITE_NULL)
		return 0;
	ordinal = sqlite3_column_int64(row, 0);
	place = (const char *)sqlite3_column_text(row, 1);
	uuid = (const char *)sqlite3_column_text(row, 2);
	host = (const char *)sqlite3_column_text(row, 3);
	if (has(&choice->devices, ordinal))
		return 1;
	snprintf(gpu, sizeof(gpu), "GPU %lld", (long long)ordinal);
	snprintf(of, sizeof(of), "%s of %.100s", gpu, place && *place ? place : host ? host : "");
	for (uint32_t i = 0; uuid && i < choice->device_names.count; i++)
		if (is_uuid(choice->device_names.each[i].at, choice->device_names.each[i].length, uuid))
			return 1;
	return has_name(&choice->device_names, gpu) || has_name(&choice->device_names, of);
}

/* Reads the verdict on an id that is met for the first time. 0 or -errno. */
static int read_verdict(struct kc_filter *f, struct verdicts *of, int64_t id)
{
	char *verdict;
	int rc = SQLITE_OK;

	if (!of->row)
		rc = sqlite3_prepare_v2(f->store->db, of->sql, -1, &of->row, NULL);
	if (rc != SQLITE_OK)
		return kc__errno(f->store->db, rc);
	verdict = kc__list_add(&of->matches, sizeof(*verdict));
	if (!verdict)
		return -ENOMEM;
	sqlite3_bind_int64(of->row, 1, id);
	rc = sqlite3_step(of->row);
	*verdict = (char)of->is_match(f->choice, rc == SQLITE_ROW ? of->row : NULL);
	rc = kc__errno(f->store->db, rc);
	sqlite3_reset(of->row);
	return rc;
}

/* Returns 1 if the id matches, 0 if it does not, or -errno. */
static int verdict_on(struct kc_filter *f, struct verdicts *of, int64_t id)
{
	uint32_t number = kc_ids_number(&of->ids, id);
	int rc = number ? 0 : -ENOMEM;

	if (number > of->matches.count)
		rc = read_verdict(f, of, id);
	return rc ? rc : ((const char *)of->matches.at)[number - 1];
}

static int add_process(sqlite3_stmt *row, void *arg)
{
	struct kc_filter *f = arg;
	uint32_t number = kc_ids_number(&f->process_ids, sqlite3_column_int64(row, 0));
	struct process *process;

	if (number && number <= f->processes.count) /* twice, in a damaged database */
		return 0;
	process = number ? kc__list_add(&f->processes, sizeof(*process)) : NULL;
	if (!process)
		return -ENOMEM;
	process->matches = !(f->choice->processes.count || f->choice->process_names.count) ||
			   has(&f->choice->processes, sqlite3_column_int64(row, 1));
	for (int name = 3; name <= 7; name++)
		process->matches |= has_name(&f->choice->process_names, (const char *)sqlite3_column_text(row, name));
	if (f->choice->ranks.count)
		process->matches &=
		    sqlite3_column_type(row, 8) != SQLITE_NULL && has(&f->choice->ranks, sqlite3_column_int64(row, 8));
	process->offset_ns = sqlite3_column_int64(row, 2);
	return 0;
}

static struct process process_of(const struct kc_filter *f, int64_t id)
{
	uint32_t number = kc_ids_find(&f->process_ids, id);

	if (number)
		return ((const struct process *)f->processes.at)[number - 1];
	return (struct process){.matches = !asks_for_processes(f->choice)};
}

static int is_in_time(const struct kc_filter_choice *choice, int64_t ns)
{
	return (!choice->since_ns || ns >= choice->since_ns) && (!choice->until_ns || ns < choice->until_ns);
}

static int is_asked(const struct kc_filter_spans *asked, const struct kc_step *step, enum kc_step_level level)
{
	for (uint32_t i = 0; i < asked->count; i++)
		if (asked->each[i].level == level && step->number >= asked->each[i].first &&
		    step->number <= asked->each[i].last)
			return 1;
	return 0;
}

/* 1, 0 or -errno. */
static int is_step(struct kc_filter *f, int64_t process, int64_t launched_ns)
{
	struct kc_steps_of of;
	int rc = kc_known_steps(f->steps, process, &of);

	for (int level = 0; rc == 0 && level < KC_STEP_LEVELS; level++) {
		const struct kc_step *step = kc_step_of_call(&of, level, launched_ns);

		rc = step && is_asked(&f->choice->steps, step, level);
	}
	return rc;
}

int kc_filter_step(const struct kc_filter *f, const struct kc_step *step, enum kc_step_level level)
{
	struct process process;

	if (!f)
		return 1;
	process = process_of(f, step->process);
	return process.matches && is_in_time(f->choice, kc_plus_ns(step->start_ns, process.offset_ns)) &&
	       (!f->choice->steps.count || is_asked(&f->choice->steps, step, level));
}

/* --- launches */

/* Returns 1 if the launch matches the filter, 0 if it does not, or -errno. The cheapest conditions come first. */
static int decide(struct kc_filter *f, const struct kc_filter_launch *l)
{
	const struct kc_filter_choice *choice = f->choice;
	const struct process process = process_of(f, l->process);
	int rc = 1;

	if (choice->min_ns && l->measured_ns < choice->min_ns)
		return 0;
	if (!process.matches || !is_in_time(choice, kc_plus_ns(l->launched_ns, process.offset_ns)))
		return 0;
	if (choice->steps.count)
		rc = is_step(f, l->process, l->launched_ns);
	if (rc > 0 && asks_for_streams(choice))
		rc = verdict_on(f, &f->streams, l->stream);
	if (rc > 0 && asks_for_devices(choice))
		rc = verdict_on(f, &f->devices, device_key(l));
	if (rc > 0 && asks_for_kernels(choice))
		rc = verdict_on(f, &f->kernels, l->kernel);
	if (rc > 0 && choice->range.text)
		rc = kc_range_match(f->ranges, l->id);
	return rc;
}

int kc_filter_matches(struct kc_filter *f, const struct kc_filter_launch *l)
{
	int rc = f ? decide(f, l) : 1;

	if (f) {
		f->counts.launches++;
		f->counts.matching += rc > 0;
	}
	return rc;
}

struct kc_filter_counts kc_filter_counted(const struct kc_filter *f)
{
	return f->counts;
}

enum kc_steps_are kc_filter_steps_are(const struct kc_filter *f)
{
	return f->steps ? kc_known_steps_are(f->steps) : KC_STEPS_ARE_NOT_ASKED;
}

int kc_filter_row(struct kc_filter *f, sqlite3_stmt *row, int first)
{
	const struct kc_filter_launch launch = {
	    .process = sqlite3_column_int64(row, first),
	    .stream = sqlite3_column_int64(row, first + 1),
	    .kernel = sqlite3_column_int64(row, first + 2),
	    .launched_ns = sqlite3_column_int64(row, first + 3),
	    .measured_ns = sqlite3_column_int64(row, first + 4),
	    .device = sqlite3_column_int64(row, first + 5),
	    .id = sqlite3_column_int64(row, first + 6),
	};

	return f ? decide(f, &launch) : 1;
}

int kc_filter_process(const struct kc_filter *f, int64_t id)
{
	return !f || process_of(f, id).matches;
}

static int row_matches(sqlite3_stmt *row, void *arg)
{
	return kc_filter_row(arg, row, 0);
}

int kc_filter_any(struct kc_filter *f, const struct kc_selection *selection)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT p.id, r.stream, s.kernel, r.launched, r.measured_span, s.device, r.id"
		 " FROM process p CROSS JOIN launch_row r"
		 " LEFT JOIN shape s ON s.id = r.shape WHERE p.run BETWEEN ?1 AND ?2 AND p.id BETWEEN 0 AND %lld"
		 " AND r.id BETWEEN p.id << %d AND p.id << %d | %lld",
		 (long long)KC_PROCESS_MAX, KC_SEQUENCE_BITS, KC_SEQUENCE_BITS, (long long)KC_SEQUENCE_MASK);
	return kc__select(f->store, selection, sql, row_matches, f);
}

/* --- making one */

int kc_filter_new(const struct kc_filter_choice *choice, struct kc_store *s, struct kc_filter **out)
{
	struct kc_filter *f;
	int rc = 0;

	*out = NULL;
	if (!kc_filter_is_given(choice))
		return 0;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->choice = choice;
	f->store = s;
	f->kernels = (struct verdicts){.sql = KERNEL, .is_match = is_kernel};
	f->streams = (struct verdicts){.sql = STREAM, .is_match = is_stream};
	f->devices = (struct verdicts){.sql = DEVICE, .is_match = is_device};
	if (asks_for_processes(choice) || asks_for_times(choice))
		rc = kc__select(s, NULL, PROCESSES, add_process, f);
	if (rc == 0 && choice->steps.count)
		rc = kc_known_steps_new(s, &f->steps);
	if (rc == 0 && choice->range.text)
		rc = kc_range_match_new(s, &choice->range.compiled, &f->ranges);
	if (rc) {
		kc_filter_free(f);
		return rc;
	}
	*out = f;
	return 0;
}

static void free_verdicts(struct verdicts *verdicts)
{
	kc_ids_free(&verdicts->ids);
	free(verdicts->matches.at);
	sqlite3_finalize(verdicts->row);
}

void kc_filter_free(struct kc_filter *f)
{
	if (!f)
		return;
	free_verdicts(&f->kernels);
	free_verdicts(&f->streams);
	free_verdicts(&f->devices);
	kc_ids_free(&f->process_ids);
	free(f->processes.at);
	kc_known_steps_free(f->steps);
	kc_range_match_free(f->ranges);
	free(f);
}

const struct kc_filter_choice *kc_filter_choice_of(const struct kc_filter *f)
{
	return f->choice;
}
