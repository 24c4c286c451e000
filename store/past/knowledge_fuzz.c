/*
 * A file of `kerncast learn` that somebody has changed, inside a program that is just starting, and the first
 * predictions that rest on it. The input: the file. A second time its length and checksum are made to fit, so that what
 * lies behind them is reached.
 */
#include "first_launch_fuzzing.h"
#include "knowledge.h"

static struct kc_fuzz_path path;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	path = kc_fuzz_path("a.prior");
	return 0;
}

static void predict(const struct kc_knowledge *knowledge, const struct kc_device *info, const char *mangled,
		    uint64_t code_hash, uint32_t registers)
{
	const struct kc_beginning from = {.knowledge = knowledge};
	struct kc_past_query query = {.code = {mangled, code_hash, registers, 0}, .uuid = "0", .device = info};

	kc_fuzz_first_launch(&from, &query);
}

/* On a device of the file's own, so that what it says is used, and on a built-in one. */
static void use(const struct kc_knowledge *k)
{
	struct kc_device info = *kc_device_builtin("a100");

	predict(k, &info, "_Z1kv", 0xABC, 32);
	for (uint32_t i = 0; i < k->head->kernel_count && i < 4; i++) {
		const struct kc_knowledge_kernel *kernel = &k->kernels[i];
		const struct kc_knowledge_device *device = &k->devices[kernel->device];

		memcpy(info.name, device->name, sizeof(info.name));
		info.cc_major = device->cc_major;
		info.cc_minor = device->cc_minor;
		info.simulated = device->simulated;
		info.memory_bytes_per_s = device->memory_bytes_per_s;
		info.sm_count = device->sm_count;
		info.cores_per_sm = device->cores_per_sm;
		info.clock_khz = device->clock_khz;
		if (kc_device_is_possible(&info))
			predict(k, &info, kernel->text ? k->text + kernel->text : "_Z1kv", kernel->code_hash,
				kernel->registers);
	}
}

static void open_and_use(void)
{
	struct kc_knowledge *knowledge;
	char why[200];

	if (kc_knowledge_open(path.text, &knowledge, why, sizeof(why)))
		KC_FUZZ_MUST(why[0]);
	else
		use(knowledge);
	kc_knowledge_free(knowledge);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct kc_knowledge_head head;
	uint8_t *fitting;

	kc_fuzz_write(path.text, bytes, length);
	open_and_use();
	if (length < sizeof(head))
		return 0;
	fitting = malloc(length);
	memcpy(fitting, bytes, length);
	memcpy(&head, fitting, sizeof(head));
	memcpy(head.magic, kc_knowledge_magic, sizeof(head.magic));
	head.version = KC_KNOWLEDGE_VERSION;
	head.bytes = length;
	memcpy(fitting, &head, sizeof(head));
	head.checksum = kc_knowledge_checksum(fitting, length);
	memcpy(fitting, &head, sizeof(head));
	kc_fuzz_write(path.text, fitting, length);
	free(fitting);
	open_and_use();
	return 0;
}
