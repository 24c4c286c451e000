/*
 * The code behind kernels: kept when a module is loaded, read ahead by the reader
 * (foresee.h), or once one of its kernels is launched.
 *
 *   kc__code        what one module load brought, in up to KC__CODE_PIECES pieces
 *   kc__code_piece  bytes of a mapped file, by path and offset; or a copy, as the
 *                   application may free what it passed as soon as the call returns.
 *                   Of a cubin that was compiled in the process (made_code.h) it is
 *                   a copy of the PTX behind it
 *
 *   handle of a module, library or function -> kc__code
 *
 * What the application passes is not read after the call it came with. Until its
 * code has been read, a kernel is predicted without it; from then on its launch
 * shapes are told apart by the arguments that matter to the formula.
 */
#ifndef KC_SHIM_CODE_H
#define KC_SHIM_CODE_H

#include "shim/shim.h"

#define KC__CODE_PIECES 16u
#define KC__CODE_COPY_MAX_BYTES ((size_t)4 << 20)  /* of one piece */
#define KC__CODE_POOL_BYTES ((size_t)4 << 20)      /* of all copies together; the oldest go first */
#define KC__CODE_FILE_MAX_BYTES ((size_t)32 << 20) /* of one piece, while it is read */

struct kc__code_piece {
	const char *path; /* NULL: a copy */
	uint64_t offset;
	size_t length;
	void *copy; /* NULL: freed to make room */
};

/* Whether it is noted where the code lies, for a command to read it. */
enum kc__place { KC__PLACE_UNKNOWN, KC__PLACE_NOTED, KC__PLACE_NONE };

struct kc__code {
	uint64_t key[1];               /* hash of what was loaded */
	uint32_t state;                /* enum kc_code_state */
	bool is_made;                  /* its pieces are PTX behind a cubin, which the next run may load without it */
	bool held;                     /* a copy is being read; under the pool's lock */
	struct kc__code *next_copied;  /* in the order of loading */
	enum kc__place place;          /* reader */
	struct kc__code *next_loaded;  /* that have not been read ahead; tables_lock */
	uint32_t foreseen_for;         /* read ahead, for compute capability 8.6: 86. Set before the next one is */
	struct kc__foreseen *foreseen; /* tables_lock, this and the next */
	struct kc__kernel *met;        /* kernels of it that have been launched */
	bool lacks_ptx;                /* waiting for it is of no use */
	uint32_t piece_count;
	struct kc__code_piece pieces[];
};

/* After a load: the code that the handle stands for now, as an image in one of the driver's formats, or a file. */
void kc__code_loaded(const void *handle, const void *image);
void kc__code_loaded_file(const void *handle, const char *path);

/* Reader: what will be loaded from a file, a fatbin of its own; NULL: it cannot be read, or there is no room. */
struct kc__code *kc__code_in_file(const char *path, uint64_t offset, size_t length);

/* Reader: the copy of a piece, kept until it is released; NULL: it has been freed. */
void *kc__code_hold(struct kc__code *code, const struct kc__code_piece *piece);
void kc__code_release(struct kc__code *code);
void kc__code_forget(void); /* fork child */

/* Reader: what became of the kernel's code, for the journal. sm, text: of struct kc_code_entry; of the text as much as
 * KC__CODE_TEXT_BYTES hold. */
#define KC__CODE_TEXT_BYTES 512u
void kc__code_put(const struct kc__kernel *kernel, enum kc_code_state state, uint32_t sm, const char *text);
void kc__code_refuse(const struct kc__kernel *kernel, size_t offset, const char *reason);

/* Reader: notes where the code lies, once. false: another process would not find it there. */
bool kc__code_is_noted(struct kc__code *code);

#endif
