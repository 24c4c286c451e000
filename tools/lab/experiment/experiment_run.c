#include "tools/system/child.h"
#include "tools/program.h"
#include "tools/doctor/doctor.h"
#include "experiment.h"
#include "tools/doctor/inspect.h"
#include "tools/system/library.h"
#include "tools/output/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PRELOAD_BYTES 8192u
#define OUTPUT_BYTES 65536u /* of a program that is kept */
#define WHY_BYTES 512u
#define ARGUMENTS 16u
#define STAND_IN "simcuda" /* folder of the stand-in driver, beside kerncast */

struct ended {
	int status; /* as waitpid() gives it */
	char output[OUTPUT_BYTES];
};

/* A path beside the executable. */
static void beside_us(const char *name, char *out, size_t size)
{
	char self[PATH_MAX];

	if (kc_library_self(self, sizeof(self)) < 0)
		self[0] = '\0';
	if (strrchr(self, '/'))
		strrchr(self, '/')[1] = '\0';
	snprintf(out, size, "%s%s", self, name);
}

/* --- what device is there */

/* Puts the stand-in driver first in the library path of the programs; this process has no driver loaded. */
static int use_stand_in(struct kc_laboratory *lab)
{
	const char *existing = getenv("LD_LIBRARY_PATH");
	char folder[PATH_MAX + 16], driver[PATH_MAX + 64], *paths = NULL;

	beside_us(STAND_IN, folder, sizeof(folder));
	snprintf(driver, sizeof(driver), "%s/libcuda.so.1", folder);
	if (access(driver, R_OK) < 0) {
		kc_error("there is no GPU, and no simulated one in %s; `make run-programs` builds the simulated one",
			 folder);
		return KC_EXIT_FAILED;
	}
	if (asprintf(&paths, "%s%s%s", folder, existing ? ":" : "", existing ? existing : "") < 0)
		return KC_EXIT_FAILED;
	setenv("LD_LIBRARY_PATH", paths, 1);
	free(paths);
	lab->simulated = 1;
	return KC_EXIT_OK;
}

static int find_device(struct kc_laboratory *lab)
{
	static struct kc_diagnosis diagnosis; /* too large for the stack */

	if (lab->simulated)
		return use_stand_in(lab);
	kc_check_driver(&diagnosis);
	if (diagnosis.device_count == 0) {
		kc_error("no GPU here; everything runs on the simulated device");
		return use_stand_in(lab);
	}
	lab->simulated = diagnosis.simulated;
	snprintf(lab->device, sizeof(lab->device), "%s", diagnosis.devices[0]);
	return KC_EXIT_OK;
}

/* The folder itself is locked: a lock file might not fit on a full disk. */
static int lock_folder(struct kc_laboratory *lab)
{
	if (mkdir(lab->folder, 0777) < 0 && errno != EEXIST) {
		kc_error("%s: %s", lab->folder, strerror(errno));
		return KC_EXIT_FAILED;
	}
	lab->lock = open(lab->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (lab->lock < 0) {
		kc_error("%s: %s", lab->folder, strerror(errno));
		return KC_EXIT_FAILED;
	}
	if (flock(lab->lock, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		kc_error("another kerncast-lab experiment is running in %s; wait for it, or use another --dir",
			 lab->folder);
		return KC_EXIT_FAILED;
	}
	return KC_EXIT_OK;
}

int kc_laboratory_open(struct kc_laboratory *lab, int measuring)
{
	int status;

	lab->lock = -1;
	if (!lab->programs[0])
		beside_us("experiments", lab->programs, sizeof(lab->programs));
	if (!measuring)
		return KC_EXIT_OK;
	if (access(lab->programs, R_OK | X_OK) < 0) {
		kc_error("there are no programs in %s; `make run-programs` builds them, --programs takes their folder",
			 lab->programs);
		return KC_EXIT_FAILED;
	}
	status = lock_folder(lab);
	return status == KC_EXIT_OK ? find_device(lab) : status;
}

void kc_laboratory_close(struct kc_laboratory *lab)
{
	if (lab->lock >= 0)
		close(lab->lock);
	lab->lock = -1;
}

/* --- one program */

/* Splits the text of kc_step_text(), whose parts contain no blanks. */
static void split(char *text, char **argv, unsigned most)
{
	unsigned count = 0;

	for (char *part = strtok(text, " "); part && count + 1 < most; part = strtok(NULL, " "))
		argv[count++] = part;
	argv[count] = NULL;
}

/* Runs in the child, which is killed when its parent dies; the next experiment imports and drops its launches. */
static void become(char **argv, const char *preload, int output)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setenv("LD_PRELOAD", preload, 1);
	dup2(output, STDOUT_FILENO);
	execv(argv[0], argv);
	fprintf(stderr, "%s: cannot run %s: %s\n", kc_program.name, argv[0], strerror(errno));
	_exit(127);
}

static void listen_to(int from, struct ended *ended)
{
	char buffer[4096];
	size_t used = 0;
	ssize_t n;

	while ((n = read(from, buffer, sizeof(buffer))) > 0 || (n < 0 && errno == EINTR)) {
		size_t take = n < 0 ? 0 : (size_t)n;

		if (take > sizeof(ended->output) - 1 - used)
			take = sizeof(ended->output) - 1 - used;
		memcpy(ended->output + used, buffer, take);
		used += take;
	}
	ended->output[used] = '\0';
}

static int run_program(char **argv, const char *preload, struct ended *ended)
{
	int link[2], rc = 0;
	pid_t child;

	if (pipe2(link, O_CLOEXEC) < 0)
		return -errno;
	fflush(stdout);
	child = fork();
	if (child == 0)
		become(argv, preload, link[1]);
	if (child < 0)
		rc = -errno;
	close(link[1]);
	if (rc == 0)
		listen_to(link[0], ended);
	close(link[0]);
	while (rc == 0 && waitpid(child, &ended->status, 0) < 0)
		rc = errno == EINTR ? 0 : -errno;
	return rc;
}

/* Tells the simulated device what a block costs, unless the user has done so. */
static void set_costs(const struct kc_laboratory *lab, const char *program, int of_user)
{
	char path[PATH_MAX + 64];

	if (!lab->simulated || of_user)
		return;
	snprintf(path, sizeof(path), "%s/%s.costs", lab->programs,
		 strcmp(program, "pairs") == 0 ? "pairs" : "programs");
	setenv("SIMCUDA_COSTS", path, 1);
}

static void program_path(const struct kc_laboratory *lab, const struct kc_step *step, char *out, size_t size)
{
	if (strcmp(step->program, KC_CALIBRATION) == 0)
		beside_us("kerncast", out, size);
	else
		snprintf(out, size, "%s/%s%s", lab->programs, step->program, lab->simulated ? "-sim" : "");
}

/* `kerncast calibrate` preloads the library for itself. */
static int find_preload(const struct kc_step *step, char *preload, size_t size)
{
	const char *existing = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	int rc;

	if (strcmp(step->program, KC_CALIBRATION) == 0) {
		snprintf(preload, size, "%s", existing ? existing : "");
		return 0;
	}
	rc = kc_library_find(library, sizeof(library));
	if (rc < 0)
		return rc;
	return kc_preload_value(existing, library, "", preload, size);
}

/* token: names the run. */
static int start_step(const struct kc_laboratory *lab, const struct kc_step *step, const char *database,
		      const char *token, struct ended *ended)
{
	static int costs_of_user = -1;
	char text[KC_STEP_TEXT], path[PATH_MAX + 64], preload[PRELOAD_BYTES];
	char *argv[ARGUMENTS];
	int rc = find_preload(step, preload, sizeof(preload));

	if (rc < 0)
		return rc;
	if (costs_of_user < 0)
		costs_of_user = getenv("SIMCUDA_COSTS") != NULL;
	kc_step_text(step, text);
	split(text, argv, ARGUMENTS);
	program_path(lab, step, path, sizeof(path));
	set_costs(lab, step->program, costs_of_user);
	kc_child_settle(database);
	setenv("KERNCAST_RUN", token, 1);
	if (strcmp(step->program, KC_CALIBRATION) == 0) {
		char *calibrate[] = {path, (char *)KC_CALIBRATION, (char *)database, NULL};

		return run_program(calibrate, preload, ended);
	}
	argv[0] = path;
	return run_program(argv, preload, ended);
}

/* Why a program's end is a failure; "": it is not. A wrong result is stored and reported with the claims. */
static const char *objection(const struct ended *ended, char *why, size_t size)
{
	why[0] = '\0';
	if (WIFSIGNALED(ended->status))
		snprintf(why, size, "died by signal %d", WTERMSIG(ended->status));
	else if (WEXITSTATUS(ended->status) && !strstr(ended->output, ": WRONG"))
		snprintf(why, size, "ended with status %d", WEXITSTATUS(ended->status));
	return why;
}

/* --- an experiment's steps */

static void name_run(char *token, size_t size)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(token, size, KC_STEP_TOKEN "%lld-%09ld-%d", (long long)now.tv_sec, now.tv_nsec, (int)getpid());
}

/* The library's journal and SQLite's log are extended by at least this much. */
#define DISK_LEAST_BYTES (256u << 10)

static int is_full(const char *folder)
{
	struct statvfs disk;

	return statvfs(folder, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize < DISK_LEAST_BYTES;
}

/* 0; 1: the step is not complete, which has been reported. */
static int take_step(struct kc_laboratory *lab, const char *name, struct kc_store *store, const struct kc_step *step)
{
	static struct ended ended; /* too large for the stack */
	char database[PATH_MAX + 64], text[KC_STEP_TEXT], token[64], why[WHY_BYTES] = "";
	int rc;

	kc_experiment_path(lab, name, "db", database, sizeof(database));
	name_run(token, sizeof(token));
	rc = start_step(lab, step, database, token, &ended);
	if (rc < 0)
		snprintf(why, sizeof(why), "cannot run: %s", strerror(-rc));
	else if (!*objection(&ended, why, sizeof(why)))
		rc = kc_step_complete(store, step, token, ended.output, why, sizeof(why));
	lab->full = rc == -ENOSPC || (rc < 0 && is_full(lab->folder));
	lab->blind = rc == -ENODATA && !lab->full;
	if (!*why || lab->full) /* a full disk is reported once, by the caller */
		return lab->full;
	kc_step_text(step, text);
	kc_error("%s: %s: %s", name, text, why);
	return 1;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static uint32_t take_steps(struct kc_laboratory *lab, const char *name, struct kc_store *store,
			   const struct kc_step *steps, uint32_t count)
{
	struct kc_progress progress;
	uint32_t missing = 0;

	kc_progress_begin(&progress, name, "measured", count);
	for (uint32_t i = 0; i < count; i++) {
		kc_progress(&progress, i);
		if (kc_step_is_complete(store, &steps[i]))
			continue;
		if (lab->full || lab->blind || (lab->deadline_ns && now_ns() > lab->deadline_ns))
			missing++;
		else
			missing += (uint32_t)take_step(lab, name, store, &steps[i]);
	}
	kc_progress_end(&progress);
	return missing;
}

/* 1, after a message: the steps in the folder were measured on another device. */
static int is_elsewhere(const struct kc_laboratory *lab, const char *name, struct kc_store *store)
{
	char device[sizeof(lab->device)];
	int simulated;

	kc_experiment_device(store, device, sizeof(device), &simulated);
	if (!*device || (simulated == lab->simulated && (!*lab->device || strcmp(device, lab->device) == 0)))
		return 0;
	kc_error("%s: the steps in %s were measured on %s; use another --dir here", name, lab->folder, device);
	return 1;
}

static void say_full(const char *name)
{
	kc_error("%s: the disk is full, so measuring stops and no figure is drawn; free some space and run it again",
		 name);
}

int kc_experiment_measure(struct kc_laboratory *lab, const struct kc_experiment *experiment)
{
	struct kc_step steps[KC_STEPS];
	uint32_t count = experiment->plan(lab->plan, steps), missing;
	struct kc_store *store = NULL;
	char why[WHY_BYTES] = "";
	int rc;

	if (lab->full || lab->blind)
		return 1;
	rc = kc_experiment_store(lab, experiment->name, &store, why, sizeof(why));
	if (rc < 0) {
		lab->full |= rc == -ENOSPC;
		if (lab->full)
			say_full(experiment->name);
		else
			kc_error("%s is not measured: %s", experiment->name, *why ? why : strerror(-rc));
		return 1;
	}
	if (is_elsewhere(lab, experiment->name, store)) {
		kc_store_close(store);
		return 1;
	}
	missing = take_steps(lab, experiment->name, store, steps, count);
	kc_store_close(store);
	if (missing && lab->full)
		say_full(experiment->name);
	else if (missing && lab->blind)
		kc_error("%s: measuring stops here; `kerncast doctor` names the problems", experiment->name);
	else if (missing)
		kc_error("%s: %u of %u steps are not complete; running it again continues", experiment->name, missing,
			 count);
	return missing > 0;
}
