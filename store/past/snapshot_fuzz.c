/*
 * What an earlier run has learned, changed by somebody who made its checksum again, inside a program that begins with
 * it: a kernel's first launch is predicted, learned from, and written down with the rest. The input is changes to a
 * sound snapshot: 3 bytes offset, 1 byte length, and the bytes.
 */
#include "first_launch_fuzzing.h"
#include "predictor/concurrency/overlap.h"
#include "snapshot.h"

#include <stdlib.h>

#define CODE                                                                                                           \
	{                                                                                                              \
		.mangled = "_Z5scalePff", .code_hash = 0xABC, .registers = 32                                          \
	}
#define UUID "0a000000000000000000000000000000"
#define ARGUMENTS "p1 = 1000"

static uint8_t *sound;
static size_t sound_bytes;
static struct kc_timeline *timeline;

static void learn(struct kc_fuzz_launch *l, int64_t ns)
{
	static struct kc_history history;
	const struct kc_engine_stage stage = {.timeline = timeline, .history = &history};
	const struct kc_load met = {{0.2f}};
	struct kc_prediction_request request;
	struct kc_prediction prediction;
	struct kc_engine_launch launch;

	kc_timeline_init(timeline, l->device.info);
	kc_history_init(&history, 0);
	kc_engine_ask(&l->engine, &l->variant, NULL, &request);
	kc_engine_predict(&request, &stage, 0, 1000000, &prediction, &launch);
	kc_engine_measured(&l->engine, &l->variant, &launch, ns);
	kc_engine_decided(&l->engine, &l->variant, &launch, ns & 1 ? KC_OVERLAP_BEHIND : KC_OVERLAP_NONE, &met, ns);
}

static void *keep(struct kc_fuzz_launch *l, const struct kc_past_query *query, const struct kc_snapshot *before,
		  size_t *bytes)
{
	struct kc_snapshot_maker *maker = kc_snapshot_begin();
	const struct kc_snapshot_entry entry = {
	    .code = query->code,
	    .uuid = query->uuid,
	    .dims = query->dims,
	    .name = kc_launch_name(query->code.mangled, query->dims, query->arguments),
	    .variant = &l->variant,
	};
	void *kept;

	KC_FUZZ_MUST(maker && kc_snapshot_add(maker, &entry) == 0);
	KC_FUZZ_MUST(kc_snapshot_end(maker, before, l->engine.cells, &kept, bytes) == 0);
	return kept;
}

static struct kc_past_query query_of(void)
{
	return (struct kc_past_query){
	    .code = CODE, .uuid = UUID, .device = kc_device_builtin("a100"), .arguments = ARGUMENTS};
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const struct kc_beginning nothing = {NULL, NULL};
	struct kc_past_query query = query_of();
	struct kc_fuzz_launch *l;

	(void)argc;
	(void)argv;
	timeline = calloc(1, kc_timeline_size());
	KC_FUZZ_MUST(timeline);
	l = kc_fuzz_first_launch(&nothing, &query);
	for (int64_t i = 0; i < 100; i++)
		learn(l, 10000 + 37 * i);
	sound = keep(l, &query, NULL, &sound_bytes);
	return 0;
}

static void change(uint8_t *bytes, struct kc_fuzz_input *input)
{
	while (input->left > 4) {
		size_t at = (size_t)input->at[0] << 16 | (size_t)input->at[1] << 8 | input->at[2], n = input->at[3];

		input->at += 4;
		input->left -= 4;
		n = n < input->left ? n : input->left;
		for (size_t i = 0; i < n; i++)
			bytes[(at + i) % sound_bytes] = input->at[i];
		input->at += n;
		input->left -= n;
	}
	((struct kc_snapshot_head *)bytes)->bytes = sound_bytes;
	kc__snapshot_seal((struct kc_snapshot_head *)bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_fuzz_input input = {bytes, length};
	struct kc_past_query query = query_of();
	uint8_t *changed = malloc(sound_bytes);
	struct kc_fuzz_launch *l;
	struct kc_past *past;
	size_t size;

	KC_FUZZ_MUST(changed);
	memcpy(changed, sound, sound_bytes);
	change(changed, &input);
	if (kc_past_of_snapshot(changed, sound_bytes, &past))
		return 0;
	l = kc_fuzz_first_launch(&(const struct kc_beginning){.past = past}, &query);
	learn(l, 12345);
	learn(l, 23456);
	free(keep(l, &query, kc_past_snapshot(past), &size));
	kc_past_free(past);
	return 0;
}
