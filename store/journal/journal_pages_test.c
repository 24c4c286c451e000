/* Who faults the pages of a segment in. */
#include "journal_internal.h"
#include "journal_testing.h"

#include <sys/mman.h>

static int is_mapped_in(const void *at)
{
	FILE *pages = fopen("/proc/self/pagemap", "rb");
	uint64_t page = 0;

	assert_non_null(pages);
	assert_int_equal(
	    fseek(pages, (long)((uintptr_t)at / (uintptr_t)sysconf(_SC_PAGESIZE) * sizeof(page)), SEEK_SET), 0);
	assert_int_equal(fread(&page, sizeof(page), 1, pages), 1);
	fclose(pages);
	return page >> 63 & 1;
}

static bool faults_in_together(void)
{
	const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc = madvise(page, bytes, 23); /* MADV_POPULATE_WRITE, Linux 5.14 */

	munmap(page, bytes);
	return rc == 0;
}

/* Claims so many slots of a segment, and all before it; the slot behind them. */
static const char *claim_in(struct kc_journal *j, uint64_t segment, uint32_t slots)
{
	while (kc_journal_claimed(j) < segment * KC_SEGMENT_SLOTS + slots)
		assert_true(add(j, 1, KC_SLOT_RETURNED));
	return (const char *)kc_journal_at(j, segment * KC_SEGMENT_SLOTS) + (size_t)slots * KC_SLOT_BYTES;
}

/* Launches that come faster than the worker: few of them fault pages in, and none those of a whole segment. */
static void a_launch_faults_in_the_pages_of_those_behind_it(void **state)
{
	enum { TOGETHER = KC__SLOTS_PER_POPULATE };
	struct kc_journal *j;
	const char *next;

	(void)state;
	if (!faults_in_together())
		skip();
	j = create(bytes_of(16));
	for (uint32_t slots = 0; slots < KC_SEGMENT_SLOTS; slots += TOGETHER) {
		next = claim_in(j, 8, slots + 1);
		assert_true(is_mapped_in(next + (TOGETHER - 1) * KC_SLOT_BYTES - 1));
		if (slots < KC_SEGMENT_SLOTS - 2 * TOGETHER)
			assert_false(is_mapped_in(next + (2 * TOGETHER - 1) * KC_SLOT_BYTES - 1));
	}
	finish(j, 1);
}

/* What the worker has faulted in, and what was since taken from us, costs no launch a call of the system. */
static void a_launch_faults_in_nothing_behind_the_worker(void **state)
{
	struct kc_journal *j = create(bytes_of(16));
	char *segment;

	(void)state;
	kc_journal_prepare(j);
	segment = (char *)kc_journal_at(j, KC_SEGMENT_SLOTS);
	assert_true(is_mapped_in(segment + KC_SEGMENT_BYTES - 1));
	assert_int_equal(madvise(segment, KC_SEGMENT_BYTES, MADV_DONTNEED), 0);
	claim_in(j, 1, 1);
	assert_false(is_mapped_in(segment + (KC__SLOTS_PER_POPULATE - 1) * KC_SLOT_BYTES));
	finish(j, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_launch_faults_in_the_pages_of_those_behind_it, setup, teardown),
	    cmocka_unit_test_setup_teardown(a_launch_faults_in_nothing_behind_the_worker, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
