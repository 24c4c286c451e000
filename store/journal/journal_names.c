#include "journal.h"

#include <string.h>

#define NAME_AT(names, i) ((i) < sizeof(names) / sizeof((names)[0]) && (names)[i] ? (names)[i] : "unknown")

const char *kc_api_name(uint32_t api)
{
	static const char *const names[KC_API_COUNT] = {
	    [KC_API_UNKNOWN] = "unknown",
	    [KC_API_LAUNCH_KERNEL] = "cuLaunchKernel",
	    [KC_API_LAUNCH_KERNEL_EX] = "cuLaunchKernelEx",
	    [KC_API_LAUNCH_COOPERATIVE] = "cuLaunchCooperativeKernel",
	    [KC_API_LAUNCH_LEGACY] = "cuLaunch",
	    [KC_API_GRAPH] = "cuGraphLaunch",
	    [KC_API_RUNTIME] = "cudaLaunchKernel",
	};
	return NAME_AT(names, api);
}

const char *kc_unpredictable_name(uint32_t reason)
{
	static const char *const names[KC_UNPREDICTABLE_COUNT] = {
	    [KC_PREDICTED] = "predicted",   [KC_NO_ATTRIBUTES] = "no_attributes",
	    [KC_NO_DEVICE] = "no_device",   [KC_DOES_NOT_FIT] = "does_not_fit",
	    [KC_TABLE_FULL] = "table_full", [KC_COUNT_UNKNOWN] = "count_unknown",
	    [KC_IMPORTED] = "imported",
	};
	return NAME_AT(names, reason);
}

const char *kc_unmeasured_name(uint32_t reason)
{
	static const char *const names[KC_UNMEASURED_COUNT] = {
	    [KC_MEASURED] = "measured",
	    [KC_CALL_FAILED] = "call_failed",
	    [KC_MEASURE_OFF] = "measure_off",
	    [KC_NO_CUPTI] = "no_cupti",
	    [KC_PROFILER_BUSY] = "profiler_busy",
	    [KC_RECORD_DROPPED] = "record_dropped",
	    [KC_RECORD_INVALID] = "record_invalid",
	    [KC_NO_CORRELATION] = "no_correlation",
	    [KC_NOT_DELIVERED] = "not_delivered",
	    [KC_PROCESS_KILLED] = "process_killed",
	    [KC_AFTER_EXIT] = "after_exit",
	    [KC_KNOWN_WELL] = "known_well",
	    [KC_IN_GRAPH] = "in_graph",
	};
	return NAME_AT(names, reason);
}

const char *kc_code_state_name(uint32_t state)
{
	static const char *const names[KC_CODE_STATE_COUNT] = {
	    [KC_CODE_NOT_SEEN] = "not seen", [KC_CODE_WAITS] = "waits",         [KC_CODE_READ] = "read",
	    [KC_CODE_NO_PTX] = "no PTX",     [KC_CODE_TOO_LARGE] = "too large", [KC_CODE_REFUSED] = "refused",
	};
	return NAME_AT(names, state);
}

const char *kc_order_event_name(uint32_t kind)
{
	static const char *const names[KC_ORDER_EVENT_COUNT] = {
	    [KC_EVENT_FORMULA] = "formula",
	    [KC_EVENT_PAST] = "past",
	    [KC_EVENT_CALIBRATION] = "calibration",
	    [KC_EVENT_SIZE] = "size",
	};
	return NAME_AT(names, kind);
}

const char *kc_stream_call_name(uint32_t kind)
{
	static const char *const names[KC_STREAM_CALL_COUNT] = {
	    [KC_CALL_NONE] = "none",
	    [KC_CALL_STREAM_IDLE] = "stream_idle",
	    [KC_CALL_DEVICE_IDLE] = "device_idle",
	    [KC_CALL_OCCUPY] = "occupy",
	    [KC_CALL_WAIT] = "wait",
	    [KC_CALL_DESTROY] = "destroy",
	    [KC_CALL_CREATE] = "create",
	    [KC_CALL_CANCEL] = "cancel",
	    [KC_CALL_GRAPH] = "graph",
	    [KC_CALL_GRAPH_LAUNCH] = "graph_launch",
	};
	return NAME_AT(names, kind);
}

const char *kc_scope_kind_name(uint32_t kind)
{
	static const char *const names[KC_SCOPE_KINDS] = {[KC_SCOPE_RANGE] = "range", [KC_SCOPE_OPERATOR] = "operator"};

	return NAME_AT(names, kind);
}

const char *kc_transfer_kind_name(uint32_t kind)
{
	static const char *const names[KC_TRANSFER_KINDS] = {
	    [KC_COPY_HTOD] = "HtoD", [KC_COPY_DTOH] = "DtoH",   [KC_COPY_DTOD] = "DtoD",
	    [KC_COPY_PEER] = "peer", [KC_COPY_OTHER] = "other", [KC_MEMSET] = "memset",
	};
	return NAME_AT(names, kind);
}

enum kc_transfer_kind kc_transfer_kind_of(const char *name)
{
	for (uint32_t kind = KC_COPY_HTOD; name && kind < KC_TRANSFER_KINDS; kind++)
		if (!strcmp(name, kc_transfer_kind_name(kind)))
			return (enum kc_transfer_kind)kind;
	return KC_COPY_OTHER;
}

const char *kc_counter_name(uint32_t counter)
{
	static const char *const names[KC_COUNTERS] = {
	    [KC_COUNT_CALLS] = "calls",
	    [KC_COUNT_CAPTURED] = "captured",
	    [KC_COUNT_DROPPED] = "dropped",
	    [KC_COUNT_CUPTI_RECORDS] = "cupti_records",
	    [KC_COUNT_CUPTI_MATCHED] = "cupti_matched",
	    [KC_COUNT_CUPTI_UNMATCHED] = "cupti_unmatched",
	    [KC_COUNT_CUPTI_INVALID] = "cupti_invalid",
	    [KC_COUNT_CUPTI_DROPPED] = "cupti_dropped",
	    [KC_COUNT_TRANSFER_RECORDS] = "transfer_records",
	    [KC_COUNT_TRANSFER_UNMATCHED] = "transfer_unmatched",
	    [KC_COUNT_ROUTED_BY_NAME] = "routed_by_name",
	    [KC_COUNT_GRAPH_LAUNCHES] = "graph_launches",
	    [KC_COUNT_GRAPHS_UNKNOWN] = "graphs_unknown",
	    [KC_COUNT_LEFT_UNHOOKED] = "left_unhooked",
	    [KC_COUNT_GRAPH_UNMATCHED] = "graph_unmatched",
	    [KC_COUNT_TRANSFERS_DROPPED] = "transfers_dropped",
	    [KC_COUNT_AFTER_END] = "after_end",
	    [KC_COUNT_LOADS_UNSEEN] = "loads_unseen",
	    [KC_COUNT_CUPTI_LOST] = "cupti_lost",
	    [KC_COUNT_STREAM_OVERLAPS] = "stream_overlaps",
	    [KC_COUNT_NOT_ASKED_KERNEL] = "not_asked_kernel",
	    [KC_COUNT_NOT_ASKED_EVERY] = "not_asked_every",
	    [KC_COUNT_NOT_ASKED_BEFORE] = "not_asked_before",
	    [KC_COUNT_NOT_ASKED_AFTER] = "not_asked_after",
	    [KC_COUNT_NOT_ASKED_STOPPED] = "not_asked_stopped",
	    [KC_COUNT_TRANSFERS_NOT_ASKED] = "transfers_not_asked",
	    [KC_COUNT_CHOSEN] = "chosen",
	    [KC_COUNT_RANGES_OTHERS] = "ranges_others",
	    [KC_COUNT_EVENTS_DROPPED] = "events_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_STREAM_IDLE)] = "stream_idle_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_DEVICE_IDLE)] = "device_idle_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_OCCUPY)] = "occupy_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_WAIT)] = "wait_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_DESTROY)] = "destroy_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_CREATE)] = "create_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_CANCEL)] = "cancel_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_GRAPH)] = "graph_dropped",
	    [KC_COUNT_DROPPED_CALLS(KC_CALL_GRAPH_LAUNCH)] = "graph_launch_dropped",
	};
	return NAME_AT(names, counter);
}

enum kc_copy_route kc_transfer_route(uint32_t kind)
{
	switch (kind) {
	case KC_COPY_HTOD:
		return KC_ROUTE_TO_DEVICE;
	case KC_COPY_DTOH:
		return KC_ROUTE_TO_HOST;
	case KC_COPY_DTOD:
	case KC_MEMSET:
		return KC_ROUTE_ON_DEVICE;
	default:
		return KC_ROUTE_OTHER;
	}
}
