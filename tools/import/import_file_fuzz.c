/* Imports any input as a trace, into a fresh database. */
#include "store/database/upkeep/database_fuzzing.h"
#include "tools/command_fuzzing.h"

static struct kc_fuzz_file empty;
static struct kc_fuzz_path database, trace;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	database = kc_fuzz_path("k.db");
	trace = kc_fuzz_path("trace");
	empty = kc_fuzz_empty_database(database.text);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	const char *const arguments[] = {"import", trace.text, "-o", database.text, NULL};

	kc_fuzz_put_database(database.text, empty);
	kc_fuzz_write(trace.text, bytes, length);
	kc_fuzz_command(&kc_command_import, arguments);
	return 0;
}
