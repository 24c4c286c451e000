/*
 * Kernels of a module, from where its code lies to their formulas. The application (shim/code) and what reads later
 * what an application did not (store/code) read by this alone, and differ in how much memory and time they give.
 *
 *   kc_code_part     a part of a module: bytes in memory, or in a file
 *   kc_code_reader   the kernels that are looked for, and what one part has of them: their texts, cut out of its PTX
 *                    in one pass and packed (ptx/ptx_cut.h)
 *   kc_code_read     one of these kernels, parsed, with its formula
 *   kc_code_lack     why kernels that no part has were not found
 *
 * Of a part that PTX is read which the driver could compile for the device; where there is none, that of the nearest
 * architecture, whose kernels are compared with the device's machine code (features/features.h).
 */
#ifndef KC_CODE_READER_H
#define KC_CODE_READER_H

#include "cost.h"
#include "predictor/code/features/features.h"
#include "predictor/code/ptx/ptx_cut.h"
#include "predictor/code/stored/code_file.h"

#include <stdbool.h>

#define KC_CODE_READER_KERNELS 256u /* looked for in one pass over a text */

struct kc_code_part {
	const void *bytes;         /* NULL: it is in the file */
	size_t length;             /* of the bytes */
	struct kc_code_file *file; /* as a whole */
};

struct kc_code_limits {
	size_t text_bytes;    /* of the PTX, unpacked; it is never in memory as a whole */
	size_t cut_bytes;     /* that the texts take, packed */
	size_t formula_bytes; /* of one kernel */
};

struct kc_code_lack {
	bool no_memory;            /* something could be read with more */
	bool saw_code;             /* a part was looked through */
	bool is_cubin;             /* and is a cubin by itself */
	struct kc_refusal refusal; /* of the last part that was refused; no reason: none was */
};

struct kc_code_reader;

/* Opens the PTX from which a part was made that is a cubin by itself, and has been read. Returns what kc_code_open() of
 * that does; -ENOENT: it is not known. */
typedef int kc_code_behind(struct kc_code_reader *reader, const struct kc_code_part *cubin, size_t memory_bytes,
			   struct kc_code_lack *lack);

struct kc_code_reader {
	/* Set by its user: */
	const struct kc_code_limits *limits;
	uint32_t cc_major, cc_minor;
	bool own_only;            /* no PTX of another architecture */
	bool (*ends)(void *user); /* asked while a text is passed over; NULL: it is to its end */
	void *user;
	kc_code_behind *behind; /* NULL: no such PTX is looked for */
	uint32_t count;         /* of kernels; 0: all that the text has */
	struct kc_ptx_wanted wanted[KC_CODE_READER_KERNELS];
	/* Of the part that is open: */
	struct kc_features_wanted code[KC_CODE_READER_KERNELS];
	struct kc_ptx_cut cut;
	size_t given_bytes;
	bool is_all;             /* count was 0, and is again when the part is closed */
	uint32_t sm;             /* that its PTX is for */
	bool other_architecture; /* than that of which the device's code was made */
};

/* Finds the kernels that are wanted, by name, in a part. Takes memory_bytes at most, and keeps the texts, of
 * kc_ptx_cut_bytes(). 0; or, and nothing is kept: -ENOENT: it has no PTX; -EBADMSG; -ENOMEM; -ETIME: `ends` said so; or
 * what reading the file returned. *lack is told. */
int kc_code_open(struct kc_code_reader *reader, const struct kc_code_part *part, size_t memory_bytes,
		 struct kc_code_lack *lack);
void kc_code_close(struct kc_code_reader *reader);

/* Whether the part's text of a kernel is there, and has not been dropped. */
bool kc_code_has(const struct kc_code_reader *reader, uint32_t kernel);
/* The one with the shortest text, which takes the least memory to read; reader->count: there is none. */
uint32_t kc_code_shortest(const struct kc_code_reader *reader);
/* The part has kernels whose texts found no room: they are found once it is opened again, without the others. */
bool kc_code_left_out(const struct kc_code_reader *reader);
/* The text is not needed any more; or, if for_others, it is left out. */
void kc_code_drop(struct kc_code_reader *reader, uint32_t kernel, bool for_others);

struct kc_code_read {
	struct kc_ptx_module module;
	const struct kc_ptx_function *function;
	struct kc_cost *cost; /* set to NULL by whoever keeps it */
};

/* Reads a kernel that the part has. static_shared_bytes: of the device's machine code. 0, and *read is to be freed;
 * -ENOENT: it is no kernel; -EBADMSG: *refusal says where in the PTX, and why; -ENOMEM. */
int kc_code_read(struct kc_code_reader *reader, uint32_t kernel, uint64_t static_shared_bytes, size_t memory_bytes,
		 struct kc_code_read *read, struct kc_refusal *refusal);
void kc_code_read_free(struct kc_code_read *read);

/* Of a kernel that was in none of the parts. -EBADMSG: what may have it was refused; -ENOENT: there is no PTX of it;
 * -ENOMEM: what may have it takes more memory than there is. */
int kc_code_lacks(const struct kc_code_lack *lack);

#endif
