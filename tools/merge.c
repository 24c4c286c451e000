#include "command.h"
#include "tools/output/format.h"
#include "tools/output/progress.h"
#include "tools/system/merging.h"

#include "store/common/remote.h"
#include "store/database/store.h"

#include <limits.h>
#include <stdio.h>

#define DATABASES_MAX 65536u

enum { KEY_OUTPUT = 'o' };

struct request {
	const char *output;
	char *databases[DATABASES_MAX];
	size_t count;
};

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "DB", 0, "the database to write, or to add to", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_OUTPUT:
		request->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (request->count == DATABASES_MAX)
			argp_error(state, "no more than %u databases at once", DATABASES_MAX);
		request->databases[request->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!request->output || !request->count)
			argp_error(state, "which, and where to? kerncast merge DB... -o DB");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void print(const char *output, size_t databases, const struct kc_merged *total)
{
	char processes[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES], known[KC_FORMAT_BYTES], grown[KC_FORMAT_BYTES];

	printf("%s: %zu database%s, %llu new run%s, %s process%s, %s launch%s", output, databases,
	       databases == 1 ? "" : "s", (unsigned long long)total->runs, total->runs == 1 ? "" : "s",
	       kc_format_count(total->processes, processes), total->processes == 1 ? "" : "es",
	       kc_format_count(total->launches, launches), total->launches == 1 ? "" : "es");
	if (total->known)
		printf("; %s process%s had been there already", kc_format_count(total->known, known),
		       total->known == 1 ? "" : "es");
	if (total->grown)
		printf("; %s process%s had grown", kc_format_count(total->grown, grown), total->grown == 1 ? "" : "es");
	putchar('\n');
}

static int merge_main(int argc, char **argv, const struct kc_command *self)
{
	static struct request request; /* too large for the stack */
	struct kc_merged total = {0};
	struct kc_progress progress;
	struct kc_store *to;
	char output[PATH_MAX], why[512] = "";
	size_t refused = 0;
	int rc;

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	kc_host_database(request.output, output, sizeof(output));
	if (kc_store_open(output, KC_STORE_WRITE, &to, why, sizeof(why)) < 0) {
		kc_error("%s", why);
		return KC_EXIT_FAILED;
	}
	kc_progress_begin(&progress, output, "merged", 0);
	for (size_t i = 0; i < request.count; i++) {
		refused += kc_merging_add(to, output, request.databases[i], &total) < 0;
		kc_progress(&progress, i + 1);
	}
	kc_progress_end(&progress);
	rc = kc_merging_end(to, output);
	if (refused < request.count)
		print(request.output, request.count - refused, &total);
	if (refused)
		kc_error("%zu of %zu databases were not merged", refused, request.count);
	kc_store_discard(to);
	return refused || rc ? KC_EXIT_FAILED : kc_output_finish();
}

const struct kc_command kc_command_merge = {
    .group = KC_GROUP_RECORD,
    .seldom = 1,
    .name = "merge",
    .summary = "puts databases of one job, such as those of several hosts, into one",
    .arguments = "DB...",
    .options = options,
    .run = merge_main,
    .manual =
	"Adds the runs of each database to the one that\n"
	".Fl -output\n"
	"names, which is made if it is not there. Runs of one job, as a launcher names it, that went on at the same\n"
	"time with different ranks become one run, and so do runs that have one name: then report, slow, diff and\n"
	"export show all ranks of all hosts together. What is there already is not added again; what is there of\n"
	"a process that has grown since, such as one that was running, is replaced. Added runs are numbered in the\n"
	"order in which they began.\n"
	"Ledgers and sums are those of the databases together. Sweeps over block sizes\n"
	".Pq kerncast-lab basis\n"
	"stay where they are.\n"
	"A database that cannot be read is named and left out, the others are merged, and the exit status is 1.\n",
};
