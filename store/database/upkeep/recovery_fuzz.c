/*
 * Imports a damaged journal into a fresh database, as every command does that finds one beside its database.
 *
 * The first byte of an input says whether it is then imported once more, which may change nothing (AGAIN). The rest is
 * a list of changes to a sound journal:
 *
 *   slot     1 byte; CUT: the file ends here, OF_HEADER: the change is to the header
 *   offset   1 byte, within the slot; 2 bytes in the header; 3 bytes, the length, of CUT
 *   length   1 byte, 1 to 8
 *   bytes
 */
#include "recovery.h"
#include "store/database/upkeep/database_fuzzing.h"

enum { OF_HEADER = 255, CUT = 254 };
enum { AGAIN = 7 };

static struct kc_fuzz_recording sound, damaged;
static struct kc_fuzz_file empty;
static struct kc_fuzz_path database, journal;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	database = kc_fuzz_path("k.db");
	journal = kc_fuzz_path("k.db.1-1.kcj");
	empty = kc_fuzz_empty_database(database.text);
	kc_fuzz_record(&sound, 1, 0);
	return 0;
}

static size_t damage(struct kc_fuzz_input *input)
{
	size_t length = sizeof(damaged);

	memcpy(&damaged, &sound, sizeof(damaged));
	while (input->left) {
		uint32_t where = kc_fuzz_byte(input), offset = 0;
		uint8_t *at = (uint8_t *)&damaged.slots[where % KC_FUZZ_SLOTS];
		size_t room = sizeof(damaged.slots[0]), bytes;

		kc_fuzz_take(input, &offset, where == CUT ? 3 : where == OF_HEADER ? 2 : 1);
		if (where == CUT) {
			length = offset % (sizeof(damaged) + 1);
			continue;
		}
		if (where == OF_HEADER) {
			at = damaged.page;
			room = sizeof(damaged.header);
		}
		offset %= (uint32_t)room;
		bytes = 1 + kc_fuzz_byte(input) % 8;
		kc_fuzz_take(input, at + offset, bytes < room - offset ? bytes : room - offset);
	}
	return length;
}

static void import(size_t length)
{
	struct kc_recovered recovered;
	char why[256];

	kc_fuzz_write(journal.text, &damaged, length);
	kc_recover(database.text, true, &recovered, why, sizeof(why));
}

/* What rows, sums and counts there are. */
static double content(void)
{
	static const char sums[] =
	    "SELECT (SELECT count(*) FROM launch_row) + (SELECT count(*) FROM transfer) + (SELECT count(*) FROM "
	    "lambda_row)"
	    " + (SELECT count(*) FROM stream_call) + (SELECT count(*) FROM work) + (SELECT count(*) FROM past)"
	    " + (SELECT count(*) FROM gpu_state) + (SELECT count(*) FROM operator) + (SELECT count(*) FROM launched_by)"
	    " + (SELECT count(*) FROM step) + (SELECT count(*) FROM scope) + (SELECT count(*) FROM launched_in)"
	    " + (SELECT total(launches + measured + matched) FROM rollup)"
	    " + (SELECT total(count) FROM ledger WHERE item IN ('launches', 'predicted', 'matched', 'transfers'))";
	struct kc_store *store;
	sqlite3_stmt *row = NULL;
	double content;

	KC_FUZZ_MUST(kc_store_open(database.text, KC_STORE_READ, &store, NULL, 0) == 0);
	KC_FUZZ_MUST(sqlite3_prepare_v2(kc_store_db(store), sums, -1, &row, NULL) == SQLITE_OK);
	KC_FUZZ_MUST(sqlite3_step(row) == SQLITE_ROW);
	content = sqlite3_column_double(row, 0);
	sqlite3_finalize(row);
	kc_store_close(store);
	return content;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_fuzz_input input = {bytes, length};
	int again = kc_fuzz_byte(&input) == AGAIN;
	size_t journal_bytes = damage(&input);
	double once;

	kc_fuzz_put_database(database.text, empty);
	import(journal_bytes);
	if (again) {
		once = content();
		import(journal_bytes);
		KC_FUZZ_MUST(content() == once);
	}
	return 0;
}
