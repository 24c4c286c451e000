#include "command.h"

#include "store/common/options.h"

#include <stdio.h>

static const char head[] = ".Dd November 21, 2026\n"
			   ".Dt KERNCAST 1\n"
			   ".Os\n"
			   ".Sh NAME\n"
			   ".Nm kerncast\n"
			   ".Nd predicts how long CUDA kernels take, and measures what they took\n";

static const char description[] =
    ".Sh DESCRIPTION\n"
    ".Nm\n"
    "watches an unmodified CUDA program, says how long each kernel will take before it runs,\n"
    "alone and next to what else is on the GPU, measures what it then took, learns from the\n"
    "difference, and reports how good it was.\n"
    ".Pp\n"
    "Where a command takes a database and none is given, it is the one that\n"
    ".Ev KERNCAST_DB\n"
    "names, or else\n"
    ".Pa kerncast.db\n"
    "in the working folder.\n"
    ".Pp\n"
    "The commands:\n";

static const char ledger[] =
    ".Sh LEDGER\n"
    "Every report begins with what became of each launch:\n"
    ".Bd -literal -offset indent\n"
    "launches      = predicted + unpredictable\n"
    "predicted     = matched + unmeasured + awaited\n"
    "CUPTI records = measured + unmatched + records awaited\n"
    ".Ed\n"
    ".Pp\n"
    "A launch is matched when it was predicted and measured.\n"
    "Accuracy is over matched launches; an error is |predicted \\- measured| / measured duration.\n"
    "First seen: no measurement of the kernel was known when it was predicted.\n"
    "New size: of the kernel, but not of this launch shape.\n"
    "Repeated: of both.\n"
    "Overlapped: another kernel ran on the device meanwhile; behind, one launched before;\n"
    "overtaken, only ones launched after, which nobody could know when it was predicted.\n"
    "\"by time\" weighs each launch with its duration; \"pred./meas.\" is the geometric mean of\n"
    "predicted/measured, 1 where predictions are neither too short nor too long.\n"
    "Median and 90th percentile come from roll-ups and are within 1 % of the exact ones, which\n"
    ".Fl -exact\n"
    "gives.\n";

static const char json[] =
    ".Sh JSON\n"
    "Every document begins with its schema, such as kerncast.report/1, whose number goes up when a key goes or "
    "changes\n"
    "its meaning.\n"
    ".Nm Cm report Fl -json\n"
    "prints one document.\n"
    "Shares and errors are in percent, times in nanoseconds; what is not known is null.\n"
    ".Bl -tag -width \"processes\"\n"
    ".It Cm schema\n"
    "kerncast.report/1\n"
    ".It Cm simulated\n"
    "true where times come from a stand-in device\n"
    ".It Cm database , runs , exact\n"
    "what was read: its path; first and last run; whether from every launch\n"
    ".It Cm ledger\n"
    "launches, predicted, unpredictable, unpredictable_reasons, failed, unreturned, measured, matched,\n"
    "unmeasured, unmeasured_reasons, awaited, records, unmatched, invalid, records_awaited,\n"
    "records_dropped, dropped, after_end, elsewhere, calls, captured, graph_launches, graphs_unknown,\n"
    "routed_by_name, left_unhooked, transfers, transfers_measured, transfer_records, transfers_unmatched, "
    "transfers_dropped: counts;\n"
    "adds_up: whether the sums above hold\n"
    ".It Cm accuracy\n"
    "n (matched launches), mape, mape_time_weighted, median, p90, within_20 (percent of launches with\n"
    "predicted/measured within 0.8 to 1.2), bias (a ratio)\n"
    ".It Cm first_seen , new_size , repeated , solo , overlapped , behind , overtaken\n"
    "the same, of these launches\n"
    ".It Cm measured_ns\n"
    "sum of all measured durations\n"
    ".It Cm kernels , models , streams , cases\n"
    "arrays of id, name, launches, measured, time_share, mean_measured_ns, mean_predicted_ns, accuracy,\n"
    "and of kernels why\n"
    ".It Cm concurrency\n"
    "alone, A, B, C (what was predicted): matched launches measured as solo, behind, overtaken, unknown;\n"
    "slowdown: n, without_solo_median, mape, mean_predicted, mean_measured, mape_waves, mean_waves\n"
    ".It Cm devices\n"
    "id, name, simulated, driver_version\n"
    ".It Cm processes\n"
    "run, pid, command_line, ended, started_unix_ns, duration_ns, launches, measure, simulated\n"
    ".It Cm messages\n"
    "severity, code, text, count, process\n"
    ".El\n"
    ".Pp\n"
    ".Nm Cm doctor Fl -json\n"
    "prints schema, ok, simulated, driver_version, devices and checks (level, name, text, cure);\n"
    ".Nm Cm devices Fl -json\n"
    "schema, recorded and built_in, arrays of devices with their attributes, and short_name of those built in;\n"
    ".Nm Cm predict Fl -json\n"
    "schema, simulated, device, lambda, kernels (kernel, blocks_per_sm, waves, counts, assumed, models: bsp_ns, "
    "cycle_max_ns, "
    "cycle_sum_ns,\n"
    "boathull (class, low_ns, high_ns; null where no class fits), roofline_low_ns, roofline_high_ns);\n"
    ".Nm Cm slowdown Fl -json\n"
    "schema, simulated, device, placement, case, slots, waves, waves_limited, slowdown, pairs (these five of each "
    "kernel "
    "beside the\n"
    "one before it), timeline (start_ns, end_ns, slowdown, case);\n"
    ".Nm Cm explain Fl -json\n"
    "schema, file, device, architecture, images, notes, launch, lambda, kernels: of each name, demangled, ptx, code, "
    "params,\n"
    "loops, formula (by counter), counts (averages per thread), models (as of predict; null without a device and a\n"
    "launch), unknown (what, assumed), refused;\n"
    ".Nm Cm basis Cm show Fl -json\n"
    "schema, simulated, kernels (name, module, devices, block_sizes, times), basis (threads, rows, kernels, k, error,\n"
    "components of each singular_value and vector; null where none could be made);\n"
    ".Nm Cm basis Cm predict Fl -json\n"
    "schema, simulated, kernel, module, device, size, siblings (other devices of the architecture that know it), "
    "timed\n"
    "(block_x, block_y, block_z, blocks_per_sm, ns), predicted (the same block, predicted_ns, vectors_ns,\n"
    "measured_ns);\n"
    ".Nm Cm basis Cm space Fl -json\n"
    "schema, parameters, timed, known (files), configurations (values, measured_ns, predicted_ns);\n"
    ".Nm Cm replay Fl -json\n"
    "schema, simulated, database, launches, predicted, measured, excluded, unpredictable_reasons, assumed_device,\n"
    "assumed_device_launches, launches_per_s, accuracy and its classes, models, cases and kernels as above,\n"
    "slowdown (n, without_solo, mape, mape_no_slowdown) and makespan (n, mape, mape_serial, mape_no_contention);\n"
    ".Nm Cm calibrate Fl -json\n"
    "schema, simulated, device, database, launch_overhead_ns, empty_kernel_ns, launch_gap_ns, copy_bytes_per_s,\n"
    "scattered_bytes_per_s, flops_per_s, shared_latency_ns, global_latency_ns, bus_bytes_per_s, bus_back_bytes_per_s,\n"
    "cupti_launch_ns, cupti_kernel_ns, repeats;\n"
    ".Nm Cm experiment Fl -json\n"
    "schema, experiments, an array: name, title, paper, simulated, device, database, steps, complete (steps), "
    "unmeasured\n"
    "(launches), checks (right, wrong), claims (claim, source, paper, here, value, high, points, holds, why), points\n"
    "(series, x, measured, predicted, low, high, known), note, figures (files).\n";

static const char tail[] =
    ".Sh FILES\n"
    ".Bl -tag -width \"kerncast.db\"\n"
    ".It Pa kerncast.db\n"
    "the database, SQLite\n"
    ".It Pa kerncast.db.*.kcj\n"
    "journal of a process that runs, was killed, or could not store all of it\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    "0; 1 where a command ran and failed; 2 for wrong use.\n"
    ".Nm Cm run\n"
    "ends with the program's own status: 128 + N where signal N ended it, 127 where it was not found,\n"
    "126 where it could not be executed.\n"
    ".Sh EXAMPLES\n"
    ".Bd -literal -offset indent\n"
    "kerncast run ./app --steps 100\n"
    "kerncast report\n"
    "kerncast export --chrome -o trace.json\n"
    "kerncast predict --device h200 blocks=4096,threads=256,fma=1024,ld_global=2048,st_global=1\n"
    "kerncast slowdown --device k40 blocks=110,threads=256,smem=1024 blocks=450,threads=256\n"
    "kerncast explain ./app --kernel saxpy --grid 64 --block 256 --args 16384,2.5,0x1000,0x20000\n"
    "kerncast import trace.csv.gz -o traces.db && kerncast replay traces.db\n"
    ".Ed\n";

/* Text that roff must not read as a request or an escape. */
static void put_text(const char *text)
{
	for (; *text; text++) {
		if (*text == '\\')
			fputs("\\e", stdout);
		else
			putchar(*text);
	}
}

static void put_options(const struct argp_option *option)
{
	for (; option->name || option->key; option++) {
		if (option->flags & OPTION_HIDDEN)
			continue;
		printf(".It ");
		if (option->key > ' ' && option->key < 0x7f)
			printf("Fl %c , ", option->key);
		printf("Fl -%s", option->name);
		if (option->arg)
			printf(" Ns = Ns Ar %s", option->arg);
		putchar('\n');
		put_text(option->doc);
		putchar('\n');
	}
}

static void put_command(const struct kc_command *command)
{
	printf(".It Nm Cm %s Oo Ar option ... Oc Ar %s\n", command->name, command->arguments);
	fputs(command->manual, stdout);
	if (!command->options)
		return;
	puts(".Bl -tag -width indent");
	put_options(command->options);
	puts(".El");
}

static void put_synopsis(void)
{
	const struct kc_command *command;

	puts(".Sh SYNOPSIS");
	for (unsigned i = 0; (command = kc_command_at(i)); i++)
		printf(".Nm\n.Cm %s\n.Op Ar option ...\n.Ar %s\n", command->name, command->arguments);
	puts(".Nm\n.Fl -help | -version | -man");
}

static void put_environment(void)
{
	puts(".Sh ENVIRONMENT\n"
	     "The options of\n"
	     ".Nm Cm run\n"
	     "are handed over in these variables, which libkerncast.so reads by itself where it is preloaded without\n"
	     ".Nm Cm run .\n"
	     ".Bl -tag -width indent");
	for (unsigned i = 0; i < KC_OPTION_COUNT; i++) {
		const struct kc_option_info *info = kc_option_info(i);

		printf(".It Ev %s\n", info->env);
		put_text(info->help);
		if (*info->value)
			printf(" (default: %s)", info->value);
		putchar('\n');
	}
	puts(".It Ev CUDA_INJECTION64_PATH\n"
	     "NVIDIA's driver loads the library that this names: with the path of libkerncast.so it is a second way\n"
	     "in, where LD_PRELOAD cannot be used.\n"
	     "Launches and graph launches are then seen by CUPTI's callbacks; transfers are not, and what orders\n"
	     "streams is not, so that overlap is predicted less well, and a profiler of the program's own finds\n"
	     "CUPTI taken.\n"
	     "Where both are used a launch is recorded once.\n"
	     ".El");
}

void kc_manual_print(void)
{
	const struct kc_command *command;

	fputs(head, stdout);
	put_synopsis();
	fputs(description, stdout);
	puts(".Bl -tag -width indent");
	for (unsigned i = 0; (command = kc_command_at(i)); i++)
		put_command(command);
	puts(".El");
	fputs(ledger, stdout);
	fputs(json, stdout);
	put_environment();
	fputs(tail, stdout);
}
