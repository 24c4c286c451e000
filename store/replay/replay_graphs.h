/*
 * Launches of graphs in a process that is replayed as it was recorded: the kernels of a graph are predicted when the
 * process did so (KC_CALL_GRAPH), and its launches are put on the timeline as a whole (predictor/graph.h).
 */
#ifndef KC_REPLAY_GRAPHS_H
#define KC_REPLAY_GRAPHS_H

#include "predictor/graph.h"
#include "store/replay/replay_internal.h"

struct kc__recorded_graph;

struct kc__recorded_graphs {
	struct kc__recorded_graph *at; /* by their numbers */
	size_t count;
	struct kc__op **launches; /* of all kernels, by their sequence numbers */
	size_t launch_count;
};

/* Finds what belongs to which: ops in graphs are marked. All operations are loaded. 0 or -ENOMEM; to be freed in either
 * case. */
int kc__recorded_graphs_find(struct kc__recorded_graphs *graphs, struct kc__ops *ops);
void kc__recorded_graphs_free(struct kc__recorded_graphs *graphs);
/* The call is made. 0 or -errno. */
int kc__recorded_graph(struct kc__recorded_graphs *graphs, struct kc__replay_state *r, const struct kc__op *call);
int kc__recorded_graph_launch(struct kc__recorded_graphs *graphs, struct kc__replay_state *r, struct kc__op *call);

#endif
