#include "code_reader.h"

#include "predictor/code/stored/thin.h"

#include <errno.h>
#include <stdlib.h>

#define PART_BYTES ((size_t)64 << 10) /* of a text, after which it is asked whether to end */

static int feed(void *arg, const char *text, size_t length)
{
	struct kc_code_reader *reader = arg;
	int rc = 0;

	reader->given_bytes += length;
	if (reader->given_bytes > reader->limits->text_bytes)
		return -ENOMEM;
	for (size_t part; !rc && length; text += part, length -= part) {
		part = length < PART_BYTES ? length : PART_BYTES;
		rc = reader->ends && reader->ends(reader->user) ? -ETIME : kc_ptx_cut_feed(&reader->cut, text, part);
	}
	return rc;
}

/* code: of the device, to be compared; NULL: there is none. Where it cannot be read, nothing is known of it. */
static void look_at_code(struct kc_code_reader *reader, const struct kc_image *code, size_t memory_bytes)
{
	for (uint32_t i = 0; i < reader->count; i++)
		reader->code[i] = (struct kc_features_wanted){.name = reader->wanted[i].name};
	if (code)
		kc_features_of_image(code, reader->code, reader->count, memory_bytes, NULL);
}

static int cut_out(struct kc_code_reader *reader, const struct kc_image *ptx, const struct kc_image *code,
		   size_t memory_bytes, struct kc_refusal *refusal)
{
	size_t unpacking = kc_image_stream_bytes(ptx), left = memory_bytes > unpacking ? memory_bytes - unpacking : 0;
	int rc;

	left = left < reader->limits->cut_bytes ? left : reader->limits->cut_bytes;
	reader->sm = ptx->sm;
	reader->given_bytes = 0;
	reader->is_all = !reader->count;
	if (!reader->is_all)
		kc_ptx_cut_begin(&reader->cut, reader->wanted, reader->count, left);
	else
		kc_ptx_cut_begin_all(&reader->cut, reader->wanted, KC_CODE_READER_KERNELS, left);
	rc = ptx->length > reader->limits->text_bytes ? -ENOMEM
						      : kc_image_stream(ptx, memory_bytes, feed, reader, refusal);
	reader->count = reader->cut.wanted_count;
	if (rc)
		kc_code_close(reader);
	else if (reader->other_architecture)
		look_at_code(reader, code, memory_bytes - kc_ptx_cut_bytes(&reader->cut));
	return rc;
}

static int open_bytes(struct kc_code_reader *reader, const void *bytes, size_t length, size_t memory_bytes,
		      struct kc_code_lack *lack)
{
	uint32_t major = reader->cc_major, minor = reader->cc_minor;
	bool is_cubin = kc_image_is_cubin(bytes, length);
	const struct kc_image *ptx, *code = NULL;
	struct kc_images images;
	int rc = kc_images_list(&images, bytes, length, memory_bytes / 2, &lack->refusal);

	if (rc)
		return rc;
	lack->saw_code = true;
	lack->is_cubin |= is_cubin;
	ptx = kc_images_choose(&images, 0, major, minor, 1u << KC_IMAGE_PTX);
	reader->other_architecture = !ptx;
	if (!ptx && !reader->own_only) {
		ptx = kc_images_choose_other(&images, 0, major, minor);
		code = kc_images_choose(&images, 0, major, minor, 1u << KC_IMAGE_CUBIN);
	}
	rc = ptx ? cut_out(reader, ptx, code, memory_bytes - images.arena.held_bytes, &lack->refusal) : -ENOENT;
	kc_images_free(&images);
	if (rc == -ENOENT && is_cubin && reader->behind)
		rc = reader->behind(reader, &(const struct kc_code_part){.bytes = bytes, .length = length},
				    memory_bytes, lack);
	return rc;
}

/* Of a fatbin in a file only what is needed is read. */
static int open_file(struct kc_code_reader *reader, struct kc_code_file *file, size_t memory_bytes,
		     struct kc_code_lack *lack)
{
	struct kc_thin_request request = {
	    .read = kc_code_file_read,
	    .arg = file,
	    .length = file->length,
	    .cc_major = reader->cc_major,
	    .cc_minor = reader->cc_minor,
	    .memory_bytes = memory_bytes / 2,
	};
	size_t length;
	void *bytes;
	int rc = kc_image_thin(&request, &bytes, &length, &lack->refusal);

	lack->saw_code |= rc == -ENOENT;
	if (rc)
		return rc;
	rc = open_bytes(reader, bytes, length, memory_bytes - length, lack);
	free(bytes);
	return rc;
}

int kc_code_open(struct kc_code_reader *reader, const struct kc_code_part *part, size_t memory_bytes,
		 struct kc_code_lack *lack)
{
	int rc = part->bytes ? open_bytes(reader, part->bytes, part->length, memory_bytes, lack)
			     : open_file(reader, part->file, memory_bytes, lack);

	lack->no_memory |= rc == -ENOMEM;
	return rc;
}

void kc_code_close(struct kc_code_reader *reader)
{
	kc_ptx_cut_free(&reader->cut); /* with the names that it found */
	for (uint32_t i = 0; i < reader->count; i++) {
		reader->wanted[i].found = 0;
		if (reader->is_all)
			reader->wanted[i].name = NULL;
	}
	if (reader->is_all)
		reader->count = 0;
	reader->is_all = false;
}

bool kc_code_has(const struct kc_code_reader *reader, uint32_t kernel)
{
	return reader->wanted[kernel].found && !reader->wanted[kernel].no_room;
}

uint32_t kc_code_shortest(const struct kc_code_reader *reader)
{
	uint32_t found = reader->count;

	for (uint32_t i = 0; i < reader->count; i++)
		if (kc_code_has(reader, i) &&
		    (found == reader->count || reader->wanted[i].length < reader->wanted[found].length))
			found = i;
	return found;
}

bool kc_code_left_out(const struct kc_code_reader *reader)
{
	for (uint32_t i = 0; i < reader->count; i++)
		if (reader->wanted[i].found && reader->wanted[i].no_room)
			return true;
	return false;
}

void kc_code_drop(struct kc_code_reader *reader, uint32_t kernel, bool for_others)
{
	kc_ptx_cut_drop(&reader->cut, &reader->wanted[kernel]);
	reader->wanted[kernel].found = reader->wanted[kernel].no_room = for_others;
}

/* memory_bytes: beside the module. */
static int read_formula(struct kc_code_reader *reader, uint32_t kernel, uint64_t static_shared_bytes,
			size_t memory_bytes, struct kc_code_read *read, struct kc_refusal *refusal)
{
	const struct kc_ptx_wanted *wanted = &reader->wanted[kernel];
	const char *differs = NULL;
	int rc;

	read->function = kc_ptx_find(&read->module, wanted->name);
	if (!read->function || !read->function->is_entry)
		return -ENOENT;
	if (reader->other_architecture)
		differs = kc_features_differ(&read->module, read->function, &reader->code[kernel].features,
					     static_shared_bytes);
	if (differs)
		return kc__refuse(refusal, wanted->offset, "%s", differs);
	rc = kc_cost_read_within(&read->cost, &read->module, read->function, reader->limits->formula_bytes,
				 memory_bytes, refusal);
	if (!rc || rc == -ENOMEM)
		return rc;
	refusal->offset = kc_ptx_cut_offset(&reader->cut, wanted, refusal->offset);
	return -EBADMSG;
}

int kc_code_read(struct kc_code_reader *reader, uint32_t kernel, uint64_t static_shared_bytes, size_t memory_bytes,
		 struct kc_code_read *read, struct kc_refusal *refusal)
{
	size_t before = kc_ptx_cut_bytes(&reader->cut), taken;
	int rc;

	*read = (struct kc_code_read){0};
	*refusal = (struct kc_refusal){0};
	rc = kc_ptx_cut_parse(&reader->cut, &reader->wanted[kernel], &read->module, memory_bytes, refusal);
	if (rc)
		return rc;
	taken = read->module.arena.held_bytes + kc_ptx_cut_bytes(&reader->cut) - before;
	rc = read_formula(reader, kernel, static_shared_bytes,
			  memory_bytes - (taken < memory_bytes ? taken : memory_bytes), read, refusal);
	if (rc)
		kc_code_read_free(read);
	return rc;
}

void kc_code_read_free(struct kc_code_read *read)
{
	kc_cost_free(read->cost);
	kc_ptx_free(&read->module);
	*read = (struct kc_code_read){0};
}

int kc_code_lacks(const struct kc_code_lack *lack)
{
	if (lack->no_memory)
		return -ENOMEM;
	if (lack->refusal.reason[0])
		return -EBADMSG;
	return lack->saw_code ? -ENOENT : -ENOMEM;
}
