/*
 * Which of many processes one is: the host and container that it runs in, the
 * GPUs that it may use, and its place in a launcher's job. A launcher tells each
 * process its rank in variables of its environment:
 *
 *   torchrun         RANK, LOCAL_RANK, WORLD_SIZE (which programs also set by
 *                    themselves); TORCHELASTIC_RUN_ID. docs.pytorch.org, "torchrun"
 *   Open MPI         OMPI_COMM_WORLD_RANK, _LOCAL_RANK, _SIZE; PMIX_NAMESPACE.
 *                    docs.open-mpi.org, "Environment variables set for processes"
 *   MVAPICH          MV2_COMM_WORLD_RANK, _LOCAL_RANK, _SIZE. Its user guide, 9
 *   MPICH, Intel MPI PMI_RANK, PMI_SIZE, MPI_LOCALRANKID, as Hydra sets them
 *   Slurm            SLURM_PROCID, SLURM_LOCALID, SLURM_NTASKS; SLURM_JOB_ID,
 *                    SLURM_STEP_ID, SLURM_RESTART_COUNT. slurm.schedmd.com, "srun"
 *
 * Of several, the first counts: Slurm starts torchrun and mpirun, not they Slurm.
 */
#ifndef KC_JOB_H
#define KC_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KC_JOB_VARIABLE                                                                                                \
	"KERNCAST_JOB"          /* set by kerncast run where a launcher gives no id: "launcher 4102-77 on node7" */
#define KC_WORLD_MOST 16777216u /* ranks; a larger number is taken for something else */

enum kc_job_known {
	KC_JOB_RANK = 1,
	KC_JOB_LOCAL_RANK = 2,
	KC_JOB_WORLD_SIZE = 4,
};

/* Zeros: nothing is known. Texts are cut where they are longer. */
struct kc_job {
	char host[65];
	char container[65];        /* id of 64 hexadecimal digits */
	char visible_devices[256]; /* CUDA_VISIBLE_DEVICES */
	char job[128];             /* "slurm 4711.0", "torchrun my-run", "openmpi 2741502977", or KC_JOB_VARIABLE */
	uint32_t known;            /* enum kc_job_known */
	uint32_t rank, world_size;
	uint32_t local_rank; /* on its host */
};

/* Reads the environment, and files of /proc to a bound. */
void kc_job_read(struct kc_job *out);

/* The rank and the job alone, from the environment. */
void kc_job_read_rank(struct kc_job *out);

/* The variable that the rank was read from; NULL: there is none. */
const char *kc_job_rank_variable(void);

/* Finds the id of a container in the text of /proc/self/cgroup or, with is_mounts, of mountinfo. */
bool kc_job_container(const char *text, bool is_mounts, char out[65]);

/* "0,8", "0-3,16": 0 or -EINVAL. */
int kc_ranks_check(const char *list);
/* Whether a valid list names the rank. */
bool kc_ranks_have(const char *list, uint32_t rank);

#endif
