#include "tools/system/child.h"
#include "tools/system/job_run.h"
#include "command.h"
#include "prune.h"
#include "tools/doctor/inspect.h"
#include "tools/system/library.h"
#include "tools/report/summary.h"

#include "store/common/job/shell_words.h"
#include "store/common/options.h"
#include "store/common/remote.h"
#include "store/common/version.h"
#include "store/database/store.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PRELOAD_BYTES 16384u
#define KEY_LONG 0x100 /* keys from here on have no letter */

enum { /* a key for each option of the table; two have a letter */
       KEY_db = 'o',
       KEY_quiet = 'q',
       KEY_measure = KEY_LONG,
       KEY_graphs,
       KEY_journal_max,
       KEY_flush_ms,
       KEY_fresh,
       KEY_prior,
       KEY_caches,
       KEY_wait_ns,
       KEY_gpu_state_ns,
       KEY_cupti,
       KEY_kernel,
       KEY_every,
       KEY_after,
       KEY_lasting,
       KEY_gate,
       KEY_toggle,
       KEY_keep,
       KEY_ranks,
       KEY_command,
       KEY_run,
       KEY_caller,
       KEY_unnamed,
       KEY_disable,
       KEY_AUDIT,
};

static const struct argp_option options[] = {
#define RUN_OPTION(field, env, flag, arg, value, help)                                                                 \
	{flag, KEY_##field, arg, (flag) ? 0 : OPTION_HIDDEN, (flag) ? help : NULL, 0},
    KC_OPTION_TABLE(RUN_OPTION)
#undef RUN_OPTION
	{"audit", KEY_AUDIT, NULL, 0,
	 "also watch libraries that bypass LD_PRELOAD, opened with RTLD_DEEPBIND or by dlmopen, by the loader's "
	 "auditing "
	 "(LD_AUDIT)",
	 0},
    {0},
};

/* KC_OPTION_COUNT: the key belongs to no option of the table. */
static enum kc_option option_of(int key)
{
	switch (key) {
#define RUN_KEY(field, env, flag, arg, value, help)                                                                    \
	case KEY_##field:                                                                                              \
		return KC_OPTION_##field;
		KC_OPTION_TABLE(RUN_KEY)
#undef RUN_KEY
	default:
		return KC_OPTION_COUNT;
	}
}

#define FILE_HELP "Options may also stand in ~/.config/kerncast.conf, a line each, such as: measure = kernels\n\n"

/* --help adds the environment variable and the default to the text. */
static char *help_with_environment(int key, const char *text, void *input)
{
	const struct kc_option_info *info = kc_option_info(option_of(key));
	char *out;

	(void)input;
	if (key == ARGP_KEY_HELP_POST_DOC && text && asprintf(&out, FILE_HELP "%s", text) >= 0)
		return out;
	if (!info || !text)
		return (char *)text;
	if (asprintf(&out, "%s (%s%s%s)", text, info->env, info->arg && *info->value ? ", default " : "",
		     info->arg ? info->value : "") < 0)
		return (char *)text;
	return out;
}

struct run {
	char **app;
	int database_given, database_named;                        /* by --output; by --output or KERNCAST_DB */
	int measure_given, graphs_given, prior_given, cupti_given; /* by their flags */
	int audit;
	struct kc_job job;
	struct kc_job_run of_job;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct kc_option_info *info = kc_option_info(option_of(key));
	struct run *run = state->input;

	if (info) {
		if (arg && kc_option_check(option_of(key), arg) < 0)
			argp_error(state, "--%s takes %s, not \"%s\"", info->flag, info->arg, arg);
		setenv(info->env, arg ? arg : "1", 1);
		if (key == KEY_db)
			unsetenv("KERNCAST_DB_UNNAMED");
		run->database_given |= key == KEY_db;
		run->measure_given |= key == KEY_measure;
		run->graphs_given |= key == KEY_graphs;
		run->prior_given |= key == KEY_prior;
		run->cupti_given |= key == KEY_cupti;
		return 0;
	}
	if (key == KEY_AUDIT) {
		run->audit = 1;
		return 0;
	}
	if (key == ARGP_KEY_ARG) {
		run->app = state->argv + state->next - 1;
		state->next = state->argc;
		return 0;
	}
	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "no program given; give it after the options: kerncast run APP [ARG...]");
	return ARGP_ERR_UNKNOWN;
}

/* A unique name for this run, which all processes of the program share. */
static void name_run(char *token, size_t size)
{
	uint32_t random[2] = {0};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (getrandom(random, sizeof(random), 0) < 0)
		random[0] = (uint32_t)now.tv_nsec;
	snprintf(token, size, "%lld-%d-%08x%08x", (long long)now.tv_sec, (int)getpid(), random[0], random[1]);
}

/* A database that an outer `kerncast run` passed to its program was not named by the user. */
static int is_named(const struct run *run)
{
	const char *db = getenv("KERNCAST_DB"), *outer = getenv("KERNCAST_RUN");

	return run->database_given || (db && *db && !(outer && *outer));
}

/* Both asked for by flags: -EINVAL. A flag goes before a variable; of two variables, KERNCAST_MEASURE does, as it does
 * in the library. */
static int settle_graphs(const struct run *run)
{
	const char *graphs = getenv("KERNCAST_GRAPHS"), *measure = getenv("KERNCAST_MEASURE");
	int whole_wins = run->graphs_given && !run->measure_given;

	if (!graphs || !measure || strcmp(graphs, "whole") || strcmp(measure, "adaptive"))
		return 0;
	if (run->graphs_given && run->measure_given) {
		kc_error("%s", kc_option_whole_adaptive);
		return -EINVAL;
	}
	kc_error("%s; %s", kc_option_whole_adaptive,
		 whole_wins ? "--graphs=whole is used, with --measure=all"
			    : "--measure=adaptive is used, with --graphs=nodes");
	setenv(whole_wins ? "KERNCAST_MEASURE" : "KERNCAST_GRAPHS", whole_wins ? "all" : "nodes", 1);
	return 0;
}

/* 0 or -EINVAL, said. */
static int check_file(const char *path, const char *flag)
{
	struct stat about;
	int error = 0;

	if (access(path, R_OK) || stat(path, &about))
		error = errno;
	else if (S_ISDIR(about.st_mode))
		error = EISDIR;
	if (!error)
		return 0;
	kc_error("%s: cannot read %s: %s; the program was not started", flag, path, strerror(error));
	return -EINVAL;
}

/* What a flag names has to be there; a library may also be named as the loader finds it. */
static int check_files(const struct run *run, const struct kc_options *settled)
{
	if (settled->disable)
		return 0;
	if (run->cupti_given && strchr(settled->cupti, '/') && check_file(settled->cupti, "--cupti") < 0)
		return -EINVAL;
	return run->prior_given && settled->prior[0] ? check_file(settled->prior, "--prior") : 0;
}

/* Sets the variables that the library reads. Paths are absolute, since the program may
 * change its working folder. */
static int settle_options(struct run *run, struct kc_options *settled)
{
	char why[PATH_MAX + 256] = "", command[sizeof(settled->command)], version[KC_VERSION_TEXT_BYTES],
			    database[sizeof(settled->db)];

	run->database_named = is_named(run);
	setenv("KERNCAST_COMMAND", kc_shell_words(run->app, command, sizeof(command)), 1);
	setenv("KERNCAST_VERSION", kc_version_text(version), 1);
	if (settle_graphs(run) < 0)
		return -EINVAL;
	if (kc_options_read(settled, why, sizeof(why)) < 0)
		kc_error("%s", why);
	if (check_files(run, settled) < 0)
		return -EINVAL;
	kc_host_database(settled->db, database, sizeof(database));
	snprintf(settled->db, sizeof(settled->db), "%s", database);
	if (run->database_named && !settled->disable && kc_store_try(settled->db, why, sizeof(why)) < 0) {
		kc_error("%s; the program was not started", why);
		return -EINVAL;
	}
	kc_job_read_rank(&run->job);
	name_run(settled->run, sizeof(settled->run));
	if (!settled->disable)
		kc_job_run_join(&run->of_job, &run->job, settled->db, settled->run, sizeof(settled->run));
	setenv("KERNCAST_RUN", settled->run, 1);
	setenv("KERNCAST_DB", settled->db, 1);
	if (settled->unnamed)
		setenv("KERNCAST_DB_UNNAMED", "1", 1);
	if (settled->gate[0])
		setenv("KERNCAST_WHILE", settled->gate, 1);
	if (settled->prior[0])
		setenv("KERNCAST_PRIOR", settled->prior, 1);
	return 0;
}

static void refuse_library(int rc, const char *library, char *why, size_t why_size)
{
	char refusal[PATH_MAX + 256];

	kc_library_refusal(rc, library, refusal, sizeof(refusal));
	snprintf(why, why_size, "%s; build or install kerncast again", refusal);
}

/* Ranges go to one library alone: another tool's stays. */
static void take_ranges(const char *library)
{
	const char *other = getenv(KC_NVTX_VARIABLE);

	if (!other || kc_library_is(other))
		setenv(KC_NVTX_VARIABLE, library, 1);
}

/* The value of LD_PRELOAD; "" where the program cannot be preloaded into, for the reason in why. */
static void find_preload(const char *app, char *preload, size_t size, char *why, size_t why_size)
{
	static struct kc_inspection about; /* too large for the stack */
	char library[PATH_MAX];
	int rc = -ENOEXEC, found;

	if (kc_inspect(app, &about) < 0)
		; /* exec will report it */
	else if (about.preload != KC_PRELOAD_YES && about.preload != KC_PRELOAD_UNKNOWN)
		snprintf(why, why_size, "%s %s; %s", about.binary, about.reason, about.cure);
	else if ((found = kc_library_find(library, sizeof(library))) < 0)
		refuse_library(found, library, why, why_size);
	else
		rc = kc_preload_value(getenv("LD_PRELOAD"), library, about.sanitizer, preload, size);
	if (rc == -EINVAL)
		snprintf(why, why_size,
			 "LD_PRELOAD cannot contain %s, whose path has a blank or a colon; install kerncast elsewhere",
			 library);
	else if (rc == -ERANGE)
		snprintf(why, why_size, "LD_PRELOAD is too long already");
	if (rc < 0)
		preload[0] = '\0';
	else
		take_ranges(library);
}

/* The value of LD_AUDIT, whose entries are separated by colons; "" where there can be none, for the reason in why. */
static void find_audit(char *audit, size_t size, char *why, size_t why_size)
{
	const char *existing = getenv("LD_AUDIT");
	char module[PATH_MAX];

	audit[0] = '\0';
	if (kc_library_find_audit(module, sizeof(module)) < 0)
		snprintf(why, why_size, "%s is missing; build or install kerncast again", module);
	else if (strchr(module, ':'))
		snprintf(why, why_size, "LD_AUDIT cannot contain %s, whose path has a colon", module);
	else if ((size_t)snprintf(audit, size, "%s%s%s", module, existing && *existing ? ":" : "",
				  existing ? existing : "") >= size)
		snprintf(why, why_size, "LD_AUDIT is too long already");
}

static int run_main(int argc, char **argv, const struct kc_command *self)
{
	static struct kc_options settled; /* too large for the stack */
	static char preload[PRELOAD_BYTES], audit[PRELOAD_BYTES], why[2 * PATH_MAX];
	struct kc_child_end end;
	struct run run = {.of_job.file = -1};
	int rc, is_last;

	kc_output_guard();
	kc_command_parse(self, argc, argv, ARGP_IN_ORDER, parse, &run);
	if (settle_options(&run, &settled) < 0)
		return KC_EXIT_USAGE;
	if (!settled.unnamed || settled.disable || kc_store_own(settled.db, why, sizeof(why)) == 0)
		find_preload(run.app[0], preload, sizeof(preload), why, sizeof(why));
	if (*why && !settled.quiet)
		kc_error("nothing is recorded: %s", why);
	if (run.audit && preload[0]) {
		find_audit(audit, sizeof(audit), why, sizeof(why));
		if (*why && !settled.quiet)
			kc_error("continuing without --audit: %s", why);
		if (!*why)
			setenv("LD_AUDIT", audit, 1);
	}
	rc = kc_child_run(run.app, preload[0] ? preload : NULL, &end);
	if (rc < 0) {
		kc_error("cannot start a process: %s", strerror(-rc));
		return KC_EXIT_FAILED;
	}
	is_last = kc_job_run_leave(&run.of_job);
	if (end.started && preload[0] && !settled.disable)
		kc_summary_print(
		    &(struct kc_summary){settled.db, run.database_given, settled.run, settled.quiet, !is_last}, &end);
	if (is_last && end.started && !settled.disable &&
	    settled.keep.age_ns | (int64_t)(settled.keep.runs | settled.keep.bytes))
		kc_prune_after_run(settled.db, &settled.keep, settled.quiet);
	return end.status;
}

const struct kc_command kc_command_run = {
    .group = KC_GROUP_RECORD,
    .name = "run",
    .summary = "runs a program and records what was predicted and measured",
    .arguments = "[--] APP [ARG...]",
    .argument_ends_options = 1,
    .options = options,
    .help_filter = help_with_environment,
    .run = run_main,
    .manual =
	"Runs\n"
	".Ar APP ,\n"
	"found in\n"
	".Ev PATH ,\n"
	"with libkerncast.so preloaded.\n"
	"The program is not changed and does not wait for anything; its output is its own.\n"
	"When it has ended, a summary of at most ten lines goes to standard error. If it used no CUDA, one\n"
	"line says so on a terminal, and nothing elsewhere. If the driver was loaded and none of its calls was\n"
	"seen, which may have gone past\n"
	".Ev LD_PRELOAD ,\n"
	"one line says so everywhere.\n"
	"Signals sent to\n"
	".Nm\n"
	"reach the program.\n"
	"If a database that was named by\n"
	".Fl -output\n"
	"or\n"
	".Ev KERNCAST_DB\n"
	"cannot be written, or a file that\n"
	".Fl -prior\n"
	"or\n"
	".Fl -cupti\n"
	"names cannot be read, the program is not started and the exit status is 2. If no database was named, the\n"
	"program runs without being recorded.\n"
	"The same holds of a database that was not named and belongs to another user, or that others can write:\n"
	"it would show them the command line.\n"
	".Pp\n"
	"Launches of a library opened with\n"
	".Dv RTLD_DEEPBIND ,\n"
	"as Taichi opens its own, bypass the preloaded library; where others are seen, the report shows them as\n"
	"CUPTI records without a launch.\n"
	"Launches of a library opened by\n"
	".Xr dlmopen 3\n"
	"are not seen at all.\n"
	"With\n"
	".Fl -audit\n"
	"both are seen; those of dlmopen are predicted and not measured, since CUPTI does not see them.\n"
	".Pp\n"
	"Of a long job some launches can be chosen, in each of its processes alike. By\n"
	".Fl -after , -for , -while\n"
	"and\n"
	".Fl -signal\n"
	"recording is on while all of them allow it; outside, launches are passed on and counted, CUPTI measures\n"
	"nothing, and the timeline begins anew when recording does.\n"
	"By\n"
	".Fl -kernel\n"
	"and\n"
	".Fl -every\n"
	"all launches made meanwhile are predicted, measured and learned from, and the chosen ones are stored;\n"
	"transfers are not.\n"
	"The report's ledger counts the others as not asked for.\n"
	"The name that\n"
	".Fl -kernel\n"
	"matches is the mangled one, such as _Z5scalePff for scale(float *, float *) and _Z5scaleIfEvPT_ for\n"
	"scale<float>(float *): ^_Z5scale matches both.\n"
	"With\n"
	".Fl -signal\n"
	"recording is off until the first signal. A signal before cuInit does what it always did.\n"
	".Pp\n"
	"Commands that a launcher\n"
	".Pq mpiexec, srun, torchrun\n"
	"starts on one host, one for each rank, and that record into one database, are one run, named by the program\n"
	"that they were given. The one that ends last prints the summary.\n"
	"With\n"
	".Fl -ranks\n"
	"a process that has another rank, by the variables of its launcher when it first uses CUDA, is not recorded;\n"
	"one without a rank is.\n"
	".Pp\n"
	"A program that cannot be preloaded into (statically linked, linked with musl, setuid, 32-bit) is reported\n"
	"and runs without being recorded. One of musl's that it starts does not run: it would have to be started\n"
	"without\n"
	".Ev LD_PRELOAD .\n",
};
