#include "json_stream.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 9u   /* length of the longest such word: "-Infinity" */
#define ESCAPE_MAX 6u /* of the longest escape: "\u00e9" */

static int in_word(unsigned char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' ||
	       c == '-';
}

static int is_no_number(const unsigned char *at, size_t bytes)
{
	static const char *const words[] = {"inf", "nan", "NaN", "Infinity"};
	size_t sign = bytes && (*at == '-' || *at == '+');

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		if (bytes - sign == strlen(words[i]) && !memcmp(at + sign, words[i], bytes - sign))
			return 1;
	}
	return 0;
}

static void blank(unsigned char *at, size_t bytes)
{
	memset(at, ' ', bytes);
	at[0] = at[1] = '"';
}

/* Handles a word that begins at at[i] outside of strings. Returns its end. */
static size_t word_end(const unsigned char *at, size_t i, size_t bytes)
{
	while (i < bytes && in_word(at[i]))
		i++;
	return i;
}

/* The length of the escape that begins at `at`, with a backslash; 0: none begins there; < 0: it is cut off. */
static int escape_length(const unsigned char *at, size_t bytes)
{
	if (bytes < 2)
		return -1;
	if (at[1] != 'u')
		return at[1] && strchr("\"\\/bfnrt", at[1]) ? 2 : 0;
	for (size_t i = 2; i < ESCAPE_MAX; i++) {
		if (i == bytes)
			return -1;
		if (!isxdigit(at[i]))
			return 0;
	}
	return ESCAPE_MAX;
}

/* Cleans a string up to its end, or up to where the next piece decides. */
static size_t string_end(struct kc_json_clean *clean, unsigned char *at, size_t i, size_t bytes, int last)
{
	while (i < bytes && clean->in_string) {
		int length = at[i] == '\\' ? escape_length(at + i, bytes - i) : 1;

		if (length < 0 && !last)
			return i;
		clean->in_string = at[i] != '"';
		if (length <= 0 || at[i] < ' ')
			at[i] = KC_JSON_ODD;
		i += length > 0 ? (size_t)length : 1;
	}
	return i;
}

size_t kc_json_clean(struct kc_json_clean *clean, unsigned char *at, size_t bytes, int last)
{
	size_t i = 0;

	while (i < bytes) {
		size_t end;

		if (clean->in_string) {
			i = string_end(clean, at, i, bytes, last);
			if (clean->in_string)
				return i;
		} else if (!in_word(at[i])) {
			clean->in_string = at[i++] == '"';
			clean->word = 0;
		} else {
			end = word_end(at, i, bytes);
			if (end == bytes && !last && !clean->word && end - i <= WORD_MAX)
				return i;
			if (!clean->word && is_no_number(at + i, end - i))
				blank(at + i, end - i);
			clean->word = end == bytes; /* the word continues in the next piece */
			i = end;
		}
	}
	return bytes;
}

int kc_json_stream_open(struct kc_json_stream **out, const char *path, const yajl_callbacks *callbacks, void *ctx)
{
	struct kc_json_stream *s = malloc(sizeof(*s));
	int rc = 0;

	if (!s)
		return -ENOMEM;
	s->clean = (struct kc_json_clean){.in_string = 0};
	s->offset = s->counted = s->quiet_bytes = 0;
	s->line = 1;
	s->at_end = 0;
	s->why[0] = '\0';
	s->parser = NULL;
	errno = 0;
	s->file = gzopen(path, "re");
	if (!s->file)
		rc = errno ? -errno : -ENOMEM;
	else if (!(s->parser = yajl_alloc(callbacks, NULL, ctx)))
		rc = -ENOMEM;
	if (rc) {
		kc_json_stream_close(s);
		return rc;
	}
	gzbuffer(s->file, KC_JSON_CHUNK_BYTES);
	yajl_config(s->parser, yajl_dont_validate_strings, 1); /* kernel names may hold any byte */
	*out = s;
	return 0;
}

uint64_t kc_json_stream_offset(const struct kc_json_stream *s)
{
	return s->offset + (s->at_end ? 0 : yajl_get_bytes_consumed(s->parser));
}

static void count_lines(struct kc_json_stream *s, size_t end)
{
	const unsigned char *at = s->read + s->counted, *found;

	while (s->counted < end && (found = memchr(at, '\n', end - s->counted))) {
		s->line++;
		s->counted = (size_t)(found - s->read) + 1;
		at = found + 1;
	}
	s->counted = end;
}

uint64_t kc_json_stream_line(struct kc_json_stream *s)
{
	size_t consumed = s->at_end ? 0 : yajl_get_bytes_consumed(s->parser);

	if (consumed > s->counted)
		count_lines(s, consumed);
	return s->line;
}

static int syntax_error(struct kc_json_stream *s)
{
	unsigned char *said = yajl_get_error(s->parser, 0, NULL, 0);

	snprintf(s->why, sizeof(s->why), "%s", said ? (const char *)said : "no JSON");
	s->why[strcspn(s->why, "\n")] = '\0';
	if (said)
		yajl_free_error(s->parser, said);
	return -EPROTO;
}

static int parsed(struct kc_json_stream *s, yajl_status status)
{
	if (status == yajl_status_client_canceled)
		return -ECANCELED;
	return status == yajl_status_error ? syntax_error(s) : 0;
}

static int feed(struct kc_json_stream *s, size_t bytes)
{
	int rc;

	s->quiet_bytes += bytes;
	s->counted = 0;
	rc = parsed(s, yajl_parse(s->parser, s->chunk, bytes));
	if (rc == 0 && s->quiet_bytes > KC_JSON_VALUE_MAX) {
		snprintf(s->why, sizeof(s->why), "a single value of more than %u MiB", KC_JSON_VALUE_MAX >> 20);
		rc = -E2BIG;
	}
	if (rc)
		return rc;
	count_lines(s, bytes);
	s->offset += bytes;
	return 0;
}

/* Reads more after the first `kept` bytes of the chunk. *bytes: of both together. 1: there may be more. */
static int fill(struct kc_json_stream *s, size_t kept, size_t *bytes)
{
	int code, n = gzread(s->file, s->chunk + kept, (unsigned)(sizeof(s->chunk) - kept));

	*bytes = kept + (n > 0 ? (size_t)n : 0);
	gzerror(s->file, &code);
	if (n < 0 || code == Z_BUF_ERROR) { /* Z_BUF_ERROR: the file is cut off */
		snprintf(s->why, sizeof(s->why), "the compressed data is damaged or cut off");
		return code == Z_ERRNO && errno ? -errno : -EBADMSG;
	}
	return n > 0;
}

static int finish(struct kc_json_stream *s)
{
	yajl_status status = yajl_complete_parse(s->parser);

	s->at_end = 1;
	if (status != yajl_status_error)
		return parsed(s, status);
	snprintf(s->why, sizeof(s->why), "the document is cut off");
	return -EPROTO;
}

int kc_json_stream_read(struct kc_json_stream *s, struct kc_progress *progress)
{
	size_t kept = 0, bytes, usable;
	int more, rc;

	do {
		more = fill(s, kept, &bytes);
		if (s->offset == 0 && bytes >= 3 && !memcmp(s->chunk, "\xEF\xBB\xBF", 3))
			memset(s->chunk, ' ', 3);
		memcpy(s->read, s->chunk, bytes);
		usable = kc_json_clean(&s->clean, s->chunk, bytes, more <= 0);
		rc = feed(s, usable);
		if (rc)
			return rc;
		kept = bytes - usable;
		memmove(s->chunk, s->chunk + usable, kept);
		kc_progress(progress, (uint64_t)gzoffset(s->file));
	} while (more > 0);
	return more < 0 ? more : finish(s);
}

void kc_json_stream_close(struct kc_json_stream *s)
{
	if (!s)
		return;
	if (s->parser)
		yajl_free(s->parser);
	if (s->file)
		gzclose(s->file);
	free(s);
}
