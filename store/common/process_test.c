#include "process.h"

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

static void we_live(void **state)
{
	char boot_id[KC_BOOT_ID_BYTES];
	uint64_t start = kc_process_start(own_pid());

	(void)state;
	assert_true(start > 0);
	assert_int_equal(kc_boot_id(boot_id, sizeof(boot_id)), 0);
	assert_int_equal(strlen(boot_id), 36); /* a UUID, RFC 9562 */
	assert_true(kc_process_alive(own_pid(), start, boot_id, kc_pid_namespace()));
	assert_true(kc_process_alive(own_pid(), start, NULL, 0));
	assert_true(kc_process_alive(own_pid(), start, "", 0));
}

static void a_reused_pid_or_a_reboot_is_not_us(void **state)
{
	uint64_t start = kc_process_start(own_pid());

	(void)state;
	assert_false(kc_process_alive(own_pid(), start + 1, NULL, 0));
	assert_false(kc_process_alive(own_pid(), 0, NULL, 0));
	assert_false(kc_process_alive(own_pid(), start, "00000000-0000-0000-0000-000000000000", 0));
	assert_false(kc_process_alive(UINT32_MAX, start, NULL, 0));
	assert_int_equal(kc_process_start(UINT32_MAX), 0);
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
	usleep(50000);
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
	if (!kc_process_alive(1, start, NULL, st.st_ino))
		return 2;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	/* Only the initial namespace sees that it is gone; others cannot tell. */
	return kc_process_alive(1, start, NULL, st.st_ino) == (kc_pid_namespace() != 0xEFFFFFFC) ? 0 : 3;
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
	    cmocka_unit_test(a_reused_pid_or_a_reboot_is_not_us),
	    cmocka_unit_test(a_name_with_brackets_is_no_trap),
	    cmocka_unit_test(one_that_awaits_wait_is_gone),
	    cmocka_unit_test(a_container_is_seen_from_outside),
	    cmocka_unit_test(one_whose_first_thread_has_ended_lives),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
