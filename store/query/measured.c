#include "measured.h"
#include "kernel_form.h"
#include "names.h"
#include "query.h"
#include "store/common/ids/ids.h"
#include "store/database/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kc_measured_kernel *kc_measured_kernel(const struct kc_measured_names *names, uint32_t kernel)
{
	return (const struct kc_measured_kernel *)names->kernels.at + kernel;
}

const struct kc_measured_shape *kc_measured_shape(const struct kc_measured_names *names, uint32_t shape)
{
	return (const struct kc_measured_shape *)names->shapes.at + shape;
}

void kc_measured_names_free(struct kc_measured_names *names)
{
	struct kc_measured_kernel *kernels = names->kernels.at;

	for (size_t i = 0; i < names->kernels.count; i++) {
		free(kernels[i].mangled);
		free(kernels[i].name);
	}
	free(kernels);
	free(names->shapes.at);
	free(names->kernel_places.at);
	free(names->forms.at);
	for (size_t i = 0; i < names->processes.count; i++)
		free(((char **)names->processes.at)[i]);
	free(names->processes.at);
	kc_intern_free(&names->process_ids);
	kc_intern_free(&names->form_ids);
	kc_intern_free(&names->kernel_ids);
	kc_intern_free(&names->shape_ids);
	kc_intern_free(&names->argument_ids);
	kc_intern_free(&names->model_ids);
	*names = (struct kc_measured_names){0};
}

void kc_measured_run_free(struct kc_measured_run *run)
{
	free(run->command_line);
	free(run->devices);
	free(run->launches.at);
	free(run->moments.at);
	free(run->codes.at);
	*run = (struct kc_measured_run){0};
}

/* 0: no memory. */
static uint32_t add_kernel(struct kc_measured_names *names, const char *mangled, const char *name)
{
	struct kc_measured_kernel *kernel = kc__list_add(&names->kernels, sizeof(*kernel));

	if (!kernel)
		return 0;
	kernel->mangled = strdup(mangled);
	kernel->name = strdup(name);
	return kernel->mangled && kernel->name ? (uint32_t)names->kernels.count : 0;
}

/* Of a kernel whose readable name alone was known. */
static uint32_t know_symbol(struct kc_measured_names *names, uint32_t number, const char *mangled)
{
	struct kc_measured_kernel *kernel = (struct kc_measured_kernel *)names->kernels.at + number - 1;
	char *symbol = strdup(mangled);

	if (!symbol)
		return 0;
	free(kernel->mangled);
	kernel->mangled = symbol;
	return number;
}

/* The number of a form; 0: no memory. */
static uint32_t form_number(struct kc_measured_names *names, char kind, const char *text, size_t bytes)
{
	uint32_t number = kc_intern(&names->form_ids, kind, text, bytes);

	if (number > names->forms.count && !kc__list_add(&names->forms, sizeof(struct kc_measured_form)))
		return 0;
	return number;
}

static uint32_t either(uint32_t first, uint32_t second)
{
	return first ? first : second;
}

/* The kernel that has this name already, in another spelling. Notes the kernel under its forms, which gets the number
 * `next` if there is none. 0: no memory. */
static uint32_t same_kernel(struct kc_measured_names *names, const char *name, int is_symbol, uint32_t next)
{
	struct kc_kernel_form form;
	struct kc_measured_form *whole, *named;
	uint32_t whole_number, named_number, found, *first;

	kc_kernel_form(name, &form);
	whole_number = form_number(names, 'w', form.text, strlen(form.text));
	named_number = whole_number ? form_number(names, 'n', form.text, form.named) : 0;
	if (!named_number)
		return 0;
	whole = (struct kc_measured_form *)names->forms.at + whole_number - 1;
	named = (struct kc_measured_form *)names->forms.at + named_number - 1;
	if (form.is_generic) {
		found = either(either(named->symbol, named->text), either(named->generic, next));
		named->generic = either(named->generic, found);
		return found;
	}
	if (is_symbol && whole->symbol) /* several symbols may read the same */
		found = next;
	else
		found = either(either(whole->symbol, whole->text), either(named->symbol ? 0 : named->generic, next));
	first = is_symbol ? &whole->symbol : &whole->text;
	*first = either(*first, found);
	first = is_symbol ? &named->symbol : &named->text;
	*first = either(*first, found);
	return found;
}

static int place_kernel(struct kc_measured_names *names, const char *mangled, const char *name)
{
	uint32_t *place = kc__list_add(&names->kernel_places, sizeof(*place)), found;
	int is_symbol = !strncmp(mangled, "_Z", 2);

	if (!place)
		return -ENOMEM;
	found = same_kernel(names, name, is_symbol, (uint32_t)names->kernels.count + 1);
	if (found > names->kernels.count)
		found = add_kernel(names, mangled, name);
	else if (found && is_symbol)
		found = know_symbol(names, found, mangled);
	if (!found)
		return -ENOMEM;
	*place = found - 1;
	return 0;
}

int kc_measured_kernel_number(struct kc_measured_names *names, const char *mangled, const char *name, uint32_t *out)
{
	uint32_t number = kc_intern(&names->kernel_ids, 'k', mangled, strlen(mangled));
	int rc = number ? 0 : -ENOMEM;

	if (rc == 0 && number > names->kernel_places.count)
		rc = place_kernel(names, mangled, name);
	if (rc == 0)
		*out = ((const uint32_t *)names->kernel_places.at)[number - 1];
	return rc;
}

/* A new kernel with this name. name: taken; NULL: no memory. */
static int another_kernel(struct kc_measured_names *names, uint32_t kernel, char *name, uint32_t *out)
{
	char *mangled = name ? strdup(kc_measured_kernel(names, kernel)->mangled) : NULL;
	uint32_t number = mangled ? add_kernel(names, mangled, name) : 0;

	free(mangled);
	free(name);
	*out = number - 1;
	return number ? 0 : -ENOMEM;
}

int kc_measured_kernel_on(struct kc_measured_names *names, uint32_t kernel, uint32_t process, uint32_t *out)
{
	char *name = NULL;

	if (asprintf(&name, "%s on %s", kc_measured_kernel(names, kernel)->name,
		     process ? ((char *const *)names->processes.at)[process - 1] : "other processes") < 0)
		name = NULL;
	return another_kernel(names, kernel, name, out);
}

int kc_measured_kernel_was(struct kc_measured_names *names, uint32_t kernel, unsigned long number, uint32_t *out)
{
	char *name = NULL;

	if (asprintf(&name, "%s (was _%lu)", kc_measured_kernel(names, kernel)->name, number) < 0)
		name = NULL;
	return another_kernel(names, kernel, name, out);
}

int kc_measured_shape_number(struct kc_measured_names *names, const struct kc_measured_shape *shape, uint32_t *out)
{
	uint32_t number = kc_intern(&names->shape_ids, 's', shape, sizeof(*shape));
	struct kc_measured_shape *kept;

	if (!number)
		return -ENOMEM;
	if (number > names->shapes.count) {
		kept = kc__list_add(&names->shapes, sizeof(*kept));
		if (!kept)
			return -ENOMEM;
		*kept = *shape;
	}
	*out = number - 1;
	return 0;
}

/* In the order of their calls. */
#define LAUNCHES(more, joined)                                                                                         \
	"SELECT l.shape, l.stream, measured_span, l.flags, l.arguments, launched" more " FROM launch_row l" joined     \
	" WHERE l.id BETWEEN ?1 AND ?2 AND coalesce(result, 0) = 0 ORDER BY l.id"
#define CLOCK_SHIFT 32          /* of the number of a clock, above the id of a device */
struct shape {                  /* of the database */
	int64_t place;          /* in names->shapes, or less than 0 */
	int64_t kernel, device; /* rows */
};

struct reader {
	struct kc_store *store;
	struct kc_measured_names *names;
	struct kc_filter *filter;
	struct kc_measured_run *run;
	sqlite3_stmt *launches, *shape;
	struct kc_ids shape_ids, stream_ids, device_ids;
	int moments;
	int64_t started_ns, clock;     /* of the process that is being read */
	uint16_t process;              /* likewise: as in kc_measured_launch */
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

static int add_moment(struct reader *r, int matches)
{
	struct kc_measured_moment *moment = kc__list_add(&r->run->moments, sizeof(*moment));

	if (!moment)
		return -ENOMEM;
	moment->id = sqlite3_column_int64(r->launches, 6);
	moment->matches = matches;
	moment->start_ns = kc_plus_ns(
	    r->started_ns, kc_plus_ns(sqlite3_column_int64(r->launches, 5), sqlite3_column_int64(r->launches, 7)));
	if (sqlite3_column_type(r->launches, 8) == SQLITE_NULL)
		return 0;
	moment->device = kc_ids_number(&r->device_ids, r->clock << CLOCK_SHIFT ^ sqlite3_column_int64(r->launches, 8));
	return moment->device ? 0 : -ENOMEM;
}

/* 1, 0 or -errno. */
static int matches(struct reader *r, int64_t process, const struct shape *shape)
{
	const struct kc_filter_launch launch = {
	    .process = process,
	    .stream = sqlite3_column_int64(r->launches, 1),
	    .kernel = shape->kernel,
	    .device = shape->device,
	    .launched_ns = sqlite3_column_int64(r->launches, 5),
	    .measured_ns = sqlite3_column_int64(r->launches, 2),
	};

	return kc_filter_matches(r->filter, &launch);
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
	launch->process = r->process;
	launch->overlap =
	    (uint8_t)(sqlite3_column_int64(r->launches, 3) >> KC_FLAG_OVERLAP_SHIFT & KC_FLAG_OVERLAP_MASK);
	if (sqlite3_column_type(r->launches, 1) != SQLITE_NULL) {
		launch->stream = kc_ids_number(&r->stream_ids, sqlite3_column_int64(r->launches, 1));
		if (!launch->stream)
			return -ENOMEM;
	}
	return r->moments ? add_moment(r, is_match) : 0;
}

static int name_process(struct reader *r, const char *name)
{
	uint32_t number;
	char **kept;

	r->process = 0;
	if (!*name)
		return 0;
	number = kc_intern(&r->names->process_ids, 'p', name, strlen(name));
	if (number > r->names->processes.count) {
		kept = kc__list_add(&r->names->processes, sizeof(*kept));
		if (!kept || !(*kept = strdup(name)))
			return -ENOMEM;
	}
	r->process = number <= UINT16_MAX ? (uint16_t)number : 0;
	return number ? 0 : -ENOMEM;
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
	r->started_ns = sqlite3_column_int64(process, 1);
	r->clock = sqlite3_column_int64(process, 2);
	rc = name_process(r, text_or_empty(process, 3));
	if (rc == 0)
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
			 struct kc_filter *filter, struct kc_measured_run *run)
{
	const struct kc_selection only = {id, id};
	struct reader r = {.store = s, .names = names, .filter = filter, .run = run, .moments = moments};
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
		rc = kc__errno(s->db, sqlite3_prepare_v2(s->db,
							 moments ? LAUNCHES(", l.id, measured_wait, s.device",
									    " LEFT JOIN shape s ON s.id = l.shape")
								 : LAUNCHES("", ""),
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
		rc = kc__select(s, &only,
				"SELECT id, started_ns, dense_rank() OVER (ORDER BY boot_id),"
				" iif(count(*) OVER (PARTITION BY command_line) = 1, command_line, NULL)"
				" FROM process p WHERE run BETWEEN ?1 AND ?2 AND EXISTS (SELECT 1 FROM launch_row"
				" WHERE id BETWEEN p.id << 40 AND p.id << 40 | 1099511627775) ORDER BY id",
				read_process, &r);
	run->streams = r.stream_ids.count;
	sqlite3_finalize(r.launches);
	sqlite3_finalize(r.shape);
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
	return 0;
}

int kc_measured_origin(struct kc_store *s, int64_t id, struct kc_measured_origin *out)
{
	const struct kc_selection this = {id, id};

	*out = (struct kc_measured_origin){.process = id >> KC_SEQUENCE_BITS, .sequence = id & KC_SEQUENCE_MASK};
	return kc__select(s, &this,
			  "SELECT p.pid, " KC__STREAM_NUMBER " FROM launch_row l LEFT JOIN stream s ON s.id = l.stream"
			  " LEFT JOIN process p ON p.id = l.id >> 40 WHERE l.id BETWEEN ?1 AND ?2",
			  read_origin, out);
}
