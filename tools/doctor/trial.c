/* Runs a program of our own under the library; its ledger tells whether launches
 * are seen, predicted and measured here. */
#include "doctor.h"
#include "inspect.h"
#include "tools/system/library.h"
#include "store/common/options.h"
#include "store/query/query.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIME_LIMIT_S 30 /* CUPTI's first attach can take seconds */
#define PRELOAD_BYTES (PATH_MAX * 4)
#define NAME "trial run"

/* Runs in the child; returns only if the program cannot be executed. */
static void become_program(const char *database, const char *self, const char *preload)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (unsigned i = 0; i < KC_OPTION_COUNT; i++)
		if (strcmp(kc_option_info(i)->env, "KERNCAST_CUPTI") != 0)
			unsetenv(kc_option_info(i)->env);
	setenv("KERNCAST_DB", database, 1);
	setenv("LD_PRELOAD", preload, 1);
	unsetenv("LD_AUDIT");
	unsetenv("CUDA_INJECTION64_PATH");
	if (nowhere >= 0) {
		dup2(nowhere, STDOUT_FILENO);
		dup2(nowhere, STDERR_FILENO);
	}
	alarm(TIME_LIMIT_S);
	execl(self, self, "calibrate", "--work", (char *)NULL);
}

/* 0: the program succeeded; > 0: its exit status, or 128 + signal; -errno. */
static int run_program(const char *database)
{
	char self[PATH_MAX], library[PATH_MAX], preload[PRELOAD_BYTES];
	int rc = kc_library_self(self, sizeof(self)), status;
	pid_t pid;

	if (rc == 0)
		rc = kc_library_find(library, sizeof(library));
	if (rc == 0)
		rc = kc_preload_value(getenv("LD_PRELOAD"), library, "", preload, sizeof(preload));
	if (rc < 0)
		return rc;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		become_program(database, self, preload);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void judge_measuring(struct kc_diagnosis *d, const struct kc_report *r)
{
	const struct kc_ledger *l = &r->ledger;
	const char *cause = r->message_count ? r->messages[0].text : "the cause is unknown";

	if (!l->measured)
		kc_check_add(d, KC_LEVEL_PROBLEM, NAME,
			     "remove the cause; until then launches are predicted and not measured",
			     "%llu launches, none measured (%llu records dropped): %s", (unsigned long long)l->launches,
			     (unsigned long long)l->records_dropped, cause);
	else if (l->records_dropped || l->invalid || l->measured < l->launches)
		kc_check_add(d, KC_LEVEL_WARNING, NAME,
			     "nothing to do: accuracy is reported over the launches that were measured",
			     "%llu of %llu launches measured (%llu records dropped, %llu invalid): %s",
			     (unsigned long long)l->measured, (unsigned long long)l->launches,
			     (unsigned long long)l->records_dropped, (unsigned long long)l->invalid, cause);
	else
		kc_check_add(d, KC_LEVEL_OK, NAME, "", "%llu launches: all predicted, all measured",
			     (unsigned long long)l->launches);
	if (l->routed_by_name)
		kc_check_add(d, KC_LEVEL_WARNING, "driver's answers", "nothing to do: hooks are chosen by name instead",
			     "%llu functions at addresses that the driver does not export",
			     (unsigned long long)l->routed_by_name);
}

static void judge(struct kc_diagnosis *d, const char *database, int status)
{
	struct kc_selection selection;
	struct kc_report *report = NULL;
	struct kc_store *store = NULL;
	char why[512] = "";

	if (status == 128 + 14)
		kc_check_add(d, KC_LEVEL_PROBLEM, NAME, "check with nvidia-smi whether the GPU is busy or hung",
			     "a few hundred small kernels did not finish within %d s", TIME_LIMIT_S);
	else if (status)
		kc_check_add(d, KC_LEVEL_PROBLEM, NAME, "kerncast calibrate shows the driver's error",
			     "the driver refused a small kernel (the program ended with status %d)", status);
	if (kc_store_open(database, KC_STORE_READ, &store, why, sizeof(why)) < 0 ||
	    kc_query_select(store, NULL, &selection, why, sizeof(why)) < 0 ||
	    kc_query_report(store, &selection, 0, &report) < 0) {
		if (!status)
			kc_check_add(d, KC_LEVEL_PROBLEM, NAME, "", "nothing was recorded: %s", why);
	} else if (!status) {
		judge_measuring(d, report);
	}
	kc_report_free(report);
	kc_store_close(store);
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = {"trial.db", "trial.db-wal", "trial.db-shm"};
	char path[PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		unlink(path);
	}
	rmdir(folder);
}

void kc_check_trial(struct kc_diagnosis *d)
{
	const char *temporary = getenv("TMPDIR");
	char folder[PATH_MAX], database[PATH_MAX + 16];
	int status;

	if (!d->device_count)
		return; /* reported already */
	snprintf(folder, sizeof(folder), "%s/kerncast-XXXXXX", temporary && *temporary ? temporary : "/tmp");
	if (!mkdtemp(folder)) {
		kc_check_add(d, KC_LEVEL_WARNING, NAME, "set TMPDIR to a writable folder", "could not run: %s: %s",
			     folder, strerror(errno));
		return;
	}
	snprintf(database, sizeof(database), "%s/trial.db", folder);
	status = run_program(database);
	if (status < 0)
		kc_check_add(d, KC_LEVEL_WARNING, NAME, "", "could not run: %s", strerror(-status));
	else
		judge(d, database, status);
	remove_folder(folder);
}
