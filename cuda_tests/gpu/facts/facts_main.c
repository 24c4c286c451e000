/*
 * usage: facts PART [OPTION...]
 *
 * One line a fact as soon as it is known: NAME <tab> holds | fails | info | value <tab> what was seen. Exit status 0
 * where none fails, 1 where one does, 2 for wrong use. facts.h says what the program is for.
 */
#include "facts.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *name;
	void (*run)(const struct facts_options *options);
	const char *about;
} parts[] = {
    {"addresses", facts_addresses, "whether cuGetProcAddress answers with exported addresses"},
    {"records", facts_records, "launches, callbacks and records of the driver API"},
    {"runtime", facts_runtime, "a launch by the CUDA runtime: whose correlation id the record has (--cudart)"},
    {"graphs", facts_graphs, "records of graph launches and their nodes"},
    {"delivery", facts_delivery, "when records are delivered while a long kernel runs"},
    {"kernel-as-function", facts_kernel_as_function, "cuFuncGetAttribute of a CUkernel"},
    {"function-as-kernel", facts_function_as_kernel, "cuKernelGetAttribute of a CUfunction"},
    {"capture", facts_capture, "flushes from another thread during a global capture"},
    {"graph-cost", facts_graph_cost, "instantiating and launching a graph of --nodes kernels"},
    {"dependent", facts_dependent, "programmatic dependent launch: kernels of one stream that overlap"},
    {"idle", facts_idle, "what a launch costs with CUPTI switched on step by step, and off again"},
    {"idle-graphs", facts_idle_graphs, "the same of a graph, as far as CUPTI is unsubscribed; and attached again"},
    {"survival", facts_survival,
     "a graph launched after cuptiFinalize, --instantiated or --launched with CUPTI attached, or neither"},
    {"stuck", facts_stuck,
     "threads whose correlation ids repeat, while callbacks or kinds (--switch) are switched off and on (--cudart)"},
    {"reattach", facts_reattach, "CUPTI attached and detached while other threads launch"},
    {"many", facts_many, "many launches with records: memory of the GPU, and whether records are right"},
    {"graph-records", facts_graph_records, "a million records of graphs' kernels, with few device buffers"},
    {"windows", facts_windows, "kernels and graphs while a --file exists, and while it does not, twice"},
    {"reset", facts_reset, "launches before and after the context is reset"},
    {"clock", facts_clock, "how long reading the clock takes"},
    {"events", facts_events, "how long a kernel takes by events around it"},
    {"decode", facts_decode, "a graph of --nodes kernels of --short-us, replayed and waited for"},
    {"first", facts_first, "the kernels that a --file lists, with their launches"},
    {"hw-trace", facts_hw_trace, "records that the hardware makes: what cuptiActivityEnableHWTrace answers"},
};

#define BUFFER_LEAST_BYTES 1024 /* a few records */
#define LAUNCHES_LEAST 100      /* a percentile of them means something */

static int failures;

static void line(const char *name, const char *verdict, const char *format, va_list args)
{
	printf("%s\t%s\t", name, verdict);
	vprintf(format, args);
	putchar('\n');
	fflush(stdout);
}

void facts_say(const char *name, int holds, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(name, holds < 0 ? "info" : holds ? "holds" : "fails", format, args);
	va_end(args);
	failures += !holds;
}

void facts_value(const char *key, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line(key, "value", format, args);
	va_end(args);
}

void facts_give_up(const char *what, const char *why)
{
	facts_say(what, 0, "%s", why);
	exit(1);
}

int facts_failures(void)
{
	return failures;
}

int64_t facts_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static _Noreturn void usage(const char *program)
{
	fprintf(stderr,
		"usage: %s PART [OPTION...]\n\n"
		"  --domains driver|both  callbacks of launches of the driver API (default), or of every call of both "
		"APIs\n"
		"  --cupti PATH|none      which CUPTI (as the loader finds it)\n"
		"  --cudart PATH          a shared CUDA runtime\n"
		"  --buffer BYTES         of a buffer for records (1048576)\n"
		"  --kernels N            of a stream (20)\n"
		"  --short-us N           how long each of them runs (5000)\n"
		"  --long-ms N            how long the one after them runs (2000)\n"
		"  --nodes N              of a graph (2000)\n"
		"  --launches N           that are timed (idle: 20000, many: 300000; of graphs: 500)\n"
		"  --device-buffers N     of CUPTI's own, at most (16)\n"
		"  --file PATH            that `windows` makes and removes, and `first` reads\n"
		"  --early                CUPTI is attached before there is a context\n"
		"  --in-callback          cuptiFinalize is called at the exit of a driver call\n\n",
		program);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		fprintf(stderr, "  %-18s %s\n", parts[i].name, parts[i].about);
	exit(2);
}

static uint64_t number(const char *text, uint64_t least, const char *program)
{
	char *end;
	unsigned long long value = strtoull(text, &end, 10);

	if (!*text || *end || value < least || value > 1000000000)
		usage(program);
	return value;
}

static void parse(struct facts_options *o, int argc, char **argv)
{
	static const struct option options[] = {
	    {"domains", 1, NULL, 'd'},
	    {"cupti", 1, NULL, 'c'},
	    {"cudart", 1, NULL, 'r'},
	    {"buffer", 1, NULL, 'b'},
	    {"kernels", 1, NULL, 'k'},
	    {"short-us", 1, NULL, 's'},
	    {"long-ms", 1, NULL, 'l'},
	    {"nodes", 1, NULL, 'n'},
	    {"launches", 1, NULL, 'm'},
	    {"early", 0, NULL, 'e'},
	    {"in-callback", 0, NULL, 'i'},
	    {"instantiated", 0, NULL, 'I'},
	    {"launched", 0, NULL, 'L'},
	    {"switch", 1, NULL, 'w'},
	    {"device-buffers", 1, NULL, 'p'},
	    {"file", 1, NULL, 'f'},
	    {NULL, 0, NULL, 0},
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (option) {
		case 'd':
			o->both_domains = !strcmp(optarg, "both");
			if (!o->both_domains && strcmp(optarg, "driver") != 0)
				usage(argv[0]);
			break;
		case 'c':
			o->cupti = optarg;
			break;
		case 'r':
			o->cudart = optarg;
			break;
		case 'b':
			o->buffer_bytes = number(optarg, BUFFER_LEAST_BYTES, argv[0]);
			break;
		case 'k':
			o->kernels = (int)number(optarg, 1, argv[0]);
			break;
		case 's':
			o->short_ns = number(optarg, 1, argv[0]) * 1000;
			break;
		case 'l':
			o->long_ns = number(optarg, 1, argv[0]) * 1000000;
			break;
		case 'n':
			o->nodes = (int)number(optarg, 1, argv[0]);
			break;
		case 'm':
			o->launches = (int)number(optarg, LAUNCHES_LEAST, argv[0]);
			break;
		case 'e':
			o->early = true;
			break;
		case 'i':
			o->in_callback = true;
			break;
		case 'I':
			o->instantiated = true;
			break;
		case 'L':
			o->launched = true;
			break;
		case 'p':
			o->device_buffers = (size_t)number(optarg, 1, argv[0]);
			break;
		case 'f':
			o->file = optarg;
			break;
		case 'w':
			o->switched = optarg;
			if (strcmp(optarg, "driver") != 0 && strcmp(optarg, "runtime") != 0 &&
			    strcmp(optarg, "kinds") != 0)
				usage(argv[0]);
			break;
		default:
			usage(argv[0]);
		}
}

int main(int argc, char **argv)
{
	struct facts_options options = {.buffer_bytes = 1 << 20,
					.kernels = 20,
					.short_ns = 5000000,
					.long_ns = 2000000000,
					.nodes = 2000,
					.device_buffers = 16, /* as kerncast bounds them */
					.switched = "driver"};

	parse(&options, argc, argv);
	if (optind + 1 != argc)
		usage(argv[0]);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!strcmp(parts[i].name, argv[optind])) {
			facts_driver_open();
			parts[i].run(&options);
			return facts_failures() ? 1 : 0;
		}
	usage(argv[0]);
}
