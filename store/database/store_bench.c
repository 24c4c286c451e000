/*
 * store_bench ROWS FILE [keep]: writes ROWS launches with plausible values into
 * FILE (deleted first and, without "keep", afterwards) and prints launches per second through
 * kc_store_slot and commit, bytes per launch on disk, and the time of a report.
 */
#include "store/query/report/activity.h"
#include "store/query/query.h"
#include "store.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define KERNELS 60u
#define STREAMS 8u
#define SHAPES_PER_KERNEL 6u
#define BATCH 8192u /* as many as the worker of the shim writes at once when it is busy */

struct bench {
	struct kc_store *store;
	uint64_t rows;
	uint64_t index;
	uint64_t random;
	int64_t now_ns;
};

static uint64_t next_random(struct bench *b)
{
	/* Marsaglia, "Xorshift RNGs", 2003: triple 13, 7, 17. */
	b->random ^= b->random << 13;
	b->random ^= b->random >> 7;
	b->random ^= b->random << 17;
	return b->random;
}

static double uniform(struct bench *b)
{
	return (double)(next_random(b) >> 11) / 9007199254740992.0; /* 2^53 */
}

static double seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int put_entry(struct bench *b, uint32_t kind, const void *payload, size_t bytes)
{
	struct kc_slot slot;
	size_t room = sizeof(slot.part.payload), count = (bytes + room - 1) / room;

	for (size_t i = 0; i < count; i++) {
		size_t part = bytes - i * room < room ? bytes - i * room : room;
		int rc;

		memset(&slot, 0, sizeof(slot));
		slot.kind = kind;
		slot.index = b->index++;
		slot.part.index = (uint16_t)i;
		slot.part.count = (uint16_t)count;
		slot.part.bytes = (uint32_t)part;
		memcpy(slot.part.payload, (const char *)payload + i * room, part);
		rc = kc_store_slot(b->store, &slot);
		if (rc)
			return rc;
	}
	return 0;
}

static int put_dictionary(struct bench *b)
{
	struct kc_device_entry device = {.driver_version = 13000, .device = {.name = "Bench", .simulated = 1}};
	int rc = kc_store_begin(b->store);

	if (rc == 0)
		rc = put_entry(b, KC_KIND_DEVICE, &device, sizeof(device));
	for (uint32_t i = 1; rc == 0 && i <= STREAMS; i++) {
		struct kc_stream_entry stream = {.id = i, .handle = 0x1000 + i};

		rc = put_entry(b, KC_KIND_STREAM, &stream, sizeof(stream));
	}
	for (uint32_t i = 1; rc == 0 && i <= KERNELS; i++) {
		struct {
			struct kc_kernel_entry entry;
			char names[64];
		} kernel = {.entry = {.id = i, .code_hash = i, .resources = {.registers = 32}}};
		int length = snprintf(kernel.names, sizeof(kernel.names), "_Z8kernel%02uPfi", i);

		rc = put_entry(b, KC_KIND_KERNEL, &kernel, sizeof(kernel.entry) + (size_t)length + 2);
	}
	return rc ? rc : kc_store_commit(b->store);
}

static void make_launch(struct bench *b, struct kc_slot *slot)
{
	struct kc_launch *l = &slot->launch;
	uint32_t kernel = (uint32_t)(next_random(b) % KERNELS), shape = (uint32_t)(next_random(b) % SHAPES_PER_KERNEL);
	double true_ns = exp(log(2e3) + uniform(b) * log(500)); /* 2 us to 1 ms */
	double predicted_ns = true_ns * (0.8 + 0.4 * uniform(b));
	int64_t wait_ns = (int64_t)(5e3 + uniform(b) * 2e6);

	memset(slot, 0, sizeof(*slot));
	slot->kind = KC_KIND_LAUNCH;
	slot->index = b->index++;
	b->now_ns += 2000 + (int64_t)(uniform(b) * 6000);
	l->launched_ns = b->now_ns;
	l->predicted_at_ns = b->now_ns - 200;
	l->solo_ns = (int64_t)predicted_ns;
	l->solo_low_ns = (int64_t)(predicted_ns * 0.9);
	l->solo_high_ns = (int64_t)(predicted_ns * 1.12);
	l->start_ns = b->now_ns + wait_ns;
	l->slowdown = b->random & 3 ? 1.0f : 1.0f + (float)uniform(b);
	l->slowdown_waves = l->slowdown;
	l->end_ns = l->start_ns + (int64_t)(predicted_ns * (double)l->slowdown);
	l->measured_start_ns = l->start_ns + (int64_t)(uniform(b) * 1e4);
	l->measured_end_ns = l->measured_start_ns + (int64_t)(true_ns * (double)l->slowdown);
	l->grid[0] = 64 << shape;
	l->grid[1] = l->grid[2] = 1;
	l->block[0] = 256;
	l->block[1] = l->block[2] = 1;
	l->api = KC_API_LAUNCH_KERNEL;
	l->kernel = kernel + 1;
	l->stream = (uint32_t)(next_random(b) % STREAMS) + 1;
	l->correlation = (uint32_t)b->index;
	l->thread = 123456;
	l->model_state = (uint32_t)(b->index / 1000 + 1);
	l->blocks_per_sm = 8;
	l->model = KC_MODEL_BSP_SHAPE;
	l->novelty = KC_REPEATED;
	l->concurrency_case = l->slowdown > 1 ? 1 : 0;
	l->overlap = l->slowdown > 1 ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE;
	/* A measurement and a decision each, some hundred launches later. */
	l->order = (struct kc_order){
	    .known = 2 * b->index, .measured_after = 200 + b->random % 800, .decided_after = 1 + b->random % 40};
}

/* Adds the seconds spent in the store: processor time and wall time. */
static int put_launches(struct bench *b, double *cpu_s, double *wall_s)
{
	static struct kc_slot slots[BATCH];
	uint64_t left = b->rows;
	int rc = 0;

	while (left && rc == 0) {
		uint32_t n = left < BATCH ? (uint32_t)left : BATCH;
		double cpu, wall;

		for (uint32_t i = 0; i < n; i++)
			make_launch(b, &slots[i]);
		cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
		wall = seconds(CLOCK_MONOTONIC);
		rc = kc_store_begin(b->store);
		for (uint32_t i = 0; rc == 0 && i < n; i++)
			rc = kc_store_slot(b->store, &slots[i]);
		if (rc == 0)
			rc = kc_store_commit(b->store);
		*cpu_s += seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
		*wall_s += seconds(CLOCK_MONOTONIC) - wall;
		left -= n;
	}
	return rc;
}

static int fill(struct bench *b, const char *path)
{
	static struct kc_journal_header header = {.pid = 1, .boot_id = "bench", .run_token = "bench"};
	char why[256];
	int64_t process;
	double cpu_s = 0, wall_s = 0;
	int rc = kc_store_open(path, KC_STORE_WRITE, &b->store, why, sizeof(why));

	if (rc) {
		fprintf(stderr, "%s\n", why);
		return rc;
	}
	rc = kc_store_process(b->store, &header, &process);
	if (rc == 0)
		rc = put_dictionary(b);
	if (rc == 0)
		rc = put_launches(b, &cpu_s, &wall_s);
	kc_store_close(b->store);
	if (rc == 0)
		printf("store     %10.0f launches/s of processor time (budget >= 500000), %.0f of wall time\n",
		       (double)b->rows / cpu_s, (double)b->rows / wall_s);
	return rc;
}

static int report(struct bench *b, const char *path)
{
	struct kc_selection selection;
	struct kc_activity *activity;
	struct kc_report *report = NULL;
	struct stat st;
	double start;
	int rc = stat(path, &st) ? -errno : 0;

	if (rc == 0)
		printf("disk      %10.1f bytes per launch (budget <= 100)\n", (double)st.st_size / (double)b->rows);
	start = seconds(CLOCK_MONOTONIC);
	if (rc == 0)
		rc = kc_store_open(path, KC_STORE_READ, &b->store, NULL, 0);
	if (rc)
		return rc;
	rc = kc_query_select(b->store, "latest", &selection, NULL, 0);
	if (rc == 0)
		rc = kc_query_report(b->store, &selection, 0, &report);
	if (rc == 0)
		rc = kc_query_activity(b->store, report, &activity);
	if (rc == 0) {
		printf("report    %10.3f s over %" PRIu64 " launches (budget <= 3 s for 10000000)\n",
		       seconds(CLOCK_MONOTONIC) - start, report->ledger.launches);
		kc_activity_free(activity);
	}
	kc_report_free(report);
	kc_store_close(b->store);
	return rc;
}

static void delete_database(const char *path)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	char name[4096];

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", path, endings[i]);
		unlink(name);
	}
}

int main(int argc, char **argv)
{
	struct bench b = {.random = 88172645463325252ull, .now_ns = 1000000};
	int keep = argc == 4 && strcmp(argv[3], "keep") == 0, rc;

	if (argc != 3 + keep || (b.rows = strtoull(argv[1], NULL, 10)) == 0) {
		fprintf(stderr, "usage: %s ROWS FILE [keep]\n", argv[0]);
		return 2;
	}
	delete_database(argv[2]);
	rc = fill(&b, argv[2]);
	if (rc == 0)
		rc = report(&b, argv[2]);
	if (rc)
		fprintf(stderr, "%s: %s\n", argv[2], strerror(-rc));
	if (!keep)
		delete_database(argv[2]);
	return rc ? 1 : 0;
}
