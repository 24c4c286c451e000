#include "store/database/calibration.h"
#include "replay_internal.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What stands for a device of which only a name is known: λ takes up its speed,
 * its SM count decides how kernels share it. */
#define ASSUMED "v100"

struct subject_table { /* by number, from 1 */
	void **at;
	size_t capacity;
};

struct kc__subject {
	struct kc_store *store;
	const struct kc_replay_options *options;
	regex_t exclude;
	struct kc_intern names;       /* codes ('c'), keys ('k'), shapes ('s') */
	struct subject_table by_name; /* what the names stand for */
	struct kc_ids shape_rows, board_rows;
	struct subject_table shapes; /* by number of the row: several rows may be one shape */
	struct subject_table given;  /* by name of row and arguments ('g'): likewise */
	struct subject_table boards; /* by number of the row */
	struct kc__cursor shape_row, kernel_row;
	struct kc_cells *cells;
	int error;
};

static int fail(struct kc__subject *subject, int error)
{
	if (!subject->error)
		subject->error = error;
	return error;
}

/* number 0: no memory. NULL: likewise */
static void **slot_of(struct kc__subject *subject, struct subject_table *table, uint32_t number)
{
	if (!number) {
		fail(subject, -ENOMEM);
		return NULL;
	}
	if (number >= table->capacity) {
		size_t capacity = 2 * (size_t)number + 64;
		void **grown = realloc(table->at, capacity * sizeof(*grown));

		if (!grown) {
			fail(subject, -ENOMEM);
			return NULL;
		}
		memset(grown + table->capacity, 0, (capacity - table->capacity) * sizeof(*grown));
		table->at = grown;
		table->capacity = capacity;
	}
	return &table->at[number];
}

/* The object of this name, made of zeros where it is new. */
static void *named(struct kc__subject *subject, char kind, const void *key, size_t key_bytes, size_t bytes, int *is_new)
{
	void **slot = slot_of(subject, &subject->by_name, kc_intern(&subject->names, kind, key, key_bytes));

	if (!slot)
		return NULL;
	*is_new = !*slot;
	if (!*slot)
		*slot = calloc(1, bytes);
	if (!*slot)
		fail(subject, -ENOMEM);
	return *slot;
}

/* Not calloc: what is forgotten must cost no more than what was touched. */
static struct kc_cells *cells_new(void)
{
	void *cells =
	    mmap(NULL, kc_cells_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (cells == MAP_FAILED)
		return NULL;
	kc_cells_init(cells);
	return cells;
}

static void cells_forget(struct kc_cells *cells)
{
	if (madvise(cells, kc_cells_bytes(), MADV_DONTNEED))
		memset(cells, 0, kc_cells_bytes());
	kc_cells_init(cells);
}

static int exclude(struct kc__subject *subject, const char *pattern, char *why, size_t why_size)
{
	int rc = regcomp(&subject->exclude, pattern, REG_EXTENDED | REG_NOSUB);

	if (rc)
		regerror(rc, &subject->exclude, why, why_size);
	return rc ? -EINVAL : 0;
}

struct kc__subject *kc__subject_new(struct kc_store *s, const struct kc_replay_options *options, char *why,
				    size_t why_size)
{
	struct kc__subject *subject = calloc(1, sizeof(*subject));

	if (!subject)
		return NULL;
	subject->store = s;
	subject->options = options;
	subject->cells = cells_new();
	if (!subject->cells)
		goto failed;
	if (options->exclude && exclude(subject, options->exclude, why, why_size))
		goto failed;
	return subject;
failed:
	if (subject->cells)
		munmap(subject->cells, kc_cells_bytes());
	free(subject);
	return NULL;
}

/* Objects made by named(), of this kind */
static void *object_of(const struct kc__subject *subject, size_t slot, char *kind)
{
	const struct kc_interned *name = &subject->names.slots[slot];

	if (!name->id || name->id >= subject->by_name.capacity)
		return NULL;
	*kind = name->at[0];
	return subject->by_name.at[name->id];
}

void kc__subject_free(struct kc__subject *subject)
{
	if (!subject)
		return;
	munmap(subject->cells, kc_cells_bytes());
	for (size_t i = 0; i < subject->names.capacity; i++) {
		char kind;
		void *object = object_of(subject, i, &kind);

		if (object && kind == 's')
			kc__past_free(&((struct kc__shape *)object)->past);
		if (object && kind == 'c')
			free((char *)((struct kc__code *)object)->identity.mangled);
		free(object);
	}
	for (size_t i = 0; i < subject->boards.capacity; i++)
		free(subject->boards.at[i]);
	free(subject->by_name.at);
	free(subject->shapes.at);
	free(subject->given.at);
	free(subject->boards.at);
	kc_ids_free(&subject->shape_rows);
	kc_ids_free(&subject->board_rows);
	kc__subject_leave(subject);
	kc_intern_free(&subject->names);
	if (subject->options->exclude)
		regfree(&subject->exclude);
	free(subject);
}

void kc__subject_leave(struct kc__subject *subject)
{
	sqlite3_finalize(subject->shape_row.stmt);
	sqlite3_finalize(subject->kernel_row.stmt);
	subject->shape_row.stmt = subject->kernel_row.stmt = NULL;
	subject->store = NULL;
}

void kc__subject_each(const struct kc__subject *subject, void (*fn)(struct kc__shape *shape, void *arg), void *arg)
{
	for (size_t i = 0; i < subject->names.capacity; i++) {
		char kind;
		void *object = object_of(subject, i, &kind);

		if (object && kind == 's')
			fn(object, arg);
	}
}

struct kc_cells *kc__subject_cells(const struct kc__subject *subject)
{
	return subject->cells;
}

int kc__subject_error(const struct kc__subject *subject)
{
	return subject->error;
}

static sqlite3_stmt *ask(struct kc__subject *subject, struct kc__cursor *cursor, const char *sql, int64_t id)
{
	int found;

	cursor->sql = sql;
	found = kc__cursor_to(subject->store->db, cursor, id);
	if (found < 0)
		fail(subject, found);
	return found > 0 ? cursor->stmt : NULL;
}

static void begin(struct kc__known *known, struct kc_lambda *parent)
{
	kc_lambda_init(&known->lambda, parent);
	known->belief = (struct kc_belief){0};
}

/* Boards */

/* What was recorded has what was calibrated before; of an imported device it is known by name, whenever that was. */
static void take_row(struct kc__subject *subject, struct kc__board *board, const struct kc_device_row *row)
{
	const struct kc_calibrated self = {.name = row->device.name};
	struct kc_calibration measured;

	board->info = row->device;
	if (!row->identified && kc_calibration_find(subject->store->db, &self, &measured) > 0)
		kc_device_calibrate(&board->info, &measured);
}

static void name_board(struct kc__subject *subject, struct kc__board *board, int64_t row)
{
	struct kc__cursor cursor = {0};
	sqlite3_stmt *found =
	    ask(subject, &cursor,
		"SELECT iif(trim(uuid, '0') = '', name, uuid), id FROM device WHERE id >= ?1 ORDER BY id", row);

	if (found && sqlite3_column_text(found, 0))
		snprintf(board->name, sizeof(board->name), "%s", (const char *)sqlite3_column_text(found, 0));
	sqlite3_finalize(cursor.stmt);
}

static void know_board(struct kc__subject *subject, struct kc__board *board, int64_t row)
{
	const struct kc_device *stand_in =
	    subject->options->device ? subject->options->device : kc_device_builtin(ASSUMED);
	struct kc_device_row device;
	int found = kc__query_device(subject->store, row, &device);

	if (found < 0)
		fail(subject, found);
	if (found > 0)
		take_row(subject, board, &device);
	name_board(subject, board, row);
	board->assumed = !kc__device_is_known(&board->info);
	if (board->assumed)
		snprintf(board->called, sizeof(board->called), "%s", board->info.name);
	else
		kc_device_complete(&board->info);
	board->impossible = row && (found <= 0 || (!board->assumed && !kc_device_is_possible(&board->info)));
	if (board->assumed || board->impossible) {
		board->info = *stand_in;
		kc_device_complete(&board->info);
	}
	begin(&board->known, NULL);
	kc_contention_init(&board->contention, NULL);
	kc_device_experience_init(&board->experience, subject->cells);
}

struct kc__board *kc__subject_board(struct kc__subject *subject, int64_t row)
{
	void **slot = slot_of(subject, &subject->boards, kc_ids_number(&subject->board_rows, row));

	if (!slot)
		return NULL;
	if (!*slot) {
		*slot = calloc(1, sizeof(struct kc__board));
		if (!*slot) {
			fail(subject, -ENOMEM);
			return NULL;
		}
		know_board(subject, *slot, row);
	}
	return *slot;
}

/* Kernels, keys, shapes */

enum { NAME, MANGLED, CODE_HASH, REGISTERS, STATIC_SHARED, LOCAL, MAX_THREADS }; /* columns */

static void read_code(struct kc__subject *subject, struct kc__code *code, sqlite3_stmt *row)
{
	const char *name = (const char *)sqlite3_column_text(row, NAME);
	const char *mangled = (const char *)sqlite3_column_text(row, MANGLED);

	code->resources = (struct kc_resources){
	    .registers = (uint32_t)sqlite3_column_int64(row, REGISTERS),
	    .static_shared_bytes = (uint32_t)sqlite3_column_int64(row, STATIC_SHARED),
	    .local_bytes = (uint32_t)sqlite3_column_int64(row, LOCAL),
	    .max_threads_per_block = (uint32_t)sqlite3_column_int64(row, MAX_THREADS),
	};
	code->identity = (struct kc_code_identity){
	    .mangled = strdup(mangled ? mangled : ""),
	    .code_hash = (uint64_t)sqlite3_column_int64(row, CODE_HASH),
	    .registers = code->resources.registers,
	    .static_shared_bytes = code->resources.static_shared_bytes,
	};
	if (!code->identity.mangled)
		fail(subject, -ENOMEM);
	if (subject->options->exclude && name)
		code->excluded = regexec(&subject->exclude, name, 0, NULL, 0) == 0;
}

static struct kc__code *code_of(struct kc__subject *subject, int64_t kernel, int64_t device, struct kc__board *board)
{
	int64_t key[2] = {kernel, device};
	int is_new;
	struct kc__code *code = named(subject, 'c', key, sizeof(key), sizeof(*code), &is_new);
	sqlite3_stmt *row;

	if (!code || !is_new)
		return code;
	code->board = board;
	kc_kernel_experience_init(&code->experience, &board->experience);
	row = ask(
	    subject, &subject->kernel_row,
	    "SELECT name, mangled, code_hash, registers, static_shared_bytes, local_bytes, max_threads_per_block, id"
	    " FROM kernel WHERE id >= ?1 ORDER BY id",
	    kernel);
	code->missing = !row;
	if (row)
		read_code(subject, code, row);
	return code;
}

/* λ's key: kernel, block shape, dynamic shared memory. */
static struct kc__known *key_of(struct kc__subject *subject, const struct kc__shape *shape, const struct kc_shape *dims)
{
	int64_t key[6] = {shape->kernel,  shape->device,  dims->block[0],
			  dims->block[1], dims->block[2], dims->dynamic_shared_bytes};
	int is_new;
	struct kc__known *known = named(subject, 'k', key, sizeof(key), sizeof(*known), &is_new);

	if (known && is_new)
		begin(known, &shape->board->known.lambda);
	return known;
}

static void name_shape(struct kc__shape *shape, const struct kc_shape *dims, const char *arguments)
{
	if (!shape->code->identity.mangled)
		return;
	shape->name = kc_launch_name(shape->code->identity.mangled, dims, arguments);
	shape->identity = kc_launch_identity(shape->name, &shape->code->identity, shape->board->name);
}

static void fill_shape(struct kc__subject *subject, struct kc__shape *shape, const struct kc_shape *dims,
		       const char *arguments, uint32_t blocks_per_sm)
{
	shape->unpredictable = KC_NO_ATTRIBUTES;
	shape->board = kc__subject_board(subject, shape->device);
	shape->code = shape->board ? code_of(subject, shape->kernel, shape->device, shape->board) : NULL;
	shape->key = shape->board ? key_of(subject, shape, dims) : NULL;
	if (!shape->board || !shape->code || !shape->key || shape->board->impossible || shape->code->missing)
		return;
	name_shape(shape, dims, arguments);
	begin(&shape->known, &shape->key->lambda);
	kc_contention_init(&shape->contention, &shape->board->contention);
	shape->unpredictable =
	    kc_work_init(&shape->work, &shape->board->info, &shape->code->resources, dims, blocks_per_sm) == 0
		? KC_PREDICTED
		: KC_DOES_NOT_FIT;
	shape->size = kc_scaling_size(&shape->work, dims);
}

struct shape_name {
	int64_t row[9];
	uint64_t arguments; /* hash; 0: not known */
};

static struct kc__shape *read_shape(struct kc__subject *subject, int64_t id, const char *arguments)
{
	sqlite3_stmt *row = ask(subject, &subject->shape_row,
				"SELECT kernel, device, grid_x, grid_y, grid_z, block_x, block_y, block_z,"
				" dynamic_shared_bytes, blocks_per_sm, id FROM shape WHERE id >= ?1 ORDER BY id",
				id);
	struct shape_name name = {{0}, 0};
	struct kc_shape dims = {.cluster_blocks = 0};
	uint32_t blocks_per_sm;
	struct kc__shape *shape;
	int is_new;

	if (!row)
		return NULL;
	for (int i = 0; i < 9; i++)
		name.row[i] = sqlite3_column_int64(row, i);
	name.arguments = arguments ? kc_fnv(KC_FNV_OFFSET, arguments, strlen(arguments)) : 0;
	blocks_per_sm = (uint32_t)sqlite3_column_int64(row, 9);
	for (int i = 0; i < 3; i++) {
		dims.grid[i] = (uint32_t)name.row[2 + i];
		dims.block[i] = (uint32_t)name.row[5 + i];
	}
	dims.dynamic_shared_bytes = (uint32_t)name.row[8];
	shape = named(subject, 's', &name, sizeof(name), sizeof(*shape), &is_new);
	if (!shape || !is_new)
		return shape;
	shape->dims = dims;
	shape->kernel = name.row[0];
	shape->device = name.row[1];
	shape->launched = arguments ? kc__subject_shape(subject, id, NULL) : shape;
	if (!shape->launched)
		return NULL;
	fill_shape(subject, shape, &dims, arguments, blocks_per_sm);
	return shape;
}

/* Where the shape of this row and these arguments is kept. */
static void **shape_slot(struct kc__subject *subject, int64_t row, const char *arguments)
{
	if (!arguments)
		return slot_of(subject, &subject->shapes, kc_ids_number(&subject->shape_rows, row));
	return slot_of(subject, &subject->given,
		       kc_intern_two(&subject->names, 'g', &row, sizeof(row), arguments, strlen(arguments)));
}

struct kc__shape *kc__subject_shape(struct kc__subject *subject, int64_t row, const char *arguments)
{
	void **slot = shape_slot(subject, row, arguments);
	struct kc__shape *shape = slot ? *slot : NULL;

	if (slot && !shape) {
		shape = read_shape(subject, row, arguments);
		*shape_slot(subject, row, arguments) = shape; /* tables may have moved */
	}
	return shape;
}

static void forget_code(struct kc__code *code)
{
	if (!code->measured)
		return;
	code->measured = 0;
	kc_kernel_experience_init(&code->experience, &code->board->experience);
	kc_scaling_init(&code->scaling);
}

static void forget_shape(struct kc__shape *shape)
{
	if (shape->repeats)
		kc__past_free(&shape->past);
	shape->repeats = 0;
	if (!shape->measured)
		return;
	shape->measured = shape->solos = 0;
	begin(&shape->known, &shape->key->lambda);
	kc_contention_init(&shape->contention, &shape->board->contention);
}

static void forget_shapes(struct kc__board *board)
{
	for (struct kc__shape *shape = board->measured; shape; shape = shape->next_measured) {
		forget_code(shape->code);
		begin(shape->key, &board->known.lambda);
		forget_shape(shape->launched);
		forget_shape(shape);
	}
	board->measured = NULL;
}

/* Names stay with their ids, so what is forgotten is only what was learned. */
void kc__subject_forget(struct kc__subject *subject)
{
	cells_forget(subject->cells);
	for (size_t i = 0; i < subject->boards.capacity; i++) {
		struct kc__board *board = subject->boards.at[i];

		if (!board)
			continue;
		forget_shapes(board);
		begin(&board->known, NULL);
		kc_contention_init(&board->contention, NULL);
		kc_device_experience_init(&board->experience, subject->cells);
		memset(board->copy_rates, 0, sizeof(board->copy_rates));
	}
}

static void publish(struct kc__known *known)
{
	if (kc_lambda_is_news(&known->lambda, &known->belief))
		known->belief = kc_lambda_belief(&known->lambda, known->belief.state + 1);
}

struct kc_name kc__subject_name(const struct kc__shape *shape)
{
	return (struct kc_name){.launch = shape->identity, .shape = shape->launched->identity};
}

enum kc_novelty kc__subject_novelty(const struct kc__shape *shape)
{
	return kc_novelty(shape->launched->repeats, shape->code->measured);
}

struct kc_solo kc__subject_solo(const struct kc__shape *shape)
{
	struct kc_solo solo;

	if (!shape->measured && !shape->known.belief.count &&
	    kc_scaling_predict(&kc_scaling_law_default, &shape->code->scaling, &shape->size, &solo) == 0)
		return solo;
	return kc_forecast_solo(&shape->work, &shape->known.belief, &shape->key->belief, &shape->board->known.belief);
}

int kc__subject_measured(struct kc__shape *shape, const struct kc__op *op)
{
	struct kc_outcome outcome = {
	    .device = &shape->board->experience,
	    .kernel = &shape->code->experience,
	    .name = kc__subject_name(shape),
	    .context = op->context,
	    .slowdown = op->placed_slowdown,
	    .low_ns = op->low_ns,
	    .high_ns = op->high_ns,
	    .novelty = kc__subject_novelty(shape),
	    .solo = kc__subject_solo(shape),
	    .measured_ns = op->end_ns - op->start_ns,
	};

	if (outcome.measured_ns <= 0)
		return 0;
	if (!shape->measured) {
		shape->next_measured = shape->board->measured;
		shape->board->measured = shape;
	}
	kc_outlook_measured(&outcome);
	kc_scaling_learn(&shape->code->scaling, &shape->size, outcome.measured_ns);
	shape->measured++;
	shape->launched->repeats++;
	shape->code->measured++;
	return kc__past_add(&shape->launched->past, outcome.measured_ns);
}

void kc__subject_learn(struct kc__shape *shape, const struct kc__op *op, const struct kc_load *met)
{
	struct kc_lesson lesson = {
	    .work = &shape->work,
	    .lambda = &shape->known.lambda,
	    .contention = op->met == KC_OVERLAP_UNKNOWN ? NULL : &shape->contention,
	    .meeting = kc_meeting_unpack(op->meeting),
	    .met = *met,
	    .slowdown = op->slowdown,
	    .overlapped = op->met != KC_OVERLAP_NONE,
	    .solos = shape->solos,
	    .measured_ns = op->end_ns - op->start_ns,
	};

	if (lesson.measured_ns <= 0)
		return;
	kc_outlook_learn(&lesson);
	shape->solos += !lesson.overlapped;
	publish(&shape->board->known);
	publish(shape->key);
	publish(&shape->known);
}
