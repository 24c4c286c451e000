#include "device.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#define KIB 1024u
#define MIB (1024u * KIB)
#define GIB (1024ull * MIB)

/*
 * Launch call to first block on an idle device, and kernel to kernel in a
 * queue: medians of the recorded PyTorch profiles of V100 (8 to 10 µs, 1 µs)
 * and A100 (12 µs, 1.2 µs), with CUPTI at work as it is here.
 */
#define LAUNCH_OVERHEAD_NS 8000
#define LAUNCH_GAP_NS 1000

#define FMA_OPERATIONS 2.0 /* a fused multiply-add */
#define HARDWARE_QUEUES 8  /* CUDA_DEVICE_MAX_CONNECTIONS where it is not set */

/*
 * Limits by compute capability. Source: CUDA C++ programming guide, tables
 * "Technical specifications per compute capability" and "Throughput of native
 * arithmetic instructions" (32-bit floating-point add, per clock cycle and SM).
 */
#define LIMITS(major, minor, cores, threads, blocks, registers, block_registers, shared, optin, reserved)              \
	.cc_major = (major), .cc_minor = (minor), .cores_per_sm = (cores), .warp_size = 32,                            \
	.max_threads_per_block = 1024, .max_threads_per_sm = (threads), .max_blocks_per_sm = (blocks),                 \
	.registers_per_sm = (registers), .registers_per_block = (block_registers), .shared_per_sm_bytes = (shared),    \
	.shared_per_block_bytes = 48 * KIB, .shared_per_block_optin_bytes = (optin),                                   \
	.shared_reserved_per_block_bytes = (reserved), .copy_engines = 2, .hardware_queues = HARDWARE_QUEUES,          \
	.launch_overhead_ns = LAUNCH_OVERHEAD_NS, .launch_gap_ns = LAUNCH_GAP_NS

#define CC_3_0 LIMITS(3, 0, 192, 2048, 16, 64 * KIB, 64 * KIB, 48 * KIB, 0, 0)
#define CC_3_5 LIMITS(3, 5, 192, 2048, 16, 64 * KIB, 64 * KIB, 48 * KIB, 0, 0)
#define CC_3_7 LIMITS(3, 7, 192, 2048, 16, 128 * KIB, 64 * KIB, 112 * KIB, 0, 0)
#define CC_5_0 LIMITS(5, 0, 128, 2048, 32, 64 * KIB, 64 * KIB, 64 * KIB, 0, 0)
#define CC_5_2 LIMITS(5, 2, 128, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 0, 0)
#define CC_5_3 LIMITS(5, 3, 128, 2048, 32, 64 * KIB, 32 * KIB, 64 * KIB, 0, 0)
#define CC_6_0 LIMITS(6, 0, 64, 2048, 32, 64 * KIB, 64 * KIB, 64 * KIB, 0, 0)
#define CC_6_1 LIMITS(6, 1, 128, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 0, 0)
#define CC_6_2 LIMITS(6, 2, 128, 2048, 32, 64 * KIB, 32 * KIB, 64 * KIB, 0, 0)
#define CC_7_0 LIMITS(7, 0, 64, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 96 * KIB, 0)
#define CC_7_2 LIMITS(7, 2, 64, 2048, 32, 64 * KIB, 64 * KIB, 96 * KIB, 96 * KIB, 0)
#define CC_7_5 LIMITS(7, 5, 64, 1024, 16, 64 * KIB, 64 * KIB, 64 * KIB, 64 * KIB, 0)
#define CC_8_0 LIMITS(8, 0, 64, 2048, 32, 64 * KIB, 64 * KIB, 164 * KIB, 163 * KIB, KIB)
#define CC_8_6 LIMITS(8, 6, 128, 1536, 16, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)
#define CC_8_7 LIMITS(8, 7, 128, 1536, 16, 64 * KIB, 64 * KIB, 164 * KIB, 163 * KIB, KIB)
#define CC_8_9 LIMITS(8, 9, 128, 1536, 24, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)
#define CC_9_0 LIMITS(9, 0, 128, 2048, 32, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_10_0 LIMITS(10, 0, 128, 2048, 32, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_10_1 LIMITS(10, 1, 128, 1536, 24, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_10_3 LIMITS(10, 3, 128, 2048, 32, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_11_0 LIMITS(11, 0, 128, 1536, 24, 64 * KIB, 64 * KIB, 228 * KIB, 227 * KIB, KIB)
#define CC_12_0 LIMITS(12, 0, 128, 1536, 24, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)
#define CC_12_1 LIMITS(12, 1, 128, 1536, 24, 64 * KIB, 64 * KIB, 100 * KIB, 99 * KIB, KIB)

static const struct kc_device by_capability[] = {
    {CC_3_0}, {CC_3_5},  {CC_3_7},  {CC_5_0},  {CC_5_2},  {CC_5_3},  {CC_6_0},  {CC_6_1},
    {CC_6_2}, {CC_7_0},  {CC_7_2},  {CC_7_5},  {CC_8_0},  {CC_8_6},  {CC_8_7},  {CC_8_9},
    {CC_9_0}, {CC_10_0}, {CC_10_1}, {CC_10_3}, {CC_11_0}, {CC_12_0}, {CC_12_1},
};

/*
 * The chips: SMs, boost clock, memory and L2 as NVIDIA's data sheets and
 * architecture white papers state them, in the units the driver reports.
 */
struct chip {
	const char *alias;
	struct kc_device device;
};

static const struct chip chips[] = {
    {"gtx680",
     {CC_3_0, .name = "GeForce GTX 680", .sm_count = 8, .clock_khz = 1058500, .memory_clock_khz = 3004000,
      .memory_bus_bits = 256, .memory_bytes_per_s = 192256000000, .memory_bytes = 2 * GIB, .l2_bytes = 512 * KIB}},
    {"k20",
     {CC_3_5, .name = "Tesla K20", .sm_count = 13, .clock_khz = 705500, .memory_clock_khz = 2600000,
      .memory_bus_bits = 320, .memory_bytes_per_s = 208000000000, .memory_bytes = 5 * GIB, .l2_bytes = 1280 * KIB}},
    {"k40",
     {CC_3_5, .name = "Tesla K40", .sm_count = 15, .clock_khz = 745000, .memory_clock_khz = 3004000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 288384000000, .memory_bytes = 12 * GIB, .l2_bytes = 1536 * KIB}},
    {"titan",
     {CC_3_5, .name = "GeForce GTX TITAN", .sm_count = 14, .clock_khz = 875500, .memory_clock_khz = 3004000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 288384000000, .memory_bytes = 6 * GIB, .l2_bytes = 1536 * KIB}},
    {"gtx950",
     {CC_5_2, .name = "GeForce GTX 950", .sm_count = 6, .clock_khz = 1188000, .memory_clock_khz = 3305000,
      .memory_bus_bits = 128, .memory_bytes_per_s = 105760000000, .memory_bytes = 2 * GIB, .l2_bytes = 1 * MIB}},
    {"gtx970",
     {CC_5_2, .name = "GeForce GTX 970", .sm_count = 13, .clock_khz = 1177500, .memory_clock_khz = 3505000,
      .memory_bus_bits = 256, .memory_bytes_per_s = 224320000000, .memory_bytes = 4 * GIB, .l2_bytes = 1792 * KIB}},
    {"gtx980",
     {CC_5_2, .name = "GeForce GTX 980", .sm_count = 16, .clock_khz = 1215500, .memory_clock_khz = 3505000,
      .memory_bus_bits = 256, .memory_bytes_per_s = 224320000000, .memory_bytes = 4 * GIB, .l2_bytes = 2 * MIB}},
    {"titanx",
     {CC_5_2, .name = "GeForce GTX TITAN X", .sm_count = 24, .clock_khz = 1075500, .memory_clock_khz = 3505000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 336480000000, .memory_bytes = 12 * GIB, .l2_bytes = 3 * MIB}},
    {"p100",
     {CC_6_0, .name = "Tesla P100-SXM2-16GB", .sm_count = 56, .clock_khz = 1480500, .memory_clock_khz = 715000,
      .memory_bus_bits = 4096, .memory_bytes_per_s = 732160000000, .memory_bytes = 16 * GIB, .l2_bytes = 4 * MIB}},
    {"gtx1080ti",
     {CC_6_1, .name = "GeForce GTX 1080 Ti", .sm_count = 28, .clock_khz = 1582000, .memory_clock_khz = 5505000,
      .memory_bus_bits = 352, .memory_bytes_per_s = 484440000000, .memory_bytes = 11 * GIB, .l2_bytes = 2816 * KIB}},
    {"v100",
     {CC_7_0, .name = "Tesla V100-SXM2-16GB", .sm_count = 80, .clock_khz = 1530000, .memory_clock_khz = 877000,
      .memory_bus_bits = 4096, .memory_bytes_per_s = 898048000000, .memory_bytes = 16 * GIB, .l2_bytes = 6 * MIB}},
    {"t4",
     {CC_7_5, .name = "Tesla T4", .sm_count = 40, .clock_khz = 1590000, .memory_clock_khz = 5001000,
      .memory_bus_bits = 256, .memory_bytes_per_s = 320064000000, .memory_bytes = 16 * GIB, .l2_bytes = 4 * MIB}},
    {"rtx2080ti",
     {CC_7_5, .name = "GeForce RTX 2080 Ti", .sm_count = 68, .clock_khz = 1545000, .memory_clock_khz = 7000000,
      .memory_bus_bits = 352, .memory_bytes_per_s = 616000000000, .memory_bytes = 11 * GIB, .l2_bytes = 5632 * KIB}},
    {"titanrtx",
     {CC_7_5, .name = "TITAN RTX", .sm_count = 72, .clock_khz = 1770000, .memory_clock_khz = 7001000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 672096000000, .memory_bytes = 24 * GIB, .l2_bytes = 6 * MIB}},
    {"a100",
     {CC_8_0, .name = "NVIDIA A100-SXM4-40GB", .sm_count = 108, .clock_khz = 1410000, .memory_clock_khz = 1215000,
      .memory_bus_bits = 5120, .memory_bytes_per_s = 1555200000000, .memory_bytes = 40 * GIB, .l2_bytes = 40 * MIB}},
    {"a100-80gb",
     {CC_8_0, .name = "NVIDIA A100-SXM4-80GB", .sm_count = 108, .clock_khz = 1410000, .memory_clock_khz = 1593000,
      .memory_bus_bits = 5120, .memory_bytes_per_s = 2039040000000, .memory_bytes = 80 * GIB, .l2_bytes = 40 * MIB}},
    {"a4000",
     {CC_8_6, .name = "NVIDIA RTX A4000", .sm_count = 48, .clock_khz = 1560000, .memory_clock_khz = 7001000,
      .memory_bus_bits = 256, .memory_bytes_per_s = 448064000000, .memory_bytes = 16 * GIB, .l2_bytes = 4 * MIB}},
    {"a6000",
     {CC_8_6, .name = "NVIDIA RTX A6000", .sm_count = 84, .clock_khz = 1800000, .memory_clock_khz = 8001000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 768096000000, .memory_bytes = 48 * GIB, .l2_bytes = 6 * MIB}},
    {"rtx3060-laptop",
     {CC_8_6, .name = "NVIDIA GeForce RTX 3060 Laptop GPU", .sm_count = 30, .clock_khz = 1702000,
      .memory_clock_khz = 7001000, .memory_bus_bits = 192, .memory_bytes_per_s = 336048000000, .memory_bytes = 6 * GIB,
      .l2_bytes = 3 * MIB}},
    {"rtx3090",
     {CC_8_6, .name = "NVIDIA GeForce RTX 3090", .sm_count = 82, .clock_khz = 1695000, .memory_clock_khz = 9751000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 936096000000, .memory_bytes = 24 * GIB, .l2_bytes = 6 * MIB}},
    {"rtx4090",
     {CC_8_9, .name = "NVIDIA GeForce RTX 4090", .sm_count = 128, .clock_khz = 2520000, .memory_clock_khz = 10501000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 1008096000000, .memory_bytes = 24 * GIB, .l2_bytes = 72 * MIB}},
    {"l40s",
     {CC_8_9, .name = "NVIDIA L40S", .sm_count = 142, .clock_khz = 2520000, .memory_clock_khz = 9001000,
      .memory_bus_bits = 384, .memory_bytes_per_s = 864096000000, .memory_bytes = 48 * GIB, .l2_bytes = 96 * MIB}},
    {"h100",
     {CC_9_0, .name = "NVIDIA H100 80GB HBM3", .sm_count = 132, .clock_khz = 1980000, .memory_clock_khz = 2619000,
      .memory_bus_bits = 5120, .memory_bytes_per_s = 3352320000000, .memory_bytes = 80 * GIB, .l2_bytes = 50 * MIB}},
    {"h100-pcie",
     {CC_9_0, .name = "NVIDIA H100 PCIe", .sm_count = 114, .clock_khz = 1755000, .memory_clock_khz = 1593000,
      .memory_bus_bits = 5120, .memory_bytes_per_s = 2039040000000, .memory_bytes = 80 * GIB, .l2_bytes = 50 * MIB}},
    {"h200",
     {CC_9_0, .name = "NVIDIA H200", .sm_count = 132, .clock_khz = 1980000, .memory_clock_khz = 3201000,
      .memory_bus_bits = 6144, .memory_bytes_per_s = 4800000000000, .memory_bytes = 141 * GIB, .l2_bytes = 50 * MIB}},
    {"b200",
     {CC_10_0, .name = "NVIDIA B200", .sm_count = 148, .clock_khz = 1965000, .memory_clock_khz = 3996000,
      .memory_bus_bits = 8192, .memory_bytes_per_s = 7700000000000, .memory_bytes = 180 * GIB, .l2_bytes = 126 * MIB}},
    {"rtx5090",
     {CC_12_0, .name = "NVIDIA GeForce RTX 5090", .sm_count = 170, .clock_khz = 2407000, .memory_clock_khz = 14001000,
      .memory_bus_bits = 512, .memory_bytes_per_s = 1792128000000, .memory_bytes = 32 * GIB, .l2_bytes = 96 * MIB}},
};

#define WORD_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define WORDS_OF_A_NAME 3u /* "RTX 3060 Laptop" */

enum { CHIPS = sizeof(chips) / sizeof(chips[0]), CAPABILITIES = sizeof(by_capability) / sizeof(by_capability[0]) };

const struct kc_device *kc_device_builtin(const char *name)
{
	for (unsigned i = 0; i < CHIPS; i++) {
		if (!strcasecmp(chips[i].alias, name) || !strcasecmp(chips[i].device.name, name))
			return &chips[i].device;
	}
	return NULL;
}

const struct kc_device *kc_device_builtin_at(unsigned i)
{
	return i < CHIPS ? &chips[i].device : NULL;
}

const char *kc_device_builtin_alias(unsigned i)
{
	return i < CHIPS ? chips[i].alias : NULL;
}

/* The words of a name without what is between them, from the first-th, `count` of them, in lower case. */
static int join_words(const char *name, unsigned first, unsigned count, char *out, size_t size)
{
	size_t n = 0;

	for (unsigned word = 0; word < first + count; word++) {
		name += strcspn(name, WORD_LETTERS);
		if (!*name)
			return 0;
		for (; *name && strchr(WORD_LETTERS, *name); name++) {
			if (word >= first && n + 1 < size)
				out[n++] = (char)tolower((unsigned char)*name);
		}
	}
	out[n] = '\0';
	return 1;
}

/* The alias, without "gtx" and "rtx" and what stands between its words; boards of a chip have a letter more (K40c). */
static int is_alias(const char *words, const char *alias)
{
	char plain[64] = "";

	for (unsigned count = 1; join_words(alias, 0, count, plain, sizeof(plain)); count++)
		;
	if (!strcmp(words, plain) ||
	    ((!strncmp(plain, "gtx", 3) || !strncmp(plain, "rtx", 3)) && !strcmp(words, plain + 3)))
		return 1;
	return !strncmp(words, plain, strlen(plain)) && strspn(words + strlen(plain), "cmst") == 1 &&
	       words[strlen(plain) + 1] == '\0';
}

/* GTX 980 Ti is no GTX 980, and an L40S no L40. */
static int names_another_model(const char *word)
{
	static const char *const words[] = {"ti", "super", "d", "s", "laptop", "max", "mobile"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(word, words[i]))
			return 1;
	}
	return 0;
}

static int is_another_model(const char *name, unsigned next)
{
	char word[64];

	return join_words(name, next, 1, word, sizeof(word)) && names_another_model(word);
}

const struct kc_device *kc_device_builtin_meant(const char *name)
{
	const struct kc_device *found = NULL;
	size_t longest = 0;
	char words[64];

	for (unsigned first = 0; join_words(name, first, 1, words, sizeof(words)); first++) {
		for (unsigned count = 1;
		     count <= WORDS_OF_A_NAME && join_words(name, first, count, words, sizeof(words)); count++) {
			for (unsigned i = 0; i < CHIPS; i++) {
				if (strlen(words) <= longest || !is_alias(words, chips[i].alias) ||
				    is_another_model(name, first + count))
					continue;
				found = &chips[i].device;
				longest = strlen(words);
			}
		}
	}
	return found;
}

/* A name without makers, case and what stands between its parts, which are words and numbers: rtx|3060|laptop. */
struct typed {
	char text[64];
	char begins[64]; /* where a part begins, and at the end */
};

static void drop_front(struct typed *typed, const char *front)
{
	size_t n = strlen(front), length = strlen(typed->text);

	if (strncmp(typed->text, front, n) || !typed->begins[n])
		return;
	memmove(typed->text, typed->text + n, length - n + 1);
	memmove(typed->begins, typed->begins + n, length - n + 1);
}

static void read_typed(const char *name, struct typed *typed)
{
	size_t n = 0;
	int apart = 1;

	*typed = (struct typed){.text = ""};
	for (; *name && n + 1 < sizeof(typed->text); name++) {
		if (!isalnum((unsigned char)*name)) {
			apart = 1;
			continue;
		}
		typed->begins[n] = (char)(apart || !isdigit((unsigned char)*name) != !isdigit((unsigned char)name[-1]));
		typed->text[n++] = (char)tolower((unsigned char)*name);
		apart = 0;
	}
	typed->text[n] = '\0';
	typed->begins[n] = 1;
	drop_front(typed, "nvidia");
	drop_front(typed, "geforce");
	drop_front(typed, "tesla");
}

/* Of `length` characters at `from`: whole parts, and no other model's name begins like this. */
static int are_parts(const struct typed *name, size_t from, size_t length)
{
	const char *end = memchr(name->begins + from + length + 1, 1, sizeof(name->begins) - from - length - 1);
	char next[sizeof(name->text)] = "";

	if (!name->begins[from] || !name->begins[from + length])
		return 0;
	if (name->text[from + length] && end)
		memcpy(next, name->text + from + length, (size_t)(end - name->begins) - from - length);
	return !names_another_model(next);
}

static enum kc_device_match match_name(const struct typed *typed, const char *name)
{
	enum kc_device_match match = KC_MATCH_NONE;
	struct typed has;

	read_typed(name, &has);
	if (!strcmp(has.text, typed->text))
		return KC_MATCH_WHOLE;
	for (const char *at = has.text; (at = strstr(at, typed->text)); at++) {
		if (are_parts(&has, (size_t)(at - has.text), strlen(typed->text)))
			return KC_MATCH_PARTS;
		match = KC_MATCH_LETTERS;
	}
	return match;
}

enum kc_device_match kc_device_builtin_match(unsigned i, const char *typed)
{
	enum kc_device_match by_alias, by_name;
	struct typed wanted;

	read_typed(typed, &wanted);
	if (i >= CHIPS || !wanted.text[0])
		return KC_MATCH_NONE;
	by_alias = match_name(&wanted, chips[i].alias);
	by_name = match_name(&wanted, chips[i].device.name);
	return by_alias > by_name ? by_alias : by_name;
}

/* The newest capability known that is not newer than the one asked for. */
static const struct kc_device *limits_of(uint32_t cc_major, uint32_t cc_minor)
{
	const struct kc_device *found = &by_capability[0];

	for (unsigned i = 0; i < CAPABILITIES; i++) {
		const struct kc_device *d = &by_capability[i];

		if (d->cc_major < cc_major || (d->cc_major == cc_major && d->cc_minor <= cc_minor))
			found = d;
	}
	return found;
}

uint32_t kc_device_resident_grids(uint32_t cc_major, uint32_t cc_minor)
{
	switch (cc_major * 10 + cc_minor) {
	case 32:
		return 4;
	case 30:
	case 53:
	case 62:
	case 72:
		return 16;
	case 35:
	case 37:
	case 50:
	case 52:
	case 61:
		return 32;
	default:
		return 128;
	}
}

uint32_t kc_device_cluster_max(uint32_t cc_major)
{
	enum { SINCE = 9, NOT_PORTABLE = 16 };

	return cc_major >= SINCE ? NOT_PORTABLE : 1;
}

uint32_t kc_device_cores_per_sm(uint32_t cc_major, uint32_t cc_minor)
{
	enum { NOT_YET_KNOWN = 128 };
	const struct kc_device *limits = limits_of(cc_major, cc_minor);

	return limits->cc_major == cc_major ? limits->cores_per_sm : NOT_YET_KNOWN;
}

static void fill(uint32_t *field, uint32_t value)
{
	if (!*field)
		*field = value;
}

void kc_device_complete(struct kc_device *device)
{
	const struct kc_device *limits = limits_of(device->cc_major, device->cc_minor);

	fill(&device->cores_per_sm, kc_device_cores_per_sm(device->cc_major, device->cc_minor));
	fill(&device->warp_size, limits->warp_size);
	fill(&device->max_threads_per_block, limits->max_threads_per_block);
	fill(&device->max_threads_per_sm, limits->max_threads_per_sm);
	fill(&device->max_blocks_per_sm, limits->max_blocks_per_sm);
	fill(&device->registers_per_sm, limits->registers_per_sm);
	fill(&device->registers_per_block, limits->registers_per_block);
	fill(&device->shared_per_sm_bytes, limits->shared_per_sm_bytes);
	fill(&device->shared_per_block_bytes, limits->shared_per_block_bytes);
	fill(&device->shared_per_block_optin_bytes, limits->shared_per_block_optin_bytes);
	fill(&device->shared_reserved_per_block_bytes, limits->shared_reserved_per_block_bytes);
	fill(&device->hardware_queues, HARDWARE_QUEUES);
	fill(&device->launch_overhead_ns, LAUNCH_OVERHEAD_NS);
	fill(&device->launch_gap_ns, LAUNCH_GAP_NS);
	if (!device->memory_bytes_per_s) /* two transfers a clock */
		device->memory_bytes_per_s =
		    (uint64_t)device->memory_clock_khz * 1000 * 2 * (device->memory_bus_bits / 8);
}

int kc_device_is_possible(const struct kc_device *device)
{
	const struct {
		uint32_t value, least, most;
	} attributes[] = {
	    {device->sm_count, 1, 1u << 16},
	    {device->cores_per_sm, 1, 1u << 16},
	    {device->warp_size, 1, 1u << 10},
	    {device->clock_khz, 1, 1u << 30},
	    {device->max_threads_per_block, 1, 1u << 16},
	    {device->max_threads_per_sm, 1, 1u << 20},
	    {device->max_blocks_per_sm, 1, 1u << 16},
	    {device->registers_per_sm, 1, 1u << 26},
	    {device->registers_per_block, 1, 1u << 26},
	    {device->shared_per_sm_bytes, 1, 1u << 30},
	    {device->shared_per_block_bytes, 1, 1u << 30},
	    {device->shared_per_block_optin_bytes, 0, 1u << 30},
	    {device->shared_reserved_per_block_bytes, 0, 1u << 30},
	};

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
		if (attributes[i].value < attributes[i].least || attributes[i].value > attributes[i].most)
			return 0;
	}
	return device->max_threads_per_sm >= device->warp_size;
}

static void measured(uint32_t *field, double value)
{
	if (value >= 1 && value < UINT32_MAX)
		*field = (uint32_t)value;
}

/* At most what the hardware can do: a faster copy stayed in a cache, and a faster kernel did not do its work. */
static void measured_rate(uint64_t *field, double value, double peak)
{
	if (!(value >= 1 && value < (double)INT64_MAX))
		return;
	*field = (uint64_t)(peak > 0 && value > peak ? peak : value);
}

void kc_device_calibrate(struct kc_device *device, const struct kc_calibration *calibration)
{
	measured(&device->launch_overhead_ns, calibration->launch_overhead_ns);
	measured(&device->empty_kernel_ns, calibration->empty_kernel_ns);
	measured(&device->launch_gap_ns, calibration->launch_gap_ns);
	measured_rate(&device->copy_bytes_per_s, calibration->copy_bytes_per_s, (double)device->memory_bytes_per_s);
	measured_rate(&device->flops_per_s, calibration->flops_per_s, kc_device_peak_flops(device));
}

double kc_device_peak_flops(const struct kc_device *device)
{
	return FMA_OPERATIONS * device->sm_count * device->cores_per_sm * device->clock_khz * 1e3;
}
