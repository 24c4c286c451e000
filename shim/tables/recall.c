/*
 * What earlier runs of this program taught, and what `kerncast learn` wrote of
 * other programs and machines: read before the first launch, and taken over by
 * each device, kernel and launch shape as it is met.
 */
#include "recall.h"
#include "shim/worker/learn.h"
#include "shim/worker/threads.h"

#include "store/past/knowledge.h"
#include "store/past/past.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BYTES_MAX ((size_t)20 << 20) /* a snapshot and what else is read */

/* Set before recording begins, then only read. */
static struct kc_past *past;
static struct kc_knowledge *knowledge;
static struct kc_beginning from;

static void load_past(void)
{
	const struct kc_past_options options = {
	    .executable = kc__shim.header->executable,
	    .bound = {.until_ns = kc__shim.start_reads.until_ns,
		      .processor_ns = kc__shim.start_reads.processor_ns,
		      .bytes = BYTES_MAX},
	};
	char why[400] = "";
	int error = kc_past_load(kc__shim.options.db, &options, &past, why, sizeof(why));

	if (error && error != -ENODATA)
		kc__say(KC_MESSAGE_PAST_UNUSED, why);
}

static void load_knowledge(void)
{
	const char *path = kc__shim.options.prior;
	char why[200], text[sizeof(kc__shim.options.prior) + sizeof(why) + sizeof(": ")];

	if (kc_knowledge_open(path, &knowledge, why, sizeof(why))) {
		snprintf(text, sizeof(text), "%s: %s", path, why);
		kc__say(KC_MESSAGE_PRIOR_REFUSED, text);
		return;
	}
	snprintf(text, sizeof(text), "%016llx, %s", (unsigned long long)knowledge->head->checksum, path);
	kc__say(KC_MESSAGE_PRIOR, text);
}

/* On a thread of ours: what is known of a device is more than the application's stack may have room for. */
static void load(void *unused)
{
	(void)unused;
	if (!kc__shim.options.fresh)
		load_past();
	if (kc__shim.options.prior[0])
		load_knowledge();
	from = (struct kc_beginning){past, knowledge};
	kc_past_recall_cells(&from, kc__shim.engine.cells);
	for (int i = 0; i < kc__shim.device_count; i++) {
		struct kc__device *device = &kc__shim.devices[i];

		if (device->known)
			kc_past_recall_device(&from, device->uuid, &kc__shim.engine, &device->engine);
	}
}

/* What the process begins with, for a replay of it. */
static void put_past(void)
{
	struct kc_past_entry began_with = {.source = 0};
	int has_past = kc_past_began_with(past, &began_with);

	if (knowledge)
		began_with.prior = knowledge->head->checksum;
	if (has_past || knowledge)
		kc_journal_put(kc__shim.journal, KC_KIND_PAST, &began_with, sizeof(began_with));
	if (has_past)
		kc__learn_past();
}

void kc__recall_begin(void)
{
	past = NULL;
	knowledge = NULL;
	from = (struct kc_beginning){NULL, NULL};
	if (!kc__shim.options.fresh || kc__shim.options.prior[0])
		kc__files_do(load, NULL);
	put_past();
}

int64_t kc__recalled_source(void)
{
	struct kc_past_entry began_with;

	return kc_past_began_with(past, &began_with) ? began_with.source : 0;
}

const struct kc_snapshot *kc__recalled_snapshot(void)
{
	return kc_past_snapshot(past);
}

struct kc_code_identity kc__identity_of(const struct kc__kernel *kernel)
{
	return (struct kc_code_identity){
	    .mangled = kernel->name,
	    .code_hash = kernel->key[3],
	    .registers = kernel->resources.registers,
	    .static_shared_bytes = kernel->resources.static_shared_bytes,
	};
}

struct kc_name kc__name_of(const struct kc__kernel *kernel, const struct kc_shape *dims, const char *arguments)
{
	const struct kc_code_identity code = kc__identity_of(kernel);
	const char *uuid = kernel->device->uuid;

	return (struct kc_name){
	    .launch = kc_launch_identity(kc_launch_name(kernel->name, dims, arguments), &code, uuid),
	    .shape = kc_launch_identity(kc_launch_name(kernel->name, dims, NULL), &code, uuid),
	};
}

const struct kc_beginning *kc__recalled(void)
{
	return &from;
}

struct kc_past_query kc__past_query_of(const struct kc__kernel *kernel, const struct kc_shape *dims,
				       const char *arguments)
{
	return (struct kc_past_query){
	    .code = kc__identity_of(kernel),
	    .uuid = kernel->device->uuid,
	    .device = &kernel->device->info,
	    .dims = dims,
	    .arguments = arguments,
	};
}

const struct kc_past_text *kc__recalled_text(const struct kc__kernel *kernel)
{
	const struct kc_device *device = &kernel->device->info;

	if (!kernel->code)
		return NULL;
	return kc_past_text(past, kernel->name, kernel->key[3], device->cc_major * 10 + device->cc_minor);
}
