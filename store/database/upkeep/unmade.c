#include "unmade.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static struct kc__known_graph *find(const struct kc__unmade *unmade, uint64_t graph)
{
	uint32_t place = kc_ids_find(&unmade->ids, (int64_t)graph);

	return place ? &unmade->graphs[place - 1] : NULL;
}

static struct kc__known_graph *add(struct kc__unmade *unmade, const struct kc_graph_entry *entry)
{
	struct kc__known_graph *added;

	if (unmade->graph_count == unmade->graph_capacity) {
		size_t capacity = 2 * unmade->graph_capacity + 16;
		struct kc__known_graph *more = reallocarray(unmade->graphs, capacity, sizeof(*more));

		if (!more)
			return NULL;
		unmade->graphs = more;
		unmade->graph_capacity = capacity;
	}
	if (!kc_ids_number(&unmade->ids, (int64_t)entry->graph))
		return NULL;
	added = &unmade->graphs[unmade->graph_count++];
	*added = (struct kc__known_graph){.entry = *entry};
	return added;
}

static int add_kernels(struct kc__known_graph *graph, const void *kernels, uint32_t count)
{
	struct kc_graph_kernel *more = reallocarray(graph->kernels, (size_t)graph->held + count, sizeof(*more));

	if (!more)
		return -ENOMEM;
	memcpy(more + graph->held, kernels, count * sizeof(*more));
	graph->kernels = more;
	graph->held += count;
	return 0;
}

/* A damaged entry may say anything. */
static bool is_possible(const struct kc_graph_entry *entry, size_t bytes)
{
	return bytes >= sizeof(*entry) && entry->count && entry->count <= KC_GRAPH_KERNELS_MAX &&
	       entry->first <= entry->kernels && entry->count <= entry->kernels - entry->first &&
	       bytes >= sizeof(*entry) + entry->count * sizeof(struct kc_graph_kernel);
}

int kc__unmade_graph(struct kc__unmade *unmade, const struct kc_slot *slot)
{
	struct kc__known_graph *graph;
	struct kc_graph_entry entry;
	const void *payload;
	size_t bytes;

	if (kc_assemble(&unmade->assembler, slot, &payload, &bytes) != 1)
		return 0;
	memcpy(&entry, payload, bytes < sizeof(entry) ? bytes : sizeof(entry));
	if (!is_possible(&entry, bytes))
		return 0;
	graph = find(unmade, entry.graph);
	if (!graph && !(graph = add(unmade, &entry)))
		return -ENOMEM;
	/* It may be there twice, once not as a whole. */
	if (entry.kernels != graph->entry.kernels || entry.first != graph->held)
		return 0;
	return add_kernels(graph, (const char *)payload + sizeof(entry), entry.count);
}

static int make(struct kc__unmade *unmade, int (*fn)(const struct kc_slot *slot, void *arg), void *arg)
{
	uint32_t i = unmade->next++;
	struct kc_slot slot = {.kind = KC_KIND_LAUNCH, .index = unmade->index + 1 + i};

	kc_graph_expand(&unmade->launch, &unmade->graph->entry, &unmade->graph->kernels[i], i, &slot.launch);
	atomic_store_explicit(&slot.state, unmade->state, memory_order_relaxed);
	return fn(&slot, arg);
}

static bool awaits(const struct kc__unmade *unmade)
{
	return unmade->graph && unmade->next < unmade->launch.kernels;
}

int kc__unmade_before(struct kc__unmade *unmade, const struct kc_slot *slot,
		      int (*fn)(const struct kc_slot *slot, void *arg), void *arg)
{
	int rc = 0;

	while (rc == 0 && awaits(unmade) && (!slot || slot->index > unmade->index + 1 + unmade->next))
		rc = make(unmade, fn, arg);
	if (slot && awaits(unmade) && slot->index == unmade->index + 1 + unmade->next)
		unmade->next++;
	return rc;
}

/* Once it is final, each of its launches has its slot. */
void kc__unmade_launch(struct kc__unmade *unmade, const struct kc_slot *slot)
{
	uint32_t state = atomic_load_explicit(&((struct kc_slot *)slot)->state, memory_order_relaxed);

	unmade->graph =
	    state < KC_SLOT_FINAL && !slot->graph_launch.made ? find(unmade, slot->graph_launch.graph) : NULL;
	if (!unmade->graph || unmade->graph->held != slot->graph_launch.kernels) {
		unmade->graph = NULL;
		return;
	}
	unmade->launch = slot->graph_launch;
	unmade->index = slot->index;
	unmade->next = 0;
	unmade->state = state;
}

void kc__unmade_free(struct kc__unmade *unmade)
{
	for (size_t i = 0; i < unmade->graph_count; i++)
		free(unmade->graphs[i].kernels);
	free(unmade->graphs);
	kc_ids_free(&unmade->ids);
	kc_assembler_free(&unmade->assembler);
}
