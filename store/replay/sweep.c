#include "sweep.h"
#include "store/database/internal.h"
#include "store/query/problem.h"
#include "store/query/rows.h"

#include "predictor/solo/forecast.h"
#include "store/query/query.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- from launches */

struct collected_shape {
	struct kc_sweep_point point; /* without size and time */
	struct kc_problem_row problem;
};

struct collected_launch {
	const struct kc_sweep_point *point;
	uint32_t shape; /* number */
	double ns;
};

struct collector {
	struct kc__list kernels, points;
	struct kc__list shapes, launches; /* of the last kernel */
	struct kc_device_row *devices;
	size_t device_count;
	int simulated;
};

enum {
	MODULE,
	NAME,
	DEVICE,
	BLOCK,
	GRID = BLOCK + 3,
	ARGUMENTS = GRID + 3,
	REGISTERS,
	SHARED,
	BLOCKS_PER_SM,
	TIME,
	SIMULATED
};

/* Before it: told(run, kernel, size), what a step of an experiment gave its program as size, where that launched the
 * kernel in one shape only. */
static const char launches[] =
    " SELECT k.module, k.name, l.device, l.block_x, l.block_y, l.block_z, l.grid_x, l.grid_y, l.grid_z,"
    " coalesce(t.size, l.arguments), k.registers, k.static_shared_bytes + l.dynamic_shared_bytes,"
    " coalesce(l.blocks_per_sm, 0), l.measured_end_ns - l.measured_start_ns AS ns, l.simulated"
    " FROM launch l JOIN kernel k ON k.id = l.kernel LEFT JOIN told t ON t.run = l.run AND t.kernel = l.kernel"
    " WHERE ns > 0 AND l.overlapped = 0 AND l.device IS NOT NULL AND (k.module, k.name) IN"
    " (SELECT k2.module, k2.name FROM shape s JOIN kernel k2 ON k2.id = s.kernel GROUP BY k2.module, k2.name, s.device"
    " HAVING count(DISTINCT s.block_x || '.' || s.block_y || '.' || s.block_z) > 1)"
    " ORDER BY k.module, k.name, l.device, l.block_x, l.block_y, l.block_z, l.grid_x, l.grid_y, l.grid_z, l.arguments";

static const char told_by_steps[] =
    "WITH told(run, kernel, size) AS (SELECT u.id, s.kernel,"
    " CAST(CAST(substr(min(e.step), instr(min(e.step), '--size ') + length('--size ')) AS INTEGER) AS TEXT)"
    " FROM experiment_step e JOIN run u ON u.token = e.token JOIN process p ON p.run = u.id"
    " JOIN launch_row r ON r.id >> 40 = p.id JOIN shape s ON s.id = r.shape WHERE instr(e.step, '--size ') > 0"
    " GROUP BY u.id, s.kernel HAVING count(DISTINCT s.id) = 1)";
static const char told_by_none[] = "WITH told(run, kernel, size) AS (SELECT NULL, NULL, NULL WHERE 0)";

static int is_text(const char *text, sqlite3_stmt *row, int i)
{
	const char *other = (const char *)sqlite3_column_text(row, i);

	return !strcmp(text, other ? other : "");
}

static int same_kernel(const struct kc_sweep_kernel *kernel, sqlite3_stmt *row)
{
	return is_text(kernel->module, row, MODULE) && is_text(kernel->name, row, NAME);
}

static uint32_t occupancy(const struct collector *c, const struct kc_sweep_point *point)
{
	struct kc_resources resources = {.registers = point->registers, .static_shared_bytes = point->shared_bytes};
	struct kc_shape shape = {.grid = {1, 1, 1}};
	struct kc_work work;

	memcpy(shape.block, point->block, sizeof(shape.block));
	for (size_t i = 0; i < c->device_count; i++)
		if (c->devices[i].id == point->device && kc_device_is_possible(&c->devices[i].device) &&
		    kc_work_init(&work, &c->devices[i].device, &resources, &shape, 0) == 0)
			return work.blocks_per_sm;
	return 0;
}

/* The order of kc_sweeps within a kernel. */
static int compare_points(const struct kc_sweep_point *a, const struct kc_sweep_point *b)
{
	uint64_t x = (uint64_t)a->block[0] * a->block[1] * a->block[2],
		 y = (uint64_t)b->block[0] * b->block[1] * b->block[2];

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	if (x != y)
		return x < y ? -1 : 1;
	for (int i = 0; i < 3; i++)
		if (a->block[i] != b->block[i])
			return a->block[i] < b->block[i] ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

static int by_point_and_time(const void *a, const void *b)
{
	const struct collected_launch *x = a, *y = b;
	int order = compare_points(x->point, y->point);

	return order ? order : x->ns < y->ns ? -1 : x->ns > y->ns;
}

static int find_sizes(struct collector *c)
{
	struct collected_shape *shapes = c->shapes.at;
	size_t count = c->shapes.count, kept = 0;
	struct kc_problem_row *problems = malloc(count * sizeof(*problems));
	int rc;

	if (!problems)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		problems[i] = shapes[i].problem;
	qsort(problems, count, sizeof(*problems), kc_problem_order);
	for (size_t i = 0; i < count; i++)
		if (!kept || kc_problem_order(&problems[kept - 1], &problems[i]))
			problems[kept++] = problems[i];
	rc = kc_problems_find(problems, kept);
	for (size_t i = 0; i < count && !rc; i++) {
		const struct kc_problem_row *found =
		    bsearch(&shapes[i].problem, problems, kept, sizeof(*problems), kc_problem_order);

		shapes[i].point.size = found->size;
	}
	free(problems);
	return rc;
}

static int add_medians(struct collector *c, struct collected_launch *at, size_t count)
{
	for (size_t from = 0, to; from < count; from = to) {
		struct kc_sweep_point *added = kc__list_add(&c->points, sizeof(*added));

		if (!added)
			return -ENOMEM;
		*added = *at[from].point;
		for (to = from; to < count && !compare_points(at[to].point, at[from].point);)
			to++;
		added->launches = (uint32_t)(to - from);
		added->ns = (at[from + (to - from - 1) / 2].ns + at[from + (to - from) / 2].ns) / 2;
		if (!added->blocks_per_sm)
			added->blocks_per_sm = occupancy(c, added);
	}
	return 0;
}

static int close_kernel(struct collector *c)
{
	const struct collected_shape *shapes = c->shapes.at;
	struct collected_launch *at = c->launches.at;
	size_t count = c->launches.count;
	int rc;

	if (!count)
		return 0;
	rc = find_sizes(c);
	if (rc)
		return rc;
	for (size_t i = 0; i < count; i++)
		at[i].point = &shapes[at[i].shape].point;
	qsort(at, count, sizeof(*at), by_point_and_time);
	rc = add_medians(c, at, count);
	c->shapes.count = c->launches.count = 0;
	return rc;
}

static int note_kernel(struct collector *c, sqlite3_stmt *row)
{
	struct kc_sweep_kernel *kernels = c->kernels.at, *added;
	int rc;

	if (c->kernels.count && same_kernel(&kernels[c->kernels.count - 1], row))
		return 0;
	rc = close_kernel(c);
	if (rc)
		return rc;
	added = kc__list_add(&c->kernels, sizeof(*added));
	if (!added)
		return -ENOMEM;
	added->module = kc__column_text(row, MODULE);
	added->name = kc__column_text(row, NAME);
	return added->module && added->name ? 0 : -ENOMEM;
}

static void read_shape(const struct collector *c, sqlite3_stmt *row, struct collected_shape *shape)
{
	*shape = (struct collected_shape){.point = {
					      .kernel = (uint32_t)(c->kernels.count - 1),
					      .device = sqlite3_column_int64(row, DEVICE),
					      .registers = (uint32_t)sqlite3_column_int64(row, REGISTERS),
					      .shared_bytes = (uint32_t)sqlite3_column_int64(row, SHARED),
					      .blocks_per_sm = (uint32_t)sqlite3_column_int64(row, BLOCKS_PER_SM),
					  }};
	for (int i = 0; i < 3; i++) {
		shape->problem.block[i] = shape->point.block[i] = (uint32_t)sqlite3_column_int64(row, BLOCK + i);
		shape->problem.grid[i] = (uint32_t)sqlite3_column_int64(row, GRID + i);
	}
	kc_problem_read(&shape->problem, (const char *)sqlite3_column_text(row, ARGUMENTS));
}

static int add_launch(sqlite3_stmt *row, void *arg)
{
	struct collector *c = arg;
	const struct collected_shape *shapes;
	struct collected_shape shape, *added;
	struct collected_launch *launch;
	int rc = note_kernel(c, row);

	if (rc)
		return rc;
	read_shape(c, row, &shape);
	c->simulated |= sqlite3_column_int(row, SIMULATED);
	shapes = c->shapes.at;
	if (!c->shapes.count || shapes[c->shapes.count - 1].point.device != shape.point.device ||
	    kc_problem_order(&shapes[c->shapes.count - 1].problem, &shape.problem)) {
		added = kc__list_add(&c->shapes, sizeof(*added));
		if (!added)
			return -ENOMEM;
		*added = shape;
	}
	launch = kc__list_add(&c->launches, sizeof(*launch));
	if (!launch)
		return -ENOMEM;
	launch->shape = (uint32_t)(c->shapes.count - 1);
	launch->ns = sqlite3_column_double(row, TIME);
	return 0;
}

static struct kc_sweeps *hand_over(struct kc__list *kernels, struct kc__list *points, int simulated)
{
	struct kc_sweeps *sweeps = calloc(1, sizeof(*sweeps));

	if (!sweeps)
		return NULL;
	sweeps->kernels = kernels->at;
	sweeps->kernel_count = kernels->count;
	sweeps->points = points->at;
	sweeps->point_count = points->count;
	sweeps->simulated = simulated;
	*kernels = *points = (struct kc__list){0};
	return sweeps;
}

static void free_kernels(struct kc_sweep_kernel *kernels, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		free(kernels[i].module);
		free(kernels[i].name);
	}
	free(kernels);
}

static int has_steps(struct kc_store *s)
{
	return sqlite3_table_column_metadata(s->db, "main", "experiment_step", "step", NULL, NULL, NULL, NULL, NULL) ==
	       SQLITE_OK;
}

int kc_sweeps_collect(struct kc_store *s, struct kc_sweeps **out)
{
	struct collector c = {.simulated = 0};
	char sql[sizeof(launches) + sizeof(told_by_steps)];
	int rc = kc_query_devices(s, &c.devices, &c.device_count);

	snprintf(sql, sizeof(sql), "%s%s", has_steps(s) ? told_by_steps : told_by_none, launches);
	for (size_t i = 0; i < c.device_count; i++)
		kc_device_complete(&c.devices[i].device);
	if (!rc)
		rc = kc__select(s, NULL, sql, add_launch, &c);
	if (!rc)
		rc = close_kernel(&c);
	if (!rc) {
		*out = hand_over(&c.kernels, &c.points, c.simulated);
		rc = *out ? 0 : -ENOMEM;
	}
	free_kernels(c.kernels.at, c.kernels.count);
	free(c.points.at);
	free(c.shapes.at);
	free(c.launches.at);
	free(c.devices);
	return rc;
}

void kc_sweeps_free(struct kc_sweeps *sweeps)
{
	if (!sweeps)
		return;
	free_kernels(sweeps->kernels, sweeps->kernel_count);
	free(sweeps->points);
	free(sweeps);
}

/* --- stored */

struct sweep_reader {
	struct kc__list kernels, points;
	int simulated;
};

static int add_kernel(sqlite3_stmt *row, void *arg)
{
	struct sweep_reader *reader = arg;
	struct kc_sweep_kernel *kernel = kc__list_add(&reader->kernels, sizeof(*kernel));

	if (!kernel)
		return -ENOMEM;
	kernel->id = sqlite3_column_int64(row, 0);
	kernel->module = kc__column_text(row, 1);
	kernel->name = kc__column_text(row, 2);
	reader->simulated |= sqlite3_column_int(row, 3);
	return kernel->module && kernel->name ? 0 : -ENOMEM;
}

static int add_point(sqlite3_stmt *row, void *arg)
{
	struct sweep_reader *reader = arg;
	const struct kc_sweep_kernel *kernels = reader->kernels.at;
	struct kc_sweep_point *point;
	uint32_t kernel = 0;
	int column = 1;

	while (kernel < reader->kernels.count && kernels[kernel].id != sqlite3_column_int64(row, 0))
		kernel++;
	if (kernel == reader->kernels.count)
		return 0;
	point = kc__list_add(&reader->points, sizeof(*point));
	if (!point)
		return -ENOMEM;
	point->kernel = kernel;
	point->device = sqlite3_column_int64(row, column++);
	for (int i = 0; i < 3; i++)
		point->block[i] = (uint32_t)sqlite3_column_int64(row, column++);
	point->size = sqlite3_column_double(row, column++);
	point->ns = sqlite3_column_double(row, column++);
	point->launches = (uint32_t)sqlite3_column_int64(row, column++);
	point->blocks_per_sm = (uint32_t)sqlite3_column_int64(row, column++);
	point->registers = (uint32_t)sqlite3_column_int64(row, column++);
	point->shared_bytes = (uint32_t)sqlite3_column_int64(row, column);
	return 0;
}

int kc_sweeps_read(struct kc_store *s, struct kc_sweeps **out)
{
	struct sweep_reader reader = {.simulated = 0};
	int rc = kc__select(s, NULL, "SELECT id, module, name, simulated FROM sweep_kernel ORDER BY id", add_kernel,
			    &reader);

	if (!rc)
		rc = kc__select(
		    s, NULL,
		    "SELECT kernel, device, block_x, block_y, block_z, size, ns, launches, blocks_per_sm,"
		    " registers, shared_bytes FROM sweep ORDER BY kernel, device, block_x * block_y * block_z,"
		    " block_x, block_y, size",
		    add_point, &reader);
	if (!rc) {
		*out = hand_over(&reader.kernels, &reader.points, reader.simulated);
		rc = *out ? 0 : -ENOMEM;
	}
	free_kernels(reader.kernels.at, reader.kernels.count);
	free(reader.points.at);
	return rc;
}

static int store_kernels(sqlite3 *db, sqlite3_stmt *add, const struct kc_sweeps *sweeps)
{
	int rc = SQLITE_DONE;

	for (size_t i = 0; i < sweeps->kernel_count && rc == SQLITE_DONE; i++) {
		sqlite3_bind_int64(add, 1, (int64_t)i + 1);
		sqlite3_bind_text(add, 2, sweeps->kernels[i].module, -1, SQLITE_STATIC);
		sqlite3_bind_text(add, 3, sweeps->kernels[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_int(add, 4, sweeps->simulated);
		rc = sqlite3_step(add);
		sqlite3_reset(add);
	}
	return rc == SQLITE_DONE ? 0 : kc__errno(db, rc);
}

static int store_points(sqlite3 *db, sqlite3_stmt *add, const struct kc_sweeps *sweeps)
{
	int rc = SQLITE_DONE;

	for (size_t i = 0; i < sweeps->point_count && rc == SQLITE_DONE; i++) {
		const struct kc_sweep_point *point = &sweeps->points[i];

		sqlite3_bind_int64(add, 1, (int64_t)point->kernel + 1);
		sqlite3_bind_int64(add, 2, point->device);
		for (int axis = 0; axis < 3; axis++)
			sqlite3_bind_int64(add, 3 + axis, point->block[axis]);
		sqlite3_bind_double(add, 6, point->size);
		sqlite3_bind_double(add, 7, point->ns);
		sqlite3_bind_int64(add, 8, point->launches);
		sqlite3_bind_int64(add, 9, point->blocks_per_sm);
		sqlite3_bind_int64(add, 10, point->registers);
		sqlite3_bind_int64(add, 11, point->shared_bytes);
		rc = sqlite3_step(add);
		sqlite3_reset(add);
	}
	return rc == SQLITE_DONE ? 0 : kc__errno(db, rc);
}

static int store_basis(sqlite3 *db, sqlite3_stmt *add, const struct kc_stored_basis *basis)
{
	int rc = SQLITE_DONE;

	for (uint32_t i = 0; i < basis->basis.components && rc == SQLITE_DONE; i++)
		for (uint32_t c = 0; c < basis->basis.columns && rc == SQLITE_DONE; c++) {
			sqlite3_bind_int64(add, 1, i + 1);
			sqlite3_bind_int64(add, 2, basis->threads[c]);
			sqlite3_bind_double(add, 3, basis->basis.vectors[i][c]);
			sqlite3_bind_double(add, 4, basis->basis.values[i]);
			rc = sqlite3_step(add);
			sqlite3_reset(add);
		}
	return rc == SQLITE_DONE ? 0 : kc__errno(db, rc);
}

static int store_training(sqlite3 *db, sqlite3_stmt *add, const struct kc_stored_basis *basis)
{
	struct timespec now;
	int rc;

	clock_gettime(CLOCK_REALTIME, &now);
	sqlite3_bind_int64(add, 1, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	sqlite3_bind_int64(add, 2, basis->rows);
	sqlite3_bind_int64(add, 3, basis->kernels);
	sqlite3_bind_int64(add, 4, basis->k);
	if (isnan(basis->error))
		sqlite3_bind_null(add, 5);
	else
		sqlite3_bind_double(add, 5, basis->error);
	rc = sqlite3_step(add);
	sqlite3_reset(add);
	return rc == SQLITE_DONE ? 0 : kc__errno(db, rc);
}

enum { ADD_KERNEL, ADD_POINT, ADD_VECTOR, ADD_TRAINING, ADDERS };

static const char *const adders[ADDERS] = {
    [ADD_KERNEL] = "INSERT INTO sweep_kernel(id, module, name, simulated) VALUES(?1, ?2, ?3, ?4)",
    [ADD_POINT] = ("INSERT INTO sweep(kernel, device, block_x, block_y, block_z, size, ns, launches, blocks_per_sm,"
		   " registers, shared_bytes) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"),
    [ADD_VECTOR] = "INSERT INTO basis(component, threads, value, singular) VALUES(?1, ?2, ?3, ?4)",
    [ADD_TRAINING] = "INSERT INTO basis_training(time_unix_ns, rows, kernels, k, error) VALUES(?1, ?2, ?3, ?4, ?5)",
};

int kc_sweeps_store(struct kc_store *s, const struct kc_sweeps *sweeps, const struct kc_stored_basis *basis)
{
	sqlite3_stmt *add[ADDERS] = {NULL};
	int rc, error;

	rc = sqlite3_exec(s->db,
			  "BEGIN IMMEDIATE; DELETE FROM sweep; DELETE FROM sweep_kernel; DELETE FROM basis;"
			  " DELETE FROM basis_training",
			  NULL, NULL, NULL);
	for (int i = 0; i < ADDERS && rc == SQLITE_OK; i++)
		rc = sqlite3_prepare_v2(s->db, adders[i], -1, &add[i], NULL);
	error = rc == SQLITE_OK ? 0 : kc__errno(s->db, rc);
	if (!error)
		error = store_kernels(s->db, add[ADD_KERNEL], sweeps);
	if (!error)
		error = store_points(s->db, add[ADD_POINT], sweeps);
	if (!error && basis)
		error = store_basis(s->db, add[ADD_VECTOR], basis);
	if (!error && basis)
		error = store_training(s->db, add[ADD_TRAINING], basis);
	for (int i = 0; i < ADDERS; i++)
		sqlite3_finalize(add[i]);
	rc = sqlite3_exec(s->db, error ? "ROLLBACK" : "COMMIT", NULL, NULL, NULL);
	return error ? error : rc == SQLITE_OK ? 0 : kc__errno(s->db, rc);
}

static int read_training(sqlite3_stmt *row, void *arg)
{
	struct kc_stored_basis *out = arg;

	out->rows = (uint32_t)sqlite3_column_int64(row, 1);
	out->kernels = (uint32_t)sqlite3_column_int64(row, 2);
	out->k = (uint32_t)sqlite3_column_int64(row, 3);
	out->error = sqlite3_column_type(row, 4) == SQLITE_NULL ? NAN : sqlite3_column_double(row, 4);
	return 0;
}

static int read_vector(sqlite3_stmt *row, void *arg)
{
	struct kc_stored_basis *out = arg;
	int64_t component = sqlite3_column_int64(row, 0); /* from 1 */
	uint32_t threads = (uint32_t)sqlite3_column_int64(row, 1), column = 0;

	while (column < out->basis.columns && out->threads[column] != threads)
		column++;
	if (component < 1 || component > KC_BASIS_COLUMNS || column == KC_BASIS_COLUMNS)
		return -EBADMSG;
	if (column == out->basis.columns)
		out->threads[out->basis.columns++] = threads;
	out->basis.vectors[component - 1][column] = sqlite3_column_double(row, 2);
	out->basis.values[component - 1] = sqlite3_column_double(row, 3);
	if (component > out->basis.components)
		out->basis.components = (uint32_t)component;
	return 0;
}

int kc_stored_basis_read(struct kc_store *s, struct kc_stored_basis *out)
{
	int rc;

	*out = (struct kc_stored_basis){0};
	rc =
	    kc__select(s, NULL, "SELECT time_unix_ns, rows, kernels, k, error FROM basis_training", read_training, out);
	if (!rc)
		rc = kc__select(s, NULL, "SELECT component, threads, value, singular FROM basis ORDER BY 1, 2",
				read_vector, out);
	if (rc)
		return rc;
	if (!out->basis.components)
		return -ENOENT;
	return out->k <= out->basis.components ? 0 : -EBADMSG;
}
