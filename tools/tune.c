#include "command.h"
#include "tools/input/calibrated.h"
#include "tools/input/common_options.h"
#include "tools/input/launch_options.h"
#include "tools/output/output_file.h"
#include "tools/tune/basis_space.h"
#include "tools/tune/runs/run_blocks.h"
#include "tools/tune/variants/variants_forms.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TOP 5u

enum {
	KEY_DEVICE = 'd',
	KEY_KERNEL = 'k',
	KEY_TOP = 'n',
	KEY_RUN = 'r',
	KEY_TIMED = 't',
	KEY_DB = 0x100,
	KEY_CSV,
	KEY_T4,
	KEY_CODE,
};

struct request {
	struct kc_common_options common;
	const char *path, *device, *timed;
	const char *run, *code; /* of a database */
	int is_database;        /* that path names; or it is NULL, and it is the one in use */
	const char *in_file;    /* FILE[:NAME], a kernel whose block shapes are asked for; NULL: none */
	const char *arguments;
	struct kc_launch_options launch;
	unsigned top;
	int csv, t4;
};

static const struct argp_option options[] = {
    {"device", KEY_DEVICE, "NAME|FILE", 0,
     "a built-in device (`kerncast devices` lists them) or a file of attribute=number lines", 0},
    {"db", KEY_DB, "DB", 0, KC_CALIBRATED_HELP, 0},
    {"kernel", KEY_KERNEL, "FILE[:NAME]", 0,
     "in place of LIST: the block shapes of a kernel in this file, for as many threads as --grid, --block, --args and "
     "--shared launch",
     0},
    KC_LAUNCH_OPTIONS,
    {"timed", KEY_TIMED, "FILE", 0,
     "what variants took: CSV with the parameters and time_ms, a cache of Kernel Tuner, or results in the format T4",
     0},
    {"run", KEY_RUN, "N", 0, "of DB: the run (default: the latest)", 0},
    {"code", KEY_CODE, "FILE", 0,
     "of DB: a file with the code of its kernels, where it is not where the run had it from", 0},
    {"top", KEY_TOP, "N", 0,
     "show so many of those to time, and of those that were; of DB: so many kernels, 26 at most (default: 5)", 0},
    {"csv", KEY_CSV, NULL, 0, "print one row per variant, or of DB per block", 0},
    {"t4", KEY_T4, NULL, 0,
     "print results in the format T4, those that were not timed with what they are expected to take", 0},
    KC_JSON_OPTION,
    {0},
};

static unsigned parse_top(const char *arg, struct argp_state *state)
{
	char *end;
	unsigned long n = strtoul(arg, &end, 10);

	if (*arg < '0' || *arg > '9' || *end || !n || n > KC_VARIANTS_MOST)
		argp_error(state, "--top takes a number from 1 to %u, not \"%s\"", KC_VARIANTS_MOST, arg);
	return (unsigned)n;
}

/* Nor any option of a list or a kernel. */
static int names_no_variants(const struct request *request)
{
	return !request->in_file && !request->launch.launch.given && !request->timed && !request->t4 &&
	       !request->device && !request->common.database;
}

static void check_database(struct request *request, struct argp_state *state)
{
	if (!names_no_variants(request))
		argp_error(state,
			   "%s is a database, whose run tells kernels, launches, times and GPU: --run, --code, --top, "
			   "--json and --csv belong to it",
			   request->path);
	if (request->top > KC_RUN_KERNELS_MAX)
		argp_error(state, "--top takes a number from 1 to %u of a database", KC_RUN_KERNELS_MAX);
	kc_json_or_csv(request->common.json, request->csv, state);
}

static void check(struct request *request, struct argp_state *state)
{
	if (request->path && access(request->path, F_OK) == 0)
		request->is_database = kc_output_is_database(request->path);
	else
		request->is_database = names_no_variants(request);
	if (request->is_database) {
		check_database(request, state);
		return;
	}
	if (request->run || request->code)
		argp_error(state, "--run and --code belong to a database");
	kc_launch_options_check(&request->launch, state);
	if (!request->path == !request->in_file)
		argp_error(state, "give either a list, CSV with the columns file, grid, block and the parameters, a "
				  "database, or --kernel FILE[:NAME]");
	if (request->in_file && !request->launch.launch.given)
		argp_error(state, "--kernel needs a launch: give --grid and --block");
	if (request->path && request->launch.launch.given)
		argp_error(state, "--grid, --block, --args and --shared belong to --kernel FILE[:NAME]");
	if (!request->device)
		argp_error(state, "no device given; --device takes a built-in name or a file");
	kc_json_or_csv(request->common.json, request->csv, state);
	if (request->t4 && (request->csv || request->common.json))
		argp_error(state, "--t4 prints a document of its own, without --json or --csv");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_DEVICE:
		request->device = arg;
		return 0;
	case KEY_DB:
		request->common.database = arg;
		return 0;
	case KEY_TIMED:
		kc_only_argument(&request->timed, "--timed", arg, state);
		return 0;
	case KEY_RUN:
		request->run = arg;
		return 0;
	case KEY_CODE:
		request->code = arg;
		return 0;
	case KEY_TOP:
		request->top = parse_top(arg, state);
		return 0;
	case KEY_CSV:
		request->csv = 1;
		return 0;
	case KEY_T4:
		request->t4 = 1;
		return 0;
	case KC_KEY_JSON:
		return kc_common_option(&request->common, key, arg, state);
	case ARGP_KEY_ARG:
		kc_only_argument(&request->path, "list", arg, state);
		return 0;
	case KEY_KERNEL:
		kc_only_argument(&request->in_file, "--kernel", arg, state);
		return 0;
	case KC_KEY_ARGS:
		request->arguments = arg;
		return kc_launch_option(&request->launch, key, arg, state);
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		return kc_launch_option(&request->launch, key, arg, state);
	}
}

static int print(const struct request *request, const struct kc_variants *variants,
		 const struct kc_variant_ranking *ranking)
{
	if (request->csv)
		return kc_variants_csv(variants, ranking);
	if (request->t4)
		return kc_variants_t4(variants, ranking);
	return request->common.json ? kc_variants_json(variants, ranking)
				    : kc_variants_text(variants, ranking, request->top ? request->top : TOP);
}

static int rank(const struct request *request, struct kc_variants *variants)
{
	struct kc_variant_ranking ranking = {0};
	int rc = kc_variants_estimate(variants), status = KC_EXIT_FAILED;

	if (rc == 0 && request->timed && kc_variants_timed(variants, request->timed) < 0)
		return KC_EXIT_FAILED;
	if (rc == 0)
		rc = kc_variants_rank(variants, &ranking);
	if (rc == 0)
		status = print(request, variants, &ranking);
	else
		kc_error("%s", strerror(-rc));
	kc_variant_ranking_free(&ranking);
	return status;
}

/* Which blocks the kernel may have, where the file has its PTX. 1; 0: that is not known. */
static int read_freedom(const struct kc_blocks_asked *asked, const struct kc_device *device,
			struct kc_block_freedom *freedom)
{
	const struct kc_explain_launch launch = {0};
	struct kc_explanation explanation = {.path = asked->path, .device = device, .launch = &launch};
	struct kc_explained kernel = {0};
	char why[KC_EXPLAIN_WHY_BYTES];
	int is_known = kc_explain_read(&explanation, asked->kernel, why, sizeof(why)) == 0 &&
		       explanation.kernel_count == 1 &&
		       kc_explain_kernel(&explanation, 0, &kernel, why, sizeof(why)) == 0 && kernel.cost;

	*freedom = kernel.blocks;
	kc_explained_free(&kernel);
	kc_explain_free(&explanation);
	return is_known;
}

static int of_blocks(const struct request *request, struct kc_variants *variants)
{
	char *path = strdup(request->in_file);
	struct kc_block_freedom freedom;
	struct kc_blocks_asked asked = {
	    .kernel = path ? kc_explain_split(path) : NULL,
	    .path = path,
	    .arguments = request->arguments,
	    .launch = &request->launch.launch,
	};
	int status = KC_EXIT_FAILED;

	if (path && read_freedom(&asked, &variants->device, &freedom))
		asked.freedom = &freedom;
	if (!path)
		kc_error("%s", strerror(ENOMEM));
	else if (kc_variants_blocks(variants, &asked) == 0)
		status = rank(request, variants);
	free(path);
	return status;
}

/* What is not compiled is told by times alone. */
static int of_space(const struct request *request)
{
	struct kc_basis_space_question question = {.path = request->path, .device = request->device};

	if (request->timed || request->csv || request->t4) {
		kc_error(
		    "%s has no code (column file): its times are those of the column time_ms, without --timed, --csv "
		    "or --t4",
		    request->path);
		return KC_EXIT_FAILED;
	}
	return kc_basis_space(&question, request->common.json);
}

static int of_list(const struct request *request, struct kc_variants *variants)
{
	return kc_variants_read(variants, request->path) < 0 ? KC_EXIT_FAILED : rank(request, variants);
}

static int of_run(const struct request *request, struct kc_run_blocks *run)
{
	const struct kc_run_blocks_asked asked = {
	    .run = request->run,
	    .code = request->code,
	    .most = request->top ? request->top : TOP,
	};
	int status = kc_side_open(&run->side, request->path);

	if (status == KC_EXIT_OK)
		status = kc_run_blocks(run, &asked);
	if (status != KC_EXIT_OK)
		return status;
	if (request->csv)
		return kc_run_blocks_csv(run);
	return request->common.json ? kc_run_blocks_json(run) : kc_run_blocks_text(run);
}

static int of_database(const struct request *request)
{
	struct kc_run_blocks *run = calloc(1, sizeof(*run));
	int status = KC_EXIT_FAILED;

	if (run) {
		status = of_run(request, run);
		kc_run_blocks_free(run);
	} else {
		kc_error("%s", strerror(ENOMEM));
	}
	free(run);
	return status;
}

static int of_variants(const struct request *request)
{
	struct kc_variants variants = {0};
	int status = kc_calibrated_device(request->device, request->common.database, &variants.device);

	if (status == KC_EXIT_OK && request->in_file)
		status = of_blocks(request, &variants);
	else if (status == KC_EXIT_OK)
		status = kc_variants_is_list(request->path) ? of_list(request, &variants) : of_space(request);
	kc_variants_free(&variants);
	return status;
}

static int tune_main(int argc, char **argv, const struct kc_command *self)
{
	static struct request request;
	int status;

	request = (struct request){0};
	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	status = request.is_database ? of_database(&request) : of_variants(&request);
	kc_launch_options_free(&request.launch);
	return status;
}

const struct kc_command kc_command_tune = {
    .group = KC_GROUP_TUNE,
    .name = "tune",
    .summary = "tells which block sizes or other variants of a kernel to time, and when to stop",
    .arguments = "[DB|LIST]",
    .options = options,
    .run = tune_main,
    .manual =
	"Of a database (default: kerncast.db), the kernels of a run that took most time are asked for other block "
	"sizes: what the kernel is\n"
	"expected to take with them, by its code and what it took with its own, with a 90 % range; whether\n"
	"one is faster, or that this cannot be told, which is a frequent answer. The code is read from where the run\n"
	"had it from, and must come to the work that the run recorded. It must tell a thread's work by its place in\n"
	"the whole launch alone, without shared memory, barriers or instructions of warps, so that other blocks do\n"
	"the same work. Blocks that\n"
	".Li __launch_bounds__\n"
	"rules out are not named.\n"
	".Pp\n"
	"LIST is CSV, plain or gzip, with one line per compiled variant of a kernel: file (an executable, shared\n"
	"object, fatbin, cubin or PTX file, as seen from LIST), kernel (its name, where the file has several), grid,\n"
	"block, args and shared as\n"
	".Nm Cm explain\n"
	"takes them, and time_ms, if it was timed. All other columns are parameters, which tell the variants apart.\n"
	".Pp\n"
	"Each is estimated from its code as\n"
	".Nm Cm explain\n"
	"does. Those with the shortest estimates are listed, with the range in which nine in ten such kernels lie,\n"
	"what limits them, the share of an SM's warps that they fill, registers and bytes of local memory per thread,\n"
	"and whether they are as good as the first, within the error.\n"
	".Pp\n"
	"A space without code, which has time_ms and no file, is answered as by basis space of\n"
	".Xr kerncast-lab 1 .\n"
	".Pp\n"
	"With\n"
	".Fl -kernel\n"
	"the variants are the block shapes of one kernel: all of powers of two that are whole warps, with grids that\n"
	"cover as many threads as the launch. A dimension in which the code does not tell a thread's work by its "
	"place\n"
	"in the whole launch alone keeps its size; all do where threads of a block work together. The parameters are\n"
	"block_x, block_y and block_z.\n"
	".Pp\n"
	".Fl -timed\n"
	"tells what variants took. What is expected of the others is corrected by it, the more the more alike they\n"
	"are in their parameters and in what they need of the GPU; the ranges are then those of what is left of the\n"
	"error. There is nothing better, and the answer is to stop, where no range of another one begins below the\n"
	"best time.\n"
	".Pp\n"
	"With\n"
	".Fl -t4\n"
	"the variants are printed in that order in the format T4, as tuners exchange it; the time of one that was\n"
	"not timed is called expected_time there.\n",
};
