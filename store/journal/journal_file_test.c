/* Reading the journals of others: what a SIGKILL leaves, and files that are none. */
#include "journal_testing.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define WRITERS 4
#define LAUNCHES_MAX 400000u
#define BYTES_MAX (KC_HEADER_BYTES + 1000ull * KC_SEGMENT_BYTES)

/* ---- SIGKILL ---- */

struct witness {                          /* shared with the process that is killed */
	_Atomic uint32_t called[WRITERS]; /* launches whose call a writer may have made */
	uint8_t in_database[WRITERS][LAUNCHES_MAX];
};

struct writer {
	struct kc_journal *j;
	struct witness *witness;
	uint32_t id;
};

static void *write_launches(void *arg)
{
	struct writer *w = arg;

	for (uint32_t i = 0; i < LAUNCHES_MAX; i++) {
		struct kc_slot *slot = kc_journal_claim(w->j, KC_KIND_LAUNCH);

		if (!slot)
			break;
		slot->launch.thread = w->id;
		slot->launch.grid[0] = i;
		slot->launch.launched_ns = (int64_t)w->id << 32 | i;
		kc_journal_commit(slot, KC_SLOT_CALLED);
		atomic_store(&w->witness->called[w->id], i + 1);
		slot->launch.result = 0;
		kc_journal_commit(slot, KC_SLOT_RETURNED);
	}
	return NULL;
}

static void store_some(struct kc_journal *j, struct witness *witness)
{
	for (uint64_t i = kc_journal_first(j), end = kc_journal_claimed(j); i < end; i++) {
		struct kc_slot *slot = kc_journal_at(j, i);

		if (!slot || atomic_load(&slot->state) != KC_SLOT_RETURNED)
			continue;
		witness->in_database[slot->launch.thread][slot->launch.grid[0]] = 1;
		kc_journal_commit(slot, KC_SLOT_STORED);
	}
	kc_journal_retire(j);
}

static void be_killed(struct witness *witness, int recycle)
{
	struct kc_journal *j = create(BYTES_MAX);
	struct writer writers[WRITERS];
	pthread_t thread;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failing test leaves nothing behind */
	for (uint32_t i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){j, witness, i};
		pthread_create(&thread, NULL, write_launches, &writers[i]);
	}
	for (;;) {
		kc_journal_prepare(j);
		if (recycle)
			store_some(j, witness);
		else
			usleep(200);
	}
}

struct check {
	struct witness *witness;
	uint64_t next_index, found, bad;
};

static int check_slot(const struct kc_slot *slot, void *arg)
{
	struct check *c = arg;
	uint32_t state = atomic_load(&((struct kc_slot *)slot)->state);

	c->bad += slot->index < c->next_index || slot->kind != KC_KIND_LAUNCH || slot->launch.thread >= WRITERS ||
		  slot->launch.grid[0] >= LAUNCHES_MAX;
	c->next_index = slot->index + 1;
	if (c->bad)
		return 0;
	c->bad += slot->launch.launched_ns != ((int64_t)slot->launch.thread << 32 | slot->launch.grid[0]);
	if (state != KC_SLOT_STORED)
		c->witness->in_database[slot->launch.thread][slot->launch.grid[0]]++;
	c->found++;
	return 0;
}

/* After recovery each launch that may have been made is there once. */
static void kill_at(useconds_t delay_us, int recycle)
{
	struct witness *witness =
	    mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct check check = {.witness = witness};
	struct kc_journal_file *file;
	pid_t pid = fork();
	int status;

	if (pid == 0)
		be_killed(witness, recycle);
	while (atomic_load(&witness->called[0]) == 0)
		usleep(100);
	usleep(delay_us);
	assert_int_equal(kc_journal_open(path, &file), 0);
	assert_int_equal(kc_journal_file_life(file), KC_LIFE_RUNS);
	kc_journal_file_close(file);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(kc_journal_open(path, &file), 0);
	assert_int_equal(kc_journal_file_life(file), KC_LIFE_ENDED);
	assert_int_equal(kc_journal_file_each(file, check_slot, &check), 0);
	kc_journal_file_close(file);
	assert_int_equal(check.bad, 0);
	for (int t = 0; t < WRITERS; t++) {
		uint32_t called = atomic_load(&witness->called[t]);

		for (uint32_t i = 0; i < called; i++)
			/* 2: killed between the database and the mark in the slot; the row's key catches it. */
			if (witness->in_database[t][i] < 1 || witness->in_database[t][i] > 1 + recycle)
				fail_msg("launch %u of %u of thread %d: %u times", i, called, t,
					 witness->in_database[t][i]);
	}
	munmap(witness, sizeof(*witness));
	unlink(path);
}

static void a_kill_loses_nothing(void **state)
{
	(void)state;
	srandom(1);
	for (int i = 0; i < 12; i++)
		kill_at((useconds_t)(random() % 20000), 0);
}

static void a_kill_loses_nothing_while_segments_are_used_again(void **state)
{
	(void)state;
	srandom(2);
	for (int i = 0; i < 12; i++)
		kill_at((useconds_t)(random() % 20000), 1);
}

/* ---- Files that are damaged, or none of ours ---- */

static void put_file(const void *bytes, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
}

static int open_result(void)
{
	struct kc_journal_file *file;
	int rc = kc_journal_open(path, &file);

	if (rc == 0)
		kc_journal_file_close(file);
	return rc;
}

static int count_slot(const struct kc_slot *slot, void *arg)
{
	(void)slot;
	++*(uint64_t *)arg;
	return 0;
}

static uint64_t slots_found(void)
{
	struct kc_journal_file *file;
	uint64_t count = 0;

	assert_int_equal(kc_journal_open(path, &file), 0);
	assert_int_equal(kc_journal_file_each(file, count_slot, &count), 0);
	kc_journal_file_close(file);
	return count;
}

/* A journal with 5,000 slots, some of them of each state; its bytes. */
static uint8_t *sample(size_t *size)
{
	struct kc_journal *j = create(BYTES_MAX);
	struct stat st;
	uint8_t *bytes;
	int fd;

	for (uint32_t i = 0; i < 5000; i++)
		kc_journal_commit(kc_journal_claim(j, KC_KIND_LAUNCH), 1 + i % 4);
	kc_journal_close(j, 0);
	kc_journal_forget(j);
	fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	*size = (size_t)st.st_size;
	bytes = malloc(*size);
	assert_int_equal(read(fd, bytes, *size), st.st_size);
	close(fd);
	return bytes;
}

static void a_short_file_gives_what_it_has(void **state)
{
	size_t size;
	uint8_t *bytes = sample(&size);

	(void)state;
	assert_int_equal(slots_found(), 5000);
	for (size_t cut = 0; cut < KC_HEADER_BYTES; cut += 4095) {
		put_file(bytes, cut);
		assert_int_equal(open_result(), -EINVAL);
	}
	for (size_t slots = 0; slots < 5000; slots += 499) {
		put_file(bytes, KC_HEADER_BYTES + slots * KC_SLOT_BYTES + slots % KC_SLOT_BYTES);
		assert_int_equal(slots_found(), slots);
	}
	free(bytes);
}

static void what_is_no_journal_is_refused(void **state)
{
	static const uint8_t zeros[KC_HEADER_BYTES];
	size_t size;
	uint8_t *bytes = sample(&size);
	struct kc_journal_header *header = (struct kc_journal_header *)bytes;

	(void)state;
	put_file("", 0);
	assert_int_equal(open_result(), -EINVAL);
	put_file("SQLite format 3", 16);
	assert_int_equal(open_result(), -EINVAL);
	put_file(zeros, sizeof(zeros));
	assert_int_equal(open_result(), -EINVAL);
	header->version = KC_JOURNAL_VERSION + 1;
	put_file(bytes, size);
	assert_int_equal(open_result(), -EINVAL);
	header->version = KC_JOURNAL_VERSION;
	header->slot_bytes = 0;
	put_file(bytes, size);
	assert_int_equal(open_result(), -EINVAL);
	header->slot_bytes = KC_SLOT_BYTES;
	put_file(bytes, size);
	/* 1 TiB of nothing: longer than any journal. */
	assert_int_equal(truncate(path, 1ll << 40), 0);
	assert_int_equal(open_result(), -EINVAL);
	unlink(path);
	assert_int_equal(open_result(), -ENOENT);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(open_result(), -EINVAL);
	unlink(path);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(open_result(), -EINVAL);
	unlink(path);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(open_result(), -EINVAL);
	rmdir(path);
	free(bytes);
}

static void texts_end(void **state)
{
	size_t size;
	uint8_t *bytes = sample(&size);
	struct kc_journal_header *header = (struct kc_journal_header *)bytes;
	struct kc_journal_file *file;

	(void)state;
	memset(header->boot_id, 'x', sizeof(*header) - offsetof(struct kc_journal_header, boot_id));
	put_file(bytes, size);
	assert_int_equal(kc_journal_open(path, &file), 0);
	assert_int_equal(strlen(kc_journal_file_header(file)->executable), sizeof(header->executable) - 1);
	assert_int_equal(strlen(kc_journal_file_header(file)->boot_id), sizeof(header->boot_id) - 1);
	assert_int_equal(strnlen(kc_journal_file_header(file)->source, sizeof(header->source)),
			 sizeof(header->source) - 1);
	assert_int_equal(kc_journal_file_header(file)->command_line_bytes, sizeof(header->command_line));
	kc_journal_file_close(file);
	free(bytes);
}

struct order {
	uint64_t next, count;
	struct kc_assembler assembler;
};

static int take_any_slot(const struct kc_slot *slot, void *arg)
{
	struct order *o = arg;
	const void *payload;
	size_t bytes;

	assert_true(slot->index >= o->next);
	o->next = slot->index + 1;
	o->count++;
	kc_assemble(&o->assembler, slot, &payload, &bytes);
	return 0;
}

static void damaged_bytes_do_no_harm(void **state)
{
	size_t size;
	uint8_t *bytes = sample(&size), *damaged = malloc(size);

	(void)state;
	srandom(3);
	for (int round = 0; round < 60; round++) {
		struct order order = {0};
		struct kc_journal_file *file;
		size_t cut = KC_HEADER_BYTES + (size_t)random() % (size - KC_HEADER_BYTES);

		memcpy(damaged, bytes, size);
		for (int i = 0; i < 20000; i++)
			damaged[KC_HEADER_BYTES + (size_t)random() % (size - KC_HEADER_BYTES)] = (uint8_t)random();
		for (int i = 0; i < 40; i++)
			damaged[40 + (size_t)random() % 8000] = (uint8_t)random();
		put_file(damaged, cut);
		assert_int_equal(kc_journal_open(path, &file), 0);
		kc_journal_file_life(file);
		assert_int_equal(kc_journal_file_each(file, take_any_slot, &order), 0);
		assert_true(order.count <= size / KC_SLOT_BYTES);
		kc_journal_file_close(file);
		kc_assembler_free(&order.assembler);
	}
	free(damaged);
	free(bytes);
}

static void one_bad_index_hides_no_segment(void **state)
{
	size_t size;
	uint8_t *bytes = sample(&size);
	struct kc_slot *slots = (struct kc_slot *)(bytes + KC_HEADER_BYTES);

	(void)state;
	slots[0].index = 77ull * KC_SEGMENT_SLOTS;
	slots[3].index = 4;
	put_file(bytes, size);
	assert_int_equal(slots_found(), 5000 - 2);
	free(bytes);
}

/* ---- Entries ---- */

struct expected {
	struct kc_assembler assembler;
	const uint8_t *payload;
	const size_t *sizes;
	size_t entries;
};

static int check_entry(const struct kc_slot *slot, void *arg)
{
	struct expected *e = arg;
	const void *payload;
	size_t bytes;
	int rc = kc_assemble(&e->assembler, slot, &payload, &bytes);

	assert_in_range(rc, 0, 1);
	if (rc == 1) {
		assert_int_equal(bytes, e->sizes[e->entries]);
		assert_memory_equal(payload, e->payload, bytes);
		e->entries++;
	}
	return 0;
}

enum { PART = KC_SLOT_BYTES - 24 }; /* payload of one part, bytes */

static void entries_come_back_whole(void **state)
{
	static const size_t sizes[] = {0, 1, PART, PART + 1, 2 * PART, 5000, 1024 * PART, 40000};
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	static uint8_t payload[1024 * PART + 1];
	struct expected expected = {.payload = payload, .sizes = sizes};
	struct kc_journal *j = create(BYTES_MAX);
	struct kc_journal_file *file;

	(void)state;
	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)(i * 7 + i / 251);
	/* So that entries cross from one segment into the next. */
	for (uint32_t i = 0; i < KC_SEGMENT_SLOTS - 5; i++)
		kc_journal_claim(j, KC_KIND_LAUNCH);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(kc_journal_put(j, KC_KIND_KERNEL, payload, sizes[i]), 0);
	assert_int_equal(kc_journal_put(j, KC_KIND_KERNEL, payload, sizeof(payload)), -EMSGSIZE);
	assert_int_equal(kc_journal_open(path, &file), 0);
	assert_int_equal(kc_journal_file_each(file, check_entry, &expected), 0);
	assert_int_equal(expected.entries, COUNT);
	kc_journal_file_close(file);
	kc_assembler_free(&expected.assembler);
	kc_journal_close(j, 0);
	kc_journal_forget(j);
}

static int note_value(const struct kc_slot *slot, void *arg)
{
	uint64_t *seen = arg; /* how many slots, and the index of the last one */

	assert_true(!seen[0] || slot->index > seen[1]);
	seen[0]++;
	seen[1] = slot->index;
	return 0;
}

/* A file of 10 GiB that is a hole but for the first segments and one in the middle takes no time for the rest. */
static void holes_are_passed_over(void **state)
{
	const uint64_t far = 5000;
	struct kc_slot slot = {.kind = KC_KIND_LAUNCH, .state = KC_SLOT_FINAL, .index = far * KC_SEGMENT_SLOTS + 7};
	struct kc_journal *j = create(bytes_of(20));
	struct timespec begin, end;
	struct kc_journal_file *f;
	uint64_t seen[2] = {0};
	int fd;

	(void)state;
	for (uint32_t i = 0; i < 2 * KC_SEGMENT_SLOTS; i++)
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
	finish(j, 0);
	fd = open(path, O_WRONLY);
	assert_int_equal(ftruncate(fd, (off_t)10 << 30), 0);
	assert_int_equal(pwrite(fd, &slot, sizeof(slot), (off_t)(bytes_of((unsigned)far) + 7 * KC_SLOT_BYTES)),
			 sizeof(slot));
	close(fd);
	assert_int_equal(kc_journal_open(path, &f), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	assert_int_equal(kc_journal_file_each(f, note_value, seen), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	kc_journal_file_close(f);
	assert_int_equal(seen[0], 2 * KC_SEGMENT_SLOTS + 1);
	assert_int_equal(seen[1], slot.index);
	assert_in_range(end.tv_sec - begin.tv_sec, 0, 1);
}

static int feed(struct kc_assembler *a, uint64_t index, uint16_t part, uint16_t count, uint32_t bytes)
{
	struct kc_slot slot = {.index = index, .part = {.index = part, .count = count, .bytes = bytes}};
	const void *payload;
	size_t size;

	return kc_assemble(a, &slot, &payload, &size);
}

static void torn_entries_are_told(void **state)
{
	struct kc_assembler a = {0};

	(void)state;
	assert_int_equal(feed(&a, 10, 0, 3, PART), 0);
	assert_int_equal(a.expected, 3);
	assert_int_equal(feed(&a, 12, 2, 3, 5), -EBADMSG); /* part 1 is missing */
	assert_int_equal(feed(&a, 20, 1, 2, 5), -EBADMSG); /* part 0 is missing */
	assert_int_equal(feed(&a, 30, 0, 2, PART), 0);
	assert_int_equal(feed(&a, 31, 1, 3, PART), -EBADMSG);     /* of another entry */
	assert_int_equal(feed(&a, 40, 0, 2, 100), -EBADMSG);      /* only the last part may be short */
	assert_int_equal(feed(&a, 50, 0, 1, PART + 1), -EBADMSG); /* more than a part holds */
	assert_int_equal(feed(&a, 60, 0, 0, 0), -EBADMSG);
	assert_int_equal(feed(&a, 70, 0, 1, 3), 1);
	assert_int_equal(a.expected, 0);
	kc_assembler_free(&a);
}

static void paths_carry_pid_and_start(void **state)
{
	char out[64];

	(void)state;
	assert_int_equal(kc_journal_path("/x/kerncast.db", 42, 1234567, out, sizeof(out)), 0);
	assert_string_equal(out, "/x/kerncast.db.42-1234567.kcj");
	assert_int_equal(kc_journal_path("/x/kerncast.db", 42, 1234567, out, 20), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_kill_loses_nothing, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_kill_loses_nothing_while_segments_are_used_again, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_short_file_gives_what_it_has, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_is_no_journal_is_refused, setup, teardown),
	    cmocka_unit_test_setup_teardown(texts_end, setup, teardown),
	    cmocka_unit_test_setup_teardown(damaged_bytes_do_no_harm, setup, teardown),
	    cmocka_unit_test_setup_teardown(one_bad_index_hides_no_segment, setup, teardown),
	    cmocka_unit_test_setup_teardown(entries_come_back_whole, setup, teardown),
	    cmocka_unit_test_setup_teardown(holes_are_passed_over, setup, teardown),
	    cmocka_unit_test(torn_entries_are_told),
	    cmocka_unit_test(paths_carry_pid_and_start),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
