/*
 * PTX of code that is compiled or linked while the application runs. NVRTC and
 * linkers return a cubin, which has no PTX any more, and the application loads that.
 * So the PTX is kept here from the compilation on. When a cubin with the same bytes is
 * loaded, its PTX is read in its place (loaded_code.c) and leaves this list.
 *
 *   a cubin, by its length and hash   -> kc__made, one for each PTX that it was made of
 *   a linker that has not linked yet  -> kc__made, one for each of its inputs so far
 *
 * Programs may compile before cuInit, so PTX is kept before recording begins, too; it
 * counts as memory of ours from then on.
 */
#ifndef KC_SHIM_MADE_CODE_H
#define KC_SHIM_MADE_CODE_H

#include "predictor/code/container/image.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KC__MADE_BYTES ((size_t)2 << 20) /* of all that waits; the oldest goes first */

enum kc__made_kind {
	KC__MADE_PTX,
	KC__MADE_LTO_IR,  /* of a linker that will optimize the whole of its inputs, and has no PTX before that */
	KC__MADE_OPTIONS, /* of such a linker: strings, each with its NUL */
};

struct kc__made {
	struct kc__made *next;
	enum kc__made_kind kind;
	const void *linker; /* NULL: it has become a cubin */
	uint64_t hash;      /* of that */
	size_t cubin_bytes;
	size_t bytes; /* of the text */
	bool shared;  /* its memory is counted */
	bool held;
	bool gone; /* it is given back next */
	char text[];
};

/* Whether this process is recorded, or may be once it calls cuInit. Anything else here does nothing where it is not. */
bool kc__made_is_kept(void);

/* Memory for so many bytes of text; NULL: there is none. It ends up in one of the next three functions. */
struct kc__made *kc__made_room(size_t bytes);
void kc__made_give(struct kc__made *made);
/* The PTX was made into this cubin. */
void kc__made_cubin(struct kc__made *made, const void *cubin, size_t bytes);
/* It was given to a linker. */
void kc__made_input(struct kc__made *made, enum kc__made_kind kind, const void *linker);

/* The linker has made this cubin of its inputs. */
void kc__made_linked(const void *linker, const void *cubin, size_t bytes);
/* Takes the linker's LTO-IR out, in order, and its options; they are to be given back one by one. NULL: there are no
 * options, or they were forgotten. */
struct kc__made *kc__made_take_inputs(const void *linker);
/* Not everything that the linker was given is known: its options are forgotten. */
void kc__made_incomplete(const void *linker);
/* The linker's handle is about to be destroyed. */
void kc__made_linker_gone(const void *linker);

/* The PTX behind a cubin that is being loaded, `max` pieces at most. 0: none is known. Otherwise kc__made_release()
 * must follow, until which nothing else is kept or forgotten. taken: the pieces have been copied. */
uint32_t kc__made_hold(const void *cubin, size_t bytes, struct kc_image_piece *pieces, uint32_t max);
void kc__made_release(bool taken);

void kc__made_begin(void);  /* recording begins: what is kept counts as memory of ours from now on */
void kc__made_drop(void);   /* it does not begin */
void kc__made_forget(void); /* fork child */

#endif
