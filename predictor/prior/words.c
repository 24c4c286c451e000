#include "words.h"

#include "predictor/math/hash.h"

#include <string.h>
#include <strings.h>

static unsigned char lower(char c)
{
	return (unsigned char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

static int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static int is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

uint32_t kc_word_hash(const char *word, size_t size)
{
	unsigned char letters[KC_WORD_BYTES];
	size_t i = 0;

	for (; i < size && i < KC_WORD_BYTES; i++)
		letters[i] = lower(word[i]);
	return (uint32_t)kc_fnv(KC_FNV_OFFSET, letters, i);
}

struct reader {
	const char *name;
	size_t at, end;
	struct kc_words *words;
};

static void add_word(struct kc_words *words, const char *name, size_t at, size_t size)
{
	uint32_t hash = kc_word_hash(name + at, size), i = 0;

	while (i < words->count && words->hash[i] != hash)
		i++;
	if (i < words->count || i == KC_WORDS_MAX)
		return;
	words->hash[i] = hash;
	words->place[i].at = (uint16_t)at;
	words->place[i].size = (uint8_t)(size < KC_WORD_BYTES ? size : KC_WORD_BYTES);
	words->count++;
}

/* What is written out in one form of a name and a letter or nothing in the other. */
static int is_left_out(const char *word, size_t size)
{
	static const char *const left_out[] = {
	    "void",   "bool",      "char",     "signed",  "unsigned", "short",     "int",       "long",   "float",
	    "double", "const",     "volatile", "int128",  "wchar",    "t",         "char16",    "char32", "operator",
	    "true",   "false",     "lambda",   "unnamed", "type",     "anonymous", "namespace", "clone",  "std",
	    "auto",   "allocator", "decltype", "nullptr", "restrict", "sizeof",    "enum",      "struct",
	};

	for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
		if (strlen(left_out[i]) == size && !strncasecmp(left_out[i], word, size))
			return 1;
	}
	return 0;
}

static void add_identifier(struct kc_words *words, const char *name, size_t at, size_t size)
{
	size_t end = at + size, word = at;

	for (; at <= end; at++) {
		if (at < end && name[at] != '_')
			continue;
		if (at > word && !is_left_out(name + word, at - word))
			add_word(words, name, word, at - word);
		word = at + 1;
	}
}

/* Names written out */

static void read_plain(struct reader *r)
{
	while (r->at < r->end) {
		size_t begin = r->at, end;

		while (r->at < r->end && (is_letter(r->name[r->at]) || is_digit(r->name[r->at])))
			r->at++;
		end = r->at;
		while (r->at == r->end && r->name[r->end] && end > begin && r->name[end - 1] != '_')
			end--; /* the last word may be cut */
		if (!is_digit(r->name[begin]))
			add_identifier(r->words, r->name, begin, end - begin);
		r->at += r->at == begin;
	}
}

/* Mangled names. What is open, innermost last: a letter of the ABI, 'l' a literal whose type is still to come, 'v' one
 * whose value is. */

#define DEPTH_MAX 128u

struct mangled {
	struct reader *r;
	char open[DEPTH_MAX];
	uint32_t depth; /* may be more than is kept */
};

static char peek(const struct reader *r)
{
	return r->at < r->end ? r->name[r->at] : 0;
}

static void open_one(struct mangled *m, char letter)
{
	if (m->depth < DEPTH_MAX)
		m->open[m->depth] = letter;
	m->depth++;
}

static char innermost(const struct mangled *m)
{
	return m->depth && m->depth <= DEPTH_MAX ? m->open[m->depth - 1] : 0;
}

/* A type is complete: if it is a literal's, its value follows. */
static void type_is_read(struct mangled *m)
{
	if (innermost(m) == 'l')
		m->open[m->depth - 1] = 'v';
}

static void skip_digits(struct reader *r)
{
	while (is_digit(peek(r)))
		r->at++;
}

/* Of a parameter, a discriminator, a dimension: digits and what ends them. */
static void skip_number(struct reader *r)
{
	skip_digits(r);
	r->at += peek(r) == '_';
}

static int is_anonymous(const char *identifier, size_t size)
{
	return size >= 10 && !strncmp(identifier, "_GLOBAL_", 8) && strchr("_.$", identifier[8]) &&
	       identifier[9] == 'N';
}

static void source_name(struct mangled *m)
{
	struct reader *r = m->r;
	size_t size = 0;

	while (is_digit(peek(r)) && size < KC_WORDS_BYTES)
		size = size * 10 + (size_t)(r->name[r->at++] - '0');
	if (size > r->end - r->at)
		size = r->end - r->at;
	if (!is_anonymous(r->name + r->at, size))
		add_identifier(r->words, r->name, r->at, size);
	r->at += size;
	type_is_read(m);
}

static void substitution(struct mangled *m)
{
	struct reader *r = m->r;

	if (peek(r) >= 'a' && peek(r) <= 'z') { /* St, Sa, ... */
		r->at++;
		return;
	}
	while (is_digit(peek(r)) || (peek(r) >= 'A' && peek(r) <= 'Z'))
		r->at++;
	r->at += peek(r) == '_';
	type_is_read(m);
}

/* D: types of two letters, vectors, floats by width, destructors; Dt and DT open an expression. */
static void two_letters(struct mangled *m)
{
	struct reader *r = m->r;
	char second = peek(r);

	r->at += second != 0;
	if (second == 't' || second == 'T')
		open_one(m, second);
	else if (second == 'v' || second == 'F')
		skip_number(r);
	if (second == 'F')
		r->at += peek(r) == 'b' || peek(r) == 'x';
	type_is_read(m);
}

static void close_one(struct mangled *m)
{
	char closed = innermost(m);

	m->depth -= m->depth > 0;
	if (closed == 'U')
		skip_number(m->r);
	if (closed != 'I') /* the type whose arguments end was complete before */
		type_is_read(m);
}

static void unnamed_or_vendor(struct mangled *m)
{
	struct reader *r = m->r;

	if (peek(r) == 'l') {
		r->at++;
		open_one(m, 'U');
	} else if (peek(r) == 't') {
		r->at++;
		skip_number(r);
	}
}

/* Among arguments of a template; elsewhere L says that a name is static. */
static void literal(struct mangled *m)
{
	char in = innermost(m);

	if (in != 'I' && in != 'J' && in != 'X')
		return;
	open_one(m, peek(m->r) == '_' ? 'L' : 'l'); /* 'L': the address of a function, mangled in its turn */
}

static void letter(struct mangled *m, char c)
{
	struct reader *r = m->r;

	if (strchr("NIXJFZ", c)) {
		open_one(m, c);
	} else if (c == 'L') {
		literal(m);
	} else if (c == 'E') {
		close_one(m);
	} else if (c == 'S') {
		substitution(m);
	} else if (c == 'D') {
		two_letters(m);
	} else if (c == 'C') {
		r->at += peek(r) != 0;
	} else if (c == 'U') {
		unnamed_or_vendor(m);
	} else if (c == 'T' || c == 'A' || c == '_') {
		skip_number(r);
	} else if (!strchr("KPROVrunLGM", c)) {
		type_is_read(m);
	}
}

static void read_mangled(struct reader *r)
{
	struct mangled m = {.r = r};

	while (r->at < r->end && r->words->count < KC_WORDS_MAX) {
		char c = r->name[r->at];

		if (innermost(&m) == 'v' && c != 'E') {
			r->at++;
		} else if (is_digit(c)) {
			source_name(&m);
		} else {
			r->at++;
			letter(&m, c);
		}
	}
}

void kc_words_of(const char *name, struct kc_words *words)
{
	struct reader r = {.name = name, .end = strnlen(name, KC_WORDS_BYTES), .words = words};

	words->count = 0;
	if (r.end > 2 && name[0] == '_' && name[1] == 'Z') {
		r.at = 2;
		read_mangled(&r);
	} else {
		read_plain(&r);
	}
}
