#include "tools/doctor/doctor.h"
#include "command.h"
#include "tools/input/common_options.h"
#include "tools/output/colour.h"
#include "tools/output/json.h"

#include <stdio.h>
#include <string.h>

enum { KEY_PRELOADED = 0x100, KEY_RECOVER };

#define LEVEL_COLUMNS 8

struct request {
	struct kc_common_options common;
	const char *program;
	int preloaded;
};

static const struct argp_option options[] = {
    KC_JSON_OPTION,
    {"recover", KEY_RECOVER, NULL, 0,
     "import what ended processes left in journals, as `kerncast recover` does; to be given first, what follows is "
     "that command's",
     0},
    {"preloaded", KEY_PRELOADED, NULL, OPTION_HIDDEN, NULL, 0},
    {0},
};

static const char *const level_names[] = {"ok", "warning", "problem"};
static const enum kc_colour level_colours[] = {KC_GREEN, KC_YELLOW, KC_RED};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct request *request = state->input;

	switch (key) {
	case KEY_PRELOADED:
		request->preloaded = 1;
		return 0;
	case KEY_RECOVER:
		argp_error(state, "--recover is to be given first");
		return 0;
	case ARGP_KEY_ARG:
		kc_only_argument(&request->program, "program without its arguments", arg, state);
		return 0;
	default:
		return kc_common_option(&request->common, key, arg, state);
	}
}

static unsigned problems(const struct kc_diagnosis *d)
{
	unsigned count = 0;

	for (size_t i = 0; i < d->count; i++)
		count += d->checks[i].level == KC_LEVEL_PROBLEM;
	return count;
}

static void print_text(const struct kc_diagnosis *d, const char *program)
{
	if (d->simulated)
		kc_say_simulated("the driver found here is a stand-in; its times do not come from a GPU.");
	for (size_t i = 0; i < d->count; i++) {
		const struct kc_check *check = d->checks + i;

		kc_colour_print(stdout, level_colours[check->level], "%s", level_names[check->level]);
		printf("%*s %-15s %s\n", LEVEL_COLUMNS - (int)strlen(level_names[check->level]), "", check->name,
		       check->text);
		if (check->cure[0])
			printf("%*s %-15s -> %s\n", LEVEL_COLUMNS, "", "", check->cure);
	}
	putchar('\n');
	if (problems(d)) {
		kc_colour_print(stdout, KC_RED, "%u problem%s found.", problems(d), problems(d) == 1 ? "" : "s");
		putchar('\n');
	} else {
		kc_colour_print(stdout, KC_GREEN, "Ready.");
		printf(" Next: kerncast run %s\n", program ? program : "APP");
	}
}

static json_t *to_json(const struct kc_diagnosis *d)
{
	json_t *out = kc_json_document("doctor", 1), *checks = json_array(), *devices = json_array();

	for (size_t i = 0; i < d->count; i++) {
		const struct kc_check *check = d->checks + i;
		json_t *one = json_object();

		json_object_set_new(one, "level", json_string(level_names[check->level]));
		json_object_set_new(one, "name", kc_json_text(check->name));
		json_object_set_new(one, "text", kc_json_text(check->text));
		json_object_set_new(one, "cure", check->cure[0] ? kc_json_text(check->cure) : json_null());
		json_array_append_new(checks, one);
	}
	for (int i = 0; i < d->device_count && i < (int)KC_PROBE_DEVICES; i++)
		json_array_append_new(devices, kc_json_text(d->devices[i]));
	json_object_set_new(out, "ok", json_boolean(!problems(d)));
	json_object_set_new(out, "simulated", json_boolean(d->simulated));
	json_object_set_new(out, "driver_version", d->driver_version ? json_integer(d->driver_version) : json_null());
	json_object_set_new(out, "devices", devices);
	json_object_set_new(out, "checks", checks);
	return out;
}

static int doctor_main(int argc, char **argv, const struct kc_command *self)
{
	static struct kc_diagnosis d; /* too large for the stack */
	struct request request = {0};
	int status;

	if (argc > 1 && strcmp(argv[1], "--recover") == 0)
		return kc_command_recover.run(argc - 1, argv + 1, &kc_command_recover);
	kc_output_guard();
	kc_command_parse(self, argc, argv, 0, parse, &request);
	if (request.preloaded)
		return kc_is_preloaded() ? KC_EXIT_OK : KC_EXIT_FAILED;
	kc_check_preload(&d);
	kc_check_driver(&d);
	kc_check_cupti(&d);
	kc_check_trial(&d);
	kc_check_environment(&d);
	kc_check_database(&d);
	if (request.program)
		kc_check_program(&d, request.program);
	if (request.common.json) {
		status = kc_json_print(to_json(&d));
	} else {
		print_text(&d, request.program);
		status = kc_output_finish();
	}
	return status == KC_EXIT_OK && problems(&d) ? KC_EXIT_FAILED : status;
}

const struct kc_command kc_command_doctor = {
    .group = KC_GROUP_RECORD,
    .name = "doctor",
    .summary = "checks whether programs can be predicted and measured here",
    .arguments = "[APP]",
    .options = options,
    .run = doctor_main,
    .manual =
	"Checks everything that predicting and measuring needs: the library and whether it can be preloaded, the\n"
	"driver and its devices, CUPTI, other profilers, the place of the database. Then it runs a few hundred\n"
	"small kernels under the library to see whether they are predicted and measured.\n"
	"With\n"
	".Ar APP ,\n"
	"says how that program reaches CUDA.\n"
	"Each line is ok, a warning or a problem; a cure follows where there is one.\n"
	"The exit status is 0 where no problem was found, else 1.\n",
};
