#include "knowledge.h"

#include "past.h"
#include "predictor/math/order.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIGURE_TOLERANCE 0.02 /* between what two drivers or documents say of one clock or bandwidth */

/* Reading the file */

static const char *why_not(const struct stat *file)
{
	if (!S_ISREG(file->st_mode))
		return "it is no regular file";
	if (file->st_uid != geteuid())
		return "it belongs to another user; copy it";
	if (file->st_mode & (S_IWGRP | S_IWOTH))
		return "others may write to it; chmod go-w makes it yours alone";
	if (file->st_size > (off_t)KC_KNOWLEDGE_BYTES_MAX)
		return "it is longer than 4 MiB";
	return NULL;
}

/* Until the end or `room` bytes. The number; -errno. */
static ssize_t read_all(int fd, char *to, size_t room)
{
	size_t got = 0;
	ssize_t n = 1;

	while (got < room && n > 0) {
		n = read(fd, to + got, room - got);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			got += (size_t)n;
	}
	return n < 0 ? -errno : (ssize_t)got;
}

/* A copy: what becomes of the file afterwards cannot matter. */
static int read_file(int fd, void **bytes, size_t *length, char *why, size_t why_size)
{
	struct stat file;
	const char *reason;
	ssize_t n;

	if (fstat(fd, &file) < 0)
		return -errno;
	reason = why_not(&file);
	if (reason) {
		snprintf(why, why_size, "%s", reason);
		return -EPERM;
	}
	*bytes = malloc((size_t)file.st_size + 1);
	n = *bytes ? read_all(fd, *bytes, (size_t)file.st_size) : -ENOMEM;
	*length = n < 0 ? 0 : (size_t)n;
	return n < 0 ? (int)n : 0;
}

int kc_knowledge_open(const char *path, struct kc_knowledge **out, char *why, size_t why_size)
{
	struct kc_knowledge *knowledge = malloc(sizeof(*knowledge));
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
	void *bytes = NULL;
	size_t length = 0;
	int rc = fd < 0 ? -errno : knowledge ? 0 : -ENOMEM;

	*out = NULL;
	why[0] = 0;
	if (rc == 0)
		rc = read_file(fd, &bytes, &length, why, why_size);
	if (rc == 0)
		rc = kc_knowledge_check(bytes, length, knowledge, why, why_size);
	if (fd >= 0)
		close(fd);
	if (rc) {
		if (!why[0])
			snprintf(why, why_size, "%s", rc == -ELOOP ? "it is a symbolic link" : strerror(-rc));
		free(bytes);
		free(knowledge);
		return rc;
	}
	*out = knowledge;
	return 0;
}

void kc_knowledge_free(struct kc_knowledge *knowledge)
{
	if (knowledge)
		free((void *)knowledge->head);
	free(knowledge);
}

/* Looking up */

static int is_close(double a, double b)
{
	return fabs(a - b) <= FIGURE_TOLERANCE * fmax(a, b);
}

static int is_model(const struct kc_knowledge_device *known, const struct kc_device *device)
{
	return !strcmp(known->name, device->name) && known->cc_major == device->cc_major &&
	       known->cc_minor == device->cc_minor && known->sm_count == device->sm_count &&
	       known->cores_per_sm == device->cores_per_sm && known->simulated == (device->simulated != 0) &&
	       is_close(known->clock_khz, device->clock_khz) &&
	       is_close((double)known->memory_bytes_per_s, (double)device->memory_bytes_per_s);
}

/* What a stand-in took says nothing about a GPU. */
static int is_related(const struct kc_knowledge_device *known, const struct kc_device *device)
{
	const struct kc_device like = {.cc_major = known->cc_major, .cc_minor = known->cc_minor};

	return known->simulated == (device->simulated != 0) && kc_curve_relatedness(&like, device);
}

static int is_code(const struct kc_knowledge_kernel *kernel, const struct kc_code_identity *code)
{
	return kernel->code_hash == code->code_hash && kernel->registers == code->registers &&
	       kernel->static_shared_bytes == code->static_shared_bytes;
}

const struct kc_knowledge_device *kc_knowledge_device(const struct kc_knowledge *k, const struct kc_device *device)
{
	for (uint32_t i = 0; k && i < k->head->device_count; i++)
		if (is_model(&k->devices[i], device))
			return &k->devices[i];
	return NULL;
}

static uint64_t name_at(const void *row)
{
	uint64_t name;

	memcpy(&name, row, sizeof(name));
	return name;
}

/* The first of count rows of so many bytes, each of which begins with its name, in whose place `name` belongs. */
static uint32_t first_named(const void *rows, size_t bytes, uint32_t count, uint64_t name)
{
	return (uint32_t)KC_FIRST(i, count, name_at((const char *)rows + i * bytes) >= name);
}

const struct kc_knowledge_kernel *kc_knowledge_kernel(const struct kc_knowledge *k, const struct kc_code_identity *code,
						      const struct kc_device *device)
{
	static const struct kc_shape none = {0};
	uint64_t name = kc_launch_name(code->mangled, &none, NULL);
	uint32_t i = k ? first_named(k->kernels, sizeof(*k->kernels), k->head->kernel_count, name) : 0;

	for (; k && i < k->head->kernel_count && k->kernels[i].name == name; i++)
		if (is_code(&k->kernels[i], code) && is_model(&k->devices[k->kernels[i].device], device))
			return &k->kernels[i];
	return NULL;
}

/* The same device before the same code. -1: neither is related. */
static int closeness(const struct kc_knowledge *k, const struct kc_knowledge_entry *entry,
		     const struct kc_past_query *query)
{
	const struct kc_knowledge_kernel *kernel = &k->kernels[entry->kernel];
	const struct kc_knowledge_device *known = &k->devices[kernel->device];

	if (is_model(known, query->device))
		return 2 + is_code(kernel, &query->code);
	return is_related(known, query->device) ? is_code(kernel, &query->code) : -1;
}

const struct kc_knowledge_entry *kc_knowledge_find(const struct kc_knowledge *k, const struct kc_past_query *query,
						   int *same)
{
	const struct kc_knowledge_entry *best = NULL;
	uint64_t name;
	int closest = -1;

	*same = 0;
	if (!k)
		return NULL;
	name = kc_launch_name(query->code.mangled, query->dims, query->arguments);
	for (uint32_t i = first_named(k->entries, sizeof(*k->entries), k->head->entry_count, name);
	     i < k->head->entry_count && k->entries[i].name == name; i++) {
		int close = closeness(k, &k->entries[i], query);

		if (close > closest) {
			best = &k->entries[i];
			closest = close;
		}
	}
	*same = closest == 3;
	return best;
}

struct kc_lambda kc_knowledge_lambda(const struct kc_knowledge_lambda *from)
{
	return (struct kc_lambda){
	    .log_value = from->log_value,
	    .variance = from->variance,
	    .weight = from->weight,
	    .widening = 1,
	    .count = from->count,
	    .spread_count = from->spread_count,
	};
}

void kc_knowledge_sizes(const struct kc_knowledge *k, const struct kc_knowledge_kernel *kernel,
			struct kc_scaling *sizes)
{
	kc_scaling_init(sizes);
	sizes->count = kernel->point_count;
	for (uint32_t i = 0; i < sizes->count; i++) {
		sizes->points[i] = k->points[kernel->first_point + i];
		sizes->points[i].count = 1; /* a measurement here counts as much as all of those elsewhere */
	}
}
