#include "code_texts.h"
#include "shim/tables/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define OTHERS_BYTES ((size_t)2 << 20) /* left to code that is loaded or compiled while other code is read */

size_t kc__code_take_room(bool all)
{
	size_t bytes = kc__share_left(KC__SHARE_CODE);

	if (!all || !kc__share_has_own(KC__SHARE_ENTRIES) || !kc__share_has_own(KC__SHARE_BUFFERS))
		bytes -= bytes > 2 * OTHERS_BYTES ? OTHERS_BYTES : bytes / 2;
	while (bytes && !kc__share_take(KC__SHARE_CODE, bytes))
		bytes /= 2;
	return bytes;
}

void kc__texts_account(struct kc__code_texts *texts)
{
	size_t bytes = kc__whole_pages(kc_ptx_cut_bytes(&texts->reader.cut));

	if (bytes < texts->held_bytes)
		kc__share_give(KC__SHARE_CODE, texts->held_bytes - bytes);
	else if (!kc__share_take(KC__SHARE_CODE, bytes - texts->held_bytes))
		return;
	texts->held_bytes = bytes;
}

void kc__texts_close(struct kc__code_texts *texts)
{
	kc_code_close(&texts->reader);
	kc__texts_account(texts);
}

int kc__texts_open_part(struct kc__code_texts *texts, const struct kc_code_part *part, size_t memory_bytes,
			struct kc_code_lack *lack)
{
	size_t room = kc__code_take_room(false);
	int rc = kc_code_open(&texts->reader, part, room < memory_bytes ? room : memory_bytes, lack);

	kc__share_give(KC__SHARE_CODE, room);
	kc__texts_account(texts);
	return rc;
}

int kc__texts_open(struct kc__code_texts *texts, struct kc__code *code, const struct kc__code_piece *piece,
		   size_t memory_bytes, struct kc_code_lack *lack)
{
	struct kc_code_file file = {-1, piece->offset, piece->length};
	struct kc_code_part part = {.length = piece->length, .file = &file};
	int rc = -ENOENT;

	if (piece->path)
		file.fd = open(piece->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	else
		part.bytes = kc__code_hold(code, piece);
	if (piece->path && file.fd < 0)
		kc__refuse(&lack->refusal, 0,
			   "the file that the code was loaded from cannot be opened any more: error %d", errno);
	if (part.bytes || file.fd >= 0)
		rc = kc__texts_open_part(texts, &part, memory_bytes, lack);
	if (!piece->path)
		kc__code_release(code);
	if (file.fd >= 0)
		close(file.fd);
	return rc;
}
