#include "job.h"
#include "shell_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define ID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const char *const variables[] = {
    "RANK",
    "LOCAL_RANK",
    "WORLD_SIZE",
    "TORCHELASTIC_RUN_ID",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_NAMESPACE",
    "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_LOCAL_RANK",
    "MV2_COMM_WORLD_SIZE",
    "PMI_RANK",
    "MPI_LOCALRANKID",
    "PMI_SIZE",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NTASKS",
    "SLURM_JOB_ID",
    "SLURM_STEP_ID",
    "SLURM_RESTART_COUNT",
    "CUDA_VISIBLE_DEVICES",
};

static int clear(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		unsetenv(variables[i]);
	return 0;
}

/* Pairs of a variable and its value, until NULL. */
static struct kc_job read_with(const char *const *pairs)
{
	struct kc_job job;

	clear(NULL);
	for (; *pairs; pairs += 2)
		setenv(pairs[0], pairs[1], 1);
	kc_job_read(&job);
	return job;
}
#define READ(...) read_with((const char *const[]){__VA_ARGS__, NULL})

#define ALL (KC_JOB_RANK | KC_JOB_LOCAL_RANK | KC_JOB_WORLD_SIZE)

static void check(const struct kc_job *job, uint32_t rank, uint32_t local_rank, uint32_t world_size, const char *name)
{
	assert_int_equal(job->known, ALL);
	assert_int_equal(job->rank, rank);
	assert_int_equal(job->local_rank, local_rank);
	assert_int_equal(job->world_size, world_size);
	assert_string_equal(job->job, name);
}

static void each_launcher_tells_the_rank(void **state)
{
	struct kc_job job;

	(void)state;
	job = READ("RANK", "11", "LOCAL_RANK", "3", "WORLD_SIZE", "16", "TORCHELASTIC_RUN_ID", "my-run");
	check(&job, 11, 3, 16, "torchrun my-run");
	job = READ("OMPI_COMM_WORLD_RANK", "2", "OMPI_COMM_WORLD_LOCAL_RANK", "0", "OMPI_COMM_WORLD_SIZE", "4",
		   "PMIX_NAMESPACE", "2741502977");
	check(&job, 2, 0, 4, "openmpi 2741502977");
	job = READ("MV2_COMM_WORLD_RANK", "0", "MV2_COMM_WORLD_LOCAL_RANK", "0", "MV2_COMM_WORLD_SIZE", "2");
	check(&job, 0, 0, 2, "");
	job = READ("PMI_RANK", "1", "MPI_LOCALRANKID", "1", "PMI_SIZE", "2");
	check(&job, 1, 1, 2, "");
	job = READ("SLURM_PROCID", "7", "SLURM_LOCALID", "1", "SLURM_NTASKS", "8", "SLURM_JOB_ID", "4711",
		   "SLURM_STEP_ID", "0");
	check(&job, 7, 1, 8, "slurm 4711.0");
	assert_int_equal(strcmp(job.host, "") != 0, 1);
}

/* torchrun inside of srun: the rank is torchrun's, and as nobody named the run, the job is Slurm's. */
static void the_inner_launcher_counts(void **state)
{
	struct kc_job job = READ("SLURM_PROCID", "1", "SLURM_LOCALID", "0", "SLURM_NTASKS", "2", "SLURM_JOB_ID", "4711",
				 "SLURM_STEP_ID", "3", "SLURM_RESTART_COUNT", "2", "RANK", "9", "LOCAL_RANK", "1",
				 "WORLD_SIZE", "16", "TORCHELASTIC_RUN_ID", "none");

	(void)state;
	check(&job, 9, 1, 16, "slurm 4711.3 restart 2");
	assert_string_equal(kc_job_rank_variable(), "RANK");
}

static void what_is_no_rank_is_none(void **state)
{
	static const char *const odd[] = {"", "-1", "x", "4", "1x", "99999999999999999999", "16777217", " 1"};
	struct kc_job job;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
		job = READ("RANK", odd[i], "WORLD_SIZE", "4", "LOCAL_RANK", "0");
		assert_int_equal(job.known, 0);
	}
	job = READ("RANK", "1"); /* may mean anything */
	assert_int_equal(job.known, 0);
	assert_null(kc_job_rank_variable());
	job = READ("PMI_RANK", "1", "PMI_SIZE", "4", "MPI_LOCALRANKID", "four");
	assert_int_equal(job.known, KC_JOB_RANK | KC_JOB_WORLD_SIZE);
}

static void long_values_are_cut(void **state)
{
	char text[5000];
	struct kc_job job;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	job = READ("RANK", "1", "WORLD_SIZE", "2", "TORCHELASTIC_RUN_ID", text, "CUDA_VISIBLE_DEVICES", text);
	assert_int_equal(strlen(job.visible_devices), sizeof(job.visible_devices) - 1);
	assert_int_equal(strlen(job.job), strlen("torchrun ") + 100);
	job = READ("SLURM_PROCID", "1", "SLURM_NTASKS", "2", "SLURM_JOB_ID", text, "SLURM_STEP_ID", text);
	assert_int_equal(strlen(job.job), strlen("slurm ") + 40 + 1 + 20);
}

/* Lines as Docker, Kubernetes and Podman leave them; layers of a file system are no containers. */
static void containers_are_known_by_their_ids(void **state)
{
	char out[65];

	(void)state;
	assert_true(kc_job_container("12:cpuset:/docker/" ID "\n", false, out));
	assert_string_equal(out, ID);
	assert_true(
	    kc_job_container("0::/kubepods.slice/kubepods-pod1.slice/cri-containerd-" ID ".scope\n", false, out));
	assert_string_equal(out, ID);
	assert_false(kc_job_container("0::/\n", false, out));
	assert_string_equal(out, "");
	assert_false(kc_job_container("0::/user.slice/0123456789abcdef\n", false, out));
	assert_false(kc_job_container("0::/" ID "0\n", false, out));
	assert_true(
	    kc_job_container("1 2 0:3 /var/lib/docker/containers/" ID "/hostname /etc/hostname rw\n", true, out));
	assert_string_equal(out, ID);
	assert_false(kc_job_container("1 2 0:3 / / rw - overlay o upperdir=/docker/overlay2/" ID "/diff\n", true, out));
}

static void ranks_are_numbers_and_ranges(void **state)
{
	static const char *const wrong[] = {"", ",", "1,", ",1", "a", "1-", "3-1", "1,,2", "1 2", "-1", "99999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_int_not_equal(kc_ranks_check(wrong[i]), 0);
	assert_int_equal(kc_ranks_check("0,8-10"), 0);
	assert_true(kc_ranks_have("0,8-10", 0));
	assert_false(kc_ranks_have("0,8-10", 1));
	assert_false(kc_ranks_have("0,8-10", 7));
	assert_true(kc_ranks_have("0,8-10", 8));
	assert_true(kc_ranks_have("0,8-10", 10));
	assert_false(kc_ranks_have("0,8-10", 11));
}

static void arguments_are_quoted_for_a_shell(void **state)
{
	char *arguments[] = {"app", "two words", "it's", "", NULL};
	char out[64];

	(void)state;
	assert_string_equal(kc_shell_words(arguments, out, sizeof(out)), "app 'two words' 'it'\\''s' ''");
	assert_string_equal(kc_shell_words(arguments, out, 16), "app 'two words'");
	assert_string_equal(kc_shell_words(arguments, out, 15), "app");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_launcher_tells_the_rank),      cmocka_unit_test(the_inner_launcher_counts),
	    cmocka_unit_test(what_is_no_rank_is_none),           cmocka_unit_test(long_values_are_cut),
	    cmocka_unit_test(containers_are_known_by_their_ids), cmocka_unit_test(ranks_are_numbers_and_ranges),
	    cmocka_unit_test(arguments_are_quoted_for_a_shell),
	};
	return cmocka_run_group_tests(tests, clear, NULL);
}
