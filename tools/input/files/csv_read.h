/*
 * RFC 4180, read one record at a time, plain or gzip, from a file of any size.
 *
 * A record may span lines (quoted line ends). Memory is bounded by the longest
 * record, which is KC_CSV_RECORD_MAX: what is longer, or never closes its
 * quotes, is malformed, and reading goes on with the line after its first one.
 * A byte order mark at the start is passed over.
 */
#ifndef KC_CSV_READ_H
#define KC_CSV_READ_H

#include <stddef.h>
#include <stdint.h>

#define KC_CSV_RECORD_MAX (1u << 20)
#define KC_CSV_FIELDS_MAX 64u

struct kc_csv_reader;

struct kc_csv_record {
	char *fields[KC_CSV_FIELDS_MAX]; /* unquoted, NUL-terminated, valid until the next record */
	unsigned count;
	uint64_t line; /* number of its first line, from 1 */
};

/* 0 or -errno. */
int kc_csv_open(const char *path, struct kc_csv_reader **out);

/* 1: a record. 0: the end. -EINVAL: malformed, for the reason in why; record->line is set and the next call
 * continues after it. Other -errno: the file cannot be read further (-EBADMSG: damaged gzip data). Empty lines are
 * skipped. */
int kc_csv_next(struct kc_csv_reader *reader, struct kc_csv_record *record, const char **why);

/* Copies up to size - 1 bytes of the next line that is not empty, without consuming it. 1; 0: the file has ended or
 * cannot be read. */
int kc_csv_peek(struct kc_csv_reader *reader, char *out, size_t size);
void kc_csv_skip_line(struct kc_csv_reader *reader);

/* Whether one of the record's fields is this text. */
int kc_csv_has(const struct kc_csv_record *record, const char *text);

/* Bytes of the (compressed) file that have been read. */
uint64_t kc_csv_position(struct kc_csv_reader *reader);

void kc_csv_close(struct kc_csv_reader *reader);

#endif
