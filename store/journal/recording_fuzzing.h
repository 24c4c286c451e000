/* The journal of a program that used one of everything, for fuzz targets to change. */
#ifndef KC_RECORDING_FUZZING_H
#define KC_RECORDING_FUZZING_H

#include "journal.h"
#include "predictor/code/cost.h"
#include "cuda_tests/fuzz/fuzzing.h"
#include "store/common/message.h"

#define KC_FUZZ_SLOTS 128u
#define KC_FUZZ_BASE_NS INT64_C(1000000000)
#define KC_FUZZ_EXECUTABLE "/usr/bin/app"
#define KC_FUZZ_UUID "0a000000000000000000000000000000"
#define KC_FUZZ_NO_PID 0x7fffffffu /* above every pid of Linux */

struct kc_fuzz_recording { /* as in the file */
	union {
		struct kc_journal_header header;
		uint8_t page[KC_HEADER_BYTES];
	};
	struct kc_slot slots[KC_FUZZ_SLOTS];
};

struct kc_fuzz_recorder {
	struct kc_fuzz_recording *to;
	uint32_t slots;
	uint64_t events;
	int64_t now_ns;
};

static inline struct kc_slot *kc_fuzz_slot(struct kc_fuzz_recorder *r, uint32_t kind, uint32_t state)
{
	struct kc_slot *slot = &r->to->slots[r->slots];

	KC_FUZZ_MUST(r->slots < KC_FUZZ_SLOTS);
	slot->kind = kind;
	slot->index = r->slots++;
	kc_journal_commit(slot, state);
	r->now_ns += 50000;
	return slot;
}

/* text: what follows the entry, with its NULs. */
static inline void kc_fuzz_entry(struct kc_fuzz_recorder *r, uint32_t kind, const void *entry, size_t bytes,
				 const char *text, size_t text_bytes)
{
	uint8_t whole[1024];
	size_t room = sizeof(r->to->slots[0].part.payload), parts;

	KC_FUZZ_MUST(bytes + text_bytes <= sizeof(whole));
	memcpy(whole, entry, bytes);
	memcpy(whole + bytes, text, text_bytes);
	bytes += text_bytes;
	parts = (bytes + room - 1) / room;
	for (size_t i = 0; i < parts; i++) {
		struct kc_part *part = &kc_fuzz_slot(r, kind, KC_SLOT_RETURNED)->part;

		part->index = (uint16_t)i;
		part->count = (uint16_t)parts;
		part->bytes = (uint32_t)(i + 1 < parts ? room : bytes - i * room);
		memcpy(part->payload, whole + i * room, part->bytes);
	}
}
#define KC_FUZZ_ENTRY(r, kind, entry, text) kc_fuzz_entry(r, kind, &(entry), sizeof(entry), text, sizeof(text))

static inline void kc_fuzz_header(struct kc_journal_header *h, uint64_t pid_start)
{
	*h = (struct kc_journal_header){
	    .magic = KC_JOURNAL_MAGIC,
	    .version = KC_JOURNAL_VERSION,
	    .header_bytes = KC_HEADER_BYTES,
	    .slot_bytes = KC_SLOT_BYTES,
	    .segment_slots = KC_SEGMENT_SLOTS,
	    .pid = KC_FUZZ_NO_PID,
	    .ppid = 1,
	    .pid_start = pid_start,
	    .realtime_ns = INT64_C(1700000000000000000) + (int64_t)pid_start * 1000000000,
	    .monotonic_ns = KC_FUZZ_BASE_NS,
	    .ended = 1,
	    .ended_ns = KC_FUZZ_BASE_NS + 1000000000,
	    .boot_id = "11111111-2222-3333-4444-555555555555",
	    .run_token = "a run",
	    .measure = "all",
	    .executable = KC_FUZZ_EXECUTABLE,
	    .directory = "/home/user",
	    .database = "/home/user/kerncast.db",
	    .command_line = "app\0two words\0it's",
	    .command_line_bytes = sizeof("app\0two words\0it's"),
	    .boot_is_kernels = 1,
	};
	for (uint32_t i = 0; i < KC_COUNTERS; i++)
		h->counters[i] = i;
}

static inline void kc_fuzz_devices(struct kc_fuzz_recorder *r)
{
	static const char *const names[] = {"a100", "v100"};

	for (uint32_t ordinal = 0; ordinal < 2; ordinal++) {
		struct kc_device_entry device = {.ordinal = ordinal, .driver_version = 13000};
		struct kc_stream_entry legacy = {.id = 1 + 2 * ordinal, .device = ordinal, .kind = 2, .lane = 1};
		struct kc_stream_entry stream = {
		    .id = 2 + 2 * ordinal, .device = ordinal, .handle = 0x55, .kind = 1, .priority = -1, .lane = 2};

		device.device = *kc_device_builtin(names[ordinal]);
		device.uuid[0] = (uint8_t)(0x0a + ordinal);
		KC_FUZZ_ENTRY(r, KC_KIND_DEVICE, device, "");
		KC_FUZZ_ENTRY(r, KC_KIND_STREAM, legacy, "");
		KC_FUZZ_ENTRY(r, KC_KIND_STREAM, stream, "");
	}
}

static inline void kc_fuzz_kernels(struct kc_fuzz_recorder *r)
{
	struct kc_kernel_entry scale = {
	    .id = 1, .code_hash = 0xABC, .resources = {.registers = 32, .max_threads_per_block = 1024}};
	struct kc_kernel_entry add = {
	    .id = 2, .code_hash = 0xDEF, .resources = {.registers = 64, .max_threads_per_block = 1024}};
	struct kc_code_entry read = {1, KC_CODE_READ, 120}, refused = {2, KC_CODE_REFUSED, 0};
	struct kc_code_place_entry place = {.code_hash = 0xDEF, .offset = 4096, .length = 100, .hash = 7, .pieces = 1};
	struct kc_kernel_text_entry text = {.kernel = 1, .architecture = 80, .bytes = 5, .packed_bytes = 6};
	struct kc_call_site_entry site = {.id = 1, .address = 0x401000, .offset = 0x1000};
	struct kc_arguments_entry small = {.id = 1}, large = {.id = 2};

	KC_FUZZ_ENTRY(r, KC_KIND_KERNEL, scale, "_Z5scalePff\0/usr/lib/libapp.so");
	KC_FUZZ_ENTRY(r, KC_KIND_KERNEL, add, "_Z3addIfEvPT_PKS0_i\0");
	KC_FUZZ_ENTRY(r, KC_KIND_CODE, read, "fma 2*p1 + 1");
	KC_FUZZ_ENTRY(r, KC_KIND_CODE, refused, "no PTX for sm_80");
	KC_FUZZ_ENTRY(r, KC_KIND_CODE_PLACE, place, "/usr/lib/libapp.so");
	KC_FUZZ_ENTRY(r, KC_KIND_KERNEL_TEXT, text, "\x50ret;}"); /* five bytes as they are */
	KC_FUZZ_ENTRY(r, KC_KIND_CALL_SITE, site, "/usr/bin/app\0main\0_Z5scalePff");
	KC_FUZZ_ENTRY(r, KC_KIND_ARGUMENTS, small, "p1 = 1000");
	KC_FUZZ_ENTRY(r, KC_KIND_ARGUMENTS, large, "p1 = 1000000");
}

static inline void kc_fuzz_learned(struct kc_fuzz_recorder *r, int64_t source)
{
	struct kc_past_entry past = {source, KC_FUZZ_SLOTS, KC_FUZZ_SLOTS};
	struct kc_event_entry formula = {
	    .number = ++r->events, .kind = KC_EVENT_FORMULA, .kernel = 1, .time_ns = KC_FUZZ_BASE_NS + 1000};
	struct kc_event_entry known = {.number = ++r->events, .kind = KC_EVENT_PAST, .time_ns = KC_FUZZ_BASE_NS + 2000};
	struct kc_message_entry message = {KC_FUZZ_BASE_NS, 1, KC_MESSAGE_NO_CUPTI, 1};
	struct kc_lambda_entry lambda = {.state = 1,
					 .level = KC_MODEL_BSP_SHAPE,
					 .kernel = 1,
					 .block = {256, 1, 1},
					 .grid = {64, 1, 1},
					 .count = 3,
					 .log_value = -0.5,
					 .variance = 0.25,
					 .time_ns = KC_FUZZ_BASE_NS + 3000};
	struct kc_work_entry work = {.kernel = 1,
				     .grid = {64, 1, 1},
				     .block = {256, 1, 1},
				     .blocks_per_sm = 8,
				     .arguments = 1,
				     .count = KC_WORK_NUMBERS};
	struct kc_counts counts = {.threads = 64 * 256, .active_share = 1, .exact = 1};

	counts.of[KC_COUNT_OF_FMA] = 1000;
	counts.of[KC_COUNT_OF_LD_GLOBAL] = 2;
	kc_work_numbers(&counts, work.numbers);
	if (source)
		KC_FUZZ_ENTRY(r, KC_KIND_PAST, past, "");
	KC_FUZZ_ENTRY(r, KC_KIND_EVENT, formula, "");
	KC_FUZZ_ENTRY(r, KC_KIND_EVENT, known, "");
	KC_FUZZ_ENTRY(r, KC_KIND_MESSAGE, message, "CUPTI was not found");
	KC_FUZZ_ENTRY(r, KC_KIND_LAMBDA, lambda, "");
	KC_FUZZ_ENTRY(r, KC_KIND_WORK, work, "");
}

static inline struct kc_order kc_fuzz_order(struct kc_fuzz_recorder *r, uint32_t own)
{
	struct kc_order order = {r->events, own > 0, own > 1};

	r->events += own;
	return order;
}

static inline void kc_fuzz_launch(struct kc_fuzz_recorder *r, uint32_t i)
{
	struct kc_launch *l = &kc_fuzz_slot(r, KC_KIND_LAUNCH, i % 8 == 7 ? KC_SLOT_CALLED : KC_SLOT_FINAL)->launch;
	int64_t ns = 20000 + 1000 * (i % 3);

	l->device = i % 4 == 3;
	l->stream = 1 + i % 2 + 2u * l->device;
	l->kernel = 1 + i % 2;
	l->arguments = i % 3;
	l->call_site = i % 2;
	l->launched_ns = r->now_ns;
	l->predicted_at_ns = r->now_ns - 100;
	l->solo_ns = 21000;
	l->solo_low_ns = 20000;
	l->solo_high_ns = 23000;
	l->start_ns = r->now_ns + 1000;
	l->end_ns = r->now_ns + 22000;
	if (i % 8 != 7) {
		l->measured_start_ns = r->now_ns + 1200;
		l->measured_end_ns = l->measured_start_ns + ns;
	}
	l->grid[0] = i % 5 == 4 ? 128 : 64;
	l->block[0] = 256;
	l->grid[1] = l->grid[2] = l->block[1] = l->block[2] = 1;
	l->blocks_per_sm = 8;
	l->api = (uint8_t)(KC_API_LAUNCH_KERNEL + i % 4);
	l->correlation = i + 1;
	l->slowdown = l->slowdown_waves = 1;
	l->model = KC_MODEL_BSP_SHAPE;
	l->model_state = 1;
	l->scope = (uint16_t)(i % 7);
	l->novelty = KC_REPEATED;
	l->overlap = (uint8_t)(i % 4);
	l->unpredictable = i == 5 ? KC_NO_ATTRIBUTES : KC_PREDICTED;
	l->unmeasured = i == 15 ? KC_RECORD_DROPPED : KC_MEASURED;
	l->order = kc_fuzz_order(r, i % 8 == 7 ? 0 : 2);
}

static inline void kc_fuzz_transfer(struct kc_fuzz_recorder *r, uint32_t kind)
{
	struct kc_transfer *t = &kc_fuzz_slot(r, KC_KIND_TRANSFER, KC_SLOT_FINAL)->transfer;

	t->launched_ns = r->now_ns;
	t->start_ns = t->measured_start_ns = r->now_ns + 1000;
	t->end_ns = t->measured_end_ns = r->now_ns + 9000;
	t->bytes = 100000;
	t->stream = 1 + kind % 2;
	t->kind = (uint8_t)kind;
	t->order = kc_fuzz_order(r, 1);
}

static inline void kc_fuzz_stream_call(struct kc_fuzz_recorder *r, uint32_t kind)
{
	struct kc_stream_call call = {
	    .time_ns = r->now_ns, .known = r->events, .kind = kind, .stream = kind == KC_CALL_DEVICE_IDLE ? 0 : 2};

	call.ns = kind == KC_CALL_WAIT ? r->now_ns + 70000 : kind == KC_CALL_OCCUPY ? 3000 : 0;
	KC_FUZZ_ENTRY(r, KC_KIND_STREAM_CALL, call, "");
}

static inline void kc_fuzz_gpu_state(struct kc_fuzz_recorder *r, uint32_t sm_mhz)
{
	struct kc_gpu_state_entry state = {.time_ns = r->now_ns,
					   .slowed = sm_mhz < 1000 ? KC_SLOWED_POWER_CAP : 0,
					   .sm_mhz = sm_mhz,
					   .memory_mhz = 1215,
					   .power_mw = 250000,
					   .others = sm_mhz % 2};

	KC_FUZZ_ENTRY(r, KC_KIND_GPU_STATE, state, "");
}

static inline void kc_fuzz_operator(struct kc_fuzz_recorder *r, uint32_t id)
{
	struct kc_operator_entry product = {.id = id, .flop = 2e9 * id, .bytes = 1e6};
	struct kc_launched_by_entry by = {.launch = id, .id = id, .parts = id % 3};

	KC_FUZZ_ENTRY(r, KC_KIND_OPERATOR, product, "aten::mm");
	KC_FUZZ_ENTRY(r, KC_KIND_LAUNCHED_BY, by, "");
}

static inline void kc_fuzz_scope(struct kc_fuzz_recorder *r, uint32_t id)
{
	struct kc_step_entry step = {.start_ns = r->now_ns, .end_ns = r->now_ns + 100000, .number = id};
	struct kc_scope_entry scope = {.id = id, .parent = id - 20, .kind = id % KC_SCOPE_KINDS};
	struct kc_launched_in_entry in = {.launch = id, .id = id};

	KC_FUZZ_ENTRY(r, KC_KIND_STEP, step, "");
	KC_FUZZ_ENTRY(r, KC_KIND_SCOPE, scope, "forward");
	KC_FUZZ_ENTRY(r, KC_KIND_LAUNCHED_IN, in, "");
}

/* pid_start tells processes apart. source: row of the process whose launches it had learned from; 0: none. */
static inline void kc_fuzz_record(struct kc_fuzz_recording *out, uint64_t pid_start, int64_t source)
{
	struct kc_fuzz_recorder r = {.to = out, .now_ns = KC_FUZZ_BASE_NS};

	memset(out, 0, sizeof(*out));
	kc_fuzz_header(&out->header, pid_start);
	kc_fuzz_devices(&r);
	kc_fuzz_kernels(&r);
	kc_fuzz_learned(&r, source);
	for (uint32_t i = 0; i < 40; i++) {
		kc_fuzz_launch(&r, i);
		if (i % 6 == 5)
			kc_fuzz_transfer(&r, KC_COPY_HTOD + i / 6);
		if (i % 6 == 2)
			kc_fuzz_stream_call(&r, KC_CALL_STREAM_IDLE + i / 6);
		if (i % 20 == 7)
			kc_fuzz_gpu_state(&r, 1410 - 33 * i);
		if (i % 20 == 9)
			kc_fuzz_operator(&r, i);
		if (i % 20 == 11)
			kc_fuzz_scope(&r, i + 9);
	}
}

#endif
