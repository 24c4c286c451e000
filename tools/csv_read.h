/*
 * RFC 4180, read one record at a time, plain or gzip, from a file of any size.
 *
 * A record may span lines (quoted line ends). Memory is bounded by the longest
 * record, which is KC_CSV_RECORD_MAX: what is longer, or never closes its
 * quotes, is malformed, and reading goes on with the line after its first one.
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
	uint64_t line; /* its first, from 1 */
};

/* 0 or -errno. */
int kc_csv_open(const char *path, struct kc_csv_reader **out);

/* 1: a record. 0: the end. -EINVAL: malformed, why tells how; record->line is
 * set and the next call goes on behind it. Other -errno: the file cannot be
 * read further (-EBADMSG: damaged gzip data). Empty lines are passed over. */
int kc_csv_next(struct kc_csv_reader *reader, struct kc_csv_record *record, const char **why);

void kc_csv_close(struct kc_csv_reader *reader);

#endif
