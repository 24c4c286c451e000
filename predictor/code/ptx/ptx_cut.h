/*
 * Some kernels of a PTX module, cut out of its text without parsing it.
 *
 *   kc_ptx_wanted   a kernel that is asked for, or that the text has where all are, and
 *                   where its own text is kept
 *   kc_ptx_cut      what is kept: declarations, which every kernel may need,
 *                   functions, which it may call, and kernels; and where the reader
 *                   is in the text
 *
 * A library's module has up to 40 MB of text and takes seven times as much once it
 * is parsed; one kernel of it has some kilobytes. The text is given in parts, in
 * its order, as an unpacker produces them (image.h), so that it is never in memory
 * as a whole. The kernels are kept packed, as a block of LZ4 each, to a fifth as a
 * rule: the more of them fit, the fewer times the whole text must be read.
 */
#ifndef KC_PTX_CUT_H
#define KC_PTX_CUT_H

#include "ptx.h"

#define KC_PTX_CUT_NAMES_BYTES ((size_t)128 << 10) /* of the kernels' names, where all are asked for */

struct kc_ptx_wanted {
	const char *name;
	uint8_t found;   /* the text has it */
	uint8_t no_room; /* and there was no memory to keep it */
	size_t at, kept; /* in kernels: bytes that are kept of it, packed where that is less */
	size_t length;   /* of its text */
	size_t offset;   /* in the text that was given */
};

struct kc_ptx_text {
	char *bytes;
	size_t length, capacity;
};

struct kc_ptx_callee {
	size_t at, length; /* in functions */
	size_t name_at, name_length;
	uint8_t called;
};

struct kc_ptx_cut {
	struct kc_ptx_wanted *wanted;
	uint32_t wanted_count, wanted_max; /* kernels that are not in it are added up to the latter */
	struct kc_arena names;             /* of those */
	size_t limit_bytes;                /* of what is kept */
	struct kc_ptx_text common;         /* directives, declarations, variables without their initial values */
	struct kc_ptx_text functions;      /* with bodies */
	struct kc_ptx_text kernels;        /* that are wanted */
	struct kc_ptx_callee *callees;
	uint32_t callee_count, callee_capacity;
	/* where the reader is */
	size_t given;                 /* bytes before the part that is being read */
	size_t item, item_offset;     /* the declaration that is being read begins here, in common and in the text */
	uint32_t depth;               /* of braces */
	struct kc_ptx_text *into;     /* where what is being read is kept */
	struct kc_ptx_wanted *kernel; /* whose body this is; NULL: none, or one that is not wanted */
	uint8_t opened;               /* the declaration has had a brace before */
	uint8_t within, keeps, keeps_comment, ends_with_brace, after_slash, after_star, after_backslash;
};

/* wanted must stay until kc_ptx_cut_free(). limit_bytes: of memory. */
void kc_ptx_cut_begin(struct kc_ptx_cut *cut, struct kc_ptx_wanted *wanted, uint32_t wanted_count, size_t limit_bytes);
/* The same for whatever kernels the text has, the first `max` of them: they are put into `wanted`, which is empty. */
void kc_ptx_cut_begin_all(struct kc_ptx_cut *cut, struct kc_ptx_wanted *wanted, uint32_t max, size_t limit_bytes);
/* The next part of the text. 0; -ENOMEM: what every kernel needs takes more than limit_bytes. arg: the kc_ptx_cut. */
int kc_ptx_cut_feed(void *arg, const char *text, size_t length);
void kc_ptx_cut_free(struct kc_ptx_cut *cut);
size_t kc_ptx_cut_bytes(const struct kc_ptx_cut *cut); /* of memory that it holds */

/* After the whole text: the kernel is not needed any more, as if it had not been found. */
void kc_ptx_cut_drop(struct kc_ptx_cut *cut, struct kc_ptx_wanted *kernel);

/* After the whole text: parses a kernel that was found, and the functions that it calls, as kc_ptx_parse() does.
 * Offsets in *module are those of the text that was cut out; kc_ptx_cut_offset() turns them into those of the text that
 * was given. */
int kc_ptx_cut_parse(struct kc_ptx_cut *cut, const struct kc_ptx_wanted *kernel, struct kc_ptx_module *module,
		     size_t memory_bytes, struct kc_refusal *refusal);
/* Of the kernel parsed last: the text that was cut out, of which kc_ptx_parse() makes the same module. */
const char *kc_ptx_cut_text(const struct kc_ptx_cut *cut, size_t *length);
/* Of the kernel parsed last. Where the kernel begins, for an offset in what it calls. */
size_t kc_ptx_cut_offset(const struct kc_ptx_cut *cut, const struct kc_ptx_wanted *kernel, size_t offset);

#endif
