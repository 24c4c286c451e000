#include "algebra_rules.h"

#include "predictor/code/ptx/ptx.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Longer ones end in "...". */
#define TEXT_MAX 600u
#define DEPTH_MAX 8u

struct writer {
	struct kc_algebra *g;
	char text[TEXT_MAX + 8];
	uint32_t length;
	int full;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void write_sum(struct writer *w, const struct kc_sum *a, unsigned depth);

static void put(struct writer *w, const char *format, ...)
{
	va_list args;
	int length;

	if (w->full)
		return;
	va_start(args, format);
	length = vsnprintf(w->text + w->length, TEXT_MAX + 1 - w->length, format, args);
	va_end(args);
	if (length >= 0 && w->length + (uint32_t)length <= TEXT_MAX) {
		w->length += (uint32_t)length;
		return;
	}
	memcpy(w->text + w->length, "...", 4);
	w->full = 1;
}

static void write_special(struct writer *w, int64_t number)
{
	static const char *const names[] = {
	    [KC_PTX_TID_X] = "tid.x",       [KC_PTX_TID_Y] = "tid.y",       [KC_PTX_TID_Z] = "tid.z",
	    [KC_PTX_NTID_X] = "ntid.x",     [KC_PTX_NTID_Y] = "ntid.y",     [KC_PTX_NTID_Z] = "ntid.z",
	    [KC_PTX_CTAID_X] = "ctaid.x",   [KC_PTX_CTAID_Y] = "ctaid.y",   [KC_PTX_CTAID_Z] = "ctaid.z",
	    [KC_PTX_NCTAID_X] = "nctaid.x", [KC_PTX_NCTAID_Y] = "nctaid.y", [KC_PTX_NCTAID_Z] = "nctaid.z",
	    [KC_PTX_LANEID] = "laneid",
	};
	const char *name = number >= 0 && number <= KC_PTX_LANEID ? names[number] : NULL;

	put(w, "%s", name ? name : "...");
}

/* --- a - c * floor(a / c) as a % c */

static const struct kc_sum *with_remainders(struct kc_algebra *g, const struct kc_sum *a)
{
	for (uint32_t i = 0; i < a->count; i++) {
		for (uint32_t n = 0; n < a->terms[i].count; n++) {
			struct kc_atom quotient = g->atoms[a->terms[i].atoms[n]];
			struct kc_term factor = a->terms[i];
			const struct kc_sum *rest, *shorter, *scaled;
			double divisor;

			if (quotient.kind != KC_ATOM_FLOOR || !kc__is_number(quotient.b, &divisor) ||
			    fmod(factor.by, divisor) != 0)
				continue;
			kc__drop_factor(&factor, n);
			factor.by /= -divisor;
			scaled = kc__of_term(g, &factor);
			rest =
			    kc__atom(g, (struct kc_atom){.kind = KC_ATOM_REMAINDER, .a = quotient.a, .b = quotient.b});
			shorter = kc__plus(g, a, kc__times(g, scaled, quotient.a), -1);
			shorter = kc__plus(g, shorter, kc__of_term(g, &a->terms[i]), -1);
			if (shorter->count + 1 >= a->count)
				continue;
			return with_remainders(g, kc__plus(g, shorter, kc__times(g, scaled, rest), 1));
		}
	}
	return a;
}

/* a < b, from a - b < 0: positive terms on the left, negative ones on the right. */
static void write_sides(struct writer *w, const struct kc_sum *a, const char *less, const char *more, unsigned depth)
{
	struct kc_algebra *g = w->g;
	const struct kc_sum *left = kc__number(g, 0), *right = left;
	double number;

	a = with_remainders(g, a);
	for (uint32_t i = 0; i < a->count; i++) {
		const struct kc_sum *one = kc__of_term(g, &a->terms[i]);

		if (a->terms[i].by > 0)
			left = kc__plus(g, left, one, 1);
		else
			right = kc__plus(g, right, one, -1);
	}
	if (kc__is_number(left, &number)) {
		write_sum(w, right, depth);
		put(w, " %s %.10g", more, number);
		return;
	}
	write_sum(w, left, depth);
	put(w, " %s ", less);
	write_sum(w, right, depth);
}

static int is_single(const struct kc_sum *a)
{
	return a->count == 0 ||
	       (a->count == 1 && (a->terms[0].count == 0 || (a->terms[0].count == 1 && a->terms[0].by == 1)));
}

static void write_part(struct writer *w, const struct kc_sum *a, unsigned depth)
{
	int single = is_single(a);

	put(w, "%s", single ? "" : "(");
	write_sum(w, a, depth);
	put(w, "%s", single ? "" : ")");
}

static void write_pair(struct writer *w, const char *name, const struct kc_atom *atom, unsigned depth)
{
	put(w, "%s(", name);
	write_sum(w, atom->a, depth);
	put(w, ", ");
	write_sum(w, atom->b, depth);
	put(w, ")");
}

/* Atoms that are a name and a number, such as "p3" or "k0". 0: the atom is none. */
static int write_named(struct writer *w, const struct kc_atom *atom)
{
	static const char prefix_of[] = {
	    [KC_ATOM_PARAM] = 'p',  [KC_ATOM_COUNTER] = 'k', [KC_ATOM_TRIPS] = 'n',
	    [KC_ATOM_CHANCE] = 'u', [KC_ATOM_VALUE] = 'v',
	};

	if (atom->kind == KC_ATOM_SPECIAL) {
		write_special(w, atom->number);
		return 1;
	}
	if (atom->kind == KC_ATOM_GLOBAL_INDEX) {
		put(w, "gid.%c", (char)('x' + atom->number));
		return 1;
	}
	if (atom->kind >= sizeof(prefix_of) || !prefix_of[atom->kind])
		return 0;
	put(w, "%c%lld", prefix_of[atom->kind], (long long)atom->number);
	if (atom->kind == KC_ATOM_PARAM && atom->extra)
		put(w, ".%lld", (long long)atom->extra);
	return 1;
}

static void write_condition(struct writer *w, const struct kc_atom *atom, unsigned depth)
{
	const struct kc_sum *at_least = kc__plus(w->g, atom->a, kc__number(w->g, 1), 1);

	put(w, "[");
	if (atom->kind == KC_ATOM_ZERO)
		write_sides(w, atom->a, "=", "=", depth);
	else if (atom->kind == KC_ATOM_NONZERO)
		write_sides(w, atom->a, "!=", "!=", depth);
	else if (kc__is_natural(w->g, at_least)) /* [x < 1] */
		write_sides(w, at_least, "=", "=", depth);
	else
		write_sides(w, atom->a, "<", ">", depth);
	put(w, "]");
}

static void write_quotient(struct writer *w, const struct kc_atom *atom, unsigned depth)
{
	double divisor;

	put(w, "floor(");
	write_part(w, atom->a, depth);
	put(w, " / ");
	if (kc__is_number(atom->b, &divisor))
		put(w, "%.10g", divisor);
	else
		write_part(w, atom->b, depth);
	put(w, ")");
}

static void write_function(struct writer *w, const struct kc_atom *atom, unsigned depth)
{
	switch (atom->kind) {
	case KC_ATOM_FLOOR:
		write_quotient(w, atom, depth);
		break;
	case KC_ATOM_REMAINDER:
		put(w, "(");
		write_part(w, atom->a, depth);
		put(w, " %% ");
		write_part(w, atom->b, depth);
		put(w, ")");
		break;
	case KC_ATOM_LOG2:
		put(w, "floor(log2(");
		write_sum(w, atom->a, depth);
		put(w, "))");
		break;
	case KC_ATOM_POWER:
		put(w, "2^");
		write_part(w, atom->a, depth);
		break;
	case KC_ATOM_MIN:
		write_pair(w, "min", atom, depth);
		break;
	case KC_ATOM_MAX:
		write_pair(w, "max", atom, depth);
		break;
	case KC_ATOM_SUM:
		put(w, "sum(k%lld < ", (long long)atom->number);
		write_sum(w, atom->b, depth);
		put(w, ": ");
		write_sum(w, atom->a, depth);
		put(w, ")");
		break;
	default:
		put(w, "...");
		break;
	}
}

static void write_atom(struct writer *w, uint32_t n, unsigned depth)
{
	struct kc_atom atom = w->g->atoms[n];

	if (!depth)
		put(w, "...");
	else if (atom.kind == KC_ATOM_LESS || atom.kind == KC_ATOM_ZERO || atom.kind == KC_ATOM_NONZERO)
		write_condition(w, &atom, depth - 1);
	else if (!write_named(w, &atom))
		write_function(w, &atom, depth - 1);
}

static void write_term(struct writer *w, const struct kc_term *term, int first, unsigned depth)
{
	double by = term->by < 0 ? -term->by : term->by;

	put(w, "%s", first ? term->by < 0 ? "-" : "" : term->by < 0 ? " - " : " + ");
	if (by != 1 || !term->count)
		put(w, "%.10g%s", by, term->count ? "*" : "");
	for (uint32_t n = 0; n < term->count; n++) {
		put(w, "%s", n ? "*" : "");
		write_atom(w, term->atoms[n], depth);
	}
}

/* Factors that all terms have in common. */
static uint32_t common_atoms(const struct kc_sum *a, uint32_t common[KC_FACTORS_MAX])
{
	uint32_t count = 0;

	for (uint32_t n = 0; a->count > 1 && n < a->terms[0].count; n++) {
		uint32_t atom = a->terms[0].atoms[n], terms = 1;

		if (n && a->terms[0].atoms[n - 1] == atom)
			continue;
		for (uint32_t i = 1; i < a->count; i++)
			for (uint32_t m = 0; m < a->terms[i].count; m++)
				if (a->terms[i].atoms[m] == atom) {
					terms++;
					break;
				}
		if (terms == a->count)
			common[count++] = atom;
	}
	return count;
}

static void write_sum(struct writer *w, const struct kc_sum *a, unsigned depth)
{
	uint32_t common[KC_FACTORS_MAX], count;

	a = with_remainders(w->g, a);
	if (!a->count)
		put(w, "0");
	count = common_atoms(a, common);
	for (uint32_t n = 0; n < count; n++) {
		write_atom(w, common[n], depth);
		put(w, "*");
	}
	put(w, "%s", count ? "(" : "");
	for (uint32_t i = 0; i < a->count; i++) {
		struct kc_term term = a->terms[i];

		for (uint32_t n = 0; n < count; n++)
			for (uint32_t m = 0; m < term.count; m++)
				if (term.atoms[m] == common[n]) {
					kc__drop_factor(&term, m);
					break;
				}
		write_term(w, &term, i == 0, depth);
	}
	put(w, "%s", count ? ")" : "");
}

const char *kc__write_sum(struct kc_algebra *g, const struct kc_sum *a)
{
	struct writer w = {.g = g};
	const char *text;

	write_sum(&w, a, DEPTH_MAX);
	/* A single remainder needs no parentheses. */
	a = with_remainders(g, a);
	if (!w.full && a->count == 1 && is_single(a) && a->terms[0].count &&
	    g->atoms[a->terms[0].atoms[0]].kind == KC_ATOM_REMAINDER) {
		memmove(w.text, w.text + 1, w.length - 1);
		w.text[w.length - 2] = 0;
	}
	text = kc_arena_text(g->arena, w.text, strlen(w.text));
	if (!text)
		g->lacks_memory = 1;
	return text ? text : "...";
}
