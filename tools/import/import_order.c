#include "import_order.h"
#include "tools/command.h"
#include "tools/output/format.h"
#include "store/common/growing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TICK_NS 1000 /* what two times may be off, where a profiler writes whole microseconds */

#define CLOCK_ERROR_NS 100000 /* as at most between CUPTI's clock and ours, live */

struct kc_order_stream {
	struct kc_trace_row latest; /* its texts are not kept */
	uint64_t name;              /* hash of the latest one's */
	struct {
		int64_t start_ns, end_ns, correlation;
		int is_node, counted;
		char name[64];
	} longest; /* the kernel that ends last, so far */
};

static struct kc_order_stream *stream_of(struct kc_import_order *order, const struct kc_trace_row *row)
{
	const int64_t numbers[] = {row->device, row->context, row->stream};
	uint32_t id = kc_intern_two(&order->streams, 's', numbers, sizeof(numbers), row->process, strlen(row->process));

	if (!id || KC_ROOM(order->at, order->capacity, id - 1))
		return NULL;
	return order->at + id - 1;
}

static int is_same(const struct kc_order_stream *stream, const struct kc_trace_row *row, uint64_t name)
{
	const struct kc_trace_row *latest = &stream->latest;

	return stream->name == name && latest->what == row->what && latest->start_ns == row->start_ns &&
	       latest->duration_ns == row->duration_ns && row->duration_ns > 0 &&
	       latest->correlation == row->correlation && row->correlation > 0 &&
	       latest->graph_node == row->graph_node && latest->grid_x == row->grid_x && latest->bytes == row->bytes;
}

static int is_of_one_graph(const struct kc_order_stream *stream, const struct kc_trace_row *row)
{
	if (stream->longest.correlation != KC_TRACE_UNKNOWN && row->correlation != KC_TRACE_UNKNOWN)
		return stream->longest.correlation == row->correlation;
	return stream->longest.is_node && row->graph_node != KC_TRACE_UNKNOWN;
}

static void take_kernel(struct kc_import_order *order, struct kc_order_stream *stream, const struct kc_trace_row *row)
{
	int64_t end_ns = row->start_ns + row->duration_ns;

	if (*stream->longest.name && end_ns < stream->longest.end_ns - TICK_NS && !is_of_one_graph(stream, row)) {
		if (!stream->longest.counted++ && !order->over++) {
			memcpy(order->first_over, stream->longest.name, sizeof(order->first_over));
			order->first_over_ns = stream->longest.end_ns - stream->longest.start_ns;
		}
	} else if (!*stream->longest.name || end_ns > stream->longest.end_ns) {
		stream->longest.start_ns = row->start_ns;
		stream->longest.end_ns = end_ns;
		stream->longest.correlation = row->correlation;
		stream->longest.is_node = row->graph_node != KC_TRACE_UNKNOWN;
		stream->longest.counted = 0;
		snprintf(stream->longest.name, sizeof(stream->longest.name), "%s", *row->name ? row->name : "unnamed");
	}
}

int kc_import_order_take(struct kc_import_order *order, const struct kc_trace_row *row)
{
	struct kc_order_stream *stream;
	uint64_t name;

	if (order->is_off || row->stream == KC_TRACE_UNKNOWN || !kc_trace_row_has_time(row))
		return 0;
	stream = stream_of(order, row);
	if (!stream)
		return -ENOMEM;
	name = kc_fnv(KC_FNV_OFFSET, row->name, strlen(row->name));
	if (is_same(stream, row, name)) {
		order->twice++;
		return 1;
	}
	order->early += row->launch_ns != KC_TRACE_UNKNOWN && row->start_ns < row->launch_ns - CLOCK_ERROR_NS;
	stream->latest = *row;
	stream->name = name;
	if (row->what == KC_TRACE_KERNEL)
		take_kernel(order, stream, row);
	return 0;
}

void kc_import_order_say(const struct kc_import_order *order, const char *path)
{
	char count[KC_FORMAT_BYTES], lasting[KC_FORMAT_BYTES];

	if (order->twice)
		kc_error("%s: %s operation%s in it twice, with the same stream, correlation id and times; the second is"
			 " left out",
			 path, kc_format_count(order->twice, count), order->twice == 1 ? " is" : "s are");
	if (order->early)
		kc_error(
		    "%s: %s operation%s more than 0.1 ms before the call that launched %s, which cannot be, so these"
		    " times are of another clock; imported as recorded",
		    path, kc_format_count(order->early, count), order->early == 1 ? " starts" : "s start",
		    order->early == 1 ? "it" : "them");
	if (order->over)
		kc_error("%s: %s kernel%s over the next kernels of the same stream, which cannot be, so the duration is"
			 " wrong (the first: %s, %s); imported as recorded",
			 path, kc_format_count(order->over, count), order->over == 1 ? " runs" : "s run",
			 order->first_over, kc_format_ns((double)order->first_over_ns, lasting));
}

void kc_import_order_free(struct kc_import_order *order)
{
	kc_intern_free(&order->streams);
	free(order->at);
}
