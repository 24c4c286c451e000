#include "lab.h"
#include "tools/program.h"

static const struct kc_command *const commands[] = {&kc_command_experiment, &kc_command_basis, NULL};

static const struct kc_example examples[] = {
    {
	.command = "basis",
	.commands = "  kerncast-lab basis space times.csv\n"
		    "  kerncast-lab basis predict --time 64=8us --time 512=5us --block 256 -d v100\n",
	.output = "1051 configurations, 53 of them timed\n"
		  "Same in every configuration: use_cmem=1 filter_height=15 filter_width=15\n"
		  "Best measured: 1.49 ms, block_size_x=176 block_size_y=2 tile_size_x=2 tile_size_y=4 read_only=1 "
		  "use_padding=0 use_shmem=1\n"
		  "Try next: predicted 1.45 ms (3.0 % less), block_size_x=112 block_size_y=2 tile_size_x=1 "
		  "tile_size_y=4 read_only=1 use_padding=1 use_shmem=1\n"
		  "…\n",
    },
    {
	.command = "experiment",
	.commands = "  kerncast-lab experiment list\n"
		    "  kerncast-lab experiment bsp --dir results\n",
	.output = "bsp         BSP with λ: matrix multiplication and maximum subarray over sizes\n"
		  "            Amaris, Cordeiro, Goldman, de Camargo, HiPC 2015\n"
		  "cycles      cycle model: matrix multiplication, list ranking, histogram within MAX and SUM\n"
		  "            Kothapalli, Mukherjee, Rehman, Patidar, Narayanan, Srinathan, HiPC 2009\n"
		  "…\n",
    },
    {0},
};

static const struct kc_manual manual = {
    .title = "KERNCAST-LAB",
    .purpose = "repeats the experiments of papers on CUDA kernels, and predicts block sizes",
    .description =
	".Sh DESCRIPTION\n"
	".Nm\n"
	"measures on this device what five papers on the time of CUDA kernels claim, and predicts a kernel's\n"
	"time with block sizes and configurations that were never timed.\n"
	"It reads and writes databases of\n"
	".Xr kerncast 1 .\n"
	".Pp\n"
	"The commands:\n",
    .notes = "",
    .tail = ".Sh EXIT STATUS\n"
	    "0 on success, 1 where the command failed, 2 for wrong use.\n"
	    ".Sh SEE ALSO\n"
	    ".Xr kerncast 1\n",
    .examples =
	"times.csv holds the times of some configurations of a convolution on an A4000. Where lines are left out,\n"
	"it says \\[u2026].\n",
};

const struct kc_program kc_program = {
    .name = "kerncast-lab",
    .introduction = "kerncast-lab repeats the experiments of five papers on this device, and predicts a\n"
		    "kernel's time with block sizes and configurations that were never timed.\n\n"
		    "Usage: kerncast-lab COMMAND [OPTION...]\n",
    .closing = "Exit status: 0, 1 (the command failed) or 2 (wrong use).\n",
    .lists = {{"Commands", KC_GROUP_RESEARCH}},
    .commands = commands,
    .examples = examples,
    .manual = &manual,
};
