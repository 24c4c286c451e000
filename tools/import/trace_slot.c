#include "trace_slot.h"

#include <string.h>

void kc_trace_fill_launch(struct kc_launch *l, const struct kc_trace_row *row, uint32_t kernel, uint32_t stream)
{
	const int64_t grid[3] = {row->grid_x, row->grid_y, row->grid_z};
	const int64_t block[3] = {row->block_x, row->block_y, row->block_z};

	l->launched_ns = KC_TRACE_ORIGIN_NS + kc_trace_known(row->launch_ns, row->start_ns);
	if (kc_trace_row_has_time(row)) {
		l->measured_start_ns = KC_TRACE_ORIGIN_NS + row->start_ns;
		l->measured_end_ns = l->measured_start_ns + row->duration_ns;
	} else {
		l->unmeasured = KC_RECORD_INVALID;
	}
	for (int i = 0; i < 3; i++) {
		l->grid[i] = (uint32_t)kc_trace_known(grid[i], 0);
		l->block[i] = (uint16_t)kc_trace_known(block[i], 0);
	}
	l->dynamic_shared_bytes = (uint32_t)kc_trace_known(row->dynamic_shared_bytes, 0);
	l->device = (uint8_t)kc_trace_known(row->device, 0);
	l->kernel = kernel;
	l->stream = stream;
	l->correlation = (uint32_t)kc_trace_known(row->correlation, 0);
	l->unpredictable = KC_IMPORTED;
	if (row->graph_node != KC_TRACE_UNKNOWN) {
		l->api = KC_API_GRAPH;
		l->graph_launch = l->correlation ? l->correlation : 1;
		l->graph_node = (uint32_t)row->graph_node;
	}
}

static uint8_t copy_kind(const struct kc_trace_row *row)
{
	static const struct {
		const char *part;
		enum kc_transfer_kind kind;
	} kinds[] = {
	    {"HtoD", KC_COPY_HTOD},
	    {"DtoH", KC_COPY_DTOH},
	    {"DtoD", KC_COPY_DTOD},
	    {"PtoP", KC_COPY_PEER},
	    {"Host-to-Device", KC_COPY_HTOD},
	    {"Device-to-Host", KC_COPY_DTOH},
	    {"Device-to-Device", KC_COPY_DTOD},
	    {"Peer-to-Peer", KC_COPY_PEER},
	};

	if (row->what == KC_TRACE_MEMSET)
		return KC_MEMSET;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (strstr(row->name, kinds[i].part))
			return (uint8_t)kinds[i].kind;
	}
	return KC_COPY_OTHER;
}

void kc_trace_fill_transfer(struct kc_transfer *t, const struct kc_trace_row *row, uint32_t stream)
{
	t->launched_ns = KC_TRACE_ORIGIN_NS + kc_trace_known(row->launch_ns, row->start_ns);
	if (kc_trace_row_has_time(row)) {
		t->measured_start_ns = KC_TRACE_ORIGIN_NS + row->start_ns;
		t->measured_end_ns = t->measured_start_ns + row->duration_ns;
	} else {
		t->unmeasured = KC_RECORD_INVALID;
	}
	t->bytes = (uint64_t)kc_trace_known(row->bytes, 0);
	t->stream = stream;
	t->correlation = (uint32_t)kc_trace_known(row->correlation, 0);
	t->kind = copy_kind(row);
	t->device = (uint8_t)kc_trace_known(row->device, 0);
}
