#include "code_read.h"
#include "foresee.h"
#include "shim/tables/handles.h"
#include "made_code.h"
#include "ptx_cache.h"
#include "shim/tables/tables.h"
#include "shim/tables/memory.h"

#include "predictor/code/stored/code_file.h"
#include "predictor/code/container/image.h"
#include "predictor/code/stored/thin.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Copies, oldest first. */
static struct {
	pthread_mutex_t lock;
	struct kc__code *first, *last;
	size_t bytes;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The file and the offset that an address is mapped from, as the loader knows it. */
struct mapped {
	uintptr_t address;
	size_t length;
	char path[1024];
	uint64_t offset;
	bool found;
};

static int find_mapped(struct dl_phdr_info *object, size_t size, void *arg)
{
	struct mapped *m = arg;

	(void)size;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
		uintptr_t start = object->dlpi_addr + segment->p_vaddr;

		if (segment->p_type != PT_LOAD || (segment->p_flags & PF_W) || m->address < start ||
		    m->address - start + m->length > segment->p_filesz)
			continue;
		if (strlen(object->dlpi_name) >= sizeof(m->path))
			return 1;
		strcpy(m->path, *object->dlpi_name ? object->dlpi_name : "/proc/self/exe");
		m->offset = segment->p_offset + (m->address - start);
		m->found = true;
		return 1;
	}
	return 0;
}

/* tables_lock held. */
static bool keep_path(struct kc__code_piece *piece, const char *path, uint64_t offset, size_t length)
{
	char *room = path[0] == '/' ? NULL : kc__room_take();

	path = room ? kc__absolute_path(path, room, KC__ROOM_BYTES) : path;
	piece->path = path ? kc__keep_text(path) : NULL;
	kc__room_give(room);
	piece->offset = offset;
	piece->length = length;
	return piece->path != NULL;
}

static void let_go(struct kc__code *code)
{
	for (uint32_t i = 0; i < code->piece_count; i++) {
		struct kc__code_piece *piece = &code->pieces[i];

		if (!piece->copy)
			continue;
		munmap(piece->copy, piece->length);
		pool.bytes -= kc__whole_pages(piece->length);
		kc__share_give(KC__SHARE_CODE, piece->length);
		piece->copy = NULL;
	}
}

/* pool.lock held. false: the copy that would have to go is being read. */
static bool make_room(size_t bytes)
{
	while (pool.first && (pool.bytes + bytes > KC__CODE_POOL_BYTES || kc__share_left(KC__SHARE_CODE) < bytes)) {
		struct kc__code *oldest = pool.first;

		if (oldest->held)
			return false;

		let_go(oldest);
		pool.first = oldest->next_copied;
		if (!pool.first)
			pool.last = NULL;
	}
	return true;
}

static bool keep_copy(struct kc__code_piece *piece, const void *bytes, size_t length)
{
	void *copy;

	if (!kc__share_take(KC__SHARE_CODE, length))
		return false;
	copy = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED) {
		kc__share_give(KC__SHARE_CODE, length);
		return false;
	}
	memcpy(copy, bytes, length);
	piece->copy = copy;
	piece->length = length;
	pool.bytes += kc__whole_pages(length);
	return true;
}

static int read_memory(void *arg, uint64_t at, void *to, size_t length)
{
	memcpy(to, (const char *)arg + at, length);
	return 0;
}

/* Of a fatbin in memory only its PTX is copied, and a little machine code. Returns that, to be freed; NULL: it has no
 * PTX, or is no fatbin. */
static void *mostly_ptx(struct kc_image_piece *piece)
{
	struct kc_thin_request request = {
	    .read = read_memory,
	    .arg = (void *)piece->bytes,
	    .length = piece->length,
	    .memory_bytes = KC__CODE_COPY_MAX_BYTES,
	};
	size_t length;
	void *bytes;

	if (!kc_image_is_fatbin(piece->bytes, piece->length) || kc_image_thin(&request, &bytes, &length, NULL))
		return NULL;
	*piece = (struct kc_image_piece){bytes, length};
	return bytes;
}

/* false: there is no room for the pieces. */
static bool copy_pieces(struct kc__code *code, const struct kc_image_piece *pieces)
{
	size_t bytes = 0;
	bool copied = false, room;

	for (uint32_t i = 0; i < code->piece_count; i++) {
		size_t length = code->pieces[i].path ? 0 : pieces[i].length;

		if (length > KC__CODE_COPY_MAX_BYTES)
			return false;
		bytes += kc__whole_pages(length);
	}
	if (!bytes || bytes > KC__CODE_POOL_BYTES)
		return !bytes;
	pthread_mutex_lock(&pool.lock);
	room = make_room(bytes);
	for (uint32_t i = 0; room && i < code->piece_count; i++)
		if (!code->pieces[i].path)
			copied |= keep_copy(&code->pieces[i], pieces[i].bytes, pieces[i].length);
	if (copied) {
		*(pool.last ? &pool.last->next_copied : &pool.first) = code;
		pool.last = code;
	}
	pthread_mutex_unlock(&pool.lock);
	return copied;
}

/* Copies what is needed of the pieces that are in no file. false: there is no room for it. */
static bool keep_copies(struct kc__code *code, struct kc_image_piece *pieces)
{
	void *thin[KC__CODE_PIECES] = {NULL};
	bool kept;

	for (uint32_t i = 0; i < code->piece_count; i++)
		if (!code->pieces[i].path)
			thin[i] = mostly_ptx(&pieces[i]);
	kept = copy_pieces(code, pieces);
	for (uint32_t i = 0; i < code->piece_count; i++)
		free(thin[i]);
	return kept;
}

/* Before tables_lock is taken, as this takes the loader's lock. */
static void find_files(const struct kc_image_piece *pieces, uint32_t count, struct mapped *mapped)
{
	for (uint32_t i = 0; i < count; i++) {
		mapped[i] = (struct mapped){.address = (uintptr_t)pieces[i].bytes, .length = pieces[i].length};
		dl_iterate_phdr(find_mapped, &mapped[i]);
	}
}

/*
 * A small piece is hashed as a whole, a large one by its length and samples of it:
 * a library's code may have hundreds of megabytes, of which the driver reads the
 * little that is used. A change in code of that size moves nearly all that follows.
 */
#define WHOLE_BYTES ((size_t)256 << 10)
#define SAMPLES ((size_t)256)
#define SAMPLE_BYTES ((size_t)256)

static uint64_t hash_piece(uint64_t hash, const struct kc_image_piece *piece)
{
	const char *bytes = piece->bytes;

	if (piece->length <= WHOLE_BYTES)
		return kc__hash_bytes(hash, bytes, piece->length);
	hash = kc__hash_bytes(hash, &piece->length, sizeof(piece->length));
	for (size_t i = 0; i < SAMPLES; i++)
		hash = kc__hash_bytes(hash, bytes + (piece->length - SAMPLE_BYTES) / (SAMPLES - 1) * i, SAMPLE_BYTES);
	return hash;
}

static uint64_t hash_pieces(const struct kc_image_piece *pieces, uint32_t count)
{
	uint64_t hash = count;

	for (uint32_t i = 0; i < count; i++)
		hash = hash_piece(hash, &pieces[i]);
	return hash ? hash : 1;
}

/* The same for one piece, of a file. 0 or -errno. */
static int hash_in_file(struct kc_code_file *file, uint64_t *hash)
{
	struct kc_image_piece piece = {.length = (size_t)file->length};
	bool is_whole = piece.length <= WHOLE_BYTES;
	char *bytes = malloc(is_whole ? piece.length : SAMPLE_BYTES);
	int rc = bytes ? 0 : -ENOMEM;

	*hash = kc__hash_bytes(1, &piece.length, sizeof(piece.length));
	for (size_t i = 0; !rc && !is_whole && i < SAMPLES; i++) {
		rc = kc_code_file_read(file, (file->length - SAMPLE_BYTES) / (SAMPLES - 1) * i, bytes, SAMPLE_BYTES);
		*hash = kc__hash_bytes(*hash, bytes, SAMPLE_BYTES);
	}
	if (!rc && is_whole && !(rc = kc_code_file_read(file, 0, bytes, piece.length))) {
		piece.bytes = bytes;
		*hash = hash_pieces(&piece, 1);
	}
	free(bytes);
	return rc;
}

static bool fits(const struct kc_image_piece *pieces, uint32_t count)
{
	if (count > KC__CODE_PIECES)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!pieces[i].length)
			return false;
	return true;
}

/* tables_lock held. The same code loaded again, or in another context, is known. */
static struct kc__code *code_with(uint64_t hash, uint32_t pieces)
{
	struct kc__code *code = kc__find(&kc__shim.codes, &hash, 1);

	if (code || !(code = kc__fresh(&kc__shim.codes, sizeof(*code) + pieces * sizeof(code->pieces[0]), &hash, 1)))
		return code;
	code->piece_count = pieces;
	kc__insert(&kc__shim.codes, code, 1);
	return code;
}

/* An image that is being noted. */
struct noting {
	struct kc_image_piece pieces[KC__CODE_PIECES];
	struct mapped mapped[KC__CODE_PIECES];
};
_Static_assert(sizeof(struct noting) <= KC__ROOM_BYTES, "too large for a stack");

/* tables_lock held. */
static void keep(struct kc__code *code, struct kc_image_piece *pieces, const struct mapped *mapped)
{
	code->state = KC_CODE_TOO_LARGE;
	for (uint32_t i = 0; i < code->piece_count; i++)
		if (mapped && mapped[i].found)
			keep_path(&code->pieces[i], mapped[i].path, mapped[i].offset, mapped[i].length);
	if (code->piece_count && keep_copies(code, pieces))
		code->state = KC_CODE_WAITS;
}

static bool lacks_ptx(const struct kc_image_piece *pieces, uint32_t count)
{
	uint32_t i = 0;

	while (i < count && kc_image_lacks_ptx(pieces[i].bytes, pieces[i].length))
		i++;
	return i == count;
}

static void note(struct noting *noting, const void *handle, const void *image)
{
	struct kc_image_piece *pieces = noting->pieces;
	struct mapped *mapped = noting->mapped;
	uint32_t count = kc_image_pieces(image, KC__CODE_FILE_MAX_BYTES, pieces, KC__CODE_PIECES), made;
	bool takes = fits(pieces, count);
	struct kc__code *code;
	uint64_t key;

	if (!count)
		return;
	if (takes)
		find_files(pieces, count, mapped);
	if (takes && count == 1 && kc_image_is_cubin(pieces[0].bytes, pieces[0].length))
		kc__caches_note();
	key = takes ? hash_pieces(pieces, count) : (uint64_t)(uintptr_t)image;
	pthread_mutex_lock(&kc__shim.tables_lock);
	made = takes && count == 1 ? kc__made_hold(pieces[0].bytes, pieces[0].length, pieces, KC__CODE_PIECES) : 0;
	code = code_with(key, made ? made : takes ? count : 0);
	if (code && !code->state) {
		code->is_made = made != 0;
		code->lacks_ptx = !made && takes && lacks_ptx(pieces, count);
		keep(code, pieces, made ? NULL : mapped);
		kc__foresee_loaded(code);
	}
	if (made)
		kc__made_release(code && code->state == KC_CODE_WAITS);
	kc__handle_code_set(handle, code);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

void kc__code_loaded(const void *handle, const void *image)
{
	struct noting *noting = kc__room_take();

	if (noting)
		note(noting, handle, image);
	kc__room_give(noting);
}

void kc__code_loaded_file(const void *handle, const char *path)
{
	uint64_t hash = kc__hash_bytes(0, path, strlen(path));
	struct kc__code *code;
	struct stat file;

	if (stat(path, &file))
		return;
	kc__caches_note();
	hash = kc__hash_bytes(hash, &file.st_mtim, sizeof(file.st_mtim));
	hash = kc__hash_bytes(hash, &file.st_size, sizeof(file.st_size));
	pthread_mutex_lock(&kc__shim.tables_lock);
	code = code_with(hash, 1);
	if (code && !code->state) {
		code->state =
		    keep_path(&code->pieces[0], path, 0, (size_t)file.st_size) ? KC_CODE_WAITS : KC_CODE_TOO_LARGE;
		kc__foresee_loaded(code);
	}
	kc__handle_code_set(handle, code);
	pthread_mutex_unlock(&kc__shim.tables_lock);
}

struct kc__code *kc__code_in_file(const char *path, uint64_t offset, size_t length)
{
	struct kc_code_file file = {open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), offset, length};
	struct kc__code *code;
	uint64_t hash;
	int rc;

	if (file.fd < 0)
		return NULL;
	rc = hash_in_file(&file, &hash);
	close(file.fd);
	if (rc)
		return NULL;
	pthread_mutex_lock(&kc__shim.tables_lock);
	code = code_with(hash, 1);
	if (code && !code->state)
		code->state = keep_path(&code->pieces[0], path, offset, length) ? KC_CODE_WAITS : KC_CODE_TOO_LARGE;
	pthread_mutex_unlock(&kc__shim.tables_lock);
	return code;
}

/* As another process will find it: without links, and from the root on. */
static bool note_place(const struct kc__code *code, uint32_t index)
{
	const struct kc__code_piece *piece = &code->pieces[index];
	struct kc_code_place_entry entry = {
	    .code_hash = code->key[0],
	    .offset = piece->offset,
	    .length = piece->length,
	    .piece = index,
	    .pieces = code->piece_count,
	};
	char payload[sizeof(entry) + PATH_MAX], *path = payload + sizeof(entry);
	struct kc_code_file file;
	int rc;

	if (!realpath(piece->path, path) || kc_code_file_open(&file, path, entry.offset, entry.length))
		return false;
	rc = kc_code_file_hash(&file, &entry.hash);
	close(file.fd);
	if (rc)
		return false;
	memcpy(payload, &entry, sizeof(entry));
	return !kc_journal_put(kc__shim.journal, KC_KIND_CODE_PLACE, payload, sizeof(entry) + strlen(path) + 1);
}

/* Code of which a part is in memory alone cannot be read later: what is in files may lack its PTX. */
bool kc__code_is_noted(struct kc__code *code)
{
	bool is_noted = code->state == KC_CODE_WAITS;

	if (code->place != KC__PLACE_UNKNOWN)
		return code->place == KC__PLACE_NOTED;
	for (uint32_t i = 0; is_noted && i < code->piece_count; i++)
		is_noted = code->pieces[i].path != NULL;
	for (uint32_t i = 0; is_noted && i < code->piece_count; i++)
		is_noted = note_place(code, i);
	code->place = is_noted ? KC__PLACE_NOTED : KC__PLACE_NONE;
	return is_noted;
}

void kc__code_put(const struct kc__kernel *kernel, enum kc_code_state state, uint32_t sm, const char *text)
{
	char buffer[sizeof(struct kc_code_entry) + KC__CODE_TEXT_BYTES];
	struct kc_code_entry entry = {.kernel = kernel->id, .state = (uint16_t)state, .sm = (uint16_t)sm};

	memcpy(buffer, &entry, sizeof(entry));
	snprintf(buffer + sizeof(entry), KC__CODE_TEXT_BYTES, "%s", text);
	kc_journal_put(kc__shim.journal, KC_KIND_CODE, buffer, sizeof(entry) + strlen(buffer + sizeof(entry)) + 1);
}

void kc__code_refuse(const struct kc__kernel *kernel, size_t offset, const char *reason)
{
	char text[sizeof(((struct kc_refusal *)NULL)->reason) + 32];

	snprintf(text, sizeof(text), "offset %zu: %s", offset, reason);
	kc__code_put(kernel, KC_CODE_REFUSED, 0, text);
}

/* The parent's copies are not freed: one of its threads may have been changing them. */
void kc__code_forget(void)
{
	pthread_mutex_init(&pool.lock, NULL);
	pool.first = pool.last = NULL;
	pool.bytes = 0;
	kc__code_read_forget();
	kc__foresee_forget();
}

void *kc__code_hold(struct kc__code *code, const struct kc__code_piece *piece)
{
	void *copy;

	pthread_mutex_lock(&pool.lock);
	copy = piece->copy;
	code->held = copy != NULL;
	pthread_mutex_unlock(&pool.lock);
	return copy;
}

void kc__code_release(struct kc__code *code)
{
	pthread_mutex_lock(&pool.lock);
	code->held = false;
	pthread_mutex_unlock(&pool.lock);
}
