#include "csv_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define FILE_BUFFER_BYTES (256u << 10)

struct kc_csv_reader {
	gzFile file;
	int at_start, at_end;
	int failed;        /* -errno, reported when the buffer is used up */
	size_t start, end; /* bytes not yet read as a record */
	uint64_t line;     /* line number of buffer[start] */
	char buffer[KC_CSV_RECORD_MAX + 1];
	char text[KC_CSV_RECORD_MAX + 1]; /* the record's fields */
};

int kc_csv_open(const char *path, struct kc_csv_reader **out)
{
	struct kc_csv_reader *reader = malloc(sizeof(*reader));
	int rc;

	if (!reader)
		return -ENOMEM;
	reader->at_end = reader->failed = 0;
	reader->start = reader->end = 0;
	reader->line = 1;
	reader->at_start = 1;
	errno = 0;
	reader->file = gzopen(path, "re");
	if (!reader->file) {
		rc = errno ? -errno : -ENOMEM;
		free(reader);
		return rc;
	}
	gzbuffer(reader->file, FILE_BUFFER_BYTES);
	*out = reader;
	return 0;
}

void kc_csv_close(struct kc_csv_reader *reader)
{
	if (!reader)
		return;
	gzclose(reader->file);
	free(reader);
}

/* Reads more after `end`, unless the buffer is full. Returns whether there was more. */
static int refill(struct kc_csv_reader *r)
{
	int n, code;

	if (r->at_end)
		return 0;
	if (r->start) {
		memmove(r->buffer, r->buffer + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	if (r->end == KC_CSV_RECORD_MAX)
		return 0;
	n = gzread(r->file, r->buffer + r->end, (unsigned)(KC_CSV_RECORD_MAX - r->end));
	gzerror(r->file, &code);
	if (n <= 0)
		r->at_end = 1;
	if (n < 0 || code == Z_BUF_ERROR) /* Z_BUF_ERROR: the file is cut off */
		r->failed = code == Z_ERRNO && errno ? -errno : -EBADMSG;
	if (n > 0)
		r->end += (size_t)n;
	return n > 0;
}

/* The byte at an offset from the start of the record; -1: the file or the buffer ends before it. */
static int byte_at(struct kc_csv_reader *r, size_t offset)
{
	while (r->start + offset >= r->end) {
		if (!refill(r))
			return -1;
	}
	return (unsigned char)r->buffer[r->start + offset];
}

struct parse {
	size_t in, out;
	uint64_t lines;
	const char *why;
};

/* in: after the opening quote; moved to after the closing one. */
static int quoted_field(struct kc_csv_reader *r, struct parse *p)
{
	for (;;) {
		int c = byte_at(r, p->in);

		if (c < 0) {
			p->why = r->at_end ? "a quote is never closed" : "longer than any record may be";
			return -EINVAL;
		}
		p->in++;
		if (c == '"') {
			if (byte_at(r, p->in) != '"')
				return 0;
			p->in++;
		}
		p->lines += c == '\n';
		r->text[p->out++] = (char)c;
	}
}

static int plain_field(struct kc_csv_reader *r, struct parse *p)
{
	int c;

	while ((c = byte_at(r, p->in)) >= 0 && c != ',' && c != '\n') {
		if (c == '"') {
			p->why = "a quote inside a field";
			return -EINVAL;
		}
		if (c == '\r' && byte_at(r, p->in + 1) == '\n')
			return 0;
		r->text[p->out++] = (char)c;
		p->in++;
	}
	if (c < 0 && !r->at_end) {
		p->why = "longer than any record may be";
		return -EINVAL;
	}
	return 0;
}

/* After a field: 1 another one follows, 0 the record ends. */
static int end_of_field(struct kc_csv_reader *r, struct parse *p)
{
	int c = byte_at(r, p->in);

	if (c == '\r' && byte_at(r, p->in + 1) == '\n')
		c = byte_at(r, ++p->in);
	if (c < 0)
		return 0;
	if (c != ',' && c != '\n') {
		p->why = "text behind a closing quote";
		return -EINVAL;
	}
	p->in++;
	p->lines += c == '\n';
	return c == ',';
}

static int parse_record(struct kc_csv_reader *r, struct kc_csv_record *record, struct parse *p)
{
	int rc;

	do {
		if (record->count == KC_CSV_FIELDS_MAX) {
			p->why = "more fields than any record may have";
			return -EINVAL;
		}
		record->fields[record->count++] = r->text + p->out;
		if (byte_at(r, p->in) == '"') {
			p->in++;
			rc = quoted_field(r, p);
		} else {
			rc = plain_field(r, p);
		}
		if (rc == 0)
			rc = end_of_field(r, p);
		r->text[p->out++] = '\0';
	} while (rc > 0);
	return rc;
}

/* Skips the first line of a malformed record. */
static void skip_line(struct kc_csv_reader *r)
{
	char *found;

	do {
		found = memchr(r->buffer + r->start, '\n', r->end - r->start);
		if (found) {
			r->start = (size_t)(found - r->buffer) + 1;
			r->line++;
			return;
		}
		r->start = r->end;
	} while (refill(r));
}

static void pass_byte_order_mark(struct kc_csv_reader *r)
{
	if (!r->at_start)
		return;
	r->at_start = 0;
	if (byte_at(r, 0) == 0xEF && byte_at(r, 1) == 0xBB && byte_at(r, 2) == 0xBF)
		r->start += 3;
}

static int pass_empty_lines(struct kc_csv_reader *r)
{
	pass_byte_order_mark(r);
	for (;;) {
		int c = byte_at(r, 0);

		if (c == '\r' && byte_at(r, 1) == '\n')
			r->start++;
		else if (c != '\n')
			return c;
		r->start++;
		r->line += c == '\n' || c == '\r';
	}
}

int kc_csv_peek(struct kc_csv_reader *r, char *out, size_t size)
{
	size_t length = 0;
	int c = pass_empty_lines(r);

	for (; length + 1 < size && c >= 0 && c != '\n'; c = byte_at(r, length))
		out[length++] = (char)c;
	out[length] = '\0';
	return length > 0;
}

void kc_csv_skip_line(struct kc_csv_reader *r)
{
	skip_line(r);
}

uint64_t kc_csv_position(struct kc_csv_reader *r)
{
	z_off_t at = gzoffset(r->file);

	return at > 0 ? (uint64_t)at : 0;
}

int kc_csv_next(struct kc_csv_reader *r, struct kc_csv_record *record, const char **why)
{
	struct parse parse = {0};
	int rc;

	record->count = 0;
	rc = pass_empty_lines(r);
	record->line = r->line;
	if (rc < 0)
		return r->failed;
	rc = parse_record(r, record, &parse);
	if (rc < 0) {
		*why = parse.why;
		skip_line(r);
		return rc;
	}
	/* In a file that is cut off, the last line is incomplete. */
	if (r->failed && r->start + parse.in >= r->end) {
		r->start = r->end;
		return r->failed;
	}
	r->start += parse.in;
	r->line += parse.lines;
	return 1;
}

int kc_csv_has(const struct kc_csv_record *record, const char *text)
{
	for (unsigned i = 0; i < record->count; i++) {
		if (!strcmp(record->fields[i], text))
			return 1;
	}
	return 0;
}
