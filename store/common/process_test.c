#include "process.h"
#include "ids/thread_testing.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define SKIPPED 77

static uint32_t own_pid(void)
{
	return (uint32_t)getpid();
}

static enum kc_process_seen look(uint32_t pid, uint64_t start, uint64_t pid_namespace)
{
	struct kc_process_identity who = {pid, start, pid_namespace, kc_time_namespace()};

	return kc_process_look(&who);
}

static void we_live(void **state)
{
	char boot_id[KC_BOOT_ID_BYTES];
	uint64_t start = kc_process_start(own_pid());

	(void)state;
	assert_true(start > 0);
	assert_int_equal(kc_process_own_start(), start);
	assert_int_equal(kc_process_own_number(), own_pid());
	assert_int_equal(kc_boot_id(boot_id, sizeof(boot_id)), 0);
	assert_int_equal(strlen(boot_id), 36); /* a UUID, RFC 9562 */
	assert_int_equal(kc_boot_id_is_kernels(), 1);
	assert_int_equal(look(own_pid(), start, kc_pid_namespace()), KC_PROCESS_THERE);
}

static void a_reused_pid_is_not_us(void **state)
{
	uint64_t start = kc_process_start(own_pid());

	(void)state;
	assert_int_equal(look(own_pid(), start + 1, kc_pid_namespace()), KC_PROCESS_GONE);
	assert_int_equal(look(UINT32_MAX, start, kc_pid_namespace()), KC_PROCESS_GONE);
	assert_int_equal(look(0, start, kc_pid_namespace()), KC_PROCESS_GONE);
	assert_int_equal(kc_process_start(UINT32_MAX), 0);
}

static void what_was_not_recorded_is_not_known(void **state)
{
	struct kc_process_identity who = {own_pid(), kc_process_own_start(), kc_pid_namespace(), kc_time_namespace()};

	(void)state;
	assert_int_equal(look(own_pid(), 0, 0), KC_PROCESS_UNSEEN);
	assert_int_equal(look(own_pid(), 0, kc_pid_namespace()), KC_PROCESS_UNSEEN);
	who.time_namespace++; /* starts of another clock */
	who.start++;
	assert_int_equal(kc_process_look(&who), KC_PROCESS_UNSEEN);
}

static void a_name_with_brackets_is_no_trap(void **state)
{
	char name[16];
	uint64_t start = kc_process_start(own_pid());

	(void)state;
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "a) Z 1 (b) 2");
	assert_int_equal(kc_process_start(own_pid()), start);
	prctl(PR_SET_NAME, name);
}

static void one_that_awaits_wait_is_gone(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(kc_process_start((uint32_t)pid), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void *stay(void *arg)
{
	pause();
	return arg;
}

static void one_whose_first_thread_has_ended_lives(void **state)
{
	pid_t pid = fork();
	pthread_t thread;

	(void)state;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pthread_create(&thread, NULL, stay, NULL);
		pthread_exit(NULL);
	}
	while (kc_thread_state(pid, pid) != 'Z')
		usleep(100);
	assert_true(kc_process_start((uint32_t)pid) > 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(kc_process_start((uint32_t)pid), 0);
}

static int alive_in_a_container(void)
{
	char path[64];
	struct stat st;
	uint64_t start;
	pid_t pid;

	if (unshare(CLONE_NEWPID))
		return SKIPPED;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	start = kc_process_start((uint32_t)pid);
	if (start == 0 || stat(path, &st))
		return 1;
	/* There it has pid 1, whose start time here is another. */
	if (look(1, start, st.st_ino) != KC_PROCESS_THERE)
		return 2;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Only the initial namespace sees that it is gone; others cannot tell. */
	return look(1, start, st.st_ino) == (kc_pid_namespace() == 0xEFFFFFFC ? KC_PROCESS_GONE : KC_PROCESS_UNSEEN)
		   ? 0
		   : 3;
}

static void a_container_is_seen_from_outside(void **state)
{
	pid_t pid = fork();
	int status;

	(void)state;
	if (pid == 0)
		_exit(alive_in_a_container());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED) {
		print_message("skipped: a PID namespace needs root\n");
		skip();
	}
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(we_live),
	    cmocka_unit_test(a_reused_pid_is_not_us),
	    cmocka_unit_test(what_was_not_recorded_is_not_known),
	    cmocka_unit_test(a_name_with_brackets_is_no_trap),
	    cmocka_unit_test(one_that_awaits_wait_is_gone),
	    cmocka_unit_test(a_container_is_seen_from_outside),
	    cmocka_unit_test(one_whose_first_thread_has_ended_lives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
