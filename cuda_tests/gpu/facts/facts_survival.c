/*
 * What becomes of a graph once CUPTI is finalized: whether one that was instantiated, or launched, with CUPTI attached
 * can still be launched. Each case is a process: an exception on the device ends all work of its process.
 */
#include "facts_window.h"

#include <stdio.h>
#include <unistd.h>

enum {
	NODES = 20,
	LAUNCHES = 10,
	LIMIT_S = 10, /* a process that takes longer hangs */
};

/* "yes", or the call that failed first and its error. */
static void launch_graph(CUgraphExec graph, CUstream stream, char *text, size_t size)
{
	CUresult result = CUDA_SUCCESS;
	const char *call = "";

	for (int i = 0; i < LAUNCHES && result == CUDA_SUCCESS; i++) {
		call = "cuGraphLaunch";
		result = facts_driver.cuGraphLaunch(graph, stream);
		if (result == CUDA_SUCCESS) {
			call = "cuStreamSynchronize";
			result = facts_driver.cuStreamSynchronize(stream);
		}
	}
	if (result == CUDA_SUCCESS)
		snprintf(text, size, "yes");
	else
		snprintf(text, size, "%s: %s", call, facts_error_name(result));
}

static void must_launch_graph(CUgraphExec graph, CUstream stream, const char *when)
{
	char text[128];

	launch_graph(graph, stream, text, sizeof(text));
	facts_say(when, text[0] == 'y', "%s", text);
}

static void launch_kernels(CUfunction function, CUstream stream)
{
	for (int i = 0; i < LAUNCHES; i++)
		facts_launch(function, stream, 1, 32, 0);
	FACTS_CALL(cuStreamSynchronize, stream);
}

void facts_survival(const struct facts_options *options)
{
	CUgraphExec graph = NULL;
	CUfunction function;
	CUstream stream;
	char text[128];

	alarm(LIMIT_S);
	facts_driver_start();
	facts_context();
	function = facts_function("facts_first");
	stream = facts_stream();
	launch_kernels(function, stream);
	if (!options->instantiated) {
		graph = facts_captured(function, stream, NODES, 0);
		must_launch_graph(graph, stream, "the graph is launched before CUPTI is attached");
	}
	facts_window_attach(options);
	if (options->instantiated)
		graph = facts_captured(function, stream, NODES, 0);
	if (options->launched)
		must_launch_graph(graph, stream, "the graph is launched with CUPTI attached");
	launch_kernels(function, stream);
	facts_check_cupti(facts_window_detach(options->in_callback), "cuptiFinalize");
	launch_kernels(function, stream);
	facts_say("kernels are launched after cuptiFinalize", 1, "%d", LAUNCHES);
	launch_graph(graph, stream, text, sizeof(text));
	facts_value("graph_survives", "%s", text);
}
