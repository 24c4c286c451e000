#include "measured.h"
#include "names.h"
#include "query.h"
#include "steps/steps.h"
#include "store/common/ids/ids.h"
#include "store/database/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void kc_measured_run_free(struct kc_measured_run *run)
{
	free(run->command_line);
	free(run->devices);
	free(run->launches.at);
	free(run->moments.at);
	free(run->codes.at);
	*run = (struct kc_measured_run){0};
}

/* In the order of their calls. */
#define LAUNCHES(more)                                                                                                 \
	"SELECT shape, stream, measured_span, flags, arguments, launched, id" more " FROM launch_row"                  \
	" WHERE id BETWEEN ?1 AND ?2 AND coalesce(result, 0) = 0 ORDER BY id"
#define LAUNCHED(p)                                                                                                    \
	"EXISTS (SELECT 1 FROM launch_row WHERE id BETWEEN " p ".id << 40 AND " p ".id << 40 | 1099511627775)"
/* Of the processes that launched kernels: each with its name, if it is its own in the run, the number of GPUs that it
 * used, and how many processes there are. */
#define PROCESSES                                                                                                      \
	"SELECT id, started_ns, dense_rank() OVER (ORDER BY boot_id), CASE WHEN rank NOT NULL AND count(*) OVER"       \
	" (PARTITION BY rank) = 1 THEN 'rank ' || rank WHEN count(*) OVER (PARTITION BY command_line) = 1 THEN"        \
	" command_line END, (SELECT count(DISTINCT device) FROM stream WHERE process = p.id), count(*) OVER ()"        \
	" FROM process p WHERE run BETWEEN ?1 AND ?2 AND " LAUNCHED("p") " ORDER BY id"
enum { PROCESS_NAME = 3, PROCESS_GPUS, PROCESS_COUNT };
/* Of the GPUs that they used: the first and the last process that did. */
#define USERS                                                                                                          \
	"SELECT s.device, min(p.id), max(p.id) FROM process p JOIN stream s ON s.process = p.id"                       \
	" WHERE p.run BETWEEN ?1 AND ?2 AND typeof(s.device) = 'integer' AND " LAUNCHED("p") " GROUP BY s.device"
#define CLOCK_SHIFT 32          /* of the number of a clock, above the id of a device */
struct shape {                  /* of the database */
	int64_t place;          /* in names->shapes, or less than 0 */
	int64_t kernel, device; /* rows */
	int has_device;
};

struct users { /* of a GPU: rows of processes */
	int64_t first, last;
};

struct reader {
	struct kc_store *store;
	struct kc_measured_names *names;
	struct kc_filter *filter;
	struct kc_measured_run *run;
	sqlite3_stmt *launches, *shape;
	struct kc_ids shape_ids, stream_ids, device_ids;
	int moments;
	const struct kc_measured_steps *steps;
	struct kc_steps_of of;         /* of the process that is being read */
	int64_t started_ns, clock;     /* of the process that is being read */
	sqlite3_stmt *process;         /* likewise: its row of PROCESSES */
	struct kc_ids place_ids;       /* likewise: its GPUs */
	struct kc__list places;        /* by their numbers less 1: uint16_t, as kc_measured_launch.process */
	struct kc_ids used_ids;        /* GPUs */
	struct kc__list users;         /* by their numbers less 1: struct users */
	struct kc__list shapes;        /* struct shape, by the numbers of shape_ids less 1 */
	struct kc_ids local_arguments; /* of the process that is being read */
	struct kc__list arguments;     /* by their numbers less 1: uint32_t, a number of names->argument_ids */
};

static const char *text_or_empty(sqlite3_stmt *row, int i)
{
	const char *text = (const char *)sqlite3_column_text(row, i);

	return text ? text : "";
}

/* The GPU's model, where it is known and models are told apart. */
static int name_model(struct reader *r, int column, uint32_t *model)
{
	const char *name = (const char *)sqlite3_column_text(r->shape, column);

	if (!r->moments || !name)
		return 0;
	*model = kc_intern(&r->names->model_ids, 'm', name, strlen(name));
	return *model ? 0 : -ENOMEM;
}

static int note_code(struct reader *r, uint32_t shape)
{
	struct kc_measured_code *code = kc__list_add(&r->run->codes, sizeof(*code));

	if (!code)
		return -ENOMEM;
	*code = (struct kc_measured_code){shape, sqlite3_column_int64(r->shape, 12),
					  (uint32_t)sqlite3_column_int64(r->shape, 13),
					  (uint32_t)sqlite3_column_int64(r->shape, 14)};
	return 0;
}

/* -ENOENT: the database has no such row. */
static int shape_of_row(struct reader *r, int64_t id, uint32_t *out, struct shape *row)
{
	struct kc_measured_shape shape = {0};
	int rc;

	sqlite3_bind_int64(r->shape, 1, id);
	rc = sqlite3_step(r->shape);
	if (rc != SQLITE_ROW) {
		sqlite3_reset(r->shape);
		return rc == SQLITE_DONE ? -ENOENT : kc__errno(r->store->db, rc);
	}
	for (int i = 0; i < 3; i++) {
		shape.grid[i] = (uint32_t)sqlite3_column_int64(r->shape, 2 + i);
		shape.block[i] = (uint32_t)sqlite3_column_int64(r->shape, 5 + i);
	}
	shape.dynamic_shared_bytes = (uint32_t)sqlite3_column_int64(r->shape, 8);
	row->kernel = sqlite3_column_int64(r->shape, 9);
	row->device = sqlite3_column_int64(r->shape, 11);
	row->has_device = sqlite3_column_type(r->shape, 11) != SQLITE_NULL;
	rc = kc_measured_kernel_number(r->names, text_or_empty(r->shape, 0), text_or_empty(r->shape, 1), &shape.kernel);
	if (rc == 0)
		rc = name_model(r, 10, &shape.model);
	if (rc == 0)
		rc = kc_measured_shape_number(r->names, &shape, out);
	if (rc == 0)
		rc = note_code(r, *out);
	sqlite3_reset(r->shape);
	return rc;
}

static int find_shape(struct reader *r, int64_t id, struct shape *out)
{
	uint32_t number = kc_ids_number(&r->shape_ids, id), place = 0;
	struct shape *shape;
	int rc;

	if (!number)
		return -ENOMEM;
	if (number > r->shapes.count) {
		shape = kc__list_add(&r->shapes, sizeof(*shape));
		if (!shape)
			return -ENOMEM;
		rc = shape_of_row(r, id, &place, shape);
		if (rc < 0 && rc != -ENOENT)
			return rc;
		shape->place = rc == 0 ? (int64_t)place : -1;
	}
	*out = ((const struct shape *)r->shapes.at)[number - 1];
	return 0;
}

static int read_arguments(sqlite3_stmt *row, void *arg)
{
	struct reader *r = arg;
	const char *text = text_or_empty(row, 1);
	uint32_t local = kc_ids_number(&r->local_arguments, sqlite3_column_int64(row, 0)), *number;

	if (!local)
		return -ENOMEM;
	if (local <= r->arguments.count)
		return 0;
	number = kc__list_add(&r->arguments, sizeof(*number));
	if (!number)
		return -ENOMEM;
	*number = kc_intern(&r->names->argument_ids, 'a', text, strlen(text));
	return *number ? 0 : -ENOMEM;
}

static uint32_t arguments_of(const struct reader *r, sqlite3_stmt *row, int i)
{
	uint32_t local = sqlite3_column_type(row, i) == SQLITE_NULL
			     ? 0
			     : kc_ids_find(&r->local_arguments, sqlite3_column_int64(row, i));

	return local ? ((const uint32_t *)r->arguments.at)[local - 1] : 0;
}

static int add_moment(struct reader *r, const struct shape *shape, int matches)
{
	struct kc_measured_moment *moment = kc__list_add(&r->run->moments, sizeof(*moment));

	if (!moment)
		return -ENOMEM;
	moment->id = sqlite3_column_int64(r->launches, 6);
	moment->matches = matches;
	moment->launched_ns = sqlite3_column_int64(r->launches, 5);
	moment->start_ns =
	    kc_plus_ns(r->started_ns, kc_plus_ns(moment->launched_ns, sqlite3_column_int64(r->launches, 7)));
	if (!shape->has_device)
		return 0;
	moment->device = kc_ids_number(&r->device_ids, r->clock << CLOCK_SHIFT ^ shape->device);
	return moment->device ? 0 : -ENOMEM;
}

/* 1, 0 or -errno. */
static int matches(struct reader *r, int64_t process, const struct shape *shape)
{
	const struct kc_filter_launch launch = {
	    .id = sqlite3_column_int64(r->launches, 6),
	    .process = process,
	    .stream = sqlite3_column_int64(r->launches, 1),
	    .kernel = shape->kernel,
	    .device = shape->device,
	    .launched_ns = sqlite3_column_int64(r->launches, 5),
	    .measured_ns = sqlite3_column_int64(r->launches, 2),
	};

	return kc_filter_matches(r->filter, &launch);
}

/* The number of a process of the names; 0 of too many. */
static int process_number(struct reader *r, const char *name, uint16_t *out)
{
	uint32_t number = kc_intern(&r->names->process_ids, 'p', name, strlen(name));
	char **kept;

	if (number > r->names->processes.count) {
		kept = kc__list_add(&r->names->processes, sizeof(*kept));
		if (!kept || !(*kept = strdup(name)))
			return -ENOMEM;
	}
	*out = number <= UINT16_MAX ? (uint16_t)number : 0;
	return number ? 0 : -ENOMEM;
}

static int add_users(sqlite3_stmt *row, void *arg)
{
	struct reader *r = arg;
	struct users *users = kc__list_add(&r->users, sizeof(*users));

	if (!users || !kc_ids_number(&r->used_ids, sqlite3_column_int64(row, 0)))
		return -ENOMEM;
	*users = (struct users){sqlite3_column_int64(row, 1), sqlite3_column_int64(row, 2)};
	return 0;
}

static int is_used_by_others(const struct reader *r, int64_t process, int64_t device)
{
	uint32_t number = kc_ids_find(&r->used_ids, device);
	const struct users *users;

	if (!number)
		return 0;
	users = (const struct users *)r->users.at + number - 1;
	return users->first != process || users->last != process;
}

/* What the process is called on one of its GPUs: by its name, unless it is the only one and used several GPUs; and by
 * the GPU, if it used several, or has no name and had that one to itself. */
static int name_place(struct reader *r, int64_t process, int64_t device, uint16_t *out)
{
	const struct kc_selection run = {r->run->id, r->run->id};
	int has_several = sqlite3_column_int64(r->process, PROCESS_GPUS) > 1,
	    has_name = sqlite3_column_type(r->process, PROCESS_NAME) != SQLITE_NULL,
	    is_only = sqlite3_column_int64(r->process, PROCESS_COUNT) == 1, rc = 0;
	char gpu[KC_GPU_NAME_BYTES] = "", *name = NULL;
	const char *own = has_name && !(has_several && is_only) ? text_or_empty(r->process, PROCESS_NAME) : "";

	*out = 0;
	if (has_several || (!has_name && !is_used_by_others(r, process, device)))
		rc = kc_gpu_name(r->store, &run, device, gpu);
	if (rc == 0 && asprintf(&name, "%s%s%s", own, *own && *gpu ? ", " : "", gpu) < 0) {
		name = NULL;
		rc = -ENOMEM;
	}
	if (rc == 0 && *name)
		rc = process_number(r, name, out);
	free(name);
	return rc;
}

static int find_place(struct reader *r, int64_t process, int64_t device, uint16_t *out)
{
	uint32_t number = kc_ids_number(&r->place_ids, device);
	uint16_t *place;
	int rc;

	if (!number)
		return -ENOMEM;
	if (number > r->places.count) {
		place = kc__list_add(&r->places, sizeof(*place));
		rc = place ? name_place(r, process, device, place) : -ENOMEM;
		if (rc < 0)
			return rc;
	}
	*out = ((const uint16_t *)r->places.at)[number - 1];
	return 0;
}

static void note_step(struct reader *r, struct kc_measured_launch *launch)
{
	enum kc_step_level level = r->steps->level;
	const struct kc_step *step = kc_step_of_call(&r->of, level, sqlite3_column_int64(r->launches, 5));

	launch->in_step = step && kc_filter_step(r->filter, step, level);
	if (!r->of.count[level])
		r->run->without_steps_ns += (double)launch->ns;
}

static int add_launch(struct reader *r, int64_t process)
{
	struct kc_measured_launch *launch;
	struct shape shape;
	int64_t ns = sqlite3_column_int64(r->launches, 2);
	int rc = find_shape(r, sqlite3_column_int64(r->launches, 0), &shape), is_match;

	if (rc < 0)
		return rc;
	if (shape.place < 0) {
		r->run->unknown++;
		return 0;
	}
	is_match = matches(r, process, &shape);
	if (is_match < 0)
		return is_match;
	launch = kc__list_add(&r->run->launches, sizeof(*launch));
	if (!launch)
		return -ENOMEM;
	launch->shape = (uint32_t)shape.place;
	launch->arguments = arguments_of(r, r->launches, 4);
	launch->ns = (is_match || r->moments) && ns > 0 && ns <= KC_MEASURED_MAX_NS ? ns : 0;
	launch->overlap =
	    (uint8_t)(sqlite3_column_int64(r->launches, 3) >> KC_FLAG_OVERLAP_SHIFT & KC_FLAG_OVERLAP_MASK);
	if (sqlite3_column_type(r->launches, 1) != SQLITE_NULL) {
		launch->stream = kc_ids_number(&r->stream_ids, sqlite3_column_int64(r->launches, 1));
		if (!launch->stream)
			return -ENOMEM;
	}
	if (r->steps)
		note_step(r, launch);
	rc = find_place(r, process, shape.device, &launch->process);
	return rc == 0 && r->moments ? add_moment(r, &shape, is_match) : rc;
}

static int begin_steps(struct reader *r, int64_t process)
{
	enum kc_step_level level = r->steps->level;
	int rc = kc_known_steps(r->steps->known, process, &r->of);

	if (rc)
		return rc;
	for (size_t i = 0; i < r->of.count[level]; i++)
		r->run->steps += (uint64_t)kc_filter_step(r->filter, r->of.at[level] + i, level);
	if (r->of.are > r->run->steps_are)
		r->run->steps_are = r->of.are;
	return 0;
}

static int read_process(sqlite3_stmt *process, void *arg)
{
	struct reader *r = arg;
	int64_t id = sqlite3_column_int64(process, 0);
	const struct kc_selection this = {id, id};
	int rc, step;

	if (id < 0 || id > KC_PROCESS_MAX)
		return 0;
	kc_ids_clear(&r->local_arguments);
	r->arguments.count = 0;
	r->process = process;
	r->started_ns = sqlite3_column_int64(process, 1);
	r->clock = sqlite3_column_int64(process, 2);
	kc_ids_clear(&r->place_ids);
	r->places.count = 0;
	if (sqlite3_column_int64(process, PROCESS_GPUS) > r->run->gpus)
		r->run->gpus = (uint32_t)sqlite3_column_int64(process, PROCESS_GPUS);
	rc = r->steps ? begin_steps(r, id) : 0;
	if (rc)
		return rc;
	rc = kc__select(r->store, &this, "SELECT local, text FROM arguments WHERE process BETWEEN ?1 AND ?2",
			read_arguments, r);
	sqlite3_bind_int64(r->launches, 1, id << KC_SEQUENCE_BITS);
	sqlite3_bind_int64(r->launches, 2, id << KC_SEQUENCE_BITS | KC_SEQUENCE_MASK);
	step = SQLITE_DONE;
	while (rc == 0 && (step = sqlite3_step(r->launches)) == SQLITE_ROW)
		rc = add_launch(r, id);
	if (rc == 0)
		rc = kc__errno(r->store->db, step);
	sqlite3_reset(r->launches);
	return rc;
}

static int read_run(sqlite3_stmt *row, void *arg)
{
	struct kc_measured_run *run = arg;

	free(run->command_line);
	free(run->devices);
	run->id = sqlite3_column_int64(row, 0);
	run->started_unix_ns = sqlite3_column_int64(row, 1);
	run->command_line = kc__column_text(row, 2);
	run->simulated = sqlite3_column_int(row, 3) != 0;
	run->devices = kc__column_text(row, 4);
	return run->command_line && run->devices ? 0 : -ENOMEM;
}

int kc_measured_run_read(struct kc_store *s, int64_t id, int moments, struct kc_measured_names *names,
			 struct kc_filter *filter, const struct kc_measured_steps *steps, struct kc_measured_run *run)
{
	const struct kc_selection only = {id, id};
	struct reader r = {
	    .store = s, .names = names, .filter = filter, .run = run, .moments = moments, .steps = steps};
	int rc;

	*run = (struct kc_measured_run){0};
	rc = kc__select(s, &only,
			"SELECT id, started_unix_ns, coalesce(source, command_line), simulated,"
			" (SELECT group_concat(name, ', ') FROM (SELECT DISTINCT name FROM device WHERE id IN"
			" (SELECT device FROM process_device d JOIN process p ON p.id = d.process WHERE p.run = r.id)"
			" ORDER BY name)) FROM run r WHERE id BETWEEN ?1 AND ?2",
			read_run, run);
	if (rc == 0 && !run->command_line)
		rc = -ENOENT;
	if (rc == 0)
		rc = kc__errno(s->db, sqlite3_prepare_v2(s->db, moments ? LAUNCHES(", measured_wait") : LAUNCHES(""),
							 -1, &r.launches, NULL));
	if (rc == 0)
		rc = kc__errno(s->db,
			       sqlite3_prepare_v2(s->db,
						  "SELECT coalesce(k.mangled, 'unknown'),"
						  " coalesce(k.name, 'unknown'), s.grid_x, s.grid_y, s.grid_z,"
						  " s.block_x, s.block_y, s.block_z, s.dynamic_shared_bytes, s.kernel,"
						  " d.name, s.device, k.code_hash, k.registers, k.static_shared_bytes "
						  "FROM shape s LEFT JOIN kernel k ON k.id = s.kernel"
						  " LEFT JOIN device d ON d.id = s.device"
						  " WHERE s.id = ?1",
						  -1, &r.shape, NULL));
	if (rc == 0)
		rc = kc__select(s, &only, USERS, add_users, &r);
	if (rc == 0)
		rc = kc__select(s, &only, PROCESSES, read_process, &r);
	run->streams = r.stream_ids.count;
	sqlite3_finalize(r.launches);
	sqlite3_finalize(r.shape);
	kc_ids_free(&r.place_ids);
	free(r.places.at);
	kc_ids_free(&r.used_ids);
	free(r.users.at);
	kc_ids_free(&r.shape_ids);
	kc_ids_free(&r.stream_ids);
	kc_ids_free(&r.device_ids);
	kc_ids_free(&r.local_arguments);
	free(r.arguments.at);
	free(r.shapes.at);
	if (rc < 0)
		kc_measured_run_free(run);
	return rc;
}

struct found {
	int64_t *ids;
	int count;
};

static int keep_id(sqlite3_stmt *row, void *arg)
{
	struct found *found = arg;

	found->ids[found->count++] = sqlite3_column_int64(row, 0);
	return 0;
}

int kc_measured_earlier(struct kc_store *s, int64_t last, int64_t *ids, int most)
{
	struct found found = {ids, 0};
	const struct kc_selection selection = {last, most};
	int rc = kc__select(s, &selection,
			    "SELECT e.id FROM run e JOIN run l ON e.command_line IS l.command_line"
			    " AND e.source IS l.source WHERE l.id = ?1 AND e.id < ?1"
			    " AND EXISTS (SELECT 1 FROM rollup o WHERE o.run = e.id AND o.measured > 0)"
			    " ORDER BY e.id DESC LIMIT ?2",
			    keep_id, &found);

	for (int i = 0; rc == 0 && i < found.count / 2; i++) {
		int64_t kept = ids[i];

		ids[i] = ids[found.count - 1 - i];
		ids[found.count - 1 - i] = kept;
	}
	return rc < 0 ? rc : found.count;
}

int kc_measured_before(struct kc_store *s, int64_t last, int64_t *id)
{
	struct found found = {id, 0};
	const struct kc_selection selection = {last, last};
	int rc =
	    kc__select(s, &selection, "SELECT id FROM run WHERE id < ?1 ORDER BY id DESC LIMIT 1", keep_id, &found);

	return rc < 0 ? rc : found.count;
}

static int read_launches(sqlite3_stmt *row, void *arg)
{
	int64_t launches = sqlite3_column_int64(row, 0);

	*(uint64_t *)arg = launches > 0 ? (uint64_t)launches : 0;
	return 0;
}

int kc_measured_launches(struct kc_store *s, int64_t run, uint64_t *launches)
{
	const struct kc_selection only = {run, run};

	*launches = 0;
	return kc__select(s, &only, "SELECT total(launches) FROM rollup WHERE run BETWEEN ?1 AND ?2", read_launches,
			  launches);
}

static int read_origin(sqlite3_stmt *row, void *arg)
{
	struct kc_measured_origin *out = arg;

	out->pid = sqlite3_column_int64(row, 0);
	out->stream = sqlite3_column_int64(row, 1);
	out->device = sqlite3_column_int64(row, 2);
	return 0;
}

int kc_measured_origin(struct kc_store *s, int64_t id, struct kc_measured_origin *out)
{
	const struct kc_selection this = {id, id};

	*out = (struct kc_measured_origin){.process = id >> KC_SEQUENCE_BITS, .sequence = id & KC_SEQUENCE_MASK};
	return kc__select(s, &this,
			  "SELECT p.pid, " KC__STREAM_NUMBER
			  ", s.device FROM launch_row l LEFT JOIN stream s ON s.id = l.stream"
			  " LEFT JOIN process p ON p.id = l.id >> 40 WHERE l.id BETWEEN ?1 AND ?2",
			  read_origin, out);
}
