/*
 * Writes events of the trace event format. Traces are large, and most of their time goes into numbers and names: they
 * are collected in memory and written many at a time.
 */
#ifndef KC_CHROME_TEXT_H
#define KC_CHROME_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct kc__chrome_text {
	char *at;
	size_t used, capacity;
	int failed; /* out of memory: what was put since is lost */
};

struct kc__chrome_out {
	FILE *to;
	struct kc__chrome_text text; /* not written yet */
	uint64_t events;
};

/* Room for so many more bytes: 1, or 0 if there is no memory. */
int kc__chrome_grow(struct kc__chrome_text *text, size_t size);

/* Here, so that lengths of our own texts are known when it is compiled. */
static inline void kc__chrome_put_bytes(struct kc__chrome_text *text, const char *bytes, size_t size)
{
	if (size > text->capacity - text->used && !kc__chrome_grow(text, size))
		return;
	memcpy(text->at + text->used, bytes, size);
	text->used += size;
}

static inline void kc__chrome_put(struct kc__chrome_text *text, const char *plain)
{
	kc__chrome_put_bytes(text, plain, strlen(plain));
}

void kc__chrome_put_integer(struct kc__chrome_text *text, int64_t value);
/* In microseconds, as the format wants times. */
void kc__chrome_put_us(struct kc__chrome_text *text, int64_t ns);
/* A JSON string, escaped as in every document (tools/output/json.h). */
void kc__chrome_put_string(struct kc__chrome_text *text, const char *string);

/* `,"key":`, of a key of ours. */
static inline void kc__chrome_key(struct kc__chrome_text *text, const char *key)
{
	kc__chrome_put(text, ",\"");
	kc__chrome_put(text, key);
	kc__chrome_put(text, "\":");
}

/* The same with its value. */
static inline void kc__chrome_number(struct kc__chrome_text *text, const char *key, int64_t value)
{
	kc__chrome_key(text, key);
	kc__chrome_put_integer(text, value);
}

/* A word of ours, which stands in JSON as it is; NULL: it is left out. */
static inline void kc__chrome_word(struct kc__chrome_text *text, const char *key, const char *word)
{
	if (!word)
		return;
	kc__chrome_key(text, key);
	kc__chrome_put(text, "\"");
	kc__chrome_put(text, word);
	kc__chrome_put(text, "\"");
}

/* The key "id", in hexadecimal: Perfetto reads others of flows as wrong. */
void kc__chrome_id(struct kc__chrome_text *text, uint64_t id);
/* decimals: 1 to 4. */
void kc__chrome_real(struct kc__chrome_text *text, const char *key, double value, int decimals);

/* Begins an event: its phase, process and track; the caller adds the rest and the bracket that closes it. */
void kc__chrome_begin(struct kc__chrome_out *out, const char *phase, int64_t pid, int64_t tid);
/* Writes what is collected, if it is much or `all`. 0, also where writing fails, which ferror() tells; -ENOMEM. */
int kc__chrome_flush(struct kc__chrome_out *out, int all);

#endif
