#include "basis/basis.h"
#include "basis/basis_answer.h"
#include "basis/block_basis.h"
#include "lab.h"
#include "tools/input/common_options.h"
#include "tools/system/database.h"
#include "tools/output/colour.h"
#include "tools/output/format.h"
#include "tools/output/json.h"
#include "tools/input/kernel_spec.h"
#include "tools/tune/basis_space.h"
#include "tools/output/table.h"

#include "store/query/kernel_names.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	KEY_KERNEL = 'k',
	KEY_DEVICE = 'd',
	KEY_SIZE = 's',
	KEY_TIMED = 't',
	KEY_BLOCK = 'b',
	KEY_TIME = 0x100,
	KEY_REGS,
	KEY_SMEM,
	KEY_KNOWN,
	KEY_AXIS
};

enum action { NONE, TRAIN, SHOW, PREDICT, SPACE };

struct request {
	struct kc_common_options common;
	enum action action;
	struct kc_basis_question question;
	struct kc_basis_space_question space;
};

static const struct argp_option options[] = {
    {"kernel", KEY_KERNEL, "TEXT", 0, "predict: the kernel whose name or module contains TEXT", 0},
    {"device", KEY_DEVICE, "TEXT", 0,
     "predict: the recorded device whose name contains TEXT (default: the only one); with --time, and for space: a "
     "built-in device, or a file of attribute=number lines",
     0},
    {"size", KEY_SIZE, "NUMBER", 0,
     "predict: the problem size, as recorded with the launches (default: the one with the most block sizes)", 0},
    {"timed", KEY_TIMED, "X[,Y[,Z]]", 0,
     "predict: use only this timed block size; may be given several times (default: all)", 0},
    {"block", KEY_BLOCK, "X[,Y[,Z]]", 0,
     "predict: a block size to predict; may be given several times (default: all known ones that are not timed)", 0},
    {"time", KEY_TIME, "X[,Y[,Z]]=TIME", 0,
     "predict: a block size and its time, instead of --kernel; may be given several times", 0},
    {"regs", KEY_REGS, "N", 0, "predict, with --time: registers per thread", 0},
    {"smem", KEY_SMEM, "BYTES", 0, "predict, with --time: bytes of shared memory per block", 0},
    {"known", KEY_KNOWN, "FILE", 0, "space: times of the same kernel on another device", 0},
    {"axis", KEY_AXIS, "A:A*B[:SIZE]", 0,
     "space: for one axis of the problem, the parameters whose product is the threads of a block, those whose product "
     "is the elements that a block covers, and the number of elements",
     0},
    KC_JSON_OPTION,
    {0},
};

static const char *parse_block(const char *text, uint32_t block[3])
{
	block[0] = block[1] = block[2] = 1;
	for (int i = 0; i < 3; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (end == text || *text < '0' || *text > '9' || n < 1 || n > 1024)
			return NULL;
		block[i] = (uint32_t)n;
		if (*end != ',')
			return (uint64_t)block[0] * block[1] * block[2] > 1024 ? NULL : end;
		text = end + 1;
	}
	return NULL;
}

static void add_block(struct kc_basis_blocks *blocks, const char *arg, const char *option, int with_time,
		      struct argp_state *state)
{
	const char *end;

	if (blocks->count == KC_BASIS_COLUMNS) {
		argp_error(state, "%s can be given %u times at most", option, KC_BASIS_COLUMNS);
		return;
	}
	end = parse_block(arg, blocks->block[blocks->count]);
	if (!end || (with_time ? *end != '=' || kc_time_ns(end + 1, &blocks->ns[blocks->count]) < 0 ||
				     blocks->ns[blocks->count] <= 0
			       : *end))
		argp_error(state,
			   "%s takes one block size X,Y,Z of up to 1024 threads, such as 16,16%s, not \"%s\"; give it"
			   " once for each block size",
			   option, with_time ? "=3.2ms" : "", arg);
	blocks->count++;
}

static uint32_t parse_count(const char *arg, const char *option, uint32_t most, struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (end == arg || *end || *arg < '0' || *arg > '9' || n > most)
		argp_error(state, "%s takes a number up to %u, not \"%s\"", option, most, arg);
	return (uint32_t)n;
}

static double parse_size(const char *arg, struct argp_state *state)
{
	char *end;
	double size = strtod(arg, &end);

	if (end == arg || *end || !(size > 0) || !isfinite(size))
		argp_error(state, "--size takes a number above 0, not \"%s\"", arg);
	return size;
}

static void parse_argument(struct request *request, const char *arg, struct argp_state *state)
{
	static const char *const names[] = {
	    [TRAIN] = "train", [SHOW] = "show", [PREDICT] = "predict", [SPACE] = "space"};

	if (request->action != NONE) {
		if (request->action == SPACE)
			kc_only_argument(&request->space.path, "file", arg, state);
		else
			kc_only_argument(&request->common.database, "database", arg, state);
		return;
	}
	for (int i = TRAIN; i <= SPACE; i++)
		if (!strcmp(arg, names[i]))
			request->action = (enum action)i;
	if (request->action == NONE)
		argp_error(state, "expected train, show, predict or space, not \"%s\"", arg);
}

static void check(const struct request *request, struct argp_state *state)
{
	const struct kc_basis_question *q = &request->question;

	if (request->action == NONE)
		argp_error(state, "no action given; give one of: train, show, predict, space");
	if (request->action == SPACE && !request->space.path)
		argp_error(state, "no file given; give a CSV file with the parameters in the columns before time_ms");
	if (request->action != SPACE && request->space.known_count)
		argp_error(state, "--known is for space only");
	if (request->action != SPACE && request->space.axis_count)
		argp_error(state, "--axis is for space only");
	if (request->action != PREDICT)
		return;
	if (!q->kernel == !q->times.count)
		argp_error(state, "predict takes either a kernel of the database (--kernel) or times (--time)");
	if (q->times.count && !q->device)
		argp_error(state, "no device given; --time needs --device");
	if (q->times.count && !q->asked.count)
		argp_error(state, "no block size given; --time needs --block");
	if (q->times.count && (q->timed.count || q->size > 0))
		argp_error(state, "--timed and --size are for --kernel only");
}

static void add_known(struct kc_basis_space_question *space, const char *arg, struct argp_state *state)
{
	if (space->known_count == KC_TUNING_DONORS)
		argp_error(state, "--known can be given %u times at most", KC_TUNING_DONORS);
	else
		space->known[space->known_count++] = arg;
}

static void add_axis(struct kc_basis_space_question *space, const char *arg, struct argp_state *state)
{
	if (space->axis_count == KC_SPACE_AXES)
		argp_error(state, "--axis can be given %u times at most", KC_SPACE_AXES);
	else
		space->axes[space->axis_count++] = arg;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;
	struct kc_basis_question *q = &request->question;

	switch (key) {
	case KEY_KERNEL:
		q->kernel = arg;
		return 0;
	case KEY_DEVICE:
		q->device = request->space.device = arg;
		return 0;
	case KEY_SIZE:
		q->size = parse_size(arg, state);
		return 0;
	case KEY_TIMED:
		add_block(&q->timed, arg, "--timed", 0, state);
		return 0;
	case KEY_BLOCK:
		add_block(&q->asked, arg, "--block", 0, state);
		return 0;
	case KEY_TIME:
		add_block(&q->times, arg, "--time", 1, state);
		return 0;
	case KEY_REGS:
		q->registers = parse_count(arg, "--regs", 255, state);
		return 0;
	case KEY_SMEM:
		q->shared_bytes = parse_count(arg, "--smem", 1U << 20, state);
		return 0;
	case KEY_KNOWN:
		add_known(&request->space, arg, state);
		return 0;
	case KEY_AXIS:
		add_axis(&request->space, arg, state);
		return 0;
	case ARGP_KEY_ARG:
		parse_argument(request, arg, state);
		return 0;
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		return kc_common_option(&request->common, key, arg, state);
	}
}

/* --- train */

/* Takes every other block size as timed and predicts the others, leaving out one kernel at a time. */
static void choose(const struct kc_basis_rows *rows, struct kc_stored_basis *out)
{
	uint32_t timed[KC_BASIS_COLUMNS], n = 0;

	for (uint32_t c = 0; c < rows->columns; c += 2)
		timed[n++] = c;
	out->k = kc_basis_choose(rows->rates, rows->groups, rows->count, rows->columns, timed, n, &out->error);
	for (uint32_t r = 0; r < rows->count; r++)
		out->kernels += !r || rows->groups[r] != rows->groups[r - 1];
}

/* 1; 0: there is nothing to make a basis of; -ENOMEM. */
static int make_basis(const struct kc_sweeps *sweeps, struct kc_stored_basis *out)
{
	struct kc_basis_rows rows;
	int rc = kc_basis_rows_make(sweeps, &rows);

	if (rc)
		return rc;
	kc_basis_rows_complete(&rows);
	*out = (struct kc_stored_basis){.rows = rows.count};
	if (rows.columns > 1 && kc_basis_train(&out->basis, rows.rates, rows.count, rows.columns) == 0) {
		memcpy(out->threads, rows.threads, rows.columns * sizeof(*rows.threads));
		choose(&rows, out);
		rc = 1;
	}
	kc_basis_rows_free(&rows);
	return rc;
}

static int train(const char *path)
{
	struct kc_store *store = NULL;
	struct kc_sweeps *sweeps = NULL;
	struct kc_stored_basis basis;
	char why[512] = "";
	int rc = kc_store_open(path, KC_STORE_WRITE, &store, why, sizeof(why)), made;

	if (rc < 0) {
		kc_error("%s", *why ? why : strerror(-rc));
		return rc;
	}
	kc_kernel_names(store, KC_NAMES_NS);
	rc = kc_sweeps_collect(store, &sweeps);
	made = rc ? 0 : make_basis(sweeps, &basis);
	if (!rc && made >= 0)
		rc = kc_sweeps_store(store, sweeps, made ? &basis : NULL);
	if (rc || made < 0)
		kc_database_unreadable(path, rc ? rc : made);
	kc_sweeps_free(sweeps);
	kc_store_close(store);
	return rc ? rc : made < 0 ? made : 0;
}

/* --- show */

struct known {
	struct kc_sweeps *sweeps;
	struct kc_stored_basis basis;
	int has_basis;
};

struct extent { /* of one kernel */
	uint32_t devices, blocks, times;
};

static struct extent extent_of(const struct kc_sweeps *sweeps, uint32_t kernel)
{
	struct extent e = {0, 0, 0};
	uint32_t here = 0;

	for (size_t i = 0; i < sweeps->point_count; i++) {
		const struct kc_sweep_point *p = &sweeps->points[i], *before = i ? p - 1 : NULL;
		int same_device, same_block;

		if (p->kernel != kernel)
			continue;
		same_device = before && before->kernel == kernel && before->device == p->device;
		same_block = same_device && !memcmp(before->block, p->block, sizeof(p->block));
		here = same_device ? here + !same_block : 1;
		e.blocks = here > e.blocks ? here : e.blocks;
		e.devices += !same_device;
		e.times++;
	}
	return e;
}

static json_t *basis_json(const struct kc_stored_basis *basis)
{
	json_t *out = json_object(), *threads = json_array(), *components = json_array();

	for (uint32_t c = 0; c < basis->basis.columns; c++)
		json_array_append_new(threads, json_integer(basis->threads[c]));
	for (uint32_t i = 0; i < basis->basis.components; i++) {
		json_t *component = json_object(), *vector = json_array();

		for (uint32_t c = 0; c < basis->basis.columns; c++)
			json_array_append_new(vector, kc_json_real(basis->basis.vectors[i][c]));
		json_object_set_new(component, "singular_value", kc_json_real(basis->basis.values[i]));
		json_object_set_new(component, "vector", vector);
		json_array_append_new(components, component);
	}
	json_object_set_new(out, "threads", threads);
	json_object_set_new(out, "rows", json_integer(basis->rows));
	json_object_set_new(out, "kernels", json_integer(basis->kernels));
	json_object_set_new(out, "k", json_integer(basis->k));
	json_object_set_new(out, "error", kc_json_percent(basis->error));
	json_object_set_new(out, "components", components);
	return out;
}

static int show_json(const struct known *known)
{
	json_t *out = kc_json_document("basis", 1), *kernels = json_array();

	for (uint32_t i = 0; i < known->sweeps->kernel_count; i++) {
		struct extent e = extent_of(known->sweeps, i);
		json_t *kernel = json_object();

		json_object_set_new(kernel, "name", kc_json_text(known->sweeps->kernels[i].name));
		json_object_set_new(kernel, "module", kc_json_text(known->sweeps->kernels[i].module));
		json_object_set_new(kernel, "devices", json_integer(e.devices));
		json_object_set_new(kernel, "block_sizes", json_integer(e.blocks));
		json_object_set_new(kernel, "times", json_integer(e.times));
		json_array_append_new(kernels, kernel);
	}
	json_object_set_new(out, "simulated", json_boolean(known->sweeps->simulated));
	json_object_set_new(out, "kernels", kernels);
	json_object_set_new(out, "basis", known->has_basis ? basis_json(&known->basis) : json_null());
	return kc_json_print(out);
}

static void print_basis(const struct kc_stored_basis *basis)
{
	char error[KC_FORMAT_BYTES];

	printf("\nBasis: %u rows of %u kernel%s, k = %u", basis->rows, basis->kernels, basis->kernels == 1 ? "" : "s",
	       basis->k);
	if (isnan(basis->error))
		puts(" (not cross-validated: there is only one kernel)");
	else
		printf(" by cross-validation, mean error %s\n", kc_format_percent(100 * basis->error, error));
	printf("  %14s", "threads");
	for (uint32_t c = 0; c < basis->basis.columns; c++)
		printf(" %7u", basis->threads[c]);
	printf("\n");
	for (uint32_t i = 0; i < basis->k; i++) {
		printf("  singular %5.3g", basis->basis.values[i]);
		for (uint32_t c = 0; c < basis->basis.columns; c++)
			printf(" %7.3f", basis->basis.vectors[i][c]);
		printf("\n");
	}
}

static int show_text(const struct known *known)
{
	static const struct kc_column columns[] = {{"kernel", KC_LEFT, 1},   {"module", KC_LEFT, 0},
						   {"devices", KC_RIGHT, 0}, {"block sizes", KC_RIGHT, 0},
						   {"times", KC_RIGHT, 0},   {0}};
	struct kc_table table;

	if (known->sweeps->simulated)
		kc_say_simulated(KC_SIMULATED_SOME);
	kc_table_init(&table, columns);
	for (uint32_t i = 0; i < known->sweeps->kernel_count; i++) {
		struct extent e = extent_of(known->sweeps, i);
		char devices[KC_FORMAT_BYTES], blocks[KC_FORMAT_BYTES], times[KC_FORMAT_BYTES];

		kc_table_row(&table,
			     (const char *const[]){known->sweeps->kernels[i].name, known->sweeps->kernels[i].module,
						   kc_format_count(e.devices, devices),
						   kc_format_count(e.blocks, blocks), kc_format_count(e.times, times)});
	}
	if (kc_table_finish(&table, 0))
		return KC_EXIT_FAILED;
	if (known->has_basis)
		print_basis(&known->basis);
	else
		puts("\nNo basis: no two block sizes were measured for several problems.");
	return kc_output_finish();
}

/* 0, or a message and -errno. */
static int read_known(const char *path, struct known *known, struct kc_device_row **devices, size_t *device_count)
{
	struct kc_store *store = kc_database_read(path);
	int rc;

	if (!store)
		return -ENOENT;
	rc = kc_sweeps_read(store, &known->sweeps);
	if (!rc) {
		rc = kc_stored_basis_read(store, &known->basis);
		known->has_basis = rc == 0;
		rc = rc == -ENOENT ? 0 : rc;
	}
	if (!rc)
		rc = kc_query_devices(store, devices, device_count);
	if (rc)
		kc_database_unreadable(path, rc);
	kc_store_close(store);
	return rc;
}

static int answer(const struct request *request, const char *path)
{
	struct known known = {0};
	struct kc_device_row *devices = NULL;
	size_t device_count = 0;
	int status = KC_EXIT_FAILED, rc = 0;

	/* Times given on the command line need no database. */
	if (!request->question.times.count || request->common.database || access(path, F_OK) == 0)
		rc = read_known(path, &known, &devices, &device_count);
	else
		known.sweeps = calloc(1, sizeof(*known.sweeps));
	if (!rc && !known.sweeps) {
		kc_error("%s", strerror(ENOMEM));
		rc = -ENOMEM;
	}
	if (!rc && request->action == PREDICT)
		status = kc_basis_answer(&request->question,
					 &(struct kc_basis_known){known.sweeps, known.has_basis ? &known.basis : NULL,
								  devices, device_count},
					 request->common.json);
	else if (!rc && !known.sweeps->kernel_count)
		kc_error(
		    "%s has no kernel measured with two block sizes or more; `kerncast-lab basis train` looks for them",
		    kc_database_shown(path));
	else if (!rc)
		status = request->common.json ? show_json(&known) : show_text(&known);
	kc_sweeps_free(known.sweeps);
	free(devices);
	return status;
}

static int basis_main(int argc, char **argv, const struct kc_command *self)
{
	static struct request request;
	char path[PATH_MAX];

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.action == SPACE)
		return kc_basis_space(&request.space, request.common.json);
	kc_database_path(request.common.database, path, sizeof(path));
	if (request.action == TRAIN && train(path) < 0)
		return KC_EXIT_FAILED;
	return answer(&request, path);
}

const struct kc_command kc_command_basis = {
    .group = KC_GROUP_RESEARCH,
    .name = "basis",
    .summary = "predicts a kernel's time with other block sizes",
    .arguments = "train|show|predict [DB] | space FILE",
    .options = options,
    .run = basis_main,
    .manual =
	".Cm train\n"
	"takes every kernel of the database that ran alone with two block sizes or more, stores the median time of\n"
	"each block and problem size on each device (table sweep), and makes a basis of them: singular vectors of\n"
	"speed-ups over threads per block. Their number k is the one that predicts left-out kernels best.\n"
	".Cm show\n"
	"prints both.\n"
	".Pp\n"
	".Cm predict\n"
	"predicts how long a kernel takes with block sizes that were not timed. The kernel is one of the database\n"
	"(--kernel; measured times are printed beside the predictions), or one whose times are given (--time).\n"
	"Launches belong to one problem where they have the same arguments or, without any, where their grids cover\n"
	"the same extent. Where the problem is known on other devices of the architecture, the prediction follows\n"
	"their curves. Otherwise four terms are fitted: lanes issued per thread, sectors loaded, latency over\n"
	"resident warps, and a cost per resident block. The column vectors is the prediction by singular vectors.\n"
	".Pp\n"
	".Cm space\n"
	"takes a CSV file (plain or gzip) of a tunable kernel's configurations: parameters before the column time_ms,\n"
	"which is empty in most rows. --known names such files of the same kernel on other devices. It predicts every\n"
	"configuration and prints the best measured one, the one to time next, and the fastest; with --json, all.\n"
	"Predictions are better with --axis, once for each axis of the problem, which tells how parameters make up a\n"
	"block, and with --device, which tells what an SM can hold.\n",
};
