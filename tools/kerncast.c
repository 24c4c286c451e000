#include "program.h"

static const struct kc_command *const commands[] = {
    &kc_command_run,     &kc_command_report,  &kc_command_diff,
    &kc_command_slow,    &kc_command_pairs,   &kc_command_whatif,
    &kc_command_doctor,  &kc_command_devices, &kc_command_recover,
    &kc_command_prune,   &kc_command_merge,   &kc_command_learn,
    &kc_command_export,  &kc_command_predict, &kc_command_slowdown,
    &kc_command_import,  &kc_command_replay,  &kc_command_calibrate,
    &kc_command_explain, &kc_command_tune,    NULL,
};

const struct kc_program kc_program = {
    .name = "kerncast",
    .introduction = "kerncast predicts how long each CUDA kernel will take before it runs, measures it,\n"
		    "and tells what was slow, what changed, and how good the predictions were.\n\n"
		    "Usage: kerncast COMMAND [OPTION...]     to begin: kerncast run ./app && kerncast report\n",
    .closing = "Exit status: 0, 1 (the command failed) or 2 (wrong use); for run, the program's own.\n",
    .lists =
	{
	    {"Record", KC_GROUP_RECORD},
	    {"Ask what was recorded", KC_GROUP_ASK},
	    {"Tune, without running the program", KC_GROUP_TUNE},
	    {"Research", KC_GROUP_RESEARCH},
	},
    .commands = commands,
    .examples = kc_examples_of_kerncast,
    .manual = &kc_manual_of_kerncast,
    .moved = {"basis", "experiment"},
    .moved_to = "kerncast-lab",
};
