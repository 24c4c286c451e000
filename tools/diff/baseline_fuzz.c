/* A run compared with any input as a baseline. */
#include "store/database/upkeep/database_fuzzing.h"
#include "tools/command_fuzzing.h"

static struct kc_fuzz_database sound;
static struct kc_fuzz_path database, baseline;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	database = kc_fuzz_path("k.db");
	baseline = kc_fuzz_path("baseline");
	kc_fuzz_sound_database(database.text, &sound);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *const arguments[] = {"diff", "--baseline", baseline.text, database.text, NULL};

	kc_fuzz_write(baseline.text, bytes, length);
	kc_fuzz_command(&kc_command_diff, arguments);
	return 0;
}
