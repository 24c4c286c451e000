/*
 * A JSON document of any size, plain or gzip, through yajl piece by piece.
 *
 *   kc_json_stream   the file, the parser and where it is; the callbacks get
 *                    what was given as ctx
 *
 * What writers leave behind is read all the same: a byte order mark; numbers that are none in JSON (inf, -inf, nan,
 * NaN, Infinity) as empty strings; each control character in a string, and each backslash that begins no escape, as
 * KC_JSON_ODD. Memory is bounded: a single value longer than KC_JSON_VALUE_MAX ends the reading.
 */
#ifndef KC_JSON_STREAM_H
#define KC_JSON_STREAM_H

#include "tools/output/progress.h"

#include <stddef.h>
#include <stdint.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

#define KC_JSON_CHUNK_BYTES (256u << 10)
#define KC_JSON_VALUE_MAX (16u << 20)
#define KC_JSON_ODD 0x7F /* DEL, a control character that JSON allows */

/* Replaces what is not JSON, in place, wherever the document is cut into pieces. */
struct kc_json_clean {
	int in_string;
	int word; /* inside a run of letters and digits */
};

/* Returns how many bytes may be used: all, or all but the last few, whose meaning the next piece decides. */
size_t kc_json_clean(struct kc_json_clean *clean, unsigned char *at, size_t bytes, int last);

struct kc_json_stream {
	gzFile file;
	yajl_handle parser;
	struct kc_json_clean clean;
	uint64_t offset; /* offset of chunk in the document */
	uint64_t line;   /* line number of chunk[counted], from 1 */
	size_t counted;
	uint64_t quiet_bytes; /* bytes since a callback last set it to 0 */
	int at_end;
	char why[256];
	unsigned char chunk[KC_JSON_CHUNK_BYTES];
	unsigned char read[KC_JSON_CHUNK_BYTES]; /* the chunk as it is in the file */
};

/* 0 or -errno. */
int kc_json_stream_open(struct kc_json_stream **out, const char *path, const yajl_callbacks *callbacks, void *ctx);
/* 0: the whole document. -EBADMSG: the compressed data is damaged or cut off;
 * -EPROTO: no JSON, or cut off; -E2BIG: a value too long; other -errno: reading
 * failed. stream->why says what, kc_json_stream_line() and _offset() where.
 * -ECANCELED: a callback returned 0. */
int kc_json_stream_read(struct kc_json_stream *stream, struct kc_progress *progress);
/* Where the parser is; may be called from a callback. */
uint64_t kc_json_stream_line(struct kc_json_stream *stream);
uint64_t kc_json_stream_offset(const struct kc_json_stream *stream);
void kc_json_stream_close(struct kc_json_stream *stream);

#endif
