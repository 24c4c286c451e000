#include "reference.h"

#include <stdlib.h>
#include <string.h>

/* Kadane's algorithm. */
int64_t reference_maximum_subarray(long n, const int *x)
{
	int64_t ending = x[0], best = x[0];

	for (long i = 1; i < n; i++) {
		ending = ending > 0 ? ending + x[i] : x[i];
		best = ending > best ? ending : best;
	}
	return best;
}

void reference_histogram(long n, const int *x, int bins, int *counts)
{
	memset(counts, 0, (size_t)bins * sizeof(*counts));
	for (long i = 0; i < n; i++)
		counts[x[i]]++;
}

void reference_list_ranks(const int *next, int head, int *ranks)
{
	int rank = 0;

	for (int node = head; node >= 0; node = next[node])
		ranks[node] = rank++;
}

int reference_bfs(int nodes, const int *first, const int *edges, int source, int *levels)
{
	int *queue = reference_memory((size_t)nodes * sizeof(*queue));
	int begin = 0, end = 0, greatest = 0;

	memset(levels, -1, (size_t)nodes * sizeof(*levels));
	levels[source] = 0;
	queue[end++] = source;
	while (begin < end) {
		int node = queue[begin++];

		greatest = levels[node];
		for (int e = first[node]; e < first[node + 1]; e++) {
			if (levels[edges[e]] >= 0)
				continue;
			levels[edges[e]] = levels[node] + 1;
			queue[end++] = edges[e];
		}
	}
	free(queue);
	return greatest;
}
