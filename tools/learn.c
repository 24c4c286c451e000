#include "command.h"
#include "tools/input/common_options.h"
#include "tools/input/files/prior_file.h"
#include "tools/learn/knowledge_list.h"
#include "tools/output/format.h"
#include "tools/output/output_file.h"
#include "tools/system/database.h"

#include "store/replay/knowledge_made.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DATABASES_MAX 4096u

enum { KEY_OUTPUT = 'o', KEY_ANONYMOUS = 0x100, KEY_LIST };

struct request {
	const char *output, *list;
	char *databases[DATABASES_MAX];
	size_t count;
	int anonymous, json;
};

static const struct argp_option options[] = {
    {"output", KEY_OUTPUT, "FILE", 0, "the file to write", 0},
    {"anonymous", KEY_ANONYMOUS, NULL, 0, "leave the names of kernels out of the file, which then holds hashes of them",
     0},
    {"list", KEY_LIST, "FILE", 0, "print what such a file holds, and learn nothing", 0},
    {"json", KC_KEY_JSON, NULL, 0, "with --list: print one JSON document", 0},
    {0},
};

static void check(const struct request *request, struct argp_state *state)
{
	if (request->list && (request->count || request->output || request->anonymous))
		argp_error(state, "--list FILE prints a file, and takes neither databases nor options of learning");
	if (!request->list && request->json)
		argp_error(state, "--json is for --list");
	if (!request->list && !request->output)
		argp_error(state, "where to? Name the file: kerncast learn kerncast.db -o FILE");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_OUTPUT:
		request->output = arg;
		return 0;
	case KEY_ANONYMOUS:
		request->anonymous = 1;
		return 0;
	case KEY_LIST:
		request->list = arg;
		return 0;
	case KC_KEY_JSON:
		request->json = 1;
		return 0;
	case ARGP_KEY_ARG:
		if (request->count == DATABASES_MAX)
			argp_error(state, "no more than %u databases at once", DATABASES_MAX);
		request->databases[request->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		check(request, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static int list(const struct request *request)
{
	struct kc_knowledge *knowledge = kc_prior_read(request->list);
	int status;

	if (!knowledge)
		return KC_EXIT_FAILED;
	status = request->json ? kc_knowledge_list_json(knowledge, request->list)
			       : kc_knowledge_list(knowledge, request->list);
	kc_knowledge_free(knowledge);
	return status;
}

static int add_database(struct kc_knowledge_made *made, const char *given)
{
	struct kc_database_working working;
	char path[PATH_MAX];
	struct kc_store *store;
	int rc;

	kc_database_path(given, path, sizeof(path));
	store = kc_database_read(path);
	if (!store)
		return KC_EXIT_FAILED;
	kc_database_working_begin(&working, path, "learned from", 1);
	rc = kc_knowledge_made_add(made, store);
	kc_database_working_end(&working);
	kc_store_close(store);
	if (rc < 0)
		kc_database_unreadable(path, rc);
	return rc < 0 ? KC_EXIT_FAILED : KC_EXIT_OK;
}

/* A file that others can write to would not be used. */
static int write_file(const char *path, const void *bytes, size_t length)
{
	struct kc_output_file file;
	struct stat made;
	int rc = kc_output_file_open(&file, path, 0);

	if (rc < 0)
		return rc;
	if (fstat(fileno(file.to), &made) == 0 && S_ISREG(made.st_mode) &&
	    fchmod(fileno(file.to), made.st_mode & ~(mode_t)(S_IWGRP | S_IWOTH) & ALLPERMS) < 0)
		rc = -errno;
	if (rc == 0 && fwrite(bytes, 1, length, file.to) != length)
		rc = errno ? -errno : -EIO;
	if (rc == 0)
		return kc_output_file_finish(&file);
	kc_output_file_drop(&file);
	return rc;
}

static void say_left_out(const struct kc_knowledge_left_out *left_out)
{
	char count[KC_FORMAT_BYTES];

	if (left_out->unknown_gpu)
		kc_error("left out: %s launch shapes on a GPU that their database does not describe (import the trace "
			 "again with --device)",
			 kc_format_count(left_out->unknown_gpu, count));
	if (left_out->foreign_gpu)
		kc_error("left out: %s launch shape%s on a GPU that is not NVIDIA's",
			 kc_format_count(left_out->foreign_gpu, count), left_out->foreign_gpu == 1 ? "" : "s");
	if (left_out->no_room)
		kc_error("left out: the %s launch shapes measured least often, as the file would be longer than 4 MiB",
			 kc_format_count(left_out->no_room, count));
}

static int write_learned(const struct request *request, struct kc_knowledge_made *made)
{
	struct kc_knowledge_left_out left_out;
	char text[KC_FORMAT_BYTES];
	void *bytes;
	size_t length;
	int rc;

	rc = kc_knowledge_made_bytes(made, &bytes, &length, &left_out);
	say_left_out(&left_out);
	if (rc == -ENODATA) {
		kc_error("nothing to learn: no launch was measured on a GPU that is known");
	} else if (rc == -EFBIG) {
		kc_error("too many kernels for one file of 4 MiB; give fewer databases%s",
			 request->anonymous ? "" : ", or --anonymous, which leaves names out");
	} else if (rc == 0) {
		rc = write_file(request->output, bytes, length);
		if (rc < 0)
			kc_error("cannot write %s: %s", request->output,
				 rc == -EEXIST ? "it is a database" : strerror(-rc));
	} else {
		kc_error("%s", strerror(-rc));
	}
	free(bytes);
	if (rc < 0)
		return KC_EXIT_FAILED;
	printf("%s: %s; kerncast learn --list shows what it holds, and kerncast run --prior begins with it\n",
	       request->output, kc_format_bytes(length, text));
	return kc_output_finish();
}

static int learn(const struct request *request)
{
	struct kc_knowledge_made *made = kc_knowledge_made_new(request->anonymous);
	int status = made ? KC_EXIT_OK : KC_EXIT_FAILED;

	if (!made)
		kc_error("no memory");
	if (made && !request->count)
		status = add_database(made, NULL);
	for (size_t i = 0; made && status == KC_EXIT_OK && i < request->count; i++)
		status = add_database(made, request->databases[i]);
	if (status == KC_EXIT_OK)
		status = write_learned(request, made);
	kc_knowledge_made_free(made);
	return status;
}

static int learn_main(int argc, char **argv, const struct kc_command *self)
{
	static struct request request; /* too large for the stack */

	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	return request.list ? list(&request) : learn(&request);
}

const struct kc_command kc_command_learn = {
    .group = KC_GROUP_RECORD,
    .seldom = 1,
    .name = "learn",
    .summary = "writes what databases teach into a file for other machines",
    .arguments = "[DB...]",
    .options = options,
    .run = learn_main,
    .manual =
	"Replays all launches of the databases, recorded live or imported, and writes what they taught into one\n"
	"file of 4 MiB at most: for each kernel, launch shape and model of GPU the time that it took, as the factor\n"
	"\\(*l of the BSP model with its spread, and the sizes at which kernels were measured. With\n"
	".Nm Cm run Fl -prior Ar FILE\n"
	"or\n"
	".Ev KERNCAST_PRIOR\n"
	"other programs and machines begin with it, and with\n"
	".Nm Cm replay Fl -prior Ar FILE\n"
	"recordings show what it is worth.\n"
	".Pp\n"
	"What the program itself taught before, in its own database, is believed first; then what the file has of\n"
	"the same code on the same model of GPU; then what it has of other code of the same name, or of another GPU\n"
	"of the architecture, for which \\(*l is the same number and times scale with cores and clocks. What is\n"
	"measured then soon outweighs the file. Launches are not counted as measured by it: first seen stays first\n"
	"seen. What simulated devices taught is used on simulated devices alone.\n"
	".Pp\n"
	"The file is used if it is a regular file of the user that nobody else can write, no symbolic link, and\n"
	"whole; else a message says why, and the program begins without it. It holds names of kernels, GPUs, hashes\n"
	"of code and times; with\n"
	".Fl -anonymous\n"
	"hashes in place of the names, by which whoever knows a name can still tell that it is there.\n",
};
