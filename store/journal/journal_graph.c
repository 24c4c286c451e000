#include "journal.h"

void kc_graph_expand(const struct kc_graph_launch *launch, const struct kc_graph_entry *graph,
		     const struct kc_graph_kernel *kernel, uint32_t i, struct kc_launch *out)
{
	const struct kc_graph_prediction *predicted = &kernel->predicted;

	*out = (struct kc_launch){
	    .predicted_at_ns = launch->predicted_at_ns + i,
	    .launched_ns = launch->predicted_at_ns + i,
	    .solo_ns = predicted->solo_ns,
	    .solo_low_ns = predicted->solo_low_ns,
	    .solo_high_ns = predicted->solo_high_ns,
	    .grid = {kernel->grid[0], kernel->grid[1], kernel->grid[2]},
	    .block = {kernel->block[0], kernel->block[1], kernel->block[2]},
	    .device = launch->device,
	    .api = KC_API_GRAPH,
	    .dynamic_shared_bytes = kernel->dynamic_shared_bytes,
	    .kernel = kernel->kernel,
	    .stream = launch->stream,
	    .result = launch->result,
	    .correlation = launch->correlation,
	    .thread = launch->thread,
	    .model_state = predicted->state,
	    .slowdown_waves = predicted->slowdown_waves,
	    .blocks_per_sm = kernel->blocks_per_sm,
	    .model = predicted->model,
	    .concurrency_case = predicted->concurrency_case,
	    .not_asked = kernel->not_asked,
	    .unpredictable = kernel->unpredictable,
	    .unmeasured = launch->whole && !launch->unmeasured ? KC_IN_GRAPH : launch->unmeasured,
	    .novelty = predicted->novelty & 7u,
	    .not_kept = kernel->not_kept & 1u,
	    .beside = graph->beside & 7u,
	    .in_child = kernel->in_child & 1u,
	    .graph_launch = launch->number,
	    .graph_node = kernel->node,
	    .graph_record = kernel->record,
	    .call_site = launch->call_site,
	    .arguments = kernel->arguments,
	    .variant = (uint16_t)kernel->variant,
	    .scope = launch->scope,
	    .meeting = predicted->meeting,
	    .context = predicted->context,
	    .contended = predicted->contended,
	    .enclosing = launch->enclosing,
	    .order.known = graph->known,
	};
	if (kernel->unpredictable != KC_PREDICTED)
		return;
	out->slowdown =
	    kc_graph_times(predicted, graph->span_ns, launch->start_ns, launch->end_ns, &out->start_ns, &out->end_ns);
	/* When the last one has ended, the graph has. */
	if (i + 1 == graph->last)
		out->ticket = launch->ticket;
}
