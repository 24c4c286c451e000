#include "distinct.h"

#include "tools/output/format.h"
#include "plain_name.h"

#include "store/common/printable.h"
#include "predictor/math/order.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_BYTES 3u
#define PLACES_MAX 8u /* kept in one text, beside its beginning */
#define ROUNDS_MAX 16u
#define WORD_COLUMNS 16u /* at most so many are kept of a word before the place in it that differs */

/* Characters are those that are shown, numbered from 0. */
struct name {
	const char *text; /* that is shortened: the whole, or `plain` */
	const char *whole;
	char *plain;               /* NULL: there is room for all of them */
	size_t places[PLACES_MAX]; /* characters that must be seen, ascending */
	unsigned place_count;
	char *form;
};

/* What is kept of a text while its form is made. */
struct layout {
	struct kc_printable *shown; /* the characters of the text */
	bool *kept;                 /* per character */
	size_t length, columns;     /* columns of the form: kept characters and an ellipsis for each gap */
};

static void layout_free(struct layout *layout)
{
	free(layout->shown);
	free(layout->kept);
}

static int layout_init(struct layout *layout, const char *text)
{
	size_t bytes = strlen(text), n;

	*layout = (struct layout){
	    .shown = calloc(bytes + 1, sizeof(*layout->shown)),
	    .kept = calloc(bytes + 1, sizeof(*layout->kept)),
	    .columns = 1,
	};
	if (!layout->shown || !layout->kept) {
		layout_free(layout);
		return -ENOMEM;
	}
	for (; (n = kc_printable_char(text, layout->shown + layout->length)) > 0; text += n)
		layout->length++;
	return 0;
}

static bool is_kept(const struct layout *layout, size_t at)
{
	return at >= layout->length || layout->kept[at]; /* no gap after the end */
}

/* The columns of the form if the character were kept as well: a gap is split, moved on, or closed. */
static size_t columns_with(const struct layout *layout, size_t at)
{
	bool before = at == 0 || layout->kept[at - 1], after = is_kept(layout, at + 1);

	return layout->columns + layout->shown[at].columns + !before + !after - 1;
}

static bool keep(struct layout *layout, size_t at, size_t width)
{
	size_t columns = columns_with(layout, at);

	if (columns > width)
		return false;
	layout->kept[at] = true;
	layout->columns = columns;
	return true;
}

/* Keeps one more character after those kept from `at` on. Returns whether there was one, and room for it. */
static bool grow_right(struct layout *layout, size_t at, size_t width)
{
	while (at < layout->length && layout->kept[at])
		at++;
	return at < layout->length && keep(layout, at, width);
}

/* "<" joins a template's name and its first argument. */
static bool is_word(const struct kc_printable *c)
{
	return isalnum((unsigned char)c->text[0]) || c->text[0] == '_' || c->text[0] == '<';
}

/* The beginning of the word that the character stands in, or as much of the word as may be kept. */
static size_t word_begin(const struct layout *layout, size_t place)
{
	size_t at = place;

	while (at > 0 && place - at < WORD_COLUMNS && is_word(layout->shown + at) && is_word(layout->shown + at - 1))
		at--;
	return at;
}

/* Keeps one more character of the word before the place, if it is not yet there as a whole. */
static bool grow_left(struct layout *layout, size_t place, size_t width)
{
	size_t at = place, begin = word_begin(layout, place);

	while (at > begin && layout->kept[at - 1])
		at--;
	return at > begin && keep(layout, at - 1, width);
}

/* A text may end where others that begin like it go on. */
static size_t place_in(const struct layout *layout, size_t place)
{
	return place < layout->length ? place : layout->length - 1;
}

/* Shares the columns that are left among the beginning, the words of the places and what follows them. */
static void fill(struct layout *layout, const struct name *name, size_t width)
{
	bool more = true;

	while (more) {
		more = grow_right(layout, 0, width);
		for (unsigned i = 0; i < name->place_count; i++) {
			size_t place = place_in(layout, name->places[i]);

			more |= grow_left(layout, place, width);
			more |= grow_right(layout, place, width);
		}
	}
}

static char *write_form(const struct layout *layout)
{
	char *form = malloc(layout->length * (KC_PRINTABLE_BYTES + ELLIPSIS_BYTES) + 1), *to = form;

	for (size_t i = 0; form && i < layout->length; i++) {
		if (layout->kept[i])
			to = mempcpy(to, layout->shown[i].text, layout->shown[i].bytes);
		else if (i == 0 || layout->kept[i - 1])
			to = mempcpy(to, ELLIPSIS, ELLIPSIS_BYTES);
	}
	if (form)
		*to = '\0';
	return form;
}

static int shorten_to_places(struct name *name, size_t width)
{
	struct layout layout;
	int rc = layout_init(&layout, name->text);

	if (rc < 0)
		return rc;
	for (unsigned i = 0; i < name->place_count; i++)
		keep(&layout, place_in(&layout, name->places[i]), width);
	fill(&layout, name, width);
	free(name->form);
	name->form = write_form(&layout);
	layout_free(&layout);
	return name->form ? 0 : -ENOMEM;
}

static int shorten_middle(struct name *name, size_t width)
{
	size_t size = width * (KC_PRINTABLE_BYTES - 1) + 1;

	name->form = malloc(size);
	if (!name->form)
		return -ENOMEM;
	kc_shorten_middle(name->text, width, name->form, size);
	return 0;
}

/* --- which of them read the same */

KC_ORDER_OF_POINTERS(by_form, struct name, strcmp(x->form, y->form) ?: strcmp(x->text, y->text))

/* The number of the first character in which two texts differ. */
static size_t first_difference(const char *a, const char *b)
{
	struct kc_printable shown;
	size_t at = 0, n;

	while ((n = kc_printable_char(a, &shown)) > 0 && strncmp(a, b, n) == 0) {
		a += n;
		b += n;
		at++;
	}
	return at;
}

/* False: there is no room for another place, or it was there already. */
static bool add_place(struct name *name, size_t place)
{
	unsigned at = name->place_count;

	if (name->place_count == PLACES_MAX)
		return false;
	for (unsigned i = 0; i < name->place_count; i++) {
		if (name->places[i] == place)
			return false;
	}
	for (; at > 0 && name->places[at - 1] > place; at--)
		name->places[at] = name->places[at - 1];
	name->places[at] = place;
	name->place_count++;
	return true;
}

/* names: all that read the same, sorted by text, so that what the first and the last begin with, all begin with.
 * Returns whether any of them changed, or -ENOMEM. */
static int tell_apart(struct name **names, size_t count, size_t width)
{
	size_t place = first_difference(names[0]->text, names[count - 1]->text);
	int changed = 0;

	for (size_t i = 0; i < count; i++) {
		int rc;

		if (!add_place(names[i], place))
			continue;
		changed = 1;
		rc = shorten_to_places(names[i], width);
		if (rc < 0)
			return rc;
	}
	return changed;
}

/* One round. Returns whether anything changed, or -ENOMEM. */
static int tell_all_apart(struct name **names, size_t count, size_t width)
{
	int changed = 0;

	qsort(names, count, sizeof(*names), by_form);
	for (size_t from = 0, to; from < count; from = to) {
		int rc = 0;

		for (to = from + 1; to < count && strcmp(names[to]->form, names[from]->form) == 0;)
			to++;
		if (strcmp(names[from]->text, names[to - 1]->text) != 0)
			rc = tell_apart(names + from, to - from, width);
		if (rc < 0)
			return rc;
		changed |= rc;
	}
	return changed;
}

KC_ORDER_OF_POINTERS(by_text, struct name, strcmp(x->text, y->text) ?: strcmp(x->whole, y->whole))

/* Overloads have one plain name: they are told apart by all of theirs. */
static void take_plain_names(struct name **order, size_t count)
{
	qsort(order, count, sizeof(*order), by_text);
	for (size_t from = 0, to; from < count; from = to) {
		const char *plain = order[from]->text;

		for (to = from + 1; to < count && strcmp(order[to]->text, plain) == 0;)
			to++;
		if (strcmp(order[from]->whole, order[to - 1]->whole) == 0)
			continue;
		for (size_t i = from; i < to; i++)
			order[i]->text = order[i]->whole;
	}
}

static bool have_room(const char *const *texts, size_t count, size_t width)
{
	for (size_t i = 0; i < count; i++) {
		if (kc_text_width(texts[i]) > width)
			return false;
	}
	return true;
}

static int read_names(struct name *names, struct name **order, const char *const *texts, size_t count, size_t width)
{
	bool whole = have_room(texts, count, width);

	for (size_t i = 0; i < count; i++) {
		order[i] = names + i;
		names[i].text = names[i].whole = texts[i];
		if (whole)
			continue;
		names[i].text = names[i].plain = kc_plain_name(texts[i]);
		if (!names[i].plain)
			return -ENOMEM;
	}
	take_plain_names(order, count);
	return 0;
}

static int shorten_all(struct name *names, struct name **order, const char *const *texts, size_t count, size_t width)
{
	int rc = read_names(names, order, texts, count, width);

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = shorten_middle(names + i, width);
	for (unsigned round = 0; rc == 0 && round < ROUNDS_MAX; round++) {
		int changed = tell_all_apart(order, count, width);

		if (changed <= 0)
			return changed;
	}
	return rc;
}

int kc_shorten_distinct(const char *const *texts, size_t count, size_t width, char **out)
{
	struct name *names = calloc(count + 1, sizeof(*names)), **order = calloc(count + 1, sizeof(*order));
	int rc = names && order ? shorten_all(names, order, texts, count, width) : -ENOMEM;

	for (size_t i = 0; names && i < count; i++) {
		if (rc == 0)
			out[i] = names[i].form;
		else
			free(names[i].form);
		free(names[i].plain);
	}
	free(names);
	free(order);
	return rc;
}
