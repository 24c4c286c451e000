/* Reads what sums are written as (algebra.h), for tests: its value where names have values. */
#ifndef KC_TEXT_TESTING_H
#define KC_TEXT_TESTING_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct named {
	const char *name;
	double value;
};

struct text {
	const char *whole, *at;
	const struct named *names; /* ends with NULL */
	double counters[8];
};

static double read_sum(struct text *t);

static int takes(struct text *t, const char *word)
{
	size_t length = strlen(word);

	if (strncmp(t->at, word, length) != 0)
		return 0;
	t->at += length;
	return 1;
}

static void must_take(struct text *t, const char *word)
{
	if (!takes(t, word))
		fail_msg("no \"%s\" at \"%s\" of %s", word, t->at, t->whole);
}

static double rest_of(double a, double b)
{
	return a - b * floor(a / b);
}

static double read_condition(struct text *t)
{
	double left = read_sum(t), right;
	enum {
		EQUAL,
		UNEQUAL,
		LESS,
		MORE
	} kind = takes(t, " = ")    ? EQUAL
		 : takes(t, " != ") ? UNEQUAL
		 : takes(t, " < ")  ? LESS
				    : MORE;

	if (kind == MORE)
		must_take(t, " > ");
	right = read_sum(t);
	must_take(t, "]");
	return kind == EQUAL     ? left == right
	       : kind == UNEQUAL ? left != right
	       : kind == LESS    ? left < right
				 : left > right;
}

/* "k0 < b: a)" */
static double read_loop(struct text *t)
{
	char *end;
	size_t counter;
	double sum = 0, bound;
	const char *body;

	must_take(t, "k");
	counter = strtoul(t->at, &end, 10);
	t->at = end;
	assert_true(counter < sizeof(t->counters) / sizeof(t->counters[0]));
	must_take(t, " < ");
	bound = read_sum(t);
	must_take(t, ": ");
	body = t->at;
	for (double k = 0; k < fmax(bound, 1); k++) {
		t->at = body;
		t->counters[counter] = k;
		sum += bound > k ? read_sum(t) : 0 * read_sum(t);
	}
	must_take(t, ")");
	return sum;
}

static double read_pair(struct text *t, double (*chosen)(double, double))
{
	double a = read_sum(t);

	must_take(t, ", ");
	a = chosen(a, read_sum(t));
	must_take(t, ")");
	return a;
}

static double read_factor(struct text *t)
{
	double value;
	char *end;

	for (const struct named *n = t->names; n->name; n++)
		if (takes(t, n->name))
			return n->value;
	if (takes(t, "["))
		return read_condition(t);
	if (takes(t, "floor(log2(")) {
		value = floor(log2(read_sum(t)));
		must_take(t, "))");
		return value;
	}
	if (takes(t, "floor(")) {
		value = read_factor(t);
		must_take(t, " / ");
		value = floor(value / read_factor(t));
		must_take(t, ")");
		return value;
	}
	if (takes(t, "sum("))
		return read_loop(t);
	if (takes(t, "min("))
		return read_pair(t, fmin);
	if (takes(t, "max("))
		return read_pair(t, fmax);
	if (takes(t, "2^"))
		return exp2(read_factor(t));
	if (takes(t, "(")) {
		value = read_sum(t);
		must_take(t, ")");
		return value;
	}
	if (takes(t, "k")) {
		size_t counter = strtoul(t->at, &end, 10);

		t->at = end;
		return t->counters[counter];
	}
	value = strtod(t->at, &end);
	if (end == t->at)
		fail_msg("no factor at \"%s\" of %s", t->at, t->whole);
	t->at = end;
	return value;
}

static double read_term(struct text *t)
{
	double product = read_factor(t);

	while (takes(t, "*"))
		product *= read_factor(t);
	return takes(t, " % ") ? rest_of(product, read_factor(t)) : product;
}

static double read_sum(struct text *t)
{
	double sum = takes(t, "-") ? -read_term(t) : read_term(t);

	for (;;) {
		if (takes(t, " + "))
			sum += read_term(t);
		else if (takes(t, " - "))
			sum -= read_term(t);
		else
			return sum;
	}
}

static inline double read_text(const char *text, const struct named *names)
{
	struct text t = {.whole = text, .at = text, .names = names};
	double value = read_sum(&t);

	if (*t.at)
		fail_msg("%s is left of %s", t.at, text);
	return value;
}

#endif
