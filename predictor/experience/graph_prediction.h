/* What is predicted of a kernel of a graph for all launches, and what follows for one of them: predictor/graph.h. */
#ifndef KC_GRAPH_PREDICTION_H
#define KC_GRAPH_PREDICTION_H

#include <stdint.h>

/* Times from the start of the first kernel. All zeros: it cannot be predicted. */
struct kc_graph_prediction {
	int64_t start_ns, span_ns;
	int64_t solo_ns, solo_low_ns, solo_high_ns;
	uint64_t context, meeting; /* kc_engine_launch */
	float slowdown, slowdown_waves, contended;
	uint32_t state; /* kc_belief.state of its λ */
	uint8_t model, concurrency_case, novelty;
};

/* When it runs. start_ns, end_ns: of the whole, as it was placed; whole_ns: predicted of it alone. Returns the
 * slowdown of the kernel. */
static inline float kc_graph_times(const struct kc_graph_prediction *prediction, int64_t whole_ns, int64_t start_ns,
				   int64_t end_ns, int64_t *kernel_start_ns, int64_t *kernel_end_ns)
{
	double stretched = whole_ns > 0 ? (double)(end_ns - start_ns) / (double)whole_ns : 1;

	*kernel_start_ns = start_ns + prediction->start_ns;
	*kernel_end_ns = *kernel_start_ns + prediction->span_ns;
	if (end_ns - start_ns == whole_ns)
		return prediction->slowdown;
	*kernel_start_ns = start_ns + (int64_t)((double)prediction->start_ns * stretched);
	*kernel_end_ns = *kernel_start_ns + (int64_t)((double)prediction->span_ns * stretched);
	return prediction->slowdown * (float)stretched;
}

#endif
