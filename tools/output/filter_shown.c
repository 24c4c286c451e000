#include "filter_shown.h"
#include "format.h"
#include "json.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGEX_COLUMNS 80u
#define NUMBERS_SHOWN 8u

struct text {
	char *at;
	size_t size;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *text, const char *format, ...)
{
	size_t used = strlen(text->at);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text->at + used, text->size - used, format, arguments);
	va_end(arguments);
}

/* What comes before the next condition. */
static const char *separator(const struct text *text)
{
	return *text->at ? ", " : "";
}

static void add_regex(struct text *text, const char *what, const struct kc_filter_regex *regex)
{
	char shown[4 * REGEX_COLUMNS + 4];

	if (regex->text)
		add(text, "%s%s \"%s\"", separator(text), what,
		    kc_shorten_middle(regex->text, REGEX_COLUMNS, shown, sizeof(shown)));
}

/* What stands between commas, and is a name as well with these: it is shown as it was typed. */
static int is_part(const struct kc_filter_names *names, uint32_t name)
{
	const char *from = names->each[name].at, *to = from + names->each[name].length;

	for (uint32_t i = name + 1; i < names->count; i++)
		if (names->each[i].at <= from && to <= names->each[i].at + names->each[i].length)
			return 1;
	return 0;
}

static void add_names(struct text *text, const char *what, const char *before, const struct kc_filter_names *names)
{
	char shown[4 * REGEX_COLUMNS + 4], name[REGEX_COLUMNS * 4];
	unsigned count = 0;

	if (!*before && names->count)
		add(text, "%s%s ", separator(text), what);
	for (uint32_t i = 0; i < names->count; i++) {
		if (is_part(names, i) || count++ >= NUMBERS_SHOWN)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)names->each[i].length, names->each[i].at);
		add(text, "%s\"%s\"", count > 1 ? " or " : before,
		    kc_shorten_middle(name, REGEX_COLUMNS, shown, sizeof(shown)));
	}
	if (count > NUMBERS_SHOWN)
		add(text, " or %u more", count - NUMBERS_SHOWN);
}

/* "stream default or 3" */
static void add_numbers(struct text *text, const char *what, int with_default, const struct kc_filter_numbers *numbers)
{
	const char *before = with_default ? " or " : "";

	if (!with_default && !numbers->count)
		return;
	add(text, "%s%s %s", separator(text), what, with_default ? "default" : "");
	for (uint32_t i = 0; i < numbers->count && i < NUMBERS_SHOWN; i++) {
		add(text, "%s%" PRId64, before, numbers->at[i]);
		before = " or ";
	}
	if (numbers->count > NUMBERS_SHOWN)
		add(text, " or %u more", numbers->count - NUMBERS_SHOWN);
}

/* "step 3 or 5 to 7 or inner repeat 12" */
static void add_steps(struct text *text, const struct kc_filter_spans *steps)
{
	for (uint32_t i = 0; i < steps->count && i < NUMBERS_SHOWN; i++) {
		enum kc_step_level level = steps->each[i].level;

		if (i)
			add(text, " or ");
		if (!i || level != steps->each[i - 1].level)
			add(text, "%s ", kc_step_word(KC_STEPS_ARE_TOLD, level));
		add(text, "%" PRId64, steps->each[i].first);
		if (steps->each[i].last > steps->each[i].first)
			add(text, " to %" PRId64, steps->each[i].last);
	}
	if (steps->count > NUMBERS_SHOWN)
		add(text, " or %u more", steps->count - NUMBERS_SHOWN);
}

static void add_times(struct text *text, const struct kc_filter_choice *choice)
{
	char since[KC_FORMAT_BYTES], until[KC_FORMAT_BYTES];

	kc_format_ns((double)choice->since_ns, since);
	kc_format_ns((double)choice->until_ns, until);
	if (choice->since_ns && choice->until_ns)
		add(text, "%slaunched from %s until %s", separator(text), since, until);
	else if (choice->since_ns)
		add(text, "%slaunched from %s on", separator(text), since);
	else if (choice->until_ns)
		add(text, "%slaunched before %s", separator(text), until);
}

char *kc_filter_text(const struct kc_filter_choice *choice, char *out, size_t size)
{
	struct text text = {out, size};
	char min[KC_FORMAT_BYTES];

	out[0] = '\0';
	add_regex(&text, "kernel matches", &choice->kernel);
	add_regex(&text, "kernel does not match", &choice->exclude);
	add_numbers(&text, "stream", choice->default_streams, &choice->streams);
	add_numbers(&text, "process", 0, &choice->processes);
	add_names(&text, "process", choice->processes.count ? " or " : "", &choice->process_names);
	add_numbers(&text, "rank", 0, &choice->ranks);
	add_numbers(&text, "GPU", 0, &choice->devices);
	add_names(&text, "GPU", choice->devices.count ? " or " : "", &choice->device_names);
	if (choice->steps.count)
		add(&text, "%s", separator(&text));
	add_steps(&text, &choice->steps);
	add_regex(&text, "range matches", &choice->range);
	add_times(&text, choice);
	if (choice->min_ns)
		add(&text, "%smeasured at least %s", separator(&text), kc_format_ns((double)choice->min_ns, min));
	return out;
}

const char *kc_filter_steps_text(const struct kc_filter *filter)
{
	switch (kc_filter_steps_are(filter)) {
	case KC_STEPS_ARE_FOUND:
		return " (steps not told, but found by what repeats)";
	case KC_STEPS_ARE_NESTED:
		return " (steps not told; of nested repeats, step N is outer repeat N, and inner:N the inner one)";
	default:
		return "";
	}
}

void kc_filter_print(const struct kc_filter *filter)
{
	struct kc_filter_counts counts = kc_filter_counted(filter);
	char text[KC_FILTER_TEXT_BYTES], matching[KC_FORMAT_BYTES], launches[KC_FORMAT_BYTES];

	printf("Filter: %s: %s of %s launches%s", kc_filter_text(kc_filter_choice_of(filter), text, sizeof(text)),
	       kc_format_count(counts.matching, matching), kc_format_count(counts.launches, launches),
	       kc_filter_steps_text(filter));
}

/* --- JSON */

static json_t *numbers_json(const struct kc_filter_numbers *numbers, int with_default)
{
	json_t *out;

	if (!numbers->count && !with_default)
		return json_null();
	out = json_array();
	if (with_default)
		json_array_append_new(out, json_string("default"));
	for (uint32_t i = 0; i < numbers->count; i++)
		json_array_append_new(out, json_integer(numbers->at[i]));
	return out;
}

static json_t *named_json(const struct kc_filter_numbers *numbers, const struct kc_filter_names *names)
{
	json_t *out = numbers_json(numbers, 0);

	if (names->count && json_is_null(out)) {
		json_decref(out);
		out = json_array();
	}
	for (uint32_t i = 0; i < names->count; i++) {
		char *name = strndup(names->each[i].at, names->each[i].length);

		json_array_append_new(out, kc_json_text(name));
		free(name);
	}
	return out;
}

static json_t *steps_json(const struct kc_filter_spans *steps)
{
	json_t *out = steps->count ? json_array() : json_null();

	for (uint32_t i = 0; i < steps->count; i++)
		json_array_append_new(out,
				      json_pack("{s:I,s:I,s:b}", "first", steps->each[i].first, "last",
						steps->each[i].last, "inner", steps->each[i].level == KC_STEP_INNER));
	return out;
}

static json_t *time_json(int64_t ns)
{
	return ns ? json_integer(ns) : json_null();
}

json_t *kc_filter_choice_json(const struct kc_filter_choice *choice)
{
	json_t *out;

	if (!kc_filter_is_given(choice))
		return json_null();
	out = json_object();
	json_object_set_new(out, "kernel", kc_json_text(choice->kernel.text));
	json_object_set_new(out, "exclude", kc_json_text(choice->exclude.text));
	json_object_set_new(out, "streams", numbers_json(&choice->streams, choice->default_streams));
	json_object_set_new(out, "processes", named_json(&choice->processes, &choice->process_names));
	json_object_set_new(out, "ranks", numbers_json(&choice->ranks, 0));
	json_object_set_new(out, "devices", named_json(&choice->devices, &choice->device_names));
	json_object_set_new(out, "steps", steps_json(&choice->steps));
	json_object_set_new(out, "range", kc_json_text(choice->range.text));
	json_object_set_new(out, "since_ns", time_json(choice->since_ns));
	json_object_set_new(out, "until_ns", time_json(choice->until_ns));
	json_object_set_new(out, "min_ns", time_json(choice->min_ns));
	return out;
}

const char *kc_filter_steps_word(enum kc_steps_are are)
{
	static const char *const words[] = {
	    [KC_STEPS_ARE_NOT_ASKED] = NULL, [KC_STEPS_ARE_NONE] = "none",     [KC_STEPS_ARE_TOLD] = "told",
	    [KC_STEPS_ARE_FOUND] = "found",  [KC_STEPS_ARE_NESTED] = "nested",
	};

	return words[are];
}

json_t *kc_filter_steps_json(const struct kc_filter *filter)
{
	return kc_json_text(filter ? kc_filter_steps_word(kc_filter_steps_are(filter)) : NULL);
}

json_t *kc_filter_json(const struct kc_filter *filter)
{
	struct kc_filter_counts counts;
	json_t *out;

	if (!filter)
		return json_null();
	counts = kc_filter_counted(filter);
	out = kc_filter_choice_json(kc_filter_choice_of(filter));
	json_object_set_new(out, "steps_are", kc_filter_steps_json(filter));
	json_object_set_new(out, "launches", json_integer((json_int_t)counts.matching));
	json_object_set_new(out, "of_launches", json_integer((json_int_t)counts.launches));
	return out;
}
