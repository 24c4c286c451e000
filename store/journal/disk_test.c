/* The file under the journal: descriptors, blocks, full disks, limits. */
#include "journal_testing.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define SKIPPED 77

static int lowest_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

static void segments_leave_no_descriptor(void **state)
{
	struct kc_journal *j = create(bytes_of(20));
	int before = lowest_descriptor();
	struct stat st;

	(void)state;
	for (uint32_t i = 0; i < 10 * KC_SEGMENT_SLOTS; i++)
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
	assert_int_equal(lowest_descriptor(), before);
	assert_int_equal(kc_journal_in_memory(j), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	/* Its blocks are there, not only its length. */
	assert_true((uint64_t)st.st_blocks * 512 >= bytes_of(10));
	finish(j, 0);
}

/* A template that cannot be read ends the process when the file is there and its header is to be written. */
static void a_process_killed_while_it_makes_its_journal_leaves_none(void **state)
{
	struct kc_journal_header *unreadable =
	    mmap(NULL, sizeof(*unreadable), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct kc_journal *j;
	int status;
	pid_t child;

	(void)state;
	assert_ptr_not_equal(unreadable, MAP_FAILED);
	unlink(path);
	child = fork();
	if (child == 0) {
		signal(SIGSEGV, SIG_DFL);
		kc_journal_create(path, unreadable, bytes_of(20), &j);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	assert_int_equal(access(path, F_OK), -1);
	munmap(unreadable, sizeof(*unreadable));
}

static void a_foreign_file_in_its_place_is_left_alone(void **state)
{
	struct kc_journal *j = create(bytes_of(20));
	int fd;

	(void)state;
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	close(fd);
	for (uint32_t i = 0; i < 10 * KC_SEGMENT_SLOTS; i++)
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
	kc_journal_look(j);
	assert_int_equal(kc_journal_in_memory(j), 1); /* as a crash would lose it */
	assert_int_equal(file_bytes(), 0);
	assert_int_equal(store_all(j), 10 * KC_SEGMENT_SLOTS);
	finish(j, 1);
	assert_int_equal(access(path, F_OK), 0);
}

static void a_file_that_moved_is_told_from_one_that_is_gone(void **state)
{
	struct kc_journal *j = create(bytes_of(20));
	char other[sizeof(path) + 8];

	(void)state;
	assert_int_equal(kc_journal_deleted(j), 0);
	snprintf(other, sizeof(other), "%s.moved", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(kc_journal_deleted(j), 0);
	for (uint32_t i = 0; i < 10 * KC_SEGMENT_SLOTS; i++)
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
	assert_int_equal(kc_journal_in_memory_why(j), 0); /* the file is open */
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(kc_journal_deleted(j), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(kc_journal_deleted(j), 1);
	finish(j, 0);
}

static void what_cannot_be_created_is_an_error(void **state)
{
	struct kc_journal_header template = {0};
	struct kc_journal *j;

	(void)state;
	assert_int_equal(kc_journal_create("/nonexistent/x.kcj", &template, 10 * MIB, &j), -ENOENT);
	assert_int_equal(kc_journal_create(path, &template, KC_HEADER_BYTES, &j), -EINVAL);
	assert_int_equal(access(path, F_OK), -1);
	j = create(10 * MIB);
	assert_int_equal(kc_journal_create(path, &template, 10 * MIB, &(struct kc_journal *){NULL}), -EEXIST);
	finish(j, 0);
}

/* All of it is accepted and found, though part of it is in memory. */
static int fill_past_the_disk(uint64_t header_room)
{
	enum { COUNT = 10 * KC_SEGMENT_SLOTS };
	struct kc_journal_header template = {.pid = 1};
	struct kc_journal *j;

	CHECK(kc_journal_create(path, &template, 100 * MIB, &j) == 0);
	CHECK(kc_journal_in_memory(j) == !header_room || header_room == 1);
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK(add(j, i, KC_SLOT_RETURNED));
	CHECK(kc_journal_in_memory(j) == 1);
	for (uint32_t i = 0; i < COUNT; i++)
		CHECK(kc_journal_at(j, i)->launch.grid[0] == i);
	CHECK(kc_journal_header(j)->pid == 1);
	CHECK(store_all(j) == COUNT);
	finish(j, 1);
	CHECK(access(path, F_OK) == -1);
	return 0;
}

static int on_a_small_disk(void)
{
	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", directory, "tmpfs", 0, "size=2m"))
		return SKIPPED;
	return fill_past_the_disk(1);
}

static int on_a_full_disk(void)
{
	char other[96];
	int fd;

	if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("tmpfs", directory, "tmpfs", 0, "size=64k"))
		return SKIPPED;
	snprintf(other, sizeof(other), "%s/other", directory);
	fd = open(other, O_RDWR | O_CREAT, 0600);
	CHECK(fallocate(fd, 0, 0, 32768) == 0);
	return fill_past_the_disk(0);
}

static int under_a_file_size_limit(void)
{
	struct rlimit limit = {MIB, MIB};

	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return fill_past_the_disk(1);
}

static int under_a_tiny_file_size_limit(void)
{
	struct rlimit limit = {4096, 4096};

	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	return fill_past_the_disk(0);
}

/* From here on fallocate() fails with this errno in this process. */
static int deny_fallocate(uint32_t number)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fallocate, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int record_on_disk(uint32_t number)
{
	struct kc_journal_header template = {.pid = 1};
	struct kc_journal *j;
	struct stat st;

	if (deny_fallocate(number))
		return SKIPPED;
	CHECK(fallocate(0, 0, 0, 1) == -1 && errno == (int)number);
	CHECK(kc_journal_create(path, &template, 100 * MIB, &j) == 0);
	for (uint32_t i = 0; i < 3 * KC_SEGMENT_SLOTS; i++)
		CHECK(add(j, i, KC_SLOT_RETURNED));
	CHECK(kc_journal_in_memory(j) == 0);
	CHECK(stat(path, &st) == 0 && (uint64_t)st.st_blocks * 512 >= bytes_of(3));
	CHECK(store_all(j) == 3 * KC_SEGMENT_SLOTS);
	finish(j, 1);
	return 0;
}

static int where_fallocate_is_forbidden(void)
{
	return record_on_disk(EPERM);
}

static int where_fallocate_is_not_there(void)
{
	return record_on_disk(ENOSYS);
}

static int where_fallocate_is_refused(void)
{
	return record_on_disk(EINVAL);
}

/* From here on no file can be mapped to be shared, as on FUSE with direct I/O. */
static int deny_shared_mappings(void)
{
	struct sock_filter filter[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 3),
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
	    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENODEV),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int where_files_cannot_be_mapped(void)
{
	struct kc_journal_header template = {.pid = 1};
	struct kc_journal *j;

	if (deny_shared_mappings())
		return SKIPPED;
	CHECK(kc_journal_create(path, &template, 100 * MIB, &j) == 0);
	CHECK(kc_journal_in_memory(j) == 1);
	CHECK(kc_journal_in_memory_why(j) == -ENODEV);
	CHECK(add(j, 7, KC_SLOT_RETURNED));
	CHECK(kc_journal_at(j, 0)->launch.grid[0] == 7);
	CHECK(access(path, F_OK) == -1);
	return 0;
}

static void expect_in_child(int (*fn)(void))
{
	int rc = in_child(fn);

	if (rc == SKIPPED) {
		print_message("skipped: mounting a tmpfs, or a filter of system calls, is not allowed\n");
		skip();
	}
	assert_int_equal(rc, 0);
}

static void memory_takes_over_on_a_small_disk(void **state)
{
	(void)state;
	expect_in_child(on_a_small_disk);
}

static void memory_takes_over_on_a_full_disk(void **state)
{
	(void)state;
	expect_in_child(on_a_full_disk);
}

static void memory_takes_over_at_the_file_size_limit(void **state)
{
	(void)state;
	expect_in_child(under_a_file_size_limit);
	expect_in_child(under_a_tiny_file_size_limit);
}

static void zeros_are_written_where_blocks_cannot_be_asked_for(void **state)
{
	(void)state;
	expect_in_child(where_fallocate_is_forbidden);
	expect_in_child(where_fallocate_is_not_there);
	expect_in_child(where_fallocate_is_refused);
}

static void memory_takes_over_where_files_cannot_be_mapped(void **state)
{
	(void)state;
	expect_in_child(where_files_cannot_be_mapped);
}

static uint64_t launches_in_memory(struct kc_journal *j)
{
	const struct kc_memory_segment *memory = kc_journal_header(j)->memory;
	uint64_t launches = 0;

	for (uint32_t i = 0; i < KC_MEMORY_SEGMENTS_MAX; i++)
		launches += memory[i].number ? memory[i].launches : 0;
	return launches;
}

static uint64_t transfers_in_memory(struct kc_journal *j)
{
	const struct kc_memory_segment *memory = kc_journal_header(j)->memory;
	uint64_t transfers = 0;

	for (uint32_t i = 0; i < KC_MEMORY_SEGMENTS_MAX; i++)
		transfers += memory[i].number ? memory[i].transfers : 0;
	return transfers;
}

static void the_header_tells_what_is_in_memory_alone(void **state)
{
	struct rlimit limit = {MIB, RLIM_INFINITY}, old;
	struct kc_journal *j;
	uint64_t on_disk = 0;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	limit.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	j = create(1024 * MIB);
	for (uint32_t i = 0; i < 3 * KC_SEGMENT_SLOTS; i++)
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
	setrlimit(RLIMIT_FSIZE, &old);
	for (uint32_t i = 0; i < 3 * KC_SEGMENT_SLOTS; i++)
		on_disk += (uint64_t)kc_journal_on_disk(j, i);
	assert_int_equal(on_disk, KC_SEGMENT_SLOTS);
	assert_int_equal(launches_in_memory(j), 2 * KC_SEGMENT_SLOTS);
	kc_journal_not_asked(j, kc_journal_at(j, 2 * KC_SEGMENT_SLOTS));
	kc_journal_not_asked(j, kc_journal_at(j, 0)); /* it is on the disk */
	assert_int_equal(launches_in_memory(j), 2 * KC_SEGMENT_SLOTS - 1);
	kc_journal_for_transfer(j, kc_journal_at(j, 2 * KC_SEGMENT_SLOTS + 1));
	kc_journal_for_transfer(j, kc_journal_at(j, 1));
	assert_int_equal(launches_in_memory(j), 2 * KC_SEGMENT_SLOTS - 2);
	assert_int_equal(transfers_in_memory(j), 1);
	store_all(j);
	assert_int_equal(launches_in_memory(j), 0);
	finish(j, 1);
}

static void memory_is_bounded(void **state)
{
	struct rlimit limit = {MIB, RLIM_INFINITY}, old;
	struct kc_journal *j;
	uint64_t accepted = 0;

	(void)state;
	getrlimit(RLIMIT_FSIZE, &old);
	limit.rlim_max = old.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	j = create(1024 * MIB);
	while (add(j, 1, KC_SLOT_RETURNED))
		accepted++;
	setrlimit(RLIMIT_FSIZE, &old);
	/* One segment of the file and 32 of memory. */
	assert_int_equal(accepted, 33 * KC_SEGMENT_SLOTS - 2048);
	assert_int_equal(kc_journal_in_memory(j), 1);
	/* When the disk has room again, the file grows as before. */
	assert_int_equal(store_all(j), accepted);
	for (uint32_t i = 0; i < 4 * KC_SEGMENT_SLOTS; i++)
		assert_int_equal(add(j, i, KC_SLOT_RETURNED), 1);
	store_all(j);
	assert_int_equal(kc_journal_in_memory(j), 0);
	finish(j, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(segments_leave_no_descriptor, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_process_killed_while_it_makes_its_journal_leaves_none, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_foreign_file_in_its_place_is_left_alone, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_file_that_moved_is_told_from_one_that_is_gone, setup, teardown),
	    cmocka_unit_test_setup_teardown(what_cannot_be_created_is_an_error, setup, teardown),
	    cmocka_unit_test_setup_teardown(memory_takes_over_on_a_small_disk, setup, teardown),
	    cmocka_unit_test_setup_teardown(memory_takes_over_on_a_full_disk, setup, teardown),
	    cmocka_unit_test_setup_teardown(memory_takes_over_at_the_file_size_limit, setup, teardown),
	    cmocka_unit_test_setup_teardown(zeros_are_written_where_blocks_cannot_be_asked_for, setup, teardown),
	    cmocka_unit_test_setup_teardown(memory_takes_over_where_files_cannot_be_mapped, setup, teardown),
	    cmocka_unit_test_setup_teardown(the_header_tells_what_is_in_memory_alone, setup, teardown),
	    cmocka_unit_test_setup_teardown(memory_is_bounded, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
