#include "job.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define CONTAINER_DIGITS 64u
#define FILE_BYTES (64u << 10)

struct launcher {
	const char *name, *rank, *local_rank, *world_size;
	const char *job; /* NULL: it gives none */
};

static const struct launcher launchers[] = {
    {"torchrun", "RANK", "LOCAL_RANK", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"},
    {"openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE"},
    {"mvapich", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_SIZE", NULL},
    {"pmi", "PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE", NULL},
    {"slurm", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS", NULL},
};

/* A number of at most KC_WORLD_MOST, and nothing else. */
static bool read_number(const char *text, char end, uint32_t *out)
{
	uint32_t value = 0;

	if (!text || !isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		value = value * 10 + (uint32_t)(*text - '0');
		if (value > KC_WORLD_MOST)
			return false;
	}
	*out = value;
	return *text == end;
}

static bool number_of(const char *variable, uint32_t *out)
{
	return read_number(getenv(variable), 0, out);
}

/* Names such as RANK may mean anything: both must be there, and go together. */
static bool is_of(const struct launcher *launcher, uint32_t *rank, uint32_t *world_size)
{
	return number_of(launcher->rank, rank) && number_of(launcher->world_size, world_size) && *rank < *world_size;
}

static const struct launcher *find(uint32_t *rank, uint32_t *world_size)
{
	for (size_t i = 0; i < sizeof(launchers) / sizeof(*launchers); i++)
		if (is_of(launchers + i, rank, world_size))
			return launchers + i;
	return NULL;
}

/* A restarted job has the id that it had. */
static void name_slurm(char *out, size_t size)
{
	const char *id = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID"),
		   *restart = getenv("SLURM_RESTART_COUNT");
	uint32_t count;

	if (!id || !*id)
		return;
	snprintf(out, size, "slurm %.40s%s%.20s", id, step && *step ? "." : "", step ? step : "");
	if (read_number(restart, 0, &count) && count)
		snprintf(out + strlen(out), size - strlen(out), " restart %u", count);
}

static void name_job(const struct launcher *launcher, char *out, size_t size)
{
	const char *id = launcher->job ? getenv(launcher->job) : NULL, *found = getenv(KC_JOB_VARIABLE);

	out[0] = '\0';
	/* torchrun calls jobs "none" that nobody has named. */
	if (id && *id && strcmp(id, "none") != 0)
		snprintf(out, size, "%s %.100s", launcher->name, id);
	else
		name_slurm(out, size);
	if (!out[0] && found)
		snprintf(out, size, "%.100s", found);
}

void kc_job_read_rank(struct kc_job *out)
{
	const struct launcher *launcher = find(&out->rank, &out->world_size);

	out->known = 0;
	out->job[0] = '\0';
	if (!launcher)
		return;
	out->known = KC_JOB_RANK | KC_JOB_WORLD_SIZE;
	if (number_of(launcher->local_rank, &out->local_rank) && out->local_rank < out->world_size)
		out->known |= KC_JOB_LOCAL_RANK;
	name_job(launcher, out->job, sizeof(out->job));
}

const char *kc_job_rank_variable(void)
{
	uint32_t rank, world_size;
	const struct launcher *launcher = find(&rank, &world_size);

	return launcher ? launcher->rank : NULL;
}

static size_t digits_at(const char *text)
{
	size_t n = 0;

	while (n <= CONTAINER_DIGITS && isxdigit((unsigned char)text[n]))
		n++;
	return n;
}

/* Of a mount, only what a container's manager keeps for one: layers of file systems have such names as well. */
static bool is_kept_for_container(const char *text, const char *at)
{
	static const char *const folders[] = {"/containers/", "/overlay-containers/", "/sandboxes/"};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		size_t length = strlen(folders[i]);

		if ((size_t)(at - text) >= length && !memcmp(at - length, folders[i], length))
			return true;
	}
	return false;
}

bool kc_job_container(const char *text, bool is_mounts, char out[65])
{
	for (const char *at = text; *at;) {
		size_t n = digits_at(at);

		if (n == CONTAINER_DIGITS && (!is_mounts || is_kept_for_container(text, at))) {
			memcpy(out, at, n);
			out[n] = '\0';
			return true;
		}
		at += n ? n : 1;
	}
	out[0] = '\0';
	return false;
}

static bool find_container(const char *path, bool is_mounts, char *buffer, char out[65])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t n;

	if (fd < 0)
		return false;
	while (used < FILE_BYTES - 1 && (n = read(fd, buffer + used, FILE_BYTES - 1 - used)) > 0)
		used += (size_t)n;
	close(fd);
	buffer[used] = '\0';
	return kc_job_container(buffer, is_mounts, out);
}

void kc_job_read(struct kc_job *out)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	char *buffer = malloc(FILE_BYTES);
	struct utsname about;

	*out = (struct kc_job){0};
	kc_job_read_rank(out);
	if (uname(&about) == 0)
		snprintf(out->host, sizeof(out->host), "%.64s", about.nodename);
	snprintf(out->visible_devices, sizeof(out->visible_devices), "%.255s", visible ? visible : "");
	if (buffer && !find_container("/proc/self/cgroup", false, buffer, out->container))
		find_container("/proc/self/mountinfo", true, buffer, out->container);
	free(buffer);
}

/* The next of a list, which goes on at *list. */
static bool next_range(const char **list, uint32_t *first, uint32_t *last)
{
	const char *at = *list;
	bool is_range;

	if (!isdigit((unsigned char)*at))
		return false;
	at += strspn(at, "0123456789");
	is_range = *at == '-';
	if (!read_number(*list, *at, first))
		return false;
	*last = *first;
	if (is_range) {
		const char *to = at + 1;

		at = to + strspn(to, "0123456789");
		if (!read_number(to, *at, last) || *last < *first)
			return false;
	}
	if (*at && (*at != ',' || !at[1]))
		return false;
	*list = at + (*at == ',');
	return true;
}

int kc_ranks_check(const char *list)
{
	uint32_t first, last;

	if (!*list)
		return -EINVAL;
	while (*list)
		if (!next_range(&list, &first, &last))
			return -EINVAL;
	return 0;
}

bool kc_ranks_have(const char *list, uint32_t rank)
{
	uint32_t first, last;

	while (*list && next_range(&list, &first, &last))
		if (first <= rank && rank <= last)
			return true;
	return false;
}
