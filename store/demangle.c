#include "demangle.h"
#include "demangle_text.h"

#include <ctype.h>
#include <string.h>

/* Letters of section 5.1.5.2, "Builtin types". */
static const struct {
	const char code[5];
	const char *name;
} builtins[] = {
    {"v", "void"},
    {"w", "wchar_t"},
    {"b", "bool"},
    {"c", "char"},
    {"a", "signed char"},
    {"h", "unsigned char"},
    {"s", "short"},
    {"t", "unsigned short"},
    {"i", "int"},
    {"j", "unsigned int"},
    {"l", "long"},
    {"m", "unsigned long"},
    {"x", "long long"},
    {"y", "unsigned long long"},
    {"n", "__int128"},
    {"o", "unsigned __int128"},
    {"f", "float"},
    {"d", "double"},
    {"e", "long double"},
    {"g", "__float128"},
    {"z", "..."},
    {"Dh", "half"},
    {"Di", "char32_t"},
    {"Ds", "char16_t"},
    {"Du", "char8_t"},
    {"Da", "auto"},
    {"Dn", "decltype(nullptr)"},
};

/* Section 5.1.10, "Compression". */
static const struct {
	char code;
	const char *name;
} abbreviations[] = {
    {'t', "std"},          {'a', "std::allocator"}, {'b', "std::basic_string"}, {'s', "std::string"},
    {'i', "std::istream"}, {'o', "std::ostream"},   {'d', "std::iostream"},
};

/* Section 5.1.3, "Operator encodings": those a class passed to a kernel has. */
static const struct {
	const char code[3];
	const char *name;
} operators[] = {
    {"cl", "operator()"}, {"ix", "operator[]"}, {"pl", "operator+"},  {"mi", "operator-"},  {"ml", "operator*"},
    {"dv", "operator/"},  {"rm", "operator%"},  {"aS", "operator="},  {"pL", "operator+="}, {"mI", "operator-="},
    {"mL", "operator*="}, {"dV", "operator/="}, {"eq", "operator=="}, {"ne", "operator!="}, {"lt", "operator<"},
    {"gt", "operator>"},  {"le", "operator<="}, {"ge", "operator>="}, {"nt", "operator!"},  {"aa", "operator&&"},
    {"oo", "operator||"}, {"pp", "operator++"}, {"mm", "operator--"}, {"pt", "operator->"}, {"ng", "operator-"},
    {"de", "operator*"},  {"ad", "operator&"},  {"ls", "operator<<"}, {"rs", "operator>>"},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct kc__text type(struct kc__reader *r);
static struct kc__text name(struct kc__reader *r, int own);
static struct kc__text encoding(struct kc__reader *r);

static struct kc__text source_name(struct kc__reader *r)
{
	size_t length = kc__mangled_number(r);
	struct kc__text text;

	if (length == 0 || length > (size_t)(r->end - r->at))
		return kc__fail(r);
	text = length >= 10 && !strncmp(r->at, "_GLOBAL__N", 10) ? kc__literal(r, "(anonymous namespace)")
								 : kc__copy(r, r->at, length);
	r->at += length;
	while (kc__take(r, 'B')) {
		text = kc__append(r, kc__append_string(r, text, "[abi:"), source_name(r));
		text = kc__append_string(r, text, "]");
	}
	return text;
}

/* <seq-id> _: 36 digits, first without any is 0; r past it. */
static size_t sequence_id(struct kc__reader *r)
{
	size_t value = 0;

	if (kc__take(r, '_'))
		return 0;
	while (isdigit((unsigned char)kc__peek(r)) || isupper((unsigned char)kc__peek(r))) {
		char c = *r->at++;

		value = value * 36 + (size_t)(isdigit((unsigned char)c) ? c - '0' : c - 'A' + 10);
		if (value > KC__SUBSTITUTIONS)
			break;
	}
	if (!kc__take(r, '_'))
		kc__fail(r);
	return value + 1;
}

/* After 'S'. */
static struct kc__text substitution(struct kc__reader *r)
{
	size_t i;

	for (i = 0; i < COUNT(abbreviations); i++) {
		if (kc__take(r, abbreviations[i].code))
			return kc__literal(r, abbreviations[i].name);
	}
	i = sequence_id(r);
	return i < r->substitution_count ? r->substitutions[i] : kc__fail(r);
}

/* After 'T': the argument, or of a pack the element being expanded. */
static struct kc__text template_parameter(struct kc__reader *r)
{
	size_t i = 0;
	const struct kc__argument *argument;

	if (!kc__take(r, '_')) {
		i = kc__mangled_number(r) + 1;
		if (!kc__take(r, '_'))
			return kc__fail(r);
	}
	if (i >= r->own.count)
		return kc__fail(r);
	argument = &r->arguments[r->own.first + i];
	if (!argument->is_pack || r->pack_element < 0)
		return argument->text;
	r->pack_size = argument->elements.count;
	if ((size_t)r->pack_element >= r->pack_size)
		return kc__literal(r, "");
	return r->arguments[argument->elements.first + (size_t)r->pack_element].text;
}

/* "Dp" pattern, once for each element of the pack in it. */
static struct kc__text pack_expansion(struct kc__reader *r)
{
	const char *pattern = r->at;
	int outer = r->pack_element;
	struct kc__text all = kc__literal(r, "");
	size_t kept;

	r->pack_size = 1;
	for (r->pack_element = 0; !r->failed; r->pack_element++) {
		struct kc__text one;

		r->at = pattern;
		kept = r->substitution_count;
		one = type(r);
		if (r->pack_element)
			r->substitution_count = kept;
		if ((size_t)r->pack_element < r->pack_size)
			all = kc__append(r, kc__append_string(r, all, r->pack_element ? ", " : ""), one);
		if ((size_t)r->pack_element + 1 >= r->pack_size)
			break;
	}
	r->pack_element = outer;
	return all;
}

/* After 'L': L <type> <value> E */
static struct kc__text literal_argument(struct kc__reader *r)
{
	static const struct {
		char code;
		const char *suffix;
	} suffixes[] = {{'i', ""}, {'j', "u"}, {'l', "l"}, {'m', "ul"}, {'x', "ll"}, {'y', "ull"}};
	char code = kc__peek(r);
	struct kc__text text = kc__literal(r, ""), of;
	const char *suffix = NULL, *digits;

	if (kc__take_string(r, "_Z")) {
		text = encoding(r);
		return kc__take(r, 'E') ? text : kc__fail(r);
	}
	of = type(r);
	digits = r->at;
	while (kc__peek(r) && kc__peek(r) != 'E')
		r->at++;
	for (size_t i = 0; i < COUNT(suffixes); i++) {
		if (code == suffixes[i].code)
			suffix = suffixes[i].suffix;
	}
	if (code == 'b' && r->at - digits == 1) {
		text = kc__literal(r, *digits == '1' ? "true" : "false");
	} else {
		if (!suffix) {
			text = kc__append(r, kc__literal(r, "("), of);
			text = kc__append_string(r, text, ")");
		}
		if (digits < r->at && *digits == 'n') {
			text = kc__append_string(r, text, "-");
			digits++;
		}
		text = kc__append(r, text, kc__copy(r, digits, (size_t)(r->at - digits)));
		text = kc__append_string(r, text, suffix ? suffix : "");
	}
	return kc__take(r, 'E') ? text : kc__fail(r);
}

static struct kc__text template_arguments(struct kc__reader *r, struct kc__arguments *list);

static struct kc__argument template_argument(struct kc__reader *r)
{
	struct kc__argument argument = {0};

	if (kc__take(r, 'L')) {
		argument.text = literal_argument(r);
	} else if (kc__take(r, 'J')) {
		argument.is_pack = 1;
		argument.text = template_arguments(r, &argument.elements);
	} else if (kc__peek(r) == 'X') {
		argument.text = kc__fail(r);
	} else {
		argument.text = type(r);
	}
	return argument;
}

/* Up to and with 'E'; the text is what stands between the angle brackets. */
static struct kc__text template_arguments(struct kc__reader *r, struct kc__arguments *list)
{
	struct kc__argument found[KC__ARGUMENTS_PER_LIST];
	struct kc__text all = kc__literal(r, "");
	size_t count = 0, shown = 0;

	while (!r->failed && !kc__take(r, 'E')) {
		if (count == KC__ARGUMENTS_PER_LIST || !kc__peek(r)) {
			kc__fail(r);
			break;
		}
		found[count] = template_argument(r);
		if (found[count].text.length)
			all = kc__append(r, kc__append_string(r, all, shown++ ? ", " : ""), found[count].text);
		count++;
	}
	list->first = r->argument_count;
	list->count = count;
	if (r->failed || r->argument_count + count > KC__ARGUMENTS)
		return kc__fail(r);
	memcpy(r->arguments + r->argument_count, found, count * sizeof(*found));
	r->argument_count += count;
	return all;
}

/* After 'I'. */
static struct kc__text with_arguments(struct kc__reader *r, struct kc__text base, int own)
{
	struct kc__arguments list;
	struct kc__text inside = template_arguments(r, &list);

	if (own)
		r->own = list;
	base = kc__append(r, kc__append_string(r, base, "<"), inside);
	r->ends_in_arguments = 1;
	return kc__append_string(r, base, kc__last(r, base) == '>' ? " >" : ">");
}

/* Parameter types up to the end or 'E'. */
static struct kc__text parameters(struct kc__reader *r)
{
	struct kc__text all = kc__literal(r, "(");
	size_t shown = 0;

	if (kc__peek(r) == 'v' && (r->at + 1 == r->end || r->at[1] == 'E' || r->at[1] == '.'))
		r->at++;
	while (!r->failed && kc__peek(r) && kc__peek(r) != 'E' && kc__peek(r) != '.') {
		struct kc__text one = type(r);

		if (one.length)
			all = kc__append(r, kc__append_string(r, all, shown++ ? ", " : ""), one);
	}
	return kc__append_string(r, all, ")");
}

/* Ul <types> E [n] _ and Ut [n] _, after 'U'. */
static struct kc__text unnamed(struct kc__reader *r)
{
	struct kc__text text;
	size_t ordinal = 1;

	if (kc__take(r, 'l')) {
		text = kc__append(r, kc__literal(r, "{lambda"), parameters(r));
		if (!kc__take(r, 'E'))
			return kc__fail(r);
		text = kc__append_string(r, text, "#");
	} else if (kc__take(r, 't')) {
		text = kc__literal(r, "{unnamed type#");
	} else {
		return kc__fail(r);
	}
	if (isdigit((unsigned char)kc__peek(r)))
		ordinal = kc__mangled_number(r) + 2;
	if (!kc__take(r, '_'))
		return kc__fail(r);
	return kc__append_string(r, kc__append_number(r, text, ordinal), "}");
}

/* last: the class, for constructors and destructors. */
static struct kc__text unqualified_name(struct kc__reader *r, struct kc__text last)
{
	char c;

	kc__take(r, 'L'); /* internal linkage */
	c = kc__peek(r);
	r->ends_in_arguments = 0;
	r->is_structor = 0;
	if (isdigit((unsigned char)c))
		return source_name(r);
	if (kc__take(r, 'U'))
		return unnamed(r);
	if ((c == 'C' || c == 'D') && r->end - r->at > 1 && isdigit((unsigned char)r->at[1])) {
		r->at += 2;
		r->is_structor = 1;
		return c == 'C' ? last : kc__append(r, kc__literal(r, "~"), last);
	}
	for (size_t i = 0; i < COUNT(operators); i++) {
		if (kc__take_string(r, operators[i].code))
			return kc__literal(r, operators[i].name);
	}
	return kc__fail(r);
}

static struct kc__text join(struct kc__reader *r, struct kc__text scope, struct kc__text inner)
{
	return scope.length ? kc__append(r, kc__append_string(r, scope, "::"), inner) : inner;
}

/* After 'N'. Every part but the whole can be referred to later. */
static struct kc__text nested_name(struct kc__reader *r, int own)
{
	struct kc__text all = {0}, last = {0};
	int is_const = 0;

	while (kc__peek(r) == 'K' || kc__peek(r) == 'V' || kc__peek(r) == 'r')
		is_const |= *r->at++ == 'K';
	while (!r->failed && !kc__take(r, 'E')) {
		int is_reference = 0;

		if (kc__take(r, 'S')) {
			all = last = substitution(r);
			is_reference = 1;
		} else if (kc__take(r, 'T')) {
			all = last = template_parameter(r);
		} else if (kc__take(r, 'I')) {
			all = with_arguments(r, all, own);
		} else {
			last = unqualified_name(r, last);
			all = join(r, all, last);
		}
		if (!is_reference && kc__peek(r) != 'E')
			kc__remember(r, all);
	}
	r->is_const = is_const;
	return all;
}

static void skip_discriminator(struct kc__reader *r)
{
	if (!kc__take(r, '_'))
		return;
	if (kc__take(r, '_')) {
		kc__mangled_number(r);
		kc__take(r, '_');
	} else if (isdigit((unsigned char)kc__peek(r))) {
		r->at++;
	}
}

/* After 'Z': <encoding> E <name>, or 's' for a string literal. */
static struct kc__text local_name(struct kc__reader *r, int own)
{
	struct kc__arguments outer = r->own;
	struct kc__text function = encoding(r), inner;

	if (!kc__take(r, 'E'))
		return kc__fail(r);
	if (kc__take(r, 's')) {
		inner = kc__literal(r, "string literal");
	} else {
		if (kc__take(r, 'd')) {
			if (isdigit((unsigned char)kc__peek(r)))
				kc__mangled_number(r);
			if (!kc__take(r, '_'))
				return kc__fail(r);
		}
		inner = name(r, own);
	}
	skip_discriminator(r);
	if (!own)
		r->own = outer;
	return join(r, function, inner);
}

static struct kc__text name(struct kc__reader *r, int own)
{
	struct kc__text text;
	int is_reference = 0;

	r->ends_in_arguments = r->is_const = r->is_structor = 0;
	if (kc__take(r, 'N'))
		return nested_name(r, own);
	if (kc__take(r, 'Z'))
		return local_name(r, own);
	if (kc__take_string(r, "St")) {
		text = join(r, kc__literal(r, "std"), unqualified_name(r, (struct kc__text){0}));
	} else if (kc__take(r, 'S')) {
		text = substitution(r);
		is_reference = 1;
	} else {
		text = unqualified_name(r, (struct kc__text){0});
	}
	if (kc__peek(r) == 'I') {
		if (!is_reference)
			kc__remember(r, text);
		r->at++;
		text = with_arguments(r, text, own);
	}
	return text;
}

/* After 'F': <return> <parameters> E. The declarator goes between them. */
static struct kc__text function_type(struct kc__reader *r)
{
	struct kc__text returned, after;

	kc__take(r, 'Y');
	returned = kc__append_string(r, type(r), " ");
	after = parameters(r);
	if (!kc__take(r, 'E'))
		return kc__fail(r);
	return kc__declarator(r, returned, after, "");
}

/* After 'A': <count> _ <type> */
static struct kc__text array_type(struct kc__reader *r)
{
	const char *digits = r->at;
	struct kc__text bound, of;

	while (isdigit((unsigned char)kc__peek(r)))
		r->at++;
	bound = kc__append_string(r, kc__append(r, kc__literal(r, "["), kc__copy(r, digits, (size_t)(r->at - digits))),
				  "]");
	if (!kc__take(r, '_'))
		return kc__fail(r);
	of = type(r);
	return kc__declarator(r, kc__append_string(r, of, " "), bound, " ");
}

static struct kc__text member_pointer(struct kc__reader *r)
{
	struct kc__text of = kc__append_string(r, type(r), "::*"), member = type(r);

	if (member.is_open)
		return kc__wrap(r, member, of);
	return kc__append(r, kc__append_string(r, member, " "), of);
}

static struct kc__text qualified(struct kc__reader *r)
{
	int is_restrict = kc__take(r, 'r'), is_volatile = kc__take(r, 'V'), is_const = kc__take(r, 'K');
	struct kc__text text = type(r);

	if (is_const)
		text = kc__qualify(r, text, " const");
	if (is_volatile)
		text = kc__qualify(r, text, " volatile");
	if (is_restrict)
		text = kc__qualify(r, text, " __restrict");
	return text;
}

static struct kc__text compound_type(struct kc__reader *r)
{
	switch (kc__peek(r)) {
	case 'r':
	case 'V':
	case 'K':
		return qualified(r);
	case 'P':
		r->at++;
		return kc__wrap(r, type(r), kc__literal(r, "*"));
	case 'R':
		r->at++;
		return kc__reference(r, type(r), "&");
	case 'O':
		r->at++;
		return kc__reference(r, type(r), "&&");
	case 'F':
		r->at++;
		return function_type(r);
	case 'A':
		r->at++;
		return array_type(r);
	case 'M':
		r->at++;
		return member_pointer(r);
	case 'u': /* vendor's builtin */
		r->at++;
		return source_name(r);
	default:
		return name(r, 0);
	}
}

/* A template parameter or an earlier type, perhaps a template with arguments
 * to come. 1 where the text is already known as a whole. */
static int reference_type(struct kc__reader *r, struct kc__text *text)
{
	int is_parameter = kc__peek(r) == 'T';

	if (!is_parameter && !(kc__peek(r) == 'S' && r->end - r->at > 1 && r->at[1] != 't'))
		return 0;
	r->at++;
	*text = is_parameter ? template_parameter(r) : substitution(r);
	if (is_parameter)
		kc__remember(r, *text);
	if (kc__take(r, 'I')) {
		*text = with_arguments(r, *text, 0);
		kc__remember(r, *text);
	}
	return 1;
}

static struct kc__text type(struct kc__reader *r)
{
	struct kc__text text;

	if (r->failed || ++r->depth > KC__DEPTH)
		return kc__fail(r);
	for (size_t i = 0; i < COUNT(builtins); i++) {
		if (kc__take_string(r, builtins[i].code)) {
			r->depth--;
			return kc__literal(r, builtins[i].name);
		}
	}
	if (kc__take_string(r, "Dp")) {
		text = pack_expansion(r);
		kc__remember(r, text);
	} else if (!reference_type(r, &text)) {
		text = compound_type(r);
		kc__remember(r, text);
	}
	r->depth--;
	return text;
}

static struct kc__text encoding(struct kc__reader *r)
{
	struct kc__text full, returned = {0};
	int is_const, returns;

	if (r->failed || ++r->depth > KC__DEPTH)
		return kc__fail(r);
	full = name(r, 1);
	is_const = r->is_const;
	returns = r->ends_in_arguments && !r->is_structor;
	if (kc__peek(r) && kc__peek(r) != 'E' && kc__peek(r) != '.') {
		if (returns)
			returned = kc__append_string(r, type(r), " ");
		full = kc__append(r, full, parameters(r));
		full = kc__append_string(r, full, is_const ? " const" : "");
	}
	r->depth--;
	return returned.length ? kc__append(r, returned, full) : full;
}

int kc_demangle(const char *mangled, char *out, size_t size)
{
	struct kc__reader r;
	struct kc__text text;

	if (size == 0)
		return 0;
	out[0] = 0;
	strncat(out, mangled, size - 1);
	if (strncmp(mangled, "_Z", 2))
		return 0;
	kc__reader_init(&r, mangled + 2);
	text = encoding(&r);
	if (r.failed || r.at != r.end)
		return 0;
	kc__text_get(&r, text, out, size);
	return 1;
}
