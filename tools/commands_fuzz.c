/*
 * A database that somebody has changed, read by the commands. The input: 1 byte, which command; then changes, see
 * database_fuzzing.h. A command that can run only once in a process, basis, is tried without its command line.
 */
#include "command_fuzzing.h"
#include "store/database/upkeep/database_fuzzing.h"
#include "store/replay/sweep.h"

#include <unistd.h>

static struct kc_fuzz_database sound;
static struct kc_fuzz_path database, baseline, unchanged, merged;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	database = kc_fuzz_path("k.db");
	baseline = kc_fuzz_path("baseline");
	unchanged = kc_fuzz_path("unchanged.db");
	merged = kc_fuzz_path("merged.db");
	kc_fuzz_sound_database(database.text, &sound);
	kc_fuzz_changed_database(unchanged.text, &sound, &(struct kc_fuzz_input){NULL, 0});
	return 0;
}

static void train_basis(void)
{
	struct kc_stored_basis basis;
	struct kc_sweeps *sweeps = NULL, *stored = NULL;
	struct kc_store *store;

	if (kc_store_open(database.text, KC_STORE_WRITE, &store, NULL, 0))
		return;
	if (kc_stored_basis_read(store, &basis) == 0)
		KC_FUZZ_MUST(basis.k <= basis.basis.components && basis.basis.columns <= KC_BASIS_COLUMNS);
	if (kc_sweeps_collect(store, &sweeps) == 0 && kc_sweeps_store(store, sweeps, NULL) == 0)
		kc_sweeps_read(store, &stored);
	kc_sweeps_free(sweeps);
	kc_sweeps_free(stored);
	kc_store_close(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct {
		const struct kc_command *command;
		const char *arguments[KC_FUZZ_ARGUMENTS_MAX];
	} lines[] = {
	    {&kc_command_report, {"report", database.text, "--run", "all"}},
	    {&kc_command_report, {"report", database.text, "--exact", "--json"}},
	    {&kc_command_report, {"report", database.text, "--run", "all", "--by", "kernel", "--csv"}},
	    {&kc_command_report, {"report", database.text, "--html=/dev/null"}},
	    {&kc_command_report,
	     {"report", database.text, "--html=/dev/null", "--run=all", "--kernel=k|s", "--anonymous"}},
	    {&kc_command_diff, {"diff", "--baseline", baseline.text, database.text}},
	    {&kc_command_diff, {"diff", "--baseline", baseline.text, database.text}},
	    {&kc_command_slow, {"slow", database.text, "--kernel=k|s", "--until=1s", "--top=1"}},
	    {&kc_command_slow, {"slow", database.text, "--old=none", "--over=0", "--floor=0", "--json"}},
	    {&kc_command_pairs, {"pairs", database.text, "--kernel=k|s", "--top=26"}},
	    {&kc_command_pairs, {"pairs", database.text, "--json"}},
	    {&kc_command_whatif, {"whatif", database.text, "--device=v100", "--anchor", database.text}},
	    {&kc_command_whatif, {"whatif", database.text, "--device=v100", "--from=k40", "--kernel=k|s", "--json"}},
	    {&kc_command_diff, {"diff", database.text, "--exclude=q", "--stream=1,2", "--since=1us", "--sort=time"}},
	    {&kc_command_report, {"report", database.text, "--kernel=k|s", "--process=1", "--until=1s", "--top=1"}},
	    {&kc_command_replay, {"replay", database.text}},
	    {&kc_command_replay, {"replay", database.text, "--kernel=k|s", "--stream=default,2", "--min=1ns"}},
	    {&kc_command_replay, {"replay", database.text, "--delay", "0", "--json"}},
	    {&kc_command_replay, {"replay", database.text, "--fresh", "--csv"}},
	    {&kc_command_export, {"export", database.text, "--run", "all", "--csv"}},
	    {&kc_command_export, {"export", database.text, "--run", "all", "--chrome"}},
	    {&kc_command_export, {"export", database.text, "--run=all", "--chrome", "--kernel=k|s", "--since=1ns"}},
	    {&kc_command_devices, {"devices", database.text}},
	    {&kc_command_prune, {"prune", database.text, "--keep", "1"}},
	    {&kc_command_merge, {"merge", database.text, "-o", merged.text}},
	    {&kc_command_merge, {"merge", unchanged.text, "-o", database.text}},
	};
	struct kc_fuzz_input input = {bytes, length};
	const size_t count = sizeof(lines) / sizeof(lines[0]);
	size_t line = kc_fuzz_byte(&input) % (count + 1);

	kc_fuzz_changed_database(database.text, &sound, &input);
	unlink(baseline.text);
	unlink(merged.text);
	if (line < count)
		kc_fuzz_command(lines[line].command, lines[line].arguments);
	else
		train_basis();
	return 0;
}
