/* Streams by their handles, which drivers use again; each thread has a default stream of its own. */
#include "tables_testing.h"
#include "shim/entry/real.h"
#include "streams.h"
#include "tables.h"

#include <sys/syscall.h>

/* ---- The driver: one device, handle 5 ---- */

static CUcontext current = (CUcontext)0x1000;
static unsigned flags;
static int priority;

static CUresult CUDAAPI get_current(CUcontext *context)
{
	*context = current;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_device(CUdevice *device)
{
	*device = 5;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_context(CUstream stream, CUcontext *context)
{
	(void)stream;
	*context = (CUcontext)0x2000;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI push(CUcontext context)
{
	(void)context;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI pop(CUcontext *context)
{
	*context = NULL;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_flags(CUstream stream, unsigned *out)
{
	(void)stream;
	*out = flags;
	return CUDA_SUCCESS;
}

static CUresult CUDAAPI get_priority(CUstream stream, int *out)
{
	(void)stream;
	*out = priority;
	return CUDA_SUCCESS;
}

void *kc__driver_symbol(const char *symbol)
{
	static const struct {
		const char *name;
		void *address;
	} functions[] = {{"cuCtxGetCurrent", get_current},     {"cuCtxGetDevice", get_device},
			 {"cuStreamGetCtx", get_context},      {"cuCtxPushCurrent_v2", push},
			 {"cuCtxPopCurrent_v2", pop},          {"cuStreamGetFlags", get_flags},
			 {"cuStreamGetPriority", get_priority}};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(functions[i].name, symbol))
			return functions[i].address;
	return NULL;
}

static int begin_streams(void **state)
{
	int error = begin(state);

	kc__shim.devices[0].handle = 5;
	current = (CUcontext)0x1000;
	flags = 0;
	priority = 0;
	return error;
}

static CUstream handle(uint64_t i)
{
	return (CUstream)(uintptr_t)(0x7f0000000000 + 64 * i);
}

/* What the journal says of a stream. */
static struct kc_stream_entry entry_of(uint32_t id)
{
	struct kc_stream_entry entry = {0};

	for (uint64_t i = 0; i < kc_journal_claimed(kc__shim.journal); i++) {
		const struct kc_slot *slot = kc_journal_at(kc__shim.journal, i);

		if (slot->kind != KC_KIND_STREAM)
			continue;
		memcpy(&entry, slot->part.payload, sizeof(entry));
		if (entry.id == id)
			return entry;
	}
	fail_msg("no entry of stream %u", id);
	return entry;
}

/* The i-th call that the journal has of streams; kind KC_CALL_NONE: there are fewer. */
static struct kc_stream_call call_at(uint32_t i)
{
	struct kc_stream_call call = {0};

	for (uint64_t at = 0; at < kc_journal_claimed(kc__shim.journal); at++) {
		const struct kc_slot *slot = kc_journal_at(kc__shim.journal, at);

		if (slot->kind == KC_KIND_STREAM_CALL && !i--) {
			memcpy(&call, slot->part.payload, sizeof(call));
			return call;
		}
	}
	return call;
}

/* ---- Streams of the program ---- */

static void streams_are_numbered_as_they_are_met(void **state)
{
	struct kc__stream *first = kc__stream_of(handle(1), false), *second = kc__stream_of(handle(2), false);

	(void)state;
	assert_int_equal(first->id, 1);
	assert_int_equal(second->id, 2);
	assert_ptr_equal(kc__stream_of(handle(1), false), first);
	assert_ptr_equal(kc__stream_of(handle(1), true), first); /* a handle says which stream it is */
	assert_ptr_equal(kc__shim.stream_by_id[2], second);
	assert_ptr_equal(first->device, &kc__shim.devices[0]);
	assert_int_not_equal(first->lane, second->lane);
}

static void the_journal_says_what_a_stream_is(void **state)
{
	struct kc_stream_entry entry;

	(void)state;
	flags = CU_STREAM_NON_BLOCKING;
	priority = -2;
	kc__stream_of(handle(1), false);
	entry = entry_of(1);
	assert_int_equal(entry.handle, (uint64_t)(uintptr_t)handle(1));
	assert_int_equal(entry.kind, KC_STREAM_NONBLOCKING);
	assert_int_equal(entry.flags, CU_STREAM_NON_BLOCKING);
	assert_int_equal(entry.priority, -2);
	assert_int_equal(entry.per_thread, 0);
}

static void a_handle_used_again_is_another_stream(void **state)
{
	struct kc__stream *stream = kc__stream_of(handle(1), false);
	uint32_t lane = stream->lane;

	(void)state;
	kc__stream_destroyed(handle(1));
	kc__stream_destroyed(handle(1)); /* says nothing new */
	assert_int_equal(kc__stream_of(handle(2), false)->lane, lane);
	assert_int_equal(kc__stream_of(handle(1), false)->id, 3);
	assert_int_not_equal(kc__stream_of(handle(1), false)->lane, lane);
	assert_ptr_equal(kc__stream_by_id(1), stream); /* for what is still measured of it */
	assert_ptr_not_equal(kc__stream_by_id(3), stream);
	assert_int_equal(kc__stream_lane(1), lane);
	assert_int_equal(kc__stream_lane(3), kc__stream_of(handle(1), false)->lane);
}

/* A lane begins anew when a stream takes it, however long after that it is first used. */
static void the_journal_says_when_a_stream_takes_its_lane(void **state)
{
	(void)state;
	kc__stream_of(handle(1), false);
	kc__stream_of(handle(1), false); /* it is known by now */
	kc__stream_destroyed(handle(1));
	kc__stream_of(handle(1), false);
	assert_int_equal(call_at(0).kind, KC_CALL_CREATE);
	assert_int_equal(call_at(0).stream, 1);
	assert_int_equal(call_at(1).kind, KC_CALL_DESTROY);
	assert_int_equal(call_at(2).kind, KC_CALL_CREATE);
	assert_int_equal(call_at(2).stream, 2);
	assert_int_equal(call_at(3).kind, KC_CALL_NONE);
}

/* The timeline has 128 lanes. */
static void further_streams_share_the_last_lane(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < KC__LANES_MAX; i++)
		assert_int_equal(kc__stream_of(handle(i), false)->lane, i);
	assert_int_equal(kc__stream_of(handle(500), false)->lane, KC__LANES_MAX - 1);
	kc__stream_destroyed(handle(7));
	assert_int_equal(kc__stream_of(handle(501), false)->lane, 7);
}

/* ---- Default streams ---- */

static void the_legacy_default_stream_is_one_for_all_threads(void **state)
{
	struct kc__stream *stream;

	(void)state;
	kc__thread.id = 11;
	stream = kc__stream_of(NULL, false);
	kc__thread.id = 12;
	assert_ptr_equal(kc__stream_of(NULL, false), stream);
	assert_ptr_equal(kc__stream_of(CU_STREAM_LEGACY, true), stream);
	assert_int_equal(entry_of(stream->id).kind, KC_STREAM_LEGACY);
}

static void each_thread_has_a_default_stream_of_its_own(void **state)
{
	struct kc__stream *first, *second;

	(void)state;
	kc__thread.id = 11;
	first = kc__stream_of(NULL, true);
	assert_ptr_equal(kc__stream_of(CU_STREAM_PER_THREAD, false), first);
	kc__thread.id = 12;
	second = kc__stream_of(NULL, true);
	assert_ptr_not_equal(first, second);
	assert_ptr_not_equal(kc__stream_of(NULL, false), second);
	assert_int_equal(entry_of(first->id).per_thread, 11);
	assert_int_equal(entry_of(second->id).per_thread, 12);
}

static void each_context_has_default_streams_of_its_own(void **state)
{
	struct kc__stream *stream = kc__stream_of(NULL, false);

	(void)state;
	current = (CUcontext)0x3000;
	assert_ptr_not_equal(kc__stream_of(NULL, false), stream);
	assert_int_equal(entry_of(2).context, 0x3000);
}

static void without_a_context_there_is_no_default_stream(void **state)
{
	(void)state;
	current = NULL;
	assert_null(kc__stream_of(NULL, false));
	assert_null(kc__stream_of(NULL, true));
	assert_int_equal(kc__shim.stream_count, 0);
}

/* ---- What has ended is given back ---- */

enum { MANY = 40000 }; /* there is room for 16,384 */

static int64_t now_ns;

static void give_back(void)
{
	now_ns += 1000000000;
	kc__streams_give_back(kc_journal_claimed(kc__shim.journal), now_ns);
}

static void destroyed_streams_are_given_back(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= MANY; i++) {
		assert_int_equal(kc__stream_of(handle(i), false)->id, i);
		kc__stream_destroyed(handle(i));
		assert_null(kc__find(&kc__shim.streams, (uint64_t[]){(uint64_t)(uintptr_t)handle(i), 0}, 2));
		if (i % 1000 == 0)
			give_back();
	}
	assert_int_equal(kc__shim.streams.count, 0);
	assert_in_range(kc__shim.arena.total_bytes, 1, 1 << 20);
}

static void a_stream_is_kept_while_what_was_launched_in_it_is_awaited(void **state)
{
	struct kc__stream *awaited = kc__stream_of(handle(1), false), *behind = kc__stream_of(handle(2), false);
	uint64_t before = kc_journal_claimed(kc__shim.journal);

	(void)state;
	awaited->wait.awaited.count = 1;
	kc__stream_destroyed(handle(1));
	kc__stream_destroyed(handle(2));
	kc__streams_give_back(before, 0); /* slots are there that may be of launches */
	assert_ptr_equal(kc__stream_by_id(2), behind);
	give_back();
	assert_null(kc__stream_by_id(2));
	assert_ptr_equal(kc__stream_by_id(1), awaited);
	awaited->wait.awaited.count = 0;
	give_back();
	assert_null(kc__stream_by_id(1));
}

/* A long-lived stream keeps its place, whatever number its low bits are of. */
static void ids_are_given_past_those_in_use(void **state)
{
	struct kc__stream *first = kc__stream_of(handle(0), false);

	(void)state;
	for (uint64_t i = 1; i < KC__STREAM_PLACES - 1; i++) {
		kc__stream_of(handle(i), false);
		kc__stream_destroyed(handle(i));
		if (i % 1000 == 0)
			give_back();
	}
	assert_int_equal(kc__stream_of(handle(KC__STREAM_PLACES), false)->id, KC__STREAM_PLACES);
	assert_int_equal(kc__stream_of(handle(KC__STREAM_PLACES + 1), false)->id, KC__STREAM_PLACES + 2);
	assert_ptr_equal(kc__stream_by_id(1), first);
	assert_null(kc__stream_by_id(KC__STREAM_PLACES + 1));
}

static void *launch_in_own_stream(void *unused)
{
	kc__thread.id = (uint32_t)syscall(SYS_gettid);
	return kc__stream_of(NULL, true) ? NULL : unused;
}

static void default_streams_of_threads_that_have_ended_are_given_back(void **state)
{
	struct kc__stream *mine, *first;
	pthread_t thread;
	void *failed;

	(void)state;
	kc__thread.id = (uint32_t)syscall(SYS_gettid);
	mine = kc__stream_of(NULL, true);
	first = kc__stream_of(NULL, false);
	for (int i = 0; i < 20000; i++) {
		assert_int_equal(pthread_create(&thread, NULL, launch_in_own_stream, &failed), 0);
		pthread_join(thread, &failed);
		assert_null(failed);
		if (i % 1000 == 0)
			give_back();
	}
	give_back();
	give_back();
	assert_in_range(kc__shim.streams.count, 2, 3); /* the last thread may not be quite gone */
	assert_ptr_equal(kc__stream_of(NULL, true), mine);
	assert_ptr_equal(kc__stream_of(NULL, false), first);
}

/* ---- Executable graphs ---- */

static void a_graph_is_known_once_it_is_made(void **state)
{
	struct kc__graph *graph;

	(void)state;
	assert_null(kc__graph_of((CUgraphExec)0x9000, false));
	graph = kc__graph_of((CUgraphExec)0x9000, true);
	assert_non_null(graph);
	assert_ptr_equal(kc__graph_of((CUgraphExec)0x9000, false), graph);
	assert_ptr_equal(kc__graph_of((CUgraphExec)0x9000, true), graph);
}

static void destroyed_graphs_are_given_back(void **state)
{
	(void)state;
	for (uintptr_t i = 1; i <= MANY; i++) {
		struct kc__graph *graph = kc__graph_of((CUgraphExec)(i * 64), true);

		assert_non_null(graph);
		assert_null(graph->exec);
		kc__graph_let_go(graph);
		assert_null(kc__graph_of((CUgraphExec)(i * 64), false));
	}
}

#undef TEST
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_streams, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(streams_are_numbered_as_they_are_met),
	    TEST(the_journal_says_what_a_stream_is),
	    TEST(a_handle_used_again_is_another_stream),
	    TEST(the_journal_says_when_a_stream_takes_its_lane),
	    TEST(further_streams_share_the_last_lane),
	    TEST(the_legacy_default_stream_is_one_for_all_threads),
	    TEST(each_thread_has_a_default_stream_of_its_own),
	    TEST(each_context_has_default_streams_of_its_own),
	    TEST(without_a_context_there_is_no_default_stream),
	    TEST(a_graph_is_known_once_it_is_made),
	    TEST(destroyed_streams_are_given_back),
	    TEST(ids_are_given_past_those_in_use),
	    TEST(a_stream_is_kept_while_what_was_launched_in_it_is_awaited),
	    TEST(default_streams_of_threads_that_have_ended_are_given_back),
	    TEST(destroyed_graphs_are_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
